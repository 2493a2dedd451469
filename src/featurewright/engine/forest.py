"""The fitted structure: any number of grown trees in immutable fixed-width arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import GrownTree, UserFunctions
from featurewright.engine.descend import (
    BLOCK_ROWS,
    IS_LEVEL,
    IS_SET,
    ORDERED,
    PROGRAM,
    add_leaf_values,
    find_leaves,
    pack_nodes,
)
from featurewright.engine.leaves import number_leaves
from featurewright.engine.level_sets import IN_SET
from featurewright.engine.threads import local_threads, run_in_threads

_ROWS_PER_TASK = 2048
_BLOCK_BYTES = 2**21  # of the rows that descend a tree at a time
_NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Forest:
    """Grown trees, concatenated.

    Attributes
    ----------
    roots : ndarray of int64
        First node of each tree.
    left : ndarray of int32
        Left child of each node, followed by the right child; at a leaf, -1 - leaf number.
    programs : ndarray of int32 of shape (n_nodes, max_size)
        What each inner node tests, as an RPN program.
    threshold : ndarray of float32
        Values up to it go left; for a level test, values equal to it; for a test of a set of
        levels, the number of that set.
    is_level, missing_left : ndarray of uint8
        Whether the node tests for one level (1) or for a set of levels (2); whether missing values
        go left.
    gain : ndarray of float32
        Gain of the split, in units of weight.
    n_rows : ndarray of int32
        Rows that reached the node while growing.
    depth : ndarray of int32
        Distance from the root.
    values : ndarray of shape (n_leaves, n_values)
        What each leaf predicts: float32 for shares of classes, float64 for means.
    operator_weights, operator_counts : ndarray of shape (n_nodes, n_operators)
        If operators are drawn by weight: the weight of each after the node was searched, and the
        number of its candidates at the node. Else empty.
    level_sets : ndarray of uint32 of shape (n_sets, n_words)
        Sets of levels, one bit per level, in the order of the nodes that test for them.
    """

    roots: npt.NDArray[np.int64]
    left: npt.NDArray[np.int32]
    programs: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    is_level: npt.NDArray[np.uint8]
    missing_left: npt.NDArray[np.uint8]
    gain: npt.NDArray[np.float32]
    n_rows: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    values: npt.NDArray[np.floating[Any]]
    operator_weights: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    operator_counts: npt.NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 0), np.int64)
    )
    level_sets: npt.NDArray[np.uint32] = field(default_factory=lambda: np.empty((0, 0), np.uint32))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return len(self.values)

    @property
    def tests_set(self) -> npt.NDArray[np.bool_]:
        """Whether each node tests for a set of levels."""
        return self.is_level == IN_SET

    def levels_in_set(self, node: int) -> npt.NDArray[np.int64]:
        """Return the levels that a node tests for."""
        words = self.level_sets[int(self.threshold[node])]
        bits = words[:, None] >> np.arange(32, dtype=np.uint32) & 1
        return np.flatnonzero(bits.ravel())

    @cached_property
    def packed(self) -> npt.NDArray[np.int32]:
        """Nodes in the layout of `pack_nodes`."""
        packed = np.empty((len(self.left), 4), np.int32)
        pack_nodes(
            self.left, self.programs, self.threshold, self.is_level, self.missing_left, packed
        )
        packed[:, 2] = self.threshold.view(np.int32)
        is_set = self.tests_set
        packed[is_set, 2] = self.threshold[is_set]
        tests = self.left >= 0
        other = tests & ((packed[:, 1] == PROGRAM) | (packed[:, 3] & (IS_LEVEL | IS_SET) != 0))
        ordered = tests[self.roots] & ~np.logical_or.reduceat(other, self.roots)
        packed[self.roots[ordered], 3] |= ORDERED
        return packed

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "packed"}

    def find_leaves(
        self,
        matrix: npt.NDArray[np.float32],
        users: UserFunctions,
        n_jobs: int | None = None,
        salts: npt.NDArray[np.uint64] = _NO_KEYS,
    ) -> npt.NDArray[np.int32]:
        """Return the leaf number of each row in each tree; numbers are unique over all trees.

        With a salt for each tree, rows with a missing value go to a random side that depends on
        the values of the row alone. Without salts they go to the side that the node stores.
        """
        out = np.empty((len(matrix), self.n_trees), np.int32)

        def task(first: int, last: int) -> None:
            stack, nodes, active = self._make_scratch(last - first, matrix.shape[1])
            find_leaves(
                matrix,
                first,
                last,
                self.roots,
                self.packed,
                self.level_sets,
                self.programs,
                users,
                stack,
                nodes,
                active,
                np.empty(len(nodes), np.uint64) if len(salts) else _NO_KEYS,
                salts,
                out,
            )

        over_rows(task, len(matrix), n_jobs)
        return out

    def sum_values(
        self,
        matrix: npt.NDArray[np.float32],
        users: UserFunctions,
        n_jobs: int | None = None,
        groups: int = 1,
    ) -> npt.NDArray[np.float64]:
        """Return the sum of the leaf values of each row over all trees.

        Tree t belongs to group t modulo `groups`; each group has its own columns.
        """
        out = np.zeros((len(matrix), self.values.shape[1] + groups - 1))

        def task(first: int, last: int) -> None:
            stack, nodes, active = self._make_scratch(last - first, matrix.shape[1])
            add_leaf_values(
                matrix,
                first,
                last,
                self.roots,
                self.packed,
                self.level_sets,
                self.programs,
                users,
                stack,
                nodes,
                active,
                _NO_KEYS,
                self.values,
                groups,
                out,
            )

        over_rows(task, len(matrix), n_jobs)
        return out

    def _make_scratch(
        self, n_rows: int, n_columns: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the stack of expressions, and the nodes and numbers of a block of rows."""
        n_block = _block_rows(n_rows, n_columns)
        nodes, active = np.empty(n_block, np.int64), np.empty(n_block, np.int64)
        return np.empty(self.programs.shape[1] + 1, np.float32), nodes, active

    def trees(self, first: int, last: int) -> Forest:
        """Return the trees from `first` to `last` as a forest."""
        if first == 0 and last == self.n_trees:
            return self
        ends = np.append(self.roots, len(self.left))
        begin, end = int(ends[first]), int(ends[last])
        left = self.left[begin:end].copy()
        leaves = left < 0
        numbers = -1 - left[leaves]
        low = int(numbers.min()) if len(numbers) else 0
        left[leaves] += low
        left[~leaves] -= begin
        sets = self.tests_set
        first_set, n_sets = int(sets[:begin].sum()), int(sets[begin:end].sum())
        return Forest(
            roots=self.roots[first:last] - begin,
            left=left,
            programs=self.programs[begin:end],
            threshold=_renumber_sets(self.threshold[begin:end], sets[begin:end], -first_set),
            is_level=self.is_level[begin:end],
            missing_left=self.missing_left[begin:end],
            gain=self.gain[begin:end],
            n_rows=self.n_rows[begin:end],
            depth=self.depth[begin:end],
            values=self.values[low : low + int(leaves.sum())],
            operator_weights=self.operator_weights[begin:end],
            operator_counts=self.operator_counts[begin:end],
            level_sets=self.level_sets[first_set : first_set + n_sets],
        )


