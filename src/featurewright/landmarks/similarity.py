"""Rows as points, and kernels and other similarities between points and landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances, kernel_metrics, pairwise_kernels
from sklearn.utils.sparsefuncs import mean_variance_axis

from featurewright.engine.threads import local_threads, run_in_threads
from featurewright.estimators.points import Matrix, Points, filled, learn_points
from featurewright.expressions import Domain
from featurewright.landmarks.inputs import PRECOMPUTED, n_rows_of
from featurewright.tables import FLOAT_MAX, Schema, is_sparse

KERNELS = ("gaussian", PRECOMPUTED, *sorted(kernel_metrics()))
# Matrix products round differently for different numbers of rows. Blocks of one size make a row's
# similarities the same alone and in any batch, and bound the memory.
BLOCK = 1024
WIDTH_ROWS = 500  # rows whose distances give the width
_ROWS_TOGETHER = 16  # compared in one call, to see whether a row's similarities depend on others
_ROWS_ALONE = 3  # of those, compared in calls of their own as well
# Of the largest similarity. Products of matrices round differently for different numbers of rows,
# those of single precision or of large numbers by a good deal more than the last digit.
_SAME_SIMILARITY = 1e-3
_DENSE_KERNELS = ("chi2", "additive_chi2")  # scikit-learn has them for dense tables alone


@dataclass(frozen=True, eq=False)
class PointMap(Points):
    """What `fit` learned to turn rows into points, on one scale where asked.

    Attributes
    ----------
    scale : ndarray
        What each coordinate is divided by.
    """

    scale: Matrix

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates of a point."""
        return len(self.names)

    def filled(self, matrix: Matrix) -> Matrix:
        """Return the columns with their missing values filled in."""
        return filled(matrix, self.fill)

    def points(self, matrix: Any) -> Any:
        """Return the points of encoded rows; sparse rows stay sparse."""
        if not is_sparse(matrix):
            return self.expand(matrix) / self.scale
        points = matrix.astype(np.float64)  # a copy, which is changed here
        points.data /= self.scale[points.indices]
        return points


NO_POINTS = PointMap(
    names=(), fill=np.empty(0), numbers=np.empty(0, np.intp), labels=(), scale=np.empty(0)
)


def learn_map(matrix: Any, schema: Schema, *, scale: bool | str) -> PointMap:
    """Learn the medians, and the standard deviations if columns of numbers are to be scaled.

    Parameters
    ----------
    matrix : ndarray or CSR matrix of shape (n_rows, n_columns)
        The encoded rows.
    schema : Schema
        What the columns are.
    scale : {True, False, "auto"}
        Whether to divide; "auto" does where the columns have different units (`differ_in_units`).
    """
    fields: dict[str, Any]
    if is_sparse(matrix):
        everything = np.arange(schema.n_columns)
        fill = np.zeros(schema.n_columns)
        fields = {"names": schema.names, "fill": fill, "numbers": everything, "labels": ()}
        spread = np.sqrt(mean_variance_axis(matrix, axis=0)[1])
    else:
        fields = learn_points(matrix, schema)
        spread = np.array([_spread(matrix, schema, column) for column in fields["numbers"]])
    known = spread[spread > 0]
    divisors = np.ones(len(fields["names"]))
    if scale is True or (isinstance(scale, str) and differ_in_units(known)):
        divisors[: len(spread)] = np.where(spread > 0, spread, 1.0)
    return PointMap(**fields, scale=divisors)


def _spread(matrix: Matrix, schema: Schema, column: int) -> float:
    """Return the standard deviation of a column of numbers; 0 for others and constant ones."""
    known = matrix[:, column]
    known = known[~np.isnan(known)]
    varies = schema.domains[column] == Domain.REAL and len(known) and known.min() < known.max()
    return float(known.std()) if varies else 0.0


def differ_in_units(spread: NDArray[np.floating[Any]]) -> bool:
    """Whether few columns make up the distances between rows, as where their units differ.

    With the variances v, (Σv)² / Σv² is the number of columns that would make up the squared
    distances if all of them had the same part. Units differ where it is below 1 + (k - 1) / 4 for k
    columns: two columns whose standard deviations differ threefold, or many of which fewer than a
    quarter count.

    Parameters
    ----------
    spread : ndarray
        Standard deviations of the columns that vary.

    Examples
    --------
    >>> differ_in_units(np.array([1.0, 2.0, 0.5])), differ_in_units(np.array([1.0, 2.0, 300.0]))
    (False, True)
    """
    if len(spread) < 2:
        return False
    shares = (spread / spread.max()) ** 2
    effective = shares.sum() ** 2 / (shares**2).sum()
    return bool(effective < 1.0 + (len(spread) - 1) / 4.0)


