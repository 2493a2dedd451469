"""Nodes are prepared and sampled, and missing rows routed, as the naive versions do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.engine.arguments import (
    as_values,
    class_target,
    grow,
    make_buffers,
    make_grammar,
    make_node,
    make_settings,
    make_state,
    sums_target,
)
from tests.naive import split as naive_split
from tests.naive import trees as naive
from tests.naive.criteria import CLASS_CRITERIA, SUM_CRITERIA
from tests.naive.streams import Stream

from featurewright.engine.buffers import SCREEN_KEEP, SCREEN_MIN_ROWS
from featurewright.engine.criteria import SQUARES
from featurewright.engine.node_search import is_pure, prepare, route_missing, sample_rows

seeds = st.integers(0, 10**6)
SEED_STEP = 0x9E3779B97F4A7C15  # small seeds begin alike


@given(seeds, st.integers(1, 200), st.integers(1, 6))
def test_classes_are_prepared(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    target = class_target(codes, rng.integers(1, 5, n))
    buffers = make_buffers(target, make_settings())
    ids = np.argsort(codes, kind="stable").astype(np.int32)
    start = int(rng.integers(0, n))
    size = int(rng.integers(1, n - start + 1))
    n_stats = prepare(target, ids, start, size, size, make_settings(), buffers.rows)
    part = ids[start : start + size]
    present, counts = np.unique(codes[part], return_counts=True)
    assert n_stats == len(present)
    expected = np.cumsum([0, *counts])
    np.testing.assert_array_equal(buffers.rows.segments[: n_stats + 1], expected)
    sums = naive_split.of_classes(codes[part], target.weights[part])
    totals = [*sums.statistics.sum(axis=1), sums.weights.sum()]
    np.testing.assert_array_equal(buffers.rows.totals[: n_stats + 1], totals)
    np.testing.assert_array_equal(buffers.rows.weights[0, :size], target.weights[part])
    assert is_pure(buffers.rows, size, n_stats, make_settings()) == (len(present) == 1)


@given(seeds, st.integers(1, 200), st.integers(1, 4), st.booleans())
def test_sums_are_prepared(seed, n, n_targets, centered):
    rng = np.random.default_rng(seed)
    target = sums_target(rng.normal(1, 2, size=(n_targets, n)), 0.1 + rng.random(n))
    settings = make_settings(by_class=0, centered=int(centered), criterion=5)
    buffers = make_buffers(target, settings)
    ids = rng.permutation(n).astype(np.int32)
    start = int(rng.integers(0, n))
    size = int(rng.integers(1, n - start + 1))
    part = ids[start : start + size]
    n_stats = prepare(target, ids, start, size, size, settings, buffers.rows)
    assert n_stats == n_targets
    expected = naive_split.of_targets(target.sums[:, part], target.weights[part], centered=centered)
    actual = buffers.rows.weights[:, :size]
    np.testing.assert_allclose(actual[:-1], expected.statistics, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(actual[-1], target.weights[part])
    totals = [*expected.statistics.sum(axis=1), expected.weights.sum()]
    np.testing.assert_allclose(buffers.rows.totals[: n_stats + 1], totals, rtol=1e-5, atol=1e-3)


@loop_over("value", [0.0, 0.1, -1.7, 3.3])
@loop_over("whole", [True, False])
def test_a_constant_target_is_pure_whatever_the_weights(value, whole):
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 6, 50) if whole else 0.1 + rng.random(50)
    settings = make_settings(by_class=0, centered=1, criterion=5)
    node = make_node(sums_target(np.full((2, 50), value), weights), settings)
    assert is_pure(node.buffers.rows, 50, node.n_stats, settings)
    other = np.full((2, 50), value)
    other[1, 30] += 0.01
    node = make_node(sums_target(other, weights), settings)
    assert not is_pure(node.buffers.rows, 50, node.n_stats, settings)


@given(seeds, st.integers(1, 500), st.data())
def test_samples_take_one_row_of_every_stratum(seed, n, data):
    size = data.draw(st.integers(1, n))
    seed = seed * SEED_STEP % 2**64
    rows = np.random.default_rng(0).permutation(n + 7).astype(np.int32)
    out = np.empty(size, np.int32)
    sample_rows(rows, 7, n, size, make_state(seed), out)
    stream = Stream(seed)
    places = [min(int((i + stream.unit()) * n / size), n - 1) for i in range(size)]
    np.testing.assert_array_equal(out, rows[7:][places])
    edges = np.arange(size + 1) * n / size
    assert (np.array(places) + 1 > edges[:-1]).all()
    assert (np.array(places) < edges[1:]).all()


@given(seeds)
def test_samples_keep_the_shares_of_classes(seed):
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.choice(4, 900, p=[0.6, 0.3, 0.08, 0.02])).astype(np.int32)
    out = np.empty(100, np.int32)
    rows = np.arange(900, dtype=np.int32)
    sample_rows(rows, 0, 900, 100, make_state(seed * SEED_STEP % 2**64), out)
    assert (np.diff(codes[out]) >= 0).all()
    expected = np.bincount(codes, minlength=4) / 9
    assert np.abs(np.bincount(codes[out], minlength=4) - expected).max() < 2


def routed(x, target, settings, threshold, *, is_level: bool):
    """Return the kernel's and the naive result for a node over all rows."""
    node = make_node(target, settings)
    x = x[node.ids]
    side, gain = route_missing(
        as_values(x), node.buffers.rows, len(x), node.n_stats, settings, node.buffers.scratch,
        np.float32(threshold), int(is_level),
    )  # fmt: skip
    if len(target.codes):
        sums = naive_split.of_classes(target.codes[node.ids], target.weights[node.ids])
    else:
        sums = naive_split.of_targets(target.sums, target.weights, centered=True)
    return (bool(side), gain), naive.route_missing(x, sums, settings, threshold, is_level=is_level)


