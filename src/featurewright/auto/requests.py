"""What a method of the search is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.tables import EncodedTable

_MAX_BUDGET = 300


@dataclass(frozen=True)
class Task:
    """What a method is asked to do.

    Parameters
    ----------
    kind : {"classification", "regression", "multilabel"}
        What the target is.
    n_outputs : int
        Columns of the target.
    max_size : int
        Largest number of symbols in a formula.
    n_jobs : int or None
        Threads.
    """

    kind: str
    n_outputs: int
    max_size: int
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Request:
    """Training rows for a method.

    Parameters
    ----------
    table : EncodedTable
        The rows.
    y : ndarray
        Class codes, or numbers.
    weights : ndarray or None
        Weights of the rows.
    task : Task
        What to do.
    seed : int
        Seed.
    seconds : float
        Time after which trees stop growing.
    named : bool
        Whether columns need names that say what they are, which take a while for many leaves.
    """

    table: EncodedTable
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: Task
    seed: int
    seconds: float
    named: bool = True


def pick_class(task: Task, classifier: Any, regressor: Any) -> Any:
    """Choose the class for a task."""
    return regressor if task.kind == "regression" else classifier


def node_budget(asked: Request) -> int:
    """Give the candidates of a node: ten for each column, up to a number."""
    return min(10 * asked.table.shape[1], _MAX_BUDGET)
