"""Missing values are a test of their own if that scores higher, or go to both children."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.arguments import (
    class_target,
    grow,
    make_grammar,
    make_settings,
    sums_target,
)
from tests.engine.forests import make_job
from tests.engine.test_grow import check_tree

from featurewright.engine.criteria import INFORMATION, KEARNS_MANSOUR, RATIO, SQUARES
from featurewright.engine.growth import (
    COPIES_PER_ROW,
    RowPlacement,
    RowSample,
    grow_one,
    order_rows,
)
from featurewright.engine.threads import Halt
from featurewright.expressions import Category


@loop_over("n", [12, 60, 400])
@loop_over("kind", ["number", "category", "constant"])
@loop_over("criterion", [RATIO, KEARNS_MANSOUR, SQUARES])
def test_informative_missing_values_are_separated(criterion, kind, n):
    for drawn in (0, 1):
        for search in ({"n_raw": 1}, {"budget": 3, "strategy": 1, "sample": 64}):
            check_separated(n, kind, criterion, random_threshold=drawn, **search)


def check_separated(n: int, kind: str, criterion: int, **values) -> None:
    """Grow a tree whose target is whether the only column is missing."""
    rng = np.random.default_rng(n)
    columns = np.zeros((1, n), np.float32) if kind == "constant" else rng.integers(0, 4, (1, n))
    columns = columns.astype(np.float32)
    columns[0, ::3] = np.nan
    wanted = np.isnan(columns[0])
    by_class = criterion != SQUARES
    target = class_target(wanted) if by_class else sums_target(wanted * 1.0)
    settings = make_settings(criterion=criterion, by_class=int(by_class), centered=1, **values)
    grammar = make_grammar([Category if kind == "category" else 0], (), n_levels=4)
    tree = grow(columns, target, settings, grammar=grammar)
    check_tree(tree, columns, target, settings, grammar)
    assert sorted(tree.size.tolist()) == sorted([n, wanted.sum(), n - wanted.sum()])


def grown_with_missing(share: float, *, by_class: bool = True, **changes) -> tuple:
    """Grow one tree on a table with missing values; return the job, the tree and its rows."""
    changes = {"criterion": INFORMATION if by_class else SQUARES, "missing_both": 1} | changes
    job = make_job(300, 3, by_class=by_class, budget=0, n_raw=3, **changes)
    holes = np.random.default_rng(3).random(job.matrix.shape) < share
    job.matrix[holes] = np.nan
    job.columns[...] = job.matrix.T
    tree, places = grow_one(job, RowSample(order_rows(job.target), None), 7, Halt())
    return job, tree, places


def rows_of(places: RowPlacement, node: int) -> np.ndarray:
    return places.row_ids[places.start[node] : places.start[node] + places.size[node]]


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"max_leaves": 8}])
def test_growth_sends_missing_rows_to_all_children(by_class, limits):
    job, tree, places = grown_with_missing(0.03, by_class=by_class, **limits)
    both = 0
    # Rows of inner nodes are overwritten by those of their children: go upwards from the leaves.
    reached: dict[int, list[int]] = {}
    for node in range(len(tree.left) - 1, -1, -1):
        if tree.left[node] < 0:
            reached[node] = rows_of(places, node).tolist()
            continue
        assert np.isfinite(tree.threshold[node])  # missing against known is no test
        left, right = (set(reached[int(tree.left[node]) + side]) for side in (0, 1))
        reached[node] = sorted(left | right)
        assert len(reached[node]) == tree.n_rows[node]
        x = job.matrix[reached[node], tree.programs[node, 0]]
        missing = {row for row, value in zip(reached[node], x, strict=True) if np.isnan(value)}
        assert left & right == missing
        both += len(missing)
    assert both > 5
    assert sorted(reached[0]) == list(range(300))


@pytest.mark.parametrize("by_class", [True, False])
def test_gains_count_known_rows_alone(by_class):
    job, tree, _ = grown_with_missing(0.3, by_class=by_class, max_depth=1)
    x = job.matrix[:, tree.programs[0, 0]]
    known = ~np.isnan(x)
    left = x[known] <= tree.threshold[0]

    def impurity(values: np.ndarray) -> float:
        if not by_class:
            return float(((values - values.mean()) ** 2).sum())
        counts = np.bincount(values)
        counts = counts[counts > 0]
        return float(-(counts * np.log2(counts / len(values))).sum())

    y = (job.target.codes if by_class else job.target.sums[0].astype(float))[known]
    gain = impurity(y) - impurity(y[left]) - impurity(y[~left])
    assert tree.gain[0] == pytest.approx(gain, rel=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95])
def test_copies_are_bounded(share):
    _, tree, places = grown_with_missing(share, max_depth=2**31 - 1)
    leaves = np.flatnonzero(tree.left < 0)
    held = np.concatenate([rows_of(places, node) for node in leaves])
    assert set(held.tolist()) == set(range(300))
    assert len(held) <= (1 + COPIES_PER_ROW) * 300
    if share == 0.0:
        assert len(held) == 300
    for node in leaves:
        assert len(set(rows_of(places, node).tolist())) == places.size[node]
