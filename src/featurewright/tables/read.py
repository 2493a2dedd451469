"""Read any frame or array as a matrix of floats and a schema."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from featurewright.expressions.domains import Domain
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.tables.columns import (
    check_zero_one,
    encode_column,
    is_written_number,
    label_key,
    learn_column,
    out_of_range,
)
from featurewright.tables.schema import EncodedTable, Levels, Schema, generated_names
from featurewright.tables.sparse import is_sparse
from featurewright.tables.targets import is_missing

Matrix = NDArray[np.floating]
Order = Literal["C", "F"]
_MIN_TEXTS = 100  # different labels, below which no column is taken for free text
_TEXT_SHARE = 0.5  # of the rows that have a label of their own, from which a column is


def learn_schema(X: Any) -> Schema:
    """Learn names, domains and levels of the columns of a table.

    Numbers and decimals are Real, booleans Boolean; strings, categoricals and enums are
    Category. Levels are the labels present, sorted. A column of Python objects is read by its
    values: all booleans, all numbers, or labels; where it mixes text, numbers and booleans,
    every value is a label, sorted by kind ("bool", "bytes", "number", "str") and then by value,
    and ``1`` and ``1.0`` are the same label. A column without any value is Real.

    Parameters
    ----------
    X : frame or array-like of shape (n_rows, n_columns)
        A data frame (pandas, polars, PyArrow, ...) or anything NumPy reads as numbers.

    Returns
    -------
    Schema
        What `encode` needs.

    Examples
    --------
    >>> import polars as pl
    >>> learn_schema(pl.DataFrame({"open": [True, None], "day": ["Mon", "Fri"]})).levels
    (None, ('Fri', 'Mon'))
    """
    frame = _as_frame(X)
    if frame is None:
        return _array_schema(X, _read_array(X, _plain_check, np.dtype(np.float64), "C"))
    return _frame_schema(frame)


def encode(schema: Schema, X: Any, dtype: DTypeLike = np.float64, *, order: Order = "C") -> Matrix:
    """Convert a table to a matrix of floats under a learned schema.

    Missing values are NaN; a Boolean is 0 or 1; a Category is the code of its label, and a label
    not seen before is missing.

    Parameters
    ----------
    schema : Schema
        Learned by `learn_schema`.
    X : frame or array-like of shape (n_rows, n_columns)
        The table.
    dtype : {float32, float64}
        Type of the matrix.
    order : {"C", "F"}, default="C"
        "C" keeps the values of a row together, "F" those of a column.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Contiguous, writable. It may share memory with `X`.

    Examples
    --------
    >>> import polars as pl
    >>> schema = learn_schema(pl.DataFrame({"day": ["Mon", "Fri"]}))
    >>> encode(schema, pl.DataFrame({"day": ["Mon", "Sun", None]})).ravel()
    array([ 1., nan, nan])
    """
    frame = _as_frame(X)
    if frame is None:
        matrix = _read_array(X, _plain_check, np.dtype(dtype), order)
        _check_width(schema, matrix.shape[1])
        return _check_array_domains(schema, matrix)
    _check_width(schema, len(frame.columns))
    return _read_frame(frame, schema, np.dtype(dtype), order)


def fit_table(
    estimator: BaseEstimator,
    X: Any,
    *,
    dtype: DTypeLike = np.float32,
    order: Order = "F",
    joint_levels: bool = False,
    warns_of_text: bool = True,
) -> tuple[Matrix, Schema]:
    """Read the table an estimator is fitted on.

    Sets ``n_features_in_`` and, where the table has names, ``feature_names_in_``.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator being fitted.
    X : frame or array-like of shape (n_rows, n_columns)
        The table.
    dtype : {float32, float64}
        Type of the matrix.
    order : {"C", "F"}, default="F"
        Memory order of the matrix; growing trees reads columns.
    joint_levels : bool, default=False
        Whether all Category columns share one list of levels, so that their codes compare.
    warns_of_text : bool, default=True
        Whether to warn of labels that hardly ever come twice.

    Returns
    -------
    matrix : ndarray of shape (n_rows, n_columns)
        Contiguous, writable. It may share memory with `X`.
    schema : Schema
        To be kept for `apply_table`.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> estimator = BaseEstimator()
    >>> matrix, schema = fit_table(estimator, [[1, 2], [3, None]])
    >>> matrix.dtype, schema.names, estimator.n_features_in_
    (dtype('float32'), ('x0', 'x1'), 2)
    """
    if isinstance(X, EncodedTable):
        estimator.n_features_in_ = X.schema.n_columns
        return np.asarray(X.matrix, dtype=dtype, order=order), X.schema
    frame = _as_frame(X)
    if frame is None:
        check = partial(validate_data, estimator, reset=True)
        matrix = _read_array(X, check, np.dtype(dtype), order)
        return matrix, _array_schema(X, matrix)
    validate_data(estimator, X, reset=True, skip_check_array=True)
    schema = _frame_schema(frame)
    if warns_of_text:
        _warn_of_text(schema, len(frame))
    schema = with_known_levels(schema, estimator)
    if joint_levels:
        schema = _share_levels(schema)
    return _read_frame(frame, schema, np.dtype(dtype), order), schema


def with_known_levels(schema: Schema, estimator: BaseEstimator) -> Schema:
    """Return a schema with the levels that an estimator was told of before its fit, too.

    Where a table is a sample of a larger one, columns of labels have levels that the sample has
    not.
    """
    known: Mapping[str, Levels] = getattr(estimator, "_known_levels", {})
    if not known:
        return schema
    levels = tuple(
        own if own is None else _join_levels([own, known.get(name, ())])
        for name, own in zip(schema.names, schema.levels, strict=True)
    )
    domains = [
        Domain.CATEGORY if own else domain
        for own, domain in zip(levels, schema.domains, strict=True)
    ]
    return replace(schema, levels=levels, domains=np.array(domains, np.int8))


def _join_levels(parts: Iterable[Levels]) -> Levels:
    """Return the different levels of some columns, sorted."""
    keys = {label_key(label) for levels in parts for label in levels}
    return tuple(label for _, label in sorted(keys))


def _warn_of_text(schema: Schema, n_rows: int) -> None:
    """Warn of columns whose labels hardly ever come twice: free text, or names of the rows."""
    for name, levels in zip(schema.names, schema.levels, strict=True):
        if levels is not None and len(levels) >= max(_MIN_TEXTS, _TEXT_SHARE * n_rows):
            warnings.warn(
                f"Column {name!r} has {len(levels):,} different labels in {n_rows:,} rows, which "
                "say nothing about new rows: leave it out, or turn text into numbers first, such "
                "as with scikit-learn's TfidfVectorizer.",
                UserWarning,
                stacklevel=5,
            )


def apply_table(
    estimator: BaseEstimator,
    schema: Schema,
    X: Any,
    *,
    dtype: DTypeLike = np.float32,
    order: Order = "C",
    any_range: bool = False,
) -> Matrix:
    """Read a table for an estimator that has been fitted.

    The number of columns and their names are checked against those of the fit.

    Parameters
    ----------
    estimator : BaseEstimator
        The fitted estimator.
    schema : Schema
        What `fit_table` returned.
    X : frame or array-like of shape (n_rows, n_columns)
        The table.
    dtype : {float32, float64}
        Type of the matrix.
    order : {"C", "F"}, default="C"
        Memory order of the matrix; descending trees reads rows.
    any_range : bool, default=False
        Whether to skip the check for infinite numbers in an array. The caller then has to find
        them, and to call `check_range`; on small inputs the check takes a good part of the time.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Contiguous, writable. It may share memory with `X`.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> estimator = BaseEstimator()
    >>> _, schema = fit_table(estimator, [[1, 2], [3, None]])
    >>> apply_table(estimator, schema, [[5, 6]])
    array([[5., 6.]], dtype=float32)
    """
    if isinstance(X, EncodedTable):
        _check_width(schema, X.schema.n_columns)
        return np.asarray(X.matrix, dtype=dtype, order=order)
    frame = _as_frame(X)
    if frame is None:
        check = partial(validate_data, estimator, reset=False)
        matrix = _read_array(X, check, np.dtype(dtype), order, any_range=any_range)
        return _check_array_domains(schema, matrix)
    check_names(estimator, X)
    return _read_frame(frame, schema, np.dtype(dtype), order)


def check_names(estimator: BaseEstimator, X: Any) -> None:
    """Refuse a frame with other columns than that of the fit, or in another order.

    So does scikit-learn: a pipeline that lost or gained a column is a mistake to be told of.

    Parameters
    ----------
    estimator : BaseEstimator
        The fitted estimator.
    X : frame
        The table.
    """
    try:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    except ValueError as error:
        if hasattr(estimator, "feature_names_in_"):
            error.add_note(
                "Pass the columns of the fit, in its order: X[list(model.feature_names_in_)]."
            )
        raise


# Arrays ---------------------------------------------------------------------------------------


def _plain_check(X: Any, **settings: Any) -> Any:
    """Check an array that belongs to no estimator."""
    return check_array(X, input_name="X", **settings)


def _read_array(
    X: Any,
    check: Callable[..., Any],
    dtype: np.dtype[Any],
    order: Order,
    any_range: bool = False,
) -> Matrix:
    """Convert an array with scikit-learn, then refuse numbers beyond float32."""
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(
            f"X has the dtype {X.dtype}, but numbers are expected: turn dates and durations into "
            "numbers first."
        )
    if isinstance(X, Mapping) and not is_sparse(X):  # SciPy has sparse tables that are dicts
        raise TypeError("X is a dict, but a table is expected: pass pandas.DataFrame(X).")
    if X is None or isinstance(X, Set | Iterator):
        raise ValueError(
            f"X is {'None' if X is None else f'a {type(X).__name__}'}, but a table is expected: "
            "pass a data frame or an array with rows and columns."
        )
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise ValueError(
            "Complex data not supported: X holds complex numbers, so pass their real and imaginary "
            "parts as columns."
        )
    if getattr(getattr(X, "dtype", None), "names", None):
        raise TypeError(
            "X is an array of records, but a table is expected: pass pandas.DataFrame(X)."
        )
    if isinstance(X, np.ma.MaskedArray):  # what a mask hides is missing
        X = np.ma.filled(X.astype(np.float64), np.nan)
    # A number too large becomes infinite here and is reported below, so no warning is due.
    with np.errstate(over="ignore", under="ignore"):
        try:
            matrix = check(X, dtype=dtype, order=order, ensure_all_finite=False)
        except ValueError as error:
            _refuse_shape(X, error)
            _refuse_text(X, error)
            raise
        except TypeError as error:
            _refuse_shape(X, error)
            known = _without_markers(X)
            if known is None:
                raise
            matrix = check(known, dtype=dtype, order=order, ensure_all_finite=False)
            X = known
    if not any_range:
        check_range(matrix, lambda row, column: np.asarray(X)[row, column])
    return _writable(matrix, order)


def _refuse_shape(X: Any, error: Exception) -> None:
    """Say how many dimensions an array has, or that its rows differ, if that is the problem."""
    if is_sparse(X):
        return
    try:
        shape = np.shape(X)
    except ValueError:
        raise ValueError(
            "X has rows of different lengths, or cells that are lists, but one number for each "
            "column is expected in every row: fill the rows up with NaN, or drop the lists."
        ) from error
    if len(shape) == 1 and len(X) and isinstance(X[0], dict):
        raise TypeError(
            "X is a list of dicts, but a table is expected: pass a data frame, such as "
            "pandas.DataFrame(X)."
        ) from error
    if len(shape) < 2 and not isinstance(X, str | bytes):
        raise ValueError(
            f"Expected 2D array, got {f'{len(shape)}D' if shape else 'scalar'} array instead: "
            f"X has the shape {shape}, not rows and columns. Reshape your data, with "
            "X.reshape(-1, 1) if it is one column, or X.reshape(1, -1) if it is one row."
        ) from error


def _without_markers(X: Any) -> NDArray[Any] | None:
    """Return an array of objects with NaN for pandas' markers of missing values; None without."""
    values = np.array(X, dtype=object)
    missing = np.array([is_missing(value) for value in values.ravel()]).reshape(values.shape)
    if not missing.any():
        return None
    values[missing] = np.nan
    return values


