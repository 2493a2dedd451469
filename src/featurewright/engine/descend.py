"""Find the leaves that rows reach in grown trees."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import bits_float, float_bits, kernel
from featurewright.engine.level_sets import IN_SET, is_member
from featurewright.engine.programs import run_row
from featurewright.expressions import opcodes as op

BLOCK_ROWS = 256  # rows that descend a tree at a time, at least

PROGRAM = -1  # in place of a column: the node tests an expression
IS_LEVEL = 1
MISSING_LEFT = 2
IS_SET = 8  # the node tests for a set of levels: in place of the threshold, its number
ORDERED = 4  # at a root: all nodes compare a column with a threshold

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
_MISSING_BITS = np.int32(0x7FC00000)
_MINUS_ZERO = np.int32(-(2**31))


@kernel
def mix(bits):
    """Hash a 64-bit integer (SplitMix64)."""
    z = bits + _INCREMENT
    z = (z ^ (z >> np.uint64(30))) * _FIRST_MULTIPLIER
    z = (z ^ (z >> np.uint64(27))) * _SECOND_MULTIPLIER
    return z ^ (z >> np.uint64(31))


@kernel
def hash_rows(matrix, begin, end, keys):
    """Hash the values of each row of a block: equal rows have equal keys."""
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
    """Return a pseudo-random 0 or 1 that depends only on the row, the tree and the node."""
    return np.int64(mix(key ^ mix(salt ^ np.uint64(place))) >> np.uint64(63))


@kernel
def pack_nodes(left, programs, threshold, is_level, missing_left, packed):
    """Store what descending needs of a node contiguously, so that a visit reads one cache line."""
    for node in range(left.shape[0]):
        lone = programs.shape[1] == 1 or programs[node, 1] == op.END
        packed[node, 0] = left[node]
        packed[node, 1] = programs[node, 0] if lone else PROGRAM
        if left[node] < 0:
            packed[node, 1] = 0  # a leaf compares some column too: see step_down
        flags = IS_LEVEL if is_level[node] else 0
        if is_level[node] == IN_SET:
            flags = IS_SET
        packed[node, 3] = flags | (MISSING_LEFT if missing_left[node] else 0)


@kernel
def is_complete(matrix, begin, end):
    """Whether a block of rows has no missing value."""
    missing = 0
    for i in range(begin, end):
        for column in range(matrix.shape[1]):
            x = matrix[i, column]
            missing += x != x
    return missing == 0


@kernel(inline=True)
def step_down(matrix, i, node, packed):
    """Return the child that a row goes to, a leaf itself; also its left child, negative at a leaf.

    There is no branch: a leaf compares some column too and ignores the result.
    """
    left = np.int64(packed[node, 0])
    x = matrix[i, np.uint64(packed[node, 1])]
    goes_left = np.int64(x <= bits_float(packed[node, 2]))
    below = np.uint64(left + 1 - goes_left) if left >= 0 else node
    return below, left


@kernel(inline=True)
def descend_ordered(matrix, first, count, root, packed, nodes):
    """Find the leaves of rows without missing values in a tree that compares columns only.

    Eight rows descend at a time, independent of each other, so that the processor does not wait
    for the memory of one; the last group overlaps the one before where rows are not a multiple.
    """
    top = np.uint64(root)
    if count < np.uint64(8):
        for k in range(count):
            node, left = step_down(matrix, first + k, top, packed)
            while left >= 0:
                node, left = step_down(matrix, first + k, node, packed)
            nodes[k] = np.int64(node)
        return
    one = np.uint64(1)
    for group in range((count + np.uint64(7)) >> np.uint64(3)):
        k = min(np.uint64(group) << np.uint64(3), count - np.uint64(8))
        i0 = first + k
        i1 = i0 + one
        i2 = i1 + one
        i3 = i2 + one
        i4 = i3 + one
        i5 = i4 + one
        i6 = i5 + one
        i7 = i6 + one
        n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = top
        inner = True
        while inner:
            n0, l0 = step_down(matrix, i0, n0, packed)
            n1, l1 = step_down(matrix, i1, n1, packed)
            n2, l2 = step_down(matrix, i2, n2, packed)
            n3, l3 = step_down(matrix, i3, n3, packed)
            n4, l4 = step_down(matrix, i4, n4, packed)
            n5, l5 = step_down(matrix, i5, n5, packed)
            n6, l6 = step_down(matrix, i6, n6, packed)
            n7, l7 = step_down(matrix, i7, n7, packed)
            inner = (l0 & l1 & l2 & l3 & l4 & l5 & l6 & l7) >= 0
        nodes[k] = np.int64(n0)
        nodes[k + one] = np.int64(n1)
        nodes[k + np.uint64(2)] = np.int64(n2)
        nodes[k + np.uint64(3)] = np.int64(n3)
        nodes[k + np.uint64(4)] = np.int64(n4)
        nodes[k + np.uint64(5)] = np.int64(n5)
        nodes[k + np.uint64(6)] = np.int64(n6)
        nodes[k + np.uint64(7)] = np.int64(n7)


@kernel
def descend_block(
    matrix,
    begin,
    end,
    root,
    packed,
    level_sets,
    programs,
    users,
    stack,
    nodes,
    active,
    keys,
    salt,
    complete,
):
    """Find the leaves of a block of rows in one tree, level by level; `nodes` receives them.

    Missing values go to the side that the node stores for them, or to a random side if there are
    keys. A `complete` block has none.

    Rows of one level are independent and the direction is computed without a branch; row by row, a
    descent would mostly wait for memory and mispredicted branches.
    """
    if complete and packed[root, 3] & ORDERED:
        rows = np.uint64(end - begin)
        descend_ordered(matrix, np.uint64(begin), rows, root, packed, nodes)
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
            elif flags & IS_SET and x == x:
                goes_left = is_member(level_sets, packed[node, 2], x)
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
    matrix,
    first,
    last,
    roots,
    packed,
    level_sets,
    programs,
    users,
    stack,
    nodes,
    active,
    keys,
    salts,
    out,
):
    """Write the leaf number of each row in each tree, for rows from first to last.

    With a salt for each tree and an array for keys, missing values go to a random side.
    """
    for begin in range(first, last, nodes.shape[0]):
        end = min(begin + nodes.shape[0], last)
        complete = is_complete(matrix, begin, end)
        if keys.shape[0] > 0:
            hash_rows(matrix, begin, end, keys)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix,
                begin,
                end,
                roots[tree],
                packed,
                level_sets,
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
    level_sets,
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
    """Sum each row's leaf values over all trees, for rows from first to last.

    Tree t belongs to group t modulo `groups`; each group has its own columns. There are no keys:
    missing values go to the side chosen while growing.
    """
    for begin in range(first, last, nodes.shape[0]):
        end = min(begin + nodes.shape[0], last)
        complete = is_complete(matrix, begin, end)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix,
                begin,
                end,
                roots[tree],
                packed,
                level_sets,
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
