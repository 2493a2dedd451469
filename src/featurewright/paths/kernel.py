"""The forest kernel: what the paths of two rows have in common, added up over trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse

from featurewright.engine.buffers import UserFunctions
from featurewright.engine.forest import Forest
from featurewright.engine.path_kernel import add_shared, write_shared
from featurewright.engine.threads import run_in_threads
from featurewright.paths.encoding import (
    LeafSource,
    Numbering,
    Seen,
    Source,
    SpreadSource,
    all_trees,
    write_rows,
)

KINDS = ("path", "leaf", "torkkola")
Matrix = npt.NDArray[np.float32]

_WIDTH = 128  # columns of the kernel matrix computed together
_ROWS = 32_768  # rows computed together; what a tree shares with a block is computed for each
_LARGEST = (np.iinfo(np.uint8).max, np.iinfo(np.uint16).max)


@dataclass(frozen=True, eq=False)
class ForestPaths:
    """Fitted trees with their numbering: the paths of rows, their encoding and their kernel.

    Attributes
    ----------
    forest, numbering : Forest, Numbering
        The trees.
    users : UserFunctions
        Compiled operators of the user.
    salts : ndarray of uint64
        One per tree; they decide, with the row's values, which way a missing value goes.
    spread : bool
        Whether missing values go both ways instead.
    n_jobs : int or None
        Threads.
    """

    forest: Forest
    numbering: Numbering
    users: UserFunctions
    salts: npt.NDArray[np.uint64]
    spread: bool
    n_jobs: int | None = None

    def find_leaves(self, matrix: Matrix) -> npt.NDArray[np.int32]:
        """Return each row's leaf in each tree; a missing value goes either way by chance."""
        return self.forest.find_leaves(matrix, self.users, self.n_jobs, self.salts)

    def _spreads(self, *matrices: Matrix) -> bool:
        """Whether rows may reach several leaves: values are missing, or may be undefined."""
        constructed = self.forest.programs.shape[1] > 1
        return self.spread and (constructed or any(np.isnan(m).any() for m in matrices))

    def source(self, matrix: Matrix, seen: Seen, *, only_leaves: bool) -> Source:
        """Return what writes the encoding of rows."""
        if self._spreads(matrix):
            return SpreadSource(
                matrix, self.forest, self.users, self.numbering, seen, only_leaves=only_leaves
            )
        leaves = self.find_leaves(matrix)
        return LeafSource(leaves, self.numbering, seen, only_leaves=only_leaves)

    def n_columns(self, *, only_leaves: bool) -> int:
        """Return the number of columns of the encoding."""
        return self.forest.n_leaves if only_leaves else len(self.forest.left)

    def share(
        self, rows: Matrix, others: Matrix | None, kind: str, *, normalize: bool
    ) -> npt.NDArray[np.float64]:
        """Return the kernel matrix of rows with others, or with themselves."""
        if self._spreads(rows, *(() if others is None else (others,))):
            only_leaves = kind == "leaf"
            encoded = self._full_encoding(rows, only_leaves=only_leaves)
            encoded_others = encoded
            if others is not None:
                encoded_others = self._full_encoding(others, only_leaves=only_leaves)
            roots = self.forest.roots
            return multiply_encodings(encoded, encoded_others, roots, kind, normalize=normalize)
        leaves = self.find_leaves(rows)
        other_leaves = leaves if others is None else self.find_leaves(others)
        return share_paths(
            leaves, other_leaves, self.numbering, kind, normalize=normalize, n_jobs=self.n_jobs
        )

    def _full_encoding(self, matrix: Matrix, *, only_leaves: bool) -> Any:
        """Return the encoding through all trees, with a column for each node or leaf."""
        n_columns = self.n_columns(only_leaves=only_leaves)
        source = self.source(matrix, all_trees(len(matrix)), only_leaves=only_leaves)
        starts, indices, data = write_rows(source, len(matrix), n_columns, self.n_jobs)
        return sparse.csr_array((data, indices, starts), shape=(len(matrix), n_columns))


