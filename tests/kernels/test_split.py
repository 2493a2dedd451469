"""One candidate's split equals the best of an exhaustive search, or the one that was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.workbench import (
    WORST,
    as_values,
    class_target,
    make_node,
    make_settings,
    make_state,
    sums_target,
)
from tests.naive import bins as naive_bins
from tests.naive import split as naive
from tests.naive.criteria import CLASS_CRITERIA, SUM_CRITERIA
from tests.naive.streams import Stream

from featurewright.kernels.bins import EXACT_ROWS, FEW_ROWS, MAX_BINS, THRESHOLDS
from featurewright.kernels.split import refine_threshold, score_values


class Case:
    """A column, a target and settings; rows in the order in which kernels see them."""

    def __init__(self, seed, n, criterion, *, missing=0.0, whole=True, kind="number", **settings):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=n).astype(np.float32)
        if kind == "ties":
            x = np.round(x * 2).astype(np.float32)
        elif kind == "tails":
            x = (x / np.abs(rng.normal(size=n)) ** 3).astype(np.float32)
        elif kind != "number":
            x = rng.integers(0, int(kind), n).astype(np.float32)
        by_class = criterion in CLASS_CRITERIA
        weights = rng.integers(1, 5, n).astype(np.float64) if whole else 0.1 + rng.random(n)
        if by_class:
            noisy = np.clip(x, -5, 5) + rng.normal(size=n)
            n_classes = int(rng.integers(2, 5))
            codes = np.clip(np.round(noisy + 1), 0, n_classes - 1)
            codes = np.unique(codes, return_inverse=True)[1]
            target = class_target(codes, weights)
        else:
            values = np.stack([np.clip(x, -5, 5) + rng.normal(size=n), rng.normal(size=n)])
            target = sums_target(values, weights)
        x[rng.random(n) < missing] = np.nan
        settings = {"criterion": criterion, "centered": 1, "whole_weights": int(whole), **settings}
        self.settings = make_settings(by_class=int(by_class), **settings)
        self.node = make_node(target, self.settings)
        self.x = x[self.node.ids]
        self.weights = weights[self.node.ids].astype(np.float32)
        if by_class:
            self.sums = naive.of_classes(target.codes[self.node.ids], self.weights)
        else:
            self.sums = naive.of_targets(target.sums, target.weights, centered=True)
        # A ratio of differences of sums: float32 keeps fewer digits of it.
        self.close = {"rel": 2e-3, "abs": 2e-5 * float(self.weights.sum())}
        self.state = make_state(seed + 1)

    def score(self, n_levels: int = 0) -> float:
        return score_values(
            as_values(self.x), 0, self.node.shop.rows, len(self.x), self.node.n_stats,
            self.settings, self.node.shop.bench, n_levels, WORST, self.state,
        )  # fmt: skip

    def naive_score(self, *, is_level: bool = False) -> float:
        """Score the chosen threshold."""
        return naive.score_test(
            self.x.astype(np.float64), self.sums, self.settings, float(self.state["threshold"]),
            is_level=is_level,
        )  # fmt: skip

    def sampled_values(self) -> np.ndarray:
        """Give the smallest value and those of a few rows, one in every stretch of rows."""
        step = len(self.x) // THRESHOLDS
        first = Stream(int(self.state["random"])).below(step)
        places = [t * step + (first + 5 * t) % step for t in range(1, THRESHOLDS)]
        values = np.array([naive_bins.value_range(self.x)[0], *self.x[places]], np.float64)
        return values[np.isfinite(values)]

    def refine(self, coarse: float) -> None:
        """Refine the threshold just found."""
        self.state["best_score"] = coarse
        self.state["best_threshold"] = self.state["threshold"]
        refine_threshold(
            as_values(self.x), self.node.shop.rows, len(self.x), self.node.n_stats,
            self.settings, self.node.shop.bench, self.state,
        )  # fmt: skip
        self.state["threshold"] = self.state["best_threshold"]


limits = st.sampled_from(
    [{}, {"min_rows": 2}, {"min_rows": 6}, {"min_weight": 4.0}, {"min_rows": 3, "min_weight": 9.0}]
)
criteria = st.sampled_from(CLASS_CRITERIA + SUM_CRITERIA)
seeds = st.integers(0, 10**6)


def check_best(case: Case, expected: float, *, n_levels: int = 0) -> None:
    check_score(case, case.score(n_levels), expected, is_level=n_levels > 0)


def check_score(case: Case, actual: float, expected: float, *, is_level: bool = False) -> None:
    """The score is the expected one, and the threshold in the state has it."""
    if expected == -np.inf:
        assert actual == WORST
        return
    assert actual == pytest.approx(expected, **case.close)
    chosen = case.naive_score(is_level=is_level)
    assert chosen == pytest.approx(expected, **case.close)


def check_drawn(case: Case, actual: float, drawn: float, *, is_level: bool) -> None:
    """The score is that of the test that was drawn, or of parting missing values if higher."""
    low, high, _ = naive_bins.value_range(case.x)
    tests = [float(drawn)] if low < high else []
    expected, test = naive.best(case.x, case.sums, case.settings, tests=tests, is_level=is_level)
    check_score(case, actual, expected, is_level=is_level)
    if expected > -np.inf and not np.isnan(case.x).any():
        assert case.state["threshold"] == np.float32(test)


@given(
    seed=seeds,
    n=st.integers(2, EXACT_ROWS),
    criterion=criteria,
    limits=limits,
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.2, 0.9]),
    kind=st.sampled_from(["number", "ties"]),
    l2=st.sampled_from([0.0, 1.0]),
)
def test_best_threshold_of_few_rows_is_the_best_of_all(
    *, seed, n, criterion, limits, whole, missing, kind, l2
):
    l2 = l2 if criterion in SUM_CRITERIA else 0.0
    case = Case(seed, n, criterion, missing=missing, whole=whole, kind=kind, l2=l2, **limits)
    expected, _ = naive.best(case.x, case.sums, case.settings, tests=naive.thresholds(case.x))
    check_best(case, expected)


@given(
    seed=seeds,
    n=st.sampled_from([EXACT_ROWS + 1, 64, 300, FEW_ROWS]),
    criterion=criteria,
    limits=limits,
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.3, 0.95]),
    kind=st.sampled_from(["number", "ties", "tails"]),
)
def test_best_threshold_of_some_rows_is_the_best_of_a_few_values(
    *, seed, n, criterion, limits, whole, missing, kind
):
    case = Case(seed, n, criterion, missing=missing, whole=whole, kind=kind, **limits)
    expected, _ = naive.best(case.x, case.sums, case.settings, tests=case.sampled_values())
    check_best(case, expected)


@given(
    seed=seeds,
    n=st.sampled_from([FEW_ROWS + 1, 4000]),
    criterion=criteria,
    limits=limits,
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    kind=st.sampled_from(["number", "ties", "tails"]),
)
def test_best_threshold_of_many_rows_is_the_best_of_the_bins(
    *, seed, n, criterion, limits, whole, missing, kind
):
    case = Case(seed, n, criterion, missing=missing, whole=whole, kind=kind, **limits)
    actual = case.score()
    codes = case.node.shop.bench.codes[:n].astype(np.int64)
    known = ~np.isnan(case.x)
    assert codes[known].max(initial=0) < MAX_BINS
    assert (np.diff(codes[known][np.argsort(case.x[known], kind="stable")]) >= 0).all()
    expected, _ = naive.best(
        case.x, case.sums, case.settings, tests=naive.between_bins(case.x, codes)
    )
    check_score(case, actual, expected)


@given(
    seed=seeds,
    n=st.sampled_from([EXACT_ROWS + 1, 64, 300, FEW_ROWS]),
    criterion=criteria,
    limits=limits,
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    kind=st.sampled_from(["number", "ties", "tails"]),
)
def test_a_threshold_of_a_few_is_refined_to_the_best_of_many(
    *, seed, n, criterion, limits, whole, missing, kind
):
    case = Case(seed, n, criterion, missing=missing, whole=whole, kind=kind, **limits)
    coarse = case.score()
    if coarse == WORST or np.isinf(case.state["threshold"]):
        return
    case.refine(coarse)
    codes = case.node.shop.bench.codes[:n].astype(np.int64)
    low, high = naive_bins.clipped_range(case.x)
    known = ~np.isnan(case.x)
    fine = naive_bins.range_codes(case.x, low, high, MAX_BINS)
    assert np.abs(codes - fine)[known].max() <= 1  # rounded in float32
    scores = [
        naive.score_test(case.x.astype(np.float64), case.sums, case.settings, test)
        for test in naive.between_bins(case.x, codes)
    ]
    expected = max([float(coarse), *scores])
    assert case.naive_score() == pytest.approx(expected, **case.close)


def test_refining_improves_thresholds():
    better = 0
    for seed in range(20):
        case = Case(seed, 200, 0)
        coarse = case.score()
        case.refine(coarse)
        assert case.naive_score() >= coarse * (1 - 1e-4)
        better += case.naive_score() > coarse * (1 + 1e-3)
    assert better >= 10


@given(
    seed=seeds,
    n=st.sampled_from([5, 30, 200]),
    criterion=criteria,
    limits=limits,
    missing=st.sampled_from([0.0, 0.3]),
    n_levels=st.sampled_from([2, 3, 4, 7, 60, 127]),
)
def test_best_level_is_the_best_of_all(*, seed, n, criterion, limits, missing, n_levels):
    case = Case(seed, n, criterion, missing=missing, kind=str(n_levels), **limits)
    expected, _ = naive.best(case.x, case.sums, case.settings, tests=range(n_levels), is_level=True)
    check_best(case, expected, n_levels=n_levels)


@given(seeds, st.sampled_from([128, 300]), st.sampled_from([0.0, 0.3]))
def test_best_level_of_many_is_the_best_of_a_window(seed, n_levels, missing):
    case = Case(seed, 400, 0, missing=missing, kind=str(n_levels))
    first = Stream(seed + 1).below(n_levels - MAX_BINS + 2)
    window = range(first, first + MAX_BINS - 1)
    assert window[-1] < n_levels
    expected, _ = naive.best(case.x, case.sums, case.settings, tests=window, is_level=True)
    check_best(case, expected, n_levels=n_levels)
    assert case.state["threshold"] in [*window, np.inf]


@given(
    seed=seeds,
    n=st.sampled_from([2, 7, 31, 100, 1500]),
    criterion=criteria,
    limits=limits,
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    kind=st.sampled_from(["number", "ties", "tails"]),
)
def test_a_random_threshold_is_uniform_between_the_extremes(
    *, seed, n, criterion, limits, whole, missing, kind
):
    case = Case(
        seed, n, criterion, missing=missing, whole=whole, kind=kind, random_threshold=1, **limits
    )
    low, high, _ = naive_bins.value_range(case.x)
    drawn = np.float32(float(low) + Stream(seed + 1).unit() * (float(high) - float(low)))
    check_drawn(case, case.score(), drawn if drawn < high else low, is_level=False)


@given(
    seed=seeds,
    n=st.sampled_from([2, 7, 100]),
    criterion=criteria,
    limits=limits,
    missing=st.sampled_from([0.0, 0.5]),
    n_levels=st.sampled_from([2, 5, 500]),
)
def test_a_random_level_is_that_of_a_random_row(*, seed, n, criterion, limits, missing, n_levels):
    case = Case(
        seed, n, criterion, missing=missing, kind=str(n_levels), random_threshold=1, **limits
    )
    stream = Stream(seed + 1)
    level = case.x[stream.below(n)]
    while np.isnan(level) and not np.isnan(case.x).all():
        level = case.x[stream.below(n)]
    check_drawn(case, case.score(n_levels), level, is_level=True)


@given(
    seed=seeds,
    n=st.sampled_from([2, 3, 8, 30, 60]),
    criterion=st.sampled_from(CLASS_CRITERIA),
    drawn=st.booleans(),
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.05]),
    kind=st.sampled_from(["number", "3"]),
    noise=st.sampled_from([0.0, 0.1]),
)
def test_perfect_means_that_two_classes_are_told_apart(
    *, seed, n, criterion, drawn, whole, missing, kind, noise
):
    case = Case(
        seed, n, criterion, missing=missing, whole=whole, kind=kind, random_threshold=int(drawn)
    )
    rng = np.random.default_rng(seed)
    cut = rng.choice(case.x[~np.isnan(case.x)]) if not np.isnan(case.x).all() else 0
    codes = (np.nan_to_num(case.x) <= cut) ^ (rng.random(n) < noise)
    order = np.argsort(codes, kind="stable")
    case.x = case.x[order]
    case.node = make_node(class_target(codes[order], case.weights), case.settings)
    n_levels = 3 if kind == "3" else 0
    score = case.score(n_levels)
    apart = score > WORST and np.isinf(case.state["threshold"])
    left = naive.goes_left(case.x, case.state["threshold"], is_level=n_levels > 0 and not apart)
    separated = (left == codes[order]).all() or (left != codes[order]).all()
    both = len(np.unique(codes)) == 2
    told = apart or not np.isnan(case.x).any()
    expected = both and separated and told and score > WORST
    if whole or not expected:  # rounded sums may hide a perfect split, never invent one
        assert bool(case.state["perfect"]) == expected


def test_the_threshold_is_worked_out_only_for_a_better_score():
    case = Case(1, 30, 0)
    best = case.score()
    case.state["threshold"] = 77.0
    again = score_values(
        as_values(case.x), 0, case.node.shop.rows, len(case.x), case.node.n_stats,
        case.settings, case.node.shop.bench, 0, np.float32(best), case.state,
    )  # fmt: skip
    assert again == best
    assert case.state["threshold"] == 77.0


@pytest.mark.parametrize("drawn", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 20, 50])
@pytest.mark.parametrize("value", [0.0, 3.0, np.nan])
def test_a_constant_cannot_be_split(value, n, drawn):
    codes = np.arange(n) % 3
    settings = make_settings(random_threshold=drawn, whole_weights=0)
    weights = 0.1 + np.random.default_rng(n).random(n)
    node = make_node(class_target(codes, weights), settings)
    score = score_values(
        as_values(np.full(n, value)), 0, node.shop.rows, n, node.n_stats, settings,
        node.shop.bench, 0, WORST, make_state(),
    )  # fmt: skip
    assert score == WORST


@given(seeds, st.integers(2, 3000), criteria, st.sampled_from([0.0, 0.5]), st.integers(2, 60))
def test_no_side_is_ever_empty(seed, n, criterion, missing, n_classes):
    """Rounded sums of many fractional weights must not make an empty side look filled."""
    rng = np.random.default_rng(seed)
    case = Case(seed, n, criterion, missing=missing, whole=False, kind="ties")
    if criterion in CLASS_CRITERIA:
        target = class_target(np.sort(rng.integers(0, n_classes, n)), case.weights)
        case.node = make_node(target, case.settings)
    if case.score() > WORST:
        known = case.x[~np.isnan(case.x)]
        apart = np.isinf(case.state["threshold"])
        left = ~np.isnan(case.x) if apart else known <= case.state["threshold"]
        assert 0 < left.sum() < len(left)


@given(
    seed=seeds,
    n_classes=st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16, 17, 30]),
    heaviest=st.sampled_from([1, 7, 60, 128, 30_000, 2**20]),
    missing=st.sampled_from([0.0, 0.3]),
    way=st.sampled_from([{}, {"random_threshold": 1}, {"random_threshold": 1, "min_rows": 3}]),
    criterion=st.sampled_from(CLASS_CRITERIA),
)
def test_packed_weights_change_nothing(*, seed, n_classes, heaviest, missing, way, criterion):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    codes = np.unique(rng.integers(0, n_classes, n), return_inverse=True)[1]
    target = class_target(np.sort(codes), rng.integers(1, heaviest + 1, n))
    x = rng.normal(size=n).astype(np.float32)
    x[rng.random(n) < missing] = np.nan
    found = []
    for whole in (0, 1):
        settings = make_settings(whole_weights=whole, criterion=criterion, **way)
        node = make_node(target, settings)
        state = make_state(seed)
        score = score_values(
            as_values(x), 0, node.shop.rows, n, node.n_stats, settings, node.shop.bench, 0, WORST,
            state,
        )  # fmt: skip
        found.append((score, bool(state["perfect"])))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-3, abs=1e-4)
    assert found[1][1] == found[0][1]
