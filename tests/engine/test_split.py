"""One candidate's split equals the best of an exhaustive search, or the one that was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.engine.arguments import (
    WORST,
    as_values,
    class_target,
    make_node,
    make_settings,
    make_state,
)
from tests.engine.split_cases import SPARSE, Case, check_best, check_drawn, check_score
from tests.naive import bins as naive_bins
from tests.naive import split as naive
from tests.naive.criteria import CLASS_CRITERIA, SUM_CRITERIA
from tests.naive.streams import Stream

from featurewright.engine.buffers import MAX_BINS, MAX_EXACT_ROWS, SPARSE_MIN_STATISTICS
from featurewright.engine.criteria import INFORMATION
from featurewright.engine.split import refine_threshold, score_values

limits = st.sampled_from(
    [
        *({}, {"min_rows": 2}, {"min_rows": 6}, {"min_weight": 4.0}, {"side_share": 0.1}),
        {"min_rows": 3, "min_weight": 9.0},
    ]
)
criteria = st.sampled_from(CLASS_CRITERIA + SUM_CRITERIA)
seeds = st.integers(0, 10**6)


@given(
    seed=seeds,
    n=st.integers(2, MAX_EXACT_ROWS),
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
    check_best(case, case.sampled_values() if case.takes_fast_path else naive.thresholds(case.x))


@given(
    seed=seeds,
    n=st.sampled_from([3, 10, MAX_EXACT_ROWS, MAX_EXACT_ROWS + 1, 200]),
    limits=limits,
    kind=st.sampled_from(["number", "ties", "2"]),
    many=st.booleans(),
)
def test_a_threshold_costs_the_bits_that_name_it(*, seed, n, limits, kind, many):
    case = Case(seed, n, INFORMATION, kind=kind, cut_cost=1, **limits)
    case.state["many_thresholds"] = int(many)
    drawn = case.sampled_values()
    actual = case.score()
    if n <= MAX_EXACT_ROWS:
        tests = naive.thresholds(case.x)
    elif many:
        tests = naive.between_bins(case.x, case.node.buffers.scratch.codes[:n].astype(np.int64))
    else:
        tests = np.unique(drawn)
    expected, _ = naive.best(case.x, case.sums, case.settings, tests=tests)
    assert actual == expected or abs(actual - expected) <= case.slack(expected)


@given(
    seed=seeds,
    n=st.sampled_from([MAX_EXACT_ROWS + 1, 64, 300, 1500]),
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
    check_best(case, case.sampled_values())


@given(
    seed=seeds,
    n=st.sampled_from([MAX_EXACT_ROWS + 1, 300, 4000]),
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
    case.state["many_thresholds"] = 1
    actual = case.score()
    codes = case.node.buffers.scratch.codes[:n].astype(np.int64)
    known = ~np.isnan(case.x)
    assert codes[known].max(initial=0) < MAX_BINS
    assert (np.diff(codes[known][np.argsort(case.x[known], kind="stable")]) >= 0).all()
    check_score(case, actual, naive.between_bins(case.x, codes))


@given(
    seed=seeds,
    n=st.sampled_from([MAX_EXACT_ROWS + 1, 64, 300, 1500]),
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
    few = case.state["threshold"]
    case.refine(coarse)
    low, high = naive_bins.clipped_range(case.x)
    codes = naive_bins.range_codes(case.x, low, high, MAX_BINS)
    tests = [float(few), float(case.state["threshold"])]
    if kind != "tails":
        tests += naive.between_bins(case.x, codes)
    wide = case.x.astype(np.float64)
    scores = [naive.score_test(wide, case.sums, case.settings, test) for test in tests]
    # Bins are rounded in float32, so that a value may lie in the next one.
    assert case.naive_score() >= 0.98 * max(float(coarse), *scores) - case.slack(max(scores))


@given(
    seed=seeds,
    n=st.sampled_from([2, 3, 30, MAX_EXACT_ROWS + 1, 300, 2000]),
    criterion=st.sampled_from(SUM_CRITERIA),
    limits=limits,
    kind=st.sampled_from(tuple(SPARSE)),
    many=st.sampled_from([0, 1]),
    l2=st.sampled_from([0.0, 1.0]),
)
def test_all_thresholds_are_tried_where_most_rows_have_one_value(
    *, seed, n, criterion, limits, kind, many, l2
):
    case = Case(seed, n, criterion, kind=kind, n_targets=SPARSE_MIN_STATISTICS + 1, l2=l2, **limits)
    case.state["many_thresholds"] = many
    check_best(case, naive.thresholds(case.x))


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_constant_columns_do_not_split_many_numbers(missing):
    case = Case(1, 200, SUM_CRITERIA[0], missing=missing, kind="1", n_targets=SPARSE_MIN_STATISTICS)
    case.settings["missing_both"] = 1  # else missing rows may be separated from the others
    assert case.score() == WORST


def test_refining_improves_thresholds():
    better = 0
    for seed in range(20):
        case = Case(seed, 200, 0)
        coarse = case.score()
        case.refine(coarse)
        assert case.naive_score() >= coarse * (1 - 1e-4)
        better += case.naive_score() > coarse * (1 + 1e-3)
    assert better >= 10


@loop_over("seed", range(3))
@loop_over("n", [200, 2000, 20_000])
def test_refining_finds_the_threshold_that_separates_two_classes(seed, n):
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(0, 4, n)).astype(np.float32)
    cut = np.sort(x)[rng.integers(1, n)]
    codes = (x >= cut).astype(np.int64)
    settings = make_settings(many_thresholds=1)
    node = make_node(class_target(codes), settings)
    state = make_state(seed + 1)
    state["best_score"] = 0.0
    refine_threshold(
        as_values(x[node.ids]),
        node.buffers.rows,
        n,
        node.n_stats,
        settings,
        node.buffers.scratch,
        state,
    )
    wrong = ((x > state["best_threshold"]) != codes.astype(bool)).sum()
    assert wrong <= n // 500


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
    check_best(case, range(n_levels), n_levels=n_levels)


@given(seeds, st.sampled_from([128, 300]), st.sampled_from([0.0, 0.3]))
def test_best_level_of_many_is_the_best_of_a_window(seed, n_levels, missing):
    case = Case(seed, 400, 0, missing=missing, kind=str(n_levels))
    first = Stream(seed + 1).below(n_levels - MAX_BINS + 2)
    window = range(first, first + MAX_BINS - 1)
    assert window[-1] < n_levels
    check_best(case, window, n_levels=n_levels)
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
    is_alone = score > WORST and np.isinf(case.state["threshold"])
    left = naive.goes_left(case.x, case.state["threshold"], is_level=n_levels > 0 and not is_alone)
    separated = (left == codes[order]).all() or (left != codes[order]).all()
    both = len(np.unique(codes)) == 2
    told = is_alone or not np.isnan(case.x).any()
    expected = both and separated and told and score > WORST
    if whole or not expected:  # rounded sums may hide a perfect split, never invent one
        assert bool(case.state["perfect"]) == expected


def test_the_threshold_is_worked_out_only_for_a_better_score():
    case = Case(1, 30, 0, whole=False)
    best = case.score()
    assert not np.isnan(case.state["threshold"])
    assert case.score(best_so_far=best) == best
    assert np.isnan(case.state["threshold"])


@given(
    seed=seeds,
    n=st.sampled_from([8, 30, 60, 1500]),
    criterion=criteria,
    limits=limits,
    missing=st.sampled_from([0.1, 0.5, 0.9]),
    n_levels=st.sampled_from([0, 4]),
    drawn=st.booleans(),
    share=st.sampled_from([0.5, 0.9, 1.0, 1.1, 2.0]),
)
def test_missing_values_are_parted_only_to_beat_the_best_so_far(
    *, seed, n, criterion, limits, missing, n_levels, drawn, share
):
    case = Case(
        seed, n, criterion, missing=missing, kind=str(n_levels) if n_levels else "number",
        random_threshold=int(drawn), **limits,
    )  # fmt: skip
    before = case.state.copy()
    alone = case.score(n_levels)
    is_alone = case.state["threshold"] == np.inf
    if alone == WORST:
        return
    best_so_far = np.float32(alone * share)
    case.state = before
    score = case.score(n_levels, best_so_far)
    if is_alone and alone > best_so_far:
        assert (score, case.state["threshold"]) == (alone, np.inf)
        return
    # What is left is the score of the known values, as if nothing else had been looked at.
    assert case.state["threshold"] != np.inf
    if not is_alone:
        assert score == alone
    elif score > WORST:
        known = case.naive_score(is_level=n_levels > 0)
        assert score == pytest.approx(known, **case.close)
    else:
        assert np.isnan(case.state["threshold"]) or drawn or limits


@loop_over("drawn", [0, 1])
@loop_over("n", [1, 2, 20, 50])
@loop_over("value", [0.0, 3.0, np.nan])
def test_a_constant_cannot_be_split(value, n, drawn):
    codes = np.arange(n) % 3
    settings = make_settings(random_threshold=drawn, whole_weights=0)
    weights = 0.1 + np.random.default_rng(n).random(n)
    node = make_node(class_target(codes, weights), settings)
    state = make_state()
    score = score_values(
        as_values(np.full(n, value)), 0, node.buffers.rows, n, node.n_stats, settings,
        node.buffers.scratch, 0, WORST, state,
    )  # fmt: skip
    assert score == WORST
    assert np.isnan(state["threshold"])


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
        is_alone = np.isinf(case.state["threshold"])
        left = ~np.isnan(case.x) if is_alone else known <= case.state["threshold"]
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
    # Of fewer rows all thresholds are compared, but a few of packed ones.
    n = int(rng.integers(2 if way else MAX_EXACT_ROWS + 1, 120))
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
            as_values(x), 0, node.buffers.rows, n, node.n_stats, settings, node.buffers.scratch,
            0, WORST, state,
        )  # fmt: skip
        found.append((score, bool(state["perfect"])))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-3, abs=1e-4)
    assert found[1][1] == found[0][1]
