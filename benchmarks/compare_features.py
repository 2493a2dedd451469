"""Features of each library under three models: linear, nearest neighbours, boosting.

Two thirds of the rows to learn from, a third to test on. Features are learned from the training
rows; then the same three models of scikit-learn are fitted on the original columns and on those of
every library. Peers run at their defaults in their own environments, with a time limit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from auto_runs import target_of
from compare_tables import report
from data import load, present, split_rows
from pages import add_size_options, settle_page, settle_sizes
from peers import ABSENT, PINS, Answer, run_library
from runner import Settings, Store, Values, add_common_options, finish, make_model, run
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import featurewright

QUICK_SETS = (
    *("sonar", "ionosphere", "breast_wisconsin_diagnostic", "pima_diabetes", "blood_transfusion"),
    *("raetsch_banana", "raetsch_german", "ringnorm", "vehicle", "glass", "wine", "ecoli"),
    *("airfoil_self_noise", "energy_heating", "yacht_hydrodynamics", "wine_quality_red"),
)
FULL_SETS = (
    *QUICK_SETS,
    *("vowel", "segment", "waveform", "spambase", "satellite", "higgs_7500", "electricity"),
    *("california_housing", "bike_sharing_hour", "wine_quality_white"),
)
BESIDE = {"include_original": True}
# Label: family and parameters. Peers come last, so that a run with a time limit has ours.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "original": ("original", {}),
    "forest": ("ConstructiveForest", BESIDE),
    "Extra-Trees": ("ConstructiveExtraTrees", BESIDE),
    "boosting": ("ConstructiveBoosting", BESIDE),
    "FCTree": ("FCTree", BESIDE),
    "Batch": ("BatchConstructor", BESIDE),
    "paths": ("ForestPathEncoder", {"n_hash": 1024}),
    "RST": ("RecursiveSelective", {}),
    "landmarks": ("LandmarkKernelFeatures", {"n_landmarks": 50, "scale": True}),
    "AutoFeatures": ("AutoFeatures", {}),
    "openfe": ("openfe", {}),
    "gplearn": ("gplearn", {}),
    "autofeat": ("autofeat", {}),
    "autogluon": ("autogluon", {}),
}
MODELS = ("linear", "knn", "boosting")


def model_of(kind: str, task: str, seed: int) -> Any:
    """Make one of the three models."""
    regression = task == "regression"
    if kind == "linear":
        linear = RidgeCV(np.logspace(-3, 3, 7)) if regression else LogisticRegression(max_iter=1000)
        return make_pipeline(StandardScaler(), linear)
    if kind == "knn":
        return make_pipeline(
            StandardScaler(), KNeighborsRegressor() if regression else KNeighborsClassifier()
        )
    make = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return make(random_state=seed)


def error_under(kind: str, task: str, columns: Answer, y: np.ndarray, truth: np.ndarray) -> float:
    """Fit a model on some columns and measure its error on the test rows."""
    # What peers leave undefined, or beyond what the fit has seen, would end a linear model.
    train = np.nan_to_num(columns.train, nan=0.0, posinf=1e30, neginf=-1e30)
    test = np.nan_to_num(columns.test, nan=0.0, posinf=1e30, neginf=-1e30)
    test = np.clip(test, train.min(axis=0), train.max(axis=0))
    # Threads of boosting wait for each other at every node, which a busy machine draws out.
    with threadpool_limits(1):
        answer = model_of(kind, task, 0).fit(train, y).predict(test)
    if task == "regression":
        return float(np.sqrt(np.mean((answer - truth) ** 2)) / np.std(truth))
    return float(np.mean(answer != truth))


def own_columns(settings: Settings, task: str, rows: Any) -> Answer:
    """Learn the columns of one of our methods."""
    family, params, seed = settings["family"], settings["params"], settings["split"]
    X, y, Z = rows
    if family == "original":
        return Answer("", X, Z, 0.0, 0.0)
    names = {"RecursiveSelective": "RecursiveSelectiveTransformer"}
    name = names.get(family, family)
    if hasattr(featurewright, name):
        make = getattr(featurewright, name)
        known = make().get_params()
        common = {"random_state": seed, "n_jobs": settings["n_jobs"]}
        model = make(**{k: v for k, v in common.items() if k in known}, **params)
    else:
        model = make_model(family, params, task, seed, settings["n_jobs"])
    started = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    made = [model.transform(part) for part in (X, Z)]
    done = time.perf_counter()
    dense = [part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in made]
    return Answer("", *dense, fitted - started, done - fitted)


def work(settings: Settings) -> Values:
    """Do one job: the columns of one method on one split, under all models."""
    dataset = load(settings["set"])
    train, test = split_rows(dataset, "stratified", settings["split"], settings["max_rows"])
    X = np.asarray(dataset.X, dtype=np.float64)
    family, task = settings["family"], dataset.task
    y = target_of(dataset, settings) if family == "AutoFeatures" else dataset.y
    rows = (X[train], y[train], X[test])
    values: Values = {"n_train": len(train), "fit_seconds": 0.0}
    with threadpool_limits(settings["n_jobs"]), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        columns: Answer | None = None
        for kind in MODELS:
            if family == "AutoFeatures":  # looks for columns for the model it is told
                own = settings | {"params": settings["params"] | {"estimator": kind}}
                columns = own_columns(own, task, rows)
            elif columns is None and family in PINS:
                columns = run_library(
                    family,
                    task,
                    rows,
                    seed=settings["split"],
                    n_jobs=settings["n_jobs"],
                    limit=settings["limit"],
                )
            elif columns is None:
                columns = own_columns(settings, task, rows)
            else:
                columns = Answer("", columns.train, columns.test, 0.0, 0.0)
            if columns.reason == ABSENT:  # no result: it may be there the next time
                raise RuntimeError(f"{family} is {ABSENT}")
            if columns.reason:
                return values | {"reason": columns.reason, "fit_seconds": settings["limit"]}
            values[kind] = error_under(kind, task, columns, y[train], y[test])
            values["fit_seconds"] += columns.fit_seconds
            values["n_columns"] = columns.test.shape[1]
    return values | {"error": values["linear"]}


def plan(options: argparse.Namespace) -> dict[tuple[str, str], list[Settings]]:
    """List the jobs of every set and method, the methods one after the other."""
    cells = {}
    for label in options.methods:
        family, params = METHODS[label]
        own = {"effort": options.effort} if family == "AutoFeatures" else {}
        more = {"limit": options.limit} if family in PINS else {}
        for name in options.sets:
            cells[name, label] = [
                {
                    "set": name,
                    "family": family,
                    "params": params | own,
                    "split": split,
                    "n_jobs": options.jobs,
                    "max_rows": options.max_rows,
                    **more,
                }
                for split in range(options.splits)
            ]
    return cells


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(
        parser,
        f"{len(QUICK_SETS)} sets, one split, at most 600 rows: an hour, mostly the peers'",
        f"{len(FULL_SETS)} sets, three splits, at most 4,000 rows: a day",
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=FULL_SETS)
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", choices=tuple(METHODS), default=list(METHODS)
    )
    parser.add_argument("--splits", type=int, help="splits (1, or 3)")
    parser.add_argument("--max-rows", type=int, help="cut both parts to this (600, or 4000)")
    parser.add_argument("--limit", type=float, help="seconds of a peer's fit (120, or 1800)")
    parser.add_argument("--effort", help="effort of AutoFeatures (quick, or standard)")
    add_common_options(parser)
    options = parser.parse_args(arguments)
    settle_page(options, "compare_features")
    settle_sizes(options, splits=(1, 3), max_rows=(600, 4000), limit=(120.0, 1800.0))
    settle_sizes(options, effort=("quick", "standard"), sets=(QUICK_SETS, FULL_SETS))
    return options


def main() -> None:
    """Run and report."""
    options = read_options()
    options.sets, missing = present(options.sets)
    store = Store("compare_features", options.reuse)
    cells = plan(options)
    jobs = [job for found in cells.values() for job in found]
    problems = missing + run(store, jobs, max_minutes=options.max_minutes, work=work)
    finish(report(cells, store, options), problems, options.write, store, options.size)


if __name__ == "__main__":
    main()
