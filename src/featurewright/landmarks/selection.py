"""Which rows of the training table are landmarks, and the parameters that decide it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.random import sample_without_replacement

from featurewright.estimators.parameters import (
    DeclaredParameters,
    Parameter,
    choice,
    flag,
    one_of,
    optional,
    real,
    whole,
)
from featurewright.estimators.points import Matrix
from featurewright.estimators.shared_parameters import RANDOM_STATE, RUNNING
from featurewright.landmarks.inputs import PRECOMPUTED, n_rows_of
from featurewright.landmarks.similarity import (
    KERNELS,
    WIDTH_ROWS,
    LandmarkMap,
    PointMap,
    Similarity,
    kernel_name,
    learn_map,
    make_similarity,
)
from featurewright.tables import FLOAT_MAX, Schema, is_sparse

CHOICES = ("random", "class", "kmeans")
_CLUSTER_ROWS = 2000  # rows that k-means looks at
_SLICES = 10

Rows = NDArray[np.int64]


def check_kernel(name: str, value: Any) -> None:
    """Check a kernel: a name, or a function."""
    if not callable(value):
        one_of(name, value, KERNELS)


def check_scale(name: str, value: Any) -> None:
    """Check whether columns are scaled: "auto", True or False."""
    if not (isinstance(value, str) and value == "auto"):
        try:
            flag(name, value)
        except ValueError:
            raise ValueError(f"{name}={value!r} must be True, False or 'auto'.") from None


def check_kernel_params(name: str, value: Any) -> None:
    """Check the arguments of a kernel that is a function."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{name}={value!r} must be a dict of arguments for a kernel that is a function; set "
            "width, gamma, degree and coef0 for a kernel by name."
        )


class LandmarkParameters(DeclaredParameters):
    """The parameters of estimators that compare rows with landmarks."""

    _parameters: ClassVar = {
        "kernel": Parameter(
            "str or callable",
            """
            "gaussian" is exp(-||x - z||² / width); "linear" is x'z + coef0; other kernels have the
            names that `sklearn.metrics.pairwise.pairwise_kernels` gives them. A function of two
            rows that returns a finite number may be any similarity, positive definite or not; with
            a function, X may also be a list or an array of objects, such as strings or graphs. With
            "precomputed" X holds the similarities of each row to all training rows, and landmarks
            are some of its columns.
            """,
            check_kernel,
        ),
        "width": Parameter(
            "float",
            """
            Width of "gaussian" and of no other kernel; by default the median squared distance of
            two training rows.
            """,
            optional(real(above=0.0)),
        ),
        "gamma": Parameter(
            "float",
            """
            Of "rbf", "laplacian", "polynomial", "sigmoid" and "chi2"; scikit-learn's default by
            default.
            """,
            optional(real(above=0.0)),
        ),
        "degree": Parameter("int", 'Of "polynomial".', whole(1)),
        "coef0": Parameter(
            "float", 'Of "linear", "polynomial" and "sigmoid".', real(least=-FLOAT_MAX)
        ),
        "kernel_params": Parameter(
            "dict",
            "Further arguments of a kernel that is a function.",
            optional(check_kernel_params),
        ),
        "batched": Parameter(
            "bool",
            """
            Whether a kernel that is a function takes two tables, all rows that are to be compared
            and the landmarks, and returns a matrix, which is much faster. A row's similarities
            must not depend on the other rows: `fit` compares some alone and among others.
            """,
            flag,
        ),
        "landmarks": Parameter(
            '{"random", "class", "kmeans"}',
            """
            Which training rows are landmarks: any; as many of each class, where there are enough;
            the rows next to the centers that k-means finds.
            """,
            choice(*CHOICES),
        ),
        "scale": Parameter(
            'bool or "auto"',
            """
            Whether columns of numbers are divided by their standard deviation for the kernel.
            "auto" does it where they have different units: with the variances v of the k columns
            that vary, (Σv)² / Σv² < 1 + (k - 1) / 4, so that few columns would make up the
            distances. It leaves columns as they are for a function, and where `width` or `gamma`
            is a number, which has a unit of its own.
            """,
            check_scale,
        ),
        "random_state": RANDOM_STATE,
        "n_jobs": RUNNING["n_jobs"],
    }

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        return tags

    def _check_combinations(self: Any) -> None:
        if self.width is not None and self.kernel != "gaussian":
            shown = kernel_name(self.kernel) if callable(self.kernel) else repr(self.kernel)
            raise ValueError(
                f"width={self.width!r} belongs to kernel='gaussian', but kernel is {shown}: "
                "leave it out, or set gamma where the kernel has one."
            )
        if self.gamma is not None and self.kernel == "gaussian":
            raise ValueError(
                f"gamma={self.gamma!r} has no part in kernel='gaussian': set its width, or use "
                "kernel='rbf'."
            )
        if self.kernel == PRECOMPUTED and self.landmarks == "kmeans":
            raise ValueError(
                "landmarks='kmeans' needs rows of numbers, but kernel='precomputed' has "
                "similarities alone: use 'random' or 'class'."
            )
        if self.kernel == PRECOMPUTED and self.scale is True:
            raise ValueError(
                "scale=True needs columns of numbers, but kernel='precomputed' has similarities "
                "alone: leave scale out."
            )
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError(
                "kernel_params must be a dict of arguments for a kernel that is a function; set "
                "width, gamma, degree and coef0 for a kernel by name."
            )


