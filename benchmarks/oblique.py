"""Oblique splits in our trees: error and time with and without sums of columns as candidates.

Trees of formulas test sums of columns as they are, such as ``a - b``. Sparse oblique splits weigh
them. Here our boosting and our Extra-Trees get weighted sums of two to four standardised columns as
further columns, some for each column: *drawn* have random weights, as the sparse oblique splits of
others do; *learned* have the weights of least squares in a part of the training rows like that of a
node. The splits and the other settings are the same with and without sums.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from boosting_budget import geometric
from data import SAME_ROWS, Dataset, check_sets, load, manifest, numeric_sets, split_rows
from runner import (
    Learner,
    Settings,
    Store,
    Values,
    add_common_options,
    column,
    finish,
    fit_and_score,
    make_model,
    markdown_table,
    outcome,
    run,
    show,
    tally,
)

LEARNERS = {"boosting": "ConstructiveBoosting", "Extra-Trees": "ConstructiveExtraTrees"}
KINDS = ("drawn", "learned")
FEW_SUMMANDS, MOST_SUMMANDS = 2, 4
MOST_DEPTH = 3  # of the nodes in whose rows weights are learned
LEAST_ROWS = 20
DIGITS = 2  # of a learned weight
MAX_COLUMNS = 100
SMALL_ROWS = 2000
FIRST_SPLIT = 300


def with_sums(dataset: Dataset, n_train: int, count: int, seed: int) -> Dataset:
    """Add weighted sums of standardised columns, `count` for each column, with random weights.

    The first `n_train` rows are those to learn from.
    """
    rng = np.random.default_rng([seed, count])
    standard = standardise(dataset.X, n_train)
    n_columns = standard.shape[1]
    weights = np.zeros((n_columns, count * n_columns), np.float32)
    for place in range(weights.shape[1]):
        chosen = draw_columns(n_columns, rng)
        weights[chosen, place] = rng.uniform(-1, 1, len(chosen))
    return replace(dataset, X=np.hstack([dataset.X, standard @ weights]))


def with_learned_sums(dataset: Dataset, n_train: int, count: int, seed: int) -> Dataset:
    """Add such sums with weights of least squares, each in the rows of a node drawn at random."""
    rng = np.random.default_rng([seed, count, 1])
    standard = standardise(dataset.X, n_train)
    goals = goals_of(dataset, n_train)
    n_columns = standard.shape[1]
    weights = np.zeros((n_columns, count * n_columns), np.float32)
    for place in range(weights.shape[1]):
        chosen = draw_columns(n_columns, rng)
        rows = draw_node(standard[:n_train], rng)
        goal = goals[rows, rng.integers(goals.shape[1])]
        values = standard[rows][:, chosen]
        learned = np.linalg.lstsq(values - values.mean(axis=0), goal - goal.mean())[0]
        largest = np.abs(learned).max()
        if largest > 0:
            weights[chosen, place] = np.round(learned / largest, DIGITS)
    return replace(dataset, X=np.hstack([dataset.X, standard @ weights]))


def standardise(X: np.ndarray, n_train: int) -> np.ndarray:
    """Return columns of mean 0 and variance 1 in the first rows; a missing value is the mean."""
    mean, spread = np.nanmean(X[:n_train], axis=0), np.nanstd(X[:n_train], axis=0)
    return np.nan_to_num((X - mean) / np.where(spread > 0, spread, 1)).astype(np.float32)


def draw_columns(n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the columns of one sum."""
    count = min(n_columns, int(rng.integers(FEW_SUMMANDS, MOST_SUMMANDS + 1)))
    return rng.choice(n_columns, count, replace=False)


def draw_node(standard: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a node of random depth whose path halves the rows by random columns."""
    rows = np.arange(len(standard))
    for _ in range(rng.integers(MOST_DEPTH + 1)):
        values = standard[rows, rng.integers(standard.shape[1])]
        right = values > np.median(values)
        kept = rows[right if rng.random() < right.mean() else ~right]
        if len(kept) < LEAST_ROWS:
            break
        rows = kept
    return rows


def goals_of(dataset: Dataset, n_train: int) -> np.ndarray:
    """Return what sums are fitted to: the numbers, or a column of 0 and 1 for each class."""
    y = dataset.y[:n_train]
    if dataset.task == "regression":
        return y[:, None].astype(float)
    return np.eye(dataset.n_classes)[y]


def work(settings: Settings) -> Values:
    """Do one job."""
    dataset = load(settings["set"])
    train, test = split_rows(
        dataset, settings["holdout"], settings["split"], settings.get("max_rows")
    )
    n_train, seed = len(train), settings["split"]
    rows = np.concatenate([train, test])
    both = replace(dataset, X=np.asarray(dataset.X, np.float32)[rows], y=dataset.y[rows])
    if settings["sums"] == "drawn":
        both = with_sums(both, n_train, settings["count"], seed)
    elif settings["sums"] == "learned":
        both = with_learned_sums(both, n_train, settings["count"], seed)
    model = make_model(
        settings["family"], settings["params"], dataset.task, seed, settings["n_jobs"]
    )
    first, rest = np.split(np.arange(len(rows)), [n_train])
    return fit_and_score(model, both, first, rest, settings["n_jobs"])


def jobs_of(
    name: str, learner: str, sums: str | None, options: argparse.Namespace
) -> list[Settings]:
    """List the jobs of a learner on one set."""
    small = manifest()[name]["n_rows"] < SMALL_ROWS
    count = options.splits if small else options.large_splits
    more: dict[str, Any] = {"max_rows": options.max_rows, "sums": sums}
    if sums:
        more["count"] = options.sums
    row = Learner(learner, LEARNERS[learner])
    splits = range(FIRST_SPLIT, FIRST_SPLIT + count)
    return [row.settings(name, split, "stratified", options.jobs, **more) for split in splits]


def loss_of(name: str) -> str:
    """Name the loss of a set's task."""
    return "rmse" if manifest()[name]["task"] == "regression" else "log_loss"


def ratios(
    names: list[str],
    learner: str,
    sums: str,
    value: str,
    *,
    store: Store,
    options: argparse.Namespace,
) -> np.ndarray:
    """Return a value with sums over that without, a mean for each set; NaN where one is missing."""
    found = []
    for name in names:
        key = loss_of(name) if value == "loss" else value
        with_them = column(store, jobs_of(name, learner, sums, options), key)
        without = column(store, jobs_of(name, learner, None, options), key)
        found.append(with_them.mean() / without.mean() if without.mean() > 0 else np.nan)
    return np.array(found)


def report(names: list[str], store: Store, options: argparse.Namespace) -> str:
    """Write the tables as Markdown."""
    summary, sentences = [], []
    for learner in LEARNERS:
        for sums in KINDS:
            losses = ratios(names, learner, sums, "loss", store=store, options=options)
            seconds = ratios(names, learner, sums, "fit_seconds", store=store, options=options)
            known = losses[np.isfinite(losses)]
            apart = tally(
                outcome(
                    column(store, jobs_of(name, learner, sums, options), loss_of(name)),
                    column(store, jobs_of(name, learner, None, options), loss_of(name)),
                )
                for name in names
                if manifest()[name]["n_rows"] < SMALL_ROWS
            )
            lower = f"{(known < 1).sum()} of {len(known)}"
            summary.append(
                [f"{learner}, {sums}", geometric(losses), lower, apart, geometric(seconds)]
            )
            sentences.append(
                f"- {learner} with {sums} sums: loss {geometric(losses)} times, lower on {lower} "
                f"sets, at {geometric(seconds)} times the time."
            )
    rows = []
    for name in names:
        cells = [
            show(column(store, jobs_of(name, learner, sums, options), loss_of(name)), 3)
            for learner in LEARNERS
            for sums in (None, *KINDS)
        ]
        rows.append([name, *cells])
    header = [
        f"{learner}{', ' + sums if sums else ''}" for learner in LEARNERS for sums in (None, *KINDS)
    ]
    newline = "\n"
    return f"""# Weighted sums of columns as candidates of trees

Log loss, or root mean squared error over the spread of the target, of our boosting and Extra-Trees
at their defaults, with {options.sums} weighted sums of two to four standardised columns for each
column beside the columns, and without. *Drawn* sums have random weights, as sparse oblique splits
of other libraries have; the weights of *learned* ones are those of least squares in the training
rows of a random node, to two digits. Two thirds of the rows to learn from, at most
{options.max_rows} to learn from and to test on; splits of sets below {SMALL_ROWS} rows:
{options.splits}, of others: {options.large_splits}; threads: {options.jobs}. Ratios are geometric
means over sets, with standard errors: below 1 is better with sums. Better and worse are by more
than two standard errors over the splits of the smaller sets.

{newline.join(sentences)}

{markdown_table(["learner, sums", "loss", "lower on", "smaller sets", "time"], summary)}

## Set by set

{markdown_table(["set", *header], rows)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = [
        name
        for name in numeric_sets()
        if name not in SAME_ROWS and manifest()[name]["n_features"] <= MAX_COLUMNS
    ]
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", default=default, help="default: all numeric ones"
    )
    parser.add_argument("--sums", type=int, default=3, help="for each column (default: 3)")
    parser.add_argument("--splits", type=int, default=3, help="of small sets (default: 3)")
    parser.add_argument("--large-splits", type=int, default=1, help="of others (default: 1)")
    parser.add_argument("--max-rows", type=int, default=1500, help="default: 1500")
    add_common_options(parser)
    options = parser.parse_args()
    names = check_sets(options.sets)
    store = Store("oblique", options.reuse)
    jobs = [
        job
        for name in names
        for learner in LEARNERS
        for together in zip(
            *(jobs_of(name, learner, sums, options) for sums in (None, *KINDS)), strict=True
        )
        for job in together
    ]
    problems = run(store, jobs, max_minutes=options.max_minutes, work=work)
    finish(report(names, store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
