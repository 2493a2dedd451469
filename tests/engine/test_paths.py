"""Nodes are numbered, and paths written and put into buckets, as the slow versions do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.engine.arguments import NO_USERS
from tests.engine.forests import make_forest
from tests.naive import paths as naive

from featurewright.engine import paths as kernels
from featurewright.engine.forest import Forest
from featurewright.paths.encoding import (
    LeafSource,
    Seen,
    SpreadSource,
    all_trees,
    lay_out,
    number_forest,
    write_hashed,
    write_rows,
)


def holey(X: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    out = X.copy()
    out[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return out


def test_nodes_are_numbered_breadth_first():
    forest, _ = make_forest()
    numbering = number_forest(forest)
    assert numbering.nodes.tolist() == naive.breadth_first(forest)
    np.testing.assert_array_equal(numbering.nodes[numbering.number], np.arange(len(forest.left)))
    for number, node in enumerate(numbering.nodes):
        parent = numbering.parent[number]
        if node in forest.roots:
            assert parent == -1
        else:
            assert node - forest.left[numbering.nodes[parent]] in (0, 1)
    leaf_numbers = np.sort(numbering.end)
    np.testing.assert_array_equal(leaf_numbers[numbering.rank], numbering.end)


# The trees of the published example have 9, 8, 8 and 9 nodes; those of 8 have a test of three
# answers, as the trees of that text may have. Parents count from 1 within each tree. (The text
# lists node 2 for the third tree alone and node 3, as 20 = 17 + 3, in the whole: here it is 3.)
PARENTS = [
    [0, 1, 1, 2, 2, 5, 5, 6, 6],
    [0, 1, 1, 3, 3, 5, 5, 5],
    [0, 1, 1, 3, 3, 5, 5, 5],
    [0, 1, 1, 2, 2, 3, 3, 6, 6],
]
MARKED = [7, 8, 8, 9]
PUBLISHED = [1, 2, 5, 7, 10, 12, 14, 17, 18, 20, 22, 25, 26, 28, 31, 34]


def published_example() -> LeafSource:
    """Return the source of the example's marked row."""
    forest, _ = make_forest(n_trees=1)
    offsets = np.cumsum([0, *map(len, PARENTS)])
    parents = [
        parent - 1 + offset if parent else -1
        for tree, offset in zip(PARENTS, offsets, strict=False)
        for parent in tree
    ]
    numbering = replace(
        number_forest(forest),
        parent=np.array(parents, np.int32),
        end=np.array([m - 1 + o for m, o in zip(MARKED, offsets, strict=False)], np.int32),
        length=np.full(4, 4, np.int32),
        edges=np.arange(5),
    )
    leaves = np.arange(4, dtype=np.int32)[None, :]
    return LeafSource(leaves, lay_out(forest, numbering, only_leaves=False), all_trees(1))


def test_published_example():
    assert sum(map(len, PARENTS)) == 34
    starts, indices, data = write_rows(published_example(), 1, 34, 1)
    assert starts.tolist() == [0, 16]
    assert (indices + 1).tolist() == PUBLISHED
    assert data.tolist() == [1.0] * 16


@loop_over("mixes", [False, True])
@loop_over("n_buckets", [1, 5, 10, 34, 1000])
def test_published_example_in_buckets(n_buckets, mixes):
    _, indices, data = write_hashed(published_example(), 1, n_buckets, 1, mixes=mixes)
    expected = naive.in_buckets([k - 1 for k in PUBLISHED], n_buckets, mixes=mixes)
    assert dict(zip(indices.tolist(), data.tolist(), strict=True)) == dict(expected)
    assert indices.tolist() == sorted(expected)


def encode(source, n_rows: int, forest: Forest) -> np.ndarray:
    starts, indices, data = write_rows(source, n_rows, len(forest.left), 2)
    out = np.zeros((n_rows, len(forest.left)))
    for i in range(n_rows):
        own = indices[starts[i] : starts[i + 1]]
        assert (np.diff(own) > 0).all()
        out[i, own] = data[starts[i] : starts[i + 1]]
    return out


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 0.9]))
@settings(max_examples=8)
def test_spread_masses(seed, share):
    forest, X = make_forest(3)
    matrix = holey(X[:20], share, seed)
    numbering = number_forest(forest)
    source = SpreadSource(
        matrix, forest, NO_USERS, lay_out(forest, numbering, only_leaves=False), all_trees(20)
    )
    actual = encode(source, 20, forest)
    expected = np.zeros_like(actual)
    for i, row in enumerate(matrix):
        for root in forest.roots:
            for node, weight in naive.spread(forest, root, row).items():
                expected[i, numbering.number[node]] = weight
    np.testing.assert_array_equal(actual, expected)
    # What enters a node leaves it: each root has weight 1, and so have its leaves together.
    assert (actual[:, numbering.number[forest.roots]] == 1.0).all()
    leaf_mass = actual[:, np.sort(numbering.end)].sum(axis=1)
    np.testing.assert_allclose(leaf_mass, forest.n_trees)


