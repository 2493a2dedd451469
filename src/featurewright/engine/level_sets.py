"""Split the levels of a category into two sets, by the statistics of the levels at the node.

The levels are sorted by their mean target, or by their share of one class; then only the splits of
that order have to be compared. For one target and for two classes one of them is the best split
into two sets; for more, the statistic in which levels differ most sorts them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from featurewright.engine.binning import accumulate
from featurewright.engine.boundaries import choose_boundary
from featurewright.engine.buffers import MAX_BINS
from featurewright.engine.compiler import kernel
from featurewright.engine.criteria import (
    EDGE_STUMP,
    EDGE_TREE,
    GINI,
    INFORMATION,
    KEARNS_MANSOUR,
    WORST,
    is_entropy,
    score_boundaries,
)

IN_SET = np.int64(2)  # instead of 1, a test for one level: a test for a set of levels
SIDES = np.float32(0.5)  # separates the values of `replace_by_side`

# The weight of the node's mean in that of a level: means of few rows say little about later rows.
_SMOOTHING = np.float32(10.0)
_OWN_BINS = 32  # levels at each end of the order that have bins of their own
_LEAST_ROWS = np.float32(4.0)  # levels of fewer rows at the node are treated as one
# Levels that mean nothing gain this much each, in variances of the target, because they are sorted
# by it: the mean square of a normal deviate times the share that two halves explain.
_GAIN_PER_LEVEL = np.float32(2.0 / math.pi)
_BITS_PER_SQUARE = np.float32(0.5 / math.log(2.0))  # information of one squared normal deviate
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@kernel(inline=True)
def is_member(sets, k, level):
    """Whether a level is in the k-th set."""
    code = np.int64(level)
    word = sets[k, code >> 5]
    return np.int64((word >> np.uint32(code & 31)) & np.uint32(1))


@kernel
def replace_by_side(values, n, sets, k):
    """Replace levels by 0 if they are in the k-th set and by 1 if not; missing ones stay."""
    row = np.uint64(0)
    for i in range(np.uint64(n)):
        x = values[row, i]
        if x == x:
            values[row, i] = _ZERO if is_member(sets, k, x) else _ONE


@kernel
def sum_by_level(values, row, rows, n, n_stats, by_class, n_levels, sums):
    """Sum each statistic, the weight and the count of rows of every level; return the known rows.

    With classes, the sum of their weights is the weight.
    """
    at, w, c = np.uint64(row), np.uint64(n_stats), np.uint64(n_stats + 1)
    for p in range(n_stats + 2):
        for level in range(n_levels):
            sums[p, level] = _ZERO
    known = np.int64(0)
    for i in range(np.uint64(n)):
        x = values[at, i]
        if x == x:
            known += 1
            sums[c, np.uint64(x)] += _ONE
    for p in range(n_stats + 1 - by_class):
        first = rows.segments[p] if by_class else np.int64(0)
        last = rows.segments[p + 1] if by_class else n
        weights = rows.weights[0 if by_class else p]
        for i in range(np.uint64(first), np.uint64(last)):
            x = values[at, i]
            if x == x:
                sums[np.uint64(p), np.uint64(x)] += weights[i]
    if by_class:
        for p in range(n_stats):
            for level in range(n_levels):
                sums[w, level] += sums[p, level]
    return known


@kernel(inline=True)
def sort_levels(keys, order, count):
    """Sort the first levels of the order by their keys; equal ones stay in the order of codes."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            level = order[i]
            key, place = keys[level], i
            while place >= gap:
                other = order[place - gap]
                if keys[other] < key or (keys[other] == key and other < level):
                    break
                order[place] = other
                place -= gap
            order[place] = level
        gap //= 2


