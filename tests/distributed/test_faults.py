"""Workers that die, that never come, that differ; clients that are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.tree import DecisionTreeClassifier
from tests.distributed import models
from tests.distributed.conftest import QUIET

from featurewright import ConstructiveForestClassifier, KernelFeatureEnsembleClassifier
from featurewright.distributed import units, versions, warm_up
from featurewright.engine.threads import Halt
from featurewright.estimators.units import SharedValue


class DiesOnce(DecisionTreeClassifier):
    """A learner that takes its process along the first time it is fitted on a worker."""

    def __init__(self, marker=None, *, random_state=None):
        super().__init__(random_state=random_state)
        self.marker = marker

    def fit(self, X, y, sample_weight=None):
        if self.marker and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


def run(client, compute, shared, numbers, **settings):
    settings = {"what": "number", "halt": Halt(), "on_done": lambda done: None} | settings
    return units.run_on_dask(client, compute, SharedValue(shared), numbers, **settings)


def half(shared, unit, seconds):
    return unit / 2


def out_of_memory(shared, unit, seconds):
    raise MemoryError


def dies(shared, unit, seconds):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_killed_in_mid_fit_changes_no_bit(processes, tmp_path):
    X, y, _ = models.make_table()
    X = X[["a", "b", "c"]]

    def fit(marker):
        model = KernelFeatureEnsembleClassifier(DiesOnce(marker), n_estimators=9, random_state=0)
        return model.fit(X, y).predict_proba(X)

    expected = fit(None)
    with processes.as_current(), joblib.parallel_config("dask"):
        actual = fit(str(tmp_path / "marker"))
    assert (tmp_path / "marker").exists()
    np.testing.assert_array_equal(actual, expected)


def test_all_workers_lost_is_an_error(monkeypatch):
    monkeypatch.setattr(units, "LOST_SECONDS", 0.5)
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, **QUIET) as cluster,
        Client(cluster) as client,
    ):
        with pytest.raises(RuntimeError, match=r"all workers .* lost after \d+ of 50 units"):
            run(client, half, None, range(50), on_done=lambda done: cluster.scale(0))
        with pytest.raises(RuntimeError, match=r"no worker for 0\.5 s; start workers"):
            run(client, half, None, range(3))


def test_too_little_memory_names_the_unit(threads):
    with pytest.raises(MemoryError, match="number, number 1 of 3, ran out of memory; give workers"):
        run(threads, out_of_memory, None, range(3))


def test_too_little_memory_names_the_part_of_a_collection(threads):
    parts = [dask.delayed(half)(None, 1, None), dask.delayed(out_of_memory)(None, 2, None)]
    with (
        dask.config.set(scheduler=threads),
        pytest.raises(MemoryError, match="a partition, number 2 of 2, ran out of memory; give"),
    ):
        units.compute_all(parts, "partition", lambda done: None)


def test_an_interrupt_cancels_what_was_sent(threads, monkeypatch):
    sent = []
    submit = threads.submit
    monkeypatch.setattr(threads, "submit", lambda *a, **k: sent.append(submit(*a, **k)) or sent[-1])

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(threads, half, None, range(50), on_done=interrupt)
    assert 1 < len(sent) < 50
    assert {future.status for future in sent} <= {"finished", "cancelled"}


def test_another_version_is_refused(processes, monkeypatch):
    ours = versions.own_versions().found
    other = versions.Versions(("0.0.1", *ours[1:]))
    monkeypatch.setattr(versions, "own_versions", lambda: other)
    message = f"has featurewright {ours[0]}, but the client has 0.0.1: install the same version"
    with pytest.raises(RuntimeError, match=message):
        run(processes, half, None, range(3))
    with pytest.raises(RuntimeError, match=message):
        warm_up(processes)


def test_a_worker_of_another_version_that_comes_late_is_refused():
    ours = versions.own_versions().found
    late = versions.Versions((*ours[:2], "0.1"))
    with pytest.raises(RuntimeError, match=f"this worker has numba {ours[2]}, but the client has"):
        late.check("this worker")


def test_warming_up_reaches_every_worker(processes):
    assert warm_up(processes) > 0


@pytest.mark.slow
def test_a_unit_that_ends_every_worker_is_an_error():
    with LocalCluster(2, threads_per_worker=1, **QUIET) as cluster, Client(cluster) as client:
        with pytest.raises(RuntimeError, match=r"ended .* most likely for lack of memory"):
            run(client, dies, None, range(1))
        assert run(client, half, None, range(3)) == [0.0, 0.5, 1.0]


@pytest.mark.slow
def test_a_part_of_a_collection_that_ends_every_worker_is_an_error():
    with (
        LocalCluster(2, threads_per_worker=1, **QUIET) as cluster,
        # Not as Dask's scheduler in its settings: these are pickled for a new worker.
        Client(cluster),
        pytest.raises(RuntimeError, match=r"a partition, number 1 of 1, ended every worker"),
    ):
        units.compute_all([dask.delayed(dies)(None, 1, None)], "partition", lambda done: None)


@pytest.mark.slow
def test_a_cluster_that_shrinks_and_grows():
    blocks, wanted = [], {3: 1, 10: 2}
    with LocalCluster(2, threads_per_worker=1, **QUIET) as cluster, Client(cluster) as client:

        def scale(done):
            blocks.append(done)
            if done in wanted:
                cluster.scale(wanted[done])

        found = run(client, nap_and_half, None, range(30), on_done=scale)
    assert found == [number / 2 for number in range(30)]
    assert blocks[-1] == 30


def nap_and_half(shared, unit, seconds):
    time.sleep(0.2)
    return unit / 2


@pytest.mark.slow
def test_the_only_worker_killed_changes_no_bit(tmp_path):
    X, y, _ = models.make_table()
    X = X[["a", "b", "c"]]

    def fit(marker):
        model = KernelFeatureEnsembleClassifier(DiesOnce(marker), n_estimators=9, random_state=0)
        return model.fit(X, y).predict_proba(X)

    expected = fit(None)
    with (
        LocalCluster(1, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        # The table is lost with the worker, and sent again.
        np.testing.assert_array_equal(fit(str(tmp_path / "marker")), expected)


@pytest.mark.slow
def test_a_cluster_that_grows_from_nothing():
    X, y, _ = models.make_table()
    model = ConstructiveForestClassifier(40, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    with LocalCluster(0, threads_per_worker=1, **QUIET) as cluster, Client(cluster):
        cluster.adapt(minimum=0, maximum=2)
        with joblib.parallel_config("dask", wait_for_workers_timeout=60):
            np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)


_SCHEDULER = """
import logging, time
from distributed import LocalCluster

