"""Ensembles over kernel features: every method, seeds, weights, tables, other learners."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.naive import landmarks as naive

from featurewright import (
    ConstructiveForestClassifier,
    ConstructiveTreeClassifier,
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    load,
    save,
)
from featurewright.datasets import make_ringnorm, make_unit_square
from featurewright.landmarks.ensembles import HAVE_BOOTSTRAPS
from featurewright.landmarks.runs import METHODS

X, Y = make_ringnorm(500, random_state=0)
TRAIN, TEST = slice(0, 300), slice(300, None)
NUMBERS = np.sqrt((X**2).sum(axis=1))
NUMBER_METHODS = [method for method in METHODS if method != "adaboost"]


def classifier(estimator=None, **params):
    settings = {"n_estimators": 20, "width": 10.0, "random_state": 0} | params
    return KernelFeatureEnsembleClassifier(estimator, **settings)


def regressor(estimator=None, **params):
    settings = {"n_estimators": 20, "width": 40.0, "random_state": 0} | params
    return KernelFeatureEnsembleRegressor(estimator, **settings)


@pytest.mark.parametrize("method", METHODS)
def test_kernel_features_help_where_they_fit(method):
    model = classifier(method=method, n_estimators=40).fit(X[TRAIN], Y[TRAIN])
    error = 1 - model.score(X[TEST], Y[TEST])
    assert error < 0.06
    if method != "kernel_only":
        plain = clone(model).set_params(n_landmarks=0).fit(X[TRAIN], Y[TRAIN])
        assert error <= 1 - plain.score(X[TEST], Y[TEST])


@pytest.mark.parametrize("method", METHODS)
def test_probabilities(method):
    model = classifier(method=method).fit(X[TRAIN], Y[TRAIN] * 3 + 2)
    shares = model.predict_proba(X[TEST])
    assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.min() >= 0
    assert_array_equal(model.predict(X[TEST]), np.array([2, 5])[shares.argmax(axis=1)])


@pytest.mark.parametrize(
    ("make", "method"),
    [(classifier, method) for method in METHODS]
    + [(regressor, method) for method in NUMBER_METHODS],
)
def test_same_result_for_any_number_of_threads(make, method):
    big = np.vstack([X] * 5)
    y = Y if make is classifier else NUMBERS
    one = make(method=method, n_estimators=8, n_jobs=1).fit(X, y)
    three = make(method=method, n_estimators=8, n_jobs=3).fit(X, y)
    answer = "predict_proba" if make is classifier else "predict"
    expected = getattr(one, answer)(big)
    assert_array_equal(getattr(three, answer)(big), expected)
    assert_array_equal(getattr(one, answer)(big[7:8]), expected[7:8])
    other = make(method=method, n_estimators=8, random_state=1).fit(X, y)
    assert np.any(getattr(other, answer)(big) != expected)


@pytest.mark.parametrize(
    ("method", "sizes"),
    [
        ("kernel_only", [1] * 20),
        ("random_subspace", [1] * 20),
        ("bagging", [1] * 4),  # one forest of five trees in each run
        ("random_forest", [1] * 4),
        ("constructive_forest", [1] * 4),
    ],
)
def test_runs_and_members(method, sizes):
    model = classifier(method=method).fit(X, Y)
    assert [len(own) for own in model.estimators_] == sizes
    trees = sum(own[0].forest_.n_trees for own in model.estimators_)
    assert trees == 20
    assert len(model.landmark_rows_) == len(sizes) == model.n_runs_


def test_the_published_sizes_are_the_default():
    model = KernelFeatureEnsembleClassifier(random_state=0).fit(X[:60], Y[:60])
    assert model.n_runs_ == 14
    assert {own[0].forest_.n_trees for own in model.estimators_} == {14}
    assert {len(rows) for rows in model.landmark_rows_} == {10}
    members = [own[0] for own in model.estimators_]
    assert {member.criterion for member in members} == {"entropy"}
    few = classifier(method="bagging", n_runs=3).fit(X, Y)
    assert [own[0].forest_.n_trees for own in few.estimators_] == [6, 6, 6]


def test_what_members_see():
    seen = {
        method: {own[0].n_features_in_ for own in classifier(method=method).fit(X, Y).estimators_}
        for method in METHODS
    }
    assert seen == {
        "kernel_only": {10},
        "random_subspace": {20},
        "bagging": {30},
        "adaboost": {30},
        "random_forest": {30},
        "constructive_forest": {30},
    }
    model = classifier(method="random_subspace").fit(X, Y)
    halves = {tuple(run.columns) for run in model._runs}
    assert len(halves) > 1
    assert {len(half) for half in halves} == {10}


def test_a_forest_run_is_a_forest_over_the_joint_table():
    model = classifier(method="random_forest", n_runs=1).fit(X[TRAIN], Y[TRAIN])
    kernel = naive.similarities("gaussian", X, X[model.landmark_rows_[0]], width=10.0)
    joint = np.hstack([X, kernel]).astype(np.float32)
    own = ConstructiveForestClassifier(
        20,
        search=None,
        criterion="entropy",
        random_state=model.estimators_[0][0].random_state,
    ).fit(joint[TRAIN], Y[TRAIN])
    # A similarity that rounds differently may cross a threshold; hardly any does.
    same = np.isclose(model.predict_proba(X[TEST]), own.predict_proba(joint[TEST]))
    assert same.mean() > 0.98


def test_a_member_of_kernel_only_is_a_tree_over_similarities():
    model = classifier(method="kernel_only", n_estimators=1).fit(X[TRAIN], Y[TRAIN])
    member = model.estimators_[0][0]
    assert isinstance(member, ConstructiveTreeClassifier)
    assert member.search is None
    assert member.min_samples_leaf == 2
    assert model._runs[0].columns.size == 0


def test_leaves_of_boosted_trees_weigh_as_much_as_two_rows():
    """As in C4.5; a limit that is given is kept instead."""
    member = classifier(method="adaboost").fit(X[TRAIN], Y[TRAIN]).estimators_[0][0]
    assert member.min_samples_leaf == 1
    assert member.min_weight_fraction_leaf == pytest.approx(2.0 / len(X[TRAIN]))
    given = classifier(method="adaboost", min_samples_leaf=3).fit(X[TRAIN], Y[TRAIN])
    member = given.estimators_[0][0]
    assert (member.min_samples_leaf, member.min_weight_fraction_leaf) == (3, 0.0)


@pytest.mark.parametrize("method", [None, "kernel_only", "random_subspace", "bagging", "adaboost"])
def test_any_classifier_may_be_the_member(method):
    tree = DecisionTreeClassifier(max_depth=3)
    model = classifier(tree, method=method).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.9
    seeds = {learner.random_state for own in model.estimators_ for learner in own}
    assert len(seeds) == sum(map(len, model.estimators_))
    assert tree.random_state is None


@pytest.mark.parametrize("method", [None, "kernel_only", "random_subspace", "bagging"])
def test_any_regressor_may_be_the_member(method):
    model = regressor(LinearRegression(), method=method, n_landmarks=30)
    assert model.fit(X[TRAIN], NUMBERS[TRAIN]).score(X[TEST], NUMBERS[TEST]) > 0.5


def test_a_run_of_another_learner_is_that_learner():
    member = make_pipeline(StandardScaler(), LogisticRegression())
    model = classifier(member, n_runs=2).fit(X[TRAIN], Y[TRAIN])
    expected = 0
    for rows in model.landmark_rows_:
        joint = np.hstack([X, naive.similarities("gaussian", X, X[rows], width=10.0)])
        expected = (
            expected + clone(member).fit(joint[TRAIN], Y[TRAIN]).predict_proba(joint[TEST]) / 2
        )
    assert_allclose(model.predict_proba(X[TEST]), expected, atol=1e-6)


def test_our_learners_may_be_members():
    forest = ConstructiveForestClassifier(3, budget=20)
    model = classifier(forest).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.9


@pytest.mark.parametrize("method", NUMBER_METHODS)
def test_regression(method):
    model = regressor(method=method).fit(X[TRAIN], NUMBERS[TRAIN])
    found = model.predict(X[TEST])
    assert found.shape == (200,)
    assert model.score(X[TEST], NUMBERS[TEST]) > 0.5
    parts = [
        run.member.values(
            model._base.table(
                model._base.read(X),
                run.columns,
                model._features.columns(X)[:, 10 * k : 10 * (k + 1)],
            )
        )
        for k, run in enumerate(model._runs)
    ]
    assert_allclose(model.predict(X), np.mean(parts, axis=0)[:, 0])


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_targets_of_extreme_size(size):
    model = regressor(method="bagging").fit(X[TRAIN], NUMBERS[TRAIN] * size)
    plain = regressor(method="bagging").fit(X[TRAIN], NUMBERS[TRAIN])
    assert_allclose(model.predict(X) / size, plain.predict(X), rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_weight_do_not_count(method):
    weights = np.ones(len(Y))
    weights[TEST] = 0.0
    spoiled = np.where(weights > 0, Y, 1 - Y)
    wild = np.where(weights[:, None] > 0, X, 1e6)
    model = classifier(method=method).fit(wild, spoiled, weights)
    same = classifier(method=method).fit(X, Y, weights)
    assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert model.score(X[TEST], Y[TEST]) > 0.85
    assert max(rows.max() for rows in model.landmark_rows_) < 300


@pytest.mark.parametrize("method", METHODS)
def test_weights_move_the_boundary(method):
    noisy = np.random.default_rng(0).permutation(Y)
    heavy = classifier(method=method, max_depth=3, class_weight={0: 100.0, 1: 0.01})
    assert heavy.fit(X, noisy).predict(X).mean() < 0.1
    weights = np.where(noisy == 1, 100.0, 0.01)
    light = classifier(method=method, max_depth=3).fit(X, noisy, weights)
    assert light.predict(X).mean() > 0.9


def test_labels_missing_values_and_frames():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=400).astype(object)
    number = rng.normal(size=400)
    y = (colour == "red") ^ (number > 0)
    number[::7] = np.nan
    colour[::11] = None
    frame = pd.DataFrame({"colour": colour, "number": number, "flag": rng.random(400) > 0.5})
    for member in (None, DecisionTreeClassifier(max_depth=6)):
        model = classifier(member, width=None).fit(frame[:300], y[:300])
        known = frame[300:].notna().all(axis=1).to_numpy()
        assert model.score(frame[300:][known], y[300:][known]) > 0.85
        strange = frame[300:].assign(colour="violet")
        assert np.isfinite(model.predict_proba(strange)).all()


def test_pickle_clone_and_nested_parameters():
    model = classifier(DecisionTreeClassifier(max_depth=2)).set_params(estimator__max_depth=3)
    model.fit(X, Y)
    assert {own[0].max_depth for own in model.estimators_} == {3}
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_similarity_that_is_no_kernel():
    def agreement(A, B):
        return (np.abs(A[:, None] - B[None]) < 1.0).mean(axis=2)

    model = classifier(kernel=agreement, batched=True, width=None).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.9


def test_a_useless_kernel_does_not_ruin_the_extended_forest():
    rows, y = make_unit_square(600, concept="circle", random_state=0)

    def constant(A, B):
        return np.zeros((len(A), len(B)))

    useless = {"kernel": constant, "batched": True, "width": None}
    alone = classifier(method="kernel_only", **useless).fit(rows[:400], y[:400])
    both = classifier(method="bagging", **useless).fit(rows[:400], y[:400])
    assert alone.score(rows[400:], y[400:]) < 0.75
    assert both.score(rows[400:], y[400:]) > 0.93


def test_weights_for_a_learner_that_takes_none():
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        regressor(KNeighborsRegressor()).fit(X, NUMBERS, np.ones(500))


LABELS = np.column_stack([Y, X[:, 0] > 0, (X[:, 1] > 0) ^ (X[:, 2] > 0)]).astype(int)
NAMES = np.column_stack([np.array(["a", "b"])[Y], np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "adaboost"])
@pytest.mark.parametrize("y", [LABELS, NAMES], ids=["labels", "classes"])
def test_several_columns_of_classes(method, y):
    model = classifier(method=method).fit(X[TRAIN], y[TRAIN])
    shares = model.predict_proba(X[TEST])
    assert [block.shape for block in shares] == [(200, len(set(column))) for column in y.T]
    assert_allclose(np.hstack(shares).sum(axis=1), y.shape[1])
    found = model.predict(X[TEST])
    assert np.mean(found[:, 0] == y[TEST][:, 0]) > 0.85
    assert found.dtype.kind == y.dtype.kind
    assert_array_equal(model.predict(X[300:301]), found[:1])


@pytest.mark.parametrize("method", NUMBER_METHODS)
def test_several_columns_of_numbers(method):
    y = np.column_stack([NUMBERS, 100 * X[:, 0]])
    model = regressor(method=method, landmarks="class").fit(X[TRAIN], y[TRAIN])
    assert model.predict(X[TEST]).shape == (200, 2)
    assert model.score(X[TEST], y[TEST]) > 0.3


@pytest.mark.parametrize(
    "member", [DecisionTreeClassifier(max_depth=5), RidgeClassifier(), MLPClassifier((2,))]
)
def test_members_of_several_labels(member):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = classifier(member, method="bagging", n_estimators=4).fit(X[TRAIN], LABELS[TRAIN])
    assert_allclose(np.hstack(model.predict_proba(X[TEST])).sum(axis=1), 3.0)
    assert model.predict(X[TEST]).shape == (200, 3)


def test_several_targets_are_refused_where_members_take_one():
    with pytest.raises(ValueError, match=r"adaboost.* takes one column of classes"):
        classifier(method="adaboost").fit(X, LABELS)
    with pytest.raises(ValueError, match="LogisticRegression takes one"):
        classifier(LogisticRegression()).fit(X, LABELS)
    with pytest.raises(ValueError, match="class_weight is not supported for several targets"):
        classifier(class_weight="balanced").fit(X, LABELS)


@pytest.mark.parametrize(
    ("member", "method"),
    [(None, m) for m in HAVE_BOOTSTRAPS] + [(DecisionTreeClassifier(), "bagging")],
)
def test_out_of_bag(member, method):
    model = classifier(member, method=method, n_estimators=60, oob_score=True)
    model.fit(X[TRAIN], Y[TRAIN])
    assert model.oob_score_ == pytest.approx(model.score(X[TEST], Y[TEST]), abs=0.06)
    hits = model.oob_decision_function_.argmax(axis=1) == Y[TRAIN]
    assert model.oob_score_ == hits.mean()
    three = clone(model).set_params(n_jobs=3).fit(X[TRAIN], Y[TRAIN])
    assert_array_equal(three.oob_decision_function_, model.oob_decision_function_)


def test_out_of_bag_of_numbers_and_of_several_targets():
    model = regressor(n_estimators=60, oob_score=True).fit(X[TRAIN], NUMBERS[TRAIN])
    assert model.oob_score_ == pytest.approx(model.score(X[TEST], NUMBERS[TEST]), abs=0.15)
    assert model.oob_prediction_.shape == (300,)
    several = classifier(oob_score=True).fit(X[TRAIN], LABELS[TRAIN])
    assert several.oob_decision_function_.shape == (300, 6)
    assert several.oob_score_ > 0.6


def test_out_of_bag_needs_bootstraps():
    for method in ("kernel_only", "random_subspace", "adaboost"):
        with pytest.raises(ValueError, match="needs members that see rows drawn"):
            classifier(method=method, oob_score=True).fit(X, Y)
    with pytest.warns(UserWarning, match="saw every row"):
        classifier(oob_score=True, n_estimators=1).fit(X[:1], Y[:1])


@pytest.mark.parametrize("method", METHODS)
def test_importances(method):
    y = (X[:, 3] > 0).astype(int)
    model = classifier(method=method).fit(X, y)
    found = model.feature_importances_
    assert found.shape == (20,)
    assert found.sum() + model.kernel_importance_ == pytest.approx(1.0)
    if method == "kernel_only":
        assert not found.any()
    else:
        assert found.argmax() == 3


def test_importances_of_labels_and_of_other_members():
    frame = pd.DataFrame({"colour": np.array(["r", "g", "b"])[np.arange(500) % 3], "x": X[:, 0]})
    y = (frame["colour"] == "g").to_numpy()
    model = classifier(DecisionTreeClassifier(), width=None).fit(frame, y)
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_[0] > 0.5
    assert not hasattr(classifier(GaussianNB()).fit(X, Y), "feature_importances_")


@pytest.mark.parametrize("member", [None, DecisionTreeClassifier(max_depth=3)])
def test_files_of_several_targets_and_out_of_bag_scores(member, tmp_path):
    model = classifier(member, method="bagging", oob_score=True).fit(X[TRAIN], LABELS[TRAIN])
    save(model, tmp_path / "model.fw")
    again = load(tmp_path / "model.fw")
    for found, expected in zip(again.predict_proba(X), model.predict_proba(X), strict=True):
        assert_array_equal(found, expected)
    assert again.oob_score_ == model.oob_score_
    assert_array_equal(again.feature_importances_, model.feature_importances_)
    numbers = regressor().fit(X[TRAIN], np.column_stack([NUMBERS, X[:, 0]])[TRAIN])
    save(numbers, tmp_path / "numbers.fw")
    assert_array_equal(load(tmp_path / "numbers.fw").predict(X), numbers.predict(X))
