"""Clusters of real processes, started once for all tests of a process."""

from __future__ import annotations

import logging

import dask
import pytest
from distributed import Client, LocalCluster

QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}


@pytest.fixture(scope="session")
def processes():
    """A client of two worker processes with a thread each."""
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def threads():
    """A client of one worker in this process, with two threads."""
    with (
        LocalCluster(1, threads_per_worker=2, processes=False, **QUIET) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def in_this_thread():
    """Dask computes in the thread of the test, without a cluster."""
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield
