"""What numbers in formulas are worth to `AutoFeatures`: sums of columns, shifts and weights.

The same searches with and without them, scored on rows that no search has seen: nearest neighbours,
a linear model and boosting, on numeric sets and on problems made so that a number is needed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
from auto_runs import (
    add_auto_options,
    evaluate_auto,
    rows_of,
    seeds_of,
    settings_of,
    tell_splits,
    warm_up_auto,
)
from data import ROOT, Dataset, check_sets
from runner import (
    Settings,
    Store,
    Values,
    add_common_options,
    column,
    finish,
    markdown_table,
    run,
)

ESTIMATORS = ("knn", "linear", "boosting")
SETS = (
    *("vehicle", "california_housing", "airfoil_self_noise", "twonorm", "pima_diabetes"),
    *("energy_heating", "wine_quality_white", "ionosphere", "raetsch_banana", "vowel"),
)
MADE = {
    "x3 / (1 + x4²)": "regression",
    "2 x0 − x1 > x2": "binary",
    "|2 x0 − x1| > 1.3": "binary",
    "(x0 − 1.5)² x1": "regression",
}
MADE_ROWS, MADE_COLUMNS = 2_500, 8
# What makes numbers in `featurewright.auto.formulas`; replaced by nothing for the comparison.
SOURCES = ("find_sums", "safe_ratios", "with_numbers")
WRITE = ROOT / "docs" / "results" / "auto_numbers.md"


def made_set(name: str, seed: int) -> Dataset:
    """Make a problem: eight normal columns and a target with a little noise."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(MADE_ROWS, MADE_COLUMNS)), rng.normal(size=MADE_ROWS)
    x0, x1, x2, x3, x4 = X.T[:5]
    targets = {
        "x3 / (1 + x4²)": x3 / (1 + x4**2) + 0.1 * noise,
        "2 x0 − x1 > x2": (2 * x0 - x1 > x2) ^ (np.abs(noise) > 2),
        "|2 x0 − x1| > 1.3": (np.abs(2 * x0 - x1) > 1.3) ^ (np.abs(noise) > 2),
        "(x0 − 1.5)² x1": (x0 - 1.5) ** 2 * x1 + 0.3 * noise,
    }
    y = targets[name]
    return Dataset(name, X, y if MADE[name] == "regression" else y.astype(int), MADE[name])


def rows(settings: Settings) -> tuple[Dataset, np.ndarray, np.ndarray]:
    """Read or make a set, and draw its training and test rows."""
    if settings["set"] not in MADE:
        return rows_of(settings)
    order = np.random.default_rng(settings["split"]).permutation(MADE_ROWS)
    first = 2 * MADE_ROWS // 3
    return made_set(settings["set"], settings["split"]), order[:first], order[first:]


def work(settings: Settings) -> Values:
    """Do one job; without numbers where it says so, else with them for boosting too."""
    with ExitStack() as stack:
        if settings["numbers"]:
            rule = "featurewright.auto.features.is_boosting"
            stack.enter_context(mock.patch(rule, return_value=False))
        else:
            for name in SOURCES:
                found = f"featurewright.auto.formulas.{name}"
                stack.enter_context(mock.patch(found, return_value=[]))
        return evaluate_auto(settings, rows(settings))


def pair_of(name: str, estimator: str, seed: int, options: argparse.Namespace) -> list[Settings]:
    """Return the two jobs of a split of a set: without numbers and with."""
    settings = settings_of(name, seed, options, estimator=estimator, methods="readable")
    return [settings | {"numbers": numbers} for numbers in (False, True)]


def all_jobs(options: argparse.Namespace) -> Iterator[Settings]:
    """Yield all jobs; the first split of every set comes first."""
    for seed in seeds_of(options):
        for name in options.sets:
            for estimator in options.estimators:
                yield from pair_of(name, estimator, seed, options)


def mean_sentence(estimator: str, gains: dict[str, float], cpu: np.ndarray) -> str:
    """Say what numbers change on average, and what they cost."""
    if not gains:
        return f"- {estimator}: nothing measured."
    worst = min(gains, key=gains.__getitem__)
    n_better, n_worse = (sum(sign * gain > 0 for gain in gains.values()) for sign in (1, -1))
    return (
        f"- {estimator}: mean change of the error {-np.mean([*gains.values()]):+.4f} over "
        f"{len(gains)} problems, {n_better} better, {n_worse} worse, the worst {worst} "
        f"({-gains[worst]:+.4f}); {cpu[1].mean() / cpu[0].mean():.2f} times the CPU time."
    )


def report(store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    lines, sentences = [], []
    for estimator in options.estimators:
        gains: dict[str, float] = {}
        spent = []
        for name in options.sets:
            pairs = [pair_of(name, estimator, seed, options) for seed in seeds_of(options)]
            done = [pair for pair in pairs if all(store.get(job) for job in pair)]
            if not done:
                continue
            without, with_numbers = (
                {
                    value: column(store, [pair[k] for pair in done], value)
                    for value in ("error", "error_before", "n_formulas", "cpu_seconds")
                }
                for k in (0, 1)
            )
            gains[name] = float((without["error"] - with_numbers["error"]).mean())
            spent.append([without["cpu_seconds"].mean(), with_numbers["cpu_seconds"].mean()])
            lines.append(
                [
                    estimator,
                    name,
                    str(len(done)),
                    f"{without['error_before'].mean():.4f}",
                    f"{without['error'].mean():.4f}",
                    f"{with_numbers['error'].mean():.4f}",
                    f"{-gains[name]:+.4f}",
                    f"{without['n_formulas'].mean():.0f}",
                    f"{with_numbers['n_formulas'].mean():.0f}",
                ]
            )
        sentences.append(mean_sentence(estimator, gains, np.array(spent).reshape(-1, 2).T))
    header = [
        *("estimator", "problem", "splits", "original columns", "without numbers"),
        *("with numbers", "change", "formulas without", "formulas with"),
    ]
    summary = "\n".join(sentences)
    return f"""# Numbers in formulas

Error (share of wrong classes, or root mean squared error over the spread of the target) on a third
of the rows, of three estimators with formulas that `AutoFeatures(methods="readable",
effort="{options.effort}")` constructs, with and without numbers: weighted sums such as
`2 * a - b`, shifts and weights inside other formulas. Thresholds are in both. Splits:
{options.seeds} ({tell_splits(options)}), at most {options.max_rows} rows, threads: {options.jobs}.
The first problems are made: {MADE_ROWS} rows of {MADE_COLUMNS} normal columns.

{summary}

{markdown_table(header, lines)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_auto_options(parser, 2)
    add_common_options(parser)
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.set_defaults(write=Path(WRITE), effort="quick", max_rows=3_000)
    options = parser.parse_args()
    options.sets = check_sets(options.sets) if options.sets else [*MADE, *SETS]
    store = Store("auto_numbers", options.reuse)
    problems = run(
        store,
        list(all_jobs(options)),
        max_minutes=options.max_minutes,
        work=work,
        compile_all=warm_up_auto,
    )
    finish(report(store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
