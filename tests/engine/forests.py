"""Small forests, grown by the functions that estimators use."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.arguments import NO_USERS, WIDTH, make_grammar

from featurewright.engine.buffers import (
    RANDOM_SEARCH,
    SETTINGS,
    Target,
    make_record,
)
from featurewright.engine.forest import Forest, join
from featurewright.engine.growth import Job, grow_trees, tree_seeds


def make_job(
    n_rows: int = 120, n_columns: int = 3, *, by_class: bool = True, **changes: Any
) -> Job:
    """Return a job on random numbers; the target is the sign, or value, of a noisy product."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(n_columns, n_rows)).astype(np.float32)
    product = columns[0] * columns[1] + 0.5 * rng.normal(size=n_rows).astype(np.float32)
    weights = np.ones(n_rows, np.float32)
    if by_class:
        codes = (product > 0).astype(np.int32)
        target = Target(codes, np.zeros((0, n_rows), np.float32), weights)
    else:
        target = Target(np.zeros(0, np.int32), product[None, :].copy(), weights)
    usual = {
        "by_class": int(by_class),
        "whole_weights": 1,
        "criterion": 0,
        "min_rows": 1,
        "keep": 4,
        "max_depth": 20,
        "min_split": 2,
        "strategy": RANDOM_SEARCH,
        "budget": 20,
    }
    if not by_class:
        usual["centered"] = 1
    settings = make_record(SETTINGS, **{**usual, **changes})
    return Job(
        matrix=np.ascontiguousarray(columns.T),
        columns=columns,
        target=target,
        settings=settings,
        grammar=make_grammar([0] * n_columns),
        users=NO_USERS,
        width=WIDTH,
        leaf="classes" if by_class else "mean",
        n_values=2 if by_class else 1,
    )


def make_forest(n_trees: int = 6, **changes: Any) -> tuple[Forest, np.ndarray]:
    """Grow a small forest; return it and the table it grew on, by rows."""
    job = make_job(**changes)
    trees = grow_trees(job, tree_seeds(0, 0, n_trees), bootstrap=True)
    return join(trees), np.ascontiguousarray(job.columns.T)
