"""Compile what a search needs before its clock starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.requests import Request, Task
from featurewright.auto.sources import SOURCES, refusal
from featurewright.tables import EncodedTable, learn_schema

_ROWS = 24


def warm_up(task: Task, methods: Sequence[str]) -> None:
    """Run every method on a tiny table: compiled code is made or loaded, some milliseconds else.

    Compilation after installing takes a while, and would use up the budget of a user's
    first search for nothing.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 2))
    table = EncodedTable(X, learn_schema(X))
    codes = np.tile([0, 1], _ROWS // 2).astype(np.int32)
    y: NDArray[Any] = X[:, 0] * X[:, 1] if task.kind == "regression" else codes
    if task.n_outputs > 1:
        y = np.column_stack([y, y[::-1]])
    for method in methods:
        source = SOURCES[method]
        if not refusal(source, task, _ROWS, 2):
            small = Task(task.kind, task.n_outputs, 3, 1)
            source.make(Request(table, y, None, small, seed=0, seconds=3600.0))
