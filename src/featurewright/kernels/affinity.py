"""How far two rows go together through trees: the forest kernel from the places of leaves."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.jit import kernel


@kernel
def number_depth_first(roots, left, depth, stack, place, own, meet):
    """Give leaves numbers from left to right; note what neighbours share.

    `place` is by leaf number, the others by place: `own` is the length of the path to the leaf and
    `meet` that of the part in common with the leaf before it in the same tree, else 0. What two
    leaves have in common is the least `meet` between them.
    """
    count = 0
    for tree in range(roots.shape[0]):
        stack[0] = roots[tree]
        top = 1
        shared = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if node < 0:  # a right child: its parent is where the two sides part
                node = -1 - node
                shared = depth[node]
            if left[node] >= 0:
                stack[top] = -2 - left[node]
                stack[top + 1] = left[node]
                top += 2
            else:
                place[-1 - left[node]] = count
                own[count] = depth[node] + 1
                meet[count] = shared
                count += 1


@kernel(inline=True)
def order_block(places, tree, first, n_block, order):
    """Sort the rows of a block by their places in a tree."""
    for j in range(n_block):
        k = j
        while k > 0 and places[tree, first + order[k - 1]] > places[tree, first + j]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = j


@kernel(inline=True)
def share_with_block(places, tree, first, n_block, low, high, own, meet, order, front, table):
    """Fill a table with what every leaf of a tree has in common with each row of a block.

    One sweep from left to right carries along what the rows met so far have in common with the leaf
    the sweep is at, a second one from right to left does so for the rows on the other side.
    """
    width = np.uint64(table.shape[1])
    zero = own[0] - own[0]
    order_block(places, tree, first, n_block, order)
    for j in range(width):
        front[j] = zero
    reached = 0
    for leaf in range(low, high):
        shared = meet[leaf]
        for j in range(width):
            front[j] = min(front[j], shared)
        while reached < n_block and places[tree, first + order[reached]] == leaf:
            front[order[reached]] = own[leaf]
            reached += 1
        for j in range(width):
            table[np.uint64(leaf - low), j] = front[j]
    for j in range(width):
        front[j] = zero
    reached = n_block - 1
    shared = zero
    for leaf in range(high - 1, low - 1, -1):
        for j in range(width):
            front[j] = min(front[j], shared)
        shared = meet[leaf]
        while reached >= 0 and places[tree, first + order[reached]] == leaf:
            front[order[reached]] = own[leaf]
            reached -= 1
        for j in range(width):
            known = table[np.uint64(leaf - low), j]
            table[np.uint64(leaf - low), j] = max(known, front[j])


@kernel
def add_shared(
    rows, begin, end, others, first, n_block, edges, own, meet, by_longer, order, front, table, sums
):
    """Add up over all trees what rows have in common with each row of a block of others.

    Places of leaves are by tree, then by row. With `by_longer` each tree's share is divided by the
    longer one of both paths. The last axis of `table` and `sums` is as long as a block can be: a
    width that the compiler does not know makes it use vector instructions.
    """
    width = np.uint64(table.shape[1])
    for i in range(np.uint64(end - begin)):
        for j in range(width):
            sums[i, j] = 0
    for tree in range(edges.shape[0] - 1):
        low, high = edges[tree], edges[tree + 1]
        share_with_block(others, tree, first, n_block, low, high, own, meet, order, front, table)
        if by_longer:
            for leaf in range(low, high):
                for j in range(n_block):
                    table[leaf - low, j] /= max(own[leaf], own[others[tree, first + j]])
        for i in range(np.uint64(end - begin)):
            mine = np.uint64(rows[tree, begin + np.int64(i)] - low)
            for j in range(width):
                sums[i, j] += table[mine, j]


@kernel
def write_shared(sums, begin, end, first, n_block, row_norms, other_norms, out):
    """Write a block of the kernel matrix, divided by the roots of the norms' products."""
    for i in range(begin, end):
        for j in range(np.uint64(n_block)):
            norm = np.sqrt(row_norms[i] * other_norms[np.uint64(first) + j])
            out[np.uint64(i), np.uint64(first) + j] = sums[np.uint64(i - begin), j] / norm
