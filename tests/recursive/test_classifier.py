"""The ensemble: probabilities, members, rare classes, weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from featurewright import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer
from featurewright.recursive.base import deal_folds
from featurewright.recursive.members import CalibratedMember, fit_sigmoid

X, Y = load_iris(return_X_y=True)


def check_probabilities(model, table):
    chances = model.predict_proba(table)
    assert chances.shape == (len(table), len(model.classes_))
    assert np.isfinite(chances).all()
    assert (chances >= 0).all()
    assert_allclose(chances.sum(axis=1), 1.0)
    assert_array_equal(model.predict(table), model.classes_[chances.argmax(axis=1)])


@pytest.mark.parametrize(
    "member",
    [
        None,
        LogisticRegression(),
        RidgeClassifier(),
        RandomForestClassifier(10),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda member: type(member).__name__,
)
def test_any_member(member):
    model = RecursiveSelectiveClassifier(member, n_recursions=1, keep=(3,), random_state=0)
    model.fit(X[::2], Y[::2])
    check_probabilities(model, X[1::2])
    assert model.score(X[1::2], Y[1::2]) > 0.85
    again = RecursiveSelectiveClassifier(member, n_recursions=1, keep=(3,), random_state=0)
    assert_array_equal(again.fit(X[::2], Y[::2]).predict_proba(X), model.predict_proba(X))


def test_each_member_learns_on_its_own_block():
    settings = {"n_recursions": 1, "keep": (3,), "random_state": 0}
    model = RecursiveSelectiveClassifier(LogisticRegression(), **settings).fit(X, Y)
    blocks = np.split(RecursiveSelectiveTransformer(**settings).fit(X, Y).transform(X), 3, axis=1)
    chances = np.column_stack(
        [
            LogisticRegression().fit(block, np.equal(Y, k)).predict_proba(block)[:, 1]
            for k, block in enumerate(blocks)
        ]
    )
    expected = chances / chances.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, atol=1e-4)


def digits_loss(**settings):
    digits, labels = load_digits(return_X_y=True)
    model = RecursiveSelectiveClassifier(random_state=0, **settings)
    chances = model.fit(digits[:500], labels[:500]).predict_proba(digits[500:1000])
    return log_loss(labels[500:1000], chances)


def test_calibration_on_rows_not_seen_lowers_the_loss_on_digits():
    for n_recursions in (0, 1):
        published, cross_fit = (
            digits_loss(n_recursions=n_recursions, calibration=calibration)
            for calibration in ("published", "cross_fit")
        )
        assert cross_fit < published


def test_recursions_lower_the_loss_of_the_published_calibration_on_digits():
    none, two = (digits_loss(n_recursions=k, calibration="published") for k in (0, 2))
    assert two < none


@pytest.mark.parametrize("member", [None, RidgeClassifier()], ids=["svm", "ridge"])
def test_sigmoids_are_fitted_on_rows_that_nothing_before_them_has_seen(member):
    rows = Y > 0
    table, labels = X[rows], Y[rows]
    settings = {"n_recursions": 1, "keep": (3,), "scale": None, "random_state": 0}
    model = RecursiveSelectiveClassifier(member, **settings).fit(table, labels)
    decisions = np.empty(len(labels))
    for train, test in deal_folds(labels, 5, model._seeds[0]):
        part = RecursiveSelectiveTransformer(**settings).fit(table[train], labels[train])
        part._seeds = model._seeds
        learner = LinearSVC(dual=False, tol=1e-12) if member is None else member
        learner.fit(part.transform(table[train]), labels[train] == 2)
        decisions[test] = learner.decision_function(part.transform(table[test]))
    slope, offset = fit_sigmoid(decisions, labels == 2, None)
    (found,) = model.estimators_
    assert isinstance(found, CalibratedMember)
    assert_allclose([found.slope_, found.offset_], [slope, offset], rtol=1e-3, atol=1e-3)


def test_auto_calibrates_on_the_rows_that_it_chose_by():
    auto = RecursiveSelectiveClassifier(keep=(3, 2), random_state=0).fit(X, Y)
    chances = auto.predict_proba(X)
    shared = RecursiveSelectiveClassifier(keep=(3, 2), validation=0.3, random_state=0).fit(X, Y)
    check_probabilities(auto, X)
    check_probabilities(shared, X)
    assert np.isfinite(auto.history_["validation_loss"]).all()
    again = RecursiveSelectiveClassifier(keep=(3, 2), n_jobs=2, random_state=0).fit(X, Y)
    assert_array_equal(again.predict_proba(X), chances)


def test_sigmoid_has_the_slope_of_the_log_odds():
    random = np.random.RandomState(0)
    decisions = random.normal(size=20_000)
    is_class = random.rand(20_000) < 1 / (1 + np.exp(-(3 * decisions - 1)))
    assert_allclose(fit_sigmoid(decisions, is_class, None), [3, -1], rtol=0.05)
    # Units do not matter, weights count as repeated rows, and a constant gives the share.
    slope, offset = fit_sigmoid(1e6 * decisions, is_class, np.full(20_000, 2.0))
    assert_allclose([1e6 * slope, offset], [3, -1], rtol=0.05)
    flat = fit_sigmoid(np.zeros(100), np.arange(100) < 20, None)
    assert_allclose(1 / (1 + np.exp(-flat[1])), 0.2, atol=0.02)


def test_folds_spread_rare_classes():
    codes = np.array([0] * 10 + [1, 1] + [2])
    folds = deal_folds(codes, 3, seed=0)
    held_out = np.sort(np.concatenate([test for _, test in folds]))
    assert_array_equal(held_out, np.arange(13))
    for train, test in folds:
        assert set(train) | set(test) == set(range(13))
        assert 1 in codes[train]


def test_rare_classes():
    labels = Y.astype(object)
    labels[0], labels[1:3] = "one row", "two rows"
    labels = labels.astype(str)
    model = RecursiveSelectiveClassifier(n_recursions="auto", random_state=0).fit(X, labels)
    check_probabilities(model, X)
    assert len(model.classes_) == 5


def test_two_classes_and_weights():
    rows = Y > 0
    weights = np.where(Y[rows] == 2, 20.0, 1.0)
    plain = RecursiveSelectiveClassifier(n_recursions=1, random_state=0).fit(X[rows], Y[rows])
    heavy = RecursiveSelectiveClassifier(n_recursions=1, random_state=0).fit(
        X[rows], Y[rows], sample_weight=weights
    )
    check_probabilities(heavy, X[rows])
    assert len(heavy.estimators_) == 1
    assert heavy.predict_proba(X[rows])[:, 1].mean() > plain.predict_proba(X[rows])[:, 1].mean()


def test_members_that_cannot_be_used():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="takes no sample_weight"):
        RecursiveSelectiveClassifier(pipeline).fit(X, Y, sample_weight=np.ones(150))
    for wrong in ("svm", LogisticRegression):
        with pytest.raises(TypeError, match="not a scikit-learn classifier"):
            RecursiveSelectiveClassifier(wrong).fit(X, Y)


def test_grid_search():
    search = GridSearchCV(
        RecursiveSelectiveClassifier(LogisticRegression(), random_state=0),
        {"n_recursions": [0, 1], "estimator__C": [0.1, 10.0]},
        cv=2,
    ).fit(X, Y)
    assert search.best_score_ > 0.8
