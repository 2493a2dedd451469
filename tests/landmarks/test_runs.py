"""AdaBoost.M1 and bags against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.naive import landmarks as naive

from featurewright import KernelFeatureEnsembleClassifier
from featurewright.datasets import make_waveform
from featurewright.landmarks.runs import (
    TrainingTarget,
    predict_out_of_bag,
    train_bag,
    train_boosted,
    train_one,
)

X, Y = make_waveform(300, random_state=0)
TARGET = TrainingTarget(Y, None, 3)


# Learners without ties: weights that differ in the last digit must not matter.
@pytest.mark.parametrize("learner", [DecisionTreeClassifier(max_depth=1), GaussianNB()])
@pytest.mark.parametrize("n_rounds", [1, 8])
def test_boosting_follows_the_definition(learner, n_rounds):
    expected = naive.AdaBoostM1(learner, n_rounds).fit(X[:200], Y[:200])
    target = TrainingTarget(Y[:200], None, 3)
    actual = train_boosted(learner, X[:200], target, 5, n_rounds)
    assert len(actual.members) == len(expected.members)
    assert_allclose(actual.weights, expected.votes, rtol=1e-5)
    assert_allclose(actual.values(X[200:]), expected.predict_proba(X[200:], 3), rtol=1e-5)


def test_boosting_ends_at_a_perfect_learner():
    boosted = train_boosted(DecisionTreeClassifier(), X, TARGET, 0, 10)
    assert len(boosted.members) == 1
    assert_array_equal(boosted.values(X), np.eye(3)[Y])


def test_boosting_keeps_a_first_learner_that_is_no_good():
    coin = np.arange(100) % 2
    boosted = train_boosted(
        DecisionTreeClassifier(max_depth=1),
        np.zeros((100, 1)),
        TrainingTarget(coin, None, 2),
        0,
        10,
    )
    assert len(boosted.members) == 1
    assert_allclose(boosted.values(np.zeros((4, 1))), 0.5)


def test_boosting_starts_from_the_weights():
    weights = np.where(Y == 0, 1e-9, 1.0)
    boosted = train_boosted(
        DecisionTreeClassifier(max_depth=1), X, TrainingTarget(Y, weights, 3), 0, 1
    )
    assert np.mean(np.argmax(boosted.values(X), axis=1) == 0) == 0


def test_bag_sees_rows_with_weight_alone():
    weights = (Y != 1).astype(float)
    bag = train_bag(DecisionTreeClassifier(), X, TrainingTarget(Y, weights, 3), 0, 6)
    assert len(bag.learners) == 6
    assert bag.values(X)[:, 1].max() == 0
    shares = np.mean([m.values(X) for m in bag.members], axis=0)
    assert_allclose(bag.values(X), shares)
    assert np.any(bag.members[0].values(X) != bag.members[1].values(X))


def test_out_of_bag_of_a_bag():
    tree = DecisionTreeClassifier(max_depth=3)
    bag = train_bag(tree, X, TARGET, 7, 12)
    random = np.random.RandomState(7)
    expected, counts = np.zeros((300, 3)), np.zeros((300, 1))
    for member in bag.members:
        out = np.setdiff1d(np.arange(300), random.randint(300, size=300))
        random.randint(np.iinfo(np.int32).max)  # the learner's own seed
        expected[out] += member.values(X[out])
        counts[out] += 1
    found = predict_out_of_bag(bag, X, TARGET, 7)
    assert_allclose(found[counts[:, 0] > 0], (expected / np.maximum(counts, 1))[counts[:, 0] > 0])
    assert np.isnan(found[counts[:, 0] == 0]).all()


def test_a_learner_without_probabilities_votes():
    one = train_one(RidgeClassifier(), X, TARGET, 0)
    assert_array_equal(np.argmax(one.values(X), axis=1), one.learner.predict(X))
    assert set(np.unique(one.values(X))) == {0.0, 1.0}


def test_ensemble_of_boosted_runs_is_their_mean():
    model = KernelFeatureEnsembleClassifier(
        GaussianNB(),
        method="adaboost",
        n_estimators=20,
        width=30.0,
        random_state=0,
    ).fit(X[:200], Y[:200])
    assert model.n_runs_ == 4
    expected = 0
    chosen = model.landmark_rows_
    for rows, own in zip(chosen, model.estimators_, strict=True):
        kernel = naive.similarities("gaussian", X, X[rows], width=30.0)
        table = np.hstack([X, kernel])
        boosted = naive.AdaBoostM1(GaussianNB(), 5).fit(table[:200], Y[:200])
        assert len(boosted.members) == len(own)
        expected = expected + boosted.predict_proba(table[200:], 3) / 4
    assert_allclose(model.predict_proba(X[200:]), expected, atol=1e-6)
