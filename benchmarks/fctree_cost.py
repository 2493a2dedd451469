"""Time and candidates of feature construction trees beside the batch constructor's."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from data import load, synthetic, why_missing
from pages import image, shown
from plots import draw_curves, drawing
from runner import markdown_table, say
from sklearn.tree import DecisionTreeClassifier

from featurewright import published

Costs = dict[str, list[float]]
COLUMNS = (10, 30, 100, 300, 1000)
LEAST_FITS, SHORT, LONG = 3, 0.5, 5.0  # fits of a time, and seconds


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """Fit three times and for half a second, at most for five; give the least time and the model.

    It is that of the processor, which a busy machine changes little.
    """
    seconds: list[float] = []
    while sum(seconds) < LONG and (len(seconds) < LEAST_FITS or sum(seconds) < SHORT):
        started = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - started)
    return min(seconds), model


def cost_by_columns(n_rows: int, jobs: int) -> tuple[str, Costs, Costs]:
    """Measure fits on ever more columns: a table, seconds and features built."""
    rows: list[list[str]] = []
    seconds: Costs = {"FCTree": [], "BatchConstructor": []}
    built: Costs = {"FCTree": [], "BatchConstructor": []}
    for n_columns in COLUMNS:
        say(f"cost at {n_columns} columns")
        X, y = synthetic(n_rows, n_columns)
        tree_time, tree = timed(published("fctree", random_state=0), X, y)
        batch_time, batch = timed(published("tfc", n_jobs=jobs), X, y)
        seconds["FCTree"].append(tree_time)
        seconds["BatchConstructor"].append(batch_time)
        built["FCTree"].append(tree.n_candidates_)
        built["BatchConstructor"].append(batch.n_candidates_)
        rows.append(
            [
                str(n_columns),
                f"{tree_time:.3f}",
                f"{tree.n_candidates_:,}",
                f"{batch_time:.3f}",
                f"{batch.n_candidates_:,}",
                f"{batch.n_candidates_ / tree.n_candidates_:.1f}",
            ]
        )
    header = ["columns", "FCTree s", "candidates", "Batch s", "candidates", "ratio of candidates"]
    return markdown_table(header, rows), seconds, built


def plot(seconds: Costs, built: Costs, path: Path) -> None:
    """Draw features built and the time of a fit by the number of columns."""
    with drawing(path, columns=2, size=(4.2, 3.4)) as grid:
        for axes, found, title in zip(
            grid[0], (built, seconds), ("features built", "seconds of a fit"), strict=True
        ):
            draw_curves(axes, {label: (COLUMNS, values, None) for label, values in found.items()})
            axes.set(xscale="log", yscale="log", xlabel="columns", ylabel=title)


def slope(values: list[float]) -> float:
    """Return the exponent with which time grows from a hundred columns on."""
    first = COLUMNS.index(100)
    return float(np.polyfit(np.log(COLUMNS[first:]), np.log(values[first:]), 1)[0])


def wide_sentence(jobs: int) -> str:
    """Count the features built on a wide set."""
    if why_missing("arcene"):
        return "arcene, on which the published count is compared, is missing."
    wide = load("arcene")
    X = np.asarray(wide.X, np.float64)
    X = X[:, X.std(axis=0) > 0][:, :177]
    tree = published("fctree", random_state=0).fit(X, wide.y)
    batch = published("tfc", n_jobs=jobs).fit(X, wide.y)
    return f"""At 177 columns (the first of arcene that are not constant, {len(wide.y)} rows) FCTree
constructs {tree.n_candidates_:,} features and BatchConstructor {batch.n_candidates_:,}:
{batch.n_candidates_ / tree.n_candidates_:.1f} times as many (published: at least ten times)."""


def cost_report(options: argparse.Namespace) -> str:
    """Measure time and candidates."""
    table_text, seconds, built = cost_by_columns(options.cost_rows, options.jobs)
    picture = image(options, "cost")
    plot(seconds, built, picture)
    say("cost at 100,000 rows")
    X, y = synthetic(100_000, 50)
    half = X[::2], y[::2]
    ours, fctree = timed(published("fctree", random_state=0), *half)
    theirs, plain = timed(DecisionTreeClassifier(criterion="entropy", random_state=0), *half)
    whole, _ = timed(published("fctree", random_state=0), X, y)
    whole_plain, _ = timed(DecisionTreeClassifier(criterion="entropy", random_state=0), X, y)
    return f"""Made-up two-class tables of {options.cost_rows:,} rows; both with the published
settings. Seconds are processor time, the least of three fits and more, as far as they take less
than five seconds together.

{table_text}

{shown(picture, "features built and seconds of a fit by columns")}

From 100 to 1,000 columns the time of FCTree grows with the power {slope(seconds["FCTree"]):.2f} of
the columns, that of BatchConstructor with the power {slope(seconds["BatchConstructor"]):.2f}.

{wide_sentence(options.jobs)}

A made-up table of 100,000 rows and 50 columns: FCTree {whole:.2f} s, scikit-learn's
DecisionTreeClassifier {whole_plain:.2f} s. Grown on every other row ({ours:.2f} s and
{theirs:.2f} s) and tested on the rest: accuracy {fctree.score(X[1::2], y[1::2]):.3f} and
{plain.score(X[1::2], y[1::2]):.3f}.
"""
