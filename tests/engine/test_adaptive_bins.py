"""Bins for values that lie in a few places of their range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.test_binning import (
    LARGEST,
    as_values,
    columns,
    room_for_codes,
    with_missing,
)
from tests.engine.workbench import make_state
from tests.naive import bins as naive

from featurewright import ConstructiveBoostingClassifier
from featurewright.engine.binning import adaptive_codes, clipped_range, find_dense_spans
from featurewright.engine.buffers import MAX_BINS, SAMPLE_ROWS

RNG = np.random.default_rng(0)
THREE_CLUMPS = np.repeat([0.0, 0.45, 0.9], 200) + RNG.uniform(0, 0.04, 600)
SHAPES = {
    "three clumps": (RNG.permutation(THREE_CLUMPS), True),
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


@pytest.mark.parametrize("shape", SHAPES)
def test_clumps_are_told_from_spread_values(shape):
    x, clumped = SHAPES[shape]
    x = x.astype(np.float32)
    low, high, _ = naive.value_range(x)
    if not low < high:
        assert not clumped
        return
    assert (len(marks_of(x, low, high)[0]) > 0) == clumped


@given(columns(with_missing, 64, 300))
def test_marks(x):
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
def test_codes(x, marks):
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
def test_every_clump_has_many_bins(factor):
    x = (SHAPES["three clumps"][0] * factor).astype(np.float32)
    state = make_state()
    clipped_range(as_values(x), 0, len(x), state)
    marks, state = marks_of(x, state["low"], state["high"])
    codes = room_for_codes(len(x))
    bins = np.int64(MAX_BINS)
    adaptive_codes(as_values(x), 0, len(x), state, marks, len(marks), bins, codes)
    for clump in range(3):
        inside = np.abs(x / np.float32(factor) - 0.45 * clump - 0.02) < 0.03
        assert len(np.unique(codes[: len(x)][inside])) > 20


def test_boosting_sees_into_clumps():
    """Equal parts of the whole range would be too wide to tell the halves of a clump apart."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 2000) + 1000.0 * rng.integers(0, 3, 2000)
    y = x < 0.5
    stump = ConstructiveBoostingClassifier(
        1, search=None, max_depth=1, learning_rate=1.0, random_state=0
    ).fit(x[:, None], y)
    assert stump.score(x[:, None], y) > 0.99
