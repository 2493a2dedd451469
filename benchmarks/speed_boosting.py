"""Boosting of many rows beside LightGBM: time of a fit and error on other rows.

Both take turns with one thread at their defaults, on the same made-up tables of 30 columns, and the
median of at least three turns counts, in seconds of the processor, so that other work on the
machine does not count. Ours holds a tenth of the rows out to stop early, LightGBM does not. The
error is that on 20,000 other rows: the share of wrong classes, or the root mean squared error. The
bar is for many rows: the search of expressions at small nodes takes as long for few rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from data import synthetic
from pages import settle_page
from runner import make_model, say, warm_up
from speed import Line, add_speed_options, finish_lines, seconds
from threadpoolctl import threadpool_limits

N_COLUMNS = 30
N_TEST = 20_000
LEAST_TURNS = 3
TIMES_THEIRS = 2.0
MANY_ROWS = 100_000  # from which on the bar holds
ROWS = {"quick": (20_000,), "full": (20_000, 200_000)}
Error = Callable[[np.ndarray, np.ndarray], float]


def share_wrong(y: np.ndarray, found: np.ndarray) -> float:
    """Return the share of wrong classes."""
    return float(np.mean(y != found))


def root_mean_square(y: np.ndarray, found: np.ndarray) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((y - found) ** 2)))


def smooth_target(X: np.ndarray) -> np.ndarray:
    """Return numbers that products, ratios, waves and steps of columns make, with noise."""
    a, b, c, d, e, f, g = X.T[:7]
    noise = np.random.default_rng(0).normal(scale=0.3, size=len(X))
    return a * b / (1 + np.abs(c)) + np.sin(d) + e - f * (g > 0) + noise


def fitted(family: str, task: str, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """Return the processor's seconds of a fit, and the model."""
    quiet = {"verbose": -1} if family == "LGBM" else {}
    model = make_model(family, quiet, task, 0, 1)
    started = time.process_time()
    model.fit(X, y)
    return time.process_time() - started, model


def lines_of(task: str, n_rows: int, repeats: int) -> list[Line]:
    """Measure one task on so many rows."""
    X, classes = synthetic(n_rows + N_TEST, N_COLUMNS)
    X = X.astype(np.float32)
    y, error = (
        (smooth_target(X), root_mean_square) if task == "regression" else (classes, share_wrong)
    )
    families = {"ours": "ConstructiveBoosting", "theirs": "LGBM"}
    for family in families.values():
        fitted(family, task, X[:12_000], y[:12_000])  # compiles
    taken: dict[str, list[float]] = {who: [] for who in families}
    errors: dict[str, float] = {}
    with threadpool_limits(1):
        for _ in range(max(repeats, LEAST_TURNS)):
            for who, family in families.items():
                spent, model = fitted(family, task, X[:n_rows], y[:n_rows])
                taken[who].append(spent)
                errors[who] = error(y[n_rows:], model.predict(X[n_rows:]))
    ours, theirs = median(taken["ours"]), median(taken["theirs"])
    kind = "numbers" if task == "regression" else "two classes"
    work = f"boosting, {n_rows} × {N_COLUMNS}, {kind}, against LightGBM, 1 thread"
    shown = (f"{errors['ours']:.4f}", f"{errors['theirs']:.4f}")
    bar = TIMES_THEIRS if n_rows >= MANY_ROWS else None
    return [
        Line(f"{work}: fit", seconds(ours), seconds(theirs), ours / theirs, bar),
        Line(f"{work}: error", *shown, errors["ours"] / errors["theirs"], None),
    ]


def main() -> None:
    """Measure, print, write and check if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "20,000 rows", "20,000 and 200,000 rows")
    options = parser.parse_args()
    settle_page(options, "speed_boosting")
    say("Compiling the kernels.")
    warm_up()
    lines = []
    for n_rows in ROWS["full" if options.full else "quick"]:
        for task in ("binary", "regression"):
            say(f"{task}, {n_rows} rows")
            lines += lines_of(task, n_rows, options.repeats)
    intro = (__doc__ or "").split("\n\n", 1)[1].strip()
    finish_lines("Speed of boosting beside LightGBM", intro, lines, options)


if __name__ == "__main__":
    main()