@loop_over("size", [0, 8, 60, 2**12])
@loop_over("block", [1, 7, 40, 400])
def test_written_out_paths_are_those_followed(block, size):
    forest, X = make_forest(5)
    rng = np.random.default_rng(block)
    rows = np.ascontiguousarray(X[rng.integers(0, len(X), 90)])
    numbering = number_forest(forest)
    assert np.diff(numbering.edges).max() < 90  # the largest block has them written out
    leaves, used = forest.find_leaves(rows, NO_USERS), rng.random((90, 5)) < 0.8
    lengths = np.where(used, numbering.length[leaves], 0).sum(axis=1)
    starts = np.append(0, np.cumsum(lengths))
    indices, data = np.full(starts[-1], -1, np.int32), np.empty(starts[-1], np.float32)
    paths = kernels.PathsOfLeaves(
        numbering.edges, numbering.length, numbering.end, numbering.parent
    )
    table = kernels.PathTable(np.empty(size, np.int32), np.empty(len(forest.left), np.int64))
    scale, cursors = np.ones(90, np.float32), np.empty(block, np.int64)
    kernels.write_paths(leaves, used, 0, 90, paths, starts, scale, cursors, table, indices, data)
    salts = np.zeros(5, np.uint64)
    for i, row in enumerate(rows):
        expected = [
            numbering.number[node]
            for tree, root in enumerate(forest.roots)
            if used[i, tree]
            for node in naive.random_path(forest, root, row, int(salts[tree]))
        ]
        assert indices[starts[i] : starts[i + 1]].tolist() == expected


def test_random_paths_and_their_mean():
    forest, X = make_forest(2)
    matrix = holey(X[:12], 0.4)
    numbering = number_forest(forest)
    total = np.zeros((12, len(forest.left)))
    n_salts = 600
    for seed in range(n_salts):
        salts = np.random.default_rng(seed).integers(0, 2**63, 2).astype(np.uint64)
        leaves = forest.find_leaves(matrix, NO_USERS, salts=salts)
        source = LeafSource(leaves, lay_out(forest, numbering, only_leaves=False), all_trees(12))
        actual = encode(source, 12, forest)
        total += actual
        if seed < 5:
            for i, row in enumerate(matrix):
                for root, salt in zip(forest.roots, salts, strict=True):
                    path = naive.random_path(forest, root, row, int(salt))
                    assert (actual[i, numbering.number[path]] == 1).all()
            assert actual.sum() == numbering.length[leaves].sum()
    spread = SpreadSource(
        matrix, forest, NO_USERS, lay_out(forest, numbering, only_leaves=False), all_trees(12)
    )
    expected = encode(spread, 12, forest)
    # Five standard deviations of a share of 600 throws.
    np.testing.assert_allclose(total / n_salts, expected, atol=5 * 0.5 / np.sqrt(n_salts))


def test_minus_zero_is_zero_and_keys_do_not_depend_on_place():
    forest, X = make_forest(4)
    row = np.array([0.0, np.nan, 1.0], np.float32)
    salts = np.arange(4, dtype=np.uint64)
    rows = np.vstack([X, row, -row * [1, 1, -1]]).astype(np.float32)
    leaves = forest.find_leaves(rows, NO_USERS, salts=salts)
    np.testing.assert_array_equal(leaves[-1], leaves[-2])
    np.testing.assert_array_equal(
        forest.find_leaves(row[None], NO_USERS, salts=salts)[0], leaves[-1]
    )


def test_trees_can_be_skipped_and_rows_scaled():
    forest, X = make_forest(6)
    numbering = number_forest(forest)
    used = np.random.default_rng(1).random((len(X), 6)) < 0.5
    scale = np.linspace(1, 2, len(X)).astype(np.float32)
    seen = Seen(used, scale)
    leaves = forest.find_leaves(X, NO_USERS)
    actual = encode(
        LeafSource(leaves, lay_out(forest, numbering, only_leaves=False), seen), len(X), forest
    )
    whole = LeafSource(leaves, lay_out(forest, numbering, only_leaves=False), all_trees(len(X)))
    expected = encode(whole, len(X), forest)
    ends = np.append(forest.roots, len(forest.left))
    for tree in range(6):
        expected[~used[:, tree], ends[tree] : ends[tree + 1]] = 0
    np.testing.assert_array_equal(actual, expected * scale[:, None])
    spread = SpreadSource(X, forest, NO_USERS, lay_out(forest, numbering, only_leaves=False), seen)
    np.testing.assert_array_equal(encode(spread, len(X), forest), actual)


@loop_over("mixes", [False, True])
@loop_over("n_buckets", [1, 7, 64, 65, 5000])
def test_buckets_hold_sums(n_buckets, mixes):
    rng = np.random.default_rng(n_buckets)
    counts = rng.integers(0, 40, 30)
    starts = np.concatenate([[0], np.cumsum(counts)])
    indices = rng.integers(0, 3000, starts[-1]).astype(np.int32)
    data = rng.integers(1, 5, starts[-1]).astype(np.float32)
    marks = np.zeros(n_buckets // 64 + 1, np.uint64)
    found = np.empty(30, np.int64)
    kernels.count_buckets(starts, indices, n_buckets, mixes, marks, found)
    places = np.concatenate([[0], np.cumsum(found)])
    out, values = np.empty(places[-1], np.int64), np.empty(places[-1], np.float32)
    sums = np.empty(n_buckets, np.float32)
    kernels.add_to_buckets(
        starts, indices, data, n_buckets, mixes, marks, sums, places[:-1], out, values
    )
    assert not marks.any()
    for i in range(30):
        expected: dict[int, float] = {}
        for k in range(starts[i], starts[i + 1]):
            (bucket,) = naive.in_buckets([int(indices[k])], n_buckets, mixes=mixes)
            expected[bucket] = expected.get(bucket, 0.0) + float(data[k])
        row = slice(places[i], places[i + 1])
        assert dict(zip(out[row].tolist(), values[row].tolist(), strict=True)) == expected
        assert out[row].tolist() == sorted(expected)
