"""Let rows descend grown trees."""

from __future__ import annotations

import numpy as np

from featurewright.expressions import opcodes as op
from featurewright.kernels.jit import bits_float, kernel
from featurewright.kernels.programs import run_row

BLOCK = 256  # rows that descend a tree together: they stay in the L1 cache while it does in L2

PROGRAM = -1  # stands in place of a column where a node tests an expression
IS_LEVEL = 1
MISSING_LEFT = 2


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
def descend_block(matrix, begin, end, root, packed, programs, users, stack, nodes, active):
    """Let a block of rows descend one tree, a level at a time; `nodes` receives their leaves.

    Rows of one level do not wait for each other, and which way a row goes is no branch to
    mispredict: row by row, a descent does little but wait.
    """
    count, first, one = np.uint64(end - begin), np.uint64(begin), np.uint64(1)
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
            below = np.int64(packed[node, 0]) + 1 - goes_left
            nodes[k] = below
            active[kept] = np.int64(k)
            kept += one if packed[np.uint64(below), 0] >= 0 else np.uint64(0)
        count = kept


@kernel
def find_leaves(matrix, first, last, roots, packed, programs, users, stack, nodes, active, out):
    """Write the leaf number of each row in each tree, for rows from first to last."""
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix, begin, end, roots[tree], packed, programs, users, stack, nodes, active
            )
            for i in range(begin, end):
                out[i, tree] = -1 - packed[nodes[i - begin], 0]


@kernel
def add_leaf_values(
    matrix, first, last, roots, packed, programs, users, stack, nodes, active, values, groups, out
):
    """Add up each row's leaf values over all trees, for rows from first to last.

    Trees take turns in `groups` groups, each of which adds to columns of its own.
    """
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for tree in range(roots.shape[0]):
            descend_block(
                matrix, begin, end, roots[tree], packed, programs, users, stack, nodes, active
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
