"""Score arithmetic expressions of up to two operators, for classes or one number, without calls.

Most candidates of most nodes are of this kind, and most nodes have few rows: passing arguments
would take longer than the work. What is computed is the same as in `programs` and `split`.
"""

from __future__ import annotations

import numpy as np

from featurewright.engine.binning import LARGEST_KEY, key_value, order_key, value_range
from featurewright.engine.buffers import EXACT_ROWS, THRESHOLDS
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
from featurewright.engine.thresholds import (
    left_narrow,
    left_narrow_of_each,
    left_packed,
    left_packed_of_each,
    stratum_size,
    threshold_place,
)
from featurewright.expressions import builtin as op

OTHER = 0  # not of this kind
COLUMN = 1
ONE = 2  # x op y
TWO = 3  # x op y, one of which is itself the result of an operator
_INNER = -1  # stands for that result

_INT_MAX = np.int32(2**31 - 1)
_ZERO = np.float32(0.0)
_ALL = np.float32(1.0)
_INFINITE = np.float32(np.inf)
_NOWHERE = np.float32(np.nan)
_NEARLY = np.float32(1.0 - 1e-5)


@kernel(inline=True)
def applies_arithmetic(symbol):
    """Whether a symbol adds, subtracts, multiplies or divides."""
    return symbol < 0 and is_arithmetic(symbol_opcode(symbol))


@kernel
def note_form(programs, k, n_levels, forms):
    """Write down what a program computes: its kind, x, y, its operators, and the inner operands.

    `(a + b) / c` has x = _INNER, y = c and the inner operands a and b. Both operators share a
    number: that of the outer one plus four times that of the inner one.
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
    """Apply an arithmetic operator to two rows; give the smallest and largest key of the result."""
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
    """Evaluate an expression into a row of the buffer, and note its range; give the row.

    `state.missing` tells whether some value is missing.
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
    for first in range(0, tries, THRESHOLDS):
        if rows.summary.narrow:
            left_narrow_of_each(buffer, row, rows.narrow, rows.tried, first, n, rows.lefts)
        else:
            left_packed_of_each(buffer, row, rows.packed, rows.tried, first, n, rows.lefts)


@kernel(inline=True)
def entropy_of(packed, bits, n_stats):
    """Give the weight of packed classes, its x log2 x, and their entropy times the weight."""
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
    """Score one split by entropy from packed whole class weights left of it and in all.

    `entropy` is what `entropy_of` says of the total. The score is what the first number is divided
    by the second.
    """
    mask = (np.uint64(1) << bits) - np.uint64(1)
    # Two sums instead of one: an addition waits for the one before it.
    here, there, part = _ZERO, _ZERO, np.uint64(0)
    for _ in range(np.uint64(n_stats)):
        x = left & mask
        here += xlogx_whole(x)
        there += xlogx_whole((total & mask) - x)
        part += x
        left = left >> bits
        total = total >> bits
    weight, whole, base = entropy
    sides = xlogx_whole(part) + xlogx_whole(weight - part)
    return entropy_ratio(here + there, sides, base, whole, criterion)


