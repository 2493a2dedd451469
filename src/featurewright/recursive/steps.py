"""Recursions: a linear model weighs the columns, which are then selected and projected.

Columns of large weight and the others are projected separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC, LinearSVR

from featurewright.estimators.parameters import whole_number

Matrix = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64] | None

PROJECTIONS = ("stretch", "diagonal", "orthogonal")
NORMS = (None, "unit", "max")
LOSSES = ("squared_hinge", "hinge")
SOLVERS = ("auto", "liblinear", "sgd")
MAX_RECURSIONS = 20  # tried when the number is chosen by held-out rows
LEAST_COLUMNS = 2  # the published schedules end here
_MAX_BYTES = 2**31  # of all matrices together
STRONG_SHARE = 6 / 7  # of the columns left, those that come from the first step
_MANY_ROWS = 10_000  # above, stochastic gradients take over from coordinate descent
_MANY_CELLS = 100_000_000  # above, liblinear's copy of the rows takes gigabytes
_BITS = 14  # of the largest weight that are kept
# Newton steps end close to the best weights anyway; coordinate descent would take very long.
_TOLERANCE, _DUAL_TOLERANCE = 1e-12, 1e-4
_MANY_COLUMNS = 1_000  # above, and with fewer rows, coordinate descent is the faster one


def plan_sizes(n_columns: int, keep: Any, n_recursions: Any) -> list[int]:
    """Return the number of columns after each recursion.

    Parameters
    ----------
    n_columns : int
        Columns to begin with.
    keep : "auto", float or sequence of int
        The published sizes, a share of the columns, or the sizes themselves.
    n_recursions : int or "auto"
        How many at most.

    Returns
    -------
    list of int
        One size for each recursion; it may be shorter than asked for.

    Examples
    --------
    >>> plan_sizes(93, "auto", 6)
    [80, 68, 58, 49, 41, 34]
    >>> plan_sizes(10, 0.5, 6)
    [5, 2]
    """
    most = MAX_RECURSIONS
    if not (isinstance(n_recursions, str) and n_recursions == "auto"):
        most = whole_number("n_recursions", n_recursions, 0, other="'auto'")
    if isinstance(keep, Sequence | np.ndarray) and not isinstance(keep, str):
        return _check_sizes(keep, n_columns)[:most]
    sizes: list[int] = []
    size = n_columns
    # A table that begins with so few columns still gets one recursion, which keeps them all.
    while len(sizes) < most and (size > LEAST_COLUMNS or not sizes):
        size = max(_next_size(size, keep), min(size, LEAST_COLUMNS))
        sizes.append(size)
    return sizes


def check_memory(n_columns: int, sizes: Sequence[int], n_problems: int, n_parts: int) -> None:
    """Refuse tables whose matrices would fill the memory.

    Parameters
    ----------
    n_columns : int
        Columns of the scaled table.
    sizes : sequence of int
        Columns after each recursion.
    n_problems : int
        Matrices learned side by side.
    n_parts : int
        Training parts that each have such matrices while the number of recursions is chosen; 0
        where it is given.
    """
    # A choice may fall on no recursion, whose matrix has all columns.
    n_kept = sizes[0] * max(1, n_parts) if sizes else n_columns
    if n_parts:
        n_kept = max(n_kept, n_columns)
    n_bytes = n_problems * n_columns * n_kept * np.dtype(np.float64).itemsize
    if n_bytes > _MAX_BYTES:
        raise ValueError(
            f"X has {n_columns} columns (a category has one for each level), for which the "
            f"matrices of {n_problems} problems need {n_bytes / 2**30:.1f} GB, but at most "
            f"{_MAX_BYTES / 2**30:.0f} GB are used: keep fewer columns, as in "
            "n_recursions=1, keep=(50,), or select some first."
        )


def split_size(size: int) -> tuple[int, int]:
    """Return how many columns of a recursion come from its first and its second step."""
    strong = ceil(STRONG_SHARE * size)
    return strong, size - strong


def _next_size(size: int, keep: Any) -> int:
    """Return the number of columns after one recursion."""
    if isinstance(keep, str) and keep == "auto":
        # Each of the two steps gives up one column besides its share, as published.
        return ceil(0.875 * size) - 2
    if isinstance(keep, Real) and not isinstance(keep, bool) and 0.0 < float(keep) <= 1.0:
        return floor(float(keep) * size)
    raise ValueError(
        f"keep={keep!r} must be 'auto', a share in (0, 1], or a sequence of sizes such as (30, 10)."
    )


def _check_sizes(keep: Any, n_columns: int) -> list[int]:
    """Return the sizes of an explicit schedule, which must not grow."""
    sizes = [whole_number("a size in keep", size, 1) for size in keep]
    if not sizes:
        raise ValueError("keep is empty: give a size for each recursion, a share, or 'auto'.")
    for before, after in zip([n_columns, *sizes], sizes, strict=False):
        if after > before:
            raise ValueError(
                f"keep={list(sizes)!r} asks for {after} columns where only {before} are left; "
                "give sizes that do not grow."
            )
    return sizes


def is_stochastic(solver: str, loss: str, shape: tuple[int, int]) -> bool:
    """Whether the linear model is fitted by stochastic gradients.

    The publication does so above 10,000 rows. With the squared hinge loss, liblinear's Newton steps
    take no longer there and end at the best weights.
    """
    if solver != "auto":
        return solver == "sgd"
    too_large = _needs_dual(loss, shape) or shape[0] * shape[1] > _MANY_CELLS
    return shape[0] > _MANY_ROWS and too_large


def _needs_dual(loss: str, shape: tuple[int, int]) -> bool:
    """Whether liblinear needs coordinate descent, or is much faster with it."""
    return loss == "hinge" or shape[1] > max(shape[0], _MANY_COLUMNS)


@dataclass(frozen=True)
class Plane:
    """Settings of the linear model and of the projection along its weights."""

    regression: bool
    stochastic: bool
    C: float
    loss: str
    projection: str
    normalize: str | None

    def uses_dual(self, shape: tuple[int, int]) -> bool:
        """Whether liblinear uses coordinate descent in random order."""
        return not self.stochastic and _needs_dual(self.loss, shape)

    def model(self, columns: Any, seed: int) -> Any:
        """Return the linear model for some columns, not fitted yet."""
        if self.stochastic:
            make, loss = (
                (SGDRegressor, "epsilon_insensitive")
                if self.regression
                else (SGDClassifier, "hinge")
            )
            return make(
                loss=loss,
                alpha=1.0 / (self.C * columns.shape[0]),
                # Projected columns may be large: steps of the usual size would run away.
                learning_rate="adaptive",
                eta0=1.0 / (_mean_square_length(columns) or 1.0),
                random_state=seed,
                average=True,
            )
        dual = self.uses_dual(columns.shape)
        tolerance = _DUAL_TOLERANCE if dual else _TOLERANCE
        common = {"C": self.C, "dual": dual, "tol": tolerance, "random_state": seed}
        if self.regression:
            loss = self.loss.replace("hinge", "epsilon_insensitive")
            return LinearSVR(loss=loss, epsilon=0.0, **common)
        return LinearSVC(loss=self.loss, **common)


@dataclass(frozen=True, eq=False)
class Problem:
    """One column of the target: -1 and 1 for a class against the rest, or numbers."""

    target: Matrix
    seed: int


def fit_weights(
    columns: Any, problem: Problem, weights: Weights, plane: Plane
) -> tuple[Matrix, float]:
    """Fit the linear model; return its weights and its mean loss on these rows."""
    target = problem.target
    if not plane.regression and np.all(target == target[0]):
        return np.zeros(columns.shape[1]), 0.0  # a class that the training part does not have
    model = plane.model(columns, problem.seed)
    model.fit(columns, target, sample_weight=weights)
    w = np.asarray(model.coef_, dtype=np.float64).ravel()
    if not np.isfinite(w).all():
        raise ValueError(
            "The linear model found weights that are not finite, as it does for columns of very "
            "different or very large size: use scale='minmax'."
        )
    w = rounded(w)
    if plane.regression:
        loss = np.abs(target - model.predict(columns))
    else:
        loss = np.maximum(0.0, 1.0 - target * model.decision_function(columns))
    return w, float(np.average(loss, weights=weights))


def recurse(
    columns: Any, problem: Problem, weights: Weights, plane: Plane, sizes: Sequence[int]
) -> Iterator[tuple[Matrix | None, float]]:
    """Yield the result of each recursion of one problem.

    Parameters
    ----------
    columns : ndarray or sparse matrix of shape (n_rows, n_columns)
        The scaled training rows.
    problem : Problem
        Its target.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    plane : Plane
        Settings.
    sizes : sequence of int
        Columns after each recursion.

    Yields
    ------
    matrix : ndarray of shape (n_columns, size) or None
        All recursions so far as one matrix; None before the first.
    loss : float
        Mean loss of the linear model on the rows transformed by it.
    """
    matrix: Matrix | None = None
    w, loss = fit_weights(columns, problem, weights, plane)
    yield matrix, loss
    for size in sizes:
        current = columns if matrix is None else columns @ matrix
        n_strong, n_weak = split_size(size)
        order = np.argsort(-np.abs(w), kind="stable")
        strong, rest = np.sort(order[:n_strong]), np.sort(order[n_strong:])
        parts = [_project(matrix, len(w), strong, w[strong], plane)]
        if n_weak:
            inner, _ = fit_weights(current[:, rest], problem, weights, plane)
            best = np.sort(np.argsort(-np.abs(inner), kind="stable")[:n_weak])
            parts.append(_project(matrix, len(w), rest[best], inner[best], plane))
        matrix = np.hstack(parts)
        w, loss = fit_weights(columns @ matrix, problem, weights, plane)
        yield matrix, loss


def _project(
    matrix: Matrix | None, n_columns: int, kept: npt.NDArray[np.intp], w: Matrix, plane: Plane
) -> Matrix:
    """Return some columns of the matrix so far, projected by their weights."""
    if matrix is None:
        block = np.zeros((n_columns, len(kept)))
        block[kept, np.arange(len(kept))] = 1.0
    else:
        block = matrix[:, kept]
    if plane.projection == "orthogonal":
        unit = normalized(w, "unit")
        return block - np.outer(block @ unit, unit)
    w = normalized(w, plane.normalize)
    if plane.projection == "diagonal":
        return block * np.abs(w)
    return block + np.outer(block @ w, w)


def _mean_square_length(columns: Any) -> float:
    """Return the mean over rows of the sum of their squared entries."""
    if issparse(columns):
        return float(columns.multiply(columns).sum()) / columns.shape[0]
    return float(np.einsum("ij,ij->", columns, columns)) / columns.shape[0]  # without a copy


def rounded(w: Matrix) -> Matrix:
    """Return weights rounded to about four digits of the largest.

    Solvers are not much more precise: noise in the last digits would decide between columns of
    equal weight, and make the matrices differ between machines.
    """
    largest = float(np.abs(w).max())
    if largest < np.finfo(np.float64).tiny:
        return np.zeros_like(w)
    unit = 2.0 ** (np.floor(np.log2(largest)) - _BITS)
    return np.rint(w / unit) * unit if unit > 0 else w


def normalized(w: Matrix, norm: str | None) -> Matrix:
    """Return weights of unit length or with a largest entry of one; zeros stay zeros."""
    if norm is None:
        return w
    size = np.linalg.norm(w) if norm == "unit" else np.abs(w).max()
    return w / size if size > 0 else w
