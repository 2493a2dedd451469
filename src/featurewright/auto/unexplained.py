"""What an estimator leaves unexplained in rows that it has not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.estimators import fit_estimator, make_folds, probabilities
from featurewright.estimators.selection import indicator_target

Matrix = NDArray[np.float64]

_N_FOLDS = 3  # five take almost twice as long, and formulas are found as well by three


def unexplained(
    estimator: Any,
    columns: Matrix,
    y: NDArray[Any],
    kind: str,
    *,
    weights: Matrix | None = None,
    categories: tuple[int, ...] = (),
    seed: int = 0,
) -> Matrix:
    """Return the target less what an estimator predicts for rows that it has not learned from.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    columns : ndarray of shape (n_rows, n_columns)
        What it learns from.
    y : ndarray
        The target as the estimator sees it.
    kind : {"classification", "regression", "multilabel"}
        What the target is.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    categories : tuple of int
        Columns that are codes of categories.
    seed : int
        Seed of the folds.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
        A column for each number or class; of two classes, one.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(40.0).reshape(-1, 2)
    >>> y = X[:, 0] + np.tile([0.0, 1.0], 10)
    >>> float(unexplained(LinearRegression(), X, y, "regression").std().round(1))
    0.5
    """
    target = indicator_target(y, kind)
    rest = np.zeros_like(target)
    folds = make_folds(_N_FOLDS, y, None, kind, seed, weights=weights)
    for train, test in folds:
        own = None if weights is None else weights[train]
        model = fit_estimator(estimator, columns[train], y[train], own, categories)
        rest[test] = target[test] - _expected(model, columns[test], y, kind)
    return rest[:, 1:] if kind == "classification" and rest.shape[1] == 2 else rest


def _expected(model: Any, columns: Matrix, y: NDArray[Any], kind: str) -> Matrix:
    """Return what a model predicts, a column for each number, class or label."""
    if kind == "classification":
        classes = np.unique(y)
        if not hasattr(model, "predict_proba"):
            return np.asarray(model.predict(columns)[:, None] == classes, np.float64)
        shares = np.zeros((len(columns), len(classes)))
        # A class that is not in the training rows has no column.
        shares[:, np.searchsorted(classes, model.classes_)] = probabilities(model, columns)
        return shares
    if kind == "multilabel" and hasattr(model, "predict_proba"):
        return probabilities(model, columns)
    found = np.asarray(model.predict(columns), np.float64)
    return found[:, np.newaxis] if found.ndim == 1 else found
