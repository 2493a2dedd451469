"""Score one candidate at one node: by its best threshold, a random threshold, or a level."""

from __future__ import annotations

import numpy as np

from featurewright.engine.binning import (
    ADAPTIVE_MIN_ROWS,
    adaptive_codes,
    add_to_bins,
    bin_edges,
    clipped_range,
    find_dense_spans,
    find_mass,
    has_code,
    key_codes,
    level_codes,
    range_codes,
    rank_codes,
    tail_codes,
    threshold_after,
    value_range,
)
from featurewright.engine.boundaries import best_of_bins, choose_boundary
from featurewright.engine.buffers import (
    MAX_BINS,
    MAX_EXACT_ROWS,
    N_THRESHOLDS,
    SPARSE_MIN_STATISTICS,
)
from featurewright.engine.compiler import kernel
from featurewright.engine.criteria import (
    MISSING_ALONE,
    ROUNDING,
    WORST,
    log2_of,
    score_boundaries,
    score_boundary,
)
from featurewright.engine.fast_path import score_fast, takes_fast_path
from featurewright.engine.level_sets import score_levels
from featurewright.engine.missing import missing_stands_alone, score_with_missing
from featurewright.engine.packed import fill_packed
from featurewright.engine.random import draw_below, draw_unit, next_bits
from featurewright.engine.sparse_columns import find_sparse_rows, score_sparse
from featurewright.engine.sums import (
    add_left,
    add_left_of_each,
    copy_totals,
    count_up_to,
    enough_rows,
    known_totals,
    separates,
    stratum_size,
    sum_left,
    threshold_place,
)

MAX_ZOOMS = 5  # times a threshold is refined
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@kernel
def score_missing_alone(values, row, rows, n, n_stats, settings, scratch, state):
    """Score the split between known and missing values."""
    total, left, by_class = scratch.total, scratch.left, settings.by_class
    known_totals(values, row, rows, n, n_stats, by_class, total)
    for p in range(n_stats + 1):
        left[p, 0] = total[p]
        total[p] = rows.totals[p]
    known_weight, weight = left[n_stats, 0], total[n_stats]
    known = np.int64(0)
    for i in range(np.uint64(n)):
        known += np.int64(values[np.uint64(row), i] == values[np.uint64(row), i])
    enough = known >= rows.summary.min_rows and n - known >= rows.summary.min_rows
    if (
        not enough
        or known_weight <= rows.summary.min_weight
        or weight - known_weight <= rows.summary.min_weight
    ):
        return WORST
    state.perfect = 0
    if by_class and n_stats == 2:
        state.perfect = separates(left, total, 0)
    score_boundaries(
        left, total, n_stats, np.int64(1), settings.criterion, settings.l2, _ONE, scratch.scores
    )
    score = scratch.scores[0]
    return score if score == score else WORST


@kernel
def score_at(values, row, rows, n, n_stats, settings, scratch, threshold, is_level, missing, state):
    """Score the split at a given threshold or level; WORST if it is not allowed."""
    if threshold == MISSING_ALONE:
        return score_missing_alone(values, row, rows, n, n_stats, settings, scratch, state)
    by_class = settings.by_class
    total, left = scratch.total, scratch.left
    copy_totals(values, row, rows, n, n_stats, by_class, missing, total)
    add_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, np.int64(0))
    state.perfect = 0
    weight = left[n_stats, 0]
    if weight <= rows.summary.min_weight or total[n_stats] - weight <= rows.summary.min_weight:
        return WORST
    if rows.summary.min_rows > 1 and not enough_rows(
        values, row, n, threshold, is_level, rows.summary.min_rows
    ):
        return WORST
    if by_class and n_stats == 2 and not missing:
        state.perfect = separates(left, total, 0)
    known = total[n_stats] / rows.totals[n_stats]
    score = score_boundary(
        left,
        total,
        n_stats,
        settings.criterion,
        settings.l2,
        known,
        settings.whole_weights,
        scratch.scores,
    )
    return score if score == score else WORST


