"""Packed sums are the sums of numbers, weights and rows up to their rounding."""

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
    sums_target,
)
from tests.naive import bins as naive
from tests.naive import split as naive_split

from featurewright.engine.boundaries import first_best, forbid_small
from featurewright.engine.buffers import MAX_BINS
from featurewright.engine.criteria import GINI, SQUARES
from featurewright.engine.packed import MAX_PACKED_ROWS, fill_packed, unpack_bins
from featurewright.engine.split import refine_threshold, score_values

seeds = st.integers(0, 2**32 - 1)


def boosted_node(values, weights, **settings):
    usual = {"by_class": 0, "criterion": SQUARES, "centered": 0, "l2": 1.0, "many_thresholds": 1}
    return make_node(sums_target(values, weights), make_settings(**{**usual, **settings}))


def is_packed(node) -> bool:
    return bool(node.buffers.rows.summary["sums_packed"])


@given(
    seeds,
    st.integers(1, 400),
    st.sampled_from([4, 32, MAX_BINS]),
    st.booleans(),
    st.sampled_from([1e-15, 1.0, 1e15]),
)
def test_packed_bins_are_the_sums_by_bin(seed, n, n_bins, is_level, size):
    rng = np.random.default_rng(seed)
    node = boosted_node(size * rng.standard_cauchy(n), 1e-3 + rng.random(n))
    assert is_packed(node)
    rows, scratch = node.buffers.rows, node.buffers.scratch
    codes = rng.integers(0, n_bins + 1, n)  # the last one means missing
    scratch.codes[:n] = codes
    fill_packed(scratch.codes, rows.packed, n, scratch.packed, n_bins, scratch.packed_spare)
    unpack_bins(scratch.packed, n_bins, rows.summary, is_level, scratch.left, scratch.total)
    columns = np.vstack([rows.weights[:, :n], np.ones(n)])
    expected = naive.bin_sums(codes, columns, n_bins)
    units = rows.summary["number_unit"], rows.summary["weight_unit"]
    rounding = n * np.array([*(0.51 / np.array(units)), 0.0])
    assert (
        np.abs(scratch.total - expected.sum(axis=1)) <= rounding + 1e-6 * scratch.total[1]
    ).all()
    if not is_level:
        expected = np.cumsum(expected, axis=1)
    error = np.abs(scratch.left[:, :n_bins] - expected).max(axis=1)
    assert (error <= rounding + np.array([1e-6 * size, 1e-6, 0.0])).all()
    # Numbers and weights keep about six digits of their sums.
    assert rounding[0] / n < 1e-6 * np.abs(columns[0]).sum()
    assert rounding[1] / n < 1e-6 * columns[1].sum()


def test_whole_weights_are_packed_exactly():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 9, 1000)
    node = boosted_node(rng.normal(size=1000), weights)
    scratch, packed = node.buffers.scratch, node.buffers.rows.packed
    scratch.codes[:1000] = np.arange(1000) % MAX_BINS
    fill_packed(scratch.codes, packed, 1000, scratch.packed, MAX_BINS, scratch.packed_spare)
    unpack_bins(scratch.packed, MAX_BINS, node.buffers.rows.summary, 0, scratch.left, scratch.total)
    expected = np.cumsum(np.bincount(np.arange(1000) % MAX_BINS, weights, MAX_BINS))
    np.testing.assert_array_equal(scratch.left[1, :MAX_BINS], expected)


@loop_over("weight", [1e-30, 1.0, 1e30])
@loop_over("n", [1, 100, MAX_PACKED_ROWS])
def test_the_largest_sums_fit(n, weight):
    for value in (1.0, -1.0):
        node = boosted_node(np.full(n, value), np.full(n, weight))
        assert is_packed(node)
        scratch = node.buffers.scratch
        scratch.codes[:n] = 0
        fill_packed(
            scratch.codes, node.buffers.rows.packed, n, scratch.packed, 4, scratch.packed_spare
        )
        unpack_bins(scratch.packed, 4, node.buffers.rows.summary, 0, scratch.left, scratch.total)
        expected = np.array([value * weight * n, weight * n, n])
        np.testing.assert_allclose(scratch.total, expected, rtol=1e-2)


