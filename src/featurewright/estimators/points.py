"""Rows of a table as points, for linear models and kernels: nothing missing, no labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.expressions import Domain
from featurewright.tables import Schema

Matrix = npt.NDArray[np.floating[Any]]

MAX_LEVELS = 1_000  # every level is a coordinate


@dataclass(frozen=True, eq=False)
class Points:
    """What `fit` learned to turn encoded rows into points.

    Parameters
    ----------
    names : tuple of str
        Names of the coordinates.
    fill : ndarray of shape (n_columns,)
        What stands in for a missing value of each column: its median; of labels and booleans, the
        middle one, which is a value that occurs.
    numbers : ndarray of int
        Columns of numbers and booleans; they come first.
    labels : tuple of (int, int)
        Column and number of levels of each category: one coordinate for each level, 1 where the row
        has it. A missing label is 0 in all of them.

    Examples
    --------
    >>> from featurewright.tables import encode, learn_schema
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.0, None, 5.0], "colour": ["red", "blue", None]})
    >>> schema = learn_schema(frame)
    >>> points = Points(**learn_points(encode(schema, frame), schema))
    >>> points.names
    ('size', 'colour = blue', 'colour = red')
    >>> points.expand(encode(schema, frame))
    array([[1., 0., 1.],
           [3., 1., 0.],
           [5., 0., 0.]])
    """

    names: tuple[str, ...]
    fill: Matrix
    numbers: npt.NDArray[np.intp]
    labels: tuple[tuple[int, int], ...]

    def expand(self, matrix: Matrix) -> Matrix:
        """Return points: missing numbers filled in, categories as indicators."""
        if not self.labels:
            return filled(matrix, self.fill)
        out = np.zeros((len(matrix), len(self.names)))
        start = len(self.numbers)
        out[:, :start] = filled(matrix[:, self.numbers], self.fill[self.numbers])
        for column, n_levels in self.labels:
            rows = np.flatnonzero(~np.isnan(matrix[:, column]))
            out[rows, start + matrix[rows, column].astype(np.intp)] = 1.0
            start += n_levels
        return out


def learn_points(matrix: Matrix, schema: Schema) -> dict[str, Any]:
    """Learn the fields of `Points`: fills from the training rows, indicators from the schema."""
    is_label = schema.domains == Domain.CATEGORY
    numbers = np.flatnonzero(~is_label)
    names = [schema.names[column] for column in numbers]
    labels = []
    for column in np.flatnonzero(is_label):
        levels = schema.levels[column] or ()
        if len(levels) > MAX_LEVELS:
            raise ValueError(
                f"Column {schema.names[column]!r} has {len(levels)} different labels, but at most "
                f"{MAX_LEVELS} can become columns: drop it, or join rare labels."
            )
        labels.append((int(column), len(levels)))
        names += [f"{schema.names[column]} = {level}" for level in levels]
    return {
        "names": tuple(names),
        "fill": _fills(matrix, schema),
        "numbers": numbers,
        "labels": tuple(labels),
    }


def filled(matrix: Matrix, fill: Matrix) -> Matrix:
    """Return a table with missing numbers filled in; itself where there are none."""
    gaps = np.isnan(matrix)
    return np.where(gaps, fill, matrix) if gaps.any() else matrix


def _fills(matrix: Matrix, schema: Schema) -> Matrix:
    """Return the middle value of each column, 0 for one without values."""
    fill = np.zeros(schema.n_columns)
    for column, domain in enumerate(schema.domains):
        known = matrix[:, column]
        known = known[~np.isnan(known)]
        if len(known) and domain == Domain.REAL:
            fill[column] = np.median(known)
        elif len(known):
            fill[column] = np.quantile(known, 0.5, method="inverted_cdf")
    return fill
