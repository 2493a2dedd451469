"""Threads of the models that features are tried with."""

from __future__ import annotations

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info

from featurewright.auto.estimators import few_threads


def openmp_threads() -> set[int]:
    """Return the threads of the OpenMP libraries that are loaded."""
    assert HistGradientBoostingClassifier  # its import loads OpenMP
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


@pytest.mark.parametrize(
    ("n_jobs", "n_cells", "threads"),
    [(2, 1_000, 1), (2, 10_000_000, 2), (1, 10_000_000, 1), (None, 10_000_000, 1)],
)
def test_boosting_shares_its_work_where_there_is_enough_of_it(n_jobs, n_cells, threads):
    before = openmp_threads()
    with few_threads(n_jobs, n_cells):
        assert openmp_threads() == {threads}
    assert openmp_threads() == before
