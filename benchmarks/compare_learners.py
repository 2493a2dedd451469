"""Our learners beside scikit-learn's and LightGBM, each at its defaults, with mean ranks.

Every set of the data folder with one target and numeric inputs alone, split at random into two
thirds to learn from and one third to test on (within each class). Sets with fewer than 2000 rows
are split five times, others twice. The smallest sets come first, so that a run with a time limit
has as many as possible; the same command goes on where it was.
"""

from __future__ import annotations

import argparse

import numpy as np
from data import SAME_ROWS, check_sets, manifest, numeric_sets
from runner import (
    LEAST_PROBABILITY,
    Learner,
    Settings,
    Store,
    add_common_options,
    column,
    finish,
    markdown_table,
    mean_and_error,
    run,
    show,
)
from scipy.stats import rankdata

LEARNERS = {
    learner.label: learner
    for learner in (
        Learner("our boosting", "ConstructiveBoosting"),
        Learner("our Extra-Trees", "ConstructiveExtraTrees"),
        Learner("our forest", "ConstructiveForest"),
        Learner("sklearn HGB", "HistGradientBoosting"),
        Learner("LightGBM", "LGBM", {"verbosity": -1}),
        Learner("sklearn RF", "RandomForest"),
        Learner("sklearn ET", "ExtraTrees"),
    )
}
SMALL_ROWS = 2000
Cells = dict[tuple[str, str], list[Settings]]


def plan(options: argparse.Namespace) -> Cells:
    """List the jobs of every set and learner."""
    cells = {}
    for name in options.sets:
        small = manifest()[name]["n_rows"] < SMALL_ROWS
        for label in options.learners:
            cells[name, label] = [
                LEARNERS[label].settings(
                    name, split, "stratified", options.jobs, max_rows=options.max_rows
                )
                for split in range(options.splits if small else options.large_splits)
            ]
    return cells


def in_order(cells: Cells) -> list[Settings]:
    """Order jobs set by set and split by split, so that a set's data is read once."""
    jobs = [job for found in cells.values() for job in found]
    position = {name: i for i, name in enumerate(dict.fromkeys(name for name, _ in cells))}
    return sorted(jobs, key=lambda job: (position[job["set"]], job["split"]))


def means(cells: Cells, store: Store, sets: list[str], labels: list[str], value: str) -> np.ndarray:
    """Return the mean of a value by set and learner, NaN where a split is missing."""
    return np.array(
        [[column(store, cells[n, a], value).mean() for a in labels] for n in sets]
    ).reshape(len(sets), len(labels))


def rank_rows(
    measured: dict[str, np.ndarray], sets: dict[str, list[str]], labels: list[str]
) -> list[list[str]]:
    """Make rows of mean ranks, over the sets that every learner has done."""
    complete = {value: np.isfinite(found).all(axis=1) for value, found in measured.items()}
    ranks = {value: rankdata(found[complete[value]], axis=1) for value, found in measured.items()}
    kept = {value: np.array(sets[value], dtype=object)[complete[value]] for value in measured}
    titles = {"error": "classes: error", "log_loss": "classes: log loss", "rmse": "numbers: RMSE"}
    groups = {titles[value]: (ranks[value], kept[value]) for value in measured}
    both = [value for value in ("error", "rmse") if value in measured]
    groups["all sets: error or RMSE"] = (
        np.concatenate([ranks[value] for value in both]),
        np.concatenate([kept[value] for value in both]),
    )
    rows = []
    for group, (found, names) in groups.items():
        single = np.array([name not in SAME_ROWS for name in names], dtype=bool)
        for title, chosen in ((group, found), (f"{group}, no repeated rows", found[single])):
            cells = [f"{rank:.2f}" for rank in chosen.mean(axis=0)] if len(chosen) else []
            rows.append([title, str(len(chosen)), *(cells or ["–"] * len(labels))])
    return rows


def alone(measured: dict[str, np.ndarray], labels: list[str]) -> str:
    """Say where each of our learners stands if it is the only one of ours."""
    others = [i for i, label in enumerate(labels) if not label.startswith("our ")]
    found = np.concatenate([measured[value] for value in ("error", "rmse") if value in measured])
    found = found[np.isfinite(found).all(axis=1)]
    if not others or not len(found):
        return ""
    lines = []
    for i, label in enumerate(labels):
        if i not in others:
            ranks = rankdata(found[:, [i, *others]], axis=1).mean(axis=0)
            best = int(ranks[1:].argmin())
            lines.append(
                f"- {label} alone among the others: mean rank {ranks[0]:.2f} on {len(found)} sets; "
                f"the best other, {labels[others[best]]}, has {ranks[1 + best]:.2f}."
            )
    return "\n".join(lines)


