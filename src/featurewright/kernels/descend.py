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
def find_leaf(matrix, i, root, packed, programs, users, stack):
    """Follow one row from a tree's root to its leaf; give the leaf's node."""
    node = root
    while packed[node, 0] >= 0:
        column = packed[node, 1]
        if column == PROGRAM:
            x = run_row(programs, node, matrix, i, users, stack)
        else:
            x = matrix[i, column]
        threshold = bits_float(packed[node, 2])
        flags = packed[node, 3]
        if x != x:
            goes_left = (flags & MISSING_LEFT) != 0
        elif flags & IS_LEVEL:
            goes_left = x == threshold
        else:
            goes_left = x <= threshold
        node = np.int64(packed[node, 0]) + (0 if goes_left else 1)
    return node


@kernel
def find_leaves(matrix, first, last, roots, packed, programs, users, stack, out):
    """Write the leaf number of each row in each tree, for rows from first to last."""
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for tree in range(roots.shape[0]):
            for i in range(begin, end):
                node = find_leaf(matrix, i, roots[tree], packed, programs, users, stack)
                out[i, tree] = -1 - packed[node, 0]


@kernel
def add_leaf_values(
    matrix, first, last, roots, packed, programs, users, stack, values, groups, out
):
    """Add up each row's leaf values over all trees, for rows from first to last.

    Trees take turns in `groups` groups, each of which adds to columns of its own.
    """
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for tree in range(roots.shape[0]):
            for i in range(begin, end):
                node = find_leaf(matrix, i, roots[tree], packed, programs, users, stack)
                leaf = -1 - np.int64(packed[node, 0])
                column = tree % groups
                for t in range(values.shape[1]):
                    out[i, column + t] += values[leaf, t]


@kernel
def run_programs(matrix, programs, users, stack, out):
    """Evaluate every program on every row."""
    for i in range(matrix.shape[0]):
        for k in range(programs.shape[0]):
            out[i, k] = run_row(programs, k, matrix, i, users, stack)
