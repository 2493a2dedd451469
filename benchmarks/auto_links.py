"""`AutoFeatures` with links: gains that it claims beside those on later rows, and flat tables.

The databases are those of `relations.py`: rows before the test dates are fitted on, rows after them
scored. Flat tables with categories have a group link for each column of text; test rows are a
random third of some splits. All searches are quick ones. Results are kept, and the same command
goes on with those that are missing.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import lightgbm as lgb
import numpy as np
import polars as pl
from auto_runs import rows_of, warm_up_auto
from data import take
from pages import PAGES
from runner import (
    WORDS,
    Settings,
    Store,
    Values,
    add_common_options,
    finish,
    markdown_table,
    outcome,
    run,
    tally,
)

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
TASKS = {
    "f1_dnf": lambda: formula_one("dnf", False),
    "f1_position": lambda: formula_one("position", False),
    "retail": retail,
    "air": air,
}
SCORING = {"AUC": "roc_auc", "mean absolute error": "neg_mean_absolute_error", "R²": "r2"}


def estimator_of(name: str, classes: bool, settings: dict[str, Any]) -> Any:
    """Return an estimator."""
    if name != "lightgbm":
        return name
    make = lgb.LGBMClassifier if classes else lgb.LGBMRegressor
    return make(verbose=-1, n_jobs=1, random_state=0, **settings)


def settings_of(name: str, estimator: str, split: int, options: argparse.Namespace) -> Settings:
    """Describe the fits with and without links on one split of a set."""
    return {
        "set": name,
        "family": "AutoFeatures",
        "params": {"estimator": estimator},
        "split": split,
        "holdout": "time" if name in TASKS else "stratified",
        "n_jobs": options.jobs,
        "max_rows": None if name in TASKS else MAX_ROWS,
    }


def evaluate_links(settings: Settings) -> Values:
    """Fit with and without links, and score later rows."""
    if settings["set"] in TASKS:
        return evaluate_task(TASKS[settings["set"]](), settings)
    return evaluate_flat(settings)


def evaluate_task(task: Task, settings: Settings) -> Any:
    """Fit on the rows of a database before the test dates; score those after them."""
    is_test = pl.col("split") == "test"
    train, test = task.table.filter(~is_test), task.table.filter(is_test)
    classes = task.settings.get("objective") == "binary"
    y, later = (rows["target"].to_numpy() for rows in (train, test))
    X, X_later = (rows.drop("target", "split") for rows in (train, test))
    common: dict[str, Any] = {
        "effort": "quick",
        "methods": "readable",
        "scoring": SCORING[task.measure],
        "task": "classification" if classes else "regression",
        "as_of": task.as_of or "time",
        "random_state": settings["split"],
        "n_jobs": settings["n_jobs"],
    }
    estimator = estimator_of(settings["params"]["estimator"], classes, task.settings)
    started, cpu_started = time.perf_counter(), time.process_time()
    auto = AutoFeatures(estimator, links=task.links, **common).fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    flat = AutoFeatures(estimator, **common).fit(X, y)
    newer = task.newer()
    kept = [feature.name for feature in auto.features_]
    return {
        "fit_seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "title": task.title,
        "measure": task.measure,
        "before": auto.limit(0).score(X_later, later, links=newer),
        "without": flat.score(X_later, later),
        "after": auto.score(X_later, later, links=newer),
        "claimed": auto.gain_,
        "claimed_error": auto.gain_std_,
        "n_formulas": len(kept),
        "first": kept[0] if kept else "",
    }


def evaluate_flat(settings: Settings) -> Any:
    """Fit a flat table with and without group links of its columns of text; score held-out rows."""
    dataset, train, test = rows_of(settings)
    numbers = dataset.task == "regression"
    X, X_later = take(dataset.X, train), take(dataset.X, test)
    links = [Link.group(on=text) for text in pl.DataFrame(X).select(pl.selectors.string()).columns]
    split = settings["split"]
    parts = np.array_split(np.random.default_rng(split).permutation(len(test)), N_PARTS)
    scores: dict[bool, list[float]] = {}
    started = time.perf_counter()
    for linked in (False, True):
        auto = AutoFeatures(
            estimator_of(settings["params"]["estimator"], not numbers, {}),
            effort="quick",
            methods="readable",
            task="regression" if numbers else "classification",
            links=links if linked else (),
            random_state=split,
            n_jobs=settings["n_jobs"],
        ).fit(X, dataset.y[train])
        scores[linked] = [
            float(auto.score(take(X_later, part), dataset.y[test][part])) for part in parts
        ]
    return {
        "fit_seconds": time.perf_counter() - started,
        "without": scores[False],
        "grouped": scores[True],
        "scoring": auto.scoring_,
        "kept": sum("same " in feature.name for feature in auto.features_),
    }


def linked_section(store: Store, options: argparse.Namespace) -> str:
    """Write what links are worth on later rows, beside what the search claims."""
    rows, differences = [], []
    for name in TASKS:
        for estimator in ESTIMATORS:
            found: Any = store.get(settings_of(name, estimator, 0, options))
            if found is None:
                continue
            real = found["after"] - found["before"]
            if found["measure"] != "mean absolute error":
                differences.append(found["claimed"] - real)
            rows.append(
                [
                    found["title"],
                    estimator,
                    found["measure"],
                    f"{found['before']:.3f}",
                    f"{found['without']:.3f}",
                    f"{found['after']:.3f}",
                    f"{found['claimed']:+.3f} ± {found['claimed_error']:.3f}",
                    f"{real:+.3f}",
                    str(found["n_formulas"]),
                    f"{found['cpu_seconds']:.0f}",
                    f"`{found['first']}`" if found["first"] else "",
                ]
            )
    if not rows:
        return ""
    better = sum(float(row[5]) > float(row[4]) for row in rows)
    head = [
        *("task", "estimator", "measure", "original columns", "search without links"),
        *("with links", "claimed gain", "real gain", "formulas", "CPU s", "best formula"),
    ]
    told = (
        ""
        if not differences
        else (
            f" Claimed minus real gain of AUC and R²: {np.mean(differences):+.3f} on average, "
            f"{min(differences):+.3f} to {max(differences):+.3f}."
        )
    )
    return f"""
