"""Assign a candidate's values to bins: exact ranks for few rows, a clipped range for many."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import MAX_BINS, SAMPLE_ROWS
from featurewright.engine.compiler import bits_float, float_bits, kernel
from featurewright.engine.programs import padded

QUARTERS_MIN_ROWS = 128  # from this many rows on, four partial histograms are summed
_MAX_DISTANCE_RANGES = np.float32(16.0)  # clipping distance, in ranges of the sample
# A wider range has long tails; that of normal values is about ten mean deviations wide.
_LONG_TAIL_DEVIATIONS = np.float32(12.0)

_INT_MAX = np.int32(2**31 - 1)
LARGEST_KEY = np.int32(0x7F7FFFFF)  # the key of the largest finite float32
_INFINITY_KEY = np.int32(0x7F800000)  # the keys of the infinities
_MINUS_INFINITY_KEY = np.int32(-0x7F800001)
_INFINITE = np.float32(np.inf)
_MIN_WIDTH = np.float32(1e-30)  # smaller widths are not divided by
_BITS_OF_ONE = np.int32(0x3F800000)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)


@kernel
def order_key(x):
    """Map a float32 to an int32 of the same order, so that minima and maxima vectorise."""
    bits = float_bits(x)
    return np.int32(bits ^ np.int32((bits >> np.int32(31)) & _INT_MAX))


@kernel
def key_value(key):
    """Return the float32 of an order key."""
    return bits_float(np.int32(key ^ np.int32((key >> np.int32(31)) & _INT_MAX)))


@kernel
def value_range(values, row, n, state):
    """Store the smallest and largest known value; return whether any is missing."""
    row = np.uint64(row)
    low = _INT_MAX
    high = np.int32(-_INT_MAX)
    for i in range(np.uint64(padded(n))):
        key = order_key(values[row, i])
        low = min(low, key)
        high = max(high, key)
    # A NaN's key lies beyond every finite key, at the end that its sign bit chooses.
    if high > LARGEST_KEY or low < -LARGEST_KEY - 1:
        low, high = _INFINITY_KEY, _MINUS_INFINITY_KEY
        for i in range(np.uint64(padded(n))):
            x = values[row, i]
            key = order_key(x)
            low = min(low, key if x == x else _INT_MAX)
            high = max(high, key if x == x else np.int32(-_INT_MAX))
        state.low, state.high = key_value(low), key_value(high)
        return True
    state.low, state.high = key_value(low), key_value(high)
    return False


@kernel
def rank_codes(values, row, n, missing, ranks, codes):
    """Code each value by the number of smaller ones; equal values share a code.

    Counting is quadratic but branch-free and vectorised: below about a hundred rows it beats any
    comparison sort by far.
    """
    row, rows = np.uint64(row), np.uint64(padded(n))
    for i in range(rows):
        ranks[i] = 0
    for j in range(np.uint64(n)):
        x = values[row, j]
        for i in range(rows):
            ranks[i] += np.int32(values[row, i] > x)
    for i in range(rows):
        x = values[row, i]
        codes[i] = np.uint8(np.int32(ranks[i]) if x == x else np.int32(missing))


@kernel
def clipped_range(values, row, n, state):
    """Store the range of the values, clipped near a small sample; return whether any is missing.

    Tails get bins of their own, since a class may occur only there, but one enormous ratio would
    put nearly all other rows into one bin. Values beyond the range share the outermost bins.
    """
    missing = value_range(values, row, n, state)
    at, step = np.uint64(row), n // SAMPLE_ROWS
    low = next_low = _INFINITE
    high = next_high = -_INFINITE
    for i in range(SAMPLE_ROWS):
        x = values[at, np.uint64(i * step)]
        if x < low:
            low, next_low = x, low
        elif x < next_low:
            next_low = x
        if x > high:
            high, next_high = x, high
        elif x > next_high:
            next_high = x
    if next_low < next_high:
        reach = _MAX_DISTANCE_RANGES * (next_high - next_low)
        state.low = max(state.low, next_low - reach)
        state.high = min(state.high, next_high + reach)
    return missing


@kernel
def range_codes(values, row, n, low, high, n_bins, codes):
    """Code each value by its bin of equal width; values outside the range go to the end bins."""
    row = np.uint64(row)
    scale = np.float32(n_bins / max(np.float64(high) - np.float64(low), 1e-45))
    last = np.float32(n_bins - 1)
    missing = np.float32(n_bins)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        place = (x - low) * scale
        place = max(min(place, last), _ZERO)
        codes[i] = np.uint8(np.int32(place if x == x else missing))


@kernel
def find_mass(values, row, n, state):
    """Whether most of a sample lies in a small part of the range; store its center and width.

    The mean and the mean absolute deviation are computed again, three times, from the values within
    one deviation of the mean: they converge to where most values are.
    """
    at, step = np.uint64(row), n // SAMPLE_ROWS
    low, high = state.low, state.high
    center, width, first = _ZERO, _ZERO, _ZERO
    for turn in range(4):
        total, count = _ZERO, _ZERO
        for i in range(SAMPLE_ROWS):
            x = values[at, np.uint64(i * step)]
            inside = (x >= low) & (x <= high) & ((turn == 0) | (abs(x - center) <= width))
            total += x if inside else _ZERO
            count += _ONE if inside else _ZERO
        if count == _ZERO:
            break
        mean, deviation = total / count, _ZERO
        for i in range(SAMPLE_ROWS):
            x = values[at, np.uint64(i * step)]
            inside = (x >= low) & (x <= high) & ((turn == 0) | (abs(x - center) <= width))
            deviation += abs(x - mean) if inside else _ZERO
        deviation /= count
        if not _ZERO < deviation < _INFINITE:
            break
        center, width = mean, deviation
        if turn == 0:
            first = deviation
            if high - low < _LONG_TAIL_DEVIATIONS * first:
                return False
    state.center, state.width = center, width
    return width > _MIN_WIDTH


@kernel(inline=True)
def squash(x, center, scale):
    """Compress distances from the center approximately to their logarithms.

    The bits of a float, read as an integer, are a piecewise linear logarithm: exact at powers of
    two and accurate enough for bins.
    """
    size = np.float32(np.int32(float_bits(_ONE + abs(x - center) * scale) - _BITS_OF_ONE))
    return size if x > center else -size


@kernel
def tail_codes(values, row, n, state, n_bins, codes):
    """Code each value by its bin of equal width after `squash`, as `range_codes` does."""
    row = np.uint64(row)
    center, near = state.center, _ONE / state.width
    low = squash(state.low, center, near)
    scale = np.float32(n_bins) / max(squash(state.high, center, near) - low, _ONE)
    last = np.float32(n_bins - 1)
    missing = np.float32(n_bins)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        place = (squash(x, center, near) - low) * scale
        place = max(min(place, last), _ZERO)
        codes[i] = np.uint8(np.int32(place if x == x else missing))


@kernel
def key_codes(values, row, n, low, high, n_bins, codes):
    """Code each value by its bin of equal width in order keys, as `range_codes` does.

    There are finitely many floats between two floats: dividing a range repeatedly isolates single
    values, however long its tails.
    """
    row = np.uint64(row)
    first = np.int64(order_key(low))
    scale = np.float64(n_bins) / np.float64(np.int64(order_key(high)) - first + 1)
    last = np.int64(n_bins - 1)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        place = np.int64(np.float64(np.int64(order_key(x)) - first) * scale)
        place = min(max(place, np.int64(0)), last)
        codes[i] = np.uint8(place if x == x else np.int64(n_bins))


@kernel
def bin_edges(values, row, n, codes, bin_number, state):
    """Store the range of the bins beside a boundary; return whether it can be divided again."""
    at = np.uint64(row)
    left, right = np.int32(-1), np.int32(MAX_BINS)
    for i in range(np.uint64(n)):
        code = np.int32(codes[i])
        known = values[at, i] == values[at, i]
        left = max(left, code if known and code <= bin_number else np.int32(-1))
        right = min(right, code if known and code > bin_number else np.int32(MAX_BINS))
    low, high = _INFINITE, -_INFINITE
    below, above = -_INFINITE, _INFINITE
    for i in range(np.uint64(n)):
        x = values[at, i]
        code = np.int32(codes[i])
        if code == left:
            low, below = min(low, x), max(below, x)
        elif code == right:
            above, high = min(above, x), max(high, x)
    state.low, state.high = low, high
    return low < below or above < high


@kernel
def level_codes(values, row, n, first_level, n_bins, codes):
    """Code each category level in a window of levels by its own bin, the others by the last."""
    row = np.uint64(row)
    other = np.float32(n_bins - 1)
    first = np.float32(first_level)
    missing = np.int32(n_bins)
    for i in range(np.uint64(n)):
        x = values[row, i]
        place = x - first
        place = place if (place >= _ZERO) & (place < other) else other
        codes[i] = np.uint8(np.int32(place) if x == x else missing)


@kernel(inline=True)
def has_code(codes, n, code):
    """Whether any of the codes is the given one."""
    present = np.int64(0)
    for i in range(np.uint64(n)):
        present |= np.int64(codes[i] == code)
    return present


@kernel
def add_to_bins(codes, weights, start, stop, bins, n_bins, spare):
    """Add the weights of some rows to the bins of their codes, including the bin of missing values.

    Many rows go to four histograms in turn, three of them in `spare`: where rows share a bin, as
    zeros do, each addition would wait for the one before it.
    """
    first, last = np.uint64(start), np.uint64(stop)
    if stop - start >= QUARTERS_MIN_ROWS:
        quarter = np.uint64((stop - start) // 4)
        second, third = first + quarter, first + quarter + quarter
        fourth = third + quarter
        a, b, c = np.uint64(0), np.uint64(1), np.uint64(2)
        for k in range(np.uint64(n_bins + 1)):
            spare[a, k] = 0
            spare[b, k] = 0
            spare[c, k] = 0
        for i in range(quarter):
            bins[codes[first + i]] += weights[first + i]
            spare[a, codes[second + i]] += weights[second + i]
            spare[b, codes[third + i]] += weights[third + i]
            spare[c, codes[fourth + i]] += weights[fourth + i]
        for k in range(np.uint64(n_bins + 1)):
            bins[k] += (spare[a, k] + spare[b, k]) + spare[c, k]
        first = fourth + quarter
    for i in range(first, last):
        bins[codes[i]] += weights[i]


@kernel
def accumulate(histogram, r, n_bins):
    """Turn a histogram row into running sums; return its total. `n_bins` is a multiple of four.

    Four quarters are summed side by side, because each addition waits for the one before it.
    """
    r = np.uint64(r)
    quarter = np.uint64(n_bins // 4)
    second, third = quarter, quarter + quarter
    fourth = third + quarter
    a, b, c, d = _ZERO, _ZERO, _ZERO, _ZERO
    for k in range(quarter):
        a += histogram[r, k]
        b += histogram[r, second + k]
        c += histogram[r, third + k]
        d += histogram[r, fourth + k]
        histogram[r, k] = a
        histogram[r, second + k] = b
        histogram[r, third + k] = c
        histogram[r, fourth + k] = d
    ab = a + b
    abc = ab + c
    for k in range(quarter):
        histogram[r, second + k] += a
        histogram[r, third + k] += ab
        histogram[r, fourth + k] += abc
    return abc + d


@kernel
def sum_bins(histogram, r, n_bins):
    """Sum a histogram row."""
    r = np.uint64(r)
    total = _ZERO
    for b in range(np.uint64(n_bins)):
        total += histogram[r, b]
    return total


@kernel
def threshold_after(values, row, n, codes, bin_number):
    """Return the midpoint of the largest value left of a boundary and the smallest right of it."""
    row, last = np.uint64(row), np.uint8(bin_number)
    below, above = _MINUS_INFINITY_KEY, _INFINITY_KEY
    for i in range(np.uint64(n)):
        x = values[row, i]
        key, left = order_key(x), codes[i] <= last
        below = max(below, key if left & (x == x) else _MINUS_INFINITY_KEY)
        above = min(above, _INFINITY_KEY if left | (x != x) else key)
    first, second = key_value(below), key_value(above)
    middle = np.float32(0.5 * (np.float64(first) + np.float64(second)))
    return middle if middle < second else first


ADAPTIVE_MIN_ROWS = 256  # fewer rows have enough bins in any case
_N_CELLS = 32  # of equal width in a range; a uniform sample occupies about twenty
_MAX_DENSE_CELLS = 8  # occupied by a sample that lies in a few dense spans


@kernel
def find_dense_spans(values, row, n, state, marks):
    """Store the sorted distinct values of a sample in a few dense spans; return their number.

    It is 0 where bins of equal width suffice: the sample is spread out or has few distinct values.
    """
    at, step = np.uint64(row), n // SAMPLE_ROWS
    low, high = state.low, state.high
    scale = np.float32(_N_CELLS) / (high - low)
    if not _ZERO < scale < _INFINITE:
        return 0
    last = np.float32(_N_CELLS - 1)
    cells, count = np.uint64(0), 0
    for i in range(SAMPLE_ROWS):
        x = values[at, np.uint64(i * step)]
        if (x >= low) & (x <= high):
            cells |= np.uint64(1) << np.uint64(max(min((x - low) * scale, last), _ZERO))
            marks[count] = x
            count += 1
    taken = 0
    while cells != np.uint64(0):
        cells &= cells - np.uint64(1)
        taken += 1
    if taken > _MAX_DENSE_CELLS or count == 0:
        return 0
    for i in range(1, count):
        x, place = marks[i], i
        while place > 0 and marks[place - 1] > x:
            marks[place] = marks[place - 1]
            place -= 1
        marks[place] = x
    distinct = 1
    for i in range(1, count):
        if marks[i] > marks[distinct - 1]:
            marks[distinct] = marks[i]
            distinct += 1
    return distinct if distinct >= 2 * taken else 0


@kernel
def adaptive_codes(values, row, n, state, marks, n_marks, n_bins, codes):
    """Code each value by its adaptive bin: all intervals between two marks have as many bins.

    The marks are a sample of the values, so the bins lie where the rows do. Between two marks they
    have equal width.
    """
    row = np.uint64(row)
    share = np.float32(n_bins) / np.float32(n_marks + 1)
    last = np.float32(n_bins - 1)
    for i in range(np.uint64(padded(n))):
        x = values[row, i]
        if x != x:
            codes[i] = np.uint8(n_bins)
            continue
        first, stop = 0, n_marks
        while first < stop:
            middle = (first + stop) // 2
            if marks[middle] <= x:
                first = middle + 1
            else:
                stop = middle
        below = marks[first - 1] if first > 0 else state.low
        above = marks[first] if first < n_marks else state.high
        fraction = (x - below) / (above - below) if above > below else _ZERO
        place = (np.float32(first) + max(min(fraction, _ONE), _ZERO)) * share
        codes[i] = np.uint8(np.int32(min(place, last)))
