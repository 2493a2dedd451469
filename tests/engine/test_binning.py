"""Ranges, codes, running sums and thresholds equal their one-line versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.cases import loop_over
from tests.engine.arguments import as_values, make_state
from tests.naive import bins as naive

from featurewright import ConstructiveBoostingClassifier
from featurewright.engine.binning import (
    QUARTERS_MIN_ROWS,
    accumulate,
    adaptive_codes,
    add_to_bins,
    bin_edges,
    clipped_range,
    find_dense_spans,
    find_mass,
    has_code,
    key_codes,
    level_codes,
    range_codes,
    rank_codes,
    sum_bins,
    tail_codes,
    threshold_after,
    value_range,
)
from featurewright.engine.buffers import LANES, MAX_BINS, MAX_EXACT_ROWS, SAMPLE_ROWS

LARGEST = float(np.finfo(np.float32).max)
numbers = st.one_of(
    st.floats(-LARGEST, LARGEST, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, LARGEST, -LARGEST, 1e-45, -1e-45]),
)
with_missing = st.one_of(numbers, st.sampled_from([np.nan, -np.nan]))


def columns(elements, smallest: int = 1, largest: int = 100):
    """Return a strategy for float32 columns of `smallest` to `largest` rows."""
    return st.integers(smallest, largest).flatmap(
        lambda n: arrays(np.float32, n, elements=elements)
    )


def room_for_codes(n: int) -> np.ndarray:
    return np.full(n + LANES, 255, np.uint8)


@given(columns(with_missing))
def test_value_range(x):
    state = make_state()
    expected = naive.value_range(x)
    any_missing = value_range(as_values(x), 0, len(x), state)
    assert (state["low"], state["high"], any_missing) == expected


@pytest.mark.parametrize("place", [0, 3, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_value_range_sees_one_missing_value_of_either_sign(place, sign):
    x = np.linspace(-5, 5, 41).astype(np.float32)
    x[place] = np.copysign(np.float32(np.nan), np.float32(sign))
    state = make_state()
    assert value_range(as_values(x), 0, len(x), state)
    assert (state["low"], state["high"]) == (np.nanmin(x), np.nanmax(x))


def test_value_range_of_zeros_of_both_signs_is_empty():
    state = make_state()
    assert not value_range(as_values([0.0, -0.0, 0.0]), 0, 3, state)
    assert not state["low"] < state["high"]


@given(columns(with_missing, largest=MAX_EXACT_ROWS))
def test_rank_codes(x):
    n_bins = (len(x) + 3) // 4 * 4
    codes = room_for_codes(len(x))
    rank_codes(as_values(x), 0, len(x), n_bins, np.empty(MAX_EXACT_ROWS, np.int32), codes)
    np.testing.assert_array_equal(codes[: len(x)], naive.rank_codes(x, n_bins))


@given(columns(with_missing, 33, 200))
def test_clipped_range(x):
    state = make_state()
    expected = naive.clipped_range(x)
    clipped_range(as_values(x), 0, len(x), state)
    assert (state["low"], state["high"]) == expected


def codes_in_range(x, low, high, n_bins: int) -> np.ndarray:
    x = np.asarray(x, np.float32)
    codes = room_for_codes(len(x))
    range_codes(as_values(x), 0, len(x), np.float32(low), np.float32(high), n_bins, codes)
    return codes[: len(x)].astype(np.int64)


@given(
    columns(with_missing, 33, 200),
    st.sampled_from([32, 64, MAX_BINS]),
    st.sampled_from(["clipped", "whole"]),
)
def test_range_codes(x, n_bins, kind):
    low, high = naive.clipped_range(x) if kind == "clipped" else naive.value_range(x)[:2]
    expected = naive.range_codes(x, low, high, n_bins)
    actual = codes_in_range(x, low, high, n_bins)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(actual[~known], n_bins)
    assert actual[known].max(initial=0) < n_bins
    in_order = actual[known][np.argsort(x[known], kind="stable")]
    assert (np.diff(in_order) >= 0).all()
    width = float(high) - float(low)
    if 1e-30 < width < LARGEST:  # elsewhere float32 cannot hold the scale
        assert np.abs(actual - expected).max() <= 1


def mass_of(x) -> tuple[bool, np.ndarray]:
    x = np.asarray(x, np.float32)
    state = make_state()
    clipped_range(as_values(x), 0, len(x), state)
    return bool(find_mass(as_values(x), 0, len(x), state)), state


def test_long_tails_are_found_and_where_most_values_are():
    rng = np.random.default_rng(0)
    found = {"normal": 0, "even": 0, "tails": 0}
    for _ in range(40):
        found["normal"] += mass_of(rng.normal(3, 2, 500))[0]
        found["even"] += mass_of(rng.uniform(-1, 5, 500))[0]
        x = np.exp(rng.normal(0, 4, 500))
        long, state = mass_of(x)
        found["tails"] += long
        if long:
            assert 0 < state["center"] < np.quantile(x, 0.95)
            assert 0 < state["width"] < np.quantile(x, 0.95)
    assert found["normal"] < 8
    assert found["even"] == 0
    assert found["tails"] > 32


def test_values_in_the_tails_have_bins_of_their_own_and_an_enormous_one_takes_none():
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = rng.normal(size=500).astype(np.float32)
        state = make_state()
        clipped_range(as_values(x), 0, len(x), state)
        codes = codes_in_range(x, state["low"], state["high"], MAX_BINS)
        assert len(np.unique(codes[np.argsort(x)[:20]])) > 5  # the lowest twenty
        x[499] = 1e30  # not in the sample
        clipped_range(as_values(x), 0, len(x), state)
        assert state["high"] < 100


@pytest.mark.parametrize("n", [1, 31, 64])
def test_a_code_is_found_among_the_first(n):
    codes = np.arange(64, dtype=np.uint8)
    for code in (0, n - 1, n, 200):
        assert bool(has_code(codes, n, code)) == (code in codes[:n])


def test_a_constant_and_nothing_have_no_tails():
    assert not mass_of(np.full(50, 3.0))[0]
    assert not mass_of(np.full(50, np.nan))[0]
    assert not mass_of([0.0] * 40 + [1.0] * 10)[0]


@given(columns(with_missing, 33, 200), st.floats(-100, 100), st.floats(0.01, 100))
def test_tail_codes(x, center, width):
    low, high, _ = naive.value_range(x)
    if not low < high:
        return
    state = make_state()
    state["low"], state["high"], state["center"], state["width"] = low, high, center, width
    codes = room_for_codes(len(x))
    tail_codes(as_values(x), 0, len(x), state, np.int64(MAX_BINS), codes)
    actual = codes[: len(x)].astype(np.int64)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(actual[~known], MAX_BINS)
    assert actual[known].max() < MAX_BINS
    assert (np.diff(actual[known][np.argsort(x[known], kind="stable")]) >= 0).all()
    if float(high) - float(low) > 1e-3 * (abs(center) + width) and high < 1e30 and low > -1e30:
        expected = naive.tail_codes(x, (float(low), float(high)), center, width, MAX_BINS)
        assert np.abs(actual - expected)[known].max() <= 1


@given(columns(with_missing, 33, 200))
def test_key_codes(x):
    low, high, _ = naive.value_range(x)
    if not low < high:
        return
    codes = room_for_codes(len(x))
    key_codes(as_values(x), 0, len(x), low, high, np.int64(MAX_BINS), codes)
    np.testing.assert_array_equal(codes[: len(x)], naive.key_codes(x, low, high, MAX_BINS))


@given(columns(with_missing, 33, 200), st.data())
def test_bin_edges(x, data):
    low, high, _ = naive.value_range(x)
    codes = room_for_codes(len(x))
    range_codes(as_values(x), 0, len(x), np.float32(low), np.float32(high), MAX_BINS, codes)
    seen = np.unique(codes[: len(x)][~np.isnan(x)])
    if len(seen) < 2:
        return
    boundary = data.draw(st.integers(int(seen[0]), int(seen[-1]) - 1))
    state = make_state()
    expected = naive.bin_edges(x, codes[: len(x)].astype(np.int64), boundary)
    bin_edges(as_values(x), 0, len(x), codes, boundary, state)
    assert (state["low"], state["high"]) == expected


@pytest.mark.parametrize(
    ("low", "high"), [(-1e38, 1e38), (-LARGEST, LARGEST), (0, 1e-44), (-1e-44, 1e-44), (0, 1e-30)]
)
def test_range_codes_of_extreme_ranges(low, high):
    x = np.array([low, low, (low + high) / 2, high, high, np.nan])
    codes = codes_in_range(x, low, high, MAX_BINS)
    assert codes[0] == codes[1] == 0
    assert codes[3] == codes[4] == MAX_BINS - 1
    assert codes[5] == MAX_BINS
    assert 0 <= codes[2] < MAX_BINS


def test_range_codes_of_a_constant_and_of_nothing():
    assert (codes_in_range([3.0] * 40, 3.0, 3.0, 32) == 0).all()
    assert (codes_in_range([np.nan] * 40, np.inf, -np.inf, 32) == 32).all()


def test_range_codes_put_outside_values_into_the_outermost_bins():
    assert codes_in_range([-LARGEST, -1, 5, 11, LARGEST], 0, 10, 32).tolist() == [0, 0, 16, 31, 31]


@given(
    columns(st.one_of(st.integers(0, 300).map(float), st.just(np.nan))),
    st.integers(0, 200),
    st.sampled_from([4, 8, MAX_BINS]),
)
def test_level_codes(x, first, n_bins):
    codes = room_for_codes(len(x))
    level_codes(as_values(x), 0, len(x), first, n_bins, codes)
    np.testing.assert_array_equal(codes[: len(x)], naive.level_codes(x, first, n_bins))


@given(
    arrays(np.float32, (2, 132), elements=st.floats(0, 1e6, width=32)),
    st.sampled_from([4, 8, 32, MAX_BINS]),
)
def test_running_sums(histogram, n_bins):
    expected = np.cumsum(histogram[1, :n_bins].astype(np.float64))
    untouched = histogram.copy()
    assert sum_bins(histogram, 1, n_bins) == pytest.approx(expected[-1], rel=1e-5)
    total = accumulate(histogram, 1, n_bins)
    np.testing.assert_allclose(histogram[1, :n_bins], expected, rtol=1e-5)
    # Exactly equal, or an empty side would seem to weigh something.
    assert histogram[1, n_bins - 1] == np.float32(total)
    np.testing.assert_array_equal(histogram[0], untouched[0])
    np.testing.assert_array_equal(histogram[1, n_bins:], untouched[1, n_bins:])


@given(st.integers(0, 10**6), st.sampled_from([4, 32, MAX_BINS]))
def test_running_sums_after_the_last_filled_bin_equal_the_total(seed, n_bins):
    rng = np.random.default_rng(seed)
    histogram = np.zeros((1, n_bins + 1), np.float32)
    last = int(rng.integers(0, n_bins))
    histogram[0, : last + 1] = rng.random(last + 1)
    total = np.float32(accumulate(histogram, 0, n_bins))
    np.testing.assert_array_equal(histogram[0, last:n_bins], total)


@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 80, QUARTERS_MIN_ROWS, QUARTERS_MIN_ROWS + 3, 1000]),
    st.sampled_from([np.float32, np.int64]),
    st.sampled_from([0.0, 0.9]),
)
def test_bins_add_up_weights(seed, n, kind, zeros):
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random(n + LANES) < zeros, 0, rng.integers(0, 33, n + LANES))
    weights = rng.integers(1, 9, n).astype(kind)
    start, stop = min(n, rng.integers(0, 3)), n
    bins, spare = rng.integers(0, 9, MAX_BINS + 1).astype(kind), np.full((3, MAX_BINS + 1), 7, kind)
    expected = bins.copy()
    np.add.at(expected, codes[start:stop], weights[start:stop])
    add_to_bins(codes.astype(np.uint8), weights, start, stop, bins, 32, spare)
    np.testing.assert_array_equal(bins, expected)


@given(columns(with_missing, 2, MAX_EXACT_ROWS), st.data())
def test_thresholds_separate_strictly(x, data):
    codes = room_for_codes(len(x))
    codes[: len(x)] = naive.rank_codes(x, 200)
    present = np.unique(codes[: len(x)][~np.isnan(x)])
    if len(present) < 2:
        return
    boundary = int(data.draw(st.sampled_from(present[:-1].tolist())))
    threshold = np.float32(threshold_after(as_values(x), 0, len(x), codes, boundary))
    known = ~np.isnan(x)
    below = x[known & (codes[: len(x)] <= boundary)].max()
    above = x[known & (codes[: len(x)] > boundary)].min()
    assert below <= threshold < above
    middle = 0.5 * (float(below) + float(above))
    assert abs(float(threshold) - middle) <= abs(np.spacing(np.float32(middle)))


@pytest.mark.parametrize("below", [0.0, 1.0, -1.0, 1e30, -1e-45, 16777216.0])
def test_thresholds_between_neighbouring_floats(below):
    below = np.float32(below)
    x = np.array([np.nextafter(below, np.float32(np.inf)), below], np.float32)
    codes = room_for_codes(2)
    codes[:2] = 1, 0
    assert threshold_after(as_values(x), 0, 2, codes, 0) == below


RNG = np.random.default_rng(0)
THREE_SPANS = np.repeat([0.0, 0.45, 0.9], 200) + RNG.uniform(0, 0.04, 600)
COLUMNS_BY_SHAPE = {
    "three spans": (RNG.permutation(THREE_SPANS), True),
    "one far value of each sign": (np.r_[RNG.normal(size=598), -500, 500], True),
    "even": (RNG.uniform(size=600), False),
    "normal": (RNG.normal(size=600), False),
    "two values": (RNG.integers(0, 2, 600), False),
    "whole numbers": (RNG.integers(0, 9, 600), False),
    "a constant": (np.ones(600), False),
    "nothing": (np.full(600, np.nan), False),
}


def marks_of(x, low, high):
    """Run the kernel on a column and a range."""
    state, marks = make_state(), np.zeros(SAMPLE_ROWS, np.float32)
    state["low"], state["high"] = low, high
    count = find_dense_spans(as_values(x), 0, len(x), state, marks)
    return marks[:count], state


@loop_over("shape", COLUMNS_BY_SHAPE)
def test_dense_spans_are_distinguished_from_spread_values(shape):
    x, is_dense = COLUMNS_BY_SHAPE[shape]
    x = x.astype(np.float32)
    low, high, _ = naive.value_range(x)
    if not low < high:
        assert not is_dense
        return
    assert (len(marks_of(x, low, high)[0]) > 0) == is_dense


@given(columns(with_missing, 64, 300))
def test_dense_marks(x):
    low, high, _ = naive.value_range(x)
    if not low < high:
        return
    step = len(x) // SAMPLE_ROWS
    expected = naive.dense_marks(x[: SAMPLE_ROWS * step : step], low, high)
    np.testing.assert_array_equal(marks_of(x, low, high)[0], expected)


@given(
    columns(with_missing, 64, 300),
    st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=SAMPLE_ROWS, unique=True),
)
def test_adaptive_codes(x, marks):
    marks = np.sort(np.array(marks, np.float32))
    state = make_state()
    state["low"], state["high"] = marks[0] - np.float32(1), marks[-1] + np.float32(1)
    codes = room_for_codes(len(x))
    bins = np.int64(MAX_BINS)
    adaptive_codes(as_values(x), 0, len(x), state, marks, len(marks), bins, codes)
    actual, known = codes[: len(x)].astype(np.int64), ~np.isnan(x)
    expected = naive.adaptive_codes(x, float(state["low"]), float(state["high"]), marks, MAX_BINS)
    np.testing.assert_array_equal(actual[~known], MAX_BINS)
    assert np.abs(actual - expected)[known].max(initial=0) <= 1
    assert (np.diff(actual[known][np.argsort(x[known], kind="stable")]) >= 0).all()


@pytest.mark.parametrize("factor", [1e-30, 1.0, LARGEST])
def test_every_dense_span_has_many_bins(factor):
    x = (COLUMNS_BY_SHAPE["three spans"][0] * factor).astype(np.float32)
    state = make_state()
    clipped_range(as_values(x), 0, len(x), state)
    marks, state = marks_of(x, state["low"], state["high"])
    codes = room_for_codes(len(x))
    bins = np.int64(MAX_BINS)
    adaptive_codes(as_values(x), 0, len(x), state, marks, len(marks), bins, codes)
    for span in range(3):
        inside = np.abs(x / np.float32(factor) - 0.45 * span - 0.02) < 0.03
        assert len(np.unique(codes[: len(x)][inside])) > 20


def test_boosting_splits_inside_dense_spans():
    """Bins of equal width would be too wide to separate the halves of a span."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 2000) + 1000.0 * rng.integers(0, 3, 2000)
    y = x < 0.5
    stump = ConstructiveBoostingClassifier(
        1, search=None, max_depth=1, learning_rate=1.0, random_state=0
    ).fit(x[:, None], y)
    assert stump.score(x[:, None], y) > 0.99
