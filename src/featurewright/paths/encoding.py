"""Number the nodes of fitted trees, and write the encoding of rows as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from featurewright.engine import paths as kernels
from featurewright.engine.buffers import UserFunctions
from featurewright.engine.forest import Forest, over_rows
from featurewright.engine.path_kernel import number_depth_first
from featurewright.engine.paths import number_breadth_first

_BLOCK = 32_768  # rows whose paths are written tree by tree; each block reads all trees anew
_TABLE_SIZE = 2**18  # numbers in the paths of a tree that are written out: what a cache holds
_FOLDED_ROWS = 256  # rows whose paths are written in full before they are put into buckets

# Starts of the rows, column numbers and values of a sparse matrix.
Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Numbering:
    """Nodes breadth first within each tree, trees one after the other; leaves in two orders.

    Attributes
    ----------
    nodes : ndarray of int32
        The forest's node of each number.
    parent : ndarray of int32
        The number of the parent of each number, -1 at a root.
    number : ndarray of int32
        The number of each node of the forest.
    end, length : ndarray of int32
        By leaf of the forest: its number, and how many nodes its path has.
    rank : ndarray of int32
        By leaf of the forest: how many leaves have smaller numbers.
    place : ndarray of int32
        By leaf of the forest: its place from left to right, tree by tree.
    own, meet : ndarray of float32
        By place: the length of the path, and of what it shares with the leaf to its left.
    edges : ndarray of int64
        The first place of each tree, and the end.
    """

    nodes: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]
    own: npt.NDArray[np.float32]
    meet: npt.NDArray[np.float32]
    edges: npt.NDArray[np.int64]


def number_forest(forest: Forest) -> Numbering:
    """Return the numbers of the nodes and leaves of trees."""
    n_nodes, n_leaves = len(forest.left), forest.n_leaves
    nodes, parent = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    number_breadth_first(forest.roots, forest.left, nodes, parent)
    number = np.empty(n_nodes, np.int32)
    number[nodes] = np.arange(n_nodes, dtype=np.int32)
    leaf_numbers = np.flatnonzero(forest.left[nodes] < 0).astype(np.int32)
    leaves = -1 - forest.left[nodes[leaf_numbers]]
    end, rank = np.empty(n_leaves, np.int32), np.empty(n_leaves, np.int32)
    end[leaves] = leaf_numbers
    rank[leaves] = np.arange(n_leaves, dtype=np.int32)
    place = np.empty(n_leaves, np.int32)
    own, meet = np.empty(n_leaves, np.float32), np.empty(n_leaves, np.float32)
    stack = np.empty(n_nodes + 1, np.int64)
    number_depth_first(forest.roots, forest.left, forest.depth, stack, place, own, meet)
    leaves_before = np.searchsorted(leaf_numbers, np.append(forest.roots, n_nodes))
    return Numbering(
        nodes=nodes,
        parent=parent,
        number=number,
        end=end,
        length=forest.depth[nodes[end]] + 1,
        rank=rank,
        place=place,
        own=own,
        meet=meet,
        edges=leaves_before.astype(np.int64),
    )


def level_weights(root: bool, depth_weights: Any, n_levels: int) -> npt.NDArray[np.float64]:
    """Return the value of an entry at each depth.

    Parameters
    ----------
    root : bool
        Whether roots count; else their value is 0.
    depth_weights : float or sequence of float
        A factor from one level to the next, or the values of the levels from the root on, the last
        of which is that of all deeper ones.
    n_levels : int
        Number of levels.
    """
    if isinstance(depth_weights, Real):
        weights = np.power(float(depth_weights), np.arange(n_levels), dtype=np.float64)
    else:
        given = np.array(list(depth_weights), np.float64)
        weights = given[np.minimum(np.arange(n_levels), len(given) - 1)]
    if not root:
        weights[:1] = 0.0
    return weights


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of an encoding.

    Attributes
    ----------
    number : ndarray of int32
        By node of the forest: its column, -1 if it has none.
    parent : ndarray of int32
        By column: the column of the parent of its node, where that has one.
    end, length : ndarray of int32
        By leaf of the forest: the last column of its path, and how many columns the path has.
    edges : ndarray of int64
        The first leaf of each tree, and the end.
    values : ndarray of float32
        The value of a node's entry by its depth.
    n_columns : int
        How many there are.
    only_leaves, root : bool
        Whether leaves alone have columns; whether roots have.
    """

    number: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    edges: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    n_columns: int
    only_leaves: bool
    root: bool

    @property
    def is_binary(self) -> bool:
        """Whether all entries of a row have the same value."""
        return self.only_leaves or bool(np.all(self.values[not self.root :] == 1.0))


