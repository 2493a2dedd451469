"""Selection of columns: without redundant ones, and by orthogonal matching pursuit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

MAX_CORRELATION = 0.98
_MIN_OWN_SHARE = 0.05  # of a column's length, that those taken before do not explain
_MAX_ROWS = 5_000  # rows on which columns are compared, about


def indicator_target(y: NDArray[Any], kind: str) -> Matrix:
    """Return the target as columns of numbers: one for each class, or the numbers themselves."""
    if kind == "classification":
        classes, codes = np.unique(y, return_inverse=True)
        return np.asarray(codes[:, np.newaxis] == np.arange(len(classes)), dtype=np.float64)
    values = np.asarray(y, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


def row_sample(n_rows: int) -> slice:
    """Return an evenly spaced subsample of a few thousand rows."""
    return slice(None, None, max(1, n_rows // _MAX_ROWS))


def normalized(columns: Matrix) -> Matrix:
    """Return columns centred and scaled to length one; constant ones become 0."""
    largest = np.abs(columns).max(axis=0, initial=1e-300)
    scaled = columns / np.where(largest > 0, largest, 1.0)  # squares of large numbers overflow
    centred = scaled - scaled.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(length > 1e-9, length, np.inf))


def distinct(base: Matrix, pool: Matrix, limit: float = MAX_CORRELATION) -> NDArray[np.intp]:
    """Return the columns of a pool that correlate with no base column and no earlier one."""
    rows = row_sample(len(pool))
    known, new = normalized(base[rows]), normalized(pool[rows])
    fresh = np.abs(new).sum(axis=0) > 0
    for start in range(0, known.shape[1], 256):
        block = np.abs(known[:, start : start + 256].T @ new)
        fresh &= block.max(axis=0, initial=0.0) <= limit
    among = np.abs(new.T @ new)
    taken: list[int] = []
    for k in np.flatnonzero(fresh):
        if not taken or among[k, taken].max() <= limit:
            taken.append(int(k))
    return np.array(taken, dtype=np.intp)


def by_residual(base: Matrix, pool: Matrix, target: Matrix, wanted: int) -> NDArray[np.intp]:
    """Return columns in the order of orthogonal matching pursuit: each explains most of the rest.

    The base columns come first. A column that is almost a combination of others is not taken.
    """
    return pursue(base, pool, target, wanted)[0]


def pursue(
    base: Matrix, pool: Matrix, target: Matrix, wanted: int, worth: Matrix | float = 1.0
) -> tuple[NDArray[np.intp], Matrix]:
    """Return the order of `by_residual`, and the share of the target that each column explains.

    Columns are compared by what they explain times their worth.
    """
    rows = row_sample(len(pool))
    basis, _ = np.linalg.qr(_varied(normalized(base[rows])))
    rest = target[rows] - target[rows].mean(axis=0)
    length = np.sqrt((rest**2).sum(axis=0))
    rest = rest / np.where(length > 0, length, 1.0)
    rest -= basis @ (basis.T @ rest)
    columns = normalized(pool[rows])
    columns -= basis @ (basis.T @ columns)
    squares = (columns**2).sum(axis=0)
    taken: list[int] = []
    explained: list[float] = []
    open_ = np.ones(columns.shape[1], dtype=bool)
    while len(taken) < wanted:
        open_ &= squares > _MIN_OWN_SHARE**2
        if not open_.any():
            break
        gains = ((columns.T @ rest) ** 2).sum(axis=1)
        gains = np.where(open_, gains / np.where(open_, squares, 1.0), -1.0)
        best = int(np.argmax(worth * gains))
        if gains[best] <= 0.0:
            break
        taken.append(best)
        explained.append(float(gains[best]) / rest.shape[1])
        open_[best] = False
        axis = columns[:, best] / np.sqrt(squares[best])
        rest -= np.outer(axis, axis @ rest)
        shares = axis @ columns
        columns -= np.outer(axis, shares)
        squares = np.maximum(squares - shares**2, 0.0)
    return np.array(taken, dtype=np.intp), np.array(explained)


def left_over(columns: Matrix, target: Matrix) -> Matrix:
    """Return the residuals of least squares, in standard deviations of the target."""
    centred = target - target.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    centred /= np.where(spread > 0, spread, 1.0)
    basis, _ = np.linalg.qr(_varied(normalized(columns)))
    return np.asarray(centred - basis @ (basis.T @ centred))


def _varied(columns: Matrix) -> Matrix:
    """Return the columns that are not constant, at most half as many as rows."""
    varied = columns[:, np.abs(columns).sum(axis=0) > 0]
    return varied[:, : max(1, len(columns) // 2)]
