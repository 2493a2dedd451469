"""Read targets and weights as arrays of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from math import isnan
from numbers import Complex, Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target

from featurewright.expressions.text import shorten

_LEAST_WEIGHT, _MOST_WEIGHT = 1e-100, 1e100  # of the largest weight; others are scaled


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """One column of classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    codes : ndarray of int32, shape (n_rows,)
        Position of each row's label in `classes`.

    Examples
    --------
    >>> target = read_classes(["b", "a", "b"])
    >>> target.classes.tolist(), target.codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """

    classes: NDArray[Any]
    codes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MultiTarget:
    """Several columns of classes.

    Parameters
    ----------
    classes : tuple of ndarray
        The labels of each column, sorted.
    codes : ndarray of int32, shape (n_rows, n_outputs)
        Position of each label in the classes of its column.
    multilabel : bool
        Whether it is an indicator matrix, in which every column is 0 or 1.

    Examples
    --------
    >>> target = read_classes([[0, 1], [1, 1], [1, 0]])
    >>> target.multilabel, target.codes.tolist()
    (True, [[0, 1], [1, 1], [1, 0]])
    """

    classes: tuple[NDArray[Any], ...]
    codes: NDArray[np.int32]
    multilabel: bool


def holds_numbers(y: Any) -> bool:
    """Whether a target is of numbers rather than classes: as in scikit-learn, some are not whole.

    Parameters
    ----------
    y : array-like, Series or frame of shape (n_rows,) or (n_rows, n_outputs)
        A target.

    Returns
    -------
    bool
        False for classes, which may be whole numbers.

    Examples
    --------
    >>> holds_numbers([0.5, 2.0]), holds_numbers([1.0, 2.0]), holds_numbers(["a", "b"])
    (True, False, False)
    """
    values = as_array(y)
    _check_present(values)
    with np.errstate(invalid="ignore"):  # scikit-learn casts very large numbers to integers
        return str(type_of_target(values, input_name="y")).startswith("continuous")


def read_classes(y: Any, n_rows: int | None = None) -> ClassTarget | MultiTarget:
    """Read the target of a classifier.

    Parameters
    ----------
    y : array-like, Series or frame of shape (n_rows,) or (n_rows, n_outputs)
        Labels of any type scikit-learn takes.
    n_rows : int, optional
        Number of rows of the table, to be checked.

    Returns
    -------
    ClassTarget or MultiTarget
        A `MultiTarget` for a label indicator matrix and for several columns of classes.

    Examples
    --------
    >>> read_classes([10, 30, 10]).codes
    array([0, 1, 0], dtype=int32)
    """
    labels = as_array(y)
    _check_length("y", labels, n_rows)
    _check_present(labels)
    kind = type_of_target(labels, input_name="y")
    if kind in ("binary", "multiclass"):
        classes, codes = np.unique(column_or_1d(labels, warn=True), return_inverse=True)
        return ClassTarget(classes, codes.astype(np.int32))
    if kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: y holds numbers that are not whole ({kind}), but a classifier "
            "expects classes: use a regressor, or cut the numbers into classes."
        )
    if kind not in ("multilabel-indicator", "multiclass-multioutput"):
        odd = labels.ravel()[0]
        raise ValueError(
            f"Unknown label type: y holds {odd!r} of the type {type(odd).__name__}, but classes "
            "are text, whole numbers or booleans: convert y to text."
        )
    columns = [np.unique(column, return_inverse=True) for column in labels.T]
    return MultiTarget(
        classes=tuple(classes for classes, _ in columns),
        codes=np.column_stack([codes for _, codes in columns]).astype(np.int32),
        multilabel=kind == "multilabel-indicator",
    )


def read_numbers(
    y: Any,
    n_rows: int | None = None,
    *,
    reader: str = "a regressor",
    instead: str = "use a classifier",
) -> NDArray[np.float64]:
    """Read the target of a regressor.

    Parameters
    ----------
    y : array-like, Series or frame of shape (n_rows,) or (n_rows, n_outputs)
        Finite numbers.
    n_rows : int, optional
        Number of rows of the table, to be checked.
    reader, instead : str
        For the error: who expects numbers, and what to do if there are none.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        One column for a target of one dimension.

    Examples
    --------
    >>> read_numbers([1, 2, 4]).shape
    (3, 1)
    """
    values = as_array(y)
    _check_length("y", values, n_rows)
    if values.dtype.kind not in "fiubO":
        raise ValueError(
            f"y has the dtype {values.dtype}, but {reader} expects numbers: convert y, or "
            f"{instead}."
        )
    _check_present(values)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds values that are not numbers, but {reader} expects numbers: convert y, or "
            f"{instead}."
        ) from error
    _check_present(numbers)
    if numbers.ndim == 1:
        return numbers[:, np.newaxis]
    if numbers.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=2,
        )
    return numbers


def check_length(y: Any, n_rows: int) -> None:
    """Refuse a target of another length than the table; for targets that are not read.

    Parameters
    ----------
    y : array-like, Series or frame of shape (n_rows,) or (n_rows, n_outputs)
        A target.
    n_rows : int
        Number of rows of the table.

    Examples
    --------
    >>> check_length(["a", "b"], 2)
    """
    _check_length("y", as_array(y), n_rows)


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read the weights of the rows.

    Parameters
    ----------
    sample_weight : None, number or array-like of shape (n_rows,)
        Weights, zero or positive, not all zero.
    n_rows : int
        Number of rows of the table.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        None if no weights were given.

    Examples
    --------
    >>> check_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        weights = np.full(n_rows, float(sample_weight))
    else:
        given = as_array(sample_weight, "sample_weight")
        try:
            weights = np.array(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "sample_weight holds values that are not numbers, but one number for each row is "
                "expected: convert it."
            ) from error
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array: pass one "
            "number per row."
        )
    _check_length("sample_weight", weights, n_rows)
    bad = ~np.isfinite(weights)
    if bad.any():
        what = "NaN" if np.isnan(weights).any() else "infinity"
        raise ValueError(
            f"Input sample_weight contains {what} in {np.count_nonzero(bad)} of {n_rows} "
            "rows, but finite weights are expected: drop these rows or give them zero."
        )
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight contains the negative weight {weights.min():g}, but weights of zero "
            "or more are expected: drop these rows or give them zero."
        )
    if not np.any(weights > 0):
        raise ValueError(
            "sample_weight is zero for every row, but at least one positive weight is expected: "
            "pass None to weigh all rows alike."
        )
    largest = float(weights.max())
    # Sums of weights beyond these would overflow or vanish.
    return weights if _LEAST_WEIGHT < largest < _MOST_WEIGHT else weights / largest


def check_groups(groups: Any, n_rows: int) -> NDArray[Any] | None:
    """Return the groups as an array; refuse a wrong number of them, and missing ones.

    Parameters
    ----------
    groups : array-like of shape (n_rows,) or None
        A label for each row; rows with the same label belong together.
    n_rows : int
        Number of rows of the table.

    Returns
    -------
    ndarray or None
        The labels.

    Examples
    --------
    >>> check_groups([1, 1, 2], 3)
    array([1, 1, 2])
    """
    if groups is None:
        return None
    labels = as_array(groups, "groups")
    if labels.ndim != 1:
        raise ValueError(
            f"groups has {labels.shape[1]} columns, but one group for each row is expected: pass "
            "one column."
        )
    if len(labels) != n_rows:
        raise ValueError(
            f"groups has {len(labels)} entries, but X has {n_rows} rows: pass one group for each "
            "row."
        )
    missing = sum(map(is_missing, labels.tolist()))
    if missing:
        raise ValueError(
            f"groups is missing in {missing} rows: fill it, or give such rows groups of their own."
        )
    return labels


def apply_class_weight(
    class_weight: Mapping[Any, float] | str | None,
    target: ClassTarget,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """Multiply the weights of the rows by the weights of their classes.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weight per label, or "balanced" for weights inverse to the frequency of the classes.
    target : ClassTarget
        The classes of the rows.
    weights : ndarray of shape (n_rows,) or None
        What `check_weights` returned.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        None if there are no weights of either kind.

    Examples
    --------
    >>> apply_class_weight({"a": 1, "b": 3}, read_classes(["a", "b"]), None)
    array([1., 3.])
    """
    if class_weight is None:
        return weights
    if not isinstance(class_weight, Mapping) and class_weight != "balanced":
        raise ValueError(
            f"class_weight is {class_weight!r}, but a dict of label to weight, 'balanced' or None "
            "is expected: pass one of these."
        )
    labels = target.classes[target.codes]
    if isinstance(class_weight, Mapping):
        classes = target.classes.tolist()
        unknown = [label for label in class_weight if label not in classes]
        # As in scikit-learn, labels of no row may have weights where all classes have one.
        if unknown and not all(label in class_weight for label in classes):
            raise ValueError(
                f"class_weight has the label {unknown[0]!r}, but the classes are "
                f"{shorten(str(classes), 100)}: use the labels of y."
            )
    by_class: NDArray[np.float64] = compute_sample_weight(class_weight, labels)
    combined = by_class if weights is None else weights * by_class
    return check_weights(combined, len(combined))


def as_array(values: Any, name: str = "y") -> NDArray[Any]:
    """Convert any array-like to a NumPy array of one or two dimensions."""
    _refuse_no_column(values, name)
    if isinstance(values, np.ma.MaskedArray):  # what a mask hides is missing
        empty = np.nan if values.dtype.kind in "fiub" else None
        values = np.ma.filled(values.astype(object if empty is None else np.float64), empty)
    wrapped = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(wrapped, nw.Series):
        array = _series_values(wrapped)
    elif isinstance(wrapped, nw.DataFrame):
        array = np.column_stack([_series_values(series) for series in wrapped.iter_columns()])
    elif sparse.issparse(values):
        array = values.toarray()
    else:
        array = _plain_array(values, name)
        if array.dtype.kind in "US" and isinstance(values, list | tuple):
            # NumPy would turn None, NaN and numbers beside text into text.
            labels = np.array(values, dtype=object)
            is_text = all(isinstance(label, str | bytes) for label in labels.ravel())
            array = array if is_text else labels
    if array.dtype.kind == "O":
        array = _numbers_of_objects(array, name)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
    if array.ndim == 2 and array.shape[1] == 0:
        raise ValueError(f"{name} has no columns, but at least one is expected: pass a target.")
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{name} should be a 1d array or a table, got an array of shape {array.shape} instead."
        )
    return array


def _refuse_no_column(values: Any, name: str) -> None:
    """Refuse what has no entries in an order of their own."""
    if values is None:
        raise ValueError(
            f"This estimator requires {name} to be passed, but the target {name} is None."
        )
    if isinstance(values, str):
        raise ValueError(
            f"{name} is the text {values!r}, but an entry for each row of X is expected: pass the "
            f"column itself, such as {name}=X[{values!r}], and leave it out of X."
        )
    if isinstance(values, Mapping | Set | Iterator) and not sparse.issparse(values):
        raise ValueError(
            f"{name} is a {type(values).__name__}, but an entry for each row of X is expected: "
            "pass a list, an array or a column."
        )


def _plain_array(values: Any, name: str) -> NDArray[Any]:
    """Convert what is no frame to an array; refuse rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} has entries of different lengths, but one value, or one for each target, is "
            "expected in every row: make one column for each target."
        ) from error


