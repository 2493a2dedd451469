"""Bins for values that lie in a few places of their range, as times and codes often do."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import SAMPLE_ROWS
from featurewright.engine.compiler import kernel
from featurewright.engine.programs import padded

CLUMPED_ROWS = 256  # fewer rows have bins enough, wherever they are
_CELLS = 32  # equal parts of a range, of which a sample of even values takes twenty
_FEW_CELLS = 8  # and of clumps so many at most
_INFINITE = np.float32(np.inf)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@kernel
def find_clumps(values, row, n, state, marks):
    """Put a sample into order where it is in a few places of the range; give its distinct values.

    It is 0 where equal parts of the range will do: the sample is spread, or has few values anyway.
    """
    at, step = np.uint64(row), n // SAMPLE_ROWS
    low, high = state.low, state.high
    scale = np.float32(_CELLS) / (high - low)
    if not _ZERO < scale < _INFINITE:
        return 0
    last = np.float32(_CELLS - 1)
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
    if taken > _FEW_CELLS or count == 0:
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
def clump_codes(values, row, n, state, marks, n_marks, n_bins, codes):
    """Give each value its bin: the values between two marks have as many bins as any others.

    The marks are a sample of the values, so the bins lie where the rows do. Between two marks they
    are equal parts.
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
        part = (x - below) / (above - below) if above > below else _ZERO
        place = (np.float32(first) + max(min(part, _ONE), _ZERO)) * share
        codes[i] = np.uint8(np.int32(min(place, last)))
