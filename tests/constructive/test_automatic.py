"""The size of boosted trees that small trials choose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featurewright import ConstructiveBoostingRegressor
from featurewright.constructive.automatic import choose_leaves

ROWS = np.arange(300)


@pytest.mark.parametrize(("n_rows", "n_parts"), [(60, 3), (1_999, 3), (2_000, 1)])
def test_every_size_is_tried_on_the_same_parts(n_rows, n_parts):
    rows, tried = np.arange(10, 10 + n_rows), {}

    def loss_of(kept, held, n_leaves):
        assert_array_equal(np.sort(np.r_[kept, held]), rows)
        assert abs(len(held) - n_rows / 3) < 1
        tried.setdefault(n_leaves, []).append(held.tolist())
        return abs(n_leaves - 14)

    assert choose_leaves(rows, 0, loss_of) == 16
    first, *others = tried.values()
    assert len(first) == n_parts
    assert all(found == first for found in others)


def test_the_mean_over_the_parts_decides_and_the_smaller_of_equal_sizes():
    losses = {8: iter([3.0, 1.0, 1.0]), 16: iter([1.0, 2.0, 2.0]), 31: iter([2.0, 2.0, 2.0])}
    assert choose_leaves(ROWS, 0, lambda kept, held, n_leaves: next(losses[n_leaves])) == 8
    assert choose_leaves(ROWS, 0, lambda *_: 1.0) == 8


def test_few_rows_are_all_learned_from():
    assert choose_leaves(ROWS[:59], 0, pytest.fail) is None


def test_an_additive_curve_gets_small_trees_and_a_chessboard_large_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    fields = np.floor(5 * X).sum(axis=1) % 2
    sizes = []
    for y in (X.sum(axis=1) + rng.normal(size=600), fields):
        model = ConstructiveBoostingRegressor(random_state=0, f_to_enter=0.0, search=None, n_jobs=1)
        sizes.append(model.fit(X, y).forest_.n_leaves / model.n_iter_)
    assert sizes[0] <= 8 < sizes[1]


@pytest.mark.parametrize("asked", [{"max_leaf_nodes": 5}, {"n_estimators": 4}, {"max_depth": 3}])
def test_what_is_asked_for_is_not_tried(asked, monkeypatch):
    monkeypatch.setattr("featurewright.constructive.boosting.choose_leaves", pytest.fail)
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = ConstructiveBoostingRegressor(random_state=0, n_jobs=1, **asked).fit(X, X[:, 0])
    assert model.n_iter_ >= 1


def test_rows_of_no_weight_are_not_tried():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y, weights = X[:, 0] * X[:, 1], np.r_[np.ones(150), np.zeros(50)]
    y[150:] = 1e6
    model = ConstructiveBoostingRegressor(random_state=0, n_jobs=1)
    assert np.abs(model.fit(X, y, sample_weight=weights).predict(X[:150])).max() < 100
