"""Score the boundaries between bins and choose the best allowed one."""

from __future__ import annotations

import numpy as np

from featurewright.engine.binning import accumulate, key_value, order_key, sum_bins
from featurewright.engine.compiler import kernel
from featurewright.engine.criteria import WORST, score_boundaries
from featurewright.engine.packed import unpack_bins
from featurewright.engine.sums import separates

_ZERO = np.float32(0.0)


@kernel(inline=True)
def running_total(left, r, n_bins, is_level):
    """Turn a row of bins into running sums, except for levels; return its total."""
    if is_level:
        return sum_bins(left, r, n_bins)
    return accumulate(left, r, n_bins)


@kernel(inline=True)
def sum_classes(left, total, n_stats, n_bins):
    """Sum the class rows into the row of weights; return the total weight."""
    last = np.uint64(n_stats)
    for b in range(np.uint64(n_bins)):
        left[last, b] = left[np.uint64(0), b]
    weight = total[0]
    for p in range(np.uint64(1), last):
        for b in range(np.uint64(n_bins)):
            left[last, b] += left[p, b]
        weight += total[p]
    return weight


@kernel(inline=False)
def best_of_bins(rows, n_stats, settings, scratch, n_bins, is_level, state):
    """Score all boundaries (or, for levels, each bin against the rest); return the best score."""
    left, total = scratch.left, scratch.total
    counts = left.shape[0] - 1
    if rows.summary.sums_packed:
        unpack_bins(scratch.packed, n_bins, rows.summary, is_level, left, total)
    else:
        for p in range(n_stats + 1 - settings.by_class):
            total[p] = running_total(left, p, n_bins, is_level)
        if settings.by_class:
            total[n_stats] = sum_classes(left, total, n_stats, n_bins)
        if rows.summary.min_rows > 1:
            total[counts] = running_total(left, counts, n_bins, is_level)
    # The last bin of levels holds those outside the window: it is not a test.
    return choose_boundary(rows, n_stats, settings, scratch, n_bins, n_bins - is_level, state)


@kernel(inline=True)
def forbid_small(left, total, n_stats, summary, allowed, scores):
    """Set the score of boundaries with too little on one side to WORST; return the highest score.

    All conditions are evaluated for every boundary: a loop without branches vectorises.
    """
    w, c = np.uint64(n_stats), np.uint64(left.shape[0] - 1)
    smallest, weight = summary.min_weight, total[w]
    any_count = summary.min_rows <= 1  # then rows are not counted
    fewest = np.float32(summary.min_rows)
    most = total[c] - fewest
    best = order_key(WORST)
    for b in range(np.uint64(allowed)):
        left_weight, count, score = left[w, b], left[c, b], scores[b]
        enough = any_count | ((count >= fewest) & (count <= most))
        enough &= (left_weight > smallest) & (weight - left_weight > smallest) & (score == score)
        score = score if enough else WORST
        scores[b] = score
        best = max(best, order_key(score))
    return key_value(best)


@kernel(inline=True)
def first_best(scores, best, allowed):
    """Return the first boundary with the best score."""
    place = np.int32(allowed)
    for b in range(np.uint64(allowed)):
        place = min(place, np.int32(b) if scores[b] == best else np.int32(allowed))
    return np.int64(place)


@kernel(inline=False)
def choose_boundary(rows, n_stats, settings, scratch, n_bins, allowed, state):
    """Score the boundaries whose sums are computed; store the best and return its score."""
    left, total = scratch.left, scratch.total
    weight = total[n_stats]
    known = weight / rows.totals[n_stats]
    score_boundaries(
        left, total, n_stats, n_bins, settings.criterion, settings.l2, known, scratch.scores
    )
    best = forbid_small(left, total, n_stats, rows.summary, allowed, scratch.scores)
    state.boundary = -1
    state.perfect = 0
    if best > WORST:
        state.boundary = first_best(scratch.scores, best, allowed)
    if settings.by_class and n_stats == 2 and best > WORST and weight == rows.totals[n_stats]:
        state.perfect = separates(left, total, state.boundary)
    return best
