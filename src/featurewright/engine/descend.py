"""Let rows descend grown trees."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import bits_float, float_bits, kernel
from featurewright.engine.programs import run_row
from featurewright.expressions import opcodes as op

BLOCK = 256  # rows that descend a tree together: they stay in the L1 cache while it does in L2

PROGRAM = -1  # stands in place of a column where a node tests an expression
IS_LEVEL = 1
MISSING_LEFT = 2
ORDERED = 4  # at a root: all nodes of the tree ask whether a column is at most a threshold

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_MISSING_BITS = np.int32(0x7FC00000)
_MINUS_ZERO = np.int32(-(2**31))


@kernel
def mix(bits):
    """Scatter the bits of a whole number (SplitMix64)."""
    z = bits + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def hash_rows(matrix, begin, end, keys):
    """Hash the values of each row of a block: equal rows have equal keys, wherever they stand."""
    for i in range(begin, end):
        key = np.uint64(0)
        for column in range(matrix.shape[1]):
            x = matrix[i, column]
            bits = _MISSING_BITS if x != x else float_bits(x)
            if bits == _MINUS_ZERO:
                bits = np.int32(0)
            key = mix(key ^ np.uint64(bits))
        keys[i - begin] = key


@kernel
def coin(key, salt, place):
    """Throw a row's coin at a node: 0 or 1, the same whenever the row comes again."""
    return np.int64(mix(key ^ mix(salt ^ np.uint64(place))) >> np.uint64(63))


@kernel
def pack_nodes(left, programs, threshold, is_level, missing_left, packed):
    """Put what descending needs of a node side by side, so that a visit costs one cache line."""
    for node in range(left.shape[0]):
        lone = programs.shape[1] == 1 or programs[node, 1] == op.END
        packed[node, 0] = left[node]
        packed[node, 1] = programs[node, 0] if lone else PROGRAM
        flags = IS_LEVEL if is_level[node] else 0
        packed[node, 3] = flags | (MISSING_LEFT if missing_left[node] else 0)


@kernel
def none_missing(matrix, begin, end):
    """Tell whether a block of rows has all of its values."""
    missing = 0
    for i in range(begin, end):
        for column in range(matrix.shape[1]):
            x = matrix[i, column]
            missing += x != x
    return missing == 0


@kernel(inline=True)
def descend_ordered(matrix, first, count, root, packed, nodes, active):
    """Let rows without missing values descend a tree that compares columns with thresholds."""
    one = np.uint64(1)
    for row in range(count):
        nodes[row] = root
        active[row] = row
    while count > 0:
        kept = np.uint64(0)
        for a in range(count):
            k = np.uint64(active[a])
            node = np.uint64(nodes[k])
            x = matrix[first + k, np.uint64(packed[node, 1])]
            goes_left = np.int64(x <= bits_float(packed[node, 2]))
            below = np.int64(packed[node, 0]) + 1 - goes_left
            nodes[k] = below
            active[kept] = np.int64(k)
            kept += one if packed[np.uint64(below), 0] >= 0 else np.uint64(0)
        count = kept


@kernel
def descend_block(
    matrix, begin, end, root, packed, programs, users, stack, nodes, active, keys, salt, complete
):
    """Let a block of rows descend one tree, a level at a time; `nodes` receives their leaves.

    Missing values go to the node's side for them; where rows have keys, either way by chance. A
    block that is `complete` has none.

    Rows of one level do not wait for each other, and which way a row goes is no branch to
    mispredict: row by row, a descent does little but wait.
    """
    if complete and packed[root, 3] & ORDERED:
        rows = np.uint64(end - begin)
        descend_ordered(matrix, np.uint64(begin), rows, root, packed, nodes, active)
        return
    count, first, one = np.uint64(end - begin), np.uint64(begin), np.uint64(1)
    by_chance = keys.shape[0] > 0
    for row in range(count):
        nodes[row] = root
        active[row] = row
    if packed[root, 0] < 0:
        return
    while count > 0:
        kept = np.uint64(0)
        for a in range(count):
            k = np.uint64(active[a])
            node = np.uint64(nodes[k])
            column = packed[node, 1]
            if column == PROGRAM:
                x = run_row(programs, np.int64(node), matrix, np.int64(first + k), users, stack)
            else:
                x = matrix[first + k, np.uint64(column)]
            threshold = bits_float(packed[node, 2])
            flags = packed[node, 3]
            goes_left = np.int64(x <= threshold)
            if flags & IS_LEVEL:
                goes_left = np.int64(x == threshold)
            if x != x:
                goes_left = np.int64((flags & MISSING_LEFT) != 0)
                if by_chance:
                    goes_left = coin(keys[k], salt, np.int64(node) - root)
            below = np.int64(packed[node, 0]) + 1 - goes_left
            nodes[k] = below
            active[kept] = np.int64(k)
            kept += one if packed[np.uint64(below), 0] >= 0 else np.uint64(0)
        count = kept


@kernel
def find_leaves(
    matrix, first, last, roots, packed, programs, users, stack, nodes, active, keys, salts, out
):
    """Write the leaf number of each row in each tree, for rows from first to last.

    With a salt for each tree and room for keys, missing values go either way by chance.
    """
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        complete = none_missing(matrix, begin, end)
        if keys.shape[0] > 0:
            hash_rows(matrix, begin, end, keys)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix,
                begin,
                end,
                roots[tree],
                packed,
                programs,
                users,
                stack,
                nodes,
                active,
                keys,
                salts[tree] if keys.shape[0] > 0 else np.uint64(0),
                complete,
            )
            for i in range(begin, end):
                out[i, tree] = -1 - packed[nodes[i - begin], 0]


@kernel
def add_leaf_values(
    matrix,
    first,
    last,
    roots,
    packed,
    programs,
    users,
    stack,
    nodes,
    active,
    keys,
    values,
    groups,
    out,
):
    """Add up each row's leaf values over all trees, for rows from first to last.

    Trees take turns in `groups` groups, each of which adds to columns of its own. There are no
    keys: missing values go to the side that growing chose.
    """
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        complete = none_missing(matrix, begin, end)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix,
                begin,
                end,
                roots[tree],
                packed,
                programs,
                users,
                stack,
                nodes,
                active,
                keys,
                np.uint64(0),
                complete,
            )
            column = tree % groups
            for i in range(begin, end):
                leaf = -1 - np.int64(packed[nodes[i - begin], 0])
                for t in range(values.shape[1]):
                    out[i, column + t] += values[leaf, t]


@kernel
def run_programs(matrix, programs, users, stack, out):
    """Evaluate every program on every row."""
    for i in range(matrix.shape[0]):
        for k in range(programs.shape[0]):
            out[i, k] = run_row(programs, k, matrix, i, users, stack)
