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
def order_levels(sums, n_stats, n_levels, keys, order):
    """Sort the levels present by their smoothed mean; return their number.

    The mean is that of the statistic whose means differ most among levels.
    """
    count = np.int64(0)
    weight = _ZERO
    for level in range(n_levels):
        if sums[n_stats, level] > _ZERO:
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
    return count


@kernel
def bin_levels(sums, n_stats, order, count, known, bins, left):
    """Sum sorted levels into bins; return the number of bins, a multiple of four.

    Each level has its own bin; if there are too many, bins have about as many rows.
    """
    n_bins = min((count + 3) // 4 * 4, np.int64(MAX_BINS))
    counts = left.shape[0] - 1
    for p in range(left.shape[0]):
        for b in range(n_bins):
            left[p, b] = _ZERO
    before = _ZERO
    for place in range(count):
        level = order[place]
        b = place
        if count > n_bins:
            b = min(np.int64(before / np.float32(known) * np.float32(n_bins)), n_bins - 1)
        before += sums[n_stats + 1, level]
        bins[level] = b
        for p in range(n_stats + 1):
            left[p, b] += sums[p, level]
        left[counts, b] += sums[n_stats + 1, level]
    return n_bins


@kernel
def gain_by_chance(count, rows, n, n_stats, settings, total):
    """Return the gain that is expected of splitting so many levels that mean nothing.

    It is in the units of `additive_gain`. The edges of AdaBoost.MH have no such units.
    """
    criterion, levels = settings.criterion, np.float32(count - 1)
    if criterion in (EDGE_STUMP, EDGE_TREE, KEARNS_MANSOUR):
        return _ZERO
    if is_entropy(criterion):
        return _GAIN_PER_LEVEL * levels * _BITS_PER_SQUARE
    if criterion == GINI:
        squares, weight = _ZERO, total[n_stats]
        for p in range(n_stats):
            squares += total[p] * total[p]
        return _GAIN_PER_LEVEL * levels * (_ONE - squares / (weight * weight))
    return _GAIN_PER_LEVEL * levels * rows.summary.squared_deviations / np.float32(n)


@kernel
def charge_levels(score, count, rows, n, n_stats, settings, scratch, boundary):
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
    chance = gain_by_chance(count, rows, n, n_stats, settings, total)
    if not gain > chance:
        return WORST
    return score * (_ONE - chance / gain)


@kernel
def note_set(order, count, bins, left, total, n_stats, boundary, chosen, state):
    """Store the lighter side of a split of levels, as a set or as one level.

    Levels that are not at the node are on the heavier side.
    """
    for word in range(chosen.shape[1]):
        chosen[0, word] = np.uint32(0)
    takes_left = left[n_stats, 0] + left[n_stats, 0] <= total[n_stats]
    size, last = 0, np.int64(0)
    for place in range(count):
        level = np.int64(order[place])
        if (np.int64(bins[level]) <= boundary) == takes_left:
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
    count = order_levels(sums, n_stats, n_levels, scratch.level_keys, order)
    if count < 2:
        return WORST
    n_bins = bin_levels(sums, n_stats, order, count, known, scratch.level_bins, left)
    for p in range(n_stats + 1):
        total[p] = accumulate(left, p, n_bins)
    counts = left.shape[0] - 1
    total[counts] = accumulate(left, counts, n_bins)
    score = choose_boundary(rows, n_stats, settings, scratch, n_bins, n_bins, state)
    state.perfect = 0  # any levels of one row each separate the classes
    if score == WORST:
        return WORST
    boundary = state.boundary
    score = charge_levels(score, count, rows, n, n_stats, settings, scratch, boundary)
    if score > WORST:
        note_set(
            order,
            count,
            scratch.level_bins,
            left,
            total,
            n_stats,
            boundary,
            scratch.level_set,
            state,
        )
    return score
