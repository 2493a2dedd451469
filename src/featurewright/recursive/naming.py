"""Readable names of components: the largest terms of a linear combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from featurewright.recursive.steps import Matrix

_TERMS = 3


def component_names(
    matrix: Matrix, factor: Matrix, columns: Sequence[str], prefix: str = ""
) -> list[str]:
    """Name the components of one matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_columns, n_components)
        Coefficients of the columns as they came.
    factor : ndarray of shape (n_columns,)
        Factor that brought each column to the common scale: terms are ranked on that scale.
    columns : sequence of str
        Names of the columns.
    prefix : str, default=""
        Written before every name.

    Returns
    -------
    list of str
        The three largest terms of each component; "..." stands for more.

    Examples
    --------
    >>> component_names(np.array([[2.0, 0.0], [-0.5, 1.0]]), np.ones(2), ["a", "b c"])
    ['2*a - 0.5*b c', '1*b c']
    """
    known = factor > 0
    scaled = np.zeros_like(matrix)
    scaled[known] = matrix[known] / factor[known, np.newaxis]
    return [
        prefix + _combination(matrix[:, k], scaled[:, k], columns) for k in range(matrix.shape[1])
    ]


def _combination(coefficients: Matrix, importance: Matrix, columns: Sequence[str]) -> str:
    """Write one linear combination."""
    order = np.argsort(-np.abs(importance), kind="stable")
    terms = [k for k in order[: _TERMS + 1] if coefficients[k] != 0]
    text = ""
    for k in terms[:_TERMS]:
        sign = "-" if coefficients[k] < 0 else "+"
        lead = f" {sign} " if text else sign.strip("+")
        text += f"{lead}{abs(coefficients[k]):.2g}*{columns[k]}"
    return (text or "0") + (" + ..." if len(terms) > _TERMS else "")


def unique_names(names: Sequence[str]) -> list[str]:
    """Append numbers to names that occur more than once."""
    times = Counter(names)
    taken = {name for name in names if times[name] == 1}
    counted: Counter[str] = Counter()
    result = []
    for name in names:
        candidate = name
        while times[name] > 1 and (candidate == name or candidate in taken):
            counted[name] += 1
            candidate = f"{name} ({counted[name]})"
        taken.add(candidate)
        result.append(candidate)
    return result
