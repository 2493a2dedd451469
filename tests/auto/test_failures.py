"""Methods and estimators that fail: left out, logged, and never taken for a lack of time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from tests.auto.cases import RATIO, X, quick

from featurewright.auto import failures
from featurewright.auto.failures import Attempt, EstimatorError
from featurewright.auto.leaderboard import Leaderboard
from featurewright.auto.methods import METHODS
from featurewright.auto.workspace import Workspace


def breaking(error, works=lambda asked: False):
    """Make a method that fails."""

    def construct(asked):
        if works(asked):
            return METHODS["batch"].construct(asked)
        raise error

    return dataclasses.replace(METHODS["fctree"], construct=construct)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no rows\n left. Pass more."), "ValueError: no rows left"),
        (RuntimeError("out of time"), "RuntimeError: out of time"),
        (MemoryError(), "MemoryError: "),
    ],
)
def test_a_method_that_fails_is_left_out_and_logged(monkeypatch, caplog, error, reason):
    monkeypatch.setitem(METHODS, "fctree", breaking(error))
    monkeypatch.setattr("featurewright.auto.features.warm_up", lambda task, methods: None)
    auto = quick(methods=["fctree", "batch"]).fit(X, RATIO)
    assert auto.best_method_ == "batch"
    result = auto.results_[1]
    assert (result["status"], result["reason"]) == ("failed", reason)
    assert result["reason_code"] == "error"
    (record,) = caplog.records
    assert record.getMessage() == "The method 'fctree' failed and was left out."
    assert record.exc_info[1] is error


@pytest.mark.parametrize("kind", failures.PROGRAMMING_ERRORS)
def test_our_own_mistakes_are_raised_in_tests_and_logged_elsewhere(monkeypatch, caplog, kind):
    with pytest.raises(kind, match="a mistake"), Attempt("something"):
        raise kind("a mistake")
    monkeypatch.setattr(failures, "_not_caught", ())
    with Attempt("something") as attempt:
        raise kind("a mistake")
    assert isinstance(attempt.error, kind)
    assert "Traceback" in caplog.text


def test_an_interrupt_is_no_failure():
    with pytest.raises(KeyboardInterrupt), Attempt("something"):
        raise KeyboardInterrupt


class Narrow(Ridge):
    """A model with a mistake of its own that shows with more than four columns."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] > 4:
            raise TypeError("too wide for me")
        return super().fit(X, y, sample_weight)


def test_an_estimator_that_fails_with_new_columns_is_not_our_mistake(caplog):
    auto = quick(estimator=Narrow()).fit(X, RATIO)
    assert auto.best_method_ == "original"
    reason = "the estimator failed with these columns: TypeError: too wide for me"
    assert (auto.results_[1]["status"], auto.results_[1]["reason"]) == ("failed", reason)
    assert issubclass(caplog.records[0].exc_info[0], EstimatorError)


def test_an_estimator_that_fails_with_the_original_columns_says_so_itself():
    wide = np.column_stack([X, X**2])
    with pytest.raises(TypeError, match="too wide for me"):
        quick(estimator=Narrow()).fit(wide, RATIO)


def test_what_fails_on_all_rows_is_not_kept(monkeypatch, caplog):
    fails = breaking(ValueError("too many rows"), works=lambda asked: len(asked.y) < len(X))
    monkeypatch.setitem(METHODS, "fctree", fails)
    auto = quick(methods="fctree").fit(X, RATIO)
    assert auto.best_method_ == "original"
    assert auto.results_[1]["gain"] > 0.5
    assert (auto.gain_, auto.score_) == (0.0, auto.baseline_score_)
    assert auto.gain_per_fold_.tolist() == [0.0, 0.0, 0.0]
    assert auto.transform(X).shape == X.shape
    said = [record.getMessage() for record in caplog.records]
    assert "'fctree' on all rows failed and was left out." in said
    assert auto.results_[1]["status"] == "failed"
    assert "too many rows" in said[-1]


def test_a_further_fold_that_fails_ends_the_proof(monkeypatch):
    construct, calls = Workspace.construct, []

    def fail_late(space, *asked):
        calls.append(asked)
        if len(calls) == 5:
            raise ValueError("the fifth")
        return construct(space, *asked)

    monkeypatch.setattr(Workspace, "construct", fail_late)
    monkeypatch.setattr(Leaderboard, "is_beyond_doubt", lambda board: False)
    auto = quick(cv=3).fit(X, RATIO)
    folds = [len(result["fold_scores"]) for result in auto.results_]
    assert folds == [4, 4]  # three, and one further fold before the one that failed
