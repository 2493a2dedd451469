"""The forest kernel: lengths of the common paths of two rows, from the positions of leaves."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel

BLOCK_COLUMNS = 128  # of the kernel matrix, computed together; a constant, so that loops vectorise


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
def share_with_block(places, tree, first, n_block, low, high, own, meet, order, table, back, top):
    """Compute what each leaf of a tree shares with each row of a block.

    The results go to `table`, from row `top` on. A sweep from left to right propagates what the
    rows to the left of a leaf share with it, a second sweep from right to left, in `back`, what
    the rows to its right do; the maximum of both counts. The sweeps read one row of an array and
    write the next: with the width a constant, that is what the compiler turns into vector
    operations; it does not where one row is updated in place.
    """
    one, zero = np.uint64(1), meet[low]
    order_block(places, tree, first, n_block, order)
    line, last = np.uint64(top), np.uint64(top + high - low - 1)
    for j in range(BLOCK_COLUMNS):
        table[line, j] = zero
        back[last, j] = zero
    reached = 0
    for leaf in range(low, high):
        shared = meet[leaf]
        if leaf > low:
            for j in range(BLOCK_COLUMNS):
                before = table[line, j]
                table[line + one, j] = before if before < shared else shared
            line += one
        while reached < n_block and places[tree, first + order[reached]] == leaf:
            table[line, np.uint64(order[reached])] = own[leaf]
            reached += 1
    reached = n_block - 1
    for leaf in range(high - 1, low - 1, -1):
        while reached >= 0 and places[tree, first + order[reached]] == leaf:
            back[line, np.uint64(order[reached])] = own[leaf]
            reached -= 1
        shared = meet[leaf]
        if leaf > low:
            for j in range(BLOCK_COLUMNS):
                after = back[line, j]
                back[line - one, j] = after if after < shared else shared
            line -= one
    for k in range(np.uint64(top), last + one):
        for j in range(BLOCK_COLUMNS):
            left, right = table[k, j], back[k, j]
            table[k, j] = left if left > right else right


@kernel(inline=True)
def divide_by_longer(places, tree, first, n_block, low, high, own, table, top):
    """Divide what leaves and rows of a block share by the longer of the two paths.

    Paths without any length, of a tree without a split whose root does not count, share nothing.
    """
    for leaf in range(low, high):
        for j in range(n_block):
            longer = max(own[leaf], own[places[tree, first + j]])
            if longer > 0:
                table[top + leaf - low, j] /= longer


@kernel
def add_shared(
    rows, begin, end, others, first, n_block, edges, own, meet, by_longer, order, table, back, sums
):
    """Sum over all trees what rows share with each row of a block of others.

    Leaf positions are indexed by tree, then by row. With `by_longer` each tree's shared length is
    divided by the longer of the two paths. The last axis of `table`, `back` and `sums` has
    `BLOCK_COLUMNS` elements, however many rows the block has. Trees are processed in pairs, so that
    sums are read and written half as often; the table has a half for each, and its last row is
    zero, for a tree without a partner.
    """
    n_trees, half = edges.shape[0] - 1, table.shape[0] // 2
    for j in range(BLOCK_COLUMNS):
        table[np.uint64(2 * half), j] = 0
    for i in range(np.uint64(end - begin)):
        for j in range(BLOCK_COLUMNS):
            sums[i, j] = 0
    for tree in range(0, n_trees, 2):
        n_pair = min(2, n_trees - tree)
        for member in range(n_pair):
            t, top = tree + member, member * half
            low, high = edges[t], edges[t + 1]
            share_with_block(
                others, t, first, n_block, low, high, own, meet, order, table, back, top
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
            for j in range(BLOCK_COLUMNS):
                sums[i, j] += table[mine, j] + table[partner, j]


@kernel
def write_shared(sums, begin, end, first, n_block, row_norms, other_norms, out):
    """Write a block of the kernel matrix, divided by the square roots of products of norms."""
    for i in range(begin, end):
        for j in range(np.uint64(n_block)):
            norm = np.sqrt(row_norms[i] * other_norms[np.uint64(first) + j])
            out[np.uint64(i), np.uint64(first) + j] = sums[np.uint64(i - begin), j] / norm
