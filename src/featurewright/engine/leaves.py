"""Compute what the leaves of a grown tree predict, and the leaf of each row."""

from __future__ import annotations

from featurewright.engine.compiler import kernel


@kernel
def number_leaves(left):
    """Store -1 - leaf number as the left child of every leaf; return the number of leaves."""
    count = 0
    for node in range(left.shape[0]):
        if left[node] < 0:
            left[node] = -1 - count
            count += 1
    return count


@kernel
def class_values(left, start, size, row_ids, codes, weights, out):
    """Compute the weighted class shares of each leaf's rows."""
    for node in range(left.shape[0]):
        if left[node] >= 0:
            continue
        leaf = -1 - left[node]
        total = 0.0
        for c in range(out.shape[1]):
            out[leaf, c] = 0.0
        for i in range(start[node], start[node] + size[node]):
            row = row_ids[i]
            out[leaf, codes[row]] += weights[row]
            total += weights[row]
        for c in range(out.shape[1]):
            out[leaf, c] /= total


@kernel
def mean_values(left, start, size, row_ids, sums, weights, l2, out):
    """Compute each leaf's weighted target sums divided by its weight plus L2."""
    for node in range(left.shape[0]):
        if left[node] >= 0:
            continue
        leaf = -1 - left[node]
        weight = 0.0
        for i in range(start[node], start[node] + size[node]):
            weight += weights[row_ids[i]]
        for t in range(out.shape[1]):
            total = 0.0
            for i in range(start[node], start[node] + size[node]):
                total += sums[t, row_ids[i]]
            out[leaf, t] = total / (weight + l2)


@kernel
def vote_values(left, start, size, row_ids, sums, out):
    """Compute the sign of each leaf's summed edges, for each class."""
    for node in range(left.shape[0]):
        if left[node] >= 0:
            continue
        leaf = -1 - left[node]
        for t in range(out.shape[1]):
            total = 0.0
            for i in range(start[node], start[node] + size[node]):
                total += sums[t, row_ids[i]]
            out[leaf, t] = 1.0 if total >= 0.0 else -1.0


@kernel
def place_rows(left, start, size, row_ids, out):
    """Write the leaf number of each row that the tree grew on."""
    for node in range(left.shape[0]):
        if left[node] >= 0:
            continue
        for i in range(start[node], start[node] + size[node]):
            out[row_ids[i]] = -1 - left[node]
