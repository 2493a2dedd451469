"""Score arithmetic expressions of up to two operators, for classes or one target, without calls.

Most candidates are of this kind and most nodes have few rows, so that passing arguments would take
longer than the computation. The results are those of `programs` and `split`.
"""

from __future__ import annotations

import numpy as np

from featurewright.engine.binning import LARGEST_KEY, key_value, order_key, value_range
from featurewright.engine.buffers import MAX_EXACT_ROWS, N_THRESHOLDS
from featurewright.engine.compiler import kernel
from featurewright.engine.criteria import (
    INFORMATION,
    MISSING_ALONE,
    SQUARES,
    WORST,
    entropy_ratio,
    is_entropy,
    xlogx_whole,
)
from featurewright.engine.missing import missing_stands_alone
from featurewright.engine.operators import apply_two, is_arithmetic, symbol_opcode
from featurewright.engine.programs import combine, padded, program_length
from featurewright.engine.random import as_unit, next_bits
from featurewright.engine.sums import (
    left_narrow,
    left_narrow_of_each,
    left_packed,
    left_packed_of_each,
    stratum_size,
    threshold_place,
)
from featurewright.expressions import builtin as op

OTHER = 0  # any other program
COLUMN = 1
ONE = 2  # x op y
TWO = 3  # x op y, one of which is itself the result of an operator
_INNER = -1  # in place of x or y: the inner result

_INT_MAX = np.int32(2**31 - 1)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_INFINITE = np.float32(np.inf)
_NO_THRESHOLD = np.float32(np.nan)
_PERFECT_SHARE = np.float32(1.0 - 1e-5)


@kernel(inline=True)
def applies_arithmetic(symbol):
    """Whether a symbol adds, subtracts, multiplies or divides."""
    return symbol < 0 and is_arithmetic(symbol_opcode(symbol))


@kernel
def record_form(programs, k, n_levels, forms):
    """Describe a program by its kind, x, y, its operators, and the inner operands.

    `(a + b) / c` has x = _INNER, y = c and the inner operands a and b. The two operators are one
    integer: the outer opcode plus four times the inner opcode.
    """
    form = forms[k]
    length = program_length(programs, k)
    form[0] = OTHER
    if length == 1 and n_levels[programs[k, 0]] == 0:
        form[0] = COLUMN
        form[1] = programs[k, 0]
    elif length == 3 and applies_arithmetic(programs[k, 2]):
        form[0] = ONE
        form[1] = programs[k, 0]
        form[2] = programs[k, 1]
        form[3] = -1 - programs[k, 2]
    elif length == 5 and applies_arithmetic(programs[k, 4]):
        if applies_arithmetic(programs[k, 2]):  # a b op c op
            form[0] = TWO
            form[1] = _INNER
            form[2] = programs[k, 3]
            form[3] = (-1 - programs[k, 4]) + 4 * (-1 - programs[k, 2])
            form[4] = programs[k, 0]
            form[5] = programs[k, 1]
        elif applies_arithmetic(programs[k, 3]):  # a b c op op
            form[0] = TWO
            form[1] = programs[k, 0]
            form[2] = _INNER
            form[3] = (-1 - programs[k, 4]) + 4 * (-1 - programs[k, 3])
            form[4] = programs[k, 1]
            form[5] = programs[k, 2]


@kernel(inline=True)
def combine_and_span(opcode, buffer, x, y, out, n):
    """Apply an arithmetic operator to two rows; return the smallest and largest order key."""
    x, y, out = np.uint64(x), np.uint64(y), np.uint64(out)
    low = _INT_MAX
    high = np.int32(-_INT_MAX)
    if opcode == op.ADD:
        for i in range(np.uint64(n)):
            value = apply_two(op.ADD, buffer[x, i], buffer[y, i])
            buffer[out, i] = value
            key = order_key(value)
            low, high = min(low, key), max(high, key)
    elif opcode == op.SUB:
        for i in range(np.uint64(n)):
            value = apply_two(op.SUB, buffer[x, i], buffer[y, i])
            buffer[out, i] = value
            key = order_key(value)
            low, high = min(low, key), max(high, key)
    elif opcode == op.MUL:
        for i in range(np.uint64(n)):
            value = apply_two(op.MUL, buffer[x, i], buffer[y, i])
            buffer[out, i] = value
            key = order_key(value)
            low, high = min(low, key), max(high, key)
    else:
        for i in range(np.uint64(n)):
            value = apply_two(op.DIV, buffer[x, i], buffer[y, i])
            buffer[out, i] = value
            key = order_key(value)
            low, high = min(low, key), max(high, key)
    return low, high