@dataclass(frozen=True, eq=False)
class Similarity:
    """A similarity of two points with all its parameters."""

    name: str
    metric: str | Callable[..., Any]
    params: dict[str, Any]
    batched: bool = False
    width: float | None = None
    # Only differences count for some kernels; near the origin their squares keep more digits.
    origin: Matrix | None = None

    def block(self, points: Any, landmarks: Any) -> Matrix:
        """Return the similarities of up to `BLOCK` points to all landmarks; 0 where undefined.

        A function gets the points as they are, and there may be any number of them.
        """
        if callable(self.metric):
            with np.errstate(all="ignore"):
                compare = self._from_tables if self.batched else self._from_pairs
                found = compare(self.metric, points, landmarks)
            return np.clip(found, -FLOAT_MAX, FLOAT_MAX)
        n_rows = n_rows_of(points)
        if is_sparse(points) and (self.origin is not None or self.metric in _DENSE_KERNELS):
            points = points.toarray()
        if not is_sparse(points) and n_rows < BLOCK:  # products of sparse rows go row by row
            points = np.concatenate([points, np.repeat(points[-1:], BLOCK - n_rows, axis=0)])
        if self.origin is not None:
            points, landmarks = points - self.origin, landmarks - self.origin
        with np.errstate(all="ignore"):
            if self.metric == "rbf":
                found = gaussian(points, landmarks, **self.params)
            else:
                found = pairwise_kernels(points, landmarks, metric=self.metric, **self.params)
        # No table of this library may hold larger numbers.
        values = np.clip(found[:n_rows], -FLOAT_MAX, FLOAT_MAX)
        values[np.isnan(values)] = 0.0
        return values

    def _from_tables(self, kernel: Callable[..., Any], points: Any, landmarks: Any) -> Matrix:
        """Return what a function of two tables computes."""
        expected = (n_rows_of(points), n_rows_of(landmarks))
        wanted = (
            f"kernel {self.name} with batched=True gets tables of the shapes {points.shape} and "
            f"{landmarks.shape} and must give an array of similarities of the shape {expected}"
        )
        advice = "use batched=False if it takes two rows."
        try:
            found = kernel(points, landmarks, **self.params)
            made = found.toarray() if is_sparse(found) else found
            values = np.array(made, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{wanted}, but it failed ({error}): {advice}") from error
        if found is None or values.shape != expected:
            gave = "None" if found is None else f"the shape {values.shape}"
            raise ValueError(f"{wanted}, but gave {gave}: {advice}")
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            row, landmark = wrong[0]
            raise ValueError(self._unfit(values[row, landmark], row, landmark))
        return values

    def check_rows_alone(self, points: Any) -> None:
        """Refuse a function of two tables whose result for a row depends on the other rows."""
        together, landmarks = points[:_ROWS_TOGETHER], points[-_ROWS_ALONE:]
        among = self.block(together, landmarks)
        for row in range(min(_ROWS_ALONE, len(among))):
            alone = self.block(together[row : row + 1], landmarks)[0]
            largest = max(np.abs(among).max(), np.abs(alone).max())
            landmark = np.argmax(np.abs(alone - among[row]))
            if abs(alone[landmark] - among[row, landmark]) > _SAME_SIMILARITY * largest:
                raise ValueError(
                    f"kernel {self.name} with batched=True gave {alone[landmark]:.6g} for a row "
                    f"alone but {among[row, landmark]:.6g} for the same row and landmark among "
                    f"{len(among)} rows, so that a row's features would depend on the rows beside "
                    "it: compute similarities from each row and landmark only, with fixed numbers "
                    "in place of what it computes from all rows."
                )

    def _from_pairs(self, kernel: Callable[..., Any], points: Any, landmarks: Any) -> Matrix:
        """Return what a function of two rows computes, pair by pair."""
        values = np.empty((n_rows_of(points), n_rows_of(landmarks)))
        others = [_row(landmarks, place) for place in range(values.shape[1])]
        for row in range(len(values)):
            point = _row(points, row)
            for landmark, other in enumerate(others):
                found = kernel(point, other, **self.params)
                values[row, landmark] = self._checked(found, row, landmark)
        return values

    def _checked(self, found: Any, row: int, landmark: int) -> float:
        """Return what a function gave for a pair as a finite number."""
        if np.shape(found) != ():
            raise ValueError(
                f"kernel {self.name} gave an array of shape {np.shape(found)} for two rows, but a "
                "number is expected; use batched=True if it takes two tables."
            )
        try:
            value = np.nan if isinstance(found, str | bytes) else float(found)
        except (TypeError, ValueError):
            value = np.nan
        if not np.isfinite(value):
            raise ValueError(self._unfit(found, row, landmark))
        return value

    def _unfit(self, found: Any, row: int, landmark: int) -> str:
        """Return the sentence about a value that is no similarity."""
        shown = repr(found)[:80] if isinstance(found, str | bytes) else str(found)[:80]
        return (
            f"kernel {self.name} gave {shown} for row {row} and landmark {landmark}, but a finite "
            "number is expected: return one for every pair, such as 0 where it is not defined."
        )


def _row(points: Any, place: int) -> Any:
    """Return one row; a sparse row is a matrix of one row, as in scikit-learn."""
    return points[[place]] if is_sparse(points) else points[place]


def gaussian(points: Any, landmarks: Matrix, gamma: float | None) -> Matrix:
    """Return exp(-gamma d²), as scikit-learn does but without checking every block."""
    squares: Matrix = points @ landmarks.T
    squares *= -2.0
    if is_sparse(points):
        squares += np.asarray(points.multiply(points).sum(axis=1)).reshape(-1, 1)
    else:
        squares += np.einsum("ij,ij->i", points, points)[:, None]
    squares += np.einsum("ij,ij->i", landmarks, landmarks)
    np.maximum(squares, 0.0, out=squares)
    squares *= -(1.0 / points.shape[1] if gamma is None else gamma)
    return np.exp(squares, out=squares)


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Landmarks and what compares rows with them: the columns K(x, landmark).

    Attributes
    ----------
    places : PointMap or None
        What turns rows into points; None where rows are objects or precomputed similarities.
    similarity : Similarity
        What compares points with landmarks.
    landmarks : ndarray or CSR matrix
        The landmarks as points; objects; or one column of the numbers of the training rows.
    """

    places: PointMap | None
    similarity: Similarity
    landmarks: Any

    @property
    def n_landmarks(self) -> int:
        """Number of landmarks."""
        return n_rows_of(self.landmarks)

    @property
    def sees_all_rows(self) -> bool:
        """Whether a function of two tables computes the columns; it gets all rows in one call."""
        return self.similarity.batched

    def columns(self, matrix: Any, n_jobs: int | None = None) -> Matrix:
        """Return the similarities of encoded rows, computed block by block."""
        n_rows = n_rows_of(matrix)
        if self.n_landmarks == 0:
            return np.empty((n_rows, 0))
        if self.similarity.metric == PRECOMPUTED:
            return np.asarray(matrix[:, self.landmarks[:, 0].astype(np.intp)])
        if callable(self.similarity.metric):
            return self.similarity.block(self._points(matrix), self.landmarks)
        out = np.empty((n_rows, self.n_landmarks))

        def work(first: int, last: int) -> None:
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                out[start:stop] = self.similarity.block(
                    self._points(matrix[start:stop]), self.landmarks
                )

        threads = min(local_threads(n_jobs), -(-n_rows // BLOCK))
        edges = np.linspace(0, n_rows, threads + 1).astype(np.int64)
        tasks = [partial(work, int(a), int(b)) for a, b in pairwise(edges)]
        run_in_threads(tasks, threads)
        return out

    def _points(self, matrix: Any) -> Any:
        """Return the points of encoded rows; objects are their own."""
        return matrix if self.places is None else self.places.points(matrix)


def make_similarity(learner: Any, points: Any) -> Similarity:
    """Return a similarity with all its parameters; the points decide the Gaussian's width."""
    kernel = learner.kernel
    if callable(kernel):
        params = dict(learner.kernel_params or {})
        made = Similarity(kernel_name(kernel), kernel, params, bool(learner.batched))
        made.block(points[:2], points[-1:])  # refuses a function that does not fit
        if made.batched:
            made.check_rows_alone(points)
        return made
    if kernel == PRECOMPUTED:
        return Similarity(kernel, kernel, {})
    origin = None if is_sparse(points) else points.mean(axis=0)
    if kernel == "gaussian":
        width = median_width(points) if learner.width is None else float(learner.width)
        return Similarity(kernel, "rbf", {"gamma": 1.0 / width}, width=width, origin=origin)
    if kernel == "linear":  # x'z + 1, which is the polynomial kernel of degree one
        params = {"degree": 1, "gamma": 1.0, "coef0": learner.coef0}
        return Similarity(kernel, "polynomial", params)
    known = {"gamma": learner.gamma, "degree": learner.degree, "coef0": learner.coef0}
    taken = {
        "gamma": ("rbf", "laplacian", "polynomial", "poly", "sigmoid", "chi2"),
        "degree": ("polynomial", "poly"),
        "coef0": ("polynomial", "poly", "sigmoid"),
    }
    params = {key: known[key] for key in known if kernel in taken[key]}
    if kernel == "chi2" and learner.gamma is None:
        params["gamma"] = 1.0
    return Similarity(kernel, kernel, params, origin=origin if kernel == "rbf" else None)


def median_width(points: Any) -> float:
    """Return the median squared distance between different points."""
    centered = points if is_sparse(points) else points - points.mean(axis=0)
    distances = euclidean_distances(centered, squared=True)
    pairs = distances[np.triu_indices(len(distances), 1)]
    for candidates in (pairs, pairs[pairs > 0]):
        width = float(np.median(candidates)) if len(candidates) else 0.0
        if np.isfinite(1.0 / width if width > 0 else np.inf):
            return width
    return 1.0  # all rows are the same


def kernel_name(kernel: Callable[..., Any]) -> str:
    """Return the name of a kernel that is a function."""
    return str(getattr(kernel, "__name__", type(kernel).__name__))
