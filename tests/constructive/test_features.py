"""Constructed features: what is listed, how it is named, and what transform computes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cases import loop_over
from tests.constructive.learners import (
    CLASSIFIERS,
    check_outputs,
    every_learner,
    make,
    make_loose,
    problem,
    product_target,
    table,
)

from featurewright.expressions import parse
from featurewright.tables import encode, learn_schema

ODD_NAMES = [
    "petal length (cm)",
    "back`tick``s",
    "größe ∑ 東京",
    'it\'s "quoted"',
    "x; DROP TABLE t; --",
    "and",
    "is 'a'",
    "  spaces  ",
    "tab\tand\nline",
    "a + b",
    "1.5",
    "",
]


def odd_frame(n_rows: int = 200) -> pd.DataFrame:
    frame = pd.DataFrame(table(n_rows, len(ODD_NAMES)), columns=ODD_NAMES)
    label = np.array(["it's", "a`b", 'ä "q"', "x' or 1=1 --"], object)
    frame["ca'te`gory"] = label[np.arange(n_rows) % 4]
    frame["bo ol"] = table(n_rows, 1, seed=9)[:, 0] > 0
    return frame


@every_learner
def test_features_are_distinct_and_sorted(name):
    X, y = problem(name)
    model = make(name, budget=30).fit(X, y)
    features = model.features_
    assert len({feature.name for feature in features}) == len(features) > 0
    assert len({feature.expression for feature in features}) == len(features)
    gains = [feature.gain for feature in features]
    assert max(np.diff(gains), default=0) < 1e-6  # nearly equal ones come in a stable order
    assert min(gains) >= 0
    assert sum(gains) <= 1 + 1e-6
    assert all(feature.expression.size > 1 for feature in features)
    inner = int((model.forest_.left >= 0).sum())
    assert all(feature.count >= 1 for feature in features)
    assert sum(feature.count for feature in features) <= inner


@every_learner
def test_the_best_feature_is_the_product(name):
    X, y = problem(name, 300)
    model = make(name, budget="50n").fit(X, y)
    assert set(model.features_[0].expression.columns()) == {0, 1}
    # Equal up to a factor or a monotone change, several formulas may share what the product gains.
    both = [f.gain for f in model.features_ if set(f.expression.columns()) == {0, 1}]
    assert sum(both) > 0.25
    assert {"x0 * x1", "x0 / x1", "x1 / x0"} & {feature.name for feature in model.features_[:10]}


@every_learner
def test_odd_names_round_trip(name):
    X = odd_frame()
    y = product_target(name, X.iloc[:, :2].to_numpy())
    operators = ("add", "sub", "mul", "div", "is", "and", "not", "less", "sqrt", "gaussian")
    model = make_loose(name, operators=operators, budget=60, max_depth=4, n_features_out=40)
    model.fit(X, y)
    schema = learn_schema(X)
    for feature in model.features_:
        again = parse(feature.name, schema.names, schema.domains, schema.levels)
        assert again == feature.expression
        assert feature.latex()
    check_outputs(model, X)
    names = model.get_feature_names_out()
    assert list(names) == [feature.name for feature in model.features_[:40]]


@every_learner
@loop_over("frame", [False, True])
def test_transform_is_what_the_formula_says(name, frame):
    X = odd_frame()
    X.iloc[::7, 0] = np.nan
    X.iloc[::5, 1] = 0.0
    y = product_target(name, X.iloc[:, :2].fillna(1).to_numpy())
    operators = ("add", "mul", "div", "is", "log", "exp", "less") if frame else None
    data = X if frame else X.iloc[:, :4].to_numpy()
    model = make(name, budget=60, operators=operators).fit(data, y)
    encoded = encode(learn_schema(data), data)
    made, kept = model.transform(data), model.set_params(keep_missing=True).transform(data)
    holes = 0
    for k, feature in enumerate(model.features_[:50]):
        values = feature.expression.evaluate(encoded)
        gone = np.isnan(values)
        holes += gone.sum()
        np.testing.assert_array_equal(np.isnan(kept[:, k]), gone)
        np.testing.assert_allclose(kept[:, k], values, rtol=1e-12)
        np.testing.assert_array_equal(made[~gone, k], kept[~gone, k])
        if gone.any() and not gone.all():
            median = np.median(values[~gone])
            np.testing.assert_allclose(made[gone, k], median, rtol=1e-4, atol=1e-7)
    assert holes > 0


@every_learner
def test_include_original(name):
    X = odd_frame()
    y = product_target(name, X.iloc[:, :2].to_numpy())
    model = make(name, include_original=True, n_features_out=3).fit(X, y)
    names = list(model.get_feature_names_out())
    assert names[: X.shape[1]] == list(X.columns)
    assert len(names) == X.shape[1] + 3
    encoded = encode(learn_schema(X), X)
    np.testing.assert_array_equal(model.transform(X)[:, : X.shape[1]], encoded)


@every_learner
def test_without_search_the_columns_come_back(name):
    X, y = problem(name)
    model = make(name, search=None).fit(X, y)
    assert model.features_ == ()
    assert list(model.get_feature_names_out()) == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(model.transform(X), X)


@every_learner
@loop_over("changes", [{"n_features_out": 6}, {"n_features_out": 2},
                                     {"include_original": True}])  # fmt: skip
def test_output_parameters_may_change_after_fit(name, changes):
    X, y = problem(name)
    X[::9, 0] = np.nan
    model = make(name, n_features_out=4).fit(X, y)
    expected = make(name, **{"n_features_out": 4, **changes}).fit(X, y).transform(X)
    model.set_params(**changes)
    np.testing.assert_array_equal(model.transform(X), expected)
    assert len(model.get_feature_names_out()) == expected.shape[1]


@every_learner
def test_finite_in_finite_out(name):
    X, y = problem(name)
    X[::9, 0] = np.nan
    operators = ("div", "log", "exp", "reciprocal", "sqrt", "square", "mul")
    model = make(name, operators=operators, budget=60).fit(X, y)
    wild = np.array([[0, 0, 0, 0], [1e38, 1e38, -1e38, 1e-38], [np.nan] * 4, [1e-45, 0, 3e38, 1]])
    check_outputs(model, wild)
    check_outputs(model, np.zeros((2, 4)))


@every_learner
def test_expressions_stay_within_max_size(name):
    X, y = problem(name)
    y = np.random.default_rng(0).permutation(y)  # no short expression may tell it all
    for max_size in (1, 2, 3, 7):
        model = make(name, max_size=max_size, operators=("add", "mul", "neg"), budget=40)
        sizes = [feature.expression.size for feature in model.fit(X, y).features_]
        assert max(sizes, default=1) <= max_size
        assert model.forest_.programs.shape[1] == max_size
    assert max(sizes) >= 5


@every_learner
def test_only_the_chosen_operators_are_used(name):
    X, y = problem(name)
    model = make(name, operators=("sub",), budget=40).fit(X, y)
    assert model.features_
    for feature in model.features_:
        assert set(feature.name) <= set("x0123 -()"), feature.name


@every_learner
def test_importances_find_the_columns(name):
    X = table(400, 6)
    y = product_target(name, X[:, [3, 5]])
    importances = make(name, budget="30n").fit(X, y).feature_importances_
    assert importances.shape == (6,)
    assert importances.sum() == pytest.approx(1)
    assert (importances >= 0).all()
    assert set(np.argsort(importances)[-2:]) == {3, 5}


@every_learner
def test_plain_importances_find_the_columns(name):
    X = table(400, 6)
    y = X[:, 2] > 0.1 if name in CLASSIFIERS else X[:, 2]
    importances = make(name, search=None, max_features="all").fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert np.argmax(importances) == 2
    assert importances[2] > 0.8


def test_every_feature_is_computed_in_float64():
    X = 1e6 + table(100, 2)
    y = X[:, 0] - X[:, 1]
    model = make("TreeRegressor", operators=("sub",), max_size=3, budget=20).fit(X, y)
    np.testing.assert_allclose(abs(model.transform(X)[:, 0]), abs(y), rtol=1e-9)
