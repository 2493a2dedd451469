"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The first call of a kernel compiles it, which no deadline would allow; derandomised, so that a
# failure is seen again. Kernels that run as Python take a thousand times as long.
usual = {"deadline": None, "derandomize": True}
settings.register_profile("quick", max_examples=20, **usual)
settings.register_profile("thorough", max_examples=200, **usual)
settings.register_profile("python", max_examples=2, **usual)
RUNS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT") == "1"
RUNS_ALL = os.environ.get("FEATUREWRIGHT_TESTS") == "all"
settings.load_profile("python" if RUNS_PYTHON else "thorough" if RUNS_ALL else "quick")


def pytest_collection_modifyitems(config, items):
    """Leave long tests to `make test-all`."""
    if RUNS_ALL:
        return
    long = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
