"""Number the nodes of trees and write the paths of rows as a sparse matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featurewright.engine.compiler import bits_float, kernel
from featurewright.engine.descend import IS_LEVEL, IS_SET, PROGRAM, mix
from featurewright.engine.level_sets import is_member
from featurewright.engine.programs import run_row

_ONE = np.float32(1.0)
_HALF = np.float32(0.5)


@kernel
def number_breadth_first(roots, left, order, parent):
    """Assign numbers to nodes, breadth first within each tree.

    `order` receives the node of each number and `parent` the number of its parent, -1 at a root. A
    tree's numbers are in the same range as its nodes, so `order` also serves as the queue.
    """
    for tree in range(roots.shape[0]):
        head = roots[tree]
        order[head] = head
        parent[head] = -1
        tail = head + 1
        while head < tail:
            below = left[order[head]]
            if below >= 0:
                for child in range(2):
                    order[tail] = below + child
                    parent[tail] = head
                    tail += 1
            head += 1


@kernel
def count_paths(leaves, used, first, last, length, counts):
    """Count the nodes on the paths of each row: `length` is by leaf; only trees `used` count."""
    skips = used.shape[0] > 0
    for i in range(first, last):
        count = np.int64(0)
        for tree in range(leaves.shape[1]):
            if not skips or used[i, tree]:
                count += length[leaves[i, tree]]
        counts[i - first] = count


class PathsOfLeaves(NamedTuple):
    """The path of each leaf: its length, its last number, and from there the parents."""

    edges: np.ndarray  # int64: the first leaf of each tree, and the end
    length: np.ndarray  # int32, by leaf
    ends: np.ndarray  # int32, by leaf
    parent: np.ndarray  # int32, by number


class PathTable(NamedTuple):
    """Working arrays: the paths of the leaves of a tree, written out one after the other."""

    numbers: np.ndarray  # int32; a tree whose paths are longer together has no table
    starts: np.ndarray  # int64[leaves of a tree + 1]


@kernel
def write_out_tree(tree, paths, table):
    """Write out the paths of all leaves of a tree; return whether there is room for them."""
    first, last = paths.edges[tree], paths.edges[tree + 1]
    room = np.int64(table.numbers.shape[0]) - 7  # as many are read behind the last path
    end = np.int64(0)
    for leaf in range(first, last):
        table.starts[leaf - first] = end
        begin, end = end, end + paths.length[leaf]
        if end > room:
            return False
        node = paths.ends[leaf]
        for k in range(end - 1, begin - 1, -1):
            table.numbers[k] = node
            node = paths.parent[np.uint64(node)]
    table.starts[last - first] = end
    return True


@kernel(inline=True)
def copy_eight(source, k, target, j):
    """Copy eight neighbours; all are read before one is written, so that one instruction can."""
    one = np.uint64(1)
    k1 = k + one
    k2 = k1 + one
    k3 = k2 + one
    k4 = k3 + one
    k5 = k4 + one
    k6 = k5 + one
    k7 = k6 + one
    a, b, c, d = source[k], source[k1], source[k2], source[k3]
    e, f, g, h = source[k4], source[k5], source[k6], source[k7]
    target[j] = a
    target[j + one] = b
    target[j + np.uint64(2)] = c
    target[j + np.uint64(3)] = d
    target[j + np.uint64(4)] = e
    target[j + np.uint64(5)] = f
    target[j + np.uint64(6)] = g
    target[j + np.uint64(7)] = h


@kernel
def write_paths(leaves, used, first, last, paths, starts, scale, cursors, table, indices, data):
    """Write the numbers of the nodes on each row's paths.

    Numbers increase along a path and from tree to tree, so they are sorted. `starts` is the first
    entry of each row, from row `first` on, and the end. Rows are processed in blocks of as many
    rows as cursors, tree by tree. Where a block has as many rows as the tree has leaves, all its
    paths are written out once and copied eight numbers at a time, up to seven too many, which the
    next tree overwrites; else, and at the end of a row, each is followed from the leaf upwards.
    """
    skips = used.shape[0] > 0
    block, one = cursors.shape[0], np.uint64(1)
    eight = np.uint64(8)
    spare = np.uint64(7)
    for begin in range(first, last, block):
        end = min(begin + block, last)
        for i in range(begin, end):
            cursors[i - begin] = starts[i - first]
        for tree in range(leaves.shape[1]):
            first_leaf = paths.edges[tree]
            is_written = False
            if end - begin >= paths.edges[tree + 1] - first_leaf:
                is_written = write_out_tree(tree, paths, table)
            for i in range(begin, end):
                if skips and not used[i, tree]:
                    continue
                # Unsigned indices avoid the check for negative ones.
                leaf = np.uint64(leaves[i, tree])
                place = np.uint64(cursors[i - begin])
                length = np.uint64(paths.length[leaf])
                k = place + length
                cursors[i - begin] = np.int64(k)
                if is_written and k + spare < np.uint64(starts[i - first + 1]):
                    copied = np.uint64(table.starts[leaf - np.uint64(first_leaf)])
                    while place < k:
                        copy_eight(table.numbers, copied, indices, place)
                        place += eight
                        copied += eight
                    continue
                node = np.uint64(paths.ends[leaf])
                while k > place:
                    k -= one
                    indices[k] = node
                    node = np.uint64(paths.parent[node])
        for i in range(begin, end):
            value = scale[i]
            for entry in range(np.uint64(starts[i - first]), np.uint64(cursors[i - begin])):
                data[entry] = value


@kernel
def write_level_values(leaves, used, first, last, length, starts, scale, values, data):
    """Write the values of the entries of each row's paths, which depend on the depth of a node.

    `values` has the value of the first, second, ... node of a path. The other arguments are those
    of `write_paths`.
    """
    skips = used.shape[0] > 0
    for i in range(first, last):
        place = np.uint64(starts[i - first])
        for tree in range(leaves.shape[1]):
            if skips and not used[i, tree]:
                continue
            n_nodes = np.uint64(length[leaves[i, tree]])
            for k in range(n_nodes):
                data[place + k] = values[k] * scale[i]
            place += n_nodes


class Branches(NamedTuple):
    """Trees in which rows with missing values go both ways."""

    roots: np.ndarray  # int64
    packed: np.ndarray  # int32[nodes, 4]
    level_sets: np.ndarray  # uint32[sets, words]
    programs: np.ndarray  # int32[nodes, max_size]
    columns: np.ndarray  # int32: column of a node in the encoding; -1: none
    values: np.ndarray  # float32: value of a node's entry by its depth


class Front(NamedTuple):
    """Working arrays while a row descends a tree level by level."""

    nodes: np.ndarray  # int64[2, leaves of a tree]
    weights: np.ndarray  # float32, same shape
    columns: np.ndarray  # int32[nodes of a tree]: columns of the nodes reached
    mass: np.ndarray  # float32[nodes of a tree]: their weights
    stack: np.ndarray  # float32[max_size + 1]


@kernel(inline=True)
def which_way(matrix, i, node, branches, users, stack):
    """Return the direction of a row at a node: 1 left, 0 right, -1 if its value is missing."""
    column = branches.packed[node, 1]
    if column == PROGRAM:
        x = run_row(branches.programs, node, matrix, i, users, stack)
    else:
        x = matrix[i, column]
    if x != x:
        return -1
    threshold = bits_float(branches.packed[node, 2])
    if branches.packed[node, 3] & IS_LEVEL:
        return 1 if x == threshold else 0
    if branches.packed[node, 3] & IS_SET:
        return is_member(branches.level_sets, branches.packed[node, 2], x)
    return 1 if x <= threshold else 0


@kernel
def spread_row(matrix, i, root, branches, users, front):
    """Find the nodes that a row reaches, both ways with half the weight if its value is missing.

    It descends level by level, so that breadth-first numbers are sorted. Returns the number of
    entries.
    """
    nodes, weights = front.nodes, front.weights
    level, count, written, depth = 0, 1, np.int64(0), 0
    nodes[0, 0] = root
    weights[0, 0] = _ONE
    while count > 0:
        below = 0
        for k in range(count):
            node, weight = nodes[level, k], weights[level, k]
            if branches.columns[node] >= 0:
                front.columns[written] = branches.columns[node]
                front.mass[written] = weight * branches.values[depth]
                written += 1
            child = np.int64(branches.packed[node, 0])
            if child < 0:
                continue
            way = which_way(matrix, i, node, branches, users, front.stack)
            if way < 0:
                weight *= _HALF
            if way != 0:
                nodes[1 - level, below] = child
                weights[1 - level, below] = weight
                below += 1
            if way != 1:
                nodes[1 - level, below] = child + 1
                weights[1 - level, below] = weight
                below += 1
        level, count, depth = 1 - level, below, depth + 1
    return written


@kernel
def count_spread(matrix, used, first, last, branches, users, front, counts):
    """Count the nodes that each row reaches with some weight."""
    skips = used.shape[0] > 0
    for i in range(first, last):
        counts[i - first] = 0
        for tree in range(branches.roots.shape[0]):
            if not skips or used[i, tree]:
                root = branches.roots[tree]
                counts[i - first] += spread_row(matrix, i, root, branches, users, front)


@kernel
def write_spread(matrix, used, first, last, branches, users, front, starts, scale, indices, data):
    """Write the nodes that each row reaches and their weights."""
    skips = used.shape[0] > 0
    for i in range(first, last):
        place = starts[i - first]
        for tree in range(branches.roots.shape[0]):
            if skips and not used[i, tree]:
                continue
            n_nodes = spread_row(matrix, i, branches.roots[tree], branches, users, front)
            for k in range(n_nodes):
                indices[place + k] = front.columns[k]
                data[place + k] = front.mass[k] * scale[i]
            place += n_nodes


@kernel(inline=True)
def bucket_of(number, n_buckets, mixes):
    """Return the bucket of a column: its number, hashed if `mixes`, modulo `n_buckets`."""
    if mixes:
        return np.int64(mix(np.uint64(number)) % np.uint64(n_buckets))
    return np.int64(number) % n_buckets


@kernel
def count_buckets(starts, indices, n_buckets, mixes, marks, counts):
    """Count the distinct buckets of the entries of each row.

    `marks` is a bit set of buckets, which is zero before and after.
    """
    for i in range(starts.shape[0] - 1):
        count = np.int64(0)
        for k in range(starts[i], starts[i + 1]):
            bucket = bucket_of(indices[k], n_buckets, mixes)
            bit = np.uint64(1) << np.uint64(bucket & 63)
            count += np.int64((marks[bucket >> 6] & bit) == 0)
            marks[bucket >> 6] |= bit
        for k in range(starts[i], starts[i + 1]):
            marks[bucket_of(indices[k], n_buckets, mixes) >> 6] = 0
        counts[i] = count


@kernel
def add_to_buckets(starts, indices, data, n_buckets, mixes, marks, sums, places, out, values):
    """Sum each row's entries by bucket and write the buckets in order.

    A pass over the bit set `marks`, zero before and after, yields the buckets of a row in order.
    Row i of the result begins at `places[i]`.
    """
    byte = np.uint64(0xFF)
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            bucket = bucket_of(indices[k], n_buckets, mixes)
            bit = np.uint64(1) << np.uint64(bucket & 63)
            if not marks[bucket >> 6] & bit:
                marks[bucket >> 6] |= bit
                sums[bucket] = 0
            sums[bucket] += data[k]
        place = places[i]
        for word in range(marks.shape[0]):
            bits = marks[word]
            marks[word] = 0
            bucket = word << 6
            while bits:
                if not bits & byte:
                    bits >>= np.uint64(8)
                    bucket += 8
                    continue
                if bits & np.uint64(1):
                    out[place] = bucket
                    values[place] = sums[bucket]
                    place += 1
                bits >>= np.uint64(1)
                bucket += 1