def _block_rows(n_rows: int, n_columns: int) -> int:
    """Return the number of rows that descend a tree at a time.

    Each block of rows fetches all trees anew, so blocks are as large as an outer cache holds: in
    blocks of 256 rows, finding leaves takes several times as long where caches are shared.
    """
    return max(1, min(n_rows, max(BLOCK_ROWS, _BLOCK_BYTES // (4 * n_columns))))


def over_rows(task: Callable[[int, int], None], n_rows: int, n_jobs: int | None) -> None:
    """Call `task` on ranges of rows, in threads if there are enough rows."""
    threads = min(local_threads(n_jobs), -(-n_rows // _ROWS_PER_TASK))
    if threads <= 1:
        task(0, n_rows)
        return
    edges = np.linspace(0, n_rows, threads + 1).astype(np.int64)
    run_in_threads([partial(task, int(a), int(b)) for a, b in pairwise(edges)], threads)


def tree_from_grown(grown: GrownTree, n_nodes: int) -> Forest:
    """Return a copy of a grown tree's nodes with numbered leaves, which have no values yet."""
    left = grown.left[:n_nodes].copy()
    sets = (left >= 0) & (grown.is_level[:n_nodes] == IN_SET)
    threshold = grown.threshold[:n_nodes].copy()
    threshold[sets] = np.arange(sets.sum())
    n_leaves = number_leaves(left)
    return Forest(
        roots=np.zeros(1, np.int64),
        left=left,
        programs=grown.programs[:n_nodes].copy(),
        threshold=threshold,
        is_level=grown.is_level[:n_nodes].copy(),
        missing_left=grown.missing_left[:n_nodes].copy(),
        gain=grown.gain[:n_nodes].copy(),
        n_rows=grown.size[:n_nodes].astype(np.int32),
        depth=grown.depth[:n_nodes].copy(),
        values=np.zeros((n_leaves, 0), np.float32),
        level_sets=grown.level_sets[:n_nodes][sets],
    )


def join(trees: Sequence[Forest]) -> Forest:
    """Concatenate trees or forests."""
    if len(trees) == 1:
        return trees[0]
    nodes = np.cumsum([0, *(len(tree.left) for tree in trees)])
    leaves = np.cumsum([0, *(tree.n_leaves for tree in trees)])
    sets = np.cumsum([0, *(len(tree.level_sets) for tree in trees)])

    def shifted(tree: Forest, k: int) -> npt.NDArray[np.int32]:
        left = tree.left.astype(np.int64)
        return np.where(left >= 0, left + nodes[k], left - leaves[k]).astype(np.int32)

    return Forest(
        roots=np.concatenate([tree.roots + nodes[k] for k, tree in enumerate(trees)]),
        left=np.concatenate([shifted(tree, k) for k, tree in enumerate(trees)]),
        programs=np.concatenate([tree.programs for tree in trees]),
        threshold=np.concatenate(
            [
                _renumber_sets(tree.threshold, tree.tests_set, sets[k])
                for k, tree in enumerate(trees)
            ]
        ),
        is_level=np.concatenate([tree.is_level for tree in trees]),
        missing_left=np.concatenate([tree.missing_left for tree in trees]),
        gain=np.concatenate([tree.gain for tree in trees]),
        n_rows=np.concatenate([tree.n_rows for tree in trees]),
        depth=np.concatenate([tree.depth for tree in trees]),
        values=np.concatenate([tree.values for tree in trees]),
        operator_weights=np.concatenate([tree.operator_weights for tree in trees]),
        operator_counts=np.concatenate([tree.operator_counts for tree in trees]),
        level_sets=_join_sets([tree.level_sets for tree in trees]),
    )


def _renumber_sets(
    threshold: npt.NDArray[np.float32], tests_set: npt.NDArray[np.bool_], shift: int
) -> npt.NDArray[np.float32]:
    """Return thresholds with other numbers of level sets."""
    threshold = threshold.copy()
    threshold[tests_set] += np.float32(shift)
    return threshold


def _join_sets(parts: Sequence[npt.NDArray[np.uint32]]) -> npt.NDArray[np.uint32]:
    """Concatenate level sets; those of trees without any have no words."""
    words = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, words - part.shape[1]))) for part in parts])
