"""C4.5's two rules for numeric splits as options of trees and forests."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from featurewright import (
    ConstructiveForestClassifier,
    ConstructiveTreeClassifier,
    ConstructiveTreeRegressor,
    FCTreeClassifier,
    load,
    save,
)

RULES = {"min_side_share": 0.1, "cut_cost": True, "criterion": "entropy"}


def tree(**params):
    return ConstructiveTreeClassifier(search=None, random_state=0, **params)


def first_threshold(model):
    return model.forest_.threshold[0] if model.forest_.left[0] >= 0 else None


def test_a_side_needs_its_share_of_the_rows_per_class():
    rows = np.arange(100.0)[:, None]
    for n_left, allowed in ((4, False), (5, True)):
        y = np.arange(100) < n_left
        found = first_threshold(tree(min_side_share=0.1, max_depth=1).fit(rows, y))
        assert (found == n_left - 0.5) == allowed
    many = np.arange(2000.0)[:, None]
    y = np.arange(2000) < 25  # 25 rows are always enough
    assert first_threshold(tree(min_side_share=0.1, max_depth=1).fit(many, y)) == 24.5
    numbers = ConstructiveTreeRegressor(search=None, min_side_share=0.1, max_depth=1)
    for n_left, allowed in ((9, False), (10, True)):
        found = first_threshold(numbers.fit(rows, (np.arange(100) < n_left) * 1.0))
        assert (found == n_left - 0.5) == allowed


def test_a_gain_that_does_not_pay_for_naming_the_threshold_is_none():
    rows, mixed = np.arange(16.0)[:, None], np.array([0, 1] * 8)
    assert first_threshold(tree(**RULES).fit(rows, mixed)) is None
    assert first_threshold(tree(criterion="entropy").fit(rows, mixed)) is not None
    halves = np.repeat([0, 1], 8)
    assert first_threshold(tree(**RULES).fit(halves[:, None], halves)) == 0.5


@pytest.mark.parametrize("search", [None, "random"])
def test_forests_have_the_rules_too(search, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=600) > 0).astype(int)
    ruled = ConstructiveForestClassifier(
        5, search=search, budget=20, bootstrap=False, random_state=0, **RULES
    ).fit(X, y)
    trees = ruled.forest_
    inner = np.flatnonzero(trees.left >= 0)
    smaller = np.minimum(trees.n_rows[trees.left[inner]], trees.n_rows[trees.left[inner] + 1])
    assert (smaller >= np.minimum(0.05 * trees.n_rows[inner], 25)).all()
    assert (trees.gain[inner] > 0).all()
    assert 0.7 < ruled.score(X, y) < 1.0  # unpaid nodes stay leaves
    again = clone(ruled).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(again.predict_proba(X), ruled.predict_proba(X))
    save(ruled, tmp_path / "ruled.fw")
    assert load(tmp_path / "ruled.fw").get_params() == ruled.get_params()


def test_learners_without_the_rules_are_as_they_were():
    assert "cut_cost" not in FCTreeClassifier().get_params()
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    off = tree(criterion="entropy", min_side_share=0.0, cut_cost=False).fit(X, y)
    assert_array_equal(off.predict(X), y)
