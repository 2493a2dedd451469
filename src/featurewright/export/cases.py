"""Trees as nested CASE expressions, cut into pieces that databases can read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from featurewright.engine.forest import Forest
from featurewright.export.graph import Ensemble, Graph, Step
from featurewright.export.scalars import whole
from featurewright.expressions.dialects import Dialect
from featurewright.expressions.sql_form import NARROW_END, narrow_end
from featurewright.expressions.sql_pieces import Sql, case, number, sqlglot

MAX_NODES = 300_000  # more would be hundreds of megabytes of SQL
_LAST = float(np.nextafter(NARROW_END, 0.0))  # the largest float64 that float32 holds, rounded
_FEW_RUNS = 8  # ranges of leaves that are asked for one after the other
_BEYOND = 1e39  # stands in for an infinite threshold


@dataclass(frozen=True, eq=False)
class Piece:
    """Some levels of one tree.

    Attributes
    ----------
    ensemble : Ensemble
        Where the tree is.
    entries : tuple of int
        The nodes at which rows come in: the root, or the nodes where the piece above ends.
    depth : int
        Number of levels.
    values : bool
        Whether leaves give their value; else their place, -1 - number, and nodes below the piece
        their number.
    tests : tuple of int
        The steps that the nodes of the piece test.
    """

    ensemble: Ensemble
    entries: tuple[int, ...]
    depth: int
    values: bool
    tests: tuple[int, ...]

    def counts(self, args: tuple[int, ...]) -> list[tuple[int, int]]:
        """Return how often the text names each operand."""
        times = 2 if self.ensemble.drops_missing else 1
        counts = [(arg, times * self.tests.count(arg)) for arg in set(self.tests)]
        inner = len(args) - len(set(self.tests))
        return counts + [(arg, len(self.entries) + 1) for arg in args[:inner]]


def lower(graph: Graph, dialect: Dialect) -> Graph:
    """Replace scores, and places in trees, by steps that can be written as SQL."""
    n_nodes = sum(len(ensemble.forest.left) for ensemble in graph.ensembles)
    if n_nodes > MAX_NODES:
        raise ValueError(
            f"The model has {n_nodes} nodes, but at most {MAX_NODES} can be written as SQL; use "
            "fewer or smaller trees, or to_onnx."
        )
    below = replace(graph, steps=[], outputs=[], ensembles=[], _places={})
    moved: list[int] = []
    makers = [_Maker(below, ensemble, dialect, moved) for ensemble in graph.ensembles]
    for step in graph.steps:
        if step.op == "score":
            number, which = step.data
            moved.append(makers[number].score(which))
        elif step.op == "place":
            number, tree = step.data
            moved.append(makers[number].place(tree))
        else:
            moved.append(below.put(replace(step, args=tuple(moved[arg] for arg in step.args))))
    below.outputs = [(name, moved[step]) for name, step in graph.outputs]
    return below


class _Maker:
    """Make the steps of the trees of an ensemble, when the first of them is asked for."""

    def __init__(
        self, graph: Graph, ensemble: Ensemble, dialect: Dialect, moved: list[int]
    ) -> None:
        self.graph, self.moved = graph, moved
        self.depth = dialect.max_tree_levels
        self.most_trees, self.most_nodes = dialect.max_layer_trees, dialect.max_layer_nodes
        # Where leaves are told by their number, which they keep, they have no values.
        if not ensemble.drops_missing and ensemble.forest.values.shape[1]:
            ensemble = replace(ensemble, forest=_by_value(ensemble.forest))
        self.ensemble, self.forest = ensemble, ensemble.forest
        self.places: dict[int, int] = {}
        self.scores: list[int] = []

    def place(self, tree: int) -> int:
        """Return the step of a row's leaf in a tree."""
        if tree not in self.places:
            self.places[tree] = self._descend(tree)
        return self.places[tree]

    def score(self, which: int) -> int:
        """Return the step of a score."""
        if not self.scores:
            self.scores = self._add_up()
        return self.scores[which]

    def _add_up(self) -> list[int]:
        """Add up the trees, some at a time, in the order in which predicting does."""
        ensemble, graph = self.ensemble, self.graph
        waiting: list[list[int]] = [[] for _ in range(ensemble.n_scores)]
        sizes = np.diff(np.append(self.forest.roots, len(self.forest.left)))
        nodes = 0
        for tree in range(self.forest.n_trees):
            nodes += int(sizes[tree])
            for k, term in enumerate(self._values(tree)):
                waiting[tree % ensemble.groups + k].append(term)
            if nodes > self.most_nodes or max(map(len, waiting)) >= self.most_trees:
                waiting = [[graph.add("total", *terms)] if terms else [] for terms in waiting]
                nodes = 0
        return [graph.add("total", *terms) for terms in waiting]

    def _values(self, tree: int) -> list[int]:
        """Return the steps of what a tree adds to its scores."""
        first, last = self._range(tree)
        n_values = self.forest.values.shape[1]
        deep = int(self.forest.depth[first:last].max()) > self.depth
        if n_values == 1 and not deep:
            return [self._piece((first,), (), self.depth, values=True)]
        place = self.place(tree)
        leaves = self.forest.left[first:last]
        leaves = -1 - leaves[leaves < 0]
        return [
            self.graph.add("lookup", place, data=_runs(leaves, self.forest.values[leaves, k]))
            for k in range(n_values)
        ]

    def _descend(self, tree: int) -> int:
        """Return the step of the leaf that a row reaches, piece by piece."""
        first, last = self._range(tree)
        entries, above = [first], -1
        depth = self.forest.depth
        for begin in range(0, max(1, int(depth[first:last].max())), self.depth):
            before = () if above < 0 else (above,)
            above = self._piece(tuple(entries), before, self.depth, values=False)
            level = np.flatnonzero(depth[first:last] == begin + self.depth) + first
            entries = [int(node) for node in level if self.forest.left[node] >= 0]
        return above

    def _piece(
        self, entries: tuple[int, ...], above: tuple[int, ...], depth: int, *, values: bool
    ) -> int:
        """Add some levels of a tree."""
        tests = tuple(self.moved[self.ensemble.tests[k]] for k in self._inner(entries, depth))
        piece = Piece(self._relabelled(), entries, depth, values, tests)
        return self.graph.add("descend", *above, *sorted(set(tests)), data=piece)

    def _relabelled(self) -> Ensemble:
        """Return the ensemble with tests that are steps of the new graph."""
        if not hasattr(self, "_renamed"):
            tests = tuple(self.moved[k] if k >= 0 else -1 for k in self.ensemble.tests)
            self._renamed = replace(self.ensemble, tests=tests)
        return self._renamed

    def _inner(self, entries: tuple[int, ...], depth: int) -> list[int]:
        """List the inner nodes of a piece."""
        found, level = [], list(entries)
        for _ in range(depth):
            level = [node for node in level if self.forest.left[node] >= 0]
            found += level
            level = [int(self.forest.left[node]) + side for node in level for side in (0, 1)]
        return found

    def _range(self, tree: int) -> tuple[int, int]:
        """Return the first node of a tree and the one after its last."""
        roots = self.forest.roots
        last = int(roots[tree + 1]) if tree + 1 < len(roots) else len(self.forest.left)
        return int(roots[tree]), last


