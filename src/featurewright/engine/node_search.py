"""Prepare the statistics of a node's rows, search its best split, and route missing rows."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import LANES, SCREEN_KEEP, SCREEN_MIN_ROWS, SCREEN_ROWS
from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.criteria import (
    INFORMATION,
    MAX_TABLE_WEIGHT,
    MISSING_ALONE,
    WORST,
    is_entropy,
    score_boundaries,
    xlogx_whole,
)
from featurewright.engine.histograms import has_histograms, search_histograms
from featurewright.engine.missing import missing_goes_left, score_with_missing
from featurewright.engine.packed import pack_sums
from featurewright.engine.programs import gather, gather_all, padded
from featurewright.engine.random import draw_unit
from featurewright.engine.search import (
    FROM_BUFFER,
    FROM_VALUES,
    RAW,
    SAME_THRESHOLD,
    choose_survivors,
    search_columns,
)
from featurewright.engine.sums import known_totals, sum_left
from featurewright.expressions import opcodes as op

_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_INFINITE = np.float32(np.inf)
# Rows per class up to which 64-bit packed weights are faster than summing class by class: with one
# threshold per candidate, and with several.
_MAX_PACKED_CLASS_ROWS = 512
_MAX_PACKED_CLASS_ROWS_SEVERAL = 64
_ROUNDING = np.float32(2e-6)  # of targets, which are of order one
MAX_SIDE_WEIGHT = np.float32(25.0)  # that a side must have because of its share, as in C4.5


@kernel(inline=True)
def class_bits(totals, present, bits):
    """Return the bits per class if `bits` are divided equally; 0 if a class weight does not fit."""
    bits = min(bits // present, 24)  # integers that a float32 represents exactly
    for p in range(present):
        if bits == 0 or totals[p] >= np.float32(2.0) ** np.float32(bits):
            return 0
    return bits


@kernel(inline=True)
def pack_weights(rows, n, present, most):
    """Pack class weights into separate bits of one integer per row, if they fit.

    The integers have 32 bits if those suffice, else 64 bits for up to `most` rows.
    """
    if rows.totals[present] > np.float32(MAX_TABLE_WEIGHT):
        return
    narrow = class_bits(rows.totals, present, 32)
    wide = 0
    if narrow == 0 and n <= most:
        wide = class_bits(rows.totals, present, 64)
    bits = max(narrow, wide)
    if bits == 0:
        return
    summary = rows.summary
    summary.class_bits = bits
    summary.narrow = np.int64(narrow > 0)
    base = _ZERO
    total = np.uint64(0)
    for p in range(present):
        total |= np.uint64(np.int64(rows.totals[p])) << np.uint64(p * bits)
        base -= xlogx_whole(rows.totals[p])
    summary.sum_packed = total
    summary.weight_entropy = xlogx_whole(rows.totals[present])
    summary.class_entropy = base + summary.weight_entropy
    zero = np.uint64(0)
    for p in range(present):
        shift = np.uint64(p * bits)
        first, last = np.uint64(rows.segments[p]), np.uint64(rows.segments[p + 1])
        if narrow:
            for i in range(first, last):
                rows.narrow[i] = np.uint32(np.int64(rows.weights[zero, i])) << np.uint32(shift)
        else:
            for i in range(first, last):
                rows.packed[i] = np.int64(rows.weights[zero, i]) << np.int64(shift)
    for i in range(n, padded(n)):
        rows.narrow[i] = 0
        rows.packed[i] = 0


@kernel
def prepare_classes(target, row_ids, start, n, settings, rows):
    """Find the segments and weights of rows sorted by class; return the number of classes."""
    first, zero = np.uint64(start), np.uint64(0)
    weights = rows.weights
    for i in range(np.uint64(n)):
        weights[zero, i] = target.weights[row_ids[first + i]]
    present = 0
    total = _ZERO
    i = 0
    while i < n:
        code = target.codes[row_ids[start + i]]
        rows.segments[present] = i
        weight = _ZERO
        while i < n and target.codes[row_ids[start + i]] == code:
            weight += weights[0, i]
            i += 1
        rows.totals[present] = weight
        total += weight
        present += 1
    rows.segments[present] = n
    rows.totals[present] = total
    if settings.whole_weights:
        most = (
            _MAX_PACKED_CLASS_ROWS if settings.random_threshold else _MAX_PACKED_CLASS_ROWS_SEVERAL
        )
        pack_weights(rows, n, present, most * present)
    return present


@kernel
def prepare_sums(target, row_ids, start, n, centered, rows):
    """Gather weights and weighted target columns, minus their mean if `centered`."""
    first, last = np.uint64(start), np.uint64(target.sums.shape[0])
    weights = rows.weights
    weight = 0.0
    for i in range(np.uint64(n)):
        w = target.weights[row_ids[first + i]]
        weights[last, i] = w
        weight += w
    for t in range(last):
        total = 0.0
        for i in range(np.uint64(n)):
            total += target.sums[t, row_ids[first + i]]
        mean = np.float32(total / weight) if centered else _ZERO
        rest = _ZERO
        for i in range(np.uint64(n)):
            value = target.sums[t, row_ids[first + i]] - mean * weights[last, i]
            weights[t, i] = value
            rest += value
        rows.totals[t] = rest
    rows.totals[last] = np.float32(weight)
    squares = _ZERO
    for i in range(np.uint64(n)):
        value, w = weights[np.uint64(0), i], weights[last, i]
        squares += value * value / w if w > _ZERO else _ZERO
    rows.summary.squared_deviations = squares
    for t in range(last + np.uint64(1)):
        for i in range(np.uint64(n), np.uint64(padded(n))):
            weights[t, i] = _ZERO
    return np.int64(target.sums.shape[0])


@kernel(inline=False)
def prepare_node(context, start, n, n_node):
    """Compute the statistics of the context's rows; return their number.

    Limits on the sides of a split are scaled down for a sample of a node with `n_node` rows.
    """
    return prepare(
        context.target, context.row_ids, start, n, n_node, context.settings, context.rows
    )


@kernel(inline=True)
def prepare(target, row_ids, start, n, n_node, settings, rows):
    """Compute the statistics of rows and the limits of a split; return their number."""
    summary = rows.summary
    summary.min_rows, summary.min_weight = settings.min_rows, settings.min_weight
    if n < n_node:
        summary.min_rows = max(np.int64(1), settings.min_rows * n // n_node)
        summary.min_weight = settings.min_weight * np.float32(n) / np.float32(n_node)
    summary.class_bits = 0
    summary.narrow = 0
    summary.sums_packed = 0
    if settings.by_class:
        n_stats = prepare_classes(target, row_ids, start, n, settings, rows)
    else:
        n_stats = prepare_sums(target, row_ids, start, n, settings.centered, rows)
    if settings.side_share > _ZERO:
        most = MAX_SIDE_WEIGHT * np.float32(n) / np.float32(n_node)
        least = min(settings.side_share * rows.totals[n_stats], most)
        # A little less, so that a side of exactly this weight is allowed.
        summary.min_weight = max(summary.min_weight, least * (_ONE - _ROUNDING))
    if not settings.by_class and n_stats == 1:
        pack_sums(rows, n, settings)
    return n_stats


@kernel(inline=True)
def is_pure(rows, n, n_stats, settings):
    """Whether all rows have the same class or target."""
    if settings.by_class:
        return n_stats <= 1
    if not settings.centered:
        return False
    last = np.uint64(n_stats)
    for t in range(last):
        for i in range(np.uint64(n)):
            if abs(rows.weights[t, i]) > _ROUNDING * rows.weights[last, i]:
                return False
    return True


@kernel(inline=True)
def sample_rows(row_ids, start, n, size, state, out):
    """Draw one row from each of `size` equal strata, in order, which keeps class shares."""
    for i in range(size):
        place = np.int64((i + draw_unit(state)) * n / size)
        out[i] = row_ids[start + min(place, n - 1)]


@kernel(inline=True)
def halve_candidates(context, sample, start, n, n_stats):
    """Score fewer and fewer candidates on larger and larger samples, the last on all rows."""
    zero = np.int64(0)
    settings, state, buffers = context.settings, context.state, context.buffers
    candidates, candidate_scores, buffer = (
        buffers.candidates,
        buffers.candidate_scores,
        buffers.buffer,
    )
    count = state.scored
    flags = SAME_THRESHOLD if settings.random_threshold else FROM_VALUES
    size = settings.sample
    for k in range(count):
        candidates.order[k] = k
    while size < n:
        size = size * settings.keep
        kept = max(np.int64(1), count // settings.keep)
        if size * 3 // 2 > n or kept == 1:  # one candidate has nothing to be compared with
            size = n
        choose_survivors(candidate_scores.scores, candidates.order, count, kept)
        count = kept
        state.best_score = WORST
        state.best_perfect = 0
        seen, ids, begin, stats = context, context.row_ids, start, n_stats
        if size < n:
            sample_rows(context.row_ids, start, n, size, state, buffers.sample_ids)
            seen, ids, begin = sample, buffers.sample_ids, zero
            stats = prepare_node(sample, begin, size, n)
        # Many candidates share columns: then all columns are gathered once, if the buffer is large
        # enough.
        gathers_all = size + LANES <= buffer.shape[1] and 2 * count >= context.matrix.shape[1]
        if gathers_all:
            gather_all(context.matrix, ids, begin, size, buffer)
        how = flags | (FROM_BUFFER if gathers_all else FROM_VALUES)
        for place in range(count):
            k = candidates.order[place]
            if not gathers_all:
                call_kernel(settings.runner, (seen, candidates.programs, k, begin, size))
            call_kernel(settings.scorer, (seen, candidates.programs, k, k, how, size, stats))


@kernel(inline=True)
def screens_columns(context, n):
    """Whether a node is so large that its raw columns, if all are tried, are compared on a sample.

    Without halving, all columns are scored on all rows.
    """
    settings, n_columns = context.settings, context.columns.shape[0]
    enough = context.buffers.sample_ids.shape[0] >= SCREEN_ROWS and n >= SCREEN_MIN_ROWS
    return enough and settings.n_raw >= n_columns and n_columns >= 2 * SCREEN_KEEP


@kernel(inline=True)
def screen_columns(context, sample, start, n, n_stats):
    """Score all raw columns on a sample of the rows, and the best of them on all rows."""
    zero, how = np.int64(0), FROM_VALUES | RAW
    settings, state, buffers = context.settings, context.state, context.buffers
    programs, order = buffers.candidates.programs, buffers.candidates.order
    columns, values = context.columns, buffers.evaluation.values
    n_columns = np.int64(columns.shape[0])
    size = np.int64(SCREEN_ROWS)
    sample_rows(context.row_ids, start, n, size, state, buffers.sample_ids)
    stats = prepare_node(sample, zero, size, n)
    for d in range(programs.shape[1]):
        programs[0, d] = op.END
    best_score = state.best_score
    state.best_score = _INFINITE  # so that nothing is the best yet
    for column in range(n_columns):
        order[column] = column
        programs[0, 0] = column
        gather(
            context.columns, column, buffers.sample_ids, zero, size, buffers.evaluation.values, zero
        )
        call_kernel(settings.scorer, (sample, programs, zero, column, how, size, stats))
    state.best_score = best_score
    kept = max(np.int64(2), n_columns // SCREEN_KEEP)
    choose_survivors(buffers.candidate_scores.scores, order, n_columns, kept)
    for place in range(kept):
        column = order[place]
        programs[0, 0] = column
        gather(columns, column, context.row_ids, start, n, values, zero)
        call_kernel(settings.scorer, (context, programs, zero, zero, how, n, n_stats))


@kernel
def search_node(context, sample, node, start, n, n_stats):
    """Find the best split of a node among constructed expressions and raw columns.

    In a large node all candidates are scored on a small sample of rows, then the best of them on
    more rows, and so on until all rows are used. `sample` is the context of a sample.
    """
    settings, state = context.settings, context.state
    state.best_score = WORST
    state.best_perfect = 0
    state.is_evaluated = 0
    if settings.budget > 0:
        state.scored = 0
        state.tries = 0
        halve = settings.sample > 0 and n >= settings.sample * 3 // 2
        seen, ids, begin, size, stats = context, context.row_ids, start, n, n_stats
        if halve:
            size, begin = settings.sample, np.int64(0)
            sample_rows(context.row_ids, start, n, size, state, context.buffers.sample_ids)
            seen, ids = sample, context.buffers.sample_ids
            stats = prepare_node(sample, begin, size, n)
        gather_all(context.matrix, ids, begin, size, context.buffers.buffer)
        call_kernel(settings.searcher, (seen, size, stats))
        if halve and state.scored > 0:
            halve_candidates(context, sample, start, n, n_stats)
    if settings.n_raw > 0 and not state.best_perfect:
        if has_histograms(context):
            search_histograms(context, node, start, n, n_stats)
        elif screens_columns(context, n):
            screen_columns(context, sample, start, n, n_stats)
        else:
            search_columns(context, start, n, n_stats)


@kernel(inline=True)
def route_missing(values, rows, n, n_stats, settings, scratch, threshold, is_level):
    """Return the side for missing rows and the split's gain in units of weight.

    Missing rows go to the side on which the whole split scores better; if none is missing, the
    larger side is stored for later rows. Rows that go both ways are left out of the gain.
    """
    row = np.int64(0)
    left, total, by_class = scratch.left, scratch.total, settings.by_class
    known_totals(values, row, rows, n, n_stats, by_class, total)
    sum_left(values, row, rows, n, n_stats, by_class, threshold, is_level, left, row)
    left_weight = left[n_stats, 0]
    side = np.int64(left_weight + left_weight >= total[n_stats])
    additive = INFORMATION if is_entropy(settings.criterion) else settings.criterion
    scores = scratch.scores
    if settings.missing_both:
        one = np.int64(1)
        score_boundaries(left, total, n_stats, one, additive, settings.l2, _ONE, scores)
        return side, scores[0]
    any_missing = False
    for i in range(np.uint64(n)):
        any_missing |= values[np.uint64(0), i] != values[np.uint64(0), i]
    score_with_missing(rows, n_stats, additive, settings.l2, left, total, scores)
    if threshold == MISSING_ALONE:  # the known rows are on the left already
        return row, scores[0]
    if any_missing:
        side = np.int64(missing_goes_left(scores[0], scores[1]))
        return side, scores[side]
    return side, scores[0]
