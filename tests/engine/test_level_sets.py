"""Categories that are split into two sets of levels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.arguments import (
    WORST,
    grow,
    leaf_of_grown_rows,
    leaf_of_rows,
    make_grammar,
    make_settings,
    sums_target,
)
from tests.engine.split_cases import Case
from tests.naive import level_sets as naive
from tests.naive import trees as naive_trees
from tests.naive.criteria import CLASS_CRITERIA, SUM_CRITERIA

from featurewright.engine.buffers import MAX_BINS
from featurewright.engine.criteria import (
    KEARNS_MANSOUR,
    MISSING_ALONE,
    NORMALIZED,
    RATIO,
    SQUARES,
)
from featurewright.engine.level_sets import IN_SET, is_member, replace_by_side
from featurewright.expressions import Category, Real

# Ratios are charged for chance as the entropy is, but prefer small sets; the last has no charge.
UNCHARGED = {NORMALIZED, RATIO, KEARNS_MANSOUR}


def chosen(case: Case) -> set[int]:
    """Return the levels that the kernel chose."""
    if case.state["is_set"]:
        return naive.members(case.node.buffers.scratch.level_set[0])
    return {int(case.state["threshold"])}


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, *SUM_CRITERIA])
@loop_over("kind", ["2", "6", "40", "300"])
@loop_over("missing", [0.0, 0.2])
@loop_over("limits", [{}, {"min_rows": 6}, {"side_share": 0.1}])
def test_the_best_set_is_found(criterion, kind, missing, limits):
    case = Case(
        int(kind),
        500 if int(kind) < MAX_BINS else 2500,
        criterion,
        kind=kind,
        missing=missing,
        level_sets=1,
        **limits,
    )
    score = case.score(int(kind))
    expected = naive.best(case.x.astype(np.float64), case.sums, case.settings)
    if case.state["threshold"] == MISSING_ALONE:
        assert missing > 0
        assert score == pytest.approx(case.naive_score(float(MISSING_ALONE)), **case.close)
        return
    # Of many levels some have the same mean but for rounding, and may share a bin or not.
    shares_bins = int(kind) > MAX_BINS
    close = {"rel": 0.05} if shares_bins else case.close
    assert score == pytest.approx(expected.score, **close)
    if score > WORST:
        levels = frozenset(chosen(case))
        assert levels == expected.levels or shares_bins
        wide = case.x.astype(np.float64)
        again = naive.score_set(wide, case.sums, case.settings, levels)
        assert again == pytest.approx(score, **case.close)


@pytest.mark.parametrize("criterion", sorted({*CLASS_CRITERIA, SQUARES} - UNCHARGED))
def test_levels_that_mean_nothing_gain_nothing(criterion):
    """Their gain is about as often more than by chance as it is less."""
    kept = 0
    for seed in range(40):
        case = Case(seed, 600, criterion, kind="40", level_sets=1)
        np.random.default_rng(seed).shuffle(case.x)
        kept += case.score(40) > WORST
    assert 2 <= kept <= 30


def test_absent_levels_are_on_the_heavier_side():
    case = Case(1, 400, SQUARES, kind="12", level_sets=1)
    case.x[case.x == 11] = 3
    case.x[np.flatnonzero(case.x == 4)[3:]] = 10
    case.x[np.flatnonzero(case.x == 5)[3:]] = 10
    assert case.score(12) > WORST
    assert 11 not in chosen(case)
    assert len({4, 5} & chosen(case)) != 1  # of few rows, so treated as one


def test_members_and_sides():
    levels = np.array([[0b1001, 1 << 31]], np.uint32)
    assert [k for k in range(64) if is_member(levels, 0, np.float32(k))] == [0, 3, 63]
    values = np.array([[0, 1, np.nan, 63, 3]], np.float32)
    replace_by_side(values, 5, levels, 0)
    np.testing.assert_array_equal(values, [[0, 1, np.nan, 0, 0]])


@loop_over("missing", [0.0, 0.15])
@loop_over("strategy", [0, 1])
def test_trees_of_sets(missing, strategy):
    rng = np.random.default_rng(3)
    level, x = rng.integers(0, 70, 900).astype(np.float32), rng.normal(size=900)
    y = rng.normal(size=70)[level.astype(int)] * (x > 0) + rng.normal(size=900) * 0.1
    level[rng.random(900) < missing] = np.nan
    columns = np.stack([level, x.astype(np.float32)])
    grammar = make_grammar([Category, Real], n_levels=70)
    settings = make_settings(
        by_class=0, criterion=SQUARES, centered=1, level_sets=1, n_raw=2, many_thresholds=1,
        strategy=1, budget=20 * strategy, min_rows=3, max_leaves=40,
    )  # fmt: skip
    tree = grow(columns, sums_target(y), settings, grammar=grammar)
    assert (tree.is_level[tree.inner] == IN_SET).any()
    np.testing.assert_array_equal(leaf_of_rows(tree, columns), leaf_of_grown_rows(tree))
    numbers = np.cumsum(tree.left < 0) - 1
    walked = [numbers[naive_trees.find_leaf(tree, row)] for row in columns.T]
    np.testing.assert_array_equal(leaf_of_rows(tree, columns), walked)
    leaves = leaf_of_rows(tree, columns)
    means = np.bincount(leaves, y) / np.bincount(leaves)
    assert np.mean((means[leaves] - y) ** 2) < 0.15 * y.var()
