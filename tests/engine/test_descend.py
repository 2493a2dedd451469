"""Rows descend as a slow walk does, and leaves predict what their rows say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.engine.arguments import (
    NO_USERS,
    Tree,
    block_buffers,
    class_target,
    grow,
    leaf_of_rows,
    make_grammar,
    make_settings,
    sums_target,
)
from tests.engine.test_grow import DOMAINS, EXACT, class_of, numbers_of, table
from tests.naive import trees as naive

from featurewright.engine import forest as forest_module
from featurewright.engine.descend import BLOCK_ROWS, ORDERED, find_leaves, is_complete
from featurewright.engine.forest import Forest, join
from featurewright.engine.leaves import (
    class_values,
    mean_values,
    number_leaves,
    vote_values,
)
from featurewright.engine.level_sets import IN_SET


def some_tree(seed: int, n: int = 300, missing: float = 0.2, **values) -> Tree:
    columns = table(seed, n, missing, decimals=1)
    settings = make_settings(budget=25, n_raw=2, strategy=1, **values)
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)
    return grow(columns, class_of(columns, seed), settings, grammar=grammar, seed=5**25 + seed)


def numbered(tree: Tree) -> np.ndarray:
    left = tree.left.copy()
    assert number_leaves(left) == len(tree.leaves)
    return left


@loop_over("seed", range(4))
@loop_over("drawn", [0, 1])
def test_leaves_are_found_as_by_walking(seed, drawn):
    tree = some_tree(seed, random_threshold=drawn)
    assert len(tree.inner) > 10
    rows = table(seed + 100, BLOCK_ROWS + 44, 0.3, decimals=1)
    rows[4, ::7] = 9  # a level never seen
    left = numbered(tree)
    expected = [-1 - left[naive.find_leaf(tree, row)] for row in rows.T]
    np.testing.assert_array_equal(leaf_of_rows(tree, rows), expected)


def test_leaves_are_numbered_in_order():
    left = numbered(some_tree(0))
    np.testing.assert_array_equal(-1 - left[left < 0], np.arange((left < 0).sum()))


def as_forest(tree: Tree, values: np.ndarray) -> Forest:
    threshold, in_set = tree.threshold.copy(), tree.is_level == IN_SET
    threshold[in_set] = np.arange(in_set.sum())
    return Forest(
        roots=np.zeros(1, np.int64),
        left=numbered(tree),
        programs=tree.programs,
        threshold=threshold,
        is_level=tree.is_level,
        missing_left=tree.missing_left,
        gain=tree.gain,
        n_rows=tree.size.astype(np.int32),
        depth=tree.depth,
        values=values,
        level_sets=tree.level_sets[tree.is_level == IN_SET],
    )


def test_trees_side_by_side():
    rng = np.random.default_rng(0)
    trees = [some_tree(seed) for seed in range(3)]
    values = [rng.normal(size=(len(tree.leaves), 2)).astype(np.float32) for tree in trees]
    forest = join([as_forest(*pair) for pair in zip(trees, values, strict=True)])
    rows = table(50, 3 * BLOCK_ROWS + 5, 0.3, decimals=1)
    matrix = np.ascontiguousarray(rows.T)
    alone = np.stack([leaf_of_rows(tree, rows) for tree in trees], axis=1)
    offsets = np.cumsum([0, *(len(tree.leaves) for tree in trees)])[:-1]
    np.testing.assert_array_equal(forest.find_leaves(matrix, NO_USERS), alone + offsets)
    expected = sum(v[alone[:, k]].astype(np.float64) for k, v in enumerate(values))
    np.testing.assert_allclose(forest.sum_values(matrix, NO_USERS), expected, rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.001])
@pytest.mark.parametrize("kinds", ["numbers", "levels", "formulas"])
def test_trees_that_compare_columns_with_thresholds(kinds, missing, monkeypatch):
    """They have a shorter way for blocks of rows without missing values."""
    columns = table(7, 400, missing, decimals=1)
    domains = DOMAINS if kinds == "levels" else DOMAINS[:3]
    settings = make_settings(n_raw=5, strategy=1, budget=25 if kinds == "formulas" else 0)
    grammar = make_grammar(domains, EXACT, n_levels=4)
    tree = grow(columns[: len(domains)], class_of(columns, 3), settings, grammar=grammar)
    forest = as_forest(tree, np.zeros((len(tree.leaves), 1), np.float32))
    assert bool(forest.packed[0, 3] & ORDERED) == (kinds == "numbers")
    rows = table(8, 3 * BLOCK_ROWS, missing, decimals=1)[: len(domains)]
    left = numbered(tree)
    expected = [-1 - left[naive.find_leaf(tree, row)] for row in rows.T]
    matrix = np.ascontiguousarray(rows.T)
    np.testing.assert_array_equal(forest.find_leaves(matrix, NO_USERS)[:, 0], expected)
    monkeypatch.setattr(forest_module, "_BLOCK_BYTES", 1)  # the smallest blocks
    np.testing.assert_array_equal(forest.find_leaves(matrix, NO_USERS)[:, 0], expected)
    for n in (1, 7, 8, 9, 17):  # eight rows descend at a time
        found = forest.find_leaves(matrix[:n].copy(), NO_USERS)[:, 0]
        np.testing.assert_array_equal(found, expected[:n])


def test_a_tree_of_one_leaf():
    tree = some_tree(2, max_depth=0)
    forest = as_forest(tree, np.zeros((1, 1), np.float32))
    assert not forest.packed[0, 3] & ORDERED
    assert (forest.find_leaves(np.ones((BLOCK_ROWS + 1, 5), np.float32), NO_USERS) == 0).all()


def test_missing_values_are_seen():
    matrix = np.ones((6, 3), np.float32)
    matrix[3, 2] = np.nan
    found = [is_complete(matrix, begin, end) for begin, end in ((0, 3), (0, 4), (3, 4), (4, 6))]
    expected = [not np.isnan(matrix[a:b]).any() for a, b in ((0, 3), (0, 4), (3, 4), (4, 6))]
    assert found == expected == [True, False, False, True]


def test_only_the_asked_rows_are_written():
    tree = some_tree(1)
    rows = table(60, 700, 0.2, decimals=1)
    forest = as_forest(tree, np.zeros((len(tree.leaves), 1), np.float32))
    out = np.full((700, 1), -7, np.int32)
    find_leaves(
        np.ascontiguousarray(rows.T), 100, 611, forest.roots, forest.packed,
        forest.level_sets, forest.programs, NO_USERS, np.empty(6, np.float32),
        *block_buffers(), out,
    )  # fmt: skip
    np.testing.assert_array_equal(out[100:611, 0], leaf_of_rows(tree, rows)[100:611])
    assert (out[:100] == -7).all()
    assert (out[611:] == -7).all()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("max_depth", [0, 3, 30])
def test_class_values(whole, max_depth):
    columns = table(3, 300)
    target = class_of(columns, 3, whole=whole)
    settings = make_settings(n_raw=5, max_depth=max_depth, whole_weights=int(whole))
    tree = grow(columns, target, settings, grammar=make_grammar(DOMAINS, EXACT, n_levels=4))
    left = numbered(tree)
    out = np.empty((len(tree.leaves), 3), np.float32)
    class_values(left, tree.start, tree.size, tree.ids, target.codes, target.weights, out)
    for node in tree.leaves:
        rows = tree.rows(node)
        expected = naive.class_values(target.codes[rows], target.weights[rows], 3)
        np.testing.assert_allclose(out[-1 - left[node]], expected, rtol=1e-5)


@pytest.mark.parametrize("l2", [0.0, 2.5])
def test_mean_and_vote_values(l2):
    columns = table(4, 300)
    target = numbers_of(columns, 4)
    settings = make_settings(by_class=0, criterion=5, centered=1, n_raw=5, min_rows=10)
    tree = grow(columns, target, settings, grammar=make_grammar(DOMAINS, EXACT, n_levels=4))
    left = numbered(tree)
    means = np.empty((len(tree.leaves), 2))
    sums, weights = target.sums.astype(np.float64), target.weights.astype(np.float64)
    mean_values(left, tree.start, tree.size, tree.ids, sums, weights, l2, means)
    votes = np.empty((len(tree.leaves), 2), np.float32)
    vote_values(left, tree.start, tree.size, tree.ids, target.sums, votes)
    for node in tree.leaves:
        rows, leaf = tree.rows(node), -1 - left[node]
        expected = naive.mean_values(sums[:, rows], weights[rows], l2)
        np.testing.assert_allclose(means[leaf], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(votes[leaf], naive.vote_values(target.sums[:, rows]))


def test_no_edge_votes_yes():
    target = sums_target([1.0, -1.0])
    votes = np.empty((1, 1), np.float32)
    one = np.array([2], np.int64)
    vote_values(np.array([-1], np.int32), one - 2, one, np.arange(2, dtype=np.int32),
                target.sums, votes)  # fmt: skip
    assert votes[0, 0] == 1


@given(st.integers(0, 10**6), st.integers(2, 60), st.booleans())
def test_every_grown_row_is_found_again(seed, n, drawn):
    columns = table(seed, n, 0.2, decimals=1)
    target = class_target(np.random.default_rng(seed).integers(0, 3, n))
    settings = make_settings(budget=8, n_raw=1, strategy=1, random_threshold=int(drawn))
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)
    tree = grow(columns, target, settings, grammar=grammar, seed=seed * 7**19 % 2**64)
    left = numbered(tree)
    found = leaf_of_rows(tree, columns)
    for node in tree.leaves:
        rows = tree.rows(node)
        assert len(rows)
        np.testing.assert_array_equal(found[rows], -1 - left[node])
