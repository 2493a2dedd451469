"""`AutoFeatures` with links: gains that it claims beside those on later rows, and flat tables.

The databases are those of `relations.py`: rows before the test dates are fitted on, rows after them
scored. Flat tables with categories have a group link for each column of text; test rows are a
random third of some splits. All searches are quick ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import polars as pl
from data import load, split_rows, take
from pages import PAGES, size_of, write_page
from runner import markdown_table, say

from featurewright import AutoFeatures, Link
from relations import Task, air, formula_one, retail

WRITE = PAGES / "auto_links.md"
FLAT = (
    "adult",
    "ames_housing",
    "bank_marketing",
    "credit_approval",
    "cylinder_bands",
    "bike_sharing_hour",
)
ESTIMATORS = ("linear", "lightgbm")
FLAT_ESTIMATORS = ("linear", "knn", "lightgbm")
MAX_ROWS = 5_000
N_PARTS = 10  # of the held-out rows of a split, whose scores are compared
SCORING = {"AUC": "roc_auc", "mean absolute error": "neg_mean_absolute_error", "R²": "r2"}


def estimator_of(name: str, classes: bool, settings: dict[str, Any]) -> Any:
    """Return an estimator."""
    if name != "lightgbm":
        return name
    make = lgb.LGBMClassifier if classes else lgb.LGBMRegressor
    return make(verbose=-1, n_jobs=1, random_state=0, **settings)


def linked_row(task: Task, name: str, n_jobs: int) -> list[str]:
    """Fit with and without links, and score later rows."""
    is_test = pl.col("split") == "test"
    train, test = task.table.filter(~is_test), task.table.filter(is_test)
    classes = task.settings.get("objective") == "binary"
    y, later = (rows["target"].to_numpy() for rows in (train, test))
    X, X_later = (rows.drop("target", "split") for rows in (train, test))
    settings: dict[str, Any] = {
        "effort": "quick",
        "methods": "readable",
        "scoring": SCORING[task.measure],
        "task": "classification" if classes else "regression",
        "as_of": task.as_of or "time",
        "random_state": 0,
        "n_jobs": n_jobs,
    }
    estimator = estimator_of(name, classes, task.settings)
    started = time.process_time()
    auto = AutoFeatures(estimator, links=task.links, **settings).fit(X, y)
    seconds = time.process_time() - started
    flat = AutoFeatures(estimator, **settings).fit(X, y)
    newer = task.newer()
    before = auto.limit(0).score(X_later, later, links=newer)
    after = auto.score(X_later, later, links=newer)
    kept = [feature.name for feature in auto.features_]
    return [
        task.title,
        name,
        task.measure,
        f"{before:.3f}",
        f"{flat.score(X_later, later):.3f}",
        f"{after:.3f}",
        f"{auto.gain_:+.3f} ± {auto.gain_std_:.3f}",
        f"{after - before:+.3f}",
        str(len(kept)),
        f"{seconds:.0f}",
        f"`{kept[0]}`" if kept else "",
    ]


def flat_rows(name: str, n_jobs: int, n_splits: int) -> Iterator[list[str]]:
    """Fit a flat table with and without group links of its categories."""
    dataset = load(name)
    numbers = dataset.task == "regression"
    for model in FLAT_ESTIMATORS:
        scores: dict[bool, list[float]] = {True: [], False: []}
        n_kept = 0
        for split in range(n_splits):
            train, test = split_rows(dataset, "stratified", split, MAX_ROWS)
            X, X_later = take(dataset.X, train), take(dataset.X, test)
            texts = pl.DataFrame(X).select(pl.selectors.string()).columns
            links = [Link.group(on=text) for text in texts]
            parts = np.array_split(np.random.default_rng(split).permutation(len(test)), N_PARTS)
            for linked in (False, True):
                auto = AutoFeatures(
                    estimator_of(model, not numbers, {}),
                    effort="quick",
                    methods="readable",
                    task="regression" if numbers else "classification",
                    links=links if linked else (),
                    random_state=split,
                    n_jobs=n_jobs,
                ).fit(X, dataset.y[train])
                scores[linked] += [
                    auto.score(take(X_later, part), dataset.y[test][part]) for part in parts
                ]
            n_kept += sum("same " in feature.name for feature in auto.features_)
        without, grouped = (np.array(scores[linked]) for linked in (False, True))
        differences = grouped - without
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        verdict = "within noise"
        if abs(differences.mean()) > 2.0 * error:
            verdict = "better" if differences.mean() > 0 else "worse"
        yield [
            name,
            model,
            auto.scoring_,
            f"{without.mean():.3f}",
            f"{grouped.mean():.3f}",
            f"{differences.mean():+.3f} ± {error:.3f}",
            verdict,
            f"{n_kept / n_splits:.1f}",
        ]


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="threads of the search")
    parser.add_argument("--splits", type=int, default=2, help="splits of the flat tables")
    parser.add_argument("--sets", nargs="*", choices=FLAT, default=FLAT, help="flat tables")
    parser.add_argument("--only", choices=("linked", "flat"), help="one of the two tables")
    parser.add_argument("--write", type=Path, metavar="FILE", default=WRITE)
    options = parser.parse_args()
    text = "# Links in a search\n"
    if options.only != "flat":
        rows = []
        tasks = (
            lambda: formula_one("dnf", False),
            lambda: formula_one("position", False),
            retail,
            air,
        )
        for make in tasks:
            task = make()
            for name in ESTIMATORS:
                rows.append(linked_row(task, name, options.jobs))
                say(" | ".join(rows[-1]))
        head = [
            *("task", "estimator", "measure", "original columns", "search without links"),
            *("with links", "claimed gain", "real gain", "formulas", "CPU s", "best formula"),
        ]
        text += f"""
`AutoFeatures(links=…, as_of=…, effort="quick", methods="readable")`, fitted on the rows before the
test dates and scored on those after them. The claimed gain is that of its own folds in the order of
time; the real gain is that on the test rows, over the same estimator with the original columns.
Errors count negative, so that higher is better.

{markdown_table(head, rows)}
"""
    if options.only != "linked":
        rows = []
        for name in options.sets:
            for row in flat_rows(name, options.jobs, options.splits):
                rows.append(row)
                say(" | ".join(row))
        head = ["set", "estimator", "score", "without", "with group links", "difference"]
        head += ["verdict", "kept"]
        text += f"""
## Flat tables with a group link for each column of text

Quick searches on at most {MAX_ROWS:,} rows. Held-out rows of each of {options.splits} splits are
scored in {N_PARTS} parts: means over them, and the mean difference with its standard error; by more
than two it is better or worse. Kept: formulas over links, a split.

{markdown_table(head, rows)}
"""
    print(text)
    write_page(options.write, text, size_of(True, sys.argv[1:]))


if __name__ == "__main__":
    main()