class LandmarkChoice:
    """Draw landmarks, as often as asked, from the rows that have weight.

    Parameters
    ----------
    how : {"random", "class", "kmeans"}
        Any rows; as many of each class as there are; the rows next to the centers of clusters.
    n_landmarks : int
        How many; all rows if there are fewer.
    rows : ndarray of int
        The rows to draw from.
    codes : ndarray of int or None
        Class of every row of the table, for "class".
    points_of : callable
        Returns the points of rows, for "kmeans".
    """

    def __init__(
        self,
        how: str,
        n_landmarks: int,
        rows: Rows,
        codes: NDArray[np.integer] | None,
        points_of: Callable[[Rows], Matrix],
    ) -> None:
        self.how = how
        self.n_landmarks = min(n_landmarks, len(rows))
        self.rows = rows
        self.points_of = points_of
        self.groups: list[Rows] = []
        if how == "class" and codes is not None:
            order = np.argsort(codes[rows], kind="stable")
            edges = np.flatnonzero(np.diff(codes[rows][order])) + 1
            self.groups = np.split(rows[order], edges)

    def draw(self, random: RandomState) -> Rows:
        """Return the row numbers of one set of landmarks, in ascending order."""
        if self.how == "class":
            quotas = self._quotas(random)
            drawn = [draw_rows(g, n, random) for g, n in zip(self.groups, quotas, strict=True)]
            return np.sort(np.concatenate(drawn))
        if self.how == "kmeans" and self.n_landmarks:
            return self._near_centers(random)
        return np.sort(draw_rows(self.rows, self.n_landmarks, random))

    def _quotas(self, random: RandomState) -> NDArray[np.int64]:
        """Return the landmarks of each class, dealt out in turn while there are rows."""
        quotas = np.zeros(len(self.groups), np.int64)
        order = random.permutation(len(self.groups))
        left = self.n_landmarks
        while left:
            for group in order:
                if left and quotas[group] < len(self.groups[group]):
                    quotas[group] += 1
                    left -= 1
        return quotas

    def _near_centers(self, random: RandomState) -> Rows:
        """Return the rows nearest to the centers of clusters, and others where some coincide."""
        seen = draw_rows(self.rows, min(_CLUSTER_ROWS, len(self.rows)), random)
        points = self.points_of(seen)
        distinct = len(seen) if is_sparse(points) else len(np.unique(points, axis=0))
        n_clusters = min(self.n_landmarks, distinct)
        from sklearn.cluster import KMeans  # slow to import, rarely needed

        model = KMeans(n_clusters, n_init=1, random_state=random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # rows that hardly differ
            centers = model.fit(points).cluster_centers_
        near = np.unique(seen[pairwise_distances_argmin(centers, points)])
        others = np.setdiff1d(self.rows, near)
        more = draw_rows(others, self.n_landmarks - len(near), random)
        return np.sort(np.concatenate([near, more]))


def slices_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return classes for numbers by rank, or mean rank: ten slices of the same size."""
    if values.ndim > 1:
        ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable")
        values = ranks.mean(axis=1)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return ranks * min(_SLICES, len(values)) // len(values)


def draw_rows(rows: Rows, n_drawn: int, random: RandomState) -> Rows:
    """Return rows drawn without replacement."""
    return rows[sample_without_replacement(len(rows), n_drawn, random_state=random)]


@dataclass(frozen=True, eq=False)
class LandmarkPlan:
    """What all sets of landmarks of a fit have in common."""

    places: PointMap | None
    similarity: Similarity
    choice: LandmarkChoice

    def draw(self, matrix: Any, random: RandomState) -> tuple[Rows, LandmarkMap]:
        """Draw a set of landmarks; return its row numbers and what computes its columns."""
        rows = self.choice.draw(random)
        if self.similarity.metric == PRECOMPUTED:
            return rows, LandmarkMap(None, self.similarity, rows[:, None].astype(np.float64))
        points = matrix[rows] if self.places is None else self.places.points(matrix[rows])
        if is_sparse(points) and not callable(self.similarity.metric):
            points = points.toarray()
        return rows, LandmarkMap(self.places, self.similarity, points)


def plan_landmarks(
    learner: Any,
    matrix: Any,
    schema: Schema,
    rows: Rows,
    codes: NDArray[np.integer] | None,
    *,
    random: RandomState,
) -> LandmarkPlan:
    """Return what all sets of landmarks have in common, learned from the rows of weight."""
    places = None
    if schema.n_columns and learner.kernel != PRECOMPUTED:
        used = matrix if len(rows) == n_rows_of(matrix) else matrix[rows]
        places = learn_map(used, schema, scale=_wanted_scale(learner))

    def points_of(some: Rows) -> Any:
        return matrix[some] if places is None else places.points(matrix[some])

    sample = draw_rows(rows, min(WIDTH_ROWS, len(rows)), random)
    similarity = make_similarity(learner, points_of(sample))
    choice = LandmarkChoice(learner.landmarks, learner.n_landmarks, rows, codes, points_of)
    return LandmarkPlan(places, similarity, choice)


def _wanted_scale(learner: Any) -> bool | str:
    """Return whether columns are scaled, "auto" where that depends on the columns."""
    if not isinstance(learner.scale, str):
        return bool(learner.scale)
    in_own_units = callable(learner.kernel) or _is_given(learner.width) or _is_given(learner.gamma)
    return False if in_own_units else "auto"


def _is_given(value: Any) -> bool:
    """Whether a width or gamma is a number."""
    return value is not None and not isinstance(value, str)
