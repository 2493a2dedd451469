"""Rows as points, and kernels and other similarities between points and landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.metrics.pairwise import euclidean_distances, kernel_metrics, pairwise_kernels

from featurewright.engine.threads import run_in_threads
from featurewright.estimators.points import Matrix, Points, filled, learn_points
from featurewright.expressions import Domain
from featurewright.tables import FLOAT_MAX, Schema

KERNELS = ("gaussian", *sorted(kernel_metrics()))
# Matrix products round differently for different numbers of rows. Blocks of one size make a row's
# similarities the same alone and in any batch, and bound the memory.
BLOCK = 1024
WIDTH_ROWS = 500  # rows whose distances give the width


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

    def points(self, matrix: Matrix) -> Matrix:
        """Return the points of encoded rows."""
        return self.expand(matrix) / self.scale


def learn_map(matrix: Matrix, schema: Schema, *, scale: bool) -> PointMap:
    """Learn the medians, and the standard deviations if columns of numbers are to be scaled."""
    fields = learn_points(matrix, schema)
    spread = np.ones(len(fields["names"]))
    for place, column in enumerate(fields["numbers"] if scale else ()):
        known = matrix[:, column]
        known = known[~np.isnan(known)]
        if schema.domains[column] == Domain.REAL and len(known) and known.min() < known.max():
            spread[place] = known.std() or 1.0  # very small numbers have a spread of zero
    return PointMap(**fields, scale=spread)


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

    def block(self, points: Matrix, landmarks: Matrix) -> Matrix:
        """Return the similarities of up to `BLOCK` points to all landmarks; 0 where undefined."""
        n_rows = len(points)
        if n_rows < BLOCK and (self.batched or not callable(self.metric)):
            points = np.concatenate([points, np.repeat(points[-1:], BLOCK - n_rows, axis=0)])
        if self.origin is not None:
            points, landmarks = points - self.origin, landmarks - self.origin
        with np.errstate(all="ignore"):
            if self.batched and callable(self.metric):
                found = self._from_tables(self.metric, points, landmarks)
            elif self.metric == "rbf":
                found = gaussian(points, landmarks, **self.params)
            else:
                found = pairwise_kernels(points, landmarks, metric=self.metric, **self.params)
        # No table of this library may hold larger numbers.
        values = np.clip(found[:n_rows], -FLOAT_MAX, FLOAT_MAX)
        values[np.isnan(values)] = 0.0
        return values

    def _from_tables(self, kernel: Callable[..., Any], points: Matrix, landmarks: Matrix) -> Matrix:
        """Return what a function of two tables computes."""
        expected = (len(points), len(landmarks))
        wanted = (
            f"kernel {self.name} with batched=True gets tables of the shapes {points.shape} and "
            f"{landmarks.shape} and must give an array of similarities of the shape {expected}"
        )
        advice = "use batched=False if it takes two rows."
        try:
            found = np.asarray(kernel(points, landmarks, **self.params), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{wanted}, but it failed ({error}): {advice}") from error
        if found.shape != expected:
            raise ValueError(f"{wanted}, but gave {found.shape}: {advice}")
        return found


def gaussian(points: Matrix, landmarks: Matrix, gamma: float | None) -> Matrix:
    """Return exp(-gamma d²), as scikit-learn does but without checking every block."""
    squares = points @ landmarks.T
    squares *= -2.0
    squares += np.einsum("ij,ij->i", points, points)[:, None]
    squares += np.einsum("ij,ij->i", landmarks, landmarks)
    np.maximum(squares, 0.0, out=squares)
    squares *= -(1.0 / points.shape[1] if gamma is None else gamma)
    return np.exp(squares, out=squares)


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Landmarks and what compares rows with them: the columns K(x, landmark)."""

    places: PointMap
    similarity: Similarity
    landmarks: Matrix

    def columns(self, matrix: Any, n_jobs: int | None = None) -> Matrix:
        """Return the similarities of encoded rows, computed block by block."""
        out = np.empty((len(matrix), len(self.landmarks)))
        if len(self.landmarks) == 0:
            return out

        def work(first: int, last: int) -> None:
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                points = self.places.points(matrix[start:stop])
                out[start:stop] = self.similarity.block(points, self.landmarks)

        threads = min(effective_n_jobs(n_jobs), -(-len(matrix) // BLOCK))
        edges = np.linspace(0, len(matrix), threads + 1).astype(np.int64)
        tasks = [partial(work, int(a), int(b)) for a, b in pairwise(edges)]
        run_in_threads(tasks, threads)
        return out


def make_similarity(learner: Any, points: Matrix) -> Similarity:
    """Return a similarity with all its parameters; the points decide the Gaussian's width."""
    kernel = learner.kernel
    if callable(kernel):
        params = dict(learner.kernel_params or {})
        name = kernel_name(kernel)
        if not learner.batched:
            _check_number(kernel(points[0], points[-1], **params))
        return Similarity(name, kernel, params, bool(learner.batched))
    origin = points.mean(axis=0)
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


def median_width(points: Matrix) -> float:
    """Return the median squared distance between different points."""
    distances = euclidean_distances(points - points.mean(axis=0), squared=True)
    pairs = distances[np.triu_indices(len(points), 1)]
    for candidates in (pairs, pairs[pairs > 0]):
        width = float(np.median(candidates)) if len(candidates) else 0.0
        if np.isfinite(1.0 / width if width > 0 else np.inf):
            return width
    return 1.0  # all rows are the same


def _as_matrix(found: Any) -> Matrix:
    """Return what a function computed as a matrix."""
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "kernel gave values that are not numbers, but a matrix of similarities is expected."
        ) from error


def kernel_name(kernel: Callable[..., Any]) -> str:
    """Return the name of a kernel that is a function."""
    return str(getattr(kernel, "__name__", type(kernel).__name__))


def _check_number(found: Any) -> None:
    """Refuse a function of two rows that does not return a number."""
    if not isinstance(found, Real) and np.shape(found) != ():
        raise ValueError(
            f"kernel gave an array of shape {np.shape(found)} for two rows, but a number is "
            "expected; use batched=True if it takes two tables."
        )
    _as_matrix(found)