@kernel(inline=True)
def run_form(forms, p, buffer, n_columns, n, state):
    """Evaluate an expression into a row of the buffer and store its range; return the row.

    `state.missing` is set to whether some value is missing.
    """
    lanes = padded(n)
    kind = np.int64(forms[p, 0])
    x, y = np.int64(forms[p, 1]), np.int64(forms[p, 2])
    row = n_columns + 1
    if kind == COLUMN:
        row = x
        at = np.uint64(x)
        low = _INT_MAX
        high = np.int32(-_INT_MAX)
        for i in range(np.uint64(lanes)):
            key = order_key(buffer[at, i])
            low, high = min(low, key), max(high, key)
    else:
        operators = np.int64(forms[p, 3])
        if kind == TWO:
            combine(
                operators >> 2,
                buffer,
                np.int64(forms[p, 4]),
                np.int64(forms[p, 5]),
                n_columns,
                lanes,
            )
            x = n_columns if x == _INNER else x
            y = n_columns if y == _INNER else y
        low, high = combine_and_span(operators & 3, buffer, x, y, row, lanes)
    # A NaN's key lies beyond every finite key, at the end that its sign bit chooses.
    if high > LARGEST_KEY or low < -LARGEST_KEY - 1:
        state.missing = np.int64(value_range(buffer, row, n, state))
    else:
        state.missing = 0
        state.low, state.high = key_value(low), key_value(high)
    return row


@kernel(inline=True)
def count_left(buffer, row, rows, threshold, n):
    """Sum the packed class weights left of a threshold."""
    if rows.summary.narrow:
        return left_narrow(buffer, row, rows.narrow, threshold, n)
    return np.uint64(left_packed(buffer, row, rows.packed, threshold, n))


@kernel(inline=True)
def count_left_of_each(buffer, row, rows, tries, n):
    """Sum the packed class weights left of each threshold tried."""
    if tries == 1:
        rows.lefts[0] = np.int64(count_left(buffer, row, rows, rows.tried[0], n))
        return
    for first in range(0, tries, N_THRESHOLDS):
        if rows.summary.narrow:
            left_narrow_of_each(buffer, row, rows.narrow, rows.tried, first, n, rows.lefts)
        else:
            left_packed_of_each(buffer, row, rows.packed, rows.tried, first, n, rows.lefts)


@kernel(inline=True)
def entropy_of(packed, bits, n_stats):
    """Return the weight of packed classes, its x log2 x, and their entropy times the weight."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    weight = np.uint64(0)
    within = _ZERO
    for _ in range(np.uint64(n_stats)):
        within += xlogx_whole(packed & mask)
        weight += packed & mask
        packed = packed >> bits
    whole = xlogx_whole(weight)
    return weight, whole, whole - within


@kernel(inline=True)
def packed_ratio(left, total, bits, n_stats, entropy, criterion):
    """Return numerator and denominator of a split's entropy score from packed class weights.

    `left` holds the weights left of the split and `total` those of both sides; `entropy` is
    `entropy_of` the total.
    """
    mask = (np.uint64(1) << bits) - np.uint64(1)
    # Two sums instead of one, because an addition waits for the one before it.
    left_terms, right_terms, left_weight = _ZERO, _ZERO, np.uint64(0)
    for _ in range(np.uint64(n_stats)):
        x = left & mask
        left_terms += xlogx_whole(x)
        right_terms += xlogx_whole((total & mask) - x)
        left_weight += x
        left = left >> bits
        total = total >> bits
    weight, whole, base = entropy
    sides = xlogx_whole(left_weight) + xlogx_whole(weight - left_weight)
    return entropy_ratio(left_terms + right_terms, sides, base, whole, criterion)


@kernel(inline=True)
def separates_packed(left, total, bits):
    """Whether a split of two packed classes leaves one of them on each side."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    first, second = left & mask, left >> bits
    return (first == np.uint64(0) and second == total >> bits) or (
        second == np.uint64(0) and first == total & mask
    )


