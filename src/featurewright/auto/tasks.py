"""What methods are asked for: columns for a task, constructed from some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.tables import EncodedTable

_MAX_NODE_BUDGET = 300  # candidates of a node
_OPERATORS = (
    *("add", "sub", "mul", "div", "log", "sqrt", "square", "abs", "min", "max"),
    *("gaussian", "less"),  # bumps and steps, which products cannot make
)


@dataclass(frozen=True)
class Task:
    """What columns are constructed for.

    Parameters
    ----------
    kind : {"classification", "regression", "multilabel"}
        What the target is.
    n_outputs : int
        Columns of the target.
    max_size : int
        Largest number of symbols in a formula, and of columns in a sum.
    n_jobs : int or None
        Threads.
    adds_up : bool
        Whether the estimator adds up its columns, so that a sum of them is nothing new to it.
    takes_numbers : bool
        Whether formulas may have learned numbers inside.
    takes_categories : bool
        Whether the estimator takes columns of codes as categories.
    corrects : estimator or None
        Formulas explain what this estimator leaves unexplained in rows that it has not learned
        from; None for those that explain the target.
    """

    kind: str
    n_outputs: int
    max_size: int
    n_jobs: int | None
    adds_up: bool = True
    takes_numbers: bool = True
    takes_categories: bool = False
    corrects: Any = None

    def pick(self, classifier: Any, regressor: Any) -> Any:
        """Return the class of estimator for the target."""
        return regressor if self.kind == "regression" else classifier


def operators_of(table: EncodedTable) -> tuple[str, ...]:
    """Return the operators of formulas; with tests for a level where there are categories."""
    return _OPERATORS if table.schema.is_numeric else (*_OPERATORS, "is")


@dataclass(frozen=True, eq=False)
class Request:
    """Training rows that a method constructs columns from.

    Parameters
    ----------
    method : str
        Name of the method.
    table : EncodedTable
        The rows.
    y : ndarray
        Class codes, or numbers.
    weights : ndarray or None
        Weights of the rows.
    task : Task
        What the columns are for.
    seed : int
        Seed.
    seconds : float or None
        Time after which trees stop growing, where there is a limit.
    scale : float
        Factor on the numbers of trees, rounds and candidates.
    named : bool
        Whether columns need readable names, which take a while for many leaves.
    n_linked : int
        Number of columns over links, the last ones of the table.
    """

    method: str
    table: EncodedTable
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: Task
    seed: int
    seconds: float | None = None
    scale: float = 1.0
    named: bool = True
    n_linked: int = 0

    def scaled(self, number: int) -> int:
        """Return a number of trees, rounds or candidates for the effort of the search."""
        return max(1, round(self.scale * number))

    @property
    def node_budget(self) -> int:
        """Candidates of a node: ten for each column, up to a limit."""
        return min(10 * self.table.shape[1], _MAX_NODE_BUDGET)

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators of formulas."""
        return operators_of(self.table)
