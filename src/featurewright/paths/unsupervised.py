"""What trees grow on without a target: the table itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from featurewright.estimators.base import center_and_scale
from featurewright.expressions import Domain
from featurewright.tables import Schema

_MAX_LEVELS = 20  # levels of a category that are told apart, the most frequent ones


def table_as_target(
    matrix: npt.NDArray[np.float32], schema: Schema, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Give the columns of a table as targets of variance one each; missing cells are the mean.

    A category has a column for each of its most frequent levels, whose variances add up to one.
    """
    targets = []
    for column, domain in enumerate(schema.domains):
        values = matrix[:, column].astype(np.float64)
        if domain == Domain.CATEGORY:
            levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
            levels = levels[np.argsort(-counts, kind="stable")[:_MAX_LEVELS]]
            block = _standardise(
                np.where(np.isnan(values)[:, None], np.nan, values[:, None] == levels), weights
            )
            targets.append(block / np.sqrt(max(1, block.shape[1])))
        else:
            targets.append(_standardise(values[:, None], weights))
    return np.hstack(targets)


def _standardise(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Bring columns to mean zero and variance one, missing cells to zero."""
    out = np.zeros(values.shape)
    for k in range(values.shape[1]):
        known = ~np.isnan(values[:, k])
        if weights[known].sum() > 0:
            center, scale = center_and_scale(values[known, k : k + 1], weights[known])
            out[known, k] = (values[known, k] - center) / scale
    return out
