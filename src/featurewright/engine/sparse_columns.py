"""Score sparse columns, in which most rows have one value, by summing over the other rows only.

The most frequent value is called the fill value; it is the smallest or the largest of the column.
"""

from __future__ import annotations

import numpy as np

from featurewright.engine.boundaries import best_of_bins, choose_boundary
from featurewright.engine.buffers import MAX_EXACT_ROWS
from featurewright.engine.compiler import kernel

_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@kernel(inline=True)
def find_sparse_rows(values, row, n, ranks, state):
    """Store the rows whose value is not the fill value in `ranks`; return their number.

    It is -1 if there may be more distinct values than exact bins.
    """
    at = np.uint64(row)
    n_low, n_high = np.int64(0), np.int64(0)
    for i in range(np.uint64(n)):
        n_low += np.int64(values[at, i] == state.low)
        n_high += np.int64(values[at, i] == state.high)
    n_sparse = n - max(n_low, n_high)
    if n_low + n_high < n and n_sparse >= MAX_EXACT_ROWS:
        return np.int64(-1)
    fill = state.low if n_low >= n_high else state.high
    count = np.uint64(0)
    for i in range(np.uint64(n)):
        ranks[count] = np.int32(i)
        count += np.uint64(values[at, i] != fill)
    return n_sparse


@kernel(inline=True)
def halfway(below, above):
    """Return the midpoint of two values; the smaller one if there is no float between them."""
    middle = np.float32(0.5 * (np.float64(below) + np.float64(above)))
    return middle if middle < above else below


@kernel
def score_two_values(rows, n, n_stats, settings, scratch, n_sparse, sparse_is_low, state):
    """Score the only threshold of a column with two distinct values."""
    left, total, ranks = scratch.left, scratch.total, scratch.ranks
    for p in range(np.uint64(n_stats + 1)):
        sparse_sum = _ZERO
        for k in range(np.uint64(n_sparse)):
            sparse_sum += rows.weights[p, np.uint64(ranks[k])]
        total[p] = rows.totals[p]
        left[p, 0] = sparse_sum if sparse_is_low else total[p] - sparse_sum
    counts, n_low = left.shape[0] - 1, n_sparse if sparse_is_low else n - n_sparse
    total[counts], left[counts, 0] = np.float32(n), np.float32(n_low)
    state.threshold = halfway(state.low, state.high)
    one = np.int64(1)
    return choose_boundary(rows, n_stats, settings, scratch, one, one, state)


@kernel
def score_several_values(
    values, row, rows, n, n_stats, settings, scratch, n_sparse, low_is_fill, state
):
    """Score all thresholds of a column with few rows that differ from the fill value."""
    left, ranks, codes, at = scratch.left, scratch.ranks, scratch.codes, np.uint64(row)
    fill = np.int64(0) if low_is_fill else n_sparse
    for k in range(np.uint64(n_sparse)):
        x = values[at, np.uint64(ranks[k])]
        smaller = np.int64(low_is_fill)
        for j in range(np.uint64(n_sparse)):
            smaller += np.int64(values[at, np.uint64(ranks[j])] < x)
        codes[k] = np.uint8(smaller)
    n_bins = (n_sparse + 4) // 4 * 4
    counts = left.shape[0] - 1
    for b in range(np.uint64(n_bins)):
        left[counts, b] = _ZERO
    for k in range(np.uint64(n_sparse)):
        left[counts, codes[k]] += _ONE
    left[counts, fill] += np.float32(n - n_sparse)
    for p in range(np.uint64(n_stats + 1)):
        for b in range(np.uint64(n_bins)):
            left[p, b] = _ZERO
        sparse_sum = _ZERO
        for k in range(np.uint64(n_sparse)):
            weight = rows.weights[p, np.uint64(ranks[k])]
            left[p, codes[k]] += weight
            sparse_sum += weight
        left[p, fill] += rows.totals[p] - sparse_sum
    score = best_of_bins(rows, n_stats, settings, scratch, n_bins, np.int64(0), state)
    below, above = state.low, state.high
    for k in range(np.uint64(n_sparse)):
        x = values[at, np.uint64(ranks[k])]
        if np.int64(codes[k]) <= state.boundary:
            below = max(below, x)
        else:
            above = min(above, x)
    state.threshold = halfway(below, above)
    return score


@kernel(inline=True)
def score_sparse(values, row, rows, n, n_stats, settings, scratch, n_sparse, state):
    """Score all thresholds of a sparse column without missing values.

    Only the sparse rows are summed: wide tables are mostly zeros, and with many target columns the
    sums dominate the time.
    """
    n_low, n_high = np.int64(0), np.int64(0)
    for k in range(np.uint64(n_sparse)):
        x = values[np.uint64(row), np.uint64(scratch.ranks[k])]
        n_low += np.int64(x == state.low)
        n_high += np.int64(x == state.high)
    if max(n_low, n_high) == n_sparse:
        sparse_is_low = np.int64(n_low == n_sparse)
        return score_two_values(rows, n, n_stats, settings, scratch, n_sparse, sparse_is_low, state)
    low_is_fill = np.int64(n_low == 0)
    return score_several_values(
        values, row, rows, n, n_stats, settings, scratch, n_sparse, low_is_fill, state
    )
