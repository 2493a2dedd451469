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

from featurewright import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer

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


def test_recursions_lower_the_loss_on_digits():
    digits, labels = load_digits(return_X_y=True)
    train, test = slice(0, 500), slice(500, 1000)
    losses = [
        log_loss(
            labels[test],
            RecursiveSelectiveClassifier(n_recursions=k, random_state=0)
            .fit(digits[train], labels[train])
            .predict_proba(digits[test]),
        )
        for k in (0, 2)
    ]
    assert losses[1] < losses[0]


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
