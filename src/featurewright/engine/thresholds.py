"""Thresholds to compare candidates by, and the weights of the rows left of them."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.programs import padded

_ZERO = np.float32(0.0)


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
    """Do what `left_sum` does for all thresholds tried, into row p; values are read once."""
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

    Each class has bits of its own in a packed weight: one sum counts all classes.
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
    """Do what `left_packed` does with weights packed into 32 bits."""
    row = np.uint64(row)
    total = np.uint32(0)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        w = narrow[i]
        total = np.uint32(total + (w if x <= threshold else np.uint32(0)))
    return np.uint64(total)


@kernel
def left_packed_of_each(values, row, packed, tried, first, n, lefts):
    """Do what `left_packed` does for eight thresholds; values and weights are read once."""
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
    """Do what `left_packed_of_each` does with weights packed into 32 bits."""
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
    """Give the rows in one of so many equal parts, times 2**16."""
    return (np.uint64(n) << np.uint64(16)) // np.uint64(count)


@kernel(inline=True)
def threshold_place(t, part, bits):
    """Choose the row whose value is the t-th threshold: a random one of its part of the rows."""
    jitter = (bits >> np.uint64(t)) & np.uint64(0xFFFF)
    whole = part >> np.uint64(16)
    return (np.uint64(t) * part + jitter * whole) >> np.uint64(16)


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
