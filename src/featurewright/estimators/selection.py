"""Selection of columns: without redundant ones, and by orthogonal matching pursuit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

Matrix = NDArray[np.float64]

MAX_CORRELATION = 0.98
_MIN_OWN_SHARE = 0.05  # of a column's length, that those taken before do not explain
_MAX_ROWS = 5_000  # rows on which columns are compared, about
# Processors round sums differently. Shares of a target are compared by these decimals, so that
# columns that explain the same are equal everywhere, and the first one is taken.
_COMPARED_DECIMALS = 9
_MIN_AXIS = 1e-7  # length of a column's own part, below which it is a combination of others


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


class Pursuit:
    """Orthogonal matching pursuit: columns are taken one by one, each explains most of the rest.

    Parameters
    ----------
    base : ndarray of shape (n_rows, n_columns)
        Columns whose explanation comes first.
    target : ndarray of shape (n_rows, n_targets)
        What is to be explained.

    Attributes
    ----------
    rest : ndarray of shape (n_rows, n_targets)
        The part of the target, scaled to length one, that no column taken so far explains.
    """

    def __init__(self, base: Matrix, target: Matrix) -> None:
        self._axes = _orthonormal_basis(normalized(base))
        rest = target - target.mean(axis=0)
        length = np.sqrt((rest**2).sum(axis=0))
        rest = rest / np.where(length > 0, length, 1.0)
        self.rest: Matrix = rest - self._axes @ (self._axes.T @ rest)

    def own_parts(self, columns: Matrix) -> Matrix:
        """Return columns scaled to length one, without what those taken before say."""
        return self.own_part(normalized(columns))

    def own_part(self, scaled: Matrix) -> Matrix:
        """Return columns of length one without what those taken before say."""
        return np.asarray(scaled - self._axes @ (self._axes.T @ scaled))

    def explained(self, scaled: Matrix) -> Matrix:
        """Return the share of the target that each column of length one explains beyond others.

        It is -1 where too little of a column is its own. The rest is at right angles to what was
        taken before, so the own parts of the columns are not needed.
        """
        squares = 1.0 - ((self._axes.T @ scaled) ** 2).sum(axis=0)
        enough = squares > _MIN_OWN_SHARE**2
        gains = ((scaled.T @ self.rest) ** 2).sum(axis=1)
        shares = gains / np.where(enough, squares, 1.0) / self.rest.shape[1]
        return np.where(enough, _comparable(shares), -1.0)

    def take(self, own: Matrix) -> tuple[Matrix, Matrix]:
        """Take a column, given its own part; return the direction it adds, and what that explains.

        The second is the product of the direction with the rest of each target before.
        """
        own = own - self._axes @ (self._axes.T @ own)
        axis = own / np.sqrt(own @ own)
        product = axis @ self.rest
        self.rest = self.rest - np.outer(axis, product)
        self._axes = np.column_stack([self._axes, axis])
        return axis, product


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
    pursuit = Pursuit(base[rows], target[rows])
    found = PoolGains(pursuit, pool[rows])
    taken: list[int] = []
    explained: list[float] = []
    while len(taken) < wanted:
        gains = found.gains()
        best = int(np.argmax(worth * gains)) if len(gains) else -1
        if best < 0 or gains[best] <= 0.0:
            break
        taken.append(best)
        explained.append(float(gains[best]))
        found.remove(*pursuit.take(found.own[:, best]))
        found.close(best)
    return np.array(taken, dtype=np.intp), np.array(explained)


class PoolGains:
    """What each column of a pool explains, kept up to date while a pursuit takes columns.

    Parameters
    ----------
    pursuit : Pursuit
        The pursuit.
    columns : ndarray of shape (n_rows, n_columns)
        The pool.

    Attributes
    ----------
    own : ndarray of shape (n_rows, n_columns)
        The columns without what the base columns say.
    """

    def __init__(self, pursuit: Pursuit, columns: Matrix) -> None:
        self.own = pursuit.own_parts(columns)
        self._squares = (self.own**2).sum(axis=0)
        self._products = self.own.T @ pursuit.rest
        self._open = np.ones(self.own.shape[1], dtype=bool)

    def gains(self) -> Matrix:
        """Return the share of the target that each column explains now; -1 if it adds nothing."""
        self._open &= self._squares > _MIN_OWN_SHARE**2
        gains = (self._products**2).sum(axis=1) / self._products.shape[1]
        shares = gains / np.where(self._open, self._squares, 1.0)
        return np.where(self._open, _comparable(shares), -1.0)

    def remove(self, axis: Matrix, product: Matrix) -> None:
        """Remove a direction that the pursuit has taken; the parameters are what it returned.

        The rest is at right angles to all directions taken before, so only the new one counts.
        """
        shares = axis @ self.own
        self._squares = np.maximum(self._squares - shares**2, 0.0)
        self._products -= np.outer(shares, product)

    def close(self, place: int) -> None:
        """Take a column out of the pool."""
        self._open[place] = False


def left_over(columns: Matrix, target: Matrix) -> Matrix:
    """Return the residuals of least squares, in standard deviations of the target."""
    centred = target - target.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    centred /= np.where(spread > 0, spread, 1.0)
    basis = _orthonormal_basis(normalized(columns))
    return np.asarray(centred - basis @ (basis.T @ centred))


def _comparable(shares: Matrix) -> Matrix:
    """Return shares of a target without the digits that differ between processors."""
    return np.round(shares, _COMPARED_DECIMALS)


def _orthonormal_basis(columns: Matrix) -> Matrix:
    """Return an orthonormal basis of what the first columns span, as many as half of the rows.

    A column that is a combination of others has a direction of rounding errors alone, another one
    on each processor; with pivoting these come last and are left out.
    """
    varied = columns[:, np.abs(columns).sum(axis=0) > 0][:, : max(1, len(columns) // 2)]
    if not varied.shape[1]:
        return np.empty((len(columns), 0))
    basis, triangle, _ = qr(varied, mode="economic", pivoting=True, check_finite=False)
    return np.asarray(basis[:, np.abs(np.diag(triangle)) > _MIN_AXIS])
