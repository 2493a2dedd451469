"""Running, storing and tabulating: what all accuracy benchmarks share.

A job is a dict of settings: the set, the learner's family and parameters, the split and the number
of threads. Its result is appended to a file of JSON lines as soon as it is there, so that a run
may be stopped at any time and goes on where it was. Results of other source code or of other
versions of a library are not used again, unless ``--reuse`` is given.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from data import ROOT, Dataset, load, origin, split_rows, take
from pages import write_page
from peers import PINS
from threadpoolctl import threadpool_limits
from tuned import Tuned

RESULTS = ROOT / "benchmarks" / "results"
LIBRARIES = {
    "ConstructiveTree": "featurewright",
    "ConstructiveForest": "featurewright",
    "ConstructiveExtraTrees": "featurewright",
    "ConstructiveBoosting": "featurewright",
    "KernelFeatureEnsemble": "featurewright",
    "RecursiveSelective": "featurewright",
    "FCTree": "featurewright",
    "ForestPathEncoder": "featurewright",
    "AutoFeatures": "featurewright",
    "BatchConstructor": "featurewright",
    "LandmarkKernelFeatures": "featurewright",
    "original": "sklearn.ensemble",
    **{peer: f"peer {peer}" for peer in PINS},
    "DecisionTree": "sklearn.tree",
    "RandomForest": "sklearn.ensemble",
    "ExtraTrees": "sklearn.ensemble",
    "HistGradientBoosting": "sklearn.ensemble",
    "LGBM": "lightgbm",
    "XGB": "xgboost",
    "CatBoost": "catboost",
    "YdfOblique": "ydf_learners",
}
PACKAGES = {
    "sklearn.ensemble": "scikit-learn",
    "sklearn.tree": "scikit-learn",
    "ydf_learners": "ydf",
}
# A forest may give a class no chance at all; the logarithm needs some.
LEAST_PROBABILITY = 1e-6
NO_VALUE = "–"
WORDS = {"win": "better", "draw": "within noise", "loss": "worse", "": ""}
# One learner that fails must not end a night's run; the report names it.
FAILURES = (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
Settings = dict[str, Any]
Values = dict[str, float]


@dataclass(frozen=True)
class Learner:
    """A learner to measure: the name in tables, the family of estimators and its parameters."""

    label: str
    family: str
    params: dict[str, Any] = field(default_factory=dict)

    def settings(self, name: str, split: int, holdout: str, n_jobs: int, **more: Any) -> Settings:
        """Describe one run of this learner on one split of a set."""
        return {
            "set": name,
            "family": self.family,
            "params": self.params,
            "split": split,
            "holdout": holdout,
            "n_jobs": n_jobs,
            **more,
        }


def make_model(family: str, params: dict[str, Any], task: str, seed: int, n_jobs: int) -> Any:
    """Make an estimator for a task; seed and threads are set where it has such parameters."""
    kind = "Regressor" if task == "regression" else "Classifier"
    make = getattr(importlib.import_module(LIBRARIES[family]), family + kind)
    known = inspect.signature(make).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        known = {"random_state": None, "n_jobs": None}  # LightGBM and XGBoost take any name
    common = {"random_state": seed, "n_jobs": n_jobs, "thread_count": n_jobs}
    return make(**{key: common[key] for key in common if key in known}, **params)


def fit_and_score(
    model: Any, dataset: Dataset, train: np.ndarray, test: np.ndarray, n_jobs: int
) -> Values:
    """Fit on some rows and measure error and time on others."""
    X_train, X_test = take(dataset.X, train), take(dataset.X, test)
    y_train, y_test = dataset.y[train], dataset.y[test]
    with threadpool_limits(n_jobs):
        started = time.perf_counter()
        model.fit(X_train, y_train)
        fitted = time.perf_counter()
        regression = dataset.task == "regression"
        answer = model.predict(X_test) if regression else model.predict_proba(X_test)
        done = time.perf_counter()
    values = {"fit_seconds": fitted - started, "predict_seconds": done - fitted}
    values |= {"n_train": len(train), "n_test": len(test)}
    if regression:
        # 1 is as good as always guessing the mean of the test rows.
        values["rmse"] = float(np.sqrt(np.mean((answer - y_test) ** 2)) / np.std(y_test))
        return values
    # A class that no training row has gets probability 0.
    chances = np.zeros((len(test), dataset.n_classes))
    chances[:, model.classes_] = answer
    values["error"] = float(np.mean(chances.argmax(axis=1) != y_test))
    right = np.maximum(chances[np.arange(len(test)), y_test], LEAST_PROBABILITY)
    values["log_loss"] = float(-np.mean(np.log(right)))
    return values


def evaluate(settings: Settings) -> Values:
    """Do one job."""
    dataset = load(settings["set"])
    train, test = split_rows(
        dataset, settings["holdout"], settings["split"], settings.get("max_rows")
    )
    family, n_jobs, seed = settings["family"], settings["n_jobs"], settings["split"]

    def make(params: dict[str, Any]) -> Any:
        return make_model(family, settings["params"] | params, dataset.task, seed, n_jobs)

    if "grid" in settings:
        model: Any = Tuned(make, settings["grid"], dataset.task, seed)
    else:
        model = make({})
    return fit_and_score(model, dataset, train, test, n_jobs)


def is_compiled(family: str) -> bool:
    """Whether a family runs on kernels that are compiled at first use."""
    return family.startswith(("Constructive", "Auto"))


def warm_up() -> None:
    """Compile the kernels of all our learners, so that no measured time contains it."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 4), dtype=np.float32)
    targets = {"regression": X[:, 0] * X[:, 1], "multiclass": (3 * X[:, 0]).astype(int)}
    for family in (name for name in LIBRARIES if name.startswith("Constructive")):
        for task, y in targets.items():
            for search in (None, "random"):
                params: dict[str, Any] = {"search": search}
                if family != "ConstructiveTree":
                    params["n_estimators"] = 2
                model = make_model(family, params, task, 0, 1).fit(X, y)
                model.predict(X)
    mh = {"loss": "adaboost_mh", "n_estimators": 2}
    make_model("ConstructiveBoosting", mh, "multiclass", 0, 1).fit(X, targets["multiclass"])


