"""One recursion: a linear model weighs the columns, the strong and the weak are projected apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC, LinearSVR

from featurewright.recursive.schedule import split_size

Matrix = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64] | None

PROJECTIONS = ("stretch", "diagonal", "orthogonal")
NORMS = (None, "unit", "max")
LOSSES = ("squared_hinge", "hinge")
SOLVERS = ("auto", "liblinear", "sgd")
_MANY_ROWS = 10_000  # above, stochastic gradients take over from coordinate descent
_MANY_CELLS = 100_000_000  # above, liblinear's copy of the rows takes gigabytes
_BITS = 14  # of the largest weight that are kept
# Newton steps end close to the best weights anyway; coordinate descent would take very long.
_TOLERANCE, _DUAL_TOLERANCE = 1e-12, 1e-4
_MANY_COLUMNS = 1_000  # above, and with fewer rows, coordinate descent is the faster one


def is_stochastic(solver: str, loss: str, shape: tuple[int, int]) -> bool:
    """Tell whether the linear model is fitted by stochastic gradients.

    The publication does so above 10,000 rows. With the squared hinge loss, liblinear's Newton steps
    take no longer there and end at the best weights.
    """
    if solver != "auto":
        return solver == "sgd"
    too_large = _needs_dual(loss, shape) or shape[0] * shape[1] > _MANY_CELLS
    return shape[0] > _MANY_ROWS and too_large


def _needs_dual(loss: str, shape: tuple[int, int]) -> bool:
    """Tell whether liblinear has to descend by coordinates, or is much faster so."""
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
        """Tell whether liblinear descends by coordinates in random order."""
        return not self.stochastic and _needs_dual(self.loss, shape)

    def model(self, columns: Any, seed: int) -> Any:
        """Make the linear model for some columns; it is not fitted yet."""
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
    """Fit the linear model; give its weights and its mean loss on these rows."""
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
    """Walk through the recursions of one problem.

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
    """Take some columns of the matrix so far and project them by their weights."""
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
    """Give the mean over rows of the sum of their squared entries."""
    if issparse(columns):
        return float(columns.multiply(columns).sum()) / columns.shape[0]
    return float(np.einsum("ij,ij->", columns, columns)) / columns.shape[0]  # without a copy


def rounded(w: Matrix) -> Matrix:
    """Round weights to some four digits of the largest: solvers know no more than a few more.

    What noise leaves in the last digits would else decide between columns of equal weight, and make
    the matrices differ between machines.
    """
    largest = float(np.abs(w).max())
    if largest < np.finfo(np.float64).tiny:
        return np.zeros_like(w)
    unit = 2.0 ** (np.floor(np.log2(largest)) - _BITS)
    return np.rint(w / unit) * unit if unit > 0 else w


def normalized(w: Matrix, norm: str | None) -> Matrix:
    """Bring weights to unit length or to a largest entry of one; zeros stay zeros."""
    if norm is None:
        return w
    size = np.linalg.norm(w) if norm == "unit" else np.abs(w).max()
    return w / size if size > 0 else w
