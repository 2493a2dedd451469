"""Forests as fitted structures: joining, slicing, descending, pickling."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.arguments import NO_USERS
from tests.engine.forests import make_forest
from tests.naive.trees import find_leaf

from featurewright.engine.forest import Forest, join


@pytest.fixture(scope="module", params=[True, False], ids=["classes", "numbers"])
def grown(request):
    return make_forest(by_class=request.param)


def same(one: Forest, other: Forest) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(Forest)
    )


def test_shape(grown):
    forest, _ = grown
    assert forest.n_trees == 6
    leaves = forest.left < 0
    assert forest.n_leaves == leaves.sum() == len(forest.values)
    np.testing.assert_array_equal(np.sort(-1 - forest.left[leaves]), np.arange(forest.n_leaves))
    inner = np.flatnonzero(~leaves)
    for node in inner:
        left = forest.left[node]
        assert forest.n_rows[left] + forest.n_rows[left + 1] == forest.n_rows[node]
        assert forest.depth[left] == forest.depth[left + 1] == forest.depth[node] + 1
    assert not forest.depth[forest.roots].any()
    assert not forest.gain[leaves].any()
    assert (forest.gain >= 0).all()


def test_trees_are_slices(grown):
    forest, X = grown
    whole = forest.sum_values(X, NO_USERS)
    for cut in range(forest.n_trees + 1):
        parts = forest.trees(0, cut), forest.trees(cut, forest.n_trees)
        assert [part.n_trees for part in parts] == [cut, forest.n_trees - cut]
        total = sum(part.sum_values(X, NO_USERS) for part in parts if part.n_trees)
        np.testing.assert_allclose(total, whole, rtol=1e-12)
    single = sum(forest.trees(k, k + 1).sum_values(X, NO_USERS) for k in range(6))
    np.testing.assert_allclose(single, whole, rtol=1e-12)


def test_join_undoes_slicing(grown):
    forest, _ = grown
    for cuts in ([0, 6], [0, 1, 6], [0, 2, 3, 6], range(7)):
        cuts = list(cuts)
        parts = [forest.trees(a, b) for a, b in itertools.pairwise(cuts)]
        assert same(join(parts), forest)
    assert same(join([forest.trees(0, 4).trees(1, 3)]), forest.trees(1, 3))


def test_leaves_against_the_slow_way(grown):
    forest, X = grown
    X = X[:40].copy()
    X[::5, 0] = np.nan
    leaves = forest.find_leaves(X, NO_USERS)
    for k in range(forest.n_trees):
        tree = forest.trees(k, k + 1)
        for i, row in enumerate(X):
            node = find_leaf(tree, row)
            begin = -1 - forest.left[forest.roots[k] :][forest.left[forest.roots[k] :] < 0].max()
            assert leaves[i, k] == -1 - tree.left[node] + begin


def test_sums_are_values_of_leaves(grown):
    forest, X = grown
    leaves = forest.find_leaves(X, NO_USERS)
    expected = forest.values.astype(np.float64)[leaves].sum(axis=1)
    np.testing.assert_allclose(forest.sum_values(X, NO_USERS), expected, rtol=1e-12)


def test_groups_take_turns():
    forest, X = make_forest(by_class=False)
    out = forest.sum_values(X, NO_USERS, groups=3)
    assert out.shape == (len(X), 3)
    for group in range(3):
        turns = [forest.trees(k, k + 1) for k in range(group, 6, 3)]
        expected = sum(tree.sum_values(X, NO_USERS)[:, 0] for tree in turns)
        np.testing.assert_allclose(out[:, group], expected, rtol=1e-12)


@loop_over("n_jobs", [1, 2, 4, -1, None])
def test_any_number_of_threads(grown, n_jobs):
    forest, X = grown
    X = np.tile(X, (80, 1))
    np.testing.assert_array_equal(
        forest.sum_values(X, NO_USERS, n_jobs), forest.sum_values(X, NO_USERS, 1)
    )
    np.testing.assert_array_equal(
        forest.find_leaves(X, NO_USERS, n_jobs), forest.find_leaves(X, NO_USERS, 1)
    )


def test_no_rows(grown):
    forest, X = grown
    assert forest.find_leaves(X[:0], NO_USERS).shape == (0, 6)
    assert len(forest.sum_values(X[:0], NO_USERS)) == 0


def test_pickle(grown):
    forest, X = grown
    before = len(pickle.dumps(forest))
    expected = forest.sum_values(X, NO_USERS)  # prepares the nodes for descending
    again = pickle.loads(pickle.dumps(forest))
    assert len(pickle.dumps(forest)) <= before
    assert same(again, forest)
    np.testing.assert_array_equal(again.sum_values(X, NO_USERS), expected)


def test_nobody_changes_a_forest(grown):
    forest, _ = grown
    with pytest.raises(FrozenInstanceError):
        forest.left = None
