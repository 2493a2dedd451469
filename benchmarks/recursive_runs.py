"""What the programs on recursive selective transformation share: rows, jobs and the run itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from data import load, present
from pages import add_size_options, settle_page
from runner import Settings, Store, Values, add_common_options, column, finish, mean_and_error, run
from sklearn.model_selection import train_test_split

Cells = dict[tuple[str, str], list[Settings]]
ALL_ROWS = 10**9


def draw_rows(name: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table and its class codes, cut to that number of rows drawn once with seed 0."""
    dataset = load(name)
    X, y = np.asarray(dataset.X, dtype=np.float64), dataset.y
    if n_rows < len(y):
        # The faces are sorted by person: their first rows are whole classes.
        ordered = name == "olivetti_faces"
        rows = np.arange(len(y)) if ordered else np.random.RandomState(0).permutation(len(y))
        X, y = X[rows[:n_rows]], y[rows[:n_rows]]
    return X, np.unique(y, return_inverse=True)[1]


def part_rows(rows: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Part rows 3:2, with the same share of each class."""
    return train_test_split(rows, test_size=0.4, random_state=seed, stratify=y[rows])


def jobs_of(name: str, params: dict[str, Any], splits: int, n_jobs: int) -> list[Settings]:
    """Describe the runs of one cell of a table."""
    return [
        {
            "set": name,
            "family": "RecursiveSelective",
            "params": params,
            "split": split,
            "holdout": "3:2",
            "n_jobs": n_jobs,
        }
        for split in range(splits)
    ]


def sizes_sentence(
    sizes: Mapping[str, Sequence[int]], options: argparse.Namespace, full_splits: int
) -> str:
    """Say how many rows (first of a size) and splits (last) each set of a run has."""
    if options.full:
        return f"all rows, {full_splits} splits"
    kept = (name for name in sizes if name in options.sets)
    told = ", ".join(f"{name} {sizes[name][0]} × {sizes[name][-1]}" for name in kept)
    return f"rows × splits: {told}"


def difference(cells: Cells, store: Store, name: str, pair: tuple[str, str]) -> np.ndarray:
    """Return the losses of one cell less those of another on the same splits."""
    first, second = (column(store, cells.get((label, name), []), "error") for label in pair)
    return first - second if len(first) == len(second) else np.array([])


def signed(values: np.ndarray) -> str:
    """Write a mean difference with its sign and standard error."""
    mean, error = mean_and_error(values)
    if np.isnan(mean):
        return "–"
    return f"{mean:+.3f}" + (f" ± {error:.3f}" if np.isfinite(error) else "")


def run_program(
    names: tuple[str, str],
    description: str | None,
    sizes: tuple[Sequence[str], int],
    *,
    plan: Callable[[argparse.Namespace], Cells],
    work: Callable[[Settings], Values],
    report: Callable[[Cells, Store, argparse.Namespace], str],
) -> None:
    """Read the options, do all jobs, and write the page.

    Parameters
    ----------
    names : tuple of str
        The page and the file of its results.
    description : str or None
        What ``--help`` says first.
    sizes : tuple
        The sets that there are, and the splits of a full run.
    plan, work, report : callable
        List the jobs of every cell, do one job, and write the page.
    """
    sets, splits = sizes
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "the short run", f"all rows and {splits} splits: many hours")
    parser.add_argument("--sets", nargs="+", metavar="SET", default=list(sets), choices=tuple(sets))
    add_common_options(parser)
    options = parser.parse_args()
    page, results = names
    settle_page(options, page)
    options.sets, missing = present(options.sets)
    store = Store(results, options.reuse)
    cells = plan(options)
    # By split, so that a run that is stopped has something of every cell.
    every = sorted((job for jobs in cells.values() for job in jobs), key=lambda job: job["split"])
    left = run(store, every, max_minutes=options.max_minutes, work=work)
    finish(report(cells, store, options), missing + left, options.write, store, options.size)