@given(
    seed=seeds,
    n=st.integers(2, 300),
    criterion=st.sampled_from(CLASS_CRITERIA + SUM_CRITERIA),
    whole=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    is_level=st.booleans(),
)
def test_missing_rows_go_where_the_split_gains_more(
    *, seed, n, criterion, whole, missing, is_level
):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n)).astype(np.float32)
    weights = rng.integers(1, 5, n) if whole else 0.1 + rng.random(n)
    by_class = criterion in CLASS_CRITERIA
    if by_class:
        target = class_target(rng.integers(0, 3, n), weights)
    else:
        target = sums_target(x + rng.normal(size=n), weights)
    threshold = float(np.sort(x)[n // 3])
    x[rng.random(n) < missing] = np.nan
    settings = make_settings(
        by_class=int(by_class), criterion=criterion, centered=1, whole_weights=int(whole)
    )
    goes = naive_split.goes_left(x, threshold, is_level=is_level)
    if not 0 < goes.sum() < (~np.isnan(x)).sum():
        return
    (side, gain), (expected_side, expected_gain) = routed(
        x, target, settings, threshold, is_level=is_level
    )
    slack = 2e-5 * float(target.weights.sum())
    assert gain == pytest.approx(expected_gain, rel=1e-3, abs=slack)
    if np.isnan(x).any():
        if by_class:
            sums = naive_split.of_classes(target.codes, target.weights)
        else:
            sums = naive_split.of_targets(target.sums, target.weights, centered=True)
        chosen = goes | (np.isnan(x) & side)
        everyone = np.ones(n, bool)
        on_that_side = naive_split.score(sums, chosen, everyone, naive.gain_settings(settings))
        assert on_that_side == pytest.approx(gain, rel=1e-3, abs=slack)
    else:
        left_weight = float(target.weights[goes].astype(np.float64).sum())
        total = float(target.weights.astype(np.float64).sum())
        if abs(2 * left_weight - total) > 1e-4 * total:
            assert side == expected_side


def test_missing_rows_that_are_all_of_one_class_join_it():
    x = np.array([0, 0, 0, np.nan, 1, 1, 1, np.nan], np.float32)
    for codes, expected in (([0, 0, 0, 0, 1, 1, 1, 0], True), ([0, 0, 0, 1, 1, 1, 1, 1], False)):
        (side, gain), _ = routed(x, class_target(codes), make_settings(), 0.5, is_level=False)
        assert side == expected
        assert gain == pytest.approx(naive_split.criteria.entropy(np.bincount(codes)) * 8, rel=1e-5)


def test_a_large_node_compares_columns_on_a_sample():
    """The best of them is then scored on all rows, as it is where all columns are."""
    rng = np.random.default_rng(0)
    n_columns, n_rows = 2 * SCREEN_KEEP, SCREEN_MIN_ROWS
    columns = rng.normal(size=(n_columns, n_rows)).astype(np.float32)
    y = columns[11] + 0.6 * columns[3] + rng.normal(size=n_rows)
    found = {}
    for rows in (n_rows, SCREEN_MIN_ROWS - 1):  # large, and just not
        settings = make_settings(
            by_class=0, criterion=SQUARES, many_thresholds=1, strict=1, strategy=1, budget=1,
            n_raw=n_columns, sample=256, keep=4, max_depth=1, l2=1.0,
        )  # fmt: skip
        grammar = make_grammar([0] * n_columns)
        target = sums_target(y[:rows])
        found[rows] = grow(columns[:, :rows], target, settings, grammar=grammar)
        assert found[rows].programs[0, 0] == 11
        assert found[rows].left[0] >= 0
    large, whole = found.values()
    assert large.gain[0] == pytest.approx(whole.gain[0], rel=1e-3)
    assert large.threshold[0] == pytest.approx(whole.threshold[0], abs=0.1)
