"""The criteria by which splits at the boundaries between bins are scored."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featurewright.engine.compiler import bits_float, float_bits, kernel


class Criterion(NamedTuple):
    """One way to score a split."""

    code: int  # its number in kernels
    name: str | None  # its name as a parameter; None for those that boosting chooses
    by_class: bool  # whether it scores class weights, or sums of target columns
    is_entropy: bool  # whether it is computed from the class entropy
    # Share of the sum of squares that is worth a gain of 1, where two classes weigh the same.
    square_share: float


_PER_BIT = 2.0 * math.log(2.0)

CRITERIA = (
    Criterion(0, "entropy", True, True, _PER_BIT),  # information gain, in bits x weight
    # 2 I(split; class) / (H(split) + H(class)), and I(split; class) / H(split)
    Criterion(1, "normalized_gain", True, True, _PER_BIT),
    Criterion(2, "gain_ratio", True, True, _PER_BIT),
    Criterion(3, "gini", True, False, 2.0),
    Criterion(4, "kearns_mansour", True, False, 2.0),
    # Variance summed over target columns; with L2 and hessians: second-order boosting.
    Criterion(5, "squared_error", False, False, 1.0),
    # AdaBoost.MH: one vote vector with opposite signs on the two sides; one vote vector per side.
    Criterion(6, None, False, False, _PER_BIT),
    Criterion(7, None, False, False, _PER_BIT),
)
"""All criteria. A new one needs a row here, its terms in `score_boundaries`, and a test oracle."""

INFORMATION, NORMALIZED, RATIO, GINI, KEARNS_MANSOUR, SQUARES, EDGE_STUMP, EDGE_TREE = (
    criterion.code for criterion in CRITERIA
)
CLASS_CRITERIA = {c.name: c.code for c in CRITERIA if c.name and c.by_class}
NUMBER_CRITERIA = {c.name: c.code for c in CRITERIA if c.name and not c.by_class}
_ENTROPIES = tuple(criterion.code for criterion in CRITERIA if criterion.is_entropy)
_SQUARE_SHARES = np.array([criterion.square_share for criterion in CRITERIA])

ROUNDING = np.float32(2e-6)  # relative difference up to which scores are equal
MAX_TABLE_WEIGHT = 8192  # integer weights up to this take x log2 x from a table

MISSING_ALONE = np.float32(np.inf)  # threshold of the split between known and missing values
WORST = np.float32(-np.inf)  # score of a split that is not allowed
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_WHOLE_WEIGHTS = np.arange(MAX_TABLE_WEIGHT + 1, dtype=np.float64)
_XLOGX_TABLE = (_WHOLE_WEIGHTS * np.log2(np.maximum(_WHOLE_WEIGHTS, 1.0))).astype(np.float32)


@kernel(inline=True)
def is_entropy(criterion):
    """Whether a criterion is computed from the class entropy."""
    return criterion in _ENTROPIES


@kernel
def log2_of(x):
    """Approximate the base-2 logarithm of a positive float32 to about 1e-6; branch-free.

    A library call would keep the loops over boundaries from vectorising. The result for 0 is -127.
    """
    bits = float_bits(x)
    # Shifted so that the mantissa lies in [sqrt(1/2), sqrt(2)), where the polynomial is short.
    shifted = np.int32(bits - np.int32(0x3F3504F3))
    exponent = np.float32(np.int32(shifted >> np.int32(23)))
    mantissa = np.int32((shifted & np.int32(0x7FFFFF)) + np.int32(0x3F3504F3))
    t = bits_float(mantissa) - np.float32(1.0)
    series = np.float32(0.1721287307)
    series = series * t + np.float32(-0.2695062744)
    series = series * t + np.float32(0.2956336003)
    series = series * t + np.float32(-0.3593506528)
    series = series * t + np.float32(0.4806291469)
    series = series * t + np.float32(-0.7213640398)
    series = series * t + np.float32(1.4426964322)
    return exponent + t * series


@kernel
def xlogx(x):
    """Return x log2 x of a weight; 0 for 0 and for small negative values left by rounding."""
    positive = x if x > _ZERO else _ZERO
    return positive * log2_of(positive)


@kernel(inline=True)
def xlogx_whole(x):
    """Return x log2 x of an integer weight up to MAX_TABLE_WEIGHT."""
    return _XLOGX_TABLE[np.uint64(np.int64(x))]


@kernel(inline=True)
def entropy_ratio(within, sides, base, whole, criterion):
    """Return the numerator and the denominator of a score from sums of x log2 x.

    `within` sums over classes and sides, `sides` over the two sides; `base` is the class entropy
    times the weight and `whole` the x log2 x of the weight.
    """
    gain = base - sides + within
    if criterion == NORMALIZED:
        return gain + gain, whole - sides + base
    if criterion == RATIO:
        return gain, whole - sides
    return gain, _ONE


@kernel(inline=True)
def finish_entropy(within, sides, base, whole, criterion, known):
    """Return a score from sums of x log2 x; ratios are scaled by the share of known weight."""
    numerator, denominator = entropy_ratio(within, sides, base, whole, criterion)
    return numerator if criterion == INFORMATION else known * numerator / denominator


@kernel(inline=True)
def add_entropy_terms(left, total, r, n_bins, out):
    """Add one class's x log2 x on both sides of each boundary."""
    r = np.uint64(r)
    t = total[r]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        out[b] += xlogx(x) + xlogx(t - x)


