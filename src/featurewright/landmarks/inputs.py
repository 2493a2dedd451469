"""Rows as they come: a table, a sparse table, objects, or similarities computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featurewright.estimators.points import Matrix
from featurewright.tables import Schema, apply_table, fit_table, is_sparse, read_sparse

PRECOMPUTED = "precomputed"
NO_COLUMNS = Schema(names=(), given_names=False, domains=np.empty(0, np.int8), levels=())


def fit_rows(learner: Any, X: Any) -> tuple[Any, Schema]:
    """Read the training rows of an estimator that compares rows with landmarks.

    Parameters
    ----------
    learner : estimator
        The estimator; its `kernel` says what rows may be.
    X : table, sparse table or sequence of objects
        The rows.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_columns), CSR matrix, or ndarray of n_rows objects
        The encoded rows.
    schema : Schema
        Of their columns; objects have none.
    """
    if callable(learner.kernel):
        objects = as_objects(X)
        if objects is not None:
            _check_objects(learner)
            vars(learner).pop("n_features_in_", None)
            vars(learner).pop("feature_names_in_", None)
            return objects, NO_COLUMNS
    if learner.kernel == PRECOMPUTED:
        matrix, schema = fit_table(learner, X, dtype=np.float64, order="C")
        if len(matrix) != schema.n_columns:
            raise ValueError(
                f"X has the shape {matrix.shape}, but kernel='precomputed' expects a square matrix "
                "in fit: pass the similarities of the training rows to each other."
            )
        return _known(matrix), schema
    if is_sparse(X):
        return read_sparse(learner, X)
    return fit_table(learner, X, dtype=np.float64, order="C")


def apply_rows(learner: Any, schema: Schema, X: Any) -> Any:
    """Read rows for an estimator that has been fitted, as `fit_rows` does."""
    if schema.n_columns == 0:
        objects = as_objects(X)
        if objects is None:
            raise ValueError(
                "X is a table of numbers, but the model was fitted on objects: pass a list or an "
                "array of them."
            )
        return objects
    if learner.kernel == PRECOMPUTED:
        return _known(apply_table(learner, schema, X, dtype=np.float64, order="C"))
    if is_sparse(X):
        return read_sparse(learner, X, schema)[0]
    return apply_table(learner, schema, X, dtype=np.float64, order="C")


def as_objects(X: Any) -> NDArray[np.object_] | None:
    """Return a sequence of objects as an array of one dimension; None for a table.

    Text and whatever does not make up a matrix of numbers are objects: strings, graphs, series of
    different lengths.

    Examples
    --------
    >>> as_objects(["tree", "forest"])
    array(['tree', 'forest'], dtype=object)
    >>> as_objects([[1, 2], [3, 4]]) is None
    True
    """
    if isinstance(X, np.ndarray):
        return _collect(X) if X.ndim == 1 and X.dtype.kind in "OUS" else None
    if nw.dependencies.is_into_series(X):
        series = nw.from_native(X, series_only=True)
        return None if series.dtype.is_numeric() else _collect(series.to_list())
    if not isinstance(X, list | tuple):
        return None
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return _collect(X)
    return None


def _collect(items: Iterable[Any]) -> NDArray[np.object_]:
    """Return an array with one object in each place, whatever the objects are."""
    listed = list(items)
    if not listed:
        raise ValueError("X has no rows, but at least one is expected: pass some objects.")
    out = np.empty(len(listed), dtype=object)
    for place, item in enumerate(listed):
        out[place] = item
    return out


def _check_objects(learner: Any) -> None:
    """Refuse what needs columns of numbers where rows are objects."""
    if learner.landmarks == "kmeans":
        raise ValueError(
            "landmarks='kmeans' needs columns of numbers, but X holds objects: use 'random' or "
            "'class'."
        )
    if learner.scale is True:
        raise ValueError(
            "scale=True needs columns of numbers, but X holds objects: leave scale out."
        )


def _known(matrix: Matrix) -> Matrix:
    """Refuse missing similarities."""
    gaps = np.isnan(matrix)
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise ValueError(
            f"X has NaN in row {row} and column {column}, but kernel='precomputed' expects a "
            "similarity for every pair of rows: fill it in."
        )
    return matrix


def n_rows_of(rows: Any) -> int:
    """Return the number of rows; sparse tables have no length."""
    return int(rows.shape[0])


def take(rows: Any, chosen: NDArray[np.int64], learner: Any, columns: Any = None) -> Any:
    """Return some rows; of precomputed similarities those to `columns`, by default to the same.

    Parameters
    ----------
    rows : ndarray or CSR matrix
        What `fit_rows` returned.
    chosen : ndarray of int
        Numbers of the rows.
    learner : estimator
        Whose `kernel` says what the rows are.
    columns : ndarray of int, optional
        The training rows that similarities are to.
    """
    if learner.kernel == PRECOMPUTED:
        return rows[np.ix_(chosen, chosen if columns is None else columns)]
    return rows[chosen]


def stack(parts: list[Any]) -> Any:
    """Return the landmarks of several runs below each other."""
    return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
