"""Sums of one target, its weight and its row count, packed into one integer: one pass, not three.

The signed target has the upper 24 bits, the weight the next 24, and the row count 16. The sums do
not overflow: target and weight are scaled so that their sums over all rows fit their bits.
"""

from __future__ import annotations

import math

import numpy as np

from featurewright.engine.binning import add_to_bins
from featurewright.engine.compiler import bits_float, float_bits, kernel
from featurewright.engine.criteria import SQUARES

MAX_PACKED_ROWS = 1 << 15  # whose count and rounding errors fit the bits
_MAX_SUM = np.float32(1 << 22)  # bound on the sum of absolute targets, and on that of weights
_EXPONENT = np.int32(0x7F800000)  # exponent bits of a float32
_ZERO = np.float32(0.0)
_HALF = np.float32(0.5)
_ONE = np.float32(1.0)
_INFINITE = np.float32(np.inf)
_COUNT_BITS = np.int64(16)
_WEIGHT_BITS = np.int64(24)
_COUNT_MASK = np.int64((1 << 16) - 1)
_WEIGHT_MASK = np.int64((1 << 24) - 1)


@kernel(inline=True)
def largest_unit(total):
    """Return the power of two that scales a sum to about _MAX_SUM; 0 if there is none."""
    unit = bits_float(np.int32(float_bits(_MAX_SUM / total) & _EXPONENT))
    return unit if _ZERO < unit < _INFINITE else _ZERO


@kernel(inline=True)
def pack_sums(rows, n, settings):
    """Pack one target and its weight, if they fit and are used for boosting.

    Rounding is harmless there: the sums only rank candidates, and later rounds correct errors.
    """
    first, last = np.uint64(0), np.uint64(1)
    summary = rows.summary
    if settings.criterion != SQUARES or settings.centered or n > MAX_PACKED_ROWS:
        return
    size = _ZERO
    for i in range(np.uint64(n)):
        size += abs(rows.weights[first, i])
    number, weight = largest_unit(size), largest_unit(rows.totals[1])
    if not min(number, weight) > _ZERO:
        return
    summary.sums_packed = 1
    summary.number_unit = number
    summary.weight_unit = weight
    for i in range(np.uint64(n)):
        x = np.int64(np.int32(math.floor(rows.weights[first, i] * number + _HALF)))
        w = np.int64(np.int32(rows.weights[last, i] * weight + _HALF))
        rows.packed[i] = (((x << _WEIGHT_BITS) + w) << _COUNT_BITS) + np.int64(1)


@kernel(inline=True)
def fill_packed(codes, packed, n, bins, n_bins, spare):
    """Add the packed sums of all rows to the bins of their codes."""
    for b in range(np.uint64(n_bins + 1)):
        bins[b] = np.int64(0)
    add_to_bins(codes, packed, np.int64(0), n, bins, n_bins, spare)


@kernel(inline=True)
def accumulate_packed(bins, n_bins):
    """Turn packed bins into running sums, as `accumulate` does."""
    quarter = np.uint64(n_bins // 4)
    second, third = quarter, quarter + quarter
    fourth = third + quarter
    a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for k in range(quarter):
        a += bins[k]
        b += bins[second + k]
        c += bins[third + k]
        d += bins[fourth + k]
        bins[k] = a
        bins[second + k] = b
        bins[third + k] = c
        bins[fourth + k] = d
    ab = a + b
    abc = ab + c
    for k in range(quarter):
        bins[second + k] += a
        bins[third + k] += ab
        bins[fourth + k] += abc


@kernel
def unpack_bins(bins, n_bins, summary, is_level, left, total):
    """Unpack target, weight and count of each bin, as running sums unless bins are levels.

    Rows 0, 1 and 2 of `left` receive them; `total` receives those of all bins.
    """
    whole = np.int64(0)
    for b in range(np.uint64(n_bins)):
        whole += bins[b]
    if not is_level:
        accumulate_packed(bins, n_bins)
    first, second, third = np.uint64(0), np.uint64(1), np.uint64(2)
    number, weight = _ONE / summary.number_unit, _ONE / summary.weight_unit
    for b in range(np.uint64(n_bins)):
        x = bins[b]
        left[first, b] = np.float32(np.int32(x >> (_COUNT_BITS + _WEIGHT_BITS))) * number
        left[second, b] = np.float32(np.int32((x >> _COUNT_BITS) & _WEIGHT_MASK)) * weight
        left[third, b] = np.float32(np.int32(x & _COUNT_MASK))
    total[0] = np.float32(whole >> (_COUNT_BITS + _WEIGHT_BITS)) * number
    total[1] = np.float32((whole >> _COUNT_BITS) & _WEIGHT_MASK) * weight
    total[2] = np.float32(whole & _COUNT_MASK)
