"""Sums of the statistics of the rows left of thresholds or at a level."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.programs import padded

_ZERO = np.float32(0.0)


@kernel
def known_totals(values, row, rows, n, n_stats, by_class, total):
    """Sum each statistic and the weight over the rows whose value is known."""
    weight = _ZERO
    for p in range(n_stats + 1 - by_class):
        start = rows.segments[p] if by_class else 0
        stop = rows.segments[p + 1] if by_class else n
        subtotal = known_sum(values, row, rows.weights, 0 if by_class else p, start, stop)
        total[p] = subtotal
        weight += subtotal
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
            subtotal = equal_sum(values, row, rows.weights, at, threshold, start, stop)
        else:
            subtotal = left_sum(values, row, rows.weights, at, threshold, start, stop)
        left[p, column] = subtotal
        weight += subtotal
    if by_class:
        left[n_stats, column] = weight


@kernel(inline=True)
def unpack_left(packed, n_stats, rows, left, column):
    """Unpack a packed sum into the class weights of a column."""
    bits = rows.summary.class_bits
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    rest = np.uint64(packed)
    weight = _ZERO
    for p in range(n_stats):
        subtotal = np.float32(np.int64(rest & mask))
        left[p, column] = subtotal
        weight += subtotal
        rest = rest >> np.uint64(bits)
    left[n_stats, column] = weight


@kernel(inline=True)
def is_wide(rows):
    """Whether class weights are packed into 64 bits; 32 bits are faster only in the fast path."""
    return rows.summary.class_bits > 0 and not rows.summary.narrow


@kernel
def add_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, column):
    """Sum statistics left of one threshold, or at one level, into a column; packed if possible."""
    if is_wide(rows) and not is_level:
        packed = left_packed(values, row, rows.packed, threshold, n)
        unpack_left(packed, n_stats, rows, left, column)
    else:
        sum_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, column)


@kernel(inline=True)
def add_left_of_each(values, row, rows, n, n_stats, by_class, tried, left):
    """Sum statistics left of each threshold tried, one column per threshold."""
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
    """Whether both sides of a threshold or level have at least `min_rows` rows."""
    at = np.uint64(row)
    left, known = np.int64(0), np.int64(0)
    for i in range(np.uint64(n)):
        x = values[at, i]
        left += np.int64(x == threshold if is_level else x <= threshold)
        known += np.int64(x == x)
    return left >= min_rows and known - left >= min_rows


@kernel(inline=True)
def separates(left, total, boundary):
    """Whether a boundary separates the only two classes present."""
    a, b = left[0, boundary], left[1, boundary]
    return np.int64((a == _ZERO and b == total[1]) or (b == _ZERO and a == total[0]))


@kernel(inline=True)
def copy_totals(values, row, rows, n, n_stats, by_class, missing, total):
    """Store the node's totals, or those of the known rows if some values are `missing`."""
    if missing:
        known_totals(values, row, rows, n, n_stats, by_class, total)
    else:
        for p in range(n_stats + 1):
            total[p] = rows.totals[p]


@kernel
def left_sum(values, row, weights, weight_row, threshold, start, stop):
    """Sum the weights of the rows whose value does not exceed the threshold."""
    row, weight_row, first = np.uint64(row), np.uint64(weight_row), np.uint64(start)
    total = _ZERO
    for i in range(np.uint64(stop - start)):
        x = values[row, first + i]
        w = weights[weight_row, first + i]
        total += w if x <= threshold else _ZERO
    return total


@kernel
def left_sums(values, row, weights, weight_row, tried, start, stop, left, p):
    """Compute `left_sum` for all thresholds tried into row p, reading values once."""
    row, weight_row, first = np.uint64(row), np.uint64(weight_row), np.uint64(start)
    t0, t1, t2, t3 = tried[0], tried[1], tried[2], tried[3]
    t4, t5, t6, t7 = tried[4], tried[5], tried[6], tried[7]
    a, b, c, d = _ZERO, _ZERO, _ZERO, _ZERO
    e, f, g, h = _ZERO, _ZERO, _ZERO, _ZERO
    for i in range(np.uint64(stop - start)):
        x = values[row, first + i]
        w = weights[weight_row, first + i]
        a += w if x <= t0 else _ZERO
        b += w if x <= t1 else _ZERO
        c += w if x <= t2 else _ZERO
        d += w if x <= t3 else _ZERO
        e += w if x <= t4 else _ZERO
        f += w if x <= t5 else _ZERO
        g += w if x <= t6 else _ZERO
        h += w if x <= t7 else _ZERO
    left[p, 0], left[p, 1], left[p, 2], left[p, 3] = a, b, c, d
    left[p, 4], left[p, 5], left[p, 6], left[p, 7] = e, f, g, h


