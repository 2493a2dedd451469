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
from recursive_runs import (
    ALL_ROWS,
    Cells,
    difference,
    jobs_of,
    run_program,
    signed,
    sizes_sentence,
)
from recursive_tables import RST
from recursive_variants import few_splits, rows_of
from runner import Settings, Store, Values, column, markdown_table, show
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
        n_recursions=params["recursions"], keep=RST["keep"], n_jobs=job["n_jobs"], random_state=seed
    )
    with threadpool_limits(job["n_jobs"]):
        started = time.perf_counter()
        inside, outside = construct(params["columns"], (X, y, Z), seed)
        model.fit(inside, y)
        seconds = time.perf_counter() - started
        loss = log_loss(model.predict_proba(outside), truth, None)
    return {"error": loss, "fit_seconds": seconds}


def plan(options: argparse.Namespace) -> Cells:
    """List the runs of all cells."""
    cells = {}
    for name in options.sets:
        rows, splits = (ALL_ROWS, FULL_SPLITS) if options.full else QUICK[name]
        for columns in COLUMNS:
            for recursions in RECURSIONS:
                params = {"columns": columns, "recursions": recursions, "rows": rows}
                cells[f"{columns} {recursions}", name] = jobs_of(name, params, splits, options.jobs)
    return cells


def losses_table(cells: Cells, store: Store, sets: Any) -> str:
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


def report(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    used = sizes_sentence(QUICK, options, FULL_SPLITS)
    labels = [f"{columns} {recursions}" for columns in COLUMNS for recursions in RECURSIONS]
    few = few_splits(cells, store, options.sets, labels)
    return f"""# Recursions over paths and landmarks

Log loss on held-out rows (lower is better), splits of 3:2, differences paired by split, mean ±
standard error over splits; {used}. `RecursiveSelectiveClassifier(keep="published")` without and
with one recursion, on the original columns, on the nodes passed in {N_TREES} trees (hashed onto
{N_BUCKETS} columns; training rows go through the trees that have not seen them), and on Gaussian
similarities to {N_LANDMARKS} training rows (all of them where there are fewer).{few}

{losses_table(cells, store, options.sets)}

"One less none" is what the recursion adds to its columns, the last column what both add together.
"""


def main() -> None:
    """Run and report."""
    names = "recursive_nonlinear", "recursive_nonlinear"
    run_program(names, __doc__, (tuple(QUICK), FULL_SPLITS), plan=plan, work=work, report=report)


if __name__ == "__main__":
    main()
