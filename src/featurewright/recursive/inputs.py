"""Columns for linear models: no gaps, indicators for categories, one common scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.expressions.domains import Domain
from featurewright.tables import Schema, is_sparse

Matrix = npt.NDArray[np.float64]

MAX_LEVELS = 1_000  # every level is a column of the matrix
SCALES = ("auto", "minmax", "maxabs", "standard", None)
_LEAST_SPAN = 1e-300  # the reciprocal of anything smaller may be infinite


@dataclass(frozen=True, eq=False)
class Inputs:
    """What `fit` learned about the columns.

    Parameters
    ----------
    names : tuple of str
        Names of the columns after categories became indicators.
    fill : ndarray of shape (n_columns,)
        Median of each column of the table; what stands in for a missing number.
    numeric : ndarray of int
        Columns of the table that are numbers or booleans.
    categories : tuple of (int, int)
        Column of the table and number of levels of each category.
    shift, factor : ndarray of shape (n_expanded,)
        A scaled column is (column - shift) * factor.

    Examples
    --------
    >>> from featurewright.tables import encode, learn_schema
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, None, 5.0], "colour": ["red", "blue", None]})
    >>> schema = learn_schema(frame)
    >>> inputs = learn_inputs(encode(schema, frame), schema, "minmax")
    >>> inputs.names
    ('size', 'colour = blue', 'colour = red')
    >>> inputs.scaled(inputs.expand(encode(schema, frame)))
    array([[0. , 0. , 1. ],
           [0.5, 1. , 0. ],
           [1. , 0. , 0. ]])
    """

    names: tuple[str, ...]
    fill: Matrix
    numeric: npt.NDArray[np.intp]
    categories: tuple[tuple[int, int], ...]
    shift: Matrix
    factor: Matrix

    def expand(self, matrix: Any, *, keep_gaps: bool = False) -> Any:
        """Fill missing numbers and turn categories into indicators; a missing label has none.

        A table of numbers alone may keep its gaps, for `filled` to come later.
        """
        if is_sparse(matrix):
            return matrix
        if not self.categories:
            return matrix if keep_gaps else filled(matrix, self.fill)
        columns = np.zeros((len(matrix), len(self.names)))
        start = len(self.numeric)
        columns[:, :start] = filled(matrix[:, self.numeric], self.fill[self.numeric])
        for column, n_levels in self.categories:
            rows = np.flatnonzero(~np.isnan(matrix[:, column]))
            columns[rows, start + matrix[rows, column].astype(np.intp)] = 1.0
            start += n_levels
        return columns

    def scaled(self, columns: Any) -> Any:
        """Bring expanded columns to the common scale; sparse ones are only stretched."""
        if is_sparse(columns):
            return columns.multiply(self.factor[np.newaxis]).tocsr()
        return (columns - self.shift) * self.factor


def learn_inputs(matrix: Any, schema: Schema, scale: str | None) -> Inputs:
    """Learn fills, indicators and scale from the training rows."""
    is_category = schema.domains == Domain.CATEGORY
    numeric = np.flatnonzero(~is_category)
    names = [schema.names[column] for column in numeric]
    categories = []
    for column in np.flatnonzero(is_category):
        levels = schema.levels[column] or ()
        if len(levels) > MAX_LEVELS:
            raise ValueError(
                f"Column {schema.names[column]!r} has {len(levels)} different labels, but at most "
                f"{MAX_LEVELS} can become columns: drop it, or join rare labels."
            )
        categories.append((int(column), len(levels)))
        names += [f"{schema.names[column]} = {level}" for level in levels]
    unscaled = Inputs(
        tuple(names),
        np.zeros(schema.n_columns) if is_sparse(matrix) else _medians(matrix),
        numeric,
        tuple(categories),
        np.zeros(len(names)),
        np.ones(len(names)),
    )
    shift, span = _spread(unscaled.expand(matrix), scale)
    known = span > _LEAST_SPAN
    # A constant column says nothing: a factor of zero keeps its size out of every component.
    factor = np.where(known, 1.0 / np.where(known, span, 1.0), 0.0)
    return Inputs(
        unscaled.names, unscaled.fill, unscaled.numeric, unscaled.categories, shift, factor
    )


def filled(matrix: Matrix, fill: Matrix) -> Matrix:
    """Fill missing numbers; a table without any is given back as it is."""
    gaps = np.isnan(matrix)
    return np.where(gaps, fill, matrix) if gaps.any() else matrix


def _medians(matrix: Matrix) -> Matrix:
    """Give the median of each column, 0 for one without values."""
    fill = np.zeros(matrix.shape[1])
    known = ~np.isnan(matrix).all(axis=0)
    fill[known] = np.nanmedian(matrix[:, known], axis=0)
    return fill


def _spread(columns: Any, scale: str | None) -> tuple[Matrix, Matrix]:
    """Give what to subtract from each column and what to divide it by."""
    if scale is None:
        return np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    if is_sparse(columns):
        if scale not in ("auto", "maxabs"):
            raise ValueError(
                f"scale={scale!r} would fill a sparse table; use 'auto', 'maxabs' or None."
            )
        return np.zeros(columns.shape[1]), abs(columns).max(axis=0).toarray().ravel()
    if scale == "maxabs":
        return np.zeros(columns.shape[1]), np.abs(columns).max(axis=0)
    if scale == "standard":
        return columns.mean(axis=0), columns.std(axis=0)
    low, high = columns.min(axis=0), columns.max(axis=0)
    return low, high - low