@kernel(inline=True)
def parts_two(left, total, bits):
    """Tell whether a split of two packed classes leaves one of them on each side."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    first, second = left & mask, left >> bits
    return (first == np.uint64(0) and second == total >> bits) or (
        second == np.uint64(0) and first == total & mask
    )


@kernel(inline=True)
def is_quick(rows, n_stats, settings, many):
    """Tell whether rows can be scored by `score_quickly`: packed classes, or one number."""
    summary = rows.summary
    if settings.by_class:
        fits = summary.class_bits > 0 and is_entropy(settings.criterion)
    else:
        fits = n_stats == 1 and settings.criterion == SQUARES
    free = summary.min_rows == 1 and summary.min_weight <= _ZERO
    return fits and free and (settings.random_threshold or not many)


@kernel(inline=True)
def count_thresholds(n, settings, state):
    """Give the number of thresholds to try: one random one, or a few; none for a constant."""
    most = np.int64(2 * THRESHOLDS if n <= EXACT_ROWS else THRESHOLDS)
    tries = np.int64(1) if settings.random_threshold else min(n, most)
    return tries if state.low < state.high else np.int64(0)


@kernel(inline=True)
def choose_threshold(buffer, row, t, part, random, settings, state):
    """Choose the t-th threshold; NaN where it would leave nothing on the right."""
    if settings.random_threshold:
        spread = np.float64(state.high) - np.float64(state.low)
        drawn = np.float32(state.low + as_unit(random) * spread)
        return drawn if drawn < state.high else state.low
    value = state.low if t == 0 else buffer[row, threshold_place(t, part, random)]
    return value if value < state.high else _NOWHERE


@kernel(inline=True)
def choose_thresholds(buffer, row, n, tries, settings, tried, state):
    """Choose so many thresholds, and NaN for what eights of them lack."""
    random = next_bits(state)
    # Constants to divide by, because dividing by a variable costs as much as dozens of rows.
    part = stratum_size(n, np.int64(THRESHOLDS))
    if n <= EXACT_ROWS:
        part = stratum_size(n, np.int64(2 * THRESHOLDS))
    if tries == n:
        part = stratum_size(np.int64(1), np.int64(1))
    for t in range(tries):
        tried[t] = choose_threshold(buffer, row, t, part, random, settings, state)
    if tries > 1:
        for t in range(tries, 2 * THRESHOLDS):
            tried[t] = _NOWHERE


@kernel
def gain_of_missing_alone(
    known, left, total, bits, n_stats, entropy, criterion, is_split, best_so_far
):
    """Score parting missing rows from known ones; WORST where a threshold with them does as well.

    That is the one with `left` packed on its left, if there `is_split`, and the missing rows on
    either side.
    """
    missing = total - known
    if known == np.uint64(0) or missing == np.uint64(0):
        return WORST
    above, below = packed_ratio(known, total, bits, n_stats, entropy, criterion)
    alone = above / below
    if not alone > best_so_far:
        return WORST
    if is_split:
        above, below = packed_ratio(left, total, bits, n_stats, entropy, criterion)
        right = above / below
        above, below = packed_ratio(left + missing, total, bits, n_stats, entropy, criterion)
        if not missing_stands_alone(alone, right, above / below):
            return WORST
    return alone


@kernel(inline=True)
def score_classes(buffer, row, rows, n, n_stats, settings, best_so_far, state):
    """Score by the entropy of packed classes."""
    criterion, summary = settings.criterion, rows.summary
    bits, total = np.uint64(summary.class_bits), summary.sum_packed
    weight = np.uint64(rows.totals[n_stats])
    entropy = (weight, summary.weight_entropy, summary.class_entropy)
    known, share = total, _ALL
    part_entropy = entropy
    if state.missing:
        known = count_left(buffer, row, rows, _INFINITE, n)
        part_entropy = entropy_of(known, bits, n_stats)
        share = np.float32(part_entropy[0]) / np.float32(entropy[0])
    # The best score so far, as a ratio: comparing products is faster than dividing every time.
    above, below, left, chosen = -_ALL, _ZERO, np.uint64(0), _NOWHERE
    tries = count_thresholds(n, settings, state)
    choose_thresholds(buffer, row, n, tries, settings, rows.tried, state)
    count_left_of_each(buffer, row, rows, tries, n)
    for t in range(np.uint64(tries)):
        threshold, packed = rows.tried[t], np.uint64(rows.lefts[t])
        if threshold != threshold:
            continue
        gain, size = packed_ratio(packed, known, bits, n_stats, part_entropy, criterion)
        better = gain * below > above * size
        above, below = gain if better else above, size if better else below
        left, chosen = packed if better else left, threshold if better else chosen
    state.threshold = chosen
    score = WORST
    if below > _ZERO:
        score = above if criterion == INFORMATION else share * above / below
    if not state.missing:
        state.perfect = np.int64(n_stats == 2 and score > WORST and parts_two(left, total, bits))
    elif not settings.missing_both:
        alone = gain_of_missing_alone(
            known, left, total, bits, n_stats, entropy, criterion, score > WORST, best_so_far
        )
        if alone > WORST:
            score = alone
            state.threshold = MISSING_ALONE
            state.perfect = np.int64(n_stats == 2 and parts_two(known, total, bits))
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
def square_gain(x, part, total, weight, l2):
    """Give how much smaller the squared error is once a part of the weight with sum x is parted."""
    rest, y = weight - part, total - x
    if part <= _ZERO or rest <= _ZERO:
        return WORST
    return x * x / (part + l2) + y * y / (rest + l2) - total * total / (weight + l2)


@kernel(inline=True)
def score_number(buffer, row, rows, n, settings, best_so_far, state):
    """Score by the squared error of one number."""
    l2, all_total, all_weight = settings.l2, rows.totals[0], rows.totals[1]
    total, weight = all_total, all_weight
    score, left, part = WORST, _ZERO, _ZERO
    if state.missing:
        total, weight = sums_left(buffer, row, rows, _INFINITE, n)
    tries = count_thresholds(n, settings, state)
    choose_thresholds(buffer, row, n, tries, settings, rows.tried, state)
    for t in range(tries):
        threshold = rows.tried[t]
        if threshold != threshold:
            continue
        x, w = sums_left(buffer, row, rows, threshold, n)
        found = square_gain(x, w, total, weight, l2)
        if found > score:
            score, left, part = found, x, w
            state.threshold = threshold
    if not state.missing:
        # What is left is rounding: nothing can score higher.
        enough = _NEARLY * rows.summary.squared_deviations
        state.perfect = np.int64(score > _ZERO and score >= enough)
    elif weight > _ZERO and not settings.missing_both:
        alone = square_gain(total, weight, all_total, all_weight, l2)
        if alone > best_so_far:
            x, w = left + (all_total - total), part + (all_weight - weight)
            right = square_gain(left, part, all_total, all_weight, l2)
            if score == WORST or missing_stands_alone(
                alone, right, square_gain(x, w, all_total, all_weight, l2)
            ):
                score = alone
                state.threshold = MISSING_ALONE
    return score


@kernel(inline=True)
def score_quickly(buffer, row, rows, n, n_stats, settings, best_so_far, state):
    """Score values whose range is in the state: at a random threshold, or at a few.

    The same as `score_values`: missing values are left out, and parted from the others where that
    scores higher.
    """
    state.few = 1 - settings.random_threshold
    state.threshold = np.float32(np.nan)
    state.perfect = 0
    if settings.by_class:
        return score_classes(buffer, row, rows, n, n_stats, settings, best_so_far, state)
    return score_number(buffer, row, rows, n, settings, best_so_far, state)
