"""Write the encoding of rows as a sparse matrix: count, allocate once, fill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from featurewright.engine import paths as kernels
from featurewright.engine.buffers import UserFunctions
from featurewright.engine.forest import Forest, over_rows
from featurewright.paths.numbering import Numbering

_BLOCK = 512  # rows whose paths are written tree by tree
_FOLDED_ROWS = 256  # rows whose paths are written in full before they are put into buckets

# Starts of the rows, column numbers and values of a sparse matrix.
Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Seen:
    """Through which trees each row is encoded, and by what factor.

    Attributes
    ----------
    used : ndarray of bool of shape (n_rows, n_trees) or (0, 0)
        The trees of each row; all of them where the array is empty.
    scale : ndarray of float32
        Factor of each row's entries.
    """

    used: npt.NDArray[np.bool_]
    scale: npt.NDArray[np.float32]


def all_trees(n_rows: int) -> Seen:
    """Use all trees for every row."""
    return Seen(np.empty((0, 0), np.bool_), np.ones(n_rows, np.float32))


class Source(Protocol):
    """Something that can write the encoding of a range of rows."""

    def count(self, first: int, last: int, counts: npt.NDArray[np.int64]) -> None:
        """Count the entries of each row from first to last."""

    def write(
        self,
        first: int,
        last: int,
        starts: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        data: npt.NDArray[np.float32],
    ) -> None:
        """Write the entries of rows from first to last, which begin at `starts`."""


class LeafSource:
    """Encodings of rows that reach one leaf in each tree."""

    def __init__(
        self,
        leaves: npt.NDArray[np.int32],
        numbering: Numbering,
        seen: Seen,
        *,
        only_leaves: bool,
    ) -> None:
        self.leaves, self.seen, self.parent = leaves, seen, numbering.parent
        self.length, self.end = numbering.length, numbering.end
        if only_leaves:
            self.length, self.end = np.ones_like(numbering.length), numbering.rank
        # The leaves of all trees need no other array than the one that they are in.
        whole = only_leaves and not seen.used.size
        self.is_result = whole and leaves.size <= np.iinfo(np.int32).max

    def as_result(self) -> Rows:
        """Turn the array of leaves into that of their columns."""
        n_trees = self.leaves.shape[1]
        for first in range(0, len(self.leaves), _FOLDED_ROWS):  # not a second array at a time
            some = slice(first, first + _FOLDED_ROWS)
            self.leaves[some] = self.end[self.leaves[some]]
        starts = np.arange(0, self.leaves.size + 1, n_trees, dtype=np.int32)
        return starts, self.leaves.reshape(-1), np.repeat(self.seen.scale, n_trees)

    def count(self, first: int, last: int, counts: npt.NDArray[np.int64]) -> None:
        """Add up the lengths of each row's paths."""
        kernels.count_paths(self.leaves, self.seen.used, first, last, self.length, counts)

    def write(
        self,
        first: int,
        last: int,
        starts: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        data: npt.NDArray[np.float32],
    ) -> None:
        """Write each row's paths."""
        kernels.write_paths(
            self.leaves,
            self.seen.used,
            first,
            last,
            self.length,
            self.end,
            self.parent,
            starts,
            self.seen.scale,
            np.empty(_BLOCK, np.int64),
            indices,
            data,
        )