@kernel(inline=True)
def takes_fast_path(rows, n_stats, settings, many):
    """Whether `score_fast` can score the rows: packed classes or one target, no split limits."""
    summary = rows.summary
    if settings.by_class:
        fits = summary.class_bits > 0 and is_entropy(settings.criterion)
    else:
        fits = n_stats == 1 and settings.criterion == SQUARES
    free = summary.min_rows == 1 and summary.min_weight <= _ZERO and not settings.cut_cost
    return fits and free and (settings.random_threshold or not many)


@kernel(inline=True)
def count_thresholds(n, settings, state):
    """Return the number of thresholds to try: one if random, else a few; 0 for a constant."""
    most = np.int64(2 * N_THRESHOLDS if n <= MAX_EXACT_ROWS else N_THRESHOLDS)
    tries = np.int64(1) if settings.random_threshold else min(n, most)
    return tries if state.low < state.high else np.int64(0)


@kernel(inline=True)
def choose_threshold(buffer, row, t, stratum, random, settings, state):
    """Return the t-th threshold; NaN if it would leave nothing on the right."""
    if settings.random_threshold:
        spread = np.float64(state.high) - np.float64(state.low)
        drawn = np.float32(state.low + as_unit(random) * spread)
        return drawn if drawn < state.high else state.low
    value = state.low if t == 0 else buffer[row, threshold_place(t, stratum, random)]
    return value if value < state.high else _NO_THRESHOLD


@kernel(inline=True)
def choose_thresholds(buffer, row, n, tries, settings, tried, state):
    """Choose `tries` thresholds; fill the rest of the array, which is read in eights, with NaN."""
    random = next_bits(state)
    # Division by a constant: division by a variable costs as much as dozens of rows.
    stratum = stratum_size(n, np.int64(N_THRESHOLDS))
    if n <= MAX_EXACT_ROWS:
        stratum = stratum_size(n, np.int64(2 * N_THRESHOLDS))
    if tries == n:
        stratum = stratum_size(np.int64(1), np.int64(1))
    for t in range(tries):
        tried[t] = choose_threshold(buffer, row, t, stratum, random, settings, state)
    if tries > 1:
        for t in range(tries, 2 * N_THRESHOLDS):
            tried[t] = _NO_THRESHOLD


@kernel
def gain_of_missing_alone(
    known, left, total, bits, n_stats, entropy, criterion, is_split, best_so_far
):
    """Score the split between known and missing rows; WORST if the threshold's split is as good.

    That one, if there `is_split`, has the packed weights `left` on its left and the missing rows on
    either side.
    """
    missing = total - known
    if known == np.uint64(0) or missing == np.uint64(0):
        return WORST
    numerator, denominator = packed_ratio(known, total, bits, n_stats, entropy, criterion)
    alone = numerator / denominator
    if not alone > best_so_far:
        return WORST
    if is_split:
        numerator, denominator = packed_ratio(left, total, bits, n_stats, entropy, criterion)
        right = numerator / denominator
        numerator, denominator = packed_ratio(
            left + missing, total, bits, n_stats, entropy, criterion
        )
        if not missing_stands_alone(alone, right, numerator / denominator):
            return WORST
    return alone