def _refuse_text(X: Any, error: ValueError) -> None:
    """Refuse an array that holds text, by the first text that is no number."""
    for value in np.asarray(X, dtype=object).ravel():
        if isinstance(value, str | bytes) and not is_written_number(value):
            raise ValueError(
                f"X is an array that holds the text {value[:40]!r}, but an array is of numbers: "
                "pass a data frame, whose columns may hold labels."
            ) from error


def _writable(matrix: Matrix, order: Order) -> Matrix:
    """Return a matrix, or a copy if it is read-only: that is another type to compiled code."""
    return matrix if matrix.flags.writeable else matrix.copy(order=order)


def check_range(
    matrix: Matrix,
    original: Callable[[int, int], Any] | None = None,
    names: tuple[str, ...] | None = None,
) -> None:
    """Refuse infinite numbers and those beyond float32, naming the first column that has one.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        The values.
    original : callable, optional
        Returns a value as it came, before the conversion, by its row and column.
    names : tuple of str, optional
        Names of the columns; generated ones if not given.
    """
    flat = matrix.ravel(order="K")
    with np.errstate(all="ignore"):
        # One fast pass over the usual table: a small sum of squares has no large term. Unlike dot,
        # einsum starts no threads, which on a busy machine wait longer than the sum takes.
        if np.einsum("i,i->", flat, flat) <= FLOAT_MAX:
            return
        # The two extremes need no second matrix; fmin and fmax ignore missing values.
        lowest, highest = np.fmin.reduce(matrix, axis=None), np.fmax.reduce(matrix, axis=None)
    if not (lowest < -FLOAT_MAX or highest > FLOAT_MAX):
        return
    bad = np.abs(matrix) > FLOAT_MAX
    column = int(np.flatnonzero(bad.any(axis=0))[0])
    row = int(np.flatnonzero(bad[:, column])[0])
    value = float(original(row, column) if original else matrix[row, column])
    text = f"infinity ({value:g})" if np.isinf(value) else f"{value:g}"
    name = names[column] if names is not None else f"x{column}"
    raise ValueError(out_of_range(name, text))


