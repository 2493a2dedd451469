"""Orders in which constructed columns are taken: by gain, or by what is left to explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

MAX_CORRELATION = 0.98
_OWN = 0.05  # share of a column's length that others must not explain for it to be taken
_ROWS = 5_000  # rows looked at


def indicator_target(y: NDArray[Any], kind: str) -> Matrix:
    """Give the target as columns of numbers: one for each class, or the numbers themselves."""
    if kind == "classification":
        classes, codes = np.unique(y, return_inverse=True)
        return np.asarray(codes[:, np.newaxis] == np.arange(len(classes)), dtype=np.float64)
    values = np.asarray(y, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


def some(n_rows: int) -> slice:
    """Give a few thousand rows, spread over the table."""
    return slice(None, None, max(1, n_rows // _ROWS))


def normalized(columns: Matrix) -> Matrix:
    """Centre columns and bring them to length one; constant ones become 0."""
    largest = np.abs(columns).max(axis=0, initial=1e-300)
    scaled = columns / np.where(largest > 0, largest, 1.0)  # squares of large numbers overflow
    centred = scaled - scaled.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(centred / np.where(length > 1e-9, length, np.inf))


def distinct(base: Matrix, pool: Matrix, limit: float = MAX_CORRELATION) -> NDArray[np.intp]:
    """Give the columns of a pool that neither a base nor an earlier one says already."""
    rows = some(len(pool))
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
    """Order columns by orthogonal matching pursuit: each explains most of what is left.

    The base columns explain first. A column that the others explain almost wholly is not taken.
    """
    return pursue(base, pool, target, wanted)[0]


def pursue(
    base: Matrix, pool: Matrix, target: Matrix, wanted: int, worth: Matrix | float = 1.0
) -> tuple[NDArray[np.intp], Matrix]:
    """Do what `by_residual` does; give the share of the target that each column explained, too.

    What a column explains counts as much as it is worth.
    """
    rows = some(len(pool))
    basis, _ = np.linalg.qr(_spread(normalized(base[rows])))
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
        open_ &= squares > _OWN**2
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
    """Give what least squares on some columns leaves of a target, in units of its spread."""
    centred = target - target.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    centred /= np.where(spread > 0, spread, 1.0)
    basis, _ = np.linalg.qr(_spread(normalized(columns)))
    return np.asarray(centred - basis @ (basis.T @ centred))


def _spread(columns: Matrix) -> Matrix:
    """Leave out columns that are constant here, and keep fewer columns than rows."""
    varied = columns[:, np.abs(columns).sum(axis=0) > 0]
    return varied[:, : max(1, len(columns) // 2)]
