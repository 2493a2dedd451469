"""Columns for linear models: no gaps, indicators for categories, one common scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.estimators.points import Points, learn_points
from featurewright.tables import Schema, is_sparse

Matrix = npt.NDArray[np.float64]

SCALES = ("auto", "minmax", "maxabs", "standard", None)
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