def _runs(leaves: Any, values: Any) -> tuple[tuple[int, float], ...]:
    """Return the places at which values change, from the smallest place on, and the values."""
    order = np.argsort(-leaves)
    runs: list[tuple[int, float]] = []
    for leaf, value in zip(leaves[order].tolist(), values[order].tolist(), strict=True):
        if not runs or runs[-1][1] != value:
            runs.append((-1 - leaf, value))
    return tuple(runs)


def look_up(runs: tuple[tuple[int, float], ...], place: Callable[[], Sql]) -> Sql:
    """Write the value of the leaf in a place, by ranges of ranges of places.

    Lists of places would do as well, but DuckDB makes a join of each.
    """
    size = math.isqrt(len(runs) - 1) + 1 if len(runs) > _FEW_RUNS else 1
    groups = [runs[k : k + size] for k in range(0, len(runs), size)]

    def value(group: tuple[tuple[int, float], ...]) -> Sql:
        return number(group[0][1]) if len(group) == 1 else _ranges(group, place, _leaf_value)

    return _ranges(groups, place, value)


def _leaf_value(run: tuple[int, float]) -> Sql:
    """Write the value of one run."""
    return number(run[1])


def _ranges(groups: Any, place: Callable[[], Sql], value: Callable[[Any], Sql]) -> Sql:
    """Write what belongs to the range that a place lies in."""
    if len(groups) == 1:
        return value(groups[0])
    branches = []
    for group, following in pairwise(groups):
        start = following[0] if isinstance(following[0], int) else following[0][0]
        smaller = sqlglot().LT(this=place(), expression=whole(start))
        branches.append((smaller, value(group)))
    return case(*branches, otherwise=value(groups[-1]))


