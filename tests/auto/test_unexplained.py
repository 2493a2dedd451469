"""What an estimator leaves unexplained, and formulas for boosting that are found for that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier

from featurewright import AutoFeatures
from featurewright.auto.split_forms import split_form
from featurewright.auto.unexplained import unexplained
from featurewright.expressions import parse
from featurewright.tables import EncodedTable, learn_schema

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 3, size=(240, 3))
CURVE = X[:, 0] / X[:, 1]
QUICK = {"effort": "quick", "random_state": 0, "n_jobs": 1}


def test_what_the_model_explains_is_gone():
    y = 2 * X[:, 0] + np.tile([0.0, 1.0], 120)
    rest = unexplained(LinearRegression(), X, y, "regression")
    assert rest.shape == (240, 1)
    assert abs(np.corrcoef(rest[:, 0], X[:, 0])[0, 1]) < 0.1
    assert_allclose(rest.std(), 0.5, atol=0.03)


def test_a_row_is_predicted_by_models_that_have_not_seen_it():
    y = RNG.normal(size=240)
    rest = unexplained(DummyRegressor(), X, y, "regression", seed=3)
    # The mean of the others is below the mean of all where the own value is above it.
    assert np.corrcoef(rest[:, 0], y)[0, 1] > 0.99
    assert rest.var() > y.var()


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier()])
def test_classes_have_a_column_each_and_two_classes_one(estimator):
    three = np.digitize(CURVE, [0.8, 1.2])
    rest = unexplained(estimator, X, three, "classification")
    assert rest.shape == (240, 3)
    assert_allclose(rest.sum(axis=1), 0.0, atol=1e-9)
    assert unexplained(estimator, X, three > 0, "classification").shape == (240, 1)


def test_a_class_of_one_row_and_labels_are_taken():
    y = np.r_[np.tile(["a", "b"], 119), ["a", "rare"]]
    assert unexplained(LogisticRegression(), X, y, "classification").shape == (240, 3)
    labels = np.column_stack([CURVE > 1, X[:, 2] > 2]).astype(int)
    model = MultiOutputClassifier(LogisticRegression())
    assert unexplained(model, X, labels, "multilabel").shape == (240, 2)


def test_weights_are_passed_on():
    y = np.r_[np.zeros(120), np.ones(120)]
    weights = np.r_[np.full(120, 1e-6), np.ones(120)]
    rest = unexplained(DummyRegressor(), X, y, "regression", weights=weights)
    assert_allclose(rest[120:], 0.0, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(log(x0 * x1))", "x0 * x1"),
        ("max(x0 / x1, 1.5)", "x0 / x1"),
        ("square(x0 - x1)", "square(x0 - x1)"),  # both signs: the order changes
        ("square(x0 + x1) > 9", "x0 + x1"),
        ("sqrt(x0) + x1", "sqrt(x0) + x1"),
        ("log(x0 - x1)", "log(x0 - x1)"),  # undefined in other rows than its part
        ("x2 > 2", "None"),
        ("square(x0 - 2)", "None"),
    ],
)
def test_trees_need_the_part_that_orders_rows(text, expected):
    rows = EncodedTable(X, learn_schema(X))
    assert str(split_form(parse(text, ["x0", "x1", "x2"]), rows)) == expected


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_boosting_gets_formulas_of_several_columns(kind):
    numbers = kind == "numbers"
    y = CURVE if numbers else np.digitize(CURVE, [0.8, 1.2])
    make = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    task = "regression" if numbers else "classification"
    auto = AutoFeatures(
        make(max_iter=20, random_state=0), methods="readable", task=task, **QUICK
    ).fit(X, y)
    assert auto.best_method_ != "original"
    assert all(len(f.expression.columns()) > 1 for f in auto.path_.features)
    first = {f.name for f in auto.path_.features[:4]}
    assert first & {"x0 / x1", "x1 / x0"}


def test_threads_find_the_same():
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    paths = [
        AutoFeatures(model, methods=["batch", "forest"], **(QUICK | {"n_jobs": n_jobs}))
        .fit(X, CURVE)
        .path_.names
        for n_jobs in (1, 2)
    ]
    assert paths[0] == paths[1]