@kernel
def left_packed(values, row, packed, threshold, n):
    """Sum the packed weights of the rows whose value does not exceed the threshold.

    Each class has separate bits in a packed weight, so one sum counts all classes.
    """
    row = np.uint64(row)
    total = np.int64(0)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        w = packed[i]
        total += w if x <= threshold else np.int64(0)
    return total


@kernel(inline=True)
def left_narrow(values, row, narrow, threshold, n):
    """Compute `left_packed` of weights packed into 32 bits."""
    row = np.uint64(row)
    total = np.uint32(0)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        w = narrow[i]
        total = np.uint32(total + (w if x <= threshold else np.uint32(0)))
    return np.uint64(total)


@kernel
def left_packed_of_each(values, row, packed, tried, first, n, lefts):
    """Compute `left_packed` for eight thresholds, reading values and weights once."""
    row, k, no = np.uint64(row), np.uint64(first), np.int64(0)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    t0, t1, t2, t3 = tried[k], tried[k + one], tried[k + two], tried[k + three]
    k4 = k + four
    t4, t5, t6, t7 = tried[k4], tried[k4 + one], tried[k4 + two], tried[k4 + three]
    a, b, c, d = no, no, no, no
    e, f, g, h = no, no, no, no
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        w = packed[i]
        a += w if x <= t0 else no
        b += w if x <= t1 else no
        c += w if x <= t2 else no
        d += w if x <= t3 else no
        e += w if x <= t4 else no
        f += w if x <= t5 else no
        g += w if x <= t6 else no
        h += w if x <= t7 else no
    lefts[k], lefts[k + one], lefts[k + two], lefts[k + three] = a, b, c, d
    lefts[k4], lefts[k4 + one], lefts[k4 + two], lefts[k4 + three] = e, f, g, h


@kernel
def left_narrow_of_each(values, row, narrow, tried, first, n, lefts):
    """Compute `left_packed_of_each` of weights packed into 32 bits."""
    row, k, no = np.uint64(row), np.uint64(first), np.uint32(0)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    t0, t1, t2, t3 = tried[k], tried[k + one], tried[k + two], tried[k + three]
    k4 = k + four
    t4, t5, t6, t7 = tried[k4], tried[k4 + one], tried[k4 + two], tried[k4 + three]
    a, b, c, d = no, no, no, no
    e, f, g, h = no, no, no, no
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        w = narrow[i]
        a = np.uint32(a + (w if x <= t0 else no))
        b = np.uint32(b + (w if x <= t1 else no))
        c = np.uint32(c + (w if x <= t2 else no))
        d = np.uint32(d + (w if x <= t3 else no))
        e = np.uint32(e + (w if x <= t4 else no))
        f = np.uint32(f + (w if x <= t5 else no))
        g = np.uint32(g + (w if x <= t6 else no))
        h = np.uint32(h + (w if x <= t7 else no))
    lefts[k], lefts[k + one], lefts[k + two], lefts[k + three] = a, b, c, d
    lefts[k4], lefts[k4 + one], lefts[k4 + two], lefts[k4 + three] = e, f, g, h


@kernel(inline=True)
def stratum_size(n, count):
    """Return the rows per stratum if n rows are divided into `count` strata, times 2**16."""
    return (np.uint64(n) << np.uint64(16)) // np.uint64(count)


@kernel(inline=True)
def threshold_place(t, stratum, bits):
    """Return the row whose value is the t-th threshold: a random row of the t-th stratum."""
    jitter = (bits >> np.uint64(t)) & np.uint64(0xFFFF)
    stratum_rows = stratum >> np.uint64(16)
    return (np.uint64(t) * stratum + jitter * stratum_rows) >> np.uint64(16)


@kernel
def equal_sum(values, row, weights, weight_row, level, start, stop):
    """Sum the weights of the rows whose value is the given level."""
    row, weight_row, first = np.uint64(row), np.uint64(weight_row), np.uint64(start)
    total = _ZERO
    for i in range(np.uint64(stop - start)):
        x = values[row, first + i]
        w = weights[weight_row, first + i]
        total += w if x == level else _ZERO
    return total


@kernel
def known_sum(values, row, weights, weight_row, start, stop):
    """Sum the weights of the rows whose value is known."""
    row, weight_row, first = np.uint64(row), np.uint64(weight_row), np.uint64(start)
    total = _ZERO
    for i in range(np.uint64(stop - start)):
        x = values[row, first + i]
        w = weights[weight_row, first + i]
        total += w if x == x else _ZERO
    return total
