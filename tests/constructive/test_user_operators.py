"""Operators that users write themselves."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.constructive.learners import (
    bits_target,
    check_outputs,
    check_same,
    check_sentence,
    every_learner,
    make,
    make_loose,
    table,
)

from featurewright import Boolean, Category, Operator, Real, load, register_operator, save
from featurewright.expressions import parse, resolve_operators


def wave(x):
    return math.sin(4.0 * x)


def damped(x, y):
    return x / (1.0 + abs(y))


def both_large(x, y):
    return x > 0.5 and y > 0.5


def band(x, y):
    radius = x * x + y * y
    if radius > 1.0:
        return 7  # no level
    return 0 if radius < 0.25 else 1 if radius < 0.5 else 2


def fragile(x):
    return math.sqrt(x) / (x - x)


def reads_a_file(x):
    return float(open(str(x)).read())


def gives_text(x):
    return "text"


def imports_a_library(x):
    import json

    return json.loads("1") * x


def unknown_name(x):
    return x * undefined_constant  # noqa: F821


WAVE = Operator("wave", inputs=(Real,), output=Real, function=wave)
DAMPED = Operator("damped", inputs=(Real, Real), output=Real, function=damped)
BOTH = Operator("both_large", inputs=(Real, Real), output=Boolean, function=both_large)
LEVELS = ("inner", "ring", "outer")
BAND = Operator("band", (Real, Real), Category, band, commutative=True, levels=LEVELS)
# Compiling takes its time, and all learners compile in one place.
SOME = ["ExtraTreesRegressor", "BoostingClassifier"]
BAD = {f.__name__: f for f in (reads_a_file, gives_text, imports_a_library, unknown_name)}


def wave_problem(name: str, n_rows: int = 250):
    X = table(n_rows, 3)
    return X, bits_target(name, np.sin(4 * X[:, 1]) > 0)


@pytest.mark.parametrize("name", SOME)
def test_by_object_and_by_name(name):
    X, y = wave_problem(name)
    register_operator(WAVE)
    by_object = make(name, operators=["add", WAVE], budget=80).fit(X, y)
    by_name = make(name, operators=["add", "wave"], budget=80).fit(X, y)
    check_same(by_object, by_name, X)
    assert "wave(x1)" in " ".join(feature.name for feature in by_object.features_[:10])
    check_outputs(by_object, X)


@pytest.mark.parametrize("name", SOME)
def test_transform_computes_it(name):
    X, y = wave_problem(name)
    model = make(name, operators=[WAVE, DAMPED], budget=80, n_features_out=100).fit(X, y)
    made = model.transform(X)
    assert "wave(" in " ".join(model.get_feature_names_out())
    for k, feature in enumerate(model.features_[:100]):
        np.testing.assert_allclose(made[:, k], feature.expression.evaluate(X), rtol=1e-12)
        again = parse(feature.name, ["x0", "x1", "x2"], operators=[WAVE, DAMPED])
        assert again == feature.expression


@pytest.mark.parametrize("name", SOME)
def test_pickle_and_clone(name):
    X, y = wave_problem(name)
    model = make(name, operators=[DAMPED, WAVE]).fit(X, y)
    check_same(model, pickle.loads(pickle.dumps(model)), X)
    check_same(model, clone(model).fit(X, y), X)


def test_a_lambda_works_until_it_is_pickled():
    X, y = wave_problem("TreeClassifier")
    twice = Operator("twice", inputs=(Real,), output=Real, function=lambda x: 2 * x)
    model = make("TreeClassifier", operators=[twice, "add"]).fit(X, y)
    check_outputs(model, X)
    with pytest.raises(pickle.PicklingError, match="'twice'") as caught:
        pickle.dumps(model)
    check_sentence(caught.value, "module level")


@pytest.mark.parametrize("name", SOME)
def test_boolean_operator(name):
    X = table(300, 3)
    y = bits_target(name, (X[:, 0] > 0.5) & (X[:, 2] > 0.5))
    model = make(name, operators=[BOTH, "not", "or"], budget=60).fit(X, y)
    assert any(feature.name.startswith("both_large(") for feature in model.features_[:3])
    made = model.transform(X)
    assert set(np.unique(made)) <= {0.0, 1.0}


@pytest.mark.parametrize("name", ["TreeClassifier", *SOME])
def test_category_operator(name, tmp_path):
    X = table(300, 3)
    radius = X[:, 0] ** 2 + X[:, 2] ** 2
    y = bits_target(name, (radius >= 0.25) & (radius < 0.5))
    model = make(name, operators=[BAND], max_size=3, n_features_out=100).fit(X, y)
    assert "band_is_ring(x0, x2)" in [feature.name for feature in model.features_[:3]]
    made = model.transform(X)
    assert set(np.unique(made)) <= {0.0, 1.0}
    tests = resolve_operators([BAND])
    for k, feature in enumerate(model.features_[:100]):
        expected = feature.expression.evaluate(X)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(made[known, k], expected[known])
        again = parse(feature.name, ["x0", "x1", "x2"], operators=tests)
        assert again == feature.expression
    check_outputs(model, X)
    check_same(model, pickle.loads(pickle.dumps(model)), X)
    register_operator(BAND)
    save(model, tmp_path / "model.fw")
    check_same(model, load(tmp_path / "model.fw"), X)
    with pytest.raises(ValueError, match="no SQL or ONNX form") as caught:
        model.features_[0].sql()
    check_sentence(caught.value, "built-in")


@pytest.mark.parametrize("name", SOME)
def test_undefined_results_are_missing(name):
    X, y = wave_problem(name)
    operator = Operator("fragile", inputs=(Real,), output=Real, function=fragile)
    model = make_loose(name, operators=[operator, "add"], budget=20, max_features="all").fit(X, y)
    check_outputs(model, X)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("function", BAD)
def test_functions_that_cannot_be_compiled(name, function):
    X, y = wave_problem(name, 40)
    operator = Operator("odd one", inputs=(Real,), output=Real, function=BAD[function])
    model = make(name, operators=["add", operator])
    with pytest.raises(ValueError, match="'odd one'") as caught:
        model.fit(X, y)
    check_sentence(caught.value)
    assert "During: Pass" not in str(caught.value)
    assert not hasattr(model, "forest_")


@pytest.mark.parametrize("function", [math.hypot, np.hypot, max])
def test_functions_that_are_not_python_functions(function):
    # Operator's own example is made of math.hypot.
    X, y = wave_problem("TreeClassifier", 40)
    operator = Operator("built in", inputs=(Real, Real), output=Real, function=function)
    model = make("TreeClassifier", operators=["add", operator])
    try:
        model.fit(X, y)
    except ValueError as error:
        check_sentence(error, "'built in'")
    else:
        check_outputs(model, X)


def test_three_and_four_operands():
    X, y = wave_problem("TreeClassifier")
    three = Operator("three", (Real,) * 3, Real, lambda a, b, c: a + b * c)
    four = Operator("four", (Real,) * 4, Real, lambda a, b, c, d: a + b * c - d)
    model = make("TreeClassifier", operators=[three, four], budget=60).fit(X, y)
    made = model.transform(X)
    for k, feature in enumerate(model.features_[:50]):
        np.testing.assert_allclose(made[:, k], feature.expression.evaluate(X), rtol=1e-9)


def test_eight_operands():
    X, y = wave_problem("TreeClassifier")
    X = np.column_stack([X, X + 1])
    eight = Operator("eight", (Real,) * 8, Real, sum_of_eight)
    model = make("TreeClassifier", operators=[eight], budget=60, max_size=9).fit(X, y)
    made = model.transform(X)
    assert any(feature.expression.size == 9 for feature in model.features_)
    for k, feature in enumerate(model.features_[:50]):
        np.testing.assert_allclose(made[:, k], feature.expression.evaluate(X), rtol=1e-6)
    with pytest.raises(ValueError, match="'nine' has 9 inputs") as caught:
        Operator("nine", (Real,) * 9, Real, sum_of_eight)
    check_sentence(caught.value)


def sum_of_eight(a, b, c, d, e, f, g, h):  # noqa: PLR0917
    return a - b + c - d + e - f + g - h


@every_learner
def test_operators_that_no_expression_is_long_enough_for_are_told(name):
    X, y = wave_problem(name, 60)
    eight = Operator("eight", (Real,) * 8, Real, sum_of_eight)
    with pytest.warns(UserWarning, match=r"\['eight'\] are left out, .*max_size=5") as told:
        make(name, operators=["add", eight]).fit(X, y)
    assert len(told) == 1
    assert "set max_size to at least 9" in str(told[0].message)
    make(name, operators=["add", eight], max_size=1).fit(X, y)  # asks for columns alone


def test_names_that_are_not_registered():
    X, y = wave_problem("TreeClassifier", 40)
    with pytest.raises(ValueError, match="'never heard of'") as caught:
        make("TreeClassifier", operators=["add", "never heard of"]).fit(X, y)
    check_sentence(caught.value)


def test_grid_search_over_user_operators():
    X, y = wave_problem("TreeClassifier")
    register_operator(WAVE)
    grid = {"operators": [("add",), ("add", WAVE), ("wave",)]}
    search = GridSearchCV(make("TreeClassifier", budget=30), grid, cv=2, n_jobs=1).fit(X, y)
    assert search.best_params_["operators"] != ("add",)
    assert search.best_score_ > 0.9
