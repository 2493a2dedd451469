"""Columns for linear models: no gaps, indicators for categories, one common scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.estimators.points import Points, learn_points
from featurewright.expressions import Domain
from featurewright.tables import Schema, is_sparse

Matrix = npt.NDArray[np.float64]

SCALES = ("auto", "minmax", "maxabs", "table", "standard", None)
_FENCE = 1.5  # interquartile ranges beyond the quartiles where outliers begin
_LEAST_SPAN = 1e-300  # the reciprocal of anything smaller may be infinite


@dataclass(frozen=True, eq=False)
class Inputs(Points):
    """What `fit` learned about the columns.

    Parameters
    ----------
    shift, factor : ndarray of shape (n_coordinates,)
        A scaled column is (column - shift) * factor.
    """

    shift: Matrix
    factor: Matrix

    def columns(self, matrix: Any, *, keep_gaps: bool = False) -> Any:
        """Return columns without gaps, categories as indicators; a missing label has none.

        A table of numbers alone may keep its gaps, to be filled later.
        """
        if is_sparse(matrix) or (keep_gaps and not self.labels):
            return matrix
        return self.expand(matrix)

    def scaled(self, columns: Any) -> Any:
        """Return expanded columns on the common scale; sparse ones are not shifted."""
        if is_sparse(columns):
            return columns.multiply(self.factor[np.newaxis]).tocsr()
        return (columns - self.shift) * self.factor


def learn_inputs(matrix: Any, schema: Schema, scale: str | None) -> Inputs:
    """Learn fills, indicators and scale from the training rows."""
    seen = np.empty((0, schema.n_columns)) if is_sparse(matrix) else matrix
    points = Points(**learn_points(seen, schema))
    shift, span = _spread(matrix if is_sparse(matrix) else points.expand(matrix), scale)
    known = span > _LEAST_SPAN
    # A constant column has no information: a factor of zero keeps it out of every component.
    factor = np.where(known, 1.0 / np.where(known, span, 1.0), 0.0)
    return Inputs(**vars(points), shift=shift, factor=factor)


def _spread(columns: Any, scale: str | None) -> tuple[Matrix, Matrix]:
    """Return what to subtract from each column and what to divide it by."""
    if scale is None:
        return np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    if is_sparse(columns):
        if scale not in ("auto", "maxabs", "table"):
            raise ValueError(
                f"scale={scale!r} would fill a sparse table; use 'auto', 'maxabs', 'table' or None."
            )
        largest = abs(columns).max(axis=0).toarray().ravel()
        return np.zeros_like(largest), _one_span(largest) if scale == "table" else largest
    if scale in ("maxabs", "table"):
        largest = np.abs(columns).max(axis=0)
        return np.zeros_like(largest), _one_span(largest) if scale == "table" else largest
    if scale == "standard":
        return columns.mean(axis=0), columns.std(axis=0)
    low, high = columns.min(axis=0), columns.max(axis=0)
    return low, high - low


def _one_span(largest: Matrix) -> Matrix:
    """Return the largest absolute value of the table for every column."""
    return np.full_like(largest, largest.max(initial=0.0))


def rows_within_fences(matrix: Matrix, schema: Schema) -> npt.NDArray[np.intp]:
    """Return the rows without outliers.

    A number is an outlier if it lies more than one and a half interquartile ranges below the first
    or above the third quartile of its column. Columns of which half of the values or more are the
    same have no such range, and no outliers; neither have categories and missing values.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        Encoded rows; NaN is missing.
    schema : Schema
        Tells numbers from categories.

    Returns
    -------
    ndarray of int
        Numbers of the rows.

    Examples
    --------
    >>> from featurewright.tables import learn_schema
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.0, 50.0]})
    >>> rows_within_fences(frame.to_numpy(), learn_schema(frame))
    array([0, 1, 2, 3])
    """
    numbers = np.flatnonzero(schema.domains == Domain.REAL)
    numbers = numbers[~np.isnan(matrix[:, numbers]).all(axis=0)]
    values = matrix[:, numbers]
    if values.size == 0:
        return np.arange(len(matrix))
    low, high = np.nanpercentile(values, (25, 75), axis=0)
    margin = _FENCE * (high - low)
    outside = (values < low - margin) | (values > high + margin)
    return np.flatnonzero(~(outside & (margin > 0)).any(axis=1))
