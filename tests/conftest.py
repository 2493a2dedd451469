"""Settings of all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from featurewright.auto import cross_check, estimators, failures
from featurewright.expressions import operators

# The first call of a kernel compiles it, and a machine may be busy, which no limit of time would
# allow; derandomised, so that a failure is seen again. Kernels that run as Python take a thousand
# times as long.
usual = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("quick", max_examples=20, **usual)
settings.register_profile("thorough", max_examples=200, **usual)
settings.register_profile("python", max_examples=2, **usual)
ROOT = Path(__file__).parents[1]
RUNS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT") == "1"
RUNS_ALL = os.environ.get("FEATUREWRIGHT_TESTS") == "all"
settings.load_profile("python" if RUNS_PYTHON else "thorough" if RUNS_ALL else "quick")


@pytest.fixture(autouse=True)
def _dask_as_it_was():
    """A worker in this process makes its client Dask's default, and leaves it so when it ends."""
    yield
    if (dask := sys.modules.get("dask")) is not None:
        dask.config.config.pop("scheduler", None)


@pytest.fixture(scope="session", autouse=True)
def _raise_our_own_mistakes():
    """A mistake in this package fails a test, where a search would leave a method out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failures, "_not_caught", failures.PROGRAMMING_ERRORS)
        yield


@pytest.fixture(scope="session", autouse=True)
def _without_other_estimators():
    """Leave the cross-check with other estimators to the tests that ask for it: it takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_check, "STANDARD", ())
        yield


@pytest.fixture(autouse=True)
def _own_registered_operators(monkeypatch):
    """What a test registers is not registered for the next."""
    monkeypatch.setattr(operators, "_REGISTERED", dict(operators._REGISTERED))


@pytest.fixture(scope="session", autouse=True)
def _checkout_as_it_was(request):
    """The whole suite changes no file of the repository: tests write to folders of their own."""
    # Someone who runs a few files may be editing others.
    whole = request.config.args == request.config.getini("testpaths")
    before = _changes() if whole else ""
    yield
    assert not whole or _changes() == before
    # Compiled code, which git ignores, belongs beside the sources, or where the user says.
    assert not list(Path.cwd().glob("*.nb[ci]"))


def _changes() -> str:
    """Return what differs from the commit; nothing in an archive without git."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return ""
    commands = (["git", "status", "--porcelain"], ["git", "diff", "HEAD"])
    return "".join(subprocess.check_output(command, cwd=ROOT, text=True) for command in commands)


@pytest.fixture
def other_estimators(monkeypatch):
    """Have searches cross-check with the other standard estimators."""
    monkeypatch.setattr(cross_check, "STANDARD", estimators.STANDARD)


def pytest_collection_modifyitems(config, items):
    """Leave long tests to `make test-all`."""
    if RUNS_ALL:
        return
    long = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