@kernel(inline=False)
def fill_bins(rows, n, n_stats, settings, scratch, n_bins):
    """Add every statistic, the weight and the count of rows to the bins of their codes."""
    left, by_class = scratch.left, settings.by_class
    if rows.summary.sums_packed:
        fill_packed(scratch.codes, rows.packed, n, scratch.packed, n_bins, scratch.packed_spare)
        return
    for p in range(np.uint64(n_stats + 1 - by_class)):
        for b in range(np.uint64(n_bins + 1)):
            left[p, b] = _ZERO
    for p in range(n_stats + 1 - by_class):
        start = rows.segments[p] if by_class else 0
        stop = rows.segments[p + 1] if by_class else n
        weights = rows.weights[0 if by_class else p]
        add_to_bins(scratch.codes, weights, start, stop, left[p], n_bins, scratch.spare)
    if rows.summary.min_rows > 1:
        counts = np.uint64(left.shape[0] - 1)
        for b in range(np.uint64(n_bins + 1)):
            left[counts, b] = _ZERO
        for i in range(np.uint64(n)):
            left[counts, scratch.codes[i]] += _ONE


@kernel(inline=True)
def draw_threshold(values, row, n, is_level, state):
    """Return a uniform threshold between the extremes, or the level of a random row."""
    if is_level:
        level = values[row, draw_below(state, n)]
        while level != level:
            level = values[row, draw_below(state, n)]
        return level
    spread = np.float64(state.high) - np.float64(state.low)
    drawn = np.float32(state.low + draw_unit(state) * spread)
    return drawn if drawn < state.high else state.low


@kernel(inline=False)
def put_into_bins(values, row, n, scratch, n_levels, state):
    """Code every value by its bin; return the number of bins, a multiple of four.

    `state.missing` is set to whether any value is missing. With more levels than bins, a random
    window of the levels is tested; `state.low` is the first.
    """
    if n_levels > 0:
        first = np.int64(0)
        if n_levels > MAX_BINS - 1:
            first = draw_below(state, n_levels - MAX_BINS + 2)
        state.low = np.float32(first)
        n_bins = (min(n_levels, MAX_BINS - 1) + 4) // 4 * 4
        level_codes(values, row, n, first, n_bins, scratch.codes)
        state.missing = has_code(scratch.codes, n, n_bins)
        return n_bins
    if n <= MAX_EXACT_ROWS:
        n_bins = (n + 3) // 4 * 4
        rank_codes(values, row, n, n_bins, scratch.ranks, scratch.codes)
        state.missing = has_code(scratch.codes, n, n_bins)
        return n_bins
    state.missing = np.int64(clipped_range(values, row, n, state))
    # Ratios and products have long tails: bins of equal width would put most rows into one bin.
    if find_mass(values, row, n, state):
        tail_codes(values, row, n, state, np.int64(MAX_BINS), scratch.codes)
        return MAX_BINS
    n_marks = 0
    if n >= ADAPTIVE_MIN_ROWS and state.low < state.high:
        n_marks = find_dense_spans(values, row, n, state, scratch.marks)
    if n_marks > 0:
        adaptive_codes(
            values, row, n, state, scratch.marks, n_marks, np.int64(MAX_BINS), scratch.codes
        )
    else:
        range_codes(values, row, n, state.low, state.high, MAX_BINS, scratch.codes)
    return MAX_BINS


@kernel
def try_thresholds(values, row, rows, n, n_stats, settings, scratch, state):
    """Score the values of a few rows as thresholds, which is enough to compare candidates.

    The thresholds are a sample of the values, so they lie where the rows do. The smallest value is
    always one of them: with two values, or many zeros, it is usually the best.
    """
    by_class, left, total = settings.by_class, scratch.left, scratch.total
    missing = np.int64(value_range(values, row, n, state))
    state.missing = missing
    state.perfect = 0
    if not state.low < state.high:
        return WORST
    copy_totals(values, row, rows, n, n_stats, by_class, missing, total)
    counts = left.shape[0] - 1
    if rows.summary.min_rows > 1:
        total[counts] = np.float32(count_up_to(values, row, n, state.high))
    bits, stratum = next_bits(state), stratum_size(n, np.int64(N_THRESHOLDS))
    for t in range(N_THRESHOLDS):
        threshold = state.low if t == 0 else values[row, threshold_place(t, stratum, bits)]
        # Nothing is right of the largest value, though rounded sums may differ slightly.
        threshold = threshold if threshold < state.high else np.float32(np.nan)
        scratch.tried[t] = threshold
        if rows.summary.min_rows > 1:
            left[counts, t] = np.float32(count_up_to(values, row, n, threshold))
    add_left_of_each(values, row, rows, n, n_stats, by_class, scratch.tried, left)
    few = np.int64(N_THRESHOLDS)
    return choose_boundary(rows, n_stats, settings, scratch, few, few, state)


