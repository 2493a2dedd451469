"""Score the boundaries between bins and choose the best allowed one."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.bins import accumulate, sum_bins
from featurewright.kernels.criteria import WORST, score_boundaries
from featurewright.kernels.jit import kernel
from featurewright.kernels.sums import separates


@kernel(inline=True)
def running_total(left, r, n_bins, is_level):
    """Make a row of bins ready for scoring: running sums for numbers, as it is for levels."""
    if is_level:
        return sum_bins(left, r, n_bins)
    return accumulate(left, r, n_bins)


@kernel(inline=True)
def add_up(left, total, n_stats, n_bins):
    """Make the weight's row the sum of the class rows; give its total."""
    last = np.uint64(n_stats)
    for b in range(np.uint64(n_bins)):
        left[last, b] = left[np.uint64(0), b]
    weight = total[0]
    for p in range(np.uint64(1), last):
        for b in range(np.uint64(n_bins)):
            left[last, b] += left[p, b]
        weight += total[p]
    return weight


@kernel(merge=True)
def best_of_bins(rows, n_stats, settings, bench, n_bins, is_level, state):
    """Score all boundaries (or, for levels, each bin against the rest) and choose the best."""
    left, total = bench.left, bench.total
    counts = left.shape[0] - 1
    for p in range(n_stats + 1 - settings.by_class):
        total[p] = running_total(left, p, n_bins, is_level)
    if settings.by_class:
        total[n_stats] = add_up(left, total, n_stats, n_bins)
    if settings.min_rows > 1:
        total[counts] = running_total(left, counts, n_bins, is_level)
    # The last bin of levels holds those outside the window: it is not a test by itself.
    return choose_boundary(rows, n_stats, settings, bench, n_bins, n_bins - is_level, state)


@kernel
def choose_boundary(rows, n_stats, settings, bench, n_bins, allowed, state):
    """Score the boundaries whose sums are in place and choose the best of the allowed ones."""
    left, total = bench.left, bench.total
    counts = left.shape[0] - 1
    weight = total[n_stats]
    known = weight / rows.totals[n_stats]
    score_boundaries(
        left, total, n_stats, n_bins, settings.criterion, settings.l2, known, bench.scores
    )
    smallest = settings.min_weight
    best = WORST
    state.boundary = -1
    state.perfect = 0
    for b in range(allowed):
        score = bench.scores[b]
        if score > best:
            part = left[n_stats, b]
            if part <= smallest or weight - part <= smallest:
                continue
            if settings.min_rows > 1:
                count = left[counts, b]
                if count < settings.min_rows or total[counts] - count < settings.min_rows:
                    continue
            best = score
            state.boundary = b
    if settings.by_class and n_stats == 2 and best > WORST and weight == rows.totals[n_stats]:
        state.perfect = separates(left, total, state.boundary)
    return best
