"""Aggregates over ranges of sorted rows: each row of a table sees a stretch of linked rows.

Linked rows stand key by key, and the rows of a table are visited key by key too (`order`): what is
summed up along the linked rows of a key stays in a small working array, whatever the number of
linked rows.
"""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel

BLOCK = 32  # linked rows whose minimum is kept
N_MOMENTS = 6
N_LOST = {1: 0, 3: 2, N_MOMENTS: 3}
"""Of so many sums, those that what is lost by rounding is kept of."""


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
def order_by_key(keys, given, places, out):
    """Sort rows by key; those of one key stay in the order given.

    `places` has where the rows of each key begin, and is overwritten.
    """
    for i in range(given.shape[0]):
        row = given[i]
        out[places[keys[row]]] = row
        places[keys[row]] += 1


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


@kernel(inline=True)
def _rows_of_key(keys, ends, offsets, order, begin):
    """Return where the rows of the key at a place of the order end, and which rows they see.

    These are the linked rows from the first one of the key up to the last that one of them sees.
    """
    key = keys[order[begin]]
    stop, last = begin, 0
    while stop < order.shape[0] and keys[order[stop]] == key:
        last = max(last, ends[order[stop]])
        stop += 1
    return stop, offsets[max(key, 0)], last


@kernel
def range_moments(
    values, times, offsets, keys, order, starts, ends, own, running, lost, centres, out, out_own
):
    """Sum the values of each range: as many of the `N_MOMENTS` sums as `out` has room for.

    They are the count, the sum and the sum of squares of the values, and the sums of times, of
    squared times and of products of times and values. Values are differences from the first one of
    the key, which goes to `centres`, and times from the time of the key's first row: sums of
    differences keep more digits. A mean of all values would do that too, but then rows that nobody
    may see yet would change last digits. NaN is left out.

    The sums of the row at `own` alone go to `out_own`, unless that is -1: the caller subtracts
    them, since a compiler would change the order of the differences. `running` has room for
    the sums up to each row of the longest key, and one more, and so has `lost` for what the sums
    of values, of their squares and of their products with times lose by rounding: a single value
    that is much larger than others would else cost all later ranges their digits.
    """
    n_moments, n_lost = out.shape[0], lost.shape[0]
    begin = 0
    for m in range(n_moments):
        running[m, 0] = 0.0
    for m in range(n_lost):
        lost[m, 0] = 0.0
    while begin < order.shape[0]:
        stop, first, last = _rows_of_key(keys, ends, offsets, order, begin)
        centre = 0.0
        for j in range(first, last):
            if values[j] == values[j]:
                centre = values[j]
                break
        count, total, squares = 0.0, 0.0, 0.0
        time_total, time_squares, products = 0.0, 0.0, 0.0
        total_lost, squares_lost, products_lost = 0.0, 0.0, 0.0
        for j in range(first, last):
            place = j - first + 1
            if values[j] == values[j]:
                count += 1.0
                if n_moments > 1:
                    value = values[j] - centre
                    total_lost += _rounding(total, value)
                    total += value
                    squares_lost += _rounding(squares, value * value)
                    squares += value * value
                if n_moments > 3:
                    time = times[j] - times[first]
                    time_total += time
                    time_squares += time * time
                    products_lost += _rounding(products, time * value)
                    products += time * value
            running[0, place] = count
            if n_moments > 1:
                running[1, place] = total
                running[2, place] = squares
                lost[0, place] = total_lost
                lost[1, place] = squares_lost
            if n_moments > 3:
                running[3, place] = time_total
                running[4, place] = time_squares
                running[5, place] = products
                lost[2, place] = products_lost
        for at in range(begin, stop):
            i = order[at]
            centres[i] = centre
            start, end = starts[i] - first, ends[i] - first
            for m in range(n_moments):
                out[m, i] = running[m, end] - running[m, start] if end > start else 0.0
                if own[i] >= 0:
                    mine = own[i] - first
                    out_own[m, i] = running[m, mine + 1] - running[m, mine]
            for k in range(n_lost):
                m = k + 1 if k < 2 else N_MOMENTS - 1
                if end > start:
                    out[m, i] += lost[k, end] - lost[k, start]
                if own[i] >= 0:
                    mine = own[i] - first
                    out_own[m, i] += lost[k, mine + 1] - lost[k, mine]
        begin = stop


