"""The forest kernel: lengths of the common paths of two rows, from the positions of leaves."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel


@kernel
def number_depth_first(roots, left, depth, stack, place, own, meet):
    """Assign positions to leaves from left to right; compute own and shared path lengths.

    `place` (the position from left to right) is by leaf number, the others by position: `own` is
    the length of the path to the leaf and `meet` the length it shares with the previous leaf of the
    same tree, else 0. The length shared by two leaves is the minimum of `meet` between them.
    """
    count = 0
    for tree in range(roots.shape[0]):
        stack[0] = roots[tree]
        top = 1
        shared = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if node < 0:  # a right child: the paths of the two sides share its parent
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
    """Sort the rows of a block by their leaf positions in a tree."""
    for j in range(n_block):
        k = j
        while k > 0 and places[tree, first + order[k - 1]] > places[tree, first + j]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = j


@kernel(inline=True)
def share_with_block(places, tree, first, n_block, low, high, own, meet, order, front, table, top):
    """Compute the path length that each leaf of a tree shares with each row of a block.

    The results go to `table`, from row `top` on. A sweep from left to right maintains the length
    shared by the current leaf and the rows to its left, a second sweep from right to left that
    shared with the rows to its right.
    """
    width, one = np.uint64(table.shape[1]), np.uint64(1)
    zero = own[0] - own[0]
    order_block(places, tree, first, n_block, order)
    line = np.uint64(top)
    for j in range(width):
        table[line, j] = zero
    reached = 0
    for leaf in range(low, high):
        shared = meet[leaf]
        if leaf > low:
            for j in range(width):
                before = table[line, j]
                table[line + one, j] = before if before < shared else shared
            line += one
        while reached < n_block and places[tree, first + order[reached]] == leaf:
            table[line, np.uint64(order[reached])] = own[leaf]
            reached += 1
    for j in range(width):
        front[j] = zero
    reached = n_block - 1
    shared = zero
    for leaf in range(high - 1, low - 1, -1):
        for j in range(width):
            front[j] = front[j] if front[j] < shared else shared
        shared = meet[leaf]
        while reached >= 0 and places[tree, first + order[reached]] == leaf:
            front[order[reached]] = own[leaf]
            reached -= 1
        for j in range(width):
            known = table[line, j]
            table[line, j] = known if known > front[j] else front[j]
        line -= one


@kernel(inline=True)
def divide_by_longer(places, tree, first, n_block, low, high, own, table, top):
    """Divide the shared lengths of leaves and rows of a block by the longer of the two paths."""
    for leaf in range(low, high):
        for j in range(n_block):
            table[top + leaf - low, j] /= max(own[leaf], own[places[tree, first + j]])


@kernel
def add_shared(
    rows, begin, end, others, first, n_block, edges, own, meet, by_longer, order, front, table, sums
):
    """Sum over all trees the path lengths that rows share with each row of a block of others.

    Leaf positions are indexed by tree, then by row. With `by_longer` each tree's shared length is
    divided by the longer of the two paths. The last axis of `table` and `sums` has the largest
    block size, so that inner loops vectorise. Trees are processed in pairs, so that sums are read
    and written half as often; the table has a half for each, and its last row is zero, for a tree
    without a partner.
    """
    width, n_trees = np.uint64(table.shape[1]), edges.shape[0] - 1
    half = table.shape[0] // 2
    for j in range(width):
        table[np.uint64(2 * half), j] = 0
    for i in range(np.uint64(end - begin)):
        for j in range(width):
            sums[i, j] = 0
    for tree in range(0, n_trees, 2):
        n_pair = min(2, n_trees - tree)
        for member in range(n_pair):
            t, top = tree + member, member * half
            low, high = edges[t], edges[t + 1]
            share_with_block(
                others, t, first, n_block, low, high, own, meet, order, front, table, top
            )
            if by_longer:
                divide_by_longer(others, t, first, n_block, low, high, own, table, top)
        last = tree + n_pair - 1
        for i in range(np.uint64(end - begin)):
            row = np.uint64(begin) + i
            mine = np.uint64(rows[np.uint64(tree), row] - edges[tree])
            partner = np.uint64(2 * half)
            if n_pair == 2:
                partner = np.uint64(half + rows[np.uint64(last), row] - edges[last])
            for j in range(width):
                sums[i, j] += table[mine, j] + table[partner, j]


@kernel
def write_shared(sums, begin, end, first, n_block, row_norms, other_norms, out):
    """Write a block of the kernel matrix, divided by the square roots of products of norms."""
    for i in range(begin, end):
        for j in range(np.uint64(n_block)):
            norm = np.sqrt(row_norms[i] * other_norms[np.uint64(first) + j])
            out[np.uint64(i), np.uint64(first) + j] = sums[np.uint64(i - begin), j] / norm
