"""Score all raw columns of a node by histograms over bins that are chosen once for a fit.

Reading a byte for each row and column takes far less time than making bins of a node's values, and
of two siblings only the smaller one is read: the sums of the other are those of their parent minus
its own. The sums are whole numbers, so that this is exact, whatever the order of the rows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from featurewright.engine.boundaries import first_best, forbid_small
from featurewright.engine.buffers import HISTOGRAM_BINS, ColumnBins
from featurewright.engine.compiler import call_kernel, kernel, prefetch
from featurewright.engine.criteria import MISSING_ALONE, WORST, score_boundaries
from featurewright.engine.missing import missing_stands_alone, score_with_missing
from featurewright.engine.packed import largest_unit
from featurewright.engine.programs import ROWS_AHEAD, gather
from featurewright.engine.search import FROM_VALUES, RAW, record_score
from featurewright.expressions import opcodes as op

MAX_ROWS = 1 << 24  # whose count fits the lower bits of a sum
MAX_SUMS_BYTES = 1 << 26
_SAMPLE_ROWS = 200_000  # from which bins are chosen
_BLOCK_ROWS = 1 << 15  # whose packed sums fit one integer
_BLOCK_COLUMNS = 32  # whose packed sums fit a cache
_COUNT_BITS, _WEIGHT_BITS = np.int64(16), np.int64(24)  # of packed sums; the rest is the target's
_COUNT_MASK, _WEIGHT_MASK = np.int64((1 << 16) - 1), np.int64((1 << 24) - 1)
_ROWS_BITS, _ROWS_MASK = np.int64(24), np.int64((1 << 24) - 1)  # of counts, beside weights
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_HALF = np.float32(0.5)


def bin_columns(matrix: npt.NDArray[np.float32]) -> ColumnBins:
    """Put the values of every column into bins of about as many rows each.

    A value that is more frequent has a bin of its own; of few different values, each has.
    """
    n_rows, n_columns = matrix.shape
    sample = matrix[:: -(-n_rows // _SAMPLE_ROWS)]
    edges = np.full((n_columns, HISTOGRAM_BINS), np.inf, np.float32)
    counts = np.empty(n_columns, np.int64)
    for column in range(n_columns):
        found = _choose_edges(sample[:, column])
        edges[column, : len(found)] = found
        counts[column] = len(found) + 1
    codes = np.empty((n_rows, n_columns), np.uint8)
    encode(matrix, edges, codes)
    return ColumnBins(codes, edges, counts)


def _choose_edges(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the thresholds between the bins of one column: halfway between two values."""
    distinct, rows = np.unique(values[~np.isnan(values)], return_counts=True)
    last = np.arange(len(distinct) - 1)  # the last value of each bin but one
    if len(distinct) > HISTOGRAM_BINS:
        # A frequent value divides the bin that it would be in: it takes two bins from the others.
        frequent = rows * HISTOGRAM_BINS > 2 * rows.sum()
        others = np.where(frequent, 0, rows)
        n_bins = HISTOGRAM_BINS - 2 * np.count_nonzero(frequent)
        place = (np.cumsum(others) - others) * n_bins // max(1, others.sum())
        same = (np.diff(place) == 0) & ~frequent[1:] & ~frequent[:-1]
        last = np.flatnonzero(~same)
    below, above = distinct[last], distinct[last + 1]
    middle = (0.5 * (below.astype(np.float64) + above)).astype(np.float32)
    return np.where(middle < above, middle, below)


@kernel
def encode(matrix, edges, codes):
    """Write the bin of every value: the number of edges below it; the last code is missing."""
    for i in range(np.uint64(matrix.shape[0])):
        for column in range(np.uint64(matrix.shape[1])):
            x = matrix[i, column]
            place, step = np.uint64(0), np.uint64(128)
            while step > np.uint64(0):
                after = place + step
                place = after if edges[column, after - np.uint64(1)] < x else place
                step = step >> np.uint64(1)
            codes[i, column] = np.uint8(place if x == x else np.uint64(HISTOGRAM_BINS))


@kernel(inline=True)
def has_histograms(context):
    """Whether raw columns are scored by histograms."""
    return context.buffers.histograms.codes.shape[1] > 0


@kernel(inline=True)
def block_bound(total, squares, n):
    """Return a bound on the sum of absolute values of any block of rows."""
    most = np.float64(min(n, np.int64(_BLOCK_ROWS)))
    return np.float32(min(total, math.sqrt(most * squares)))