def lay_out(
    forest: Forest,
    numbering: Numbering,
    *,
    only_leaves: bool,
    root: bool = True,
    depth_weights: Any = 1.0,
) -> Layout:
    """Return the columns of an encoding; with leaves alone, each has one and its value is 1."""
    n_levels = int(forest.depth.max()) + 1
    number, parent = numbering.number, numbering.parent
    end, length, n_columns = numbering.end, numbering.length, len(forest.left)
    values = level_weights(root, depth_weights, n_levels)
    if only_leaves:
        leaves = np.maximum(-1 - forest.left, 0)
        number = np.where(forest.left < 0, numbering.rank[leaves], np.int32(-1))
        end, length, n_columns = numbering.rank, np.ones_like(length), forest.n_leaves
        values = np.ones(n_levels)
    elif not root:
        # Tree t has t + 1 roots before its other nodes.
        sizes = np.diff(np.append(forest.roots, n_columns))
        before = np.repeat(np.arange(1, len(sizes) + 1, dtype=np.int32), sizes)
        is_root = np.isin(np.arange(n_columns), forest.roots)  # nodes and numbers of a tree agree
        number = np.where(is_root, np.int32(-1), number - before)
        parent = np.maximum(parent - before, 0)[~is_root].astype(np.int32)
        end = end - before[end]
        length = length - 1
        n_columns -= len(sizes)
    return Layout(
        number=number,
        parent=parent,
        end=end,
        length=length,
        edges=numbering.edges,
        values=values.astype(np.float32),
        n_columns=n_columns,
        only_leaves=only_leaves,
        root=root,
    )


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
    """Return that all trees are used for every row."""
    return Seen(np.empty((0, 0), np.bool_), np.ones(n_rows, np.float32))


class Source(Protocol):
    """Writes the encoding of a range of rows."""

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

    def __init__(self, leaves: npt.NDArray[np.int32], layout: Layout, seen: Seen) -> None:
        self.leaves, self.layout, self.seen = leaves, layout, seen
        # The columns of the leaves of all trees can be written over the leaves.
        whole = layout.only_leaves and not seen.used.size
        self.is_result = whole and leaves.size <= np.iinfo(np.int32).max

    def as_result(self) -> Rows:
        """Return the encoding, its columns written over the array of leaves."""
        n_trees = self.leaves.shape[1]
        for first in range(0, len(self.leaves), _FOLDED_ROWS):  # not a second array at a time
            some = slice(first, first + _FOLDED_ROWS)
            self.leaves[some] = self.layout.end[self.leaves[some]]
        starts = np.arange(0, self.leaves.size + 1, n_trees, dtype=np.int32)
        return starts, self.leaves.reshape(-1), np.repeat(self.seen.scale, n_trees)

    def count(self, first: int, last: int, counts: npt.NDArray[np.int64]) -> None:
        """Add up the lengths of each row's paths."""
        length = self.layout.length
        kernels.count_paths(self.leaves, self.seen.used, first, last, length, counts)

    def write(
        self,
        first: int,
        last: int,
        starts: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        data: npt.NDArray[np.float32],
    ) -> None:
        """Write each row's paths."""
        layout, where = self.layout, (self.leaves, self.seen.used, first, last)
        cursors = np.empty(min(_BLOCK, max(1, last - first)), np.int64)
        paths = kernels.PathsOfLeaves(layout.edges, layout.length, layout.end, layout.parent)
        largest = int(np.diff(layout.edges).max(initial=0))
        table = kernels.PathTable(np.empty(_TABLE_SIZE, np.int32), np.empty(largest + 1, np.int64))
        kernels.write_paths(*where, paths, starts, self.seen.scale, cursors, table, indices, data)
        if not layout.is_binary:
            # The first node of a path is the root, or its child where roots have no column.
            values = layout.values if layout.root else layout.values[1:]
            kernels.write_level_values(*where, layout.length, starts, self.seen.scale, values, data)


class SpreadSource:
    """Encodings of rows that go both ways, with half the weight, where a value is missing."""

    def __init__(
        self,
        matrix: npt.NDArray[np.float32],
        forest: Forest,
        users: UserFunctions,
        layout: Layout,
        seen: Seen,
    ) -> None:
        self.matrix, self.users, self.seen = matrix, users, seen
        self.branches = kernels.Branches(
            forest.roots,
            forest.packed,
            forest.level_sets,
            forest.programs,
            layout.number,
            layout.values,
        )
        self.largest = int(np.diff(np.append(forest.roots, len(forest.left))).max())

    def _front(self) -> kernels.Front:
        """Allocate the working arrays for one row on its way down."""
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
    """Return the encoding of all rows, with a column for each node or leaf."""
    if isinstance(source, LeafSource) and source.is_result:
        return source.as_result()
    return _count_and_write(source.count, source.write, n_rows, n_columns, n_jobs)


def write_hashed(
    source: Source, n_rows: int, n_buckets: int, n_jobs: int | None, *, mixes: bool
) -> Rows:
    """Return the encoding of all rows in buckets, with the sum of what falls into each.

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
