"""Ray's and Spark's joblib backends move the units of a fit; results keep every bit."""

from __future__ import annotations

import os
import shutil
import sys

import joblib
import pytest
from tests.distributed import models

from featurewright import AutoFeatures

NAMES = ["forest", "forest of numbers", "paths"]

pytestmark = [
    pytest.mark.slow,
    # Of the sockets and processes of Ray and Spark, and of what they call.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", params=["ray", "spark"])
def backend(request):
    """The name of a backend whose workers run on this machine."""
    started = {"ray": start_ray, "spark": start_spark}[request.param]()
    yield request.param
    started()


def start_ray():
    """Start two workers of Ray; return what ends them."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install ray")
    from ray.util.joblib import register_ray

    for last in (False, False, True):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            break
        except Exception as error:  # Ray waits half a minute for itself, too short if others run
            ray.shutdown()
            if last or "timed out during startup" not in str(error):
                raise
    register_ray()
    return ray.shutdown


def start_spark():
    """Start a Spark session with two threads; return what ends it."""
    joblibspark = pytest.importorskip(
        "joblibspark", reason="joblibspark is not installed: pip install joblibspark"
    )
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    joblibspark.register_spark()

    def end():
        session.stop()
        del os.environ["PYSPARK_PYTHON"]

    return end


def test_bits_are_the_same(backend):
    for name in NAMES:
        expected = models.learned(models.fit(name))
        with joblib.parallel_config(backend, n_jobs=2):
            assert models.learned(models.fit(name)) == expected, name


def test_a_search_is_the_same(backend):
    X, y, _ = models.make_table()
    search = AutoFeatures(effort="quick", methods=["batch", "forest"], random_state=0).fit(X, y)
    names, expected = list(search.get_feature_names_out()), search.transform(X)
    with joblib.parallel_config(backend, n_jobs=2):
        search.fit(X, y)
    assert list(search.get_feature_names_out()) == names
    assert (search.transform(X) == expected).all()


def test_units_leave_this_process(backend):
    from featurewright.estimators.units import chosen_backend, run_units

    with joblib.parallel_config(backend, n_jobs=2):
        found = run_units(chosen_backend(), process_of, None, [1, 2], what="number", n_jobs=2)
    assert os.getpid() not in found


def process_of(shared, unit, seconds):
    """Return the process that computes a unit."""
    return os.getpid()
