"""Products of tables with matrices, number by number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def affine(
    table: NDArray[np.float64], matrix: NDArray[np.float64], offset: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up offset + table @ matrix in the order of the columns."""
    out = np.empty((len(table), len(offset)))
    for i, row in enumerate(table):
        for j, total in enumerate(offset):
            for k, value in enumerate(row):
                total = total + value * matrix[k, j]
            out[i, j] = total
    return out
