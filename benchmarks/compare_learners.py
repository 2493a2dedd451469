"""Our learners beside others at defaults and lightly tuned, with mean ranks.

The others: scikit-learn's, LightGBM, XGBoost, CatBoost and YDF with sparse oblique splits.

Every set of the data folder with one target and numeric inputs alone, split at random into two
thirds to learn from and one third to test on (within each class). Sets with fewer than 2000 rows
are split five times, others twice. The smallest sets come first, so that a run with a time limit
has as many as possible; the same command goes on where it was.
"""

from __future__ import annotations

import argparse

import numpy as np
from data import SAME_ROWS, check_sets, manifest, numeric_sets, present
from pages import add_size_options, image, settle_page, settle_sizes, shown
from plots import critical_difference_plot
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
from significance import rank_methods, ranking_sentences

LEARNERS = {
    learner.label: learner
    for learner in (
        Learner("our boosting", "ConstructiveBoosting"),
        Learner("our Extra-Trees", "ConstructiveExtraTrees"),
        Learner("our forest", "ConstructiveForest"),
        Learner("sklearn HGB", "HistGradientBoosting"),
        Learner("LightGBM", "LGBM", {"verbosity": -1}),
        Learner("XGBoost", "XGB"),
        Learner("CatBoost", "CatBoost", {"verbose": 0, "allow_writing_files": False}),
        Learner("YDF oblique", "YdfOblique"),
        Learner("sklearn RF", "RandomForest"),
        Learner("sklearn ET", "ExtraTrees"),
    )
}
# Small fixed grids, chosen on a quarter of the training rows held out; as many points for everyone.
_LEAVES = ({}, {"min_samples_leaf": 3}, {"max_features": 0.5})
_OURS = ({}, {"budget": "2n"}, {"min_samples_leaf": 3})
_RATES = ({}, {"learning_rate": 0.05}, {"learning_rate": 0.2})
GRIDS: dict[str, tuple[dict, ...]] = {
    "our boosting": _RATES,
    "our Extra-Trees": _OURS,
    "our forest": _OURS,
    "sklearn HGB": _RATES,
    "LightGBM": _RATES,
    "XGBoost": _RATES,
    "CatBoost": _RATES,
    "YDF oblique": _RATES,
    "sklearn RF": _LEAVES,
    "sklearn ET": _LEAVES,
}
# Whose time of a fit is compared.
RIVALS = {
    "our boosting": ("sklearn HGB", "LightGBM", "XGBoost", "CatBoost", "YDF oblique"),
    "our Extra-Trees": ("sklearn ET",),
    "our forest": ("sklearn RF",),
}
TUNED = " (tuned)"
# AdaBoost.MH knows classes alone: its own part of the page.
ADABOOST = Learner(
    "our AdaBoost.MH",
    "ConstructiveBoosting",
    {"loss": "adaboost_mh", "learning_rate": 1.0, "early_stopping": False},
)
SMALL_ROWS = 2000
FEW_ROWS = 500
Cells = dict[tuple[str, str], list[Settings]]


def plan(options: argparse.Namespace) -> Cells:
    """List the jobs of every set and learner."""
    cells = {}
    for name in options.sets:
        small = manifest()[name]["n_rows"] < SMALL_ROWS
        splits = range(options.splits if small else options.large_splits)
        classes = manifest()[name]["task"] != "regression"
        for label in [*options.learners, ADABOOST.label]:
            learner = LEARNERS.get(label, ADABOOST)
            common = {"n_jobs": options.jobs, "max_rows": options.max_rows}
            if label in LEARNERS or classes:
                cells[name, label] = [
                    learner.settings(name, split, "stratified", **common) for split in splits
                ]
            if label in LEARNERS and options.tuned:
                cells[name, label + TUNED] = [
                    learner.settings(name, split, "stratified", grid=GRIDS[label], **common)
                    for split in splits
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
        [
            [
                column(store, cells[n, a], value).mean() if (n, a) in cells else np.nan
                for a in labels
            ]
            for n in sets
        ]
    ).reshape(len(sets), len(labels))