def _array_schema(X: Any, matrix: Matrix) -> Schema:
    """Return the schema of an array: all Real, or all Boolean in an array of booleans."""
    n_columns = matrix.shape[1]
    boolean = getattr(X, "dtype", None) == np.bool_
    return Schema(
        names=generated_names(n_columns),
        given_names=False,
        domains=np.full(n_columns, Domain.BOOLEAN if boolean else Domain.REAL, dtype=np.int8),
        levels=(None,) * n_columns,
    )


def _check_array_domains(schema: Schema, matrix: Matrix) -> Matrix:
    """Refuse an array where the fit saw categories, and numbers where it saw booleans."""
    if not schema.is_numeric:
        first = int(np.flatnonzero(schema.domains == Domain.CATEGORY)[0])
        raise TypeError(
            f"X is an array of numbers, but column {schema.names[first]!r} held labels when the "
            "model was fitted: pass a data frame with the columns of the fit."
        )
    for column in np.flatnonzero(schema.domains == Domain.BOOLEAN):
        check_zero_one(schema.names[column], matrix[:, column])
    return matrix


# Frames ---------------------------------------------------------------------------------------


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a data frame wrapped by narwhals, None for anything else."""
    if nw.dependencies.is_numpy_array(X):
        return None  # the most common case, and the cheapest to recognise
    if nw.dependencies.is_into_dataframe(X):
        _check_unique(X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns)
    wrapped = nw.from_native(X, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        raise TypeError(
            "X is a lazy frame, but its values are needed: pass an eager data frame, such as the "
            "one its collect or compute method returns."
        )
    if not isinstance(wrapped, nw.DataFrame):
        return None
    _check_not_empty(wrapped.shape)
    return wrapped


def _check_unique(names: Iterable[object]) -> None:
    """Refuse a frame with two columns of one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(
                f"X has {times} columns named {name!r}, but names must differ to tell columns "
                "apart: rename them."
            )


