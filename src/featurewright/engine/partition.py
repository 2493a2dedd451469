"""Part a node's rows among its children."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.random import draw_below


@kernel(inline=True)
def move_row(row_ids, first, i, moved, goes, spare):
    """Put a row behind those that went left and behind those that went right; count it in one.

    Of two places that are written only one counts: a branch would be guessed wrong at every other
    row.
    """
    row = row_ids[first + i]
    row_ids[first + moved] = row
    spare[i - moved] = row
    return moved + np.uint64(goes)


@kernel(inline=True)
def partition_rows(row_ids, start, n, values, threshold, is_level, missing_left, spare):
    """Part rows in place, keeping their order on both sides; give the number on the left."""
    first, zero, size = np.uint64(start), np.uint64(0), np.uint64(n)
    moved = np.uint64(0)
    # NaN is neither at most the threshold nor above it.
    if is_level:
        strays = np.uint64(missing_left != 0)
        for i in range(size):
            x = values[zero, i]
            goes = np.uint64(x == threshold) + strays * np.uint64(x != x)
            moved = move_row(row_ids, first, i, moved, goes, spare)
    elif missing_left:
        for i in range(size):
            above = np.uint64(values[zero, i] > threshold)
            moved = move_row(row_ids, first, i, moved, np.uint64(1) - above, spare)
    else:
        for i in range(size):
            goes = values[zero, i] <= threshold
            moved = move_row(row_ids, first, i, moved, goes, spare)
    for i in range(size - moved):
        row_ids[first + moved + i] = spare[i]
    return np.int64(moved)


@kernel
def partition_rows_both_ways(
    row_ids, start, n, spare_rows, values, threshold, is_level, state, spare
):
    """Part rows, those of a missing value to both sides; return both sizes and the left's rest.

    A node owns its `n` rows and `spare_rows` free places behind them, which the copies use up; the
    rest is parted among the children by their sizes. Without it, copies of copies would make a tree
    grow beyond all bounds: where the places are too few, each missing row goes one way, left
    or right by chance.
    """
    missing = np.int64(0)
    for i in range(np.uint64(n)):
        missing += np.int64(values[np.uint64(0), i] != values[np.uint64(0), i])
    both = missing <= spare_rows
    size, other = np.int64(0), np.int64(0)
    for i in range(n):
        x = values[0, i]
        row = row_ids[start + i]
        goes_left = x == threshold if is_level else x <= threshold
        goes_right = not goes_left
        if x != x:
            goes_left = both or draw_below(state, np.int64(2)) == 0
            goes_right = both or not goes_left
        if goes_left:
            row_ids[start + size] = row
            size += 1
        if goes_right:
            spare[other] = row
            other += 1
    rest = spare_rows + n - size - other
    left_room = rest * size // (size + other)
    for i in range(other):
        row_ids[start + size + left_room + i] = spare[i]
    return size, other, left_room
