"""Rows of a table as points that a kernel compares: nothing missing, no labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions import Domain
from featurewright.tables import Schema

Matrix = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class PointMap:
    """What was learned to turn rows into points.

    Attributes
    ----------
    fill : ndarray
        What stands in for a missing value of each column: its median; of labels and booleans, the
        middle one, which is a value that occurs.
    scale : ndarray
        What each column of numbers is divided by.
    numbers : ndarray of int64
        Columns taken as they are; they come first.
    labels : tuple of (column, number of levels)
        Columns of labels: one coordinate for each level, 1 where the row has it. A missing label
        is 0 in all of them.
    """

    fill: Matrix
    scale: Matrix
    numbers: NDArray[np.int64]
    labels: tuple[tuple[int, int], ...]

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates of a point."""
        return len(self.numbers) + sum(n_levels for _, n_levels in self.labels)

    def filled(self, matrix: Matrix) -> Matrix:
        """Give the columns with their missing values filled in."""
        return np.where(np.isnan(matrix), self.fill, matrix)

    def points(self, matrix: Matrix) -> Matrix:
        """Give the points of encoded rows."""
        out = np.empty((len(matrix), self.n_coordinates))
        start = len(self.numbers)
        values = matrix[:, self.numbers]
        fill = self.fill[self.numbers]
        out[:, :start] = np.where(np.isnan(values), fill, values) / self.scale[self.numbers]
        for column, n_levels in self.labels:
            levels = np.arange(n_levels)
            out[:, start : start + n_levels] = matrix[:, column, np.newaxis] == levels
            start += n_levels
        return out


def learn_points(matrix: Matrix, schema: Schema, *, scale: bool) -> PointMap:
    """Learn the medians, and the spreads if columns of numbers are to be scaled."""
    labelled = [column for column, domain in enumerate(schema.domains) if domain == Domain.CATEGORY]
    fill, spread = np.zeros(schema.n_columns), np.ones(schema.n_columns)
    for column, domain in enumerate(schema.domains):
        known = matrix[:, column]
        known = known[~np.isnan(known)]
        if len(known) == 0:
            continue
        if domain != Domain.REAL:
            fill[column] = np.quantile(known, 0.5, method="inverted_cdf")
            continue
        fill[column] = np.median(known)
        if scale and known.min() < known.max():
            spread[column] = known.std() or 1.0  # very small numbers have a spread of zero
    return PointMap(
        fill=fill,
        scale=spread,
        numbers=np.setdiff1d(np.arange(schema.n_columns), labelled),
        labels=tuple((column, len(schema.levels[column] or ())) for column in labelled),
    )
