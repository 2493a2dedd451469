"""Measures of the quality of features and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from featurewright.tables import holds_numbers, read_classes

_BLOCK_ROWS = 256  # rows of the kernel matrix compared at a time


def target_alignment(K: Any, y: Any) -> float:
    """Measure how well a kernel matrix agrees with classes.

    Return the cosine between the kernel matrix and the ideal one, which is 1 for two rows of one
    class and -1 for two rows of different classes. The diagonal does not count. The ideal matrix
    is never held in memory.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Similarities of all rows with all rows.
    y : array-like of shape (n_samples,)
        Their classes, two or more.

    Returns
    -------
    float
        Between -1 and 1; 0 where all similarities are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright.metrics import target_alignment
    >>> y = ["a", "a", "b"]
    >>> ideal = np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    >>> target_alignment(ideal, y)
    1.0
    >>> round(target_alignment(np.ones((3, 3)), y), 3)
    -0.333
    """
    matrix = check_array(K, dtype=(np.float64, np.float32), input_name="K")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"K has the shape {matrix.shape}, but a kernel matrix is square: compare all rows with "
            "all rows."
        )
    labels = column_or_1d(y)
    check_consistent_length(matrix, labels)
    if holds_numbers(labels):
        raise ValueError("y holds numbers that are not whole, but classes are expected.")
    if len(labels) < 2:
        raise ValueError("K has one row, but at least two are needed to compare.")
    target = read_classes(labels)
    codes = target.codes
    if len(target.classes) == 1:
        only = labels.tolist()[0]
        raise ValueError(
            f"y has one class only, {only!r}, but two or more are needed to "
            "compare: pass rows of another class too."
        )
    # Squares of very large or very small similarities would overflow or vanish.
    largest = max(float(matrix.max()), -float(matrix.min())) or 1.0
    agreement = squares = 0.0
    for first in range(0, len(matrix), _BLOCK_ROWS):
        rows = matrix[first : first + _BLOCK_ROWS].astype(np.float64) / largest
        own = np.arange(len(rows))
        rows[own, first + own] = 0.0
        squares += float(np.vdot(rows, rows))
        same = codes[first : first + _BLOCK_ROWS, None] == codes[None, :]
        agreement += 2.0 * float(rows[same].sum()) - float(rows.sum())
    pairs = float(len(matrix)) * (len(matrix) - 1)
    return float(np.clip(agreement / np.sqrt(squares * pairs), -1.0, 1.0)) if squares else 0.0
