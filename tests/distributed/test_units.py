"""The active joblib backend moves the units of a fit; results keep every bit."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV
from tests.distributed import models
from tests.distributed.conftest import QUIET

from featurewright import AutoFeatures, ConstructiveForestClassifier
from featurewright.engine.threads import local_threads, moving_backend
from featurewright.estimators.units import chosen_backend, run_units


@pytest.fixture(scope="module")
def local():
    return {name: models.learned(models.fit(name)) for name in models.MODELS}


def test_bits_are_the_same_in_local_processes(local):
    with joblib.parallel_config("loky", n_jobs=2):
        for name, expected in local.items():
            assert models.learned(models.fit(name)) == expected, name


def test_bits_are_the_same_on_two_workers(local, processes):
    with processes.as_current(), joblib.parallel_config("dask"):
        for name, expected in local.items():
            assert models.learned(models.fit(name)) == expected, name


def test_bits_are_the_same_on_threads_of_a_worker(local, threads):
    with threads.as_current(), joblib.parallel_config("dask"):
        for name, expected in local.items():
            assert models.learned(models.fit(name)) == expected, name


@pytest.mark.slow
def test_bits_are_the_same_on_one_worker(local):
    with (
        LocalCluster(1, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        for name, expected in local.items():
            assert models.learned(models.fit(name)) == expected, name
        for name in models.SLOW:
            found = models.learned(models.fit(name))
            with joblib.parallel_config("threading"):
                assert models.learned(models.fit(name)) == found, name


def test_a_search_is_the_same_on_a_cluster(threads):
    X, y, _ = models.make_table()
    search = AutoFeatures(effort="quick", methods=["batch", "forest"], random_state=0)
    search.fit(X, y)
    names, expected = list(search.get_feature_names_out()), search.transform(X)
    with threads.as_current(), joblib.parallel_config("dask"):
        search.fit(X, y)
    assert list(search.get_feature_names_out()) == names
    np.testing.assert_array_equal(search.transform(X), expected)


def test_comparison_sees_a_difference(local):
    other = models.fit("forest", random_state=1)
    assert models.learned(other) != local["forest"]
    other = models.fit("kernels", random_state=1)
    other.random_state = 0
    assert models.learned(other) != local["kernels"]


def test_units_run_on_workers(processes, monkeypatch):
    sent = []
    submit = processes.submit
    monkeypatch.setattr(
        processes, "submit", lambda *a, **k: sent.append(submit(*a, **k)) or sent[-1]
    )
    with processes.as_current(), joblib.parallel_config("dask"):
        models.fit("forest")
    grown = [future for future in sent if future.key.startswith("_compute")]
    assert len(grown) == 40
    assert {future.status for future in grown} == {"finished"}


@pytest.mark.parametrize("backend", [None, "threading"])
def test_threads_are_the_default(backend):
    with joblib.parallel_config(backend) if backend else joblib.parallel_config(n_jobs=1):
        assert moving_backend() is None


def test_a_cluster_is_no_reason_for_local_threads(processes):
    with processes.as_current(), joblib.parallel_config("dask"):
        assert moving_backend() is not None
        assert local_threads(None) <= joblib.cpu_count()
        assert local_threads(1) == 1
        assert local_threads(3) == 3


def test_a_fit_on_a_worker_stays_there(processes):
    X, y, _ = models.make_table()
    search = GridSearchCV(
        ConstructiveForestClassifier(4, random_state=0), {"max_depth": [2, 3]}, cv=2
    )
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with processes.as_current(), joblib.parallel_config("dask"):
        actual = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(actual, expected)


def test_the_table_is_sent_once(processes, monkeypatch):
    sent = []
    scatter = processes.scatter
    monkeypatch.setattr(processes, "scatter", lambda *a, **k: sent.append(a) or scatter(*a, **k))
    with processes.as_current(), joblib.parallel_config("dask"):
        models.fit("forest")
    assert len(sent) == 1


@pytest.mark.parametrize("backend", ["dask", "loky"])
def test_the_deadline_holds_elsewhere(processes, backend):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = X[:, 0] * X[:, 1] > rng.normal(size=len(X))
    model = ConstructiveForestClassifier(10_000, max_time=0.5, random_state=0)
    with processes.as_current(), joblib.parallel_config(backend, n_jobs=2):
        model.fit(X, y)
    assert 1 <= model.n_estimators_ < 10_000
    assert model.predict(X[:5]).shape == (5,)


def divide(shared, unit, seconds):
    return shared / unit


def test_progress_counts_units(processes):
    seen = []
    with processes.as_current(), joblib.parallel_config("dask"):
        backend = chosen_backend()
        units = [1, 2, 3]
        found = run_units(backend, divide, 6.0, units, what="number", on_done=seen.append)
    assert found == [6.0, 3.0, 2.0]
    assert seen == [1, 2, 3]


def test_errors_of_units_reach_the_caller(processes):
    with processes.as_current(), joblib.parallel_config("dask"):
        backend = chosen_backend()
        with pytest.raises(ZeroDivisionError):
            run_units(backend, divide, 6.0, [1, 0, 3], what="number")
        # The cluster works on.
        assert run_units(backend, divide, 6.0, [2], what="number") == [3.0]
