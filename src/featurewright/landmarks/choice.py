"""Which rows of the training table are landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.random import sample_without_replacement

from featurewright.estimators.points import Matrix

CHOICES = ("random", "class", "kmeans")
_CLUSTER_ROWS = 2000  # rows that k-means looks at
_SLICES = 10

Rows = NDArray[np.int64]


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
        Gives the points of rows, for "kmeans".
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
        """Give the row numbers of one set of landmarks, in ascending order."""
        if self.how == "class":
            quotas = self._quotas(random)
            drawn = [draw_rows(g, n, random) for g, n in zip(self.groups, quotas, strict=True)]
            return np.sort(np.concatenate(drawn))
        if self.how == "kmeans" and self.n_landmarks:
            return self._near_centers(random)
        return np.sort(draw_rows(self.rows, self.n_landmarks, random))

    def _quotas(self, random: RandomState) -> NDArray[np.int64]:
        """Deal landmarks out to the classes in turn, as long as they have rows."""
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
        """Cluster some rows; take the row next to each center, and any others if some coincide."""
        seen = draw_rows(self.rows, min(_CLUSTER_ROWS, len(self.rows)), random)
        points = self.points_of(seen)
        n_clusters = min(self.n_landmarks, len(np.unique(points, axis=0)))
        model = KMeans(n_clusters, n_init=1, random_state=random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # rows that hardly differ
            centers = model.fit(points).cluster_centers_
        near = np.unique(seen[pairwise_distances_argmin(centers, points)])
        others = np.setdiff1d(self.rows, near)
        more = draw_rows(others, self.n_landmarks - len(near), random)
        return np.sort(np.concatenate([near, more]))


def slices_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give numbers classes by rank: ten slices of the same size."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return ranks * min(_SLICES, len(values)) // len(values)


def draw_rows(rows: Rows, n_drawn: int, random: RandomState) -> Rows:
    """Draw rows without putting any back."""
    return rows[sample_without_replacement(len(rows), n_drawn, random_state=random)]
