"""Score columns of which most rows have one value, by adding up the others alone."""

from __future__ import annotations

import numpy as np

from featurewright.engine.boundaries import best_of_bins, choose_boundary
from featurewright.engine.buffers import EXACT_ROWS
from featurewright.engine.compiler import kernel

_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@kernel(inline=True)
def find_rare(values, row, n, ranks, state):
    """Put the rows whose value is not the usual one, the smallest or the largest, into `ranks`.

    Gives their number; -1 where they have more values than there can be bins.
    """
    at = np.uint64(row)
    n_low, n_high = np.int64(0), np.int64(0)
    for i in range(np.uint64(n)):
        n_low += np.int64(values[at, i] == state.low)
        n_high += np.int64(values[at, i] == state.high)
    n_rare = n - max(n_low, n_high)
    if n_low + n_high < n and n_rare >= EXACT_ROWS:
        return np.int64(-1)
    usual = state.low if n_low >= n_high else state.high
    count = np.uint64(0)
    for i in range(np.uint64(n)):
        ranks[count] = np.int32(i)
        count += np.uint64(values[at, i] != usual)
    return n_rare


@kernel(inline=True)
def halfway(below, above):
    """Give a threshold between two values; the smaller one where there is no number between."""
    middle = np.float32(0.5 * (np.float64(below) + np.float64(above)))
    return middle if middle < above else below


@kernel
def score_two(rows, n, n_stats, settings, scratch, n_rare, rare_is_low, state):
    """Score the only threshold of a column of two values."""
    left, total, ranks = scratch.left, scratch.total, scratch.ranks
    for p in range(np.uint64(n_stats + 1)):
        part = _ZERO
        for k in range(np.uint64(n_rare)):
            part += rows.weights[p, np.uint64(ranks[k])]
        total[p] = rows.totals[p]
        left[p, 0] = part if rare_is_low else total[p] - part
    counts, n_low = left.shape[0] - 1, n_rare if rare_is_low else n - n_rare
    total[counts], left[counts, 0] = np.float32(n), np.float32(n_low)
    state.threshold = halfway(state.low, state.high)
    one = np.int64(1)
    return choose_boundary(rows, n_stats, settings, scratch, one, one, state)


@kernel
def score_several(values, row, rows, n, n_stats, settings, scratch, n_rare, low_is_usual, state):
    """Score all thresholds of a column of few rows with another value than the usual one."""
    left, ranks, codes, at = scratch.left, scratch.ranks, scratch.codes, np.uint64(row)
    usual = np.int64(0) if low_is_usual else n_rare
    for k in range(np.uint64(n_rare)):
        x = values[at, np.uint64(ranks[k])]
        smaller = np.int64(low_is_usual)
        for j in range(np.uint64(n_rare)):
            smaller += np.int64(values[at, np.uint64(ranks[j])] < x)
        codes[k] = np.uint8(smaller)
    n_bins = (n_rare + 4) // 4 * 4
    counts = left.shape[0] - 1
    for b in range(np.uint64(n_bins)):
        left[counts, b] = _ZERO
    for k in range(np.uint64(n_rare)):
        left[counts, codes[k]] += _ONE
    left[counts, usual] += np.float32(n - n_rare)
    for p in range(np.uint64(n_stats + 1)):
        for b in range(np.uint64(n_bins)):
            left[p, b] = _ZERO
        part = _ZERO
        for k in range(np.uint64(n_rare)):
            weight = rows.weights[p, np.uint64(ranks[k])]
            left[p, codes[k]] += weight
            part += weight
        left[p, usual] += rows.totals[p] - part
    score = best_of_bins(rows, n_stats, settings, scratch, n_bins, np.int64(0), state)
    below, above = state.low, state.high
    for k in range(np.uint64(n_rare)):
        x = values[at, np.uint64(ranks[k])]
        if np.int64(codes[k]) <= state.boundary:
            below = max(below, x)
        else:
            above = min(above, x)
    state.threshold = halfway(below, above)
    return score


@kernel(inline=True)
def score_rare(values, row, rows, n, n_stats, settings, scratch, n_rare, state):
    """Score all thresholds of a column of which most rows have one value, none missing.

    Only the other rows are added up: wide tables are mostly zeros, and targets of many columns
    would be added up again and again.
    """
    n_low, n_high = np.int64(0), np.int64(0)
    for k in range(np.uint64(n_rare)):
        x = values[np.uint64(row), np.uint64(scratch.ranks[k])]
        n_low += np.int64(x == state.low)
        n_high += np.int64(x == state.high)
    if max(n_low, n_high) == n_rare:
        is_low = np.int64(n_low == n_rare)
        return score_two(rows, n, n_stats, settings, scratch, n_rare, is_low, state)
    is_usual = np.int64(n_low == 0)
    return score_several(values, row, rows, n, n_stats, settings, scratch, n_rare, is_usual, state)
