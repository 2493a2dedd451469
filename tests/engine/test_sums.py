"""Sums of weights left of thresholds equal their one-line versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.arguments import as_values
from tests.engine.test_binning import columns, with_missing

from featurewright.engine.buffers import LANES, MAX_BINS, N_THRESHOLDS
from featurewright.engine.sums import (
    equal_sum,
    known_sum,
    left_narrow,
    left_narrow_of_each,
    left_packed,
    left_packed_of_each,
    left_sum,
    left_sums,
    stratum_size,
    threshold_place,
)


@given(columns(with_missing, 1, 80), st.data())
def test_sums_of_sides(x, data):
    rng = np.random.default_rng(len(x))
    weights = rng.integers(1, 9, (2, len(x))).astype(np.float32)
    start = data.draw(st.integers(0, len(x)))
    stop = data.draw(st.integers(start, len(x)))
    at = np.float32(data.draw(st.sampled_from([0.0, *x[~np.isnan(x)].tolist()])))
    part, w = x[start:stop], weights[1, start:stop]
    values = as_values(x)
    assert left_sum(values, 0, weights, 1, at, start, stop) == w[part <= at].sum()
    tried = np.append(np.resize(x, N_THRESHOLDS - 1), at).astype(np.float32)  # NaN among them
    left = np.full((3, MAX_BINS), 7, np.float32)
    left_sums(values, 0, weights, 1, tried, start, stop, left, 2)
    assert left[2, :N_THRESHOLDS].tolist() == [w[part <= t].sum() for t in tried]
    assert (left[:2] == 7).all()
    assert (left[2, N_THRESHOLDS:] == 7).all()
    assert equal_sum(values, 0, weights, 1, at, start, stop) == w[part == at].sum()
    assert known_sum(values, 0, weights, 1, start, stop) == w[~np.isnan(part)].sum()


@pytest.mark.parametrize(
    ("kind", "of_one", "of_each"),
    [
        (np.int64, left_packed, left_packed_of_each),
        (np.uint32, left_narrow, left_narrow_of_each),
    ],
)
@given(x=columns(with_missing, 1, 100), seed=st.integers(0, 10**6))
def test_packed_weights_left_of_thresholds(kind, of_one, of_each, x, seed):
    rng = np.random.default_rng(seed)
    packed = np.zeros(len(x) + LANES, kind)  # zeros behind the rows count nothing
    packed[: len(x)] = 1 << rng.choice([0, 8, 16, 24], len(x))  # four classes of eight bits
    tried = rng.choice(x, 2 * N_THRESHOLDS)  # NaN among them
    expected = [int(packed[: len(x)][x <= t].sum()) for t in tried]
    values, lefts = as_values(x), np.full(2 * N_THRESHOLDS, -1, np.int64)
    of_each(values, 0, packed, tried, N_THRESHOLDS, len(x), lefts)
    assert lefts.tolist() == [-1] * N_THRESHOLDS + expected[N_THRESHOLDS:]
    of_each(values, 0, packed, tried, 0, len(x), lefts)
    assert lefts.tolist() == expected
    assert int(of_one(values, 0, packed, tried[0], len(x))) == expected[0]


@given(st.integers(1, 5000), st.integers(0, 2**32 - 1))
def test_thresholds_are_values_of_rows_in_separate_strata(n, bits):
    count = min(n, N_THRESHOLDS)
    stratum = stratum_size(np.int64(n), np.int64(count))
    places = [int(threshold_place(np.int64(t), stratum, np.uint64(bits))) for t in range(count)]
    for t, place in enumerate(places):
        assert t * n // count - 1 <= place <= (t + 1) * n // count
        assert 0 <= place < n
