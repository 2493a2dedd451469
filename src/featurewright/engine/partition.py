"""Partition a node's rows among its children."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.random import draw_below


@kernel(inline=True)
def move_row(row_ids, first, i, moved, goes, spare):
    """Append a row to the left rows if it `goes` left, else to `spare`; return the left count.

    Both places are written and only one is counted, because a branch would often be mispredicted.
    """
    row = row_ids[first + i]
    row_ids[first + moved] = row
    spare[i - moved] = row
    return moved + np.uint64(goes)


@kernel(inline=True)
def partition_rows(row_ids, start, n, values, threshold, is_level, missing_left, spare):
    """Partition rows in place, keeping their order on both sides; return the number on the left."""
    first, zero, size = np.uint64(start), np.uint64(0), np.uint64(n)
    moved = np.uint64(0)
    # Comparisons with NaN are false, so `> threshold` sends it left and `<= threshold` right.
    if is_level:
        missing_goes_left = np.uint64(missing_left != 0)
        for i in range(size):
            x = values[zero, i]
            goes = np.uint64(x == threshold) + missing_goes_left * np.uint64(x != x)
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
    """Partition rows, missing ones to both sides; return both sizes and the left's spare entries.

    A node owns its `n` rows and `spare_rows` free entries after them, which copies use up; the rest
    is divided among the children in proportion to their sizes. This bounds the growth by copies of
    copies: if there are too few entries, each missing row goes to one random side.
    """
    missing = np.int64(0)
    for i in range(np.uint64(n)):
        missing += np.int64(values[np.uint64(0), i] != values[np.uint64(0), i])
    both = missing <= spare_rows
    left_size, right_size = np.int64(0), np.int64(0)
    for i in range(n):
        x = values[0, i]
        row = row_ids[start + i]
        goes_left = x == threshold if is_level else x <= threshold
        goes_right = not goes_left
        if x != x:
            goes_left = both or draw_below(state, np.int64(2)) == 0
            goes_right = both or not goes_left
        if goes_left:
            row_ids[start + left_size] = row
            left_size += 1
        if goes_right:
            spare[right_size] = row
            right_size += 1
    rest = spare_rows + n - left_size - right_size
    left_spare = rest * left_size // (left_size + right_size)
    for i in range(right_size):
        row_ids[start + left_size + left_spare + i] = spare[i]
    return left_size, right_size, left_spare
