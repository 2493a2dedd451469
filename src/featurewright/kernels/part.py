"""Part a node's rows among its children."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.jit import kernel
from featurewright.kernels.random import draw_below


@kernel(inline=True)
def part_rows(row_ids, start, n, values, threshold, is_level, missing_left, spare):
    """Part rows in place, keeping their order on both sides; give the number on the left."""
    left, right = np.uint64(start), np.uint64(0)
    first, zero, one = np.uint64(start), np.uint64(0), np.uint64(1)
    for i in range(np.uint64(n)):
        x = values[zero, i]
        row = row_ids[first + i]
        known = x == x
        goes = x == threshold if is_level else x <= threshold
        goes_left = goes if known else missing_left != 0
        # Both are written and one pointer moves on: no branch to mispredict.
        row_ids[left] = row
        spare[right] = row
        left += one if goes_left else zero
        right += zero if goes_left else one
    for i in range(right):
        row_ids[left + i] = spare[i]
    return np.int64(left - first)


@kernel
def share_rows(row_ids, start, n, room, values, threshold, is_level, state, spare):
    """Part rows, sending those of a missing value both ways; give both sizes and the left's room.

    A node owns its `n` rows and `room` free places behind them, which the copies use up; what is
    left of it is parted among the children by their sizes. Without it, copies of copies would make
    a tree grow beyond all bounds: where the room is too small, each missing row goes one way, left
    or right by chance.
    """
    missing = np.int64(0)
    for i in range(np.uint64(n)):
        missing += np.int64(values[np.uint64(0), i] != values[np.uint64(0), i])
    both = missing <= room
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
    rest = room + n - size - other
    left_room = rest * size // (size + other)
    for i in range(other):
        row_ids[start + size + left_room + i] = spare[i]
    return size, other, left_room
