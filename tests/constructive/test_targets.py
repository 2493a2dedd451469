"""Several targets at once, labels of any kind, and all criteria."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.constructive.learners import (
    CLASSIFIERS,
    GROWN,
    check_outputs,
    every_classifier,
    make,
    make_loose,
    table,
)

from featurewright.engine.criteria import CLASS_CRITERIA

GROWN_CLASSIFIERS = [name for name in GROWN if name in CLASSIFIERS]
GROWN_REGRESSORS = [name for name in GROWN if name not in CLASSIFIERS]


@pytest.mark.parametrize("name", GROWN_REGRESSORS)
@pytest.mark.parametrize("search", ["random", None])
def test_several_numbers(name, search):
    X = table(400)
    Y = np.column_stack([X[:, 0] * X[:, 1], 1e6 * X[:, 2], 1e-6 * X[:, 0] + 5])
    model = make_loose(name, search=search, budget=40, n_estimators=40, max_features="all")
    model.fit(X[:300], Y[:300])
    predicted = model.predict(X[300:])
    assert predicted.shape == (100, 3)
    errors = ((predicted - Y[300:]) ** 2).mean(axis=0) / Y[300:].var(axis=0)
    assert (errors < 0.6).all()


@pytest.mark.parametrize("name", GROWN_CLASSIFIERS)
def test_several_labels(name):
    X = table(300)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 0] * X[:, 1] > 0]).astype(int)
    model = make_loose(name, n_estimators=30, budget=40).fit(X[:200], Y[:200])
    predicted = model.predict(X[200:])
    assert predicted.shape == (100, 3)
    assert (predicted == Y[200:]).mean() > 0.85
    shares = model.predict_proba(X[200:])
    assert [block.shape for block in shares] == [(100, 2)] * 3
    for block in shares:
        np.testing.assert_allclose(block.sum(axis=1), 1.0, rtol=1e-4)
        assert (block >= -1e-6).all()
        assert (block <= 1 + 1e-6).all()


@pytest.mark.parametrize("name", GROWN_CLASSIFIERS)
def test_several_columns_of_classes(name):
    X = table(300)
    Y = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), 7 + (X[:, 1] > 0)])
    model = make_loose(name, n_estimators=30, budget=40).fit(X[:200], Y[:200])
    predicted = model.predict(X[200:])
    assert predicted.shape == (100, 2)
    assert (predicted == Y[200:]).mean() > 0.85
    assert [block.shape[1] for block in model.predict_proba(X)] == [3, 2]
    assert set(predicted[:, 1]) <= {7, 8}


@pytest.mark.parametrize("name", GROWN_CLASSIFIERS)
def test_a_label_that_never_varies(name):
    X = table(80)
    Y = np.column_stack([X[:, 0] > 0, np.zeros(80), np.ones(80)]).astype(int)
    predicted = make(name).fit(X, Y).predict(X)
    np.testing.assert_array_equal(predicted[:, 1:], Y[:, 1:])


@pytest.mark.parametrize("name", GROWN_CLASSIFIERS)
@loop_over("criterion", CLASS_CRITERIA)
def test_every_criterion_learns(name, criterion):
    X = table(300)
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    model = make_loose(name, criterion=criterion, budget=40, n_estimators=20)
    model.fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.7


@every_classifier
@loop_over("labels", [["b", "a"], [True, False], [3, -7], [2.0, 0.0], [np.int8(1), np.int8(0)]])
def test_labels_of_any_kind(name, labels):
    X = table(80)
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = make(name).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.9
    check_outputs(model, X)


@pytest.mark.parametrize("name", GROWN)
def test_leaves_hold_the_means_of_their_rows(name):
    X = table(120)
    y = X[:, 0] > 0 if name in CLASSIFIERS else X[:, 0] * 3 + 5
    model = make_loose(name, max_depth=3, n_estimators=3, bootstrap=False).fit(X, y)
    leaves = model.apply(X)
    expected = np.zeros(len(X))
    for tree in leaves.T:
        for leaf in np.unique(tree):
            expected[tree == leaf] += y[tree == leaf].mean() / leaves.shape[1]
    actual = model.predict_proba(X)[:, 1] if name in CLASSIFIERS else model.predict(X)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", GROWN)
def test_limits_of_the_trees(name):
    X = table(200)
    y = X[:, 0] * X[:, 1] > 0 if name in CLASSIFIERS else X[:, 0] * X[:, 1]
    noise = np.random.default_rng(0).random(200) < 0.3
    y = np.where(noise, y[::-1], y)

    def grown(**limits):
        return make(name, **limits).fit(X, y).forest_

    assert grown(max_depth=2).depth.max() == 2
    few = grown(max_leaf_nodes=6)
    assert few.n_leaves == 6 * few.n_trees
    for rows, limit in ((7, 7), (0.1, 20)):
        forest = grown(min_samples_leaf=rows, **_all_rows(name))
        assert forest.n_rows[forest.left < 0].min() >= limit
    forest = grown(min_samples_split=50, **_all_rows(name))
    assert forest.n_rows[forest.left >= 0].min() >= 50
    heavy = grown(min_weight_fraction_leaf=0.2, **_all_rows(name))
    assert heavy.n_rows[heavy.left < 0].min() >= 40
    assert grown(min_gain=1e9).n_leaves == grown(min_gain=1e9).n_trees


@pytest.mark.parametrize("name", GROWN)
@loop_over("search", ["random", None])
@loop_over("limits", [{"min_samples_leaf": 20}, {"min_gain": 1.0}])
def test_rows_are_counted_where_they_descend(name, search, limits):
    X = table(300)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    y = y > 0 if name in CLASSIFIERS else y
    model = make(name, search=search, **limits, **_all_rows(name)).fit(X, y)
    forest = model.forest_
    at_leaves = forest.left < 0
    counts = np.bincount(model.apply(X).ravel(), minlength=forest.n_leaves)
    np.testing.assert_array_equal(counts[-1 - forest.left[at_leaves]], forest.n_rows[at_leaves])
    check_outputs(model, X)


def _all_rows(name: str) -> dict[str, bool]:
    return {} if name.startswith("Tree") else {"bootstrap": False}