@kernel
def pool_rare_levels(sums, n_stats, n_levels):
    """Add the sums of levels of few rows to those of the first one; return it, or -1."""
    leader: Any = np.int64(-1)
    for level in range(n_levels):
        count = sums[n_stats + 1, level]
        if _ZERO < count < _LEAST_ROWS:
            if leader < 0:
                leader = level
            else:
                for p in range(n_stats + 2):
                    sums[p, leader] += sums[p, level]
    return leader


@kernel
def order_levels(sums, n_stats, n_levels, leader, keys, order):
    """Sort levels by their smoothed mean; return their number and the statistic.

    The mean is that of the statistic whose means differ most among levels. The levels of few rows
    are one, their leader.
    """
    count = np.int64(0)
    weight = _ZERO
    for level in range(n_levels):
        enough = sums[n_stats + 1, level] >= _LEAST_ROWS or level == leader
        if enough and sums[n_stats, level] > _ZERO:
            order[count] = level
            count += 1
            weight += sums[n_stats, level]
    chosen: Any = np.int64(0)
    largest, mean = WORST, _ZERO
    for p in range(n_stats):
        total, squares = _ZERO, _ZERO
        for place in range(count):
            level = order[place]
            total += sums[p, level]
            squares += sums[p, level] * sums[p, level] / sums[n_stats, level]
        spread = squares - total * total / weight
        if spread > largest:
            chosen, largest, mean = p, spread, total / weight
    for place in range(count):
        level = order[place]
        smoothed = sums[chosen, level] + _SMOOTHING * mean
        keys[level] = smoothed / (sums[n_stats, level] + _SMOOTHING)
    sort_levels(keys, order, count)
    return count, chosen


@kernel(inline=True)
def bin_of_place(place, count):
    """Return the bin of a sorted level: its own, but many levels in the middle share bins."""
    if count <= MAX_BINS or place < _OWN_BINS:
        return place
    if place >= count - _OWN_BINS:
        return MAX_BINS + place - count
    shared = MAX_BINS - 2 * _OWN_BINS
    return _OWN_BINS + (place - _OWN_BINS) * shared // (count - 2 * _OWN_BINS)


