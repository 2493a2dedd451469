"""Methods on folds run side by side, in threads or on a cluster; a search keeps every bit."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.distributed import models
from tests.relations.test_features import shop

from featurewright import AutoFeatures, Link
from featurewright.auto.ahead import LookAhead
from featurewright.auto.failures import EstimatorError
from featurewright.auto.methods import METHODS

METHOD_NAMES = ["batch", "forest", "votes", "landmarks"]
SETTINGS = {"effort": "quick", "methods": METHOD_NAMES, "random_state": 0}


def wide_table():
    """Rows enough for two stages."""
    X = np.random.default_rng(0).normal(size=(3_400, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] > 0


def customers():
    table, orders, y = shop()
    return table, y, {"links": [Link(orders, on="customer", time="date", name="orders")]}


CASES = {
    "one stage": lambda: (*models.make_table()[:2], {}),
    "numbers": lambda: (*models.make_table()[::2], {}),
    "two stages": lambda: (*wide_table(), {"methods": ["batch", "votes"]}),
    "links": lambda: (
        *customers()[:2],
        {**customers()[2], "as_of": "now", "methods": ["batch", "votes"]},
    ),
}


def found(search, X):
    """Return all that a search found."""
    outcomes = [{**result, "seconds": 0} for result in search.results_]
    return {
        "features": [feature.name for feature in search.features_],
        "front": search.front_,
        "stability": search.stability_.tolist(),
        "gains": search.gain_per_fold_.tolist(),
        "results": str(outcomes),
        "output": np.asarray(search.transform(X)).tobytes(),
        "predictions": np.asarray(search.predict(X)).tobytes(),
    }


def fit(name, **changes):
    X, y, settings = CASES[name]()
    return found(AutoFeatures(**{**SETTINGS, **settings, **changes}).fit(X, y), X)


@cache
def one_after_the_other(name):
    return fit(name, n_jobs=1)


def cases(*names, quick):
    """Return the cases of a test; those that are not quick take long."""
    return [pytest.param(n, marks=[] if n == quick else pytest.mark.slow) for n in names]


@pytest.mark.parametrize("name", cases(*CASES, quick="two stages"))
def test_threads_find_the_same(name):
    assert fit(name, n_jobs=3) == one_after_the_other(name)


@pytest.mark.parametrize("name", cases("one stage", "two stages", "links", quick="links"))
def test_two_workers_find_the_same(name, processes):
    with processes.as_current(), joblib.parallel_config("dask"):
        assert fit(name) == one_after_the_other(name)


def test_threads_of_a_worker_find_the_same(threads):
    with threads.as_current(), joblib.parallel_config("dask"):
        assert fit("one stage") == one_after_the_other("one stage")


def test_processes_find_the_same():
    with joblib.parallel_config("loky", n_jobs=2):
        assert fit("one stage") == one_after_the_other("one stage")


def test_methods_run_elsewhere(processes, monkeypatch):
    # Nothing is constructed here but what is kept, on all rows.
    seen = []
    construct = METHODS["batch"].construct

    def here(asked):
        seen.append(len(asked.table.matrix))
        return construct(asked)

    X, y, _ = models.make_table()
    monkeypatch.setattr(LookAhead, "_run_here", None)
    monkeypatch.setitem(vars(METHODS["batch"]), "construct", here)
    scattered = []
    scatter = processes.scatter
    monkeypatch.setattr(
        processes, "scatter", lambda data, **k: scattered.append(data) or scatter(data, **k)
    )
    with processes.as_current(), joblib.parallel_config("dask"):
        search = AutoFeatures(**{**SETTINGS, "methods": ["batch", "votes"]}).fit(X, y)
    assert set(seen) <= {len(X)}
    tables = [data for data in scattered if type(data.value).__name__ == "FoldTables"]
    assert len(tables) == 1  # for all stages and further folds
    assert search.best_method_ == "batch"


class DiesOnce(LogisticRegression):
    """A model that takes its process along the first time it is fitted on a worker."""

    def __init__(self, marker=None, home=None):
        super().__init__()
        self.marker, self.home = marker, home

    def fit(self, X, y, sample_weight=None):
        if self.marker and os.getpid() != self.home and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


def test_a_worker_killed_in_mid_search_changes_no_bit(processes, tmp_path):
    marker, home = str(tmp_path / "marker"), os.getpid()
    settings = {"methods": ["batch", "votes"]}
    expected = fit("one stage", estimator=DiesOnce(), **settings)
    with processes.as_current(), joblib.parallel_config("dask"):
        actual = fit("one stage", estimator=DiesOnce(marker, home), **settings)
    assert Path(marker).exists()
    assert actual == expected


class FailsWithMany(LogisticRegression):
    """A model that refuses more columns than a number."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] > 30:
            raise EstimatorError("too many columns.")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_method_that_fails_is_left_out(n_jobs):
    X, y, _ = models.make_table()
    search = AutoFeatures(**SETTINGS, estimator=FailsWithMany(), n_jobs=n_jobs).fit(X, y)
    failed = [one["method"] for one in search.results_ if one["status"] == "failed"]
    assert failed == ["landmarks"]


def test_the_time_guard_holds_elsewhere(processes):
    X, y, _ = models.make_table()
    with processes.as_current(), joblib.parallel_config("dask"):
        search = AutoFeatures(**SETTINGS, time_budget=0.01)
        with pytest.warns(UserWarning, match="cut short by time_budget"):
            search.fit(X, y)
    assert search.stopped_by_time_
    assert search.predict(X).shape == (len(X),)


class Interrupted(AutoFeatures):
    """A search whose user gives up when something was done side by side."""

    def _notify(self, event):
        if event["method"] == "methods side by side":
            raise KeyboardInterrupt


@pytest.mark.parametrize("backend", ["threading", "dask"])
def test_an_interrupt_ends_a_search(processes, backend, monkeypatch):
    X, y, _ = models.make_table()
    sent = []
    submit = processes.submit
    monkeypatch.setattr(
        processes, "submit", lambda *a, **k: sent.append(submit(*a, **k)) or sent[-1]
    )
    with (
        processes.as_current(),
        joblib.parallel_config(backend),
        pytest.raises(KeyboardInterrupt),
    ):
        Interrupted(**SETTINGS, n_jobs=2).fit(X, y)
    assert bool(sent) == (backend == "dask")
    assert {future.status for future in sent} <= {"finished", "cancelled"}


def test_progress_tells_what_is_done(processes):
    told = []

    class Told(AutoFeatures):
        def _notify(self, event):
            told.append((event["method"], event["stage"]))

    X, y, _ = models.make_table()
    with processes.as_current(), joblib.parallel_config("dask"):
        Told(**{**SETTINGS, "methods": ["batch", "votes"]}).fit(X, y)
    assert ("methods side by side", "1 of 2") in told
    assert ("methods side by side", "2 of 2") in told
    assert ("formulas in one order", "1 of 1") in told
    assert ("batch", "fold 1 of 3") in told