def ranking_part(
    cells: Cells, store: Store, options: argparse.Namespace, labels: list[str], name: str
) -> str:
    """Rank some learners over all sets without repeated rows, by error or RMSE, with a plot."""
    single = [n for n in options.sets if n not in SAME_ROWS]
    values = {n: "rmse" if manifest()[n]["task"] == "regression" else "error" for n in single}
    scores = [means(cells, store, [n], labels, values[n])[0] for n in single]
    ranking = rank_methods(np.array(scores), labels)
    if not ranking:
        return "Too few sets have been done by all."
    path = image(options, name)
    critical_difference_plot(path, ranking, "Mean ranks over sets, lower is better")
    return f"{shown(path, 'mean ranks of learners')}\n\n{ranking_sentences(ranking)}"


def tuned_part(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write the part on tuned learners and on AdaBoost.MH."""
    classes = [n for n in options.sets if manifest()[n]["task"] != "regression"]
    both = [ADABOOST.label, *options.learners]
    boosted = [
        [title, *(f"{rank:.2f}" for rank in ranking.ranks), str(ranking.n_sets)]
        for title, value in (("error", "error"), ("log loss", "log_loss"))
        if (ranking := rank_methods(means(cells, store, classes, both, value), both))
    ]
    text = f"""## AdaBoost.MH

{markdown_table(["mean rank, sets with classes", *both, "sets"], boosted)}

The published algorithm, without the early stopping that our boosting has: its rounds multiply the
weights of wrong rows without end, so it fits wrong labels, and its votes are sure of themselves,
right or wrong, which the log loss counts most.
"""
    if not options.tuned:
        return text
    labels = [label + TUNED for label in options.learners]
    grids = "; ".join(
        f"{label}: {', '.join(str(p or 'defaults') for p in GRIDS[label])}"
        for label in options.learners
    )
    rows = []
    for label in options.learners:
        ratios = []
        for name in options.sets:
            value = "rmse" if manifest()[name]["task"] == "regression" else "error"
            usual, tuned = means(cells, store, [name], [label, label + TUNED], value)[0]
            if usual > 0 and tuned > 0:
                ratios.append(np.log(tuned / usual))
        ratio = f"{np.exp(np.mean(ratios)):.3f}" if ratios else "–"
        rows.append([label, ratio, str(len(ratios))])
    return f"""{text}
## Lightly tuned

Each learner has three points of a grid, judged on a quarter of the training rows by log loss or
squared error, and the best one is fitted on all: {grids}.

{ranking_part(cells, store, options, labels, "tuned")}

{markdown_table(["learner", "error, tuned over default (geometric mean)", "sets"], rows)}
"""


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


def alone(measured: dict[str, np.ndarray], sets: dict[str, list[str]], labels: list[str]) -> str:
    """Say where each of our learners stands if it is the only one of ours; no repeated rows."""
    others = [i for i, label in enumerate(labels) if not label.startswith("our ")]
    values = [value for value in ("error", "rmse") if value in measured]
    found = np.concatenate([measured[value] for value in values])
    names = [name for value in values for name in sets[value]]
    n_rows = np.array([manifest()[name]["n_rows"] for name in names])
    counts = np.isfinite(found).all(axis=1) & [name not in SAME_ROWS for name in names]
    found, n_rows = found[counts], n_rows[counts]
    if not others or not len(found):
        return ""
    lines = []
    for i, label in enumerate(labels):
        if i not in others:
            ranks = rankdata(found[:, [i, *others]], axis=1)
            ours, *theirs = ranks.mean(axis=0)
            best = int(np.argmin(theirs))
            rival = labels[others[best]]
            line = (
                f"- {label} alone among the others: mean rank {ours:.2f} on {len(found)} sets; "
                f"the best other, {rival}, has {theirs[best]:.2f}."
            )
            if ours > theirs[best]:
                line += by_rows(ranks[:, [0, 1 + best]], n_rows, rival)
            lines.append(line)
    return "\n".join(lines)


def by_rows(ranks: np.ndarray, n_rows: np.ndarray, rival: str) -> str:
    """Say on how large sets a learner of ours is behind another one, and ahead of it."""
    parts = {
        f"with fewer than {FEW_ROWS} rows": n_rows < FEW_ROWS,
        f"with {FEW_ROWS} to {SMALL_ROWS}": (n_rows >= FEW_ROWS) & (n_rows < SMALL_ROWS),
        "with more": n_rows >= SMALL_ROWS,
    }
    means = {title: ranks[rows].mean(axis=0) for title, rows in parts.items() if rows.any()}
    said = ", ".join(
        f"{ours:.2f} and {theirs:.2f} on the {parts[title].sum()} sets {title}"
        for title, (ours, theirs) in means.items()
    )
    behind = [ours - theirs for ours, theirs in means.values()]
    reason = ": formulas have more ways to fit few rows by chance than columns have"
    fewer_is_worse = len(behind) > 1 and behind == sorted(behind, reverse=True)
    return f" By size, its rank and that of {rival} are {said}{reason if fewer_is_worse else ''}."


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


def time_sentences(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Say how many times as long as others of their kind our learners take, in the middle."""
    labels = options.learners
    taken = means(cells, store, options.sets, labels, "fit_seconds")
    others = [i for i, label in enumerate(labels) if not label.startswith("our ")]
    if not others:
        return ""
    lines = [
        f"- {label}: {np.exp(np.nanmean(np.log(taken[:, i] / taken[:, j]))):.1f} times as long as "
        f"{labels[j]} (geometric mean over sets)."
        for i, label in enumerate(labels)
        if i not in others
        for j in others
        if labels[j] in RIVALS.get(label, ())
    ]
    if lines:
        lines.append("- Ours score many formulas in every node, where the others score columns.")
    return "\n".join(lines)


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
    return f"""# Our learners beside others

Two thirds of the rows to learn from, the rest to test on, drawn at random within each class (rows
in time order too); {options.splits} splits below {SMALL_ROWS} rows, {options.large_splits} above;
mean ± standard error. All at their defaults but where said. Threads: {options.jobs}. {at_most}
(cuts: {", ".join(capped) or "none"}).
† shares rows with another set: {repeated or "none here"}.

## Mean ranks

1 is the best; over the sets that every learner has done.

{ranks}

{alone(measured, sets, labels)}

{ranking_part(cells, store, options, labels, "ranks")}

{tuned_part(cells, store, options)}
{tables}

## Seconds of a fit

{time_sentences(cells, store, options)}

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
    add_size_options(parser, "2 splits, 1 of large sets, 2,000 rows", "5 splits, 2, 20,000 rows")
    parser.add_argument("--splits", type=int, help="splits of small sets")
    parser.add_argument("--large-splits", type=int, help="splits of other sets")
    parser.add_argument("--max-rows", type=int, help="cut both parts to this")
    parser.add_argument(
        "--no-tuned",
        dest="tuned",
        action="store_false",
        help="defaults alone, a quarter of the time",
    )
    parser.add_argument(
        "--max-columns", type=int, help="leave out sets with more columns than this"
    )
    add_common_options(parser)
    options = parser.parse_args()
    settle_page(options, "learners")
    settle_sizes(options, splits=(2, 5), large_splits=(1, 2))
    settle_sizes(options, max_rows=(2000, 20_000), max_columns=(100, 10**6))
    known = numeric_sets()
    chosen = check_sets(options.sets or known)
    options.sets, missing = present(
        name
        for name in known
        if name in chosen
        and name not in options.skip
        and manifest()[name]["n_features"] <= options.max_columns
    )
    if not options.sets:
        parser.error("no numeric set with one target is left; choose others with --sets.")
    store = Store("compare_learners", options.reuse)
    cells = plan(options)
    problems = missing + run(store, in_order(cells), max_minutes=options.max_minutes)
    finish(report(cells, store, options), problems, options.write, store, options.size)


if __name__ == "__main__":
    main()