class SpreadSource:
    """Encodings of rows that go both ways, with half the weight, where a value is missing."""

    def __init__(
        self,
        matrix: npt.NDArray[np.float32],
        forest: Forest,
        users: UserFunctions,
        numbering: Numbering,
        seen: Seen,
        *,
        only_leaves: bool,
    ) -> None:
        self.matrix, self.users, self.seen = matrix, users, seen
        columns = numbering.number
        if only_leaves:
            leaves = np.maximum(-1 - forest.left, 0)
            columns = np.where(forest.left < 0, numbering.rank[leaves], np.int32(-1))
        self.branches = kernels.Branches(forest.roots, forest.packed, forest.programs, columns)
        self.largest = int(np.diff(np.append(forest.roots, len(forest.left))).max())

    def _front(self) -> kernels.Front:
        """Allocate room for one row on its way down."""
        leaves = (self.largest + 1) // 2
        return kernels.Front(
            nodes=np.empty((2, leaves), np.int64),
            weights=np.empty((2, leaves), np.float32),
            columns=np.empty(self.largest, np.int32),
            mass=np.empty(self.largest, np.float32),
            stack=np.empty(self.branches.programs.shape[1] + 1, np.float32),
        )

    def count(self, first: int, last: int, counts: npt.NDArray[np.int64]) -> None:
        """Count the nodes that each row reaches."""
        where = (self.matrix, self.seen.used, first, last)
        kernels.count_spread(*where, self.branches, self.users, self._front(), counts)

    def write(
        self,
        first: int,
        last: int,
        starts: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        data: npt.NDArray[np.float32],
    ) -> None:
        """Write the nodes that each row reaches, and with what weight."""
        where = (self.matrix, self.seen.used, first, last)
        out = (starts, self.seen.scale, indices, data)
        kernels.write_spread(*where, self.branches, self.users, self._front(), *out)


def write_rows(source: Source, n_rows: int, n_columns: int, n_jobs: int | None) -> Rows:
    """Write the encoding of all rows, with a column for each node or leaf."""
    if isinstance(source, LeafSource) and source.is_result:
        return source.as_result()
    return _count_and_write(source.count, source.write, n_rows, n_columns, n_jobs)


def write_hashed(
    source: Source, n_rows: int, n_buckets: int, n_jobs: int | None, *, mixes: bool
) -> Rows:
    """Write the encoding of all rows into buckets, adding up what falls into the same one.

    A few rows at a time are written in full and put into buckets, once to count and once to write.
    """

    def some_rows(first: int, last: int) -> Rows:
        starts = np.zeros(last - first + 1, np.int64)
        source.count(first, last, starts[1:])
        np.cumsum(starts, out=starts)
        indices, data = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        source.write(first, last, starts, indices, data)
        return starts, indices, data

    def count(first: int, last: int, counts: npt.NDArray[np.int64]) -> None:
        marks = np.zeros(n_buckets // 64 + 1, np.uint64)
        for begin in range(first, last, _FOLDED_ROWS):
            end = min(begin + _FOLDED_ROWS, last)
            starts, indices, _ = some_rows(begin, end)
            kernels.count_buckets(starts, indices, n_buckets, mixes, marks, counts[begin - first :])

    def write(
        first: int,
        last: int,
        places: npt.NDArray[Any],
        out: npt.NDArray[Any],
        values: npt.NDArray[np.float32],
    ) -> None:
        marks = np.zeros(n_buckets // 64 + 1, np.uint64)
        sums = np.empty(n_buckets, np.float32)
        for begin in range(first, last, _FOLDED_ROWS):
            end = min(begin + _FOLDED_ROWS, last)
            here = (n_buckets, mixes, marks, sums, places[begin - first :], out, values)
            kernels.add_to_buckets(*some_rows(begin, end), *here)

    return _count_and_write(count, write, n_rows, n_buckets, n_jobs)


def _count_and_write(
    count: Callable[..., None],
    write: Callable[..., None],
    n_rows: int,
    n_columns: int,
    n_jobs: int | None,
) -> Rows:
    """Count the entries of all rows, allocate once, and write them, in threads by row ranges."""
    starts = np.zeros(n_rows + 1, np.int64)
    over_rows(lambda first, last: count(first, last, starts[1 + first :]), n_rows, n_jobs)
    np.cumsum(starts, out=starts)
    n_entries = int(starts[-1])
    # SciPy wants both index arrays of one type, and the small one where it is enough.
    small = max(n_entries, n_columns) <= np.iinfo(np.int32).max
    starts = starts.astype(np.int32) if small else starts
    indices = np.empty(n_entries, starts.dtype)
    data = np.empty(n_entries, np.float32)
    over_rows(lambda a, b: write(a, b, starts[a:], indices, data), n_rows, n_jobs)
    return starts, indices, data
