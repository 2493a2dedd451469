"""Read sparse tables, for methods that need no dense matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from featurewright.expressions.domains import Domain
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.tables.columns import out_of_range
from featurewright.tables.schema import Schema, generated_names

_BLOCK_CELLS = 2**24  # of the dense part of a sparse table: 64 MB


def read_sparse(
    estimator: BaseEstimator, X: Any, schema: Schema | None = None
) -> tuple[Any, Schema]:
    """Read a sparse table for an estimator as rows of float64.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator: being fitted, or fitted where `schema` is given.
    X : sparse matrix or array of shape (n_rows, n_columns)
        Finite numbers.
    schema : Schema, optional
        What the fit learned; its columns must be numbers.

    Returns
    -------
    matrix : sparse matrix or array in CSR form
        The table.
    schema : Schema
        That of the fit, or one of numbers with generated names.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sklearn.base import BaseEstimator
    >>> matrix, schema = read_sparse(BaseEstimator(), sparse.csr_array([[0, 2], [1, 0]]))
    >>> matrix.nnz, schema.names
    (2, ('x0', 'x1'))
    """
    if schema is not None and not schema.is_numeric:
        raise TypeError(
            "X is sparse, but the model was fitted on a table with labels: pass a data frame with "
            "the columns of the fit."
        )
    matrix = validate_data(
        estimator,
        X,
        reset=schema is None,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
    )
    _check_stored(matrix)
    if schema is None:
        n_columns = matrix.shape[1]
        schema = Schema(
            names=generated_names(n_columns),
            given_names=False,
            domains=np.full(n_columns, Domain.REAL, dtype=np.int8),
            levels=(None,) * n_columns,
        )
    return matrix, schema


def _check_stored(matrix: Any) -> None:
    """Refuse missing, infinite and too large entries, naming the first column that has one."""
    stored: NDArray[np.float64] = matrix.data
    bad = np.flatnonzero(~(np.abs(stored) <= FLOAT_MAX))
    if bad.size == 0:
        return
    value, column = float(stored[bad[0]]), int(matrix.indices[bad[0]])
    if np.isnan(value):
        raise ValueError(
            f"Column 'x{column}' of a sparse table contains NaN, but only numbers are expected "
            "there: fill it, or pass a dense table, which may have missing values."
        )
    raise ValueError(out_of_range(f"x{column}", "infinity" if np.isinf(value) else f"{value:g}"))


def as_dense(matrix: Any) -> NDArray[np.float32]:
    """Return the rows of a sparse table as a dense matrix of float32.

    Parameters
    ----------
    matrix : sparse matrix or array
        What `read_sparse` returned, or some of its rows.

    Returns
    -------
    ndarray of float32
        In the order of rows.

    Examples
    --------
    >>> as_dense(sparse.csr_array([[0.0, 2.0]]))
    array([[0., 2.]], dtype=float32)
    """
    dense: NDArray[np.float32] = matrix.astype(np.float32).toarray(order="C")
    return dense


def dense_blocks(matrix: Any) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Return the rows of a sparse table as dense blocks of limited size.

    Parameters
    ----------
    matrix : sparse matrix or array in CSR form
        What `read_sparse` returned.

    Yields
    ------
    first : int
        Number of the first row of a block.
    block : ndarray of float32
        Its rows.

    Examples
    --------
    >>> [(first, block.shape) for first, block in dense_blocks(sparse.csr_array((5, 2)))]
    [(0, (5, 2))]
    """
    n_rows, n_columns = matrix.shape
    step = max(1, _BLOCK_CELLS // max(1, n_columns))
    for first in range(0, n_rows, step):
        yield first, as_dense(matrix[first : first + step])


def is_sparse(X: Any) -> bool:
    """Whether a table is a SciPy sparse matrix or array.

    Examples
    --------
    >>> is_sparse([[0, 1]])
    False
    """
    return bool(sparse.issparse(X))
