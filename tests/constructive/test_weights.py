"""Row weights, class weights, out-of-bag scores and warm starts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.cases import loop_over
from tests.constructive.learners import (
    CLASSIFIERS,
    check_outputs,
    check_same,
    check_sentence,
    every_forest,
    every_learner,
    make,
    make_loose,
    problem,
    soft,
    table,
)

from featurewright.datasets import make_ringnorm


def noisy(name: str, n_rows: int, seed: int = 0):
    """Make a problem on which learners cannot be right everywhere."""
    X = table(n_rows, 3, seed)
    signal = X[:, 0] + np.random.default_rng(seed).normal(size=n_rows)
    return X, np.where(signal > 0, "yes", "no") if name in CLASSIFIERS else signal


@pytest.mark.parametrize("name", ["TreeClassifier", "TreeRegressor"])
def test_weight_two_is_the_row_twice_in_a_tree(name):
    X, y = noisy(name, 14)
    twice = np.arange(14) % 3 == 0
    weighted = make(name, search=None, max_depth=3).fit(X, y, np.where(twice, 2.0, 1.0))
    doubled = make(name, search=None, max_depth=3).fit(
        np.vstack([X, X[twice]]), np.concatenate([y, y[twice]])
    )
    Z = table(300, 3, seed=1)
    np.testing.assert_allclose(soft(weighted, Z), soft(doubled, Z), rtol=1e-5, atol=1e-6)


@every_learner
def test_a_weight_is_the_row_so_many_times_on_average(name):
    X, y = noisy(name, 150)
    high = y == "yes" if name in CLASSIFIERS else y > 0
    times = np.where(high, 4, 1)
    more = {"n_estimators": 60, "min_samples_leaf": 10, "max_depth": 3, "search": None}
    fits = (
        make_loose(name, **more).fit(X, y, times),
        make_loose(name, **more).fit(np.repeat(X, times, axis=0), np.repeat(y, times)),
        make_loose(name, **more).fit(X, y),
    )
    Z = table(500, 3, seed=1)
    means = [np.mean(soft(m, Z)[:, 1] if name in CLASSIFIERS else soft(m, Z)) for m in fits]
    assert abs(means[0] - means[1]) < 0.25 * abs(means[0] - means[2])


def junk_and(name: str, X: np.ndarray, y: np.ndarray):
    """Put rows of nonsense in front."""
    junk = np.full((30, 3), 1e6) * np.sign(table(30, 3, seed=7))
    target = y[::-1][:30] if name in CLASSIFIERS else np.full(30, 1e12)
    return np.vstack([junk, X]), np.concatenate([target, y])


@every_learner
@loop_over("scale", [1.0, 0.37])
@loop_over("search", ["random", None])
def test_zero_weights_are_ignored_exactly(name, scale, search):
    X, y = noisy(name, 90)
    weights = np.concatenate([np.zeros(30), np.ones(90)]) * scale
    expected = make(name, search=search).fit(X, y, np.full(90, scale))
    model = make(name, search=search).fit(*junk_and(name, X, y), weights)
    np.testing.assert_allclose(soft(model, X), soft(expected, X), rtol=1e-5, atol=1e-6)
    assert [f.name for f in model.features_] == [f.name for f in expected.features_]


@every_learner
def test_fills_are_learned_from_rows_that_count(name):
    X, y = noisy(name, 90)
    weights = np.concatenate([np.zeros(30), np.ones(90)])
    expected = make(name, search=None).fit(X, y)
    model = make(name, search=None).fit(*junk_and(name, X, y), weights)
    hole = np.full((1, 3), np.nan)
    np.testing.assert_allclose(model.transform(hole), expected.transform(hole), rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_zero_weights_are_ignored_by_votes(depth):
    X, y = noisy("BoostingClassifier", 90)
    settings = {"loss": "adaboost_mh", "max_depth": depth, "search": None}
    weights = np.concatenate([np.zeros(30), np.ones(90)])
    everything = np.vstack([X[:30] * 100, X]), np.concatenate([y[::-1][:30], y])
    expected = make("BoostingClassifier", **settings).fit(X, y)
    model = make("BoostingClassifier", **settings).fit(*everything, weights)
    np.testing.assert_allclose(soft(model, X), soft(expected, X), rtol=1e-5)


@every_learner
def test_constant_weights_change_nothing(name):
    X, y = noisy(name, 90)
    # The penalty of boosting is in units of weight: it weighs less beside larger weights.
    settings = {"l2": 0.0} if name.startswith("Boosting") else {}
    expected = soft(make(name, **settings).fit(X, y), X)
    for weight in (1.0, 0.25, 1e-30, 1e30):
        model = make(name, **settings).fit(X, y, np.full(90, weight))
        np.testing.assert_allclose(soft(model, X), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["BoostingClassifier", "BoostingRegressor"])
def test_nearly_whole_weights_are_like_whole_ones(name):
    X, y = noisy(name, 90)
    whole, nearly = (make(name).fit(X, y, np.full(90, w)) for w in (3.0, 3.0 + 1e-9))
    np.testing.assert_allclose(soft(nearly, X), soft(whole, X), rtol=1e-3, atol=1e-4)


@every_learner
@loop_over("weight", [1e-300, 1e300, 1e308])
def test_weights_of_any_size(name, weight):
    X, y = noisy(name, 60)
    check_outputs(make(name).fit(X, y, np.full(60, weight)), X)


@every_learner
@loop_over("weights", [[1.0] * 59, [-1.0] * 60, [np.nan] * 60, [0.0] * 60])
def test_wrong_weights_are_refused(name, weights):
    X, y = noisy(name, 60)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        make(name).fit(X, y, weights)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_class_weight(name):
    X, y = noisy(name, 200)
    Z = table(500, 3, seed=2)
    small = {"max_depth": 3, "min_samples_leaf": 10}
    shares = [
        np.mean(make_loose(name, class_weight=weight, **small).fit(X, y).predict(Z) == "yes")
        for weight in ({"yes": 0.1, "no": 1}, None, {"yes": 10, "no": 1})
    ]
    assert shares[0] < shares[1] < shares[2]
    by_rows = make(name).fit(X, y, np.where(y == "yes", 3.0, 1.0))
    check_same(make(name, class_weight={"yes": 3, "no": 1}).fit(X, y), by_rows, Z)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_balanced_class_weight(name):
    X, _ = noisy(name, 300)
    y = X[:, 0] + np.random.default_rng(0).normal(size=300) > 1.6
    Z = table(500, 3, seed=2)
    rare, balanced = (
        make_loose(name, class_weight=weight, max_depth=2).fit(X, y).predict(Z).mean()
        for weight in (None, "balanced")
    )
    assert balanced > rare + 0.1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_wrong_class_weights_are_refused(name):
    X, y = noisy(name, 40)
    for wrong in ("heavy", 3):
        with pytest.raises(ValueError, match="class_weight"):
            make(name, class_weight=wrong).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_class_without_weight_is_never_predicted(name):
    X = table(90, 3)
    y = np.arange(90) % 3
    model = make(name).fit(X, y, (y < 2).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    check_outputs(model, X)
    assert set(model.predict(X)) <= {0, 1}


# Out of the bag --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Forest", "ExtraTrees"])
def test_oob_score_is_close_to_the_held_out_score(kind):
    X, y = make_ringnorm(1300, random_state=0)
    settings = {"oob_score": True, "bootstrap": True, "n_estimators": 60, "search": None}
    model = make(f"{kind}Classifier", **settings).fit(X[:300], y[:300])
    assert abs(model.oob_score_ - model.score(X[300:], y[300:])) < 0.05
    assert model.oob_decision_function_.shape == (300, 2)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1.0, rtol=1e-5)
    X, y = problem(f"{kind}Regressor", 700)
    number = make(f"{kind}Regressor", **settings).fit(X[:300], y[:300])
    assert abs(number.oob_score_ - number.score(X[300:], y[300:])) < 0.12
    assert number.oob_prediction_.shape == (300,)


@every_forest
def test_oob_score_of_any_target_form(name):
    X, y = problem(name)
    settings = {"oob_score": True, "bootstrap": True, "n_estimators": 20}
    expected = make(name, **settings).fit(X, y).oob_score_
    for form in (list(y), pd.Series(y, index=range(5, 5 + len(y)))):
        assert make(name, **settings).fit(X, form).oob_score_ == expected
    several = np.column_stack([y, y[::-1]])
    if name in CLASSIFIERS:
        several = (several == "yes").astype(int)
    assert make(name, **settings).fit(X, several).oob_score_ < 1


@every_forest
def test_oob_score_needs_a_bootstrap(name):
    X, y = problem(name)
    model = make(name, oob_score=True, bootstrap=False)
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap=True") as caught:
        model.fit(X, y)
    check_sentence(caught.value)
    assert not hasattr(model, "forest_")  # refused before any work


@every_forest
@loop_over("n_rows", [1, 2, 3])
def test_oob_score_of_few_rows_warns_at_most(name, n_rows):
    X, y = problem(name, n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(name, oob_score=True, bootstrap=True, n_estimators=1).fit(X, y)
    check_outputs(model, X)


# Going on --------------------------------------------------------------------------------------


@every_forest
@loop_over("search", ["random", None])
def test_warm_start_equals_a_fresh_fit(name, search):
    X, y = problem(name)
    settings = {"search": search, "oob_score": True, "bootstrap": True}
    warm = make(name, n_estimators=10, warm_start=True, **settings).fit(X, y)
    first = warm.forest_
    warm.set_params(n_estimators=20).fit(X, y)
    fresh = make(name, n_estimators=20, **settings).fit(X, y)
    check_same(warm, fresh, X)
    assert warm.oob_score_ == fresh.oob_score_
    np.testing.assert_array_equal(warm.forest_.trees(0, 10).threshold, first.threshold)


@every_forest
def test_warm_start_with_the_same_or_a_smaller_number(name):
    X, y = problem(name)
    model = make(name, n_estimators=6, warm_start=True).fit(X, y)
    before = soft(model, X)
    np.testing.assert_array_equal(soft(model.fit(X, y), X), before)
    with pytest.raises(ValueError, match="n_estimators=3") as caught:
        model.set_params(n_estimators=3).fit(X, y)
    check_sentence(caught.value)
    np.testing.assert_array_equal(soft(model, X), before)


@every_forest
def test_warm_start_on_another_table_is_refused_or_right(name):
    X, y = problem(name)
    model = make(name, n_estimators=4, warm_start=True).fit(X, y)
    model.set_params(n_estimators=8)
    try:
        model.fit(X[:, :2], y)
    except ValueError as error:
        check_sentence(error)
    else:
        check_outputs(model, X[:, :2])


def test_warm_start_with_other_classes_is_refused_or_right():
    X = table(90, 3)
    model = make("ForestClassifier", n_estimators=4, warm_start=True).fit(X, np.arange(90) % 2)
    model.set_params(n_estimators=8)
    try:
        model.fit(X, np.arange(90) % 3)
    except ValueError as error:
        check_sentence(error)
    else:
        check_outputs(model, X)


@every_forest
def test_max_samples_and_bootstrap(name):
    X, y = problem(name)
    for bootstrap in (False, True):
        for max_samples in (10, 0.3):
            model = make(name, bootstrap=bootstrap, max_samples=max_samples).fit(X, y)
            check_outputs(model, X)
            roots = model.forest_.n_rows[model.forest_.roots]
            assert roots.max() <= (10 if max_samples == 10 else 48)