def _check_not_empty(shape: tuple[int, int]) -> None:
    """Refuse a frame without rows or columns, with scikit-learn's message for arrays."""
    for what, size in zip(("sample", "feature"), shape, strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _check_width(schema: Schema, n_columns: int) -> None:
    """Refuse a table with another number of columns."""
    if n_columns != schema.n_columns:
        raise ValueError(
            f"X has {n_columns} columns, but {schema.n_columns} are expected: pass the columns "
            "the schema was learned from."
        )


def _frame_schema(frame: nw.DataFrame[Any]) -> Schema:
    """Learn the schema of a frame."""
    columns = list(frame.columns)
    given = [isinstance(name, str) for name in columns]
    if any(given) and not all(given):
        raise TypeError(
            "X has column names of which only some are strings, but all or none are expected: "
            "convert them with X.columns = X.columns.astype(str)."
        )
    names = tuple(columns) if all(given) else generated_names(len(columns))
    learned = [
        learn_column(name, series) for name, series in zip(names, frame.iter_columns(), strict=True)
    ]
    return Schema(
        names=names,
        given_names=all(given),
        domains=np.array([domain for domain, _ in learned], dtype=np.int8),
        levels=tuple(levels for _, levels in learned),
    )


def _share_levels(schema: Schema) -> Schema:
    """Return a schema whose Category columns share one list of levels."""
    joint = _join_levels(levels or () for levels in schema.levels)
    return replace(
        schema,
        levels=tuple(
            joint if domain == Domain.CATEGORY else own
            for domain, own in zip(schema.domains, schema.levels, strict=True)
        ),
    )


def _read_frame(
    frame: nw.DataFrame[Any], schema: Schema, dtype: np.dtype[Any], order: Order
) -> Matrix:
    """Convert a frame in one step if all its columns are plain numbers, else by columns."""
    matrix = _convert_at_once(frame, schema, dtype, order)
    if matrix is None:
        matrix = np.empty(frame.shape, dtype=dtype, order=order)
        for column, series in enumerate(frame.iter_columns()):
            values = encode_column(
                schema.names[column],
                series,
                Domain(schema.domains[column]),
                schema.levels[column],
            )
            with np.errstate(over="ignore", under="ignore"):
                matrix[:, column] = values
    check_range(matrix, frame.item, schema.names)
    return matrix


def _convert_at_once(
    frame: nw.DataFrame[Any], schema: Schema, dtype: np.dtype[Any], order: Order
) -> Matrix | None:
    """Convert a frame of plain numbers in one step; return None for any other frame."""
    if np.any(schema.domains != Domain.REAL) or any(levels == () for levels in schema.levels):
        return None
    kinds = frame.schema.dtypes()
    if not all(kind.is_float() or kind.is_integer() for kind in kinds):
        return None
    if any(kind in (nw.Int128, nw.UInt128) for kind in kinds):  # NumPy has no such numbers
        return None
    values = frame.to_numpy()
    if values.dtype.kind not in "fiu":
        return None
    with np.errstate(over="ignore", under="ignore"):
        return _writable(np.asarray(values, dtype=dtype, order=order), order)