def _numbers_of_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return objects that are all numbers or booleans as such; refuse those mixed with text."""
    if set(map(type, values.ravel())) <= {str, type(None)}:
        return values  # most columns of objects
    known = [value for value in values.ravel() if not is_missing(value)]
    types = set(map(type, known))
    is_complete = len(known) == values.size
    if not types or not any(issubclass(found, Real | Decimal | np.bool_) for found in types):
        if any(issubclass(found, Complex) for found in types):
            raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
        return values
    for found in types:
        if not issubclass(found, Real | Decimal | np.bool_):
            odd = next(value for value in known if isinstance(value, found))
            number = next(v for v in known if isinstance(v, Real | Decimal | np.bool_))
            raise ValueError(
                f"{name} mixes {odd!r} ({found.__name__}) with {number!r} "
                f"({type(number).__name__}), but values of one type are expected: convert them all "
                "to text, or all to numbers."
            )
    if all(issubclass(found, bool | np.bool_) for found in types):
        return values.astype(bool) if is_complete else values
    try:
        if is_complete and all(issubclass(found, Integral | np.bool_) for found in types):
            return values.astype(np.int64)
        numbers = [np.nan if is_missing(value) else float(value) for value in values.ravel()]
    except OverflowError as error:
        raise ValueError(
            f"{name} holds an integer of more than 18 digits, beyond what is computed with: make "
            "text of it if it is a label, or rescale it."
        ) from error
    return np.array(numbers, dtype=np.float64).reshape(values.shape)


def _series_values(series: nw.Series) -> NDArray[Any]:
    """Read a Series; text and categories as objects, so that labels keep their type."""
    if series.dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy())
    values = np.empty(len(series), dtype=object)
    missing = series.is_null().to_numpy()
    values[:] = [
        None if gone else value for value, gone in zip(series.to_list(), missing, strict=True)
    ]
    return values


def _check_length(name: str, values: NDArray[Any], n_rows: int | None) -> None:
    """Refuse a target or weights of another length than the table."""
    if n_rows is not None and len(values) != n_rows:
        raise ValueError(
            f"{name} has {len(values)} rows, but X has {n_rows}: pass one entry of {name} for "
            "each row of X."
        )
    if len(values) == 0:
        raise ValueError(f"{name} has no rows, but at least one is expected: pass some rows.")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or the missing value of a data frame."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and isnan(value))
    )


def _check_present(values: NDArray[Any]) -> None:
    """Refuse a target without rows, or with missing or infinite values."""
    if len(values) == 0:
        raise ValueError("y has no rows, but at least one is expected: pass some rows.")
    if values.dtype.kind == "f":
        for what, bad in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))):
            n_bad = np.count_nonzero(bad.reshape(len(values), -1).any(axis=1))
            if n_bad:
                raise ValueError(
                    f"Input y contains {what} in {n_bad} of {len(values)} rows, but every row "
                    "needs a target: drop these rows, or fill in what is known."
                )
    elif values.dtype.kind == "O":
        for value in values.ravel():
            if is_missing(value):
                raise ValueError(
                    "Input y contains NaN or None, but every row needs a target: drop the rows "
                    "without one."
                )
            if isinstance(value, date | time | timedelta):
                raise ValueError(
                    f"Input y contains {value!r}, but a target is of classes or numbers: make a "
                    "number of it, such as days since some date, or text."
                )
    elif values.dtype.kind in "mM":
        raise ValueError(
            f"Input y contains dates or durations such as {values.ravel()[0]}, but a target is of "
            "classes or numbers: make a number of it, such as days since some date, or text."
        )