def _by_value(forest: Forest) -> Forest:
    """Sort the leaves of each tree by their values, so that equal ones are adjacent."""
    leaf = np.flatnonzero(forest.left < 0)
    tree = np.searchsorted(forest.roots, leaf, side="right")
    numbers = -1 - forest.left[leaf]
    order = np.lexsort([*forest.values[numbers].T[::-1], tree])
    left = forest.left.copy()
    left[leaf[order]] = -1 - np.arange(len(leaf))
    return replace(forest, left=left, values=forest.values[numbers[order]])


class Writer:
    """Write the pieces of trees.

    Parameters
    ----------
    write : callable
        Gives the text of a step; with ``raw=True`` before it is rounded and bounded.
    is_settled : callable
        Tells whether the text of a step is rounded and bounded in any case.
    """

    def __init__(self, write: Callable[..., Sql], is_settled: Callable[[int], bool]) -> None:
        self.write, self.is_settled = write, is_settled

    def descend(self, step: Step) -> Sql:
        """Write a piece of a tree."""
        exp = sqlglot()
        piece: Piece = step.data
        if len(step.args) == len(set(piece.tests)):
            return self._nested(piece, piece.entries[0], piece.depth)
        above = step.args[0]
        ifs = [
            exp.If(this=whole(entry), true=self._nested(piece, entry, piece.depth))
            for entry in piece.entries
        ]
        return exp.Case(this=self.write(above), ifs=ifs, default=self.write(above))

    def _nested(self, piece: Piece, node: int, depth: int) -> Sql:
        """Write a node and what is below it."""
        forest = piece.ensemble.forest
        left = int(forest.left[node])
        if left < 0:
            return number(float(forest.values[-1 - left, 0])) if piece.values else whole(left)
        if depth == 0:
            return whole(node)
        sides = [self._nested(piece, left + side, depth - 1) for side in (0, 1)]
        if piece.ensemble.drops_missing:
            goes = [self._goes(side, piece.ensemble, node) for side in (0, 1)]
            return case((goes[0], sides[0]), (goes[1], sides[1]))
        # A condition on NULL does not hold: missing values take the other branch.
        asked = 1 if forest.missing_left[node] else 0
        condition = self._goes(asked, piece.ensemble, node)
        return case((condition, sides[asked]), otherwise=sides[1 - asked])

    def _goes(self, side: int, ensemble: Ensemble, node: int) -> Sql:
        """Write that a row whose value is known goes to a side."""
        exp = sqlglot()
        test, threshold = ensemble.tests[node], float(ensemble.forest.threshold[node])
        if ensemble.forest.tests_set[node]:
            levels = [number(float(level)) for level in ensemble.forest.levels_in_set(node)]
            among = exp.In(this=self.write(test), expressions=levels)
            return exp.Not(this=among) if side else among
        if ensemble.forest.is_level[node]:
            equal = exp.NEQ if side else exp.EQ
            return equal(this=self.write(test), expression=number(threshold))
        if self.is_settled(test):
            end = number(_between(threshold))
            return (exp.GT if side else exp.LTE)(this=self.write(test), expression=end)
        # The same question, asked of the value before it is rounded, bounded, possibly missing.
        last = narrow_end(threshold)
        low, high = (float(np.nextafter(last, np.inf)), _LAST) if side else (-_LAST, last)
        return exp.Between(this=self.write(test, raw=True), low=number(low), high=number(high))


def _between(threshold: float) -> float:
    """Return a number of few digits between a float32 and the next larger one.

    It parts float32 numbers as the threshold does, and it does not matter if a database reads it
    with an error in the last digit, as SQLite does at times.
    """
    here = np.float32(threshold)
    above = np.nextafter(here, np.float32(np.inf))
    if np.isinf(here) or np.isinf(above):
        return math.copysign(_BEYOND, threshold)
    middle = (float(here) + float(above)) / 2.0
    for digits in range(1, 18):
        short = float(f"{middle:.{digits}g}")
        if float(here) < short < float(above):
            return short
    return middle