@kernel(inline=False)
def name_cut(left, scores, n_stats, n_boundaries):
    """Return the bits that name one of the allowed boundaries; equal ones count once.

    Boundaries of bins are in order; the few thresholds of a comparison are not.
    """
    w, n_cuts = np.uint64(n_stats), np.int64(0)
    for b in range(n_boundaries):
        new = scores[b] > WORST
        for earlier in range(np.int64(0) if n_boundaries <= N_THRESHOLDS else max(0, b - 1), b):
            new &= left[w, earlier] != left[w, b]
        n_cuts += np.int64(new)
    return log2_of(np.float32(max(n_cuts, np.int64(1))))


@kernel(inline=True)
def charge_cut(score, n_stats, n_boundaries, settings, scratch, state):
    """Subtract what it costs to name a candidate's threshold; WORST if no gain is left."""
    if not settings.cut_cost or score == WORST:
        return score
    score -= name_cut(scratch.left, scratch.scores, n_stats, n_boundaries)
    if score > _ZERO:
        return score
    state.perfect = 0
    return WORST


@kernel(inline=True)
def score_values(values, row, rows, n, n_stats, settings, scratch, n_levels, best_so_far, state):
    """Score a candidate's values, and the split between known and missing values if some are.

    That split has an infinite threshold: every known value goes left.
    """
    state.missing = 0
    if n_levels > 0 and settings.level_sets:
        return score_sets(
            values, row, rows, n, n_stats, settings, scratch, n_levels, best_so_far, state
        )
    if n_levels == 0 and takes_fast_path(rows, n_stats, settings, state.many_thresholds):
        state.missing = np.int64(value_range(values, row, n, state))
        return score_fast(values, row, rows, n, n_stats, settings, best_so_far, state)
    score = score_known(
        values, row, rows, n, n_stats, settings, scratch, n_levels, best_so_far, state
    )
    if state.missing and not settings.missing_both:
        perfect = state.perfect
        alone = score_missing_alone(values, row, rows, n, n_stats, settings, scratch, state)
        is_level = np.int64(n_levels > 0)
        if alone > best_so_far:
            if score > WORST and state.threshold != state.threshold:
                place_threshold(values, row, n, scratch, is_level, state)
            if score == WORST or beats_threshold(
                alone, values, row, rows, n, n_stats, settings, scratch, is_level, state
            ):
                state.threshold = MISSING_ALONE
                return alone
        state.perfect = perfect
    return score


@kernel(inline=True)
def score_sets(values, row, rows, n, n_stats, settings, scratch, n_levels, best_so_far, state):
    """Score the split of a category into two sets of levels, as `score_values` does."""
    score = score_levels(values, row, rows, n, n_stats, settings, scratch, n_levels, state)
    if not state.missing or settings.missing_both:
        return score
    right, left = WORST, WORST
    if score > WORST:
        scores = scratch.scores
        score_with_missing(
            rows, n_stats, settings.criterion, settings.l2, scratch.left, scratch.total, scores
        )
        right, left = scores[0], scores[1]
    alone = score_missing_alone(values, row, rows, n, n_stats, settings, scratch, state)
    state.perfect = 0
    if alone > best_so_far and missing_stands_alone(alone, right, left):
        state.is_set = 0
        state.threshold = MISSING_ALONE
        return alone
    return score


@kernel(inline=True)
def place_threshold(values, row, n, scratch, is_level, state):
    """Store the threshold, or level, of the chosen boundary in the state."""
    if is_level:
        state.threshold = state.low + np.float32(state.boundary)
    else:
        state.threshold = threshold_after(values, row, n, scratch.codes, state.boundary)


