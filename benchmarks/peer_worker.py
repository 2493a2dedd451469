"""Fit one peer library and transform rows; runs inside the library's own environment.

Started as ``python peer_worker.py FOLDER``: the folder has ``task.json`` and ``rows.npz``, and gets
``out.npz`` (the transformed rows) and ``out.json`` (seconds, memory, versions). The file stands
alone, for neither this package nor the other benchmarks are installed there, and the folder is the
working directory, for OpenFE leaves files behind.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Task = dict[str, Any]
Transform = Callable[[np.ndarray], np.ndarray]
N_FEATURES = 10  # of gplearn and OpenFE: the default of the first, the second one's own examples


def fit_gplearn(task: Task, X: np.ndarray, y: np.ndarray) -> Transform:
    """Fit a symbolic transformer at its defaults; one for each class where there are several."""
    from gplearn.genetic import SymbolicTransformer

    several = task["task"] == "multiclass"
    targets = [(y == c).astype(float) for c in np.unique(y)] if several else [y.astype(float)]
    keep = max(1, N_FEATURES // len(targets))
    models = [
        SymbolicTransformer(
            n_components=keep, n_jobs=task["n_jobs"], random_state=task["seed"]
        ).fit(X, target)
        for target in targets
    ]
    return lambda Z: np.hstack([Z, *(model.transform(Z) for model in models)])


def fit_autofeat(task: Task, X: np.ndarray, y: np.ndarray) -> Transform:
    """Fit autofeat at its defaults, which has no seed of its own."""
    from autofeat import AutoFeatClassifier, AutoFeatRegressor

    np.random.seed(task["seed"])
    kind = AutoFeatRegressor if task["task"] == "regression" else AutoFeatClassifier
    model = kind(verbose=0, n_jobs=task["n_jobs"])
    model.fit(frame(X), y)
    return lambda Z: np.asarray(model.transform(frame(Z)), dtype=float)


def fit_openfe(task: Task, X: np.ndarray, y: np.ndarray) -> Transform:
    """Fit OpenFE at its defaults and take its first features."""
    import pandas as pd
    from openfe import OpenFE, transform

    kind = "regression" if task["task"] == "regression" else "classification"
    table, labels = frame(X), pd.DataFrame({"target": y})
    found = OpenFE().fit(
        data=table,
        label=labels,
        task=kind,
        n_jobs=task["n_jobs"],
        seed=task["seed"],
        verbose=False,
    )[:N_FEATURES]

    def apply(Z: np.ndarray) -> np.ndarray:
        # Rows of both sides go through it together: its answer may depend on the other rows.
        _, made = transform(table, frame(Z), found, n_jobs=task["n_jobs"])
        return np.asarray(made, dtype=float)

    return apply


def fit_autogluon(task: Task, X: np.ndarray, y: np.ndarray) -> Transform:
    """Fit AutoGluon's generators for numbers at their defaults.

    Arithmetic combinations, and out-of-fold target statistics of random subsets of columns; those
    for categories have nothing to do on a table of numbers.
    """
    import pandas as pd
    from autogluon.features.generators import (
        ArithmeticFeatureGenerator,
        RandomSubsetFeatureCompressionGenerator,
    )

    table, target = frame(X), pd.Series(y)
    generators = [
        ArithmeticFeatureGenerator(random_state=task["seed"]),
        RandomSubsetFeatureCompressionGenerator(
            target_type=task["task"], random_state=task["seed"]
        ),
    ]
    # Training rows have the statistics of other folds; other rows those of all training rows.
    inside = [generator.fit_transform(table, target) for generator in generators]

    def apply(Z: np.ndarray) -> np.ndarray:
        made = inside if Z is X else [generator.transform(frame(Z)) for generator in generators]
        return np.hstack([Z, *(np.asarray(part, dtype=float) for part in made)])

    return apply


def fit_featurewright(task: Task, X: np.ndarray, y: np.ndarray) -> Transform:
    """Fit one of our transformers; it says in the task which, and with what parameters."""
    import featurewright

    make = getattr(featurewright, task["method"])
    known = make().get_params()
    common = {"random_state": task["seed"], "n_jobs": task["n_jobs"]}
    params = {name: value for name, value in common.items() if name in known} | task["params"]
    if task.get("warm"):  # what is compiled, or read from the disk, at first use is told apart
        make(**params).fit(X[:60], y[:60])
    task |= {"before": peak_bytes(), "started": time.perf_counter()}
    model = make(**params).fit(X, y)

    def apply(Z: np.ndarray) -> np.ndarray:
        made = model.transform(Z)
        made = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=float)
        return np.hstack([Z, made]) if task.get("beside") else made

    return apply


def frame(X: np.ndarray) -> Any:
    """Name the columns."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def peak_bytes() -> int:
    """Return the most memory this process, or its largest child, has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss may start with the peak of the parent
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        own = int(lines["VmHWM"].split()[0])
    return unit * max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


FITS = {
    "gplearn": fit_gplearn,
    "autofeat": fit_autofeat,
    "openfe": fit_openfe,
    "autogluon": fit_autogluon,
    "featurewright": fit_featurewright,
}
MODULES = {name: name for name in FITS} | {
    "gplearn": "gplearn.genetic",
    "autogluon": "autogluon.features.generators",
}


def main() -> None:
    """Do the task of a folder."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text())
    with np.load(folder / "rows.npz", allow_pickle=False) as rows:
        X, y, Z = (rows[name].astype(float) for name in ("X_train", "y_train", "X_test"))
    if task["task"] != "regression":
        y = y.astype(int)
    importlib.import_module(MODULES[task["library"]])  # is not part of the fit
    before = peak_bytes()
    started = time.perf_counter()
    transform = FITS[task["library"]](task, X, y)
    fitted = time.perf_counter()
    inside, outside = transform(X), transform(Z)
    done = time.perf_counter()
    memory = max(0, peak_bytes() - task.get("before", before))
    np.savez(folder / "out.npz", train=inside, test=outside)
    out = {
        "fit_seconds": fitted - task.get("started", started),
        "transform_seconds": done - fitted,
        "memory": memory,
        "n_columns": int(outside.shape[1]),
    }
    (folder / "out.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main()