@kernel(inline=True)
def _rounding(total, added):
    """Return what is lost by rounding when a number is added to a total."""
    rounded = total + added
    part = rounded - total
    return (total - (rounded - part)) + (added - part)


@kernel
def range_ends(values, times, offsets, keys, order, starts, ends, running, places, out, out_values):
    """Find the first and the last value of each range that is not NaN, and where they stand.

    A place is -1 where there is none, and the value NaN. Rows of one time are in no order: the
    value is the largest of its time.

    `running` and `places` have room for the longest key, and one more.
    """
    begin = 0
    running[0] = 0
    while begin < order.shape[0]:
        stop, first, last = _rows_of_key(keys, ends, offsets, order, begin)
        n_known = 0
        for j in range(first, last):
            if values[j] == values[j]:
                places[n_known] = j
                n_known += 1
            running[j - first + 1] = n_known
        for at in range(begin, stop):
            i = order[at]
            out[0, i], out[1, i] = -1, -1
            out_values[0, i], out_values[1, i] = np.nan, np.nan
            if ends[i] <= starts[i]:
                continue
            before, upto = running[starts[i] - first], running[ends[i] - first]
            if upto == before:
                continue
            found = places[before]
            out[0, i] = found
            out_values[0, i] = _largest_of_time(values, times, found, 1, ends[i])
            found = places[upto - 1]
            out[1, i] = found
            out_values[1, i] = _largest_of_time(values, times, found, -1, starts[i] - 1)
        begin = stop


@kernel(inline=True)
def _largest_of_time(values, times, place, step, stop):
    """Return the largest value among rows of the same time, step by step from a place to `stop`."""
    value = values[place]
    j = place + step
    while j != stop and times[j] == times[place]:
        value = max(value, values[j])
        j += step
    return value


@kernel
def range_extremes(values, offsets, keys, order, starts, ends, own, blocks, out):
    """Compute the minimum and the maximum of each range; NaN is left out, infinite where none is.

    The row at `own` is left out, unless that is -1. Where the ranges of a key overlap, minima of
    blocks of linked rows are kept: from the block's first row up to a row, and from a row up to the
    block's last. `blocks` has room for those of the longest key.
    """
    begin = 0
    while begin < order.shape[0]:
        stop, first, last = _rows_of_key(keys, ends, offsets, order, begin)
        seen = 0
        for at in range(begin, stop):
            seen += max(0, ends[order[at]] - starts[order[at]])
        keeps = seen > 4 * (last - first)
        if keeps:
            _keep_blocks(values, first, last, blocks)
        for at in range(begin, stop):
            i = order[at]
            least, most = np.inf, -np.inf
            start, end = starts[i], ends[i]
            if own[i] >= 0:
                least, most = _extremes(values, first, start, own[i], keeps, blocks, least, most)
                start = own[i] + 1
            least, most = _extremes(values, first, start, end, keeps, blocks, least, most)
            out[0, i], out[1, i] = least, most
        begin = stop


@kernel(inline=True)
def _keep_blocks(values, first, last, blocks):
    """Keep the minimum and maximum from the start of each row's block, and up to its end."""
    least, most = np.inf, -np.inf
    for j in range(first, last):
        place = j - first
        if place % BLOCK == 0:
            least, most = np.inf, -np.inf
        least = values[j] if values[j] < least else least
        most = values[j] if values[j] > most else most
        blocks[0, place], blocks[1, place] = least, most
    for j in range(last - 1, first - 1, -1):
        place = j - first
        if place % BLOCK == BLOCK - 1 or j == last - 1:
            least, most = np.inf, -np.inf
        least = values[j] if values[j] < least else least
        most = values[j] if values[j] > most else most
        blocks[2, place], blocks[3, place] = least, most


