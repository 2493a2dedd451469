"""Time and candidates of feature construction trees beside the batch constructor's."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from data import load, synthetic
from runner import markdown_table, say
from sklearn.tree import DecisionTreeClassifier

from featurewright import BatchConstructor, FCTreeClassifier

COLUMNS = (10, 30, 100, 300, 1000)


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """Fit up to three times, for at most five seconds; give the best time and the model."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 5:
        started = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - started)
    return min(seconds), model


def cost_by_columns(n_rows: int, jobs: int) -> tuple[str, dict[str, list[float]]]:
    """Measure fits on ever more columns."""
    rows, seconds = [], {"FCTree": [], "BatchConstructor": []}
    for n_columns in COLUMNS:
        say(f"cost at {n_columns} columns")
        X, y = synthetic(n_rows, n_columns)
        tree_time, tree = timed(FCTreeClassifier(random_state=0), X, y)
        batch_time, batch = timed(BatchConstructor(n_jobs=jobs), X, y)
        seconds["FCTree"].append(tree_time)
        seconds["BatchConstructor"].append(batch_time)
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
    return markdown_table(header, rows), seconds


def plot(seconds: dict[str, list[float]], path: Path) -> None:
    """Draw the time of a fit by the number of columns."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for label, values in seconds.items():
        axes.loglog(COLUMNS, values, marker="o", label=label)
    axes.set(xlabel="columns", ylabel="seconds of a fit")
    axes.legend()
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def slope(values: list[float]) -> float:
    """Give the exponent with which time grows from a hundred columns on."""
    first = COLUMNS.index(100)
    return float(np.polyfit(np.log(COLUMNS[first:]), np.log(values[first:]), 1)[0])


def cost_report(options: argparse.Namespace) -> str:
    """Measure time and candidates."""
    table_text, seconds = cost_by_columns(options.cost_rows, options.jobs)
    image = ""
    if options.write:
        path = options.write.with_name(options.write.stem + "_cost.png")
        plot(seconds, path)
        image = f"\n![seconds of a fit by columns]({path.name})\n"
    wide = load("arcene")
    X = np.asarray(wide.X, np.float64)
    X = X[:, X.std(axis=0) > 0][:, :177]
    tree = FCTreeClassifier(random_state=0).fit(X, wide.y)
    batch = BatchConstructor(n_jobs=options.jobs).fit(X, wide.y)
    ratio = batch.n_candidates_ / tree.n_candidates_
    say("cost at 100,000 rows")
    X, y = synthetic(100_000, 50)
    half = X[::2], y[::2]
    ours, fctree = timed(FCTreeClassifier(random_state=0), *half)
    theirs, plain = timed(DecisionTreeClassifier(criterion="entropy", random_state=0), *half)
    whole, _ = timed(FCTreeClassifier(random_state=0), X, y)
    whole_plain, _ = timed(DecisionTreeClassifier(criterion="entropy", random_state=0), X, y)
    return f"""Made-up two-class tables of {options.cost_rows:,} rows; threads of the batch
constructor: {options.jobs}. The best of three fits, as far as they take less than five seconds.

{table_text}
{image}
From 100 to 1,000 columns the time of FCTree grows with the power {slope(seconds["FCTree"]):.2f} of
the columns, that of BatchConstructor with the power {slope(seconds["BatchConstructor"]):.2f}.

At 177 columns (the first of arcene that are not constant, {len(wide.y)} rows) FCTree constructs
{tree.n_candidates_:,} features and BatchConstructor {batch.n_candidates_:,}: {ratio:.1f} times as
many (published: at least ten times).

A made-up table of 100,000 rows and 50 columns: FCTree {whole:.2f} s, scikit-learn's
DecisionTreeClassifier {whole_plain:.2f} s. Grown on every other row ({ours:.2f} s and
{theirs:.2f} s) and tested on the rest: accuracy {fctree.score(X[1::2], y[1::2]):.3f} and
{plain.score(X[1::2], y[1::2]):.3f}.
"""