@kernel(inline=True)
def add_square_terms(left, total, r, w, l2, n_bins, out):
    """Add one target column's squared sums over weights on both sides of each boundary."""
    r = np.uint64(r)
    t, weight = total[r], total[w]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        left_weight = left[w, b]
        y = t - x
        out[b] += x * x / (left_weight + l2) + y * y / (weight - left_weight + l2)


@kernel(inline=True)
def add_root_terms(left, total, r, w, n_bins, out):
    """Subtract one class's Kearns-Mansour impurity on both sides of each boundary."""
    r = np.uint64(r)
    t, weight = total[r], total[w]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        left_weight = left[w, b]
        y = t - x
        right_weight = weight - left_weight
        out[b] -= math.sqrt(max(x * (left_weight - x), _ZERO)) + math.sqrt(
            max(y * (right_weight - y), _ZERO)
        )


@kernel(inline=True)
def add_edge_terms(left, total, r, stump, n_bins, out):
    """Add one class's edge on both sides of each boundary."""
    r = np.uint64(r)
    t = total[r]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        out[b] += abs(x + x - t) if stump else abs(x) + abs(t - x)


@kernel(inline=True)
def chance_gain(n, criterion):
    """Return the gain below which that of one of n - 1 thresholds is taken for chance.

    It is worth log2(n - 1) bits, what naming the threshold costs. That many bits are a share of
    2 ln(n - 1) / n of a sum of squares.
    """
    return 2.0 * math.log(max(1.0, n - 1.0)) / n / _SQUARE_SHARES[criterion]


@kernel(inline=False)
def score_boundaries(left, total, n_stats, n_bins, criterion, l2, known, out):
    """Score a split at each boundary.

    Parameters
    ----------
    left : float32[stats + 1, bins]
        Weighted sums of each class or target column left of each boundary; then the weight.
    total : float32[stats + 1]
        The same sums over all rows whose value is known.
    known : float32
        Share of the node's weight whose value is known. It scales the two ratios, which would
        otherwise favour a feature that is known for a few rows; the additive criteria are in
        units of weight already.
    out : float32[bins]
        Receives the scores. That of a boundary with an empty side is undefined.
    """
    bins, w = np.uint64(n_bins), np.uint64(n_stats)
    weight = total[w]
    for b in range(bins):
        out[b] = _ZERO
    base = _ZERO
    if is_entropy(criterion):
        for r in range(n_stats):
            add_entropy_terms(left, total, r, n_bins, out)
            base -= xlogx(total[r])
        whole = xlogx(weight)
        base += whole
        for b in range(bins):
            sides = xlogx(left[w, b]) + xlogx(weight - left[w, b])
            out[b] = finish_entropy(out[b], sides, base, whole, criterion, known)
        return
    for r in range(n_stats):
        t = total[r]
        if criterion == KEARNS_MANSOUR:
            add_root_terms(left, total, r, w, n_bins, out)
            base -= math.sqrt(max(t * (weight - t), _ZERO))
        elif criterion == EDGE_STUMP:
            add_edge_terms(left, total, r, True, n_bins, out)
        elif criterion == EDGE_TREE:
            add_edge_terms(left, total, r, False, n_bins, out)
            base += abs(t)
        else:
            add_square_terms(left, total, r, w, l2, n_bins, out)
            base += t * t / (weight + l2)
    for b in range(bins):
        out[b] -= base


@kernel(inline=True)
def score_boundary(left, total, n_stats, criterion, l2, known, whole_weights, out):
    """Return the score of the split in column 0, as `score_boundaries` does for one boundary.

    This is faster for the entropy criteria with random thresholds, which have one boundary each.
    For small integer weights a table replaces the logarithms.
    """
    if not is_entropy(criterion):
        score_boundaries(left, total, n_stats, np.int64(1), criterion, l2, known, out)
        return out[0]
    within = _ZERO
    base = _ZERO
    left_weight, weight = left[n_stats, 0], total[n_stats]
    right_weight = weight - left_weight
    if whole_weights and weight <= np.float32(MAX_TABLE_WEIGHT):
        for r in range(np.uint64(n_stats)):
            x, t = left[r, np.uint64(0)], total[r]
            within += xlogx_whole(x) + xlogx_whole(t - x)
            base -= xlogx_whole(t)
        whole = xlogx_whole(weight)
        sides = xlogx_whole(left_weight) + xlogx_whole(right_weight)
    else:
        for r in range(np.uint64(n_stats)):
            x, t = left[r, np.uint64(0)], total[r]
            within += xlogx(x) + xlogx(t - x)
            base -= xlogx(t)
        whole = xlogx(weight)
        sides = xlogx(left_weight) + xlogx(right_weight)
    return finish_entropy(within, sides, base + whole, whole, criterion, known)