settings = {"protocol": "tcp", "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
with LocalCluster(1, threads_per_worker=1, processes=False, **settings) as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


def units_of_a_fit(client, on_done):
    run(client, nap_and_half, None, range(50), what="nap", on_done=on_done)


def parts_of_a_collection(client, on_done):
    naps = [dask.delayed(nap_and_half)(None, number, None) for number in range(50)]
    units.compute_all(naps, "nap", on_done)


@pytest.mark.slow
@pytest.mark.parametrize("compute", [units_of_a_fit, parts_of_a_collection])
def test_a_lost_scheduler_is_an_error(compute):
    command = [sys.executable, "-c", _SCHEDULER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:

        def kill(done):
            if done >= 3:
                other.kill()

        with Client(other.stdout.readline().strip(), timeout=5) as client:
            message = r"scheduler of the cluster was lost after \d+ of 50 units \(a nap each\)"
            with pytest.raises(RuntimeError, match=message):
                compute(client, kill)


_GOES_AWAY = """
import sys, time
from distributed import Client
from featurewright.distributed.units import run_on_dask
from featurewright.engine.threads import Halt
from featurewright.estimators.units import SharedValue

def nap(shared, unit, seconds):
    time.sleep(0.1)
    return unit

def tell(done):
    print(done, flush=True)

with Client(sys.argv[1]) as client:
    shared = SharedValue(bytes(1000))
    run_on_dask(client, nap, shared, range(10_000), what="nap", halt=Halt(), on_done=tell)
"""


def test_a_client_that_goes_away_leaves_nothing_running():
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, protocol="tcp", **QUIET) as cluster,
        Client(cluster) as client,
    ):
        command = [sys.executable, "-c", _GOES_AWAY, cluster.scheduler_address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "1\n"
            assert cluster.scheduler.tasks
            other.kill()
        for _ in range(600):
            if not cluster.scheduler.tasks:
                break
            time.sleep(0.1)
        # Neither units nor the table; and the next client is served.
        assert not cluster.scheduler.tasks
        assert run(client, half, None, range(3)) == [0.0, 0.5, 1.0]