@kernel
def pack_target(target, row_ids, n, histograms):
    """Pack target, weight and a count of each row of the tree into one integer."""
    number, weight = 0.0, 0.0
    number_squares, weight_squares = 0.0, 0.0
    zero = np.uint64(0)
    for i in range(np.uint64(n)):
        row = np.uint64(row_ids[i])
        y, v = np.float64(target.sums[zero, row]), np.float64(target.weights[row])
        number += abs(y)
        weight += v
        number_squares += y * y
        weight_squares += v * v
    number_unit = largest_unit(block_bound(number, number_squares, n))
    weight_unit = largest_unit(block_bound(weight, weight_squares, n))
    histograms.units[0], histograms.units[1] = number_unit, weight_unit
    for i in range(np.uint64(n)):
        row = np.uint64(row_ids[i])
        x = np.int64(np.int32(math.floor(target.sums[zero, row] * number_unit + _HALF)))
        w = np.int64(np.int32(target.weights[row] * weight_unit + _HALF))
        histograms.packed[row] = (((x << _WEIGHT_BITS) + w) << _COUNT_BITS) + np.int64(1)


@kernel(inline=False)
def fill_slot(histograms, row_ids, start, n, slot):
    """Compute the sums of some rows."""
    codes, packed, block = histograms.codes, histograms.packed, histograms.block
    n_columns, n_codes = np.uint64(block.shape[0]), np.uint64(block.shape[1])
    at, zero, one = np.uint64(slot), np.uint64(0), np.uint64(1)
    for begin in range(0, n, _BLOCK_ROWS):
        size = min(n - begin, _BLOCK_ROWS)
        first, last = np.uint64(start + begin), np.uint64(start + begin + size)
        for column in range(zero, n_columns, np.uint64(_BLOCK_COLUMNS)):
            stop = min(column + np.uint64(_BLOCK_COLUMNS), n_columns)
            for c in range(column, stop):
                for b in range(n_codes):
                    block[c, b] = np.int64(0)
            for i in range(first, last):
                # Rows that are far from each other would be waited for one after the other.
                ahead = np.uint64(row_ids[min(i + ROWS_AHEAD, last - np.uint64(1))])
                prefetch(codes, ahead)
                prefetch(packed, ahead)
                row = np.uint64(row_ids[i])
                value = packed[row]
                for c in range(column, stop):
                    block[c, codes[row, c]] += value
            for c in range(column, stop):
                for b in range(n_codes):
                    x = block[c, b]
                    number = x >> (_COUNT_BITS + _WEIGHT_BITS)
                    weight = ((x >> _COUNT_BITS) & _WEIGHT_MASK) << _ROWS_BITS
                    weight += x & _COUNT_MASK
                    if begin == 0:
                        histograms.sums[at, zero, c, b] = number
                        histograms.sums[at, one, c, b] = weight
                    else:
                        histograms.sums[at, zero, c, b] += number
                        histograms.sums[at, one, c, b] += weight


@kernel(inline=True)
def take_slot(histograms):
    """Return a free slot."""
    free = histograms.free
    slot = free[free[0]]
    free[0] -= 1
    return slot


@kernel(inline=True)
def release_slot(histograms, node):
    """Free the slot of a node, if it has one."""
    free, slot = histograms.free, histograms.slots[node]
    if slot >= 0:
        free[0] += 1
        free[free[0]] = slot
        histograms.slots[node] = -1


@kernel(inline=True)
def begin_histograms(context):
    """Compute the sums of a tree's root."""
    histograms, tree = context.buffers.histograms, context.tree
    n_slots = np.int64(histograms.sums.shape[0])
    histograms.free[0] = n_slots
    for k in range(n_slots):
        histograms.free[1 + k] = k
    pack_target(context.target, context.row_ids, tree.size[0], histograms)
    slot = take_slot(histograms)
    histograms.slots[0] = slot
    fill_slot(histograms, context.row_ids, tree.start[0], tree.size[0], slot)


@kernel(inline=True)
def divide_histograms(context, node, first):
    """Compute the sums of a node's children, of which the second follows the first.

    A child that is too small to be split needs none.
    """
    histograms, tree, row_ids = context.buffers.histograms, context.tree, context.row_ids
    slots, settings = histograms.slots, context.settings
    least = max(settings.min_split, 2 * settings.min_rows)
    small, large = first, first + 1
    if tree.size[large] < tree.size[small]:
        small, large = large, small
    slots[small], slots[large] = np.int64(-1), np.int64(-1)
    if slots[node] < 0 or tree.size[large] < least:
        release_slot(histograms, node)
        return
    slot, kept = take_slot(histograms), slots[node]
    fill_slot(histograms, row_ids, tree.start[small], tree.size[small], slot)
    subtract_slot(histograms.sums, kept, slot)
    slots[large], slots[node], slots[small] = kept, np.int64(-1), slot
    if tree.size[small] < least:
        release_slot(histograms, small)


