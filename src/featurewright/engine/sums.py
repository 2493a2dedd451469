"""Sums of the statistics of rows on one side of a split."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.thresholds import (
    equal_sum,
    known_sum,
    left_packed,
    left_packed_of_each,
    left_sum,
    left_sums,
)

_ZERO = np.float32(0.0)


@kernel
def known_totals(values, row, rows, n, n_stats, by_class, total):
    """Sum each statistic and the weight over the rows whose value is known."""
    weight = _ZERO
    for p in range(n_stats + 1 - by_class):
        start = rows.segments[p] if by_class else 0
        stop = rows.segments[p + 1] if by_class else n
        part = known_sum(values, row, rows.weights, 0 if by_class else p, start, stop)
        total[p] = part
        weight += part
    if by_class:
        total[n_stats] = weight


@kernel
def sum_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, column):
    """Sum each statistic and the weight left of one threshold, or at one level, into a column."""
    weight = _ZERO
    for p in range(n_stats + 1 - by_class):
        start = rows.segments[p] if by_class else 0
        stop = rows.segments[p + 1] if by_class else n
        at = 0 if by_class else p
        if is_level:
            part = equal_sum(values, row, rows.weights, at, threshold, start, stop)
        else:
            part = left_sum(values, row, rows.weights, at, threshold, start, stop)
        left[p, column] = part
        weight += part
    if by_class:
        left[n_stats, column] = weight


@kernel(inline=True)
def unpack_left(packed, n_stats, rows, left, column):
    """Part a packed sum into the classes' weights, into a column."""
    bits = rows.summary.class_bits
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    rest = np.uint64(packed)
    weight = _ZERO
    for p in range(n_stats):
        part = np.float32(np.int64(rest & mask))
        left[p, column] = part
        weight += part
        rest = rest >> np.uint64(bits)
    left[n_stats, column] = weight


@kernel(inline=True)
def is_wide(rows):
    """Whether class weights are packed into 64 bits; 32 bits pay only in the fast path."""
    return rows.summary.class_bits > 0 and not rows.summary.narrow


@kernel
def add_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, column):
    """Sum what lies left of one threshold, or at one level, into a column; packed if it can be."""
    if is_wide(rows) and not is_level:
        packed = left_packed(values, row, rows.packed, threshold, n)
        unpack_left(packed, n_stats, rows, left, column)
    else:
        sum_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, column)


@kernel(inline=True)
def add_left_of_each(values, row, rows, n, n_stats, by_class, tried, left):
    """Sum what lies left of each threshold tried into a column of its own."""
    if is_wide(rows):
        left_packed_of_each(values, row, rows.packed, tried, np.int64(0), n, rows.lefts)
        for t in range(tried.shape[0]):
            unpack_left(rows.lefts[t], n_stats, rows, left, t)
        return
    for p in range(n_stats + 1 - by_class):
        start = rows.segments[p] if by_class else 0
        stop = rows.segments[p + 1] if by_class else n
        left_sums(values, row, rows.weights, 0 if by_class else p, tried, start, stop, left, p)
    if by_class:
        for t in range(tried.shape[0]):
            weight = _ZERO
            for p in range(n_stats):
                weight += left[p, t]
            left[n_stats, t] = weight


@kernel
def count_up_to(values, row, n, threshold):
    """Count the rows whose value does not exceed the threshold."""
    at = np.uint64(row)
    count = np.int64(0)
    for i in range(np.uint64(n)):
        count += np.int64(values[at, i] <= threshold)
    return count


@kernel(inline=True)
def enough_rows(values, row, n, threshold, is_level, min_rows):
    """Tell whether both sides of one threshold or level have enough rows."""
    at = np.uint64(row)
    left, known = np.int64(0), np.int64(0)
    for i in range(np.uint64(n)):
        x = values[at, i]
        left += np.int64(x == threshold if is_level else x <= threshold)
        known += np.int64(x == x)
    return left >= min_rows and known - left >= min_rows


@kernel(inline=True)
def separates(left, total, boundary):
    """Tell whether a boundary separates the only two classes present."""
    a, b = left[0, boundary], left[1, boundary]
    return np.int64((a == _ZERO and b == total[1]) or (b == _ZERO and a == total[0]))


@kernel(inline=True)
def take_totals(values, row, rows, n, n_stats, by_class, missing, total):
    """Take the node's totals, or those of the rows whose value is known."""
    if missing:
        known_totals(values, row, rows, n, n_stats, by_class, total)
    else:
        for p in range(n_stats + 1):
            total[p] = rows.totals[p]
