"""How much of the way from a linear model to the best forest or boosting features go.

On numeric sets: error of the linear model alone, with at most fifty readable formulas, with at most
ten of these, with columns of all methods, and of the best of random forest, Extra-Trees, histogram
gradient boosting, LightGBM, XGBoost, CatBoost and YDF with oblique splits. The share of the gap is
(linear - with features) / (linear - best). Sets on which the best of them is not at least a tenth
better than the linear model have no gap to close: they are listed apart and are not in the means.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from auto_runs import (
    FEW,
    add_auto_options,
    evaluate_auto,
    seeds_of,
    settings_of,
    tell_splits,
    warm_up_auto,
)
from data import ROOT, SAME_ROWS, check_sets, manifest, numeric_sets
from runner import (
    Learner,
    Settings,
    Store,
    Values,
    add_common_options,
    column,
    evaluate,
    finish,
    markdown_table,
    run,
    show,
)

OTHERS = (
    Learner("RF", "RandomForest"),
    Learner("ET", "ExtraTrees"),
    Learner("HGB", "HistGradientBoosting"),
    Learner("LightGBM", "LGBM", {"verbosity": -1}),
    Learner("XGBoost", "XGB"),
    Learner("CatBoost", "CatBoost", {"verbose": 0, "allow_writing_files": False}),
    Learner("YDF oblique", "YdfOblique"),
)
READABLE = {"methods": "readable", "n_features_out": 50}
# What is told of which fit of `AutoFeatures`.
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "50 formulas": (READABLE, "error"),
    f"{FEW} formulas": (READABLE, "error_few"),
    "all methods": ({"methods": "all"}, "error"),
}
MAX_COLUMNS = 100
LEAST_ROWS = 200
HALF = 0.5
LEAST_GAP = 0.1
SMALL_ROWS, SMALL_TIMES = 1000, 4  # below, test parts are small: this many times the splits
WRITE = ROOT / "docs" / "results" / "auto_gap.md"


def default_sets() -> list[str]:
    """Name the numeric sets that are neither tiny nor wide, each once."""
    return [
        name
        for name in numeric_sets()
        if name not in SAME_ROWS
        and manifest()[name]["n_features"] <= MAX_COLUMNS
        and manifest()[name]["n_rows"] >= LEAST_ROWS
    ]


def splits_of(name: str, options: argparse.Namespace) -> range:
    """Return the numbers of the splits of a set."""
    return seeds_of(options, SMALL_TIMES if manifest()[name]["n_rows"] < SMALL_ROWS else 1)


def auto_jobs(name: str, kind: str, options: argparse.Namespace) -> list[Settings]:
    """List the fits of `AutoFeatures` on a set."""
    scoring = {} if manifest()[name]["task"] == "regression" else {"scoring": "accuracy"}
    return [
        settings_of(name, seed, options, **KINDS[kind][0], **scoring)
        for seed in splits_of(name, options)
    ]


def other_jobs(name: str, learner: Learner, options: argparse.Namespace) -> list[Settings]:
    """List the fits of another learner on a set."""
    return [
        learner.settings(name, seed, "stratified", options.jobs, max_rows=options.max_rows)
        for seed in splits_of(name, options)
    ]


def work(settings: Settings) -> Values:
    """Do one job."""
    return evaluate_auto(settings) if settings["family"] == "AutoFeatures" else evaluate(settings)


def best_of(name: str, store: Store, options: argparse.Namespace) -> tuple[str, np.ndarray]:
    """Return the other learner with the lowest mean error, and its errors."""
    value = "rmse" if manifest()[name]["task"] == "regression" else "error"
    found = {
        learner.label: column(store, other_jobs(name, learner, options), value)
        for learner in OTHERS
    }
    label = min(found, key=lambda label: np.nan_to_num(found[label].mean(), nan=np.inf))
    return label, found[label]


def behind_sentence(shares: dict[str, float], worse: list[str]) -> str:
    """Name the sets where features close less than half of the gap, and where they do harm."""
    few = [f"{name} ({share:.2f})" for name, share in shares.items() if share < HALF]
    return (
        f"Less than half: {', '.join(few) or 'none'}. Worse than the linear model: "
        f"{', '.join(worse) or 'none'}."
    )


def report(store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    rows: dict[bool, list[list[str]]] = {True: [], False: []}
    shares: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
    worse: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in options.sets:
        label, best = best_of(name, store, options)
        jobs = {kind: auto_jobs(name, kind, options) for kind in KINDS}
        linear = column(store, jobs["50 formulas"], "error_before")
        errors = {kind: column(store, jobs[kind], value) for kind, (_, value) in KINDS.items()}
        if not all(np.isfinite(found).all() for found in (linear, best, *errors.values())):
            continue
        gap = linear.mean() - best.mean()
        is_open = bool(gap >= LEAST_GAP * linear.mean())
        closed = {kind: (linear.mean() - errors[kind].mean()) / gap for kind in KINDS}
        cells = [name, show(linear, 3), f"{show(best, 3)} {label}"]
        for kind in KINDS:
            cells.append(show(errors[kind], 3))
            if is_open:
                cells.append(f"{closed[kind]:.2f}")
                shares[kind][name] = closed[kind]
            if errors[kind].mean() > linear.mean():
                worse[kind].append(name)
        methods = {(store.get(job) or {}).get("method", "") for job in jobs["all methods"]}
        seconds = [
            f"{column(store, jobs[kind], 'fit_seconds').mean():.0f}"
            for kind in ("50 formulas", "all methods")
        ]
        rows[is_open].append([*cells, "; ".join(sorted(methods)), *seconds])
    header = ["set", "linear", "best other"]
    for kind in KINDS:
        header += [kind, "share"]
    means = "\n".join(
        f"- {kind}: mean share {np.mean([*found.values()]):.2f}, median "
        f"{np.median([*found.values()]):.2f}, over {len(found)} sets. "
        f"{behind_sentence(found, worse[kind])}"
        for kind, found in shares.items()
        if found
    )
    last = ["chosen of all", "s, formulas", "s, all"]
    table = markdown_table([*header, *last], rows[True])
    closed_header = [title for title in header if title != "share"]
    apart = markdown_table([*closed_header, *last], rows[False])
    no_gap = "## No gap to close\n\nThe best other is not a tenth better than the linear model.\n\n"
    no_gap = f"{no_gap}{apart}\n" if rows[False] else ""
    effort = "" if options.effort == "standard" else f": effort {options.effort}"
    return f"""# How far features take a linear model{effort}

