"""Rows are partitioned in order, and rows of a missing value go to both sides within bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.arguments import as_values, make_state
from tests.naive import split as naive_split
from tests.naive.streams import Stream

from featurewright.engine.partition import partition_rows, partition_rows_both_ways

seeds = st.integers(0, 10**6)


@given(seeds, st.integers(1, 200), st.booleans(), st.booleans())
def test_rows_keep_their_order(seed, n, is_level, missing_left):
    rng = np.random.default_rng(seed)
    before = rng.permutation(n + 10).astype(np.int32)
    x = rng.integers(0, 4, n).astype(np.float32)
    x[rng.random(n) < 0.2] = np.nan
    ids = before.copy()
    size = partition_rows(
        ids, 5, n, as_values(x), np.float32(1.0), np.uint8(is_level), np.uint8(missing_left),
        np.empty(n + 1, np.int32),
    )  # fmt: skip
    left = naive_split.goes_left(x, 1.0, is_level=is_level) | (np.isnan(x) & missing_left)
    middle = before[5 : 5 + n]
    assert size == left.sum()
    expected = [*before[:5], *middle[left], *middle[~left], *before[5 + n :]]
    np.testing.assert_array_equal(ids, expected)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(0, 80), st.booleans())
def test_rows_of_a_missing_value_go_to_both_sides(seed, n, spare_rows, is_level):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, n).astype(np.float32)
    values[rng.random(n) < 0.4] = np.nan
    ids = np.full(5 + n + spare_rows + 2, -1, np.int32)
    ids[5 : 5 + n] = rows = rng.permutation(n).astype(np.int32)
    state, stream = make_state(seed), Stream(seed)
    missing = np.isnan(values)
    left = values == 1 if is_level else values <= 1
    if missing.sum() <= spare_rows:
        lefts, rights = rows[left | missing], rows[~left | missing]
    else:
        thrown = left.copy()
        thrown[missing] = [stream.below(2) == 0 for _ in range(missing.sum())]
        lefts, rights = rows[thrown], rows[~thrown]
    size, other, left_spare = partition_rows_both_ways(
        ids,
        5,
        n,
        spare_rows,
        as_values(values),
        np.float32(1),
        is_level,
        state,
        np.empty(n + 1, np.int32),
    )
    assert (size, other) == (len(lefts), len(rights))
    rest = n + spare_rows - size - other
    assert 0 <= left_spare <= rest
    assert ids[5 : 5 + size].tolist() == lefts.tolist()
    second = 5 + size + left_spare
    assert ids[second : second + other].tolist() == rights.tolist()
    assert (ids[:5] == -1).all()
    assert (ids[5 + n + spare_rows :] == -1).all()