@kernel(inline=True)
def _extremes(values, first, start, end, keeps, blocks, least, most):
    """Return the least and the largest of two values and those of a range."""
    low, high = start - first, end - first
    if keeps and low // BLOCK + 1 < high // BLOCK:
        least, most = min(least, blocks[2, low]), max(most, blocks[3, low])
        for block in range(low // BLOCK + 1, high // BLOCK):
            whole = (block + 1) * BLOCK - 1
            least, most = min(least, blocks[0, whole]), max(most, blocks[1, whole])
        if high % BLOCK > 0:
            least, most = min(least, blocks[0, high - 1]), max(most, blocks[1, high - 1])
        return least, most
    for j in range(start, end):
        least = values[j] if values[j] < least else least
        most = values[j] if values[j] > most else most
    return least, most


@kernel
def range_quantiles(values, starts, ends, shares, scratch, out):
    """Compute quantiles of each range by linear interpolation; NaN is left out, NaN where none is.

    `shares` are in increasing order. `scratch` has room for the longest range.
    """
    for i in range(starts.shape[0]):
        n = 0
        for j in range(starts[i], ends[i]):
            scratch[n] = values[j]
            if values[j] == values[j]:
                n += 1
        done = 0  # smaller values are left of here
        for k in range(shares.shape[0]):
            if n == 0:
                out[k, i] = np.nan
                continue
            place = shares[k] * (n - 1)
            low = int(place)
            _select(scratch, done, n, low)
            done = low
            smaller = scratch[low]
            larger = smaller
            if place > low:
                larger = np.inf
                for j in range(low + 1, n):
                    larger = min(larger, scratch[j])
            out[k, i] = smaller + (place - low) * (larger - smaller)


@kernel(inline=True)
def _select(values, begin, n, wanted):
    """Move the value of rank `wanted` to its place, smaller ones before it and larger ones behind.

    Values before `begin` are not larger than the others. Hoare's selection. The pivot is the middle
    value, so that sorted ranges are fast.
    """
    low, high = begin, n - 1
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
def range_modes(values, starts, ends, counts, out):
    """Find the most frequent level of each range; of equally frequent ones that of least code.

    NaN is left out, and comes where there is no level. `counts` has a zero for each level. Where a
    range has fewer rows than there are levels, its rows are gone through instead of all levels.
    """
    for i in range(starts.shape[0]):
        start, end = starts[i], ends[i]
        for j in range(start, end):
            if values[j] == values[j]:
                counts[int(values[j])] += 1
        most, mode = 0, -1
        if counts.shape[0] <= end - start:
            for code in range(counts.shape[0]):
                if counts[code] > most:
                    most, mode = counts[code], code
                counts[code] = 0
        else:
            for j in range(start, end):
                if values[j] == values[j]:
                    code = int(values[j])
                    if counts[code] > most or (counts[code] == most and code < mode):
                        most, mode = counts[code], code
            for j in range(start, end):
                if values[j] == values[j]:
                    counts[int(values[j])] = 0
        out[i] = mode if mode >= 0 else np.nan


@kernel
def range_levels(values, starts, ends, seen_in, out):
    """Count the distinct levels of each range; their codes are numbers, NaN is left out.

    `seen_in` has a place for each level, at first -1: the last range that had the level.
    """
    for i in range(starts.shape[0]):
        n = 0
        for j in range(starts[i], ends[i]):
            if values[j] == values[j]:
                code = int(values[j])
                if seen_in[code] != i:
                    seen_in[code] = i
                    n += 1
        out[i] = n


@kernel
def sliding_quantiles(values, ranked, ranks, offsets, keys, order, starts, ends, shares, tree, out):
    """Compute what `range_quantiles` does, in less time where many ranges of a key overlap.

    The rows of a key are visited in order of their ends, then of their starts (`order`), so that
    linked rows come and go one after the other. Those that a row sees are counted in a tree over
    their ranks among the rows of the key (Fenwick's): `ranks` has the rank of each linked row,
    `ranked` the linked rows of each key in order of their values. `tree` has room for the longest
    key, and one more.
    """
    begin = 0
    while begin < order.shape[0]:
        stop, first, _ = _rows_of_key(keys, ends, offsets, order, begin)
        size = 0 if keys[order[begin]] < 0 else offsets[keys[order[begin]] + 1] - first
        for place in range(size + 1):
            tree[place] = 0
        half = 1
        while 2 * half <= size:
            half *= 2
        low, high, n = first, first, 0
        for at in range(begin, stop):
            i = order[at]
            while high < ends[i]:
                n += _count_in(tree, size, ranks[high], values[high], 1)
                high += 1
            while low > starts[i]:
                low -= 1
                n += _count_in(tree, size, ranks[low], values[low], 1)
            while low < starts[i]:
                n -= _count_in(tree, size, ranks[low], values[low], -1)
                low += 1
            for k in range(shares.shape[0]):
                if n == 0:
                    out[k, i] = np.nan
                    continue
                place = shares[k] * (n - 1)
                below = int(place)
                smaller = values[ranked[first + _place_in(tree, size, half, below)]]
                larger = smaller
                if place > below:
                    larger = values[ranked[first + _place_in(tree, size, half, below + 1)]]
                out[k, i] = smaller + (place - below) * (larger - smaller)
        begin = stop


@kernel(inline=True)
def _count_in(tree, size, rank, value, change):
    """Change how often a rank is in a tree; return 1 if it is a rank that counts, else 0."""
    if value != value:
        return 0
    at = rank + 1
    while at <= size:
        tree[at] += change
        at += at & -at
    return 1


@kernel(inline=True)
def _place_in(tree, size, half, wanted):
    """Return the rank with as many ranks of a tree below it as are asked for."""
    at, step = 0, half
    while step > 0:
        if at + step <= size and tree[at + step] <= wanted:
            at += step
            wanted -= tree[at]
        step //= 2
    return at


@kernel
def sliding_levels(values, offsets, keys, order, starts, ends, counts, out):
    """Compute what `range_levels` and `range_modes` do where many ranges of a key overlap.

    Rows are visited as by `sliding_quantiles`. `counts` has a zero for each level.
    """
    begin = 0
    while begin < order.shape[0]:
        stop, first, _ = _rows_of_key(keys, ends, offsets, order, begin)
        low, high = first, first
        n, most, mode, is_known = 0, 0, -1, True
        for at in range(begin, stop):
            i = order[at]
            while high < ends[i] or low > starts[i]:
                if high < ends[i]:
                    place = high
                    high += 1
                else:
                    low -= 1
                    place = low
                if values[place] == values[place]:
                    code = int(values[place])
                    counts[code] += 1
                    n += counts[code] == 1
                    if counts[code] > most or (counts[code] == most and code < mode):
                        most, mode = counts[code], code
            while low < starts[i]:
                if values[low] == values[low]:
                    code = int(values[low])
                    n -= counts[code] == 1
                    counts[code] -= 1
                    is_known = is_known and code != mode
                low += 1
            if not is_known:
                most, mode, is_known = 0, -1, True
                for code in range(counts.shape[0]):
                    if counts[code] > most:
                        most, mode = counts[code], code
            out[0, i] = n
            out[1, i] = mode if mode >= 0 else np.nan
        for place in range(low, high):
            if values[place] == values[place]:
                counts[int(values[place])] = 0
        begin = stop
