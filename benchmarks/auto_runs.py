"""What the benchmarks of `AutoFeatures` share: one fit, measured on rows it has not seen."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from data import Dataset, load, split_rows, take
from runner import Settings, Values
from threadpoolctl import threadpool_limits

FEW = 10  # formulas that people can explain


def settings_of(name: str, seed: int, options: argparse.Namespace, **params: Any) -> Settings:
    """Describe one fit of `AutoFeatures` on one split of a set."""
    return {
        "set": name,
        "family": "AutoFeatures",
        "params": {"effort": options.effort, **params},
        "split": seed,
        "holdout": "stratified",
        "n_jobs": options.jobs,
        "max_rows": options.max_rows,
    }


def seeds_of(options: argparse.Namespace, times: int = 1) -> range:
    """Return the numbers of the splits, or a multiple of them."""
    return range(options.first_seed, options.first_seed + times * options.seeds)


def tell_splits(options: argparse.Namespace) -> str:
    """Say which splits they are: those that rules were tried on flatter."""
    if options.first_seed == 0:
        return "the first one is the one that rules were tried on"
    return f"from number {options.first_seed} on; rules were tried on earlier ones"


def rows_of(settings: Settings) -> tuple[Dataset, np.ndarray, np.ndarray]:
    """Read a set and draw its training and test rows."""
    dataset = load(settings["set"])
    train, test = split_rows(
        dataset, settings["holdout"], settings["split"], settings.get("max_rows")
    )
    return dataset, train, test


def target_of(dataset: Dataset, settings: Settings) -> np.ndarray:
    """Return the target; shuffled, so that nothing can be learned, where the job says so."""
    y = dataset.y
    if settings.get("shuffled"):
        y = np.random.default_rng(settings["split"]).permutation(y)
    # Labels, so that whole numbers are not taken for a quantity, or the other way round.
    return y if dataset.task == "regression" else np.array([f"c{code:03d}" for code in y])


def evaluate_auto(
    settings: Settings, rows: tuple[Dataset, np.ndarray, np.ndarray] | None = None
) -> Values:
    """Fit `AutoFeatures`; score its model and the same estimator without it on the test rows.

    The rows are those that the settings name, where none are given.
    """
    from sklearn.metrics import get_scorer

    from featurewright import AutoFeatures
    from featurewright.auto import standard_estimator
    from featurewright.auto.estimators import fit_estimator

    dataset, train, test = rows_of(settings) if rows is None else rows
    y = target_of(dataset, settings)
    X_train, X_test = take(dataset.X, train), take(dataset.X, test)
    params = dict(settings["params"])
    task = "regression" if dataset.task == "regression" else "classification"
    estimator = standard_estimator(params.pop("estimator", "linear"), task, random_state=0)
    auto = AutoFeatures(
        estimator, random_state=settings["split"], n_jobs=settings["n_jobs"], **params
    )
    started, cpu_started = time.perf_counter(), time.process_time()
    auto.fit(X_train, y[train])
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    n_original = len(auto.originals_.columns)
    with threadpool_limits(settings["n_jobs"]):
        columns, held_out = auto.transform(X_train), auto.transform(X_test)
        # Categories stay categories for an estimator that takes them, as in the search.
        categories = auto.originals_.categories
        plain = fit_estimator(estimator, columns[:, :n_original], y[train], None, categories)
        scorer = get_scorer(auto.scoring_)
        before = scorer(plain, held_out[:, :n_original], y[test])
        after = scorer(auto.model_, held_out, y[test])
        error_before = error_of(dataset, plain.predict(held_out[:, :n_original]), y[test])
        error_after = error_of(dataset, auto.model_.predict(held_out), y[test])
        few = auto.limit(FEW) if params.get("methods") == "readable" else auto
        error_few = error_of(dataset, few.predict(X_test), y[test])
    return {
        "fit_seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "before": float(before),
        "after": float(after),
        "error": error_after,
        "error_few": error_few,
        "error_before": error_before,
        "claimed": auto.gain_,
        "claimed_error": auto.gain_std_,
        "method": auto.best_method_,
        "scoring": auto.scoring_,
        "n_constructed": len(auto.columns_) - n_original,
        "n_formulas": len(auto.features_),
        "n_train": len(train),
        "n_test": len(test),
    }


def error_of(dataset: Dataset, answer: np.ndarray, y: np.ndarray) -> float:
    """Return the share of wrong classes, or the error in units of the target's spread."""
    if dataset.task == "regression":
        return float(np.sqrt(np.mean((answer - y) ** 2)) / np.std(y))
    return float(np.mean(answer != y))


def warm_up_auto() -> None:
    """Compile what `AutoFeatures` needs, so that no measured time contains it."""
    from featurewright import AutoFeatures

    X = np.random.default_rng(0).normal(size=(60, 3))
    for y in (X[:, 0] * X[:, 1], (X[:, 0] * X[:, 1] > 0).astype(int)):
        AutoFeatures(effort="quick", random_state=0).fit(X, y)


def add_auto_options(parser: argparse.ArgumentParser, seeds: int) -> None:
    """Add the options the three benchmarks have."""
    parser.add_argument("--sets", nargs="+", metavar="SET", help="sets of the data folder")
    parser.add_argument(
        "--effort",
        choices=("quick", "standard", "thorough"),
        default="standard",
        help="effort of one fit (default: standard)",
    )
    parser.add_argument(
        "--seeds", type=int, default=seeds, help=f"splits of each set (default: {seeds})"
    )
    parser.add_argument(
        "--first-seed",
        type=int,
        default=0,
        help="number of the first split (default: 0, the one that rules were tried on)",
    )
    parser.add_argument(
        "--max-rows", type=int, default=20_000, help="cut both parts to this (default: 20000)"
    )
