"""Peer libraries, each in an environment of its own.

``python benchmarks/peers.py`` installs those that are not there yet under ``.venv-peers``; the
environment variable FEATUREWRIGHT_PEERS names another folder. Rows go to a process of the peer's
Python and back as files of a temporary folder, which is deleted with all that the peer left there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data import ROOT

# What each of them works with: they have not followed the latest versions of what they stand on.
PINS: dict[str, tuple[str, ...]] = {
    "gplearn": ("gplearn==0.4.3",),
    "autofeat": ("autofeat==2.1.3", "scikit-learn<1.6"),
    "openfe": (
        *("openfe==0.0.12", "scikit-learn<1.6", "numpy<2", "pandas<2.3"),
        *("lightgbm<4.6", "pyarrow<20", "matplotlib"),
    ),
    "autogluon": ("autogluon.features==1.6.3",),
    "featuretools": ("featuretools==1.31.0", "setuptools<80", "pandas<3", "pyarrow"),
    "tsfresh": ("tsfresh==0.21.2", "pyarrow"),
    "getml": ("getml==1.5.1", "pyarrow"),
}
OURS = "featurewright"
_LONGEST = 300  # letters of a message
WORKER = Path(__file__).resolve().parent / "peer_worker.py"


@dataclass(frozen=True)
class Answer:
    """What a library made of some rows; without rows the reason says why there are none."""

    reason: str = ""
    train: np.ndarray | None = None
    test: np.ndarray | None = None
    fit_seconds: float = np.nan
    transform_seconds: float = np.nan
    memory: float = np.nan


ABSENT = "not installed"


def folder_of(library: str) -> Path:
    """Return the folder of a peer's environment."""
    return Path(os.environ.get("FEATUREWRIGHT_PEERS", ROOT / ".venv-peers")) / library


def python_of(library: str) -> Path:
    """Return the Python that has a library; our own for ourselves."""
    return Path(sys.executable) if library == OURS else folder_of(library) / "bin" / "python"


def is_there(library: str) -> bool:
    """Whether a library can be run."""
    return python_of(library).exists()


def install(library: str) -> str:
    """Make the environment of a peer; return why it could not be made, or nothing."""
    if is_there(library):
        return ""
    folder = folder_of(library)
    part = folder.with_name(f"{folder.name}.part")
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(part)],
        [
            *(str(part / "bin" / "python"), "-m", "pip", "install", "--quiet"),
            *("--disable-pip-version-check", *PINS[library]),
        ],
    )
    for step in steps:
        try:
            done = subprocess.run(step, check=False, capture_output=True, text=True)
        except OSError as e:
            return f"{type(e).__name__} while making the environment"
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            return lines[-1] if lines else f"pip ended with {done.returncode}"
    # Only a whole environment gets its name; python -m works from the new place too.
    part.replace(folder)
    return ""


def run_library(
    library: str,
    task: str,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    limit: float = 300.0,
    **more: Any,
) -> Answer:
    """Fit a library on training rows and transform them and others, in its own process.

    Parameters
    ----------
    library : str
        A peer, or ``"featurewright"``.
    task : {"binary", "multiclass", "regression"}
        What kind of target it is.
    rows : (ndarray, ndarray, ndarray)
        Training rows, their target, other rows.
    seed, n_jobs : int
        Seed and processes or threads.
    limit : float, default=300
        Seconds after which the process is ended.
    **more
        What else the worker needs to know, such as our method.

    Returns
    -------
    Answer
        Rows, seconds and memory, or the reason why there are none.
    """
    if not is_there(library):
        return Answer(ABSENT)
    if not np.isfinite(rows[0]).all() or not np.isfinite(rows[2]).all():
        return Answer("missing values")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "rows.npz", X_train=rows[0], y_train=rows[1], X_test=rows[2])
        settings = {"library": library, "task": task, "seed": seed, "n_jobs": n_jobs, **more}
        (folder / "task.json").write_text(json.dumps(settings))
        reason = run_worker(WORKER, python_of(library), folder, n_jobs, limit)
        if reason:
            return Answer(reason)
        out = json.loads((folder / "out.json").read_text())
        with np.load(folder / "out.npz", allow_pickle=False) as made:
            train, test = made["train"], made["test"]
    return Answer(
        "", train, test, out["fit_seconds"], out["transform_seconds"], float(out["memory"])
    )


def run_worker(worker: Path, python: Path, folder: Path, n_jobs: int, limit: float) -> str:
    """Run a worker with as many threads; return why it gave nothing, or nothing."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    environment = os.environ | dict.fromkeys(threads, str(n_jobs))
    if python != Path(sys.executable):
        environment.pop("PYTHONPATH", None)  # the peer must not see our libraries
    process = subprocess.Popen(
        [str(python), str(worker), str(folder)],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _end(process)
        return f"no result after {limit:g} s"
    except BaseException:
        _end(process)
        raise
    if process.returncode or not (folder / "out.json").exists():
        return f"failed: {last_error(errors) or process.returncode}"
    return ""


def last_error(text: str) -> str:
    """Return the last line that names an exception, else the last line; no bars of progress."""
    lines = [line.rsplit("\r", 1)[-1].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return (named or lines or [""])[-1][:_LONGEST]


def _end(process: subprocess.Popen) -> None:
    """End a process with all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def main() -> None:
    """Install the peers and say which are there."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for library in PINS:
        reason = install(library)
        print(f"{library}: {f'absent ({reason})' if reason else 'there'}", flush=True)


if __name__ == "__main__":
    main()
