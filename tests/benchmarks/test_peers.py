"""Peers that are absent, fail, take too long, or answer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import peers
import pytest
from peers import Answer, install, is_there, run_library

ROWS = (np.ones((4, 2)), np.array([0, 1, 0, 1]), np.ones((3, 2)))
ANSWER = """
import json, pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[1])
task = json.loads((folder / "task.json").read_text())
assert pathlib.Path.cwd().samefile(folder)
rows = np.load(folder / "rows.npz")
np.savez(folder / "out.npz", train=2 * rows["X_train"], test=task["seed"] * rows["X_test"])
out = {"fit_seconds": 1.5, "transform_seconds": 0.5, "memory": 8, "n_columns": 2}
(folder / "out.json").write_text(json.dumps(out))
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.setenv("FEATUREWRIGHT_PEERS", str(tmp_path))
    (tmp_path / "gplearn" / "bin").mkdir(parents=True)
    (tmp_path / "gplearn" / "bin" / "python").symlink_to(sys.executable)

    def write(code: str) -> None:
        (tmp_path / "worker.py").write_text(code)
        monkeypatch.setattr(peers, "WORKER", tmp_path / "worker.py")
        # A link to this Python would not find NumPy: it is no environment.
        monkeypatch.setattr(peers, "python_of", lambda library: Path(sys.executable))

    return write


def test_absent(worker):
    assert not is_there("openfe")
    assert is_there("gplearn")
    assert run_library("openfe", "binary", ROWS) == Answer("not installed")


def test_rows_with_missing_values_are_not_given(worker):
    worker(ANSWER)
    holed = (np.full((4, 2), np.nan), *ROWS[1:])
    assert run_library("gplearn", "binary", holed).reason == "missing values"


def test_an_answer(worker):
    worker(ANSWER)
    found = run_library("gplearn", "binary", ROWS, seed=3)
    assert found.reason == ""
    np.testing.assert_array_equal(found.train, 2 * ROWS[0])
    np.testing.assert_array_equal(found.test, 3 * ROWS[2])
    assert (found.fit_seconds, found.transform_seconds, found.memory) == (1.5, 0.5, 8.0)


def test_a_failure_is_one_line(worker):
    worker("raise RuntimeError('broken by a release')")
    found = run_library("gplearn", "binary", ROWS)
    assert found.reason == "failed: RuntimeError: broken by a release"
    assert found.train is None


def test_bars_of_progress_do_not_hide_the_error():
    bar = " 25%|##        | 1/4 [00:00<00:01]"
    text = f"Traceback (most recent call last):\nValueError: too few rows\n{bar}\r{bar}\n"
    assert peers.last_error(text) == "ValueError: too few rows"
    assert peers.last_error(f"killed\n{bar}\rsklearn.NotFittedError: fit first") == (
        "sklearn.NotFittedError: fit first"
    )
    assert peers.last_error("\nkilled\n\n") == "killed"
    assert peers.last_error("") == ""


def test_a_time_limit_ends_children_too(worker):
    worker(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "time.sleep(600)"
    )
    started = time.perf_counter()
    assert run_library("gplearn", "binary", ROWS, limit=1.0).reason == "no result after 1 s"
    assert time.perf_counter() - started < 300  # far from both


def test_an_environment_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("FEATUREWRIGHT_PEERS", str(tmp_path))
    calls = []

    def refuse(step, **_):
        calls.append(step)
        failed = "pip" in step
        errors = "WARNING: slow\nERROR: No matching distribution found\n" if failed else ""
        return subprocess.CompletedProcess(step, int(failed), "", errors)

    monkeypatch.setattr(peers.subprocess, "run", refuse)
    assert install("openfe") == "ERROR: No matching distribution found"
    assert not is_there("openfe")
    assert len(calls) == 2
    assert "openfe==0.0.12" in calls[1]
