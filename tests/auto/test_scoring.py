"""Scores, and what candidates are compared by where rows are few."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.svm import LinearSVC
from tests.auto.cases import quick

from featurewright.auto.estimators import FEW_ROWS
from featurewright.auto.scoring import certainty, choose_scorer, score_model


def test_usual_scorers():
    class Plain:
        def fit(self, X, y):
            """Learn nothing."""

        def predict(self, X):
            """Say nothing."""

    model = Plain()
    for y, name in (
        (np.arange(100) % 2, "accuracy"),
        (np.arange(100) % 10 == 0, "balanced_accuracy"),
        (np.where(np.arange(100) < 90, 0, np.arange(100) % 3), "balanced_accuracy"),
        (np.arange(100) % 3, "accuracy"),
    ):
        assert choose_scorer(None, model, "classification", y)[0] == name


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[
        np.clip(np.round(X[:, 0] + rng.normal(size=300)), -1, 1).astype(int)
    ]
    return LogisticRegression().fit(X[:200], y[:200]), X[200:], y[200:]


def test_certainty_is_one_minus_half_the_brier_score(fitted):
    model, X, y = fitted
    weights = np.random.default_rng(1).random(100)
    for weight in (None, weights):
        expected = brier_score_loss(
            y, model.predict_proba(X), sample_weight=weight, scale_by_half=True
        )
        assert certainty(model, X, y, weight) == pytest.approx(1.0 - expected)
    each = [certainty(model, X[y == kind], y[y == kind]) for kind in model.classes_]
    assert certainty(model, X, y, balance=True) == pytest.approx(np.mean(each))
    nothing = np.zeros(100)  # rows of no weight count like any others
    assert certainty(model, X, y, nothing) == certainty(model, X, y)


def test_a_class_that_was_never_seen_has_no_right_answer(fitted):
    model, X, _ = fitted
    shares = model.predict_proba(X)
    expected = 1.0 - 0.5 * np.mean((shares**2).sum(axis=1) + 1.0)
    assert certainty(model, X, np.full(100, "z")) == pytest.approx(expected)


def test_evidence_is_smooth_where_rows_are_few(fitted):
    model, X, y = fitted
    name, scorer = choose_scorer("accuracy", model, "classification", y)
    measured = scorer.measure(model, X, y)
    assert name == "accuracy"
    assert measured.score == accuracy_score(y, model.predict(X))
    assert measured.evidence == pytest.approx((measured.score + certainty(model, X, y)) / 2)
    _, balanced = choose_scorer("balanced_accuracy", model, "classification", y)
    measured = balanced.measure(model, X, y)
    expected = (measured.score + certainty(model, X, y, balance=True)) / 2
    assert measured.evidence == pytest.approx(expected)


@pytest.mark.parametrize("case", ["many rows", "no probabilities", "a smooth score", "a callable"])
def test_else_the_score_is_the_evidence(fitted, case):
    model, X, y = fitted
    labels, scoring = y, "accuracy"
    if case == "many rows":
        labels = np.resize(y, FEW_ROWS + 1)
    elif case == "no probabilities":
        model = LinearSVC().fit(X, y)
    elif case == "a smooth score":
        scoring = "neg_log_loss"
    else:

        def scoring(model, X, y):
            return accuracy_score(y, model.predict(X))

    _, scorer = choose_scorer(scoring, model, "classification", labels)
    measured = scorer.measure(model, X, y)
    assert measured.score == measured.evidence == score_model(scorer.scorer, model, X, y)


def test_what_is_reported_is_the_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    auto = quick().fit(X, y)
    original, batch = auto.results_[:2]
    # Shares of right answers among the 66 or 67 rows of a fold.
    right = np.outer(batch["fold_scores"], [66, 67])
    assert auto.scoring_ == "accuracy"
    assert batch["mean"] > original["mean"] + 0.2
    assert np.abs(right - np.round(right)).min(axis=1).max() < 1e-9
    assert auto.score_ == pytest.approx(auto.baseline_score_ + auto.gain_)
    assert auto.gain_ > 0.2


def test_a_score_of_one_class_needs_to_know_which(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    for scoring in ("f1", "average_precision"):
        with pytest.raises(ValueError, match="nothing says whether 'no' or 'yes' is meant"):
            quick(scoring=scoring).fit(X, y)
    assert not caplog.records  # it is refused before any fold is scored
    assert quick(scoring="f1").fit(X, y == "yes").score_ > 0.8
    assert quick(scoring="f1_macro").fit(X, y).score_ > 0.8
