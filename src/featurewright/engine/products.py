"""Products of tables with matrices, each number of which is added up in one order.

Libraries of linear algebra add up in an order that depends on the processor and on the number of
rows, so that a row alone gets other last digits than among others. Here it is always that of the
columns.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from featurewright.engine.compiler import kernel
from featurewright.engine.threads import local_threads, run_in_threads

Matrix = NDArray[np.float64]

_INNER = 64  # columns of the table in a tile
_OUTER = 256  # columns of the result in a tile: with these a tile of the matrix stays in the cache
_ROWS_AT_ONCE = 256  # that a tile is used for before the next one
_CELLS_PER_THREAD = 200_000  # products below which another thread costs more than it saves


@kernel
def add_products(table, matrix, first, last, out):
    """Add table @ matrix to some rows of a result, in the order of the table's columns.

    Four columns are added in one sweep over a row of the result, which is loaded and stored once.
    """
    n_inner, n_outer = matrix.shape
    for top in range(first, last, _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, last)
        for left in range(0, n_outer, _OUTER):
            right = min(left + _OUTER, n_outer)
            for start in range(0, n_inner, _INNER):
                stop = min(start + _INNER, n_inner)
                fours = start + (stop - start) // 4 * 4
                for i in range(top, bottom):
                    sums = out[i, left:right]
                    for k in range(start, fours, 4):
                        x, y, z, w = table[i, k], table[i, k + 1], table[i, k + 2], table[i, k + 3]
                        a, b = matrix[k, left:right], matrix[k + 1, left:right]
                        c, d = matrix[k + 2, left:right], matrix[k + 3, left:right]
                        for j in range(sums.shape[0]):
                            sums[j] = (((sums[j] + x * a[j]) + y * b[j]) + z * c[j]) + w * d[j]
                    for k in range(fours, stop):
                        x = table[i, k]
                        a = matrix[k, left:right]
                        for j in range(sums.shape[0]):
                            sums[j] += x * a[j]


def affine(table: Matrix, matrix: Matrix, offset: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return offset + table @ matrix, the same for a row alone and in a table.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        Rows.
    matrix : ndarray of shape (n_columns, n_outputs)
        Coefficients.
    offset : ndarray of shape (n_outputs,)
        What the sums start with.
    n_jobs : int, optional
        Threads; they change nothing.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        The products.

    Examples
    --------
    >>> affine(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([0.5])).tolist()
    [[11.5]]
    """
    table, matrix = np.ascontiguousarray(table), np.ascontiguousarray(matrix)
    out = np.empty((len(table), len(offset)))
    out[:] = offset
    threads = min(local_threads(n_jobs), 1 + len(table) * matrix.size // _CELLS_PER_THREAD)
    edges = np.linspace(0, len(table), threads + 1).astype(np.int64).tolist()
    tasks = [partial(add_products, table, matrix, *pair, out) for pair in pairwise(edges)]
    run_in_threads(tasks, threads)
    return out