@kernel
def bin_levels(sums, n_stats, order, count, bins, left):
    """Sum sorted levels into bins; return the number of bins, a multiple of four."""
    n_bins = min((count + 3) // 4 * 4, np.int64(MAX_BINS))
    counts = left.shape[0] - 1
    for p in range(left.shape[0]):
        for b in range(n_bins):
            left[p, b] = _ZERO
    for place in range(count):
        level, b = order[place], bin_of_place(place, count)
        bins[level] = b
        for p in range(n_stats + 1):
            left[p, b] += sums[p, level]
        left[counts, b] += sums[n_stats + 1, level]
    return n_bins


@kernel
def gain_by_chance(few, count, rows, n, n_stats, statistic, settings, total):
    """Return the gain expected of the best split of `few` from all levels, if they mean nothing.

    It is in the units of `charge_levels`. The edges of AdaBoost.MH have no such units.
    """
    criterion = settings.criterion
    if criterion in (EDGE_STUMP, EDGE_TREE, KEARNS_MANSOUR):
        return _ZERO
    squares: Any = _ZERO
    zero, last = np.uint64(0), np.uint64(n_stats)
    if settings.by_class:
        for i in range(np.uint64(n)):
            squares += rows.weights[zero, i] * rows.weights[zero, i]
    else:
        p = np.uint64(statistic)
        mean = rows.totals[p] / rows.totals[last]
        for i in range(np.uint64(n)):
            rest = rows.weights[p, i] - mean * rows.weights[last, i]
            squares += rest * rest
    variance = squares / rows.totals[last]
    if is_entropy(criterion):
        variance *= _BITS_PER_SQUARE
    elif criterion == GINI:
        inside, weight = _ZERO, total[n_stats]
        for c in range(n_stats):
            inside += total[c] * total[c]
        variance *= _ONE - inside / (weight * weight)
    # The largest of some squared normal deviates is about twice the logarithm of their number.
    # One level is free, as the threshold of a number is.
    choices = np.float32(2.0 * (few - 1) * (1.0 + math.log(count / few)))
    return min(_GAIN_PER_LEVEL * np.float32(count - 1), choices) * variance


@kernel
def charge_levels(score, count, rows, n, n_stats, statistic, settings, scratch, boundary):
    """Lower the score of a split of levels by the share of its gain that is due to chance.

    WORST if that is all. The sums of the split are moved to the first column of `scratch.left`.
    """
    left, total, scores = scratch.left, scratch.total, scratch.scores
    for p in range(n_stats + 1):
        left[p, 0] = left[p, boundary]
    additive = INFORMATION if is_entropy(settings.criterion) else settings.criterion
    one = np.int64(1)
    score_boundaries(left, total, n_stats, one, additive, settings.l2, _ONE, scores)
    gain = scores[0]
    few = np.int64(0)
    for place in range(count):
        few += np.int64(scratch.level_bins[scratch.level_order[place]] <= boundary)
    few = min(few, count - few)
    chance = gain_by_chance(few, count, rows, n, n_stats, statistic, settings, total)
    if not gain > chance:
        return WORST
    return score * (_ONE - chance / gain)


@kernel
def note_set(sums, n_levels, leader, scratch, n_stats, boundary, state):
    """Store the lighter side of a split of levels, as a set or as one level.

    Levels that are not at the node are on the heavier side.
    """
    bins, left, total, chosen = (
        scratch.level_bins,
        scratch.left,
        scratch.total,
        scratch.level_set,
    )
    for word in range(chosen.shape[1]):
        chosen[0, word] = np.uint32(0)
    takes_left = left[n_stats, 0] + left[n_stats, 0] <= total[n_stats]
    size: Any = np.int64(0)
    last: Any = np.int64(0)
    for level in range(n_levels):
        count = sums[n_stats + 1, level]
        if count == _ZERO:
            continue
        like = leader if count < _LEAST_ROWS else level
        if (np.int64(bins[like]) <= boundary) == takes_left:
            chosen[0, level >> 5] |= np.uint32(1) << np.uint32(level & 31)
            size += 1
            last = level
    state.is_set = np.int64(size > 1)
    state.threshold = np.float32(0.0 if size > 1 else last)


@kernel(inline=False)
def score_levels(values, row, rows, n, n_stats, settings, scratch, n_levels, state):
    """Score the best split of the known levels into two sets; store the set in the state.

    `state.missing` is set to whether any level is missing. The sums left of the split stay in the
    first column of `scratch.left`, and those of all known rows in `scratch.total`.
    """
    sums, order, left, total = (
        scratch.level_sums,
        scratch.level_order,
        scratch.left,
        scratch.total,
    )
    state.perfect = 0
    state.few_thresholds = 0
    known = sum_by_level(values, row, rows, n, n_stats, settings.by_class, n_levels, sums)
    state.missing = np.int64(known < n)
    leader = pool_rare_levels(sums, n_stats, n_levels)
    count, statistic = order_levels(sums, n_stats, n_levels, leader, scratch.level_keys, order)
    if count < 2:
        return WORST
    n_bins = bin_levels(sums, n_stats, order, count, scratch.level_bins, left)
    for p in range(n_stats + 1):
        total[p] = accumulate(left, p, n_bins)
    counts = left.shape[0] - 1
    total[counts] = accumulate(left, counts, n_bins)
    score = choose_boundary(rows, n_stats, settings, scratch, n_bins, n_bins, state)
    state.perfect = 0  # any levels of one row each separate the classes
    if score == WORST:
        return WORST
    boundary = state.boundary
    score = charge_levels(score, count, rows, n, n_stats, statistic, settings, scratch, boundary)
    if score > WORST:
        note_set(sums, n_levels, leader, scratch, n_stats, boundary, state)
    return score