def test_what_cannot_be_packed_is_not():
    rng = np.random.default_rng(0)
    x, ones = rng.normal(size=50), np.ones(50)
    assert is_packed(boosted_node(x, ones))
    assert not is_packed(boosted_node(np.zeros(50), ones))
    assert not is_packed(boosted_node(x, np.full(50, 1e-40)))
    assert not is_packed(boosted_node(np.vstack([x, x]), ones))
    assert not is_packed(boosted_node(x, ones, centered=1))
    many = MAX_PACKED_ROWS + 1
    assert not is_packed(boosted_node(np.ones(many), np.ones(many)))
    classes = make_settings(criterion=GINI)
    assert not is_packed(make_node(class_target(rng.integers(0, 2, 50)), classes))


@loop_over("n_levels", [0, 7])
@loop_over("missing", [0.0, 0.2])
@loop_over("n", [40, 300, 3000])
def test_packed_scores_are_those_of_the_best_threshold(n, missing, n_levels):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, n_levels, n) if n_levels else rng.normal(size=n)
        x = x.astype(np.float32)
        y, weights = np.sin(3 * x) + rng.normal(size=n), 0.1 + rng.random(n)
        x[rng.random(n) < missing] = np.nan
        node = boosted_node(y, weights, min_rows=5)
        settings, state = node.settings, make_state()
        rows, scratch = node.buffers.rows, node.buffers.scratch
        state["many_thresholds"] = 1
        score = score_values(as_values(x), 0, rows, n, 1, settings, scratch, n_levels, WORST, state)
        sums = naive_split.of_targets(node.target.sums, node.target.weights, centered=False)
        found = naive_split.score_test(
            x.astype(np.float64), sums, settings, float(state["threshold"]), is_level=n_levels > 0
        )
        assert score == pytest.approx(found, rel=1e-3)


def test_a_chosen_threshold_is_refined_by_sums_that_are_not_rounded():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200).astype(np.float32)
    node = boosted_node(x > 0.3, np.ones(200), l2=0.0)
    state = make_state()
    state["best_score"] = 0.0
    refine_threshold(
        as_values(x), node.buffers.rows, 200, 1, node.settings, node.buffers.scratch, state
    )
    assert not is_packed(node)
    inside = np.sort(x)
    below, above = inside[inside <= 0.3].max(), inside[inside > 0.3].min()
    assert below < state["best_threshold"] < above


@given(seeds, st.integers(1, MAX_BINS), st.integers(1, 6), st.booleans())
def test_the_best_boundary_has_enough_on_both_sides(seed, n_bins, fewest, all_equal):
    rng = np.random.default_rng(seed)
    node = boosted_node(np.zeros(1), np.ones(1), min_rows=fewest, min_weight=0.5)
    left, total = node.buffers.scratch.left, node.buffers.scratch.total
    counts = np.cumsum(rng.integers(0, 4, n_bins)).astype(np.float32)
    parts = np.cumsum(rng.random(n_bins)).astype(np.float32)
    left[1, :n_bins], left[2, :n_bins] = parts, counts
    total[1], total[2] = parts[-1], counts[-1]
    scores = np.zeros(n_bins, np.float32) if all_equal else rng.normal(size=n_bins).astype("f")
    scores[rng.random(n_bins) < 0.1] = np.nan
    expected = naive.best_boundary(scores, parts, counts, 0.5, fewest if fewest > 1 else -1)
    room = node.buffers.scratch.scores
    room[:n_bins] = scores
    best = forbid_small(left, total, np.int64(1), node.settings, np.int64(n_bins), room)
    if expected < 0:
        assert best == WORST
    else:
        assert best == scores[expected]
        assert first_best(room, best, np.int64(n_bins)) == expected