@kernel(inline=True)
def subtract_slot(sums, slot, other):
    """Subtract the sums of another slot."""
    a, b = np.uint64(slot), np.uint64(other)
    for plane in range(np.uint64(2)):
        for c in range(np.uint64(sums.shape[2])):
            for k in range(np.uint64(sums.shape[3])):
                sums[a, plane, c, k] -= sums[b, plane, c, k]


@kernel(inline=True)
def read_slot(histograms, slot, column):
    """Store the sums up to each bin and those of all known rows; return the missing rows."""
    at, c, n_bins = np.uint64(slot), np.uint64(column), histograms.counts[column]
    sums, left, total = histograms.sums, histograms.left, histograms.total
    first, second, third = np.uint64(0), np.uint64(1), np.uint64(2)
    number_unit, weight_unit = _ONE / histograms.units[0], _ONE / histograms.units[1]
    number, weight = np.int64(0), np.int64(0)
    for b in range(np.uint64(n_bins)):
        number += sums[at, first, c, b]
        weight += sums[at, second, c, b]
        left[first, b] = np.float32(number) * number_unit
        left[second, b] = np.float32(weight >> _ROWS_BITS) * weight_unit
        left[third, b] = np.float32(weight & _ROWS_MASK)
    for p in range(3):
        total[p] = left[p, n_bins - 1]
    return sums[at, second, c, np.uint64(HISTOGRAM_BINS)] & _ROWS_MASK


@kernel(inline=False)
def score_column(histograms, slot, column, rows, settings, best_so_far, state):
    """Score a column by all boundaries between bins; store the best threshold in the state.

    Where values are missing, the split between them and the known ones is scored too, as in
    `split.score_values`.
    """
    left, total, scores = histograms.left, histograms.total, histograms.scores
    criterion, l2, one = settings.criterion, settings.l2, np.int64(1)
    missing, n_bins = read_slot(histograms, slot, column), histograms.counts[column]
    state.missing, state.perfect, state.few_thresholds = np.int64(missing > 0), 0, 0
    score_boundaries(left, total, one, n_bins, criterion, l2, _ONE, scores)
    score = forbid_small(left, total, one, rows.summary, n_bins, scores)
    boundary = np.int64(0)
    if score > WORST:
        boundary = first_best(scores, score, n_bins)
        state.threshold = histograms.edges[column, boundary]
    if missing == 0 or settings.missing_both:
        return score
    known, known_weight = total[2], total[1]
    summary = rows.summary
    fewest = np.float32(summary.min_rows)
    enough = known >= fewest and np.float32(missing) >= fewest
    missing_weight = rows.totals[1] - known_weight
    if not enough or min(known_weight, missing_weight) <= summary.min_weight:
        return score
    x, w = left[0, boundary], left[1, boundary]
    left[0, 0], left[1, 0] = total[0], known_weight
    score_boundaries(left, rows.totals, one, one, criterion, l2, _ONE, scores)
    alone = scores[0]
    if not alone > best_so_far:
        return score
    if score > WORST:
        left[0, 0], left[1, 0] = x, w
        score_with_missing(rows, one, criterion, l2, left, total, scores)
        if not missing_stands_alone(alone, scores[0], scores[1]):
            return score
    state.threshold = MISSING_ALONE
    return alone


@kernel(inline=True)
def score_values_of(context, column, start, n, n_stats):
    """Score a raw column by bins of the node's own."""
    zero, how, values = np.int64(0), FROM_VALUES | RAW, context.buffers.evaluation.values
    programs = context.buffers.candidates.programs
    programs[0, 0] = column
    gather(context.columns, column, context.row_ids, start, n, values, zero)
    call_kernel(context.settings.scorer, (context, programs, zero, zero, how, n, n_stats))


@kernel
def search_histograms(context, node, start, n, n_stats):
    """Score all raw columns: numbers by the node's sums, categories by their levels.

    The best number is scored again by bins of the node's own, which are finer in small nodes.
    """
    settings, state, buffers = context.settings, context.state, context.buffers
    candidate_scores, histograms = buffers.candidate_scores, buffers.histograms
    programs, zero = buffers.candidates.programs, np.int64(0)
    slot = histograms.slots[node]
    for d in range(programs.shape[1]):
        programs[0, d] = op.END
    best_number = np.int64(-1)
    for column in range(np.int64(context.columns.shape[0])):
        best = state.best_score
        if context.grammar.n_levels[column] > 0:
            score_values_of(context, column, start, n, n_stats)
            number = np.int64(-1)
        else:
            programs[0, 0] = column
            score = score_column(histograms, slot, column, context.rows, settings, best, state)
            record_score(programs, zero, zero, score, zero, candidate_scores, state)
            number = np.int64(column)
        if state.best_score != best:
            best_number = number
    if best_number >= 0:
        score_values_of(context, best_number, start, n, n_stats)
        state.is_evaluated = 1