def share_paths(
    rows: npt.NDArray[np.int32],
    others: npt.NDArray[np.int32],
    numbering: Numbering,
    kind: str,
    *,
    normalize: bool,
    n_jobs: int | None = None,
) -> npt.NDArray[np.float64]:
    """Return the kernel matrix of rows, from the leaves that they reach.

    Parameters
    ----------
    rows, others : ndarray of int32 of shape (n, n_trees)
        Leaves of the forest; one array given twice for a symmetric matrix.
    numbering : Numbering
        Of the same forest.
    kind : {"path", "leaf", "torkkola"}
        What two rows have in common in a tree: nodes; the leaf or nothing; nodes over the number of
        nodes of the longer path.
    normalize : bool
        Whether to divide by the root of the product of what both rows have in common with
        themselves.
    """
    if len(others) > len(rows):  # the table of a block is worked out for the shorter side
        swapped = share_paths(others, rows, numbering, kind, normalize=normalize, n_jobs=n_jobs)
        return swapped.T
    own, meet = numbering.own, numbering.meet
    if kind == "leaf":
        own, meet = np.ones_like(own), np.zeros_like(meet)
    longest = np.maximum.reduceat(own, numbering.edges[:-1])
    # Short whole numbers are fast, and enough unless trees are very deep or many.
    small = kind != "torkkola" and longest.max() <= _LARGEST[0] and longest.sum() <= _LARGEST[1]
    each, total = (np.uint8, np.uint16) if small else (np.float32, np.float32)
    own, meet = own.astype(each), meet.astype(each)
    places = _by_tree(rows, numbering)
    other_places = places if others is rows else _by_tree(others, numbering)
    norms, other_norms = np.ones(len(rows)), np.ones(len(others))
    if normalize:
        norms = _own_sums(rows, numbering, kind)
        other_norms = norms if others is rows else _own_sums(others, numbering, kind)
    out = np.empty((len(rows), len(others)))
    largest = int(np.diff(numbering.edges).max())
    by_longer = kind == "torkkola"

    def work(begin: int, end: int, first: int, last: int) -> None:
        order, front = np.empty(_WIDTH, np.int64), np.empty(_WIDTH, each)
        table = np.empty((2 * largest + 1, _WIDTH), each)
        sums = np.empty((end - begin, _WIDTH), total)
        scratch = (order, front, table, sums)
        for block in range(first, last, _WIDTH):
            n_block = min(_WIDTH, last - block)
            where = (places, begin, end, other_places, block, n_block, numbering.edges)
            add_shared(*where, own, meet, by_longer, *scratch)
            write_shared(sums, begin, end, block, n_block, norms, other_norms, out)

    threads = effective_n_jobs(n_jobs)
    n_blocks = -(-len(others) // _WIDTH)
    step = _WIDTH * -(-n_blocks // threads)
    tasks = [
        partial(work, begin, min(begin + _ROWS, len(rows)), first, min(first + step, len(others)))
        for begin in range(0, len(rows), _ROWS)
        for first in range(0, len(others), step)
    ]
    run_in_threads(tasks, min(threads, len(tasks)))
    return out


def _by_tree(leaves: npt.NDArray[np.int32], numbering: Numbering) -> npt.NDArray[np.int32]:
    """Return the places of leaves, tree by tree."""
    return np.ascontiguousarray(numbering.place[leaves].T)


def _own_sums(
    leaves: npt.NDArray[np.int32], numbering: Numbering, kind: str
) -> npt.NDArray[np.float64]:
    """Return what each row has in common with itself."""
    if kind == "path":
        return numbering.length[leaves].sum(axis=1, dtype=np.float64)
    return np.full(len(leaves), float(leaves.shape[1]))


def multiply_encodings(
    rows: Any, others: Any, roots: npt.NDArray[np.int64], kind: str, *, normalize: bool
) -> npt.NDArray[np.float64]:
    """Return the kernel matrix from encodings, for rows that follow several paths.

    Parameters
    ----------
    rows, others : CSR array
        Encodings with a column for each node, or for each leaf where the kind is "leaf".
    roots : ndarray of int64
        First column of each tree, where the kind is "torkkola".
    """
    rows, others = rows.astype(np.float64), others.astype(np.float64)
    if kind == "torkkola":
        # By trees: what both have in common, over the longer one's squared length.
        edges = np.append(roots, rows.shape[1])
        by_column, others_by_column = rows.tocsc(), others.tocsc()
        shared = np.zeros((rows.shape[0], others.shape[0]))
        for low, high in pairwise(edges):
            part, other = by_column[:, low:high], others_by_column[:, low:high]
            longer = np.maximum(_squares(part)[:, None], _squares(other)[None, :])
            shared += (part @ other.T).toarray() / longer
        squares, other_squares = (np.full(m.shape[0], float(len(roots))) for m in (rows, others))
    else:
        shared = (rows @ others.T).toarray()
        squares, other_squares = _squares(rows), _squares(others)
    if normalize:
        shared /= np.sqrt(squares[:, None] * other_squares[None, :])
    return shared


def _squares(encoding: Any) -> npt.NDArray[np.float64]:
    """Return the sum of the squares of each row's entries."""
    return np.asarray(encoding.power(2).sum(axis=1)).ravel()
