"""The forest kernel: what the paths of two rows have in common, added up over trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from featurewright.engine.buffers import UserFunctions
from featurewright.engine.forest import Forest
from featurewright.engine.path_kernel import BLOCK_COLUMNS, add_shared, write_shared
from featurewright.engine.threads import local_threads, run_in_threads
from featurewright.paths.encoding import (
    Layout,
    LeafSource,
    Numbering,
    Seen,
    Source,
    SpreadSource,
    all_trees,
    lay_out,
    level_weights,
    write_rows,
)
from featurewright.tables import as_dense, dense_blocks, is_sparse

KINDS = ("path", "leaf", "torkkola")
# Rows of a dense table, or of a sparse one, which has no missing values.
Table = Any

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
        One per tree; they decide, with the row's values, which way a missing value goes. Without
        salts it goes to the side that its node stores.
    spread : bool
        Whether missing values go both ways instead.
    root : bool
        Whether roots count among the nodes of a path.
    depth_weights : float or sequence of float
        Values of the entries of nodes by their depth, as in `level_weights`.
    n_jobs : int or None
        Threads.
    """

    forest: Forest
    numbering: Numbering
    users: UserFunctions
    salts: npt.NDArray[np.uint64]
    spread: bool
    root: bool = True
    depth_weights: Any = 1.0
    n_jobs: int | None = None

    def find_leaves(self, table: Table) -> npt.NDArray[np.int32]:
        """Return each row's leaf in each tree; rows with missing values reach one leaf too."""
        if not is_sparse(table):
            return self.forest.find_leaves(table, self.users, self.n_jobs, self.salts)
        leaves = np.empty((table.shape[0], self.forest.n_trees), np.int32)
        for first, block in dense_blocks(table):
            leaves[first : first + len(block)] = self.find_leaves(block)
        return leaves

    def _spreads(self, *tables: Table) -> bool:
        """Whether rows may reach several leaves: values are missing, or may be undefined."""
        constructed = self.forest.programs.shape[1] > 1
        return self.spread and (
            constructed or any(not is_sparse(t) and np.isnan(t).any() for t in tables)
        )

    def layout(self, *, only_leaves: bool) -> Layout:
        """Return the columns of the encoding."""
        return lay_out(
            self.forest,
            self.numbering,
            only_leaves=only_leaves,
            root=self.root,
            depth_weights=self.depth_weights,
        )

    def source(self, table: Table, layout: Layout, seen: Seen) -> Source:
        """Return what writes the encoding of rows."""
        if self._spreads(table):
            matrix = as_dense(table) if is_sparse(table) else table
            return SpreadSource(matrix, self.forest, self.users, layout, seen)
        return LeafSource(self.find_leaves(table), layout, seen)

    def share(
        self, rows: Table, others: Table | None, kind: str, *, normalize: bool
    ) -> npt.NDArray[np.float64]:
        """Return the kernel matrix of rows with others, or with themselves."""
        if self._spreads(rows, *(() if others is None else (others,))):
            layout = self.layout(only_leaves=kind == "leaf")
            encoded = self._encode_fully(rows, layout)
            encoded_others = encoded if others is None else self._encode_fully(others, layout)
            roots = self.forest.roots
            if not layout.root and not layout.only_leaves:
                roots = roots - np.arange(len(roots))
            return multiply_encodings(encoded, encoded_others, roots, kind, normalize=normalize)
        leaves = self.find_leaves(rows)
        other_leaves = leaves if others is None else self.find_leaves(others)
        return share_paths(
            leaves,
            other_leaves,
            self.numbering,
            kind,
            normalize=normalize,
            root=self.root,
            depth_weights=self.depth_weights,
            n_jobs=self.n_jobs,
        )

    def _encode_fully(self, table: Table, layout: Layout) -> Any:
        """Return the encoding through all trees, with a column for each node or leaf."""
        n_rows = table.shape[0]
        source = self.source(table, layout, all_trees(n_rows))
        starts, indices, data = write_rows(source, n_rows, layout.n_columns, self.n_jobs)
        return sparse.csr_array((data, indices, starts), shape=(n_rows, layout.n_columns))


