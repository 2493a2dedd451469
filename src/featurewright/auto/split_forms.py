"""What trees need of a formula: trees split by the order of values, whatever the values are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions import Call, Category, Expression
from featurewright.tables import EncodedTable

_MIN_COLUMNS = 2  # a function of one column is followed by splits of that column


def split_form(formula: Expression, rows: EncodedTable) -> Expression | None:
    """Return the part of a formula by which trees would split the same rows; None if it is useless.

    Outer operators that keep or reverse the order of all rows are left out, and those that make
    neighbours in that order equal, such as thresholds. What remains of a single column says
    nothing new to trees.

    Parameters
    ----------
    formula : Expression
        The formula.
    rows : EncodedTable
        Rows in which values are compared.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> from featurewright.tables import learn_schema
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(50, 2))
    >>> rows = EncodedTable(X, learn_schema(X))
    >>> print(split_form(parse("log(x0 * x1) > 0.5", ["x0", "x1"]), rows))
    x0 * x1
    >>> split_form(parse("square(x0)", ["x0", "x1"]), rows) is None
    True
    """
    matrix = np.asarray(rows.matrix, np.float64)
    while isinstance(formula, Call) and len(formula.arguments) == 1:
        inner = formula.arguments[0]
        if inner.domain == Category:
            break
        if not _keeps_order(formula.evaluate(matrix), inner.evaluate(matrix)):
            break
        formula = inner
    return formula if len(formula.columns()) >= _MIN_COLUMNS else None


def _keeps_order(outer: NDArray[np.float64], inner: NDArray[np.float64]) -> bool:
    """Whether values never fall, or never rise, where others rise; and are defined as they are."""
    known = np.isfinite(inner)
    if not np.isfinite(outer[known]).all():
        return False
    steps = np.diff(outer[known][np.argsort(inner[known], kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())