`AutoFeatures(links=…, as_of=…, effort="quick", methods="readable")`, fitted on the rows before the
test dates and scored on those after them. The claimed gain is that of its own folds in the order of
time; the real gain is that on the test rows, over the same estimator with the original columns.
Errors count negative, so that higher is better.

With links higher than the search without them on {better} of {len(rows)} fits.{told}

{markdown_table(head, rows)}
"""


def flat_section(store: Store, options: argparse.Namespace) -> str:
    """Write what group links are worth on flat tables."""
    rows, outcomes = [], []
    for name in options.sets:
        for estimator in FLAT_ESTIMATORS:
            jobs = [settings_of(name, estimator, k, options) for k in range(options.splits)]
            found: list[Any] = [one for job in jobs if (one := store.get(job))]
            if not found:
                continue
            without, grouped = (
                np.concatenate([one[which] for one in found]) for which in ("without", "grouped")
            )
            differences = grouped - without
            # Scores are better when they are higher; `outcome` wants lower.
            outcomes.append(outcome(-grouped, -without))
            rows.append(
                [
                    name,
                    estimator,
                    found[0]["scoring"],
                    str(len(found)),
                    f"{without.mean():.3f}",
                    f"{grouped.mean():.3f}",
                    f"{differences.mean():+.3f} ± "
                    f"{differences.std(ddof=1) / np.sqrt(len(differences)):.3f}",
                    WORDS[outcomes[-1]],
                    f"{np.mean([one['kept'] for one in found]):.1f}",
                ]
            )
    if not rows:
        return ""
    head = ["set", "estimator", "score", "splits", "without", "with group links", "difference"]
    head += ["", "kept"]
    return f"""
## Flat tables with a group link for each column of text

Quick searches on at most {MAX_ROWS:,} rows. Held-out rows of each split are scored in {N_PARTS}
parts: means over them, and the mean difference with its standard error; by more than two it is
better or worse. Kept: formulas over links, a split.

{tally(outcomes)}

{markdown_table(head, rows)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_common_options(parser)
    parser.add_argument("--splits", type=int, default=2, help="splits of the flat tables")
    parser.add_argument("--sets", nargs="*", choices=FLAT, default=FLAT, help="flat tables")
    parser.add_argument("--only", choices=("linked", "flat"), help="one of the two tables")
    parser.set_defaults(write=WRITE, jobs=1)
    options = parser.parse_args()
    store = Store("auto_links", options.reuse)
    tasks = [settings_of(name, one, 0, options) for name in TASKS for one in ESTIMATORS]
    flat = [
        settings_of(name, one, split, options)
        for split in range(options.splits)
        for name in options.sets
        for one in FLAT_ESTIMATORS
    ]
    jobs = {"linked": tasks, "flat": flat}.get(options.only, [*tasks, *flat])
    problems = run(
        store,
        jobs,
        max_minutes=options.max_minutes,
        work=evaluate_links,
        compile_all=warm_up_auto,
    )
    text = "# Links in a search\n" + linked_section(store, options) + flat_section(store, options)
    finish(text, problems, options.write, store)


if __name__ == "__main__":
    main()