def share_paths(
    rows: npt.NDArray[np.int32],
    others: npt.NDArray[np.int32],
    numbering: Numbering,
    kind: str,
    *,
    normalize: bool,
    root: bool = True,
    depth_weights: Any = 1.0,
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
        themselves; 0 where a row has nothing in common with itself.
    root : bool
        Whether roots count.
    depth_weights : float or sequence of float
        Values of entries, as in `level_weights`; a node counts with the square of its value.
    """
    if len(others) > len(rows):  # the table of a block is worked out for the shorter side
        swapped = share_paths(
            others,
            rows,
            numbering,
            kind,
            normalize=normalize,
            root=root,
            depth_weights=depth_weights,
            n_jobs=n_jobs,
        )
        return swapped.T
    own, meet = path_masses(numbering, kind, root=root, depth_weights=depth_weights)
    longest = np.maximum.reduceat(own, numbering.edges[:-1])
    # Short whole numbers are fast, and enough unless trees are very deep or many.
    whole = kind != "torkkola" and bool(np.all(own == np.round(own)))
    small = whole and longest.max() <= _LARGEST[0] and longest.sum() <= _LARGEST[1]
    each, total = (np.uint8, np.uint16) if small else (np.float64, np.float64)
    places = _by_tree(rows, numbering)
    other_places = places if others is rows else _by_tree(others, numbering)
    norms, other_norms = np.ones(len(rows)), np.ones(len(others))
    if normalize:
        norms = _own_sums(places, own, kind)
        other_norms = norms if others is rows else _own_sums(other_places, own, kind)
    own, meet = own.astype(each), meet.astype(each)
    out = np.empty((len(rows), len(others)))
    n_lines = 2 * int(np.diff(numbering.edges).max()) + 1
    by_longer = kind == "torkkola"

    def work(begin: int, end: int, first: int, last: int) -> None:
        order = np.empty(BLOCK_COLUMNS, np.int64)
        table, back = (np.empty((n_lines, BLOCK_COLUMNS), each) for _ in range(2))
        sums = np.empty((end - begin, BLOCK_COLUMNS), total)
        for block in range(first, last, BLOCK_COLUMNS):
            n_block = min(BLOCK_COLUMNS, last - block)
            where = (places, begin, end, other_places, block, n_block, numbering.edges)
            add_shared(*where, own, meet, by_longer, order, table, back, sums)
            write_shared(sums, begin, end, block, n_block, norms, other_norms, out)

    threads = local_threads(n_jobs)
    n_blocks = -(-len(others) // BLOCK_COLUMNS)
    step = BLOCK_COLUMNS * -(-n_blocks // threads)
    tasks = [
        partial(work, begin, min(begin + _ROWS, len(rows)), first, min(first + step, len(others)))
        for begin in range(0, len(rows), _ROWS)
        for first in range(0, len(others), step)
    ]
    run_in_threads(tasks, min(threads, len(tasks)))
    return out


def path_masses(
    numbering: Numbering, kind: str, *, root: bool, depth_weights: Any
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what the path to a leaf counts, and what it has in common with the leaf to its left.

    Parameters
    ----------
    numbering : Numbering
        Of the forest; the results are by its places.
    kind : str
        With "leaf" nothing counts but the leaf, whatever the weights.
    root, depth_weights
        As in `level_weights`.

    Returns
    -------
    own, meet : ndarray of float64
        The squared values of nodes, added up. They do not decrease along a path, so what two
        leaves have in common is the least of what neighbours between them have.
    """
    if kind == "leaf":
        return np.ones(len(numbering.own)), np.zeros(len(numbering.meet))
    squares = level_weights(root, depth_weights, int(numbering.own.max())) ** 2
    mass = np.concatenate([[0.0], np.cumsum(squares)])
    return mass[numbering.own.astype(np.int64)], mass[numbering.meet.astype(np.int64)]


def _by_tree(leaves: npt.NDArray[np.int32], numbering: Numbering) -> npt.NDArray[np.int32]:
    """Return the places of leaves, tree by tree."""
    return np.ascontiguousarray(numbering.place[leaves].T)


def _own_sums(
    places: npt.NDArray[np.int32], own: npt.NDArray[np.float64], kind: str
) -> npt.NDArray[np.float64]:
    """Return what each row has in common with itself, infinity where that is nothing.

    A row whose path has no node in any tree has nothing in common with any row: 0 over infinity.
    """
    if kind == "torkkola":  # 1 in each tree where the path counts
        own = (own > 0).astype(np.float64)
    sums = np.zeros(places.shape[1])
    for tree in places:  # one tree at a time: all at once would need a large array
        sums += own[tree]
    sums[sums == 0.0] = np.inf
    return sums


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
        squares, other_squares = np.zeros(rows.shape[0]), np.zeros(others.shape[0])
        for low, high in pairwise(edges):
            part, other = by_column[:, low:high], others_by_column[:, low:high]
            own, theirs = _squares(part), _squares(other)
            longer = np.maximum(own[:, None], theirs[None, :])
            longer[longer == 0.0] = np.inf
            shared += (part @ other.T).toarray() / longer
            squares += own > 0
            other_squares += theirs > 0
    else:
        shared = (rows @ others.T).toarray()
        squares, other_squares = _squares(rows), _squares(others)
    if normalize:
        squares, other_squares = (np.where(s == 0.0, np.inf, s) for s in (squares, other_squares))
        shared /= np.sqrt(squares[:, None] * other_squares[None, :])
    return shared


def _squares(encoding: Any) -> npt.NDArray[np.float64]:
    """Return the sum of the squares of each row's entries."""
    return np.asarray(encoding.power(2).sum(axis=1)).ravel()
