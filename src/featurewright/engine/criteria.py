"""Score the boundaries between bins: how much a split there tells about the target."""

from __future__ import annotations

import math

import numpy as np

from featurewright.engine.compiler import bits_float, float_bits, kernel

INFORMATION = 0  # information gain, in bits x weight
NORMALIZED = 1  # 2 I(split; class) / (H(split) + H(class))
RATIO = 2  # gain ratio: I(split; class) / H(split)
GINI = 3
KEARNS_MANSOUR = 4
SQUARES = 5  # variance summed over target columns; with L2 and hessians: second-order boosting
EDGE_STUMP = 6  # AdaBoost.MH, one vote vector for both sides with opposite signs
EDGE_TREE = 7  # AdaBoost.MH, a vote vector on each side

ROUNDING = np.float32(2e-6)  # scores that differ by less, relative to themselves, are equal
WHOLE_LIMIT = 8192  # a single boundary of whole weights up to here looks its logarithms up

MISSING_ALONE = np.float32(np.inf)  # the threshold that parts known values from missing ones
WORST = np.float32(-np.inf)  # the score of a split that is not allowed
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_COUNTS = np.arange(WHOLE_LIMIT + 1, dtype=np.float64)
_WHOLE = (_COUNTS * np.log2(np.maximum(_COUNTS, 1.0))).astype(np.float32)


@kernel(inline=True)
def is_entropy(criterion):
    """Whether a criterion is computed from the entropy of classes."""
    return criterion == INFORMATION or criterion == NORMALIZED or criterion == RATIO  # noqa: PLR1714


@kernel
def log2_of(x):
    """Approximate the base-2 logarithm of a positive float32 to about 1e-6; branch-free.

    A library logarithm would keep the loops over boundaries from vectorising. 0 gives -127.
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
    """Give x log2 x for a weight, 0 for 0 and for the small negatives that rounding leaves."""
    positive = x if x > _ZERO else _ZERO
    return positive * log2_of(positive)


@kernel(inline=True)
def xlogx_whole(x):
    """Look up x log2 x for a whole weight up to WHOLE_LIMIT."""
    return _WHOLE[np.uint64(np.int64(x))]


@kernel(inline=True)
def entropy_ratio(within, sides, base, whole, criterion):
    """Turn sums of x log2 x into a score, as what to divide and what by.

    `within` sums over classes and sides, `sides` over the two sides; `base` is the class entropy
    and `whole` the x log2 x of the weight.
    """
    gain = base - sides + within
    if criterion == NORMALIZED:
        return gain + gain, whole - sides + base
    if criterion == RATIO:
        return gain, whole - sides
    return gain, _ONE


@kernel(inline=True)
def finish_entropy(within, sides, base, whole, criterion, known):
    """Turn sums of x log2 x into a score: see `entropy_ratio`. Ratios count for the known rows."""
    above, below = entropy_ratio(within, sides, base, whole, criterion)
    return above if criterion == INFORMATION else known * above / below


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
        part = left[w, b]
        y = t - x
        out[b] += x * x / (part + l2) + y * y / (weight - part + l2)


@kernel(inline=True)
def add_root_terms(left, total, r, w, n_bins, out):
    """Subtract one class's Kearns-Mansour impurity on both sides of each boundary."""
    r = np.uint64(r)
    t, weight = total[r], total[w]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        part = left[w, b]
        y = t - x
        rest = weight - part
        out[b] -= math.sqrt(max(x * (part - x), _ZERO)) + math.sqrt(max(y * (rest - y), _ZERO))


@kernel(inline=True)
def add_edge_terms(left, total, r, stump, n_bins, out):
    """Add one class's edge on both sides of each boundary."""
    r = np.uint64(r)
    t = total[r]
    for b in range(np.uint64(n_bins)):
        x = left[r, b]
        out[b] += abs(x + x - t) if stump else abs(x) + abs(t - x)


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
        otherwise favour a feature that exists for a handful of rows; the additive criteria are in
        units of weight and scale by themselves.
    out : float32[bins]
        Receives the scores. A boundary with an empty side gets no meaningful score.
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
    """Score the split in column 0; what `score_boundaries` gives for a single boundary.

    The entropy criteria take a short way: one boundary is all that a random threshold has. Where
    weights are whole numbers and few, a table replaces the logarithms.
    """
    if not is_entropy(criterion):
        score_boundaries(left, total, n_stats, np.int64(1), criterion, l2, known, out)
        return out[0]
    within = _ZERO
    base = _ZERO
    part, weight = left[n_stats, 0], total[n_stats]
    rest = weight - part
    if whole_weights and weight <= np.float32(WHOLE_LIMIT):
        for r in range(np.uint64(n_stats)):
            x, t = left[r, np.uint64(0)], total[r]
            within += xlogx_whole(x) + xlogx_whole(t - x)
            base -= xlogx_whole(t)
        whole = xlogx_whole(weight)
        sides = xlogx_whole(part) + xlogx_whole(rest)
    else:
        for r in range(np.uint64(n_stats)):
            x, t = left[r, np.uint64(0)], total[r]
            within += xlogx(x) + xlogx(t - x)
            base -= xlogx(t)
        whole = xlogx(weight)
        sides = xlogx(part) + xlogx(rest)
    return finish_entropy(within, sides, base + whole, whole, criterion, known)
