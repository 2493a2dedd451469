"""Rows of a table as points that a kernel compares, on one scale where asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featurewright.estimators.points import Matrix, Points, filled, learn_points
from featurewright.expressions import Domain
from featurewright.tables import Schema


@dataclass(frozen=True, eq=False)
class PointMap(Points):
    """What was learned to turn rows into points.

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
        """Give the columns with their missing values filled in."""
        return filled(matrix, self.fill)

    def points(self, matrix: Matrix) -> Matrix:
        """Give the points of encoded rows."""
        return self.expand(matrix) / self.scale


def learn_map(matrix: Matrix, schema: Schema, *, scale: bool) -> PointMap:
    """Learn the medians, and the spreads if columns of numbers are to be scaled."""
    fields = learn_points(matrix, schema)
    spread = np.ones(len(fields["names"]))
    for place, column in enumerate(fields["numbers"] if scale else ()):
        known = matrix[:, column]
        known = known[~np.isnan(known)]
        if schema.domains[column] == Domain.REAL and len(known) and known.min() < known.max():
            spread[place] = known.std() or 1.0  # very small numbers have a spread of zero
    return PointMap(**fields, scale=spread)
