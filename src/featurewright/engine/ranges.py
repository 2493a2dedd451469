"""Aggregates over ranges of sorted rows: each row of a table sees a stretch of linked rows."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel


@kernel
def find_before(offsets, times, keys, until, out):
    """Find the end of the linked rows of each key that come before a moment.

    Rows of key `k` stand from ``offsets[k]`` to ``offsets[k + 1]`` in order of time. A key of -1
    has no rows; its place is 0.
    """
    for i in range(keys.shape[0]):
        out[i] = 0
        if keys[i] < 0:
            continue
        low, high = offsets[keys[i]], offsets[keys[i] + 1]
        while low < high:
            middle = (low + high) // 2
            if times[middle] < until[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@kernel
def running_totals(values, offsets, out):
    """Compute the sum of each key's values from its first row up to and with each row.

    Sums start anew with every key, so that large values of one key cost others no digits.
    """
    for key in range(offsets.shape[0] - 1):
        total = 0.0
        for j in range(offsets[key], offsets[key + 1]):
            total += values[j]
            out[j] = total


@kernel
def running_minima(values, offsets, ahead, behind):
    """Compute the minimum of each key's values up to each row, and from each row on."""
    for key in range(offsets.shape[0] - 1):
        least = np.inf
        for j in range(offsets[key], offsets[key + 1]):
            least = min(least, values[j])
            ahead[j] = least
        least = np.inf
        for j in range(offsets[key + 1] - 1, offsets[key] - 1, -1):
            least = min(least, values[j])
            behind[j] = least


@kernel
def range_minima(values, starts, ends, out):
    """Compute the minimum of each range of values; infinite where it is empty."""
    for i in range(starts.shape[0]):
        least = np.inf
        for j in range(starts[i], ends[i]):
            least = min(least, values[j])
        out[i] = least


@kernel
def range_quantiles(values, starts, ends, share, scratch, out):
    """Compute a quantile of each range by linear interpolation; NaN is left out, NaN where none is.

    `scratch` has room for the longest range.
    """
    for i in range(starts.shape[0]):
        n = 0
        for j in range(starts[i], ends[i]):
            if values[j] == values[j]:
                scratch[n] = values[j]
                n += 1
        if n == 0:
            out[i] = np.nan
            continue
        place = share * (n - 1)
        low = int(place)
        _select(scratch, n, low)
        smaller = scratch[low]
        larger = smaller
        if place > low:
            larger = np.inf
            for j in range(low + 1, n):
                larger = min(larger, scratch[j])
        out[i] = smaller + (place - low) * (larger - smaller)


@kernel(inline=True)
def _select(values, n, wanted):
    """Move the value of rank `wanted` to its place, smaller ones before it and larger ones behind.

    Hoare's selection. The pivot is the middle value, so that sorted ranges are fast.
    """
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            return


@kernel
def range_levels(codes, starts, ends, seen_in, out):
    """Count the distinct levels of each range. A code of -1 is left out.

    `seen_in` has a place for each level, at first -1: the last range that had the level.
    """
    for i in range(starts.shape[0]):
        n = 0
        for j in range(starts[i], ends[i]):
            code = codes[j]
            if code >= 0 and seen_in[code] != i:
                seen_in[code] = i
                n += 1
        out[i] = n