@kernel
def beats_threshold(alone, values, row, rows, n, n_stats, settings, scratch, is_level, state):
    """Whether splitting known from missing rows scores higher than the state's threshold."""
    left, total, by_class, zero = scratch.left, scratch.total, settings.by_class, np.int64(0)
    known_totals(values, row, rows, n, n_stats, by_class, total)
    sum_left(values, row, rows, n, n_stats, by_class, state.threshold, is_level, left, zero)
    scores = scratch.scores
    score_with_missing(rows, n_stats, settings.criterion, settings.l2, left, total, scores)
    return missing_stands_alone(alone, scores[0], scores[1])


@kernel(inline=True)
def score_known(values, row, rows, n, n_stats, settings, scratch, n_levels, best_so_far, state):
    """Score a candidate's known values: as numbers, or as levels if there are levels.

    The threshold or level is stored in the state; that of bins is computed only if the score beats
    the best so far, because it takes a pass over the rows.
    """
    is_level = np.int64(n_levels > 0)
    state.threshold = np.float32(np.nan)  # until there is one
    state.few_thresholds = 0
    if settings.random_threshold:
        missing = np.int64(value_range(values, row, n, state))
        state.missing = missing
        state.perfect = 0
        if not state.low < state.high:
            return WORST
        drawn = draw_threshold(values, row, n, is_level, state)
        state.threshold = drawn
        return score_at(
            values, row, rows, n, n_stats, settings, scratch, drawn, is_level, missing, state
        )
    if not is_level and not settings.by_class and n_stats >= SPARSE_MIN_STATISTICS:
        state.missing = np.int64(value_range(values, row, n, state))
        state.perfect = 0
        if not state.low < state.high:
            return WORST
        n_sparse = np.int64(-1)
        if not state.missing:
            n_sparse = find_sparse_rows(values, row, n, scratch.ranks, state)
        if n_sparse >= 0:
            return score_sparse(values, row, rows, n, n_stats, settings, scratch, n_sparse, state)
    if not is_level and not state.many_thresholds and n > MAX_EXACT_ROWS:
        state.few_thresholds = 1
        score = try_thresholds(values, row, rows, n, n_stats, settings, scratch, state)
        score = charge_cut(score, n_stats, np.int64(N_THRESHOLDS), settings, scratch, state)
        if score > WORST:
            state.threshold = scratch.tried[state.boundary]
        return score
    n_bins = put_into_bins(values, row, n, scratch, n_levels, state)
    fill_bins(rows, n, n_stats, settings, scratch, n_bins)
    score = best_of_bins(rows, n_stats, settings, scratch, n_bins, is_level, state)
    if not is_level:
        score = charge_cut(score, n_stats, n_bins, settings, scratch, state)
    if score > best_so_far:
        place_threshold(values, row, n, scratch, is_level, state)
    return score


@kernel
def refine_threshold(values, rows, n, n_stats, settings, scratch, state):
    """Refine the threshold of the best candidate: among all bins, then within the best two bins."""
    row, no = np.int64(0), np.int64(0)
    rows.summary.sums_packed = 0  # packed sums are rounded
    n_bins = put_into_bins(values, row, n, scratch, no, state)
    for _ in range(MAX_ZOOMS if settings.many_thresholds else 1):
        fill_bins(rows, n, n_stats, settings, scratch, n_bins)
        score = best_of_bins(rows, n_stats, settings, scratch, n_bins, no, state)
        # One that scores the same is better placed: halfway between two values, not on one.
        if not score >= state.best_score - ROUNDING * abs(state.best_score):
            return
        state.best_score = max(score, state.best_score)
        state.best_threshold = threshold_after(values, row, n, scratch.codes, state.boundary)
        if n <= MAX_EXACT_ROWS or not bin_edges(
            values, row, n, scratch.codes, state.boundary, state
        ):
            return
        n_bins = np.int64(MAX_BINS)
        key_codes(values, row, n, state.low, state.high, n_bins, scratch.codes)
