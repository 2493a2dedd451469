"""Compile what a search needs before its clock starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.requests import Request, Task
from featurewright.auto.sources import SOURCES, refusal
from featurewright.tables import EncodedTable, learn_schema

_ROWS = 24


def warm_up(task: Task, methods: Sequence[str]) -> None:
    """Run every method on a tiny table, once in a process: compiled code is made or loaded.

    Compilation after installing takes a while, and would use up the budget of a user's
    first search for nothing.
    """
    for method in methods:
        _warm(method, task.kind, min(task.n_outputs, 2))


@cache
def _warm(method: str, kind: str, n_outputs: int) -> None:
    """Run a method on a tiny table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 2))
    table = EncodedTable(X, learn_schema(X))
    codes = np.tile([0, 1], _ROWS // 2).astype(np.int32)
    y: NDArray[Any] = X[:, 0] * X[:, 1] if kind == "regression" else codes
    if n_outputs > 1:
        y = np.column_stack([y, y[::-1]])
    task = Task(kind, n_outputs, max_size=3, n_jobs=1)
    if not refusal(SOURCES[method], task, _ROWS, 2):
        SOURCES[method].make(Request(table, y, None, task, seed=0, seconds=3600.0))