def value_table(cells: Cells, store: Store, sets: list[str], labels: list[str], value: str) -> str:
    """Lay out one value by set and learner; the lowest mean of a row is bold."""
    factor = 100 if value == "error" else 1
    digits = {"error": 2, "fit_seconds": 2}.get(value, 3)
    rows = []
    for name in sets:
        found = [column(store, cells[name, label], value) for label in labels]
        texts = [show(values, digits, factor) for values in found]
        mean = np.array([mean_and_error(values)[0] for values in found])
        if np.isfinite(mean).any() and value != "fit_seconds":
            for best in np.flatnonzero(mean == np.nanmin(mean)):
                texts[best] = f"**{texts[best]}**"
        rows.append([name + " †" * (name in SAME_ROWS), *texts])
    return markdown_table(["set", *labels], rows)


def report(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    labels = options.learners
    numbers = [name for name in options.sets if manifest()[name]["task"] == "regression"]
    classes = [name for name in options.sets if name not in numbers]
    sets = {"error": classes, "log_loss": classes, "rmse": numbers}
    sets = {value: names for value, names in sets.items() if names}
    measured = {value: means(cells, store, names, labels, value) for value, names in sets.items()}
    titles = {
        "error": "Test error in %",
        "log_loss": f"Log loss (probabilities of at least {LEAST_PROBABILITY:g})",
        "rmse": "Root mean squared error over the standard deviation of the target",
    }
    ranks = markdown_table(["mean rank", "sets", *labels], rank_rows(measured, sets, labels))
    tables = "\n\n".join(
        f"## {titles[value]}\n\n{value_table(cells, store, names, labels, value)}"
        for value, names in sets.items()
    )
    capped = [n for n in options.sets if manifest()[n]["n_rows"] * 2 / 3 > options.max_rows]
    at_most = f"At most {options.max_rows} rows to learn from and to test on"
    repeated = ", ".join(f"{a} ({b})" for a, b in SAME_ROWS.items() if a in options.sets)
    return f"""# Our learners beside others, all at their defaults

Two thirds of the rows to learn from, the rest to test on, drawn at random within each class (rows
in time order too); {options.splits} splits below {SMALL_ROWS} rows, {options.large_splits} above;
mean ± standard error. Threads: {options.jobs}. {at_most}
(cuts: {", ".join(capped) or "none"}).
† shares rows with another set: {repeated or "none here"}.

## Mean ranks

1 is the best; over the sets that every learner has done.

{ranks}

{alone(measured, labels)}

{tables}

## Seconds of a fit

{value_table(cells, store, options.sets, labels, "fit_seconds")}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", help="default: every numeric set")
    parser.add_argument("--skip", nargs="+", metavar="SET", default=[], help="sets to leave out")
    parser.add_argument(
        "--learners",
        nargs="+",
        metavar="LEARNER",
        default=list(LEARNERS),
        choices=tuple(LEARNERS),
        help=f"among: {'; '.join(LEARNERS)}",
    )
    parser.add_argument("--splits", type=int, default=5, help="splits of small sets (default: 5)")
    parser.add_argument(
        "--large-splits", type=int, default=2, help="splits of other sets (default: 2)"
    )
    parser.add_argument(
        "--max-rows", type=int, default=20_000, help="cut both parts to this (default: 20000)"
    )
    parser.add_argument(
        "--max-columns", type=int, help="leave out sets with more columns than this"
    )
    add_common_options(parser)
    options = parser.parse_args()
    known = numeric_sets()
    chosen = check_sets(options.sets or known)
    widest = options.max_columns or np.inf
    options.sets = [
        name
        for name in known
        if name in chosen and name not in options.skip and manifest()[name]["n_features"] <= widest
    ]
    if not options.sets:
        parser.error("no numeric set with one target is left; choose others with --sets.")
    store = Store("compare_learners", options.reuse)
    cells = plan(options)
    problems = run(store, in_order(cells), max_minutes=options.max_minutes)
    finish(report(cells, store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
