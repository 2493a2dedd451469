"""Recursions over columns that are not linear in the table: paths of trees, and landmarks.

A recursion is linear, so it cannot find what no linear model finds. Here it works on the nodes that
rows pass in a forest, or on similarities to landmarks, beside the same linear SVMs without it. Log
loss on held-out rows. Without options it is a short run; ``--full`` takes all rows.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from data import present
from pages import add_size_options, settle_page
from recursive_variants import difference, rows_of, signed
from runner import (
    Settings,
    Store,
    Values,
    add_common_options,
    column,
    finish,
    markdown_table,
    run,
    show,
)
from threadpoolctl import threadpool_limits

from featurewright import (
    ForestPathEncoder,
    LandmarkKernelFeatures,
    RecursiveSelectiveClassifier,
)
from featurewright.recursive.members import log_loss

# Rows and splits of the short run; rows are drawn once with seed 0.
QUICK = {"sonar": (208, 10), "letter": (1_000, 5), "mnist": (500, 5)}
FULL_SPLITS = 10
N_TREES, N_BUCKETS, N_LANDMARKS = 100, 256, 200
COLUMNS = ("original", "paths", "landmarks")
RECURSIONS = (0, 1)


def construct(kind: str, data: tuple[np.ndarray, ...], seed: int) -> tuple[Any, Any]:
    """Return training and test rows as columns of a kind.

    Training rows go through the trees that have not seen them: else their paths end in leaves
    that are pure because of them.
    """
    X, y, Z = data
    if kind == "original":
        return X, Z
    if kind == "paths":
        maker: Any = ForestPathEncoder(
            N_TREES, n_hash=N_BUCKETS, oob=True, random_state=seed, n_jobs=1
        )
        return maker.fit_transform(X, y), maker.transform(Z)
    n_landmarks = min(N_LANDMARKS, len(X))
    maker = LandmarkKernelFeatures(n_landmarks, append=False, scale=True, random_state=seed)
    return maker.fit_transform(X, y), maker.transform(Z)


def work(job: Settings) -> Values:
    """Do one job: the log loss on held-out rows."""
    params, seed = job["params"], job["split"]
    X, y, Z, truth = rows_of(job["set"], params["rows"], seed, "outer")
    model = RecursiveSelectiveClassifier(
        n_recursions=params["recursions"], keep="published", n_jobs=job["n_jobs"], random_state=seed
    )
    with threadpool_limits(job["n_jobs"]):
        started = time.perf_counter()
        inside, outside = construct(params["columns"], (X, y, Z), seed)
        model.fit(inside, y)
        seconds = time.perf_counter() - started
        loss = log_loss(model.predict_proba(outside), truth, None)
    return {"error": loss, "fit_seconds": seconds}


def plan(options: argparse.Namespace) -> dict[tuple[str, str], list[Settings]]:
    """List the runs of all cells."""
    cells = {}
    for name in options.sets:
        rows, splits = (10**9, FULL_SPLITS) if options.full else QUICK[name]
        for columns in COLUMNS:
            for recursions in RECURSIONS:
                cells[f"{columns} {recursions}", name] = [
                    {
                        "set": name,
                        "family": "RecursiveSelective",
                        "params": {"columns": columns, "recursions": recursions, "rows": rows},
                        "split": split,
                        "holdout": "3:2",
                        "n_jobs": options.jobs,
                    }
                    for split in range(splits)
                ]
    return cells


def losses_table(cells: dict[tuple[str, str], list[Settings]], store: Store, sets: Any) -> str:
    """Lay out the losses without and with a recursion, and what each step changes."""
    rows = []
    for name in sets:
        for columns in COLUMNS:
            none, one = (f"{columns} {k}" for k in RECURSIONS)
            found = [column(store, cells[label, name], "error") for label in (none, one)]
            rows.append(
                [
                    f"{name}, {columns}",
                    *(show(values, 3) for values in found),
                    signed(difference(cells, store, name, (one, none))),
                    signed(difference(cells, store, name, (one, "original 0"))),
                ]
            )
    head = ["log loss", "no recursion", "one recursion", "one less none"]
    return markdown_table([*head, "one less original columns, none"], rows)


def report(
    cells: dict[tuple[str, str], list[Settings]], store: Store, options: argparse.Namespace
) -> str:
    """Write everything as Markdown."""
    sizes = ", ".join(f"{name} {QUICK[name][0]} × {QUICK[name][1]}" for name in options.sets)
    used = f"all rows, {FULL_SPLITS} splits" if options.full else f"rows × splits: {sizes}"
    return f"""# Recursions over paths and landmarks

Log loss on held-out rows (lower is better), splits of 3:2, differences paired by split, mean ±
standard error over splits; {used}. `RecursiveSelectiveClassifier(keep="published")` without and
with one recursion, on the original columns, on the nodes passed in {N_TREES} trees (hashed onto
{N_BUCKETS} columns; training rows go through the trees that have not seen them), and on Gaussian
similarities to {N_LANDMARKS} training rows (all of them where there are fewer).

{losses_table(cells, store, options.sets)}

"One less none" is what the recursion adds to its columns, the last column what both add together.
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "the short run", f"all rows and {FULL_SPLITS} splits: many hours")
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", default=list(QUICK), choices=tuple(QUICK)
    )
    add_common_options(parser)
    options = parser.parse_args()
    settle_page(options, "recursive_nonlinear")
    options.sets, missing = present(options.sets)
    store = Store("recursive_nonlinear", options.reuse)
    cells = plan(options)
    # By split, so that a run that is stopped has something of every cell.
    every = sorted((job for jobs in cells.values() for job in jobs), key=lambda job: job["split"])
    left = run(store, every, max_minutes=options.max_minutes, work=work)
    finish(report(cells, store, options), missing + left, options.write, store, options.size)


if __name__ == "__main__":
    main()
