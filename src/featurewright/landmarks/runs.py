"""Runs of an ensemble: each has landmarks of its own, and trains on a table of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from featurewright.engine.threads import run_in_threads
from featurewright.estimators.points import Matrix
from featurewright.expressions import Domain
from featurewright.landmarks.choice import Rows
from featurewright.landmarks.members import Member, Values
from featurewright.landmarks.points import PointMap
from featurewright.landmarks.similarity import BLOCK, LandmarkMap
from featurewright.tables import EncodedTable, Schema

# Kernel features alone, or beside a random half of the columns: a learner for each run. The other
# methods train a whole ensemble in each run, beside all columns.
ONE_BY_ONE = ("random_subspace", "kernel_only")
WHOLE = ("bagging", "adaboost", "random_forest", "constructive_forest")
METHODS = (*ONE_BY_ONE, *WHOLE)
_VALUES = 2**22  # similarities that are held at once


@dataclass(frozen=True, eq=False)
class Base:
    """The columns that kernel features are put beside.

    For our own learners they are the table as it came, labels and missing values included; for
    others the points that the kernel sees, which have neither.
    """

    schema: Schema
    places: PointMap | None

    def read(self, matrix: Matrix) -> Matrix:
        """Give the columns of encoded rows."""
        return matrix.astype(np.float32) if self.places is None else self.places.points(matrix)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.schema.n_columns if self.places is None else self.places.n_coordinates

    def table(self, columns: Matrix, chosen: Rows, features: Matrix) -> Any:
        """Put some columns and the kernel features side by side, as members take them."""
        width = len(chosen)
        joint = np.empty((len(columns), width + features.shape[1]), columns.dtype)
        joint[:, :width] = columns if width == columns.shape[1] else columns[:, chosen]
        joint[:, width:] = features
        if self.places is not None:
            return joint
        schema = self.schema
        names = [f"landmark {k}" for k in range(features.shape[1])]
        extended = replace(
            schema,
            names=(*(schema.names[k] for k in chosen), *names),
            domains=np.append(schema.domains[chosen], [Domain.REAL] * len(names)),
            levels=(*(schema.levels[k] for k in chosen), *(None for _ in names)),
        )
        return EncodedTable(joint, extended)


@dataclass(frozen=True, eq=False)
class Run:
    """One trained run: the columns it sees besides its kernel features, and what it trained."""

    columns: Rows
    member: Member


def n_runs_and_members(method: str | None, n_estimators: int, n_runs: int | None) -> list[int]:
    """Part the learners of an ensemble into runs: about as many runs as learners in a run."""
    if method in ONE_BY_ONE:
        return [n_estimators, 1]
    # The whole number next to the square root.
    runs = isqrt(n_estimators + isqrt(n_estimators)) if n_runs is None else n_runs
    return [runs, max(1, n_estimators // runs)]


def average_runs(
    runs: tuple[Run, ...], features: LandmarkMap, base: Base, matrix: Matrix, n_jobs: int | None
) -> Values:
    """Average the answers of all runs, some rows at a time.

    Parameters
    ----------
    runs : tuple of Run
        The trained runs.
    features : LandmarkMap
        The landmarks of all runs, those of the first run first.
    base : Base
        Gives the columns beside them.
    matrix : ndarray of shape (n_rows, n_columns)
        The encoded rows.
    n_jobs : int or None
        Threads.
    """
    n_landmarks = len(features.landmarks) // len(runs)
    chunk = int(np.clip(_VALUES // max(1, len(features.landmarks)), BLOCK, 8 * BLOCK))

    def answer(rows: Matrix) -> Values:
        columns, similarities = base.read(rows), features.columns(rows)
        total: Any = 0.0
        for k, run in enumerate(runs):
            own = similarities[:, k * n_landmarks : (k + 1) * n_landmarks]
            values = run.member.values(base.table(columns, run.columns, own)) / len(runs)
            total = values if k == 0 else total + values
        return total

    def work(first: int, last: int) -> list[Values]:
        return [answer(matrix[k : min(k + chunk, last)]) for k in range(first, last, chunk)]

    threads = min(effective_n_jobs(n_jobs), -(-len(matrix) // BLOCK))
    edges = np.linspace(0, len(matrix), threads + 1).astype(np.int64)
    parts = run_in_threads([partial(work, int(a), int(b)) for a, b in pairwise(edges)], threads)
    return np.concatenate([values for part in parts for values in part or ()])