Error of logistic regression (share of wrong classes) or ridge regression (root mean squared error
over the spread of the target) on a third of the rows, drawn at random within each class;
splits: {options.seeds} ({tell_splits(options)}), {SMALL_TIMES} times as many of sets with
fewer than {SMALL_ROWS} rows, means ± standard error. Effort {options.effort} for each fit of
`AutoFeatures`, threads: {options.jobs}, at most {options.max_rows} rows. Share: (linear − with
features) / (linear − best other), others being random forest, Extra-Trees, histogram gradient
boosting, LightGBM, XGBoost, CatBoost and YDF with sparse oblique splits at their defaults. The
{FEW} formulas are `limit({FEW})` of the fit with at most 50.

{means}

{table}

{no_gap}"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_auto_options(parser, 2)
    add_common_options(parser)
    parser.set_defaults(write=Path(WRITE))
    options = parser.parse_args()
    options.sets = check_sets(options.sets or default_sets())
    store = Store("auto_gap", options.reuse)
    jobs = []
    for name in options.sets:
        for learner in OTHERS:
            jobs += other_jobs(name, learner, options)
        for kind in ("50 formulas", "all methods"):
            jobs += auto_jobs(name, kind, options)
    problems = run(
        store, jobs, max_minutes=options.max_minutes, work=work, compile_all=warm_up_auto
    )
    finish(report(store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