@functools.cache
def code_of(library: str) -> str:
    """Return what results of a library depend on: its version, or a fingerprint of our code."""
    if library.startswith("peer "):
        return ", ".join(PINS[library.removeprefix("peer ")])
    if library != "featurewright":
        package = PACKAGES.get(library, library)
        return f"{package} {version(package)}"
    folder = Path(importlib.import_module(library).__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return f"featurewright {digest.hexdigest()[:12]}"


class Store:
    """Results in a file of JSON lines that only grows.

    Parameters
    ----------
    name : str
        Name of the file under ``benchmarks/results``, without its ending.
    reuse : bool, default=False
        Whether results of other code count.
    """

    def __init__(self, name: str, reuse: bool = False) -> None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.path = RESULTS / f"{name}.jsonl"
        self.reuse = reuse
        self.foreign: set[str] = set()  # jobs answered with a result of other code
        self._found: dict[str, dict[str, Any]] = {}
        self._cut = False
        if self.path.exists():
            text = self.path.read_text()
            self._cut = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                try:
                    self._keep(json.loads(line))
                except json.JSONDecodeError:
                    continue  # a line that was being written when a run was stopped

    @staticmethod
    def _key(settings: Settings) -> str:
        """Write settings in one way only."""
        return json.dumps(settings, sort_keys=True)

    def _keep(self, record: dict[str, Any]) -> None:
        """Remember a record if its code and its rows count; the last one wins."""
        settings = record["settings"]
        same_rows = record.get("data", "folder") == origin(settings.get("set", ""))
        if same_rows and (self.reuse or record["code"] == code_of(LIBRARIES[settings["family"]])):
            self._found[self._key(record["settings"])] = record

    def get(self, settings: Settings) -> Values | None:
        """Return the result of a job, or None if there is none."""
        key = self._key(settings)
        record = self._found.get(key)
        if record is None:
            return None
        if record["code"] != code_of(LIBRARIES[settings["family"]]):
            self.foreign.add(key)
        return record["values"]

    def add(self, settings: Settings, values: Values) -> None:
        """Append a result, on disk before this returns."""
        code = code_of(LIBRARIES[settings["family"]])
        data = origin(settings.get("set", ""))
        record = {"settings": settings, "values": values, "code": code, "data": data}
        with self.path.open("a") as file:
            file.write("\n" * self._cut + json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._cut = False
        self._keep(record)


def run(
    store: Store,
    jobs: Iterable[Settings],
    *,
    max_minutes: float | None = None,
    work: Callable[[Settings], Values] = evaluate,
    compile_all: Callable[[], None] = warm_up,
) -> list[str]:
    """Do all jobs that have no result yet.

    Parameters
    ----------
    store : Store
        Where results are and go.
    jobs : iterable of dict
        Settings of the jobs, in the order to do them.
    max_minutes : float, optional
        No job starts later than this.
    work : callable, default=evaluate
        Does one job.
    compile_all : callable, default=warm_up
        Compiles the kernels that the jobs use.

    Returns
    -------
    list of str
        What was not done and why.
    """
    pending = [job for job in jobs if store.get(job) is None]
    if not pending:
        return []
    if any(is_compiled(job["family"]) for job in pending):
        say("Compiling the kernels.")
        compile_all()
    started = time.perf_counter()
    problems = []
    for done, job in enumerate(pending):
        minutes = (time.perf_counter() - started) / 60
        if max_minutes is not None and minutes > max_minutes:
            problems.append(
                f"{len(pending) - done} of {len(pending)} runs were left for another time after "
                f"{max_minutes:g} minutes; the same command goes on with them."
            )
            break
        title = f"{job['set']} {job['family']} {json.dumps(job['params'])} split {job['split']}"
        try:
            values = work(job)
        except KeyboardInterrupt:
            problems.append(f"Stopped with {len(pending) - done} runs left.")
            break
        except FAILURES as e:
            problems.append(f"{title} failed: {type(e).__name__}: {e}")
            say(problems[-1])
            continue
        store.add(job, values)
        score = values.get("error", values.get("rmse", float("nan")))
        say(
            f"[{done + 1}/{len(pending)}, {minutes:.1f} min] {title}: "
            f"{score:.4f} in {values['fit_seconds']:.2f} s"
        )
    return problems


def say(text: str) -> None:
    """Report the progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def column(store: Store, jobs: Sequence[Settings], value: str) -> np.ndarray:
    """Return one value of several jobs, NaN where there is no result."""
    found = [store.get(job) or {} for job in jobs]
    return np.array([values.get(value, np.nan) for values in found], dtype=float)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return mean and standard error of the values that are there; NaN where undefined."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return np.nan, np.nan
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def show(values: np.ndarray, digits: int = 2, factor: float = 1.0) -> str:
    """Write mean ± standard error."""
    mean, error = mean_and_error(values * factor)
    if np.isnan(mean):
        return NO_VALUE
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def outcome(ours: np.ndarray, theirs: np.ndarray, noise: float | None = None) -> str:
    """Say whether lower is ours: a draw is a mean difference within two standard errors.

    Parameters
    ----------
    ours, theirs : ndarray
        Errors on the same splits.
    noise : float, optional
        Standard error to use where fewer than three splits give none of their own.

    Returns
    -------
    {"win", "draw", "loss", ""}
        Empty if no split has both.
    """
    both = np.isfinite(ours) & np.isfinite(theirs)
    if not both.any():
        return ""
    mean, error = mean_and_error((ours - theirs)[both])
    if both.sum() < 3 and noise is not None:
        error = noise
    if abs(mean) <= 2 * np.nan_to_num(error):
        return "draw"
    return "win" if mean < 0 else "loss"


def tally(outcomes: Iterable[str]) -> str:
    """Count wins, draws and losses in a phrase."""
    found = list(outcomes)
    return ", ".join(f"{found.count(kind)} {word}" for kind, word in WORDS.items() if kind)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a Markdown table: names to the left, numbers to the right."""
    grid = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return f"| {' | '.join(cells)} |"

    rule = "|".join([":" + "-" * (widths[0] + 1), *("-" * (w + 1) + ":" for w in widths[1:])])
    return "\n".join([line(grid[0]), f"|{rule}|", *map(line, grid[1:])])


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options all resumable benchmarks have."""
    parser.add_argument("--jobs", type=int, default=2, help="threads of a fit (default: 2)")
    parser.add_argument("--max-minutes", type=float, help="start no run later than this")
    parser.add_argument("--reuse", action="store_true", help="count results of other code too")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here too")


def finish(
    text: str, problems: Sequence[str], write: Path | None, store: Store, size: str = "custom"
) -> None:
    """Print the report, write it if asked to, and leave with 1 if a run failed."""
    if store.foreign:
        text += f"\n\n{len(store.foreign)} results come from other code than today's.\n"
    if problems:
        text += "\n\nNot complete:\n\n" + "\n".join(f"- {problem}" for problem in problems)
    print(text)
    if write:
        write_page(write, text, size)
    sys.exit(any("failed" in problem for problem in problems))