@kernel(inline=True)
def score_classes(buffer, row, rows, n, n_stats, settings, best_so_far, state):
    """Score a candidate by the entropy of packed classes."""
    criterion, summary = settings.criterion, rows.summary
    bits, total = np.uint64(summary.class_bits), summary.sum_packed
    weight = np.uint64(rows.totals[n_stats])
    entropy = (weight, summary.weight_entropy, summary.class_entropy)
    known, share = total, _ONE
    known_entropy = entropy
    if state.missing:
        known = count_left(buffer, row, rows, _INFINITE, n)
        known_entropy = entropy_of(known, bits, n_stats)
        share = np.float32(known_entropy[0]) / np.float32(entropy[0])
    # The best score so far is kept as a ratio: comparing products is faster than dividing.
    best_numerator, best_denominator, left, chosen = -_ONE, _ZERO, np.uint64(0), _NO_THRESHOLD
    tries = count_thresholds(n, settings, state)
    choose_thresholds(buffer, row, n, tries, settings, rows.tried, state)
    count_left_of_each(buffer, row, rows, tries, n)
    for t in range(np.uint64(tries)):
        threshold, packed = rows.tried[t], np.uint64(rows.lefts[t])
        if threshold != threshold:
            continue
        numerator, denominator = packed_ratio(
            packed, known, bits, n_stats, known_entropy, criterion
        )
        better = numerator * best_denominator > best_numerator * denominator
        best_numerator, best_denominator = (
            numerator if better else best_numerator,
            denominator if better else best_denominator,
        )
        left, chosen = packed if better else left, threshold if better else chosen
    state.threshold = chosen
    score = WORST
    if best_denominator > _ZERO:
        score = (
            best_numerator
            if criterion == INFORMATION
            else share * best_numerator / best_denominator
        )
    if not state.missing:
        state.perfect = np.int64(
            n_stats == 2 and score > WORST and separates_packed(left, total, bits)
        )
    elif not settings.missing_both:
        alone = gain_of_missing_alone(
            known, left, total, bits, n_stats, entropy, criterion, score > WORST, best_so_far
        )
        if alone > WORST:
            score = alone
            state.threshold = MISSING_ALONE
            state.perfect = np.int64(n_stats == 2 and separates_packed(known, total, bits))
    return score


@kernel(inline=True)
def sums_left(buffer, row, rows, threshold, n):
    """Sum the target and the weight left of a threshold."""
    at, first, second = np.uint64(row), np.uint64(0), np.uint64(1)
    total, weight = _ZERO, _ZERO
    for i in range(np.uint64(padded(n))):
        goes = buffer[at, i] <= threshold
        y, w = rows.weights[first, i], rows.weights[second, i]
        total += y if goes else _ZERO
        weight += w if goes else _ZERO
    return total, weight


@kernel(inline=True)
def square_gain(x, left_weight, total, weight, l2):
    """Return the decrease of squared error by a split with sum x and `left_weight` on the left."""
    right_weight, y = weight - left_weight, total - x
    if left_weight <= _ZERO or right_weight <= _ZERO:
        return WORST
    return x * x / (left_weight + l2) + y * y / (right_weight + l2) - total * total / (weight + l2)


@kernel(inline=True)
def score_number(buffer, row, rows, n, settings, best_so_far, state):
    """Score a candidate by the squared error of one target column."""
    l2, all_total, all_weight = settings.l2, rows.totals[0], rows.totals[1]
    total, weight = all_total, all_weight
    score, left_total, left_weight = WORST, _ZERO, _ZERO
    if state.missing:
        total, weight = sums_left(buffer, row, rows, _INFINITE, n)
    tries = count_thresholds(n, settings, state)
    choose_thresholds(buffer, row, n, tries, settings, rows.tried, state)
    for t in range(tries):
        threshold = rows.tried[t]
        if threshold != threshold:
            continue
        x, w = sums_left(buffer, row, rows, threshold, n)
        gain = square_gain(x, w, total, weight, l2)
        if gain > score:
            score, left_total, left_weight = gain, x, w
            state.threshold = threshold
    if not state.missing:
        # The remaining error is rounding: nothing can score higher.
        enough = _PERFECT_SHARE * rows.summary.squared_deviations
        state.perfect = np.int64(score > _ZERO and score >= enough)
    elif weight > _ZERO and not settings.missing_both:
        alone = square_gain(total, weight, all_total, all_weight, l2)
        if alone > best_so_far:
            x, w = left_total + (all_total - total), left_weight + (all_weight - weight)
            right = square_gain(left_total, left_weight, all_total, all_weight, l2)
            if score == WORST or missing_stands_alone(
                alone, right, square_gain(x, w, all_total, all_weight, l2)
            ):
                score = alone
                state.threshold = MISSING_ALONE
    return score


@kernel(inline=True)
def score_fast(buffer, row, rows, n, n_stats, settings, best_so_far, state):
    """Score values whose range is in the state, at one random threshold or at a few.

    As in `score_values`, missing values are left out, and the split between known and missing
    values is chosen if it scores higher.
    """
    state.few_thresholds = 1 - settings.random_threshold
    state.threshold = np.float32(np.nan)
    state.perfect = 0
    if settings.by_class:
        return score_classes(buffer, row, rows, n, n_stats, settings, best_so_far, state)
    return score_number(buffer, row, rows, n, settings, best_so_far, state)
