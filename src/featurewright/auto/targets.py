"""The target: the task it stands for, and its form for estimators and methods."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from featurewright.tables import (
    MultiTarget,
    as_array,
    check_label,
    holds_numbers,
    is_missing,
    read_classes,
    read_numbers,
)
from featurewright.tables.number_texts import find_amounts, find_numbers

_logger = logging.getLogger("featurewright")

TASKS = ("auto", "classification", "regression")
_MANY_ROWS = 20
_NAMES_OF_ROWS = 0.9  # share of rows with a value of their own from which values name the rows
_MAX_SIZE = 1e150  # of a number whose square is one
_MIN_SPREAD = 1e-150  # of numbers whose squares are more than none
_MAX_WHOLE_CLASSES = 10  # whole numbers with more distinct values are a quantity
_MIN_CLASS_ROWS = 5  # of many numbers that a classifier takes for classes, on average


@dataclass(frozen=True, eq=False)
class Target:
    """A target that was read.

    Parameters
    ----------
    task : {"classification", "regression", "multilabel"}
        What it is.
    name : str or None
        Its name, where it had one.
    classes : ndarray, list of ndarray or None
        The classes, where there are any.
    labels : ndarray
        For estimators.
    codes : ndarray
        For methods: class codes, or numbers.
    label_names : list of str or None
        The names of several labels, where they had some.

    Examples
    --------
    >>> target = read_target(["b", "a", "b"], 3, None)
    >>> target.task, target.codes.tolist()
    ('classification', [1, 0, 1])
    """

    task: str
    name: str | None
    classes: Any
    labels: NDArray[Any]
    codes: NDArray[Any]
    label_names: list[str] | None = None


def guess_task(estimator: Any, y: NDArray[Any]) -> str:
    """Return the task of a target: by the kind of the estimator, else by the values.

    Ages, counts, prices and ratings are whole numbers as class codes are, but take more values.
    """
    if isinstance(estimator, BaseEstimator) and is_regressor(estimator):
        return "regression"
    classes = isinstance(estimator, BaseEstimator) and is_classifier(estimator)
    if y.ndim == 2 and y.shape[1] > 1:
        if y.dtype.kind in "fiub" and not np.all((y == 0) | (y == 1)) and not classes:
            return "regression"
        return "multilabel"
    if classes or y.dtype.kind not in "fiu":
        return "classification"
    flat = y.ravel()
    if np.any(flat != np.floor(flat)):
        return "regression"
    return "regression" if len(np.unique(flat)) > _MAX_WHOLE_CLASSES else "classification"


def known_rows(y: Any, cv: Any = None) -> NDArray[np.bool_] | None:
    """Return which rows have a target, and say how many have none; None where all have one."""
    values = as_array(y)
    if values.dtype.kind == "f":
        known = ~np.isnan(values)
    elif values.dtype.kind == "O":
        known = ~np.vectorize(is_missing, otypes=[bool])(values)
    else:
        return None
    known = known.reshape(len(values), -1).all(axis=1)
    if known.all():
        return None
    if not known.any():
        raise ValueError(missing_target(_name_of(y)))
    n_missing = int(np.count_nonzero(~known))
    if not (cv is None or isinstance(cv, int | np.integer) or hasattr(cv, "split")):
        raise ValueError(
            f"The target is missing in {n_missing} rows, but cv lists rows by number: drop these "
            "rows, and list the others."
        )
    _logger.warning("Rows without a target that were left out: %d.", n_missing)
    return np.asarray(known, dtype=bool)


def take_rows(data: Any, rows: NDArray[np.bool_]) -> Any:
    """Return some rows of a table or a target, with its names where it has them; None of None."""
    if data is None:
        return None
    wrapped = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(wrapped, nw.Series | nw.DataFrame):
        return wrapped.filter(rows.tolist()).to_native()
    return as_array(data)[rows]


def missing_target(name: str | None) -> str:
    """Return the error message for a target without values."""
    return f"The target {_quoted(name)}is missing in all rows: choose another column."


def constant_target(name: str | None, value: object, n_rows: int) -> str:
    """Return the error message for a target of one value."""
    rows = f"all {n_rows} rows" if n_rows > 1 else "the only row (1 sample)"
    return (
        f"The target {_quoted(name)}is {value!r} in {rows}, but two or more different values are "
        "needed: choose another column."
    )


def _quoted(name: str | None) -> str:
    """Return a name in quotes and a space; nothing without a name."""
    return "" if name is None else f"{name!r} "


def _name_of(y: Any) -> str | None:
    """Return the name of a target, where it has one."""
    own = getattr(nw.from_native(y, pass_through=True, allow_series=True), "name", None)
    return str(own) if own else None


def _label_names_of(y: Any) -> list[str] | None:
    """Return the names of the columns of a target, where it is a frame and they differ."""
    frame = nw.from_native(y, pass_through=True, allow_series=True)
    names = list(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else []
    return names if names and len(set(names)) == len(names) else None


def _refuse_constant(name: str | None, labels: NDArray[Any]) -> None:
    """Refuse a target of one value, or several of them: nothing can be learned of it."""
    first = labels.reshape(len(labels), -1)[0]
    if np.all(labels.reshape(len(labels), -1) == first):
        raise ValueError(constant_target(name, first.tolist()[0], len(labels)))


def _refuse_names_of_rows(name: str | None, n_values: int, n_rows: int) -> None:
    """Refuse classes nearly all of which have one row: no other row tells of them."""
    if n_rows >= _MANY_ROWS and n_values > _NAMES_OF_ROWS * n_rows:
        raise ValueError(
            f"The target {_quoted(name)}has {n_values:,} different values in {n_rows:,} rows, like "
            "names of the rows, so nothing can be learned of it: choose another column."
        )


def _refuse_numbers_as_text(name: str | None, labels: NDArray[Any]) -> None:
    """Refuse text that was meant as numbers: each of them would be a class."""
    if labels.ndim > 1 or labels.dtype.kind not in "OUS":
        return
    levels, codes = np.unique(labels, return_inverse=True)
    cells = codes.astype(np.float64)
    odd = find_numbers(levels.tolist(), cells)
    if odd is None:
        amount = find_amounts(levels.tolist(), cells)
        if amount is not None:
            raise ValueError(
                f"The target {_quoted(name)}holds numbers with signs as text, such as {amount!r}: "
                "convert it to numbers, or say that the task is classification."
            )
        return
    but = ""
    if odd.count:
        but = f" but for {odd.count:,} cells such as {odd.example!r}"
        but = but if odd.count > 1 else f" but for the cell {odd.example!r}"
    raise ValueError(
        f"The target {_quoted(name)}holds numbers as text{but}: convert it to numbers, with "
        "missing values where there is none (pandas.to_numeric(errors='coerce'), or --null on the "
        "command line), or say that the task is classification."
    )


def _refuse_odd_scales(name: str | None, numbers: NDArray[np.float64]) -> None:
    """Refuse numbers whose squares, or those of their differences, are beyond the range."""
    largest = float(np.abs(numbers).max())
    if largest > _MAX_SIZE:
        raise ValueError(
            f"The target {_quoted(name)}holds {largest:g}, whose square is too large to compute "
            "with: rescale the target."
        )
    spread = float(np.ptp(numbers, axis=0).max())
    if spread < _MIN_SPREAD:
        raise ValueError(
            f"The numbers of the target {_quoted(name)}differ by at most {spread:g}, whose square "
            "is too small to compute with: rescale the target."
        )


def read_target(y: Any, n_rows: int, estimator: Any, task: str = "auto") -> Target:
    """Return a target as read; the task, or else the estimator, decides what it is."""
    name = _name_of(y)
    classes = None if holds_numbers(y) else read_classes(y, n_rows)
    plain = _plain(y, n_rows, classes)
    _refuse_constant(name, plain)
    if task == "auto":
        _refuse_numbers_as_text(name, plain)
        _refuse_many_classes(name, estimator, plain)
    task = _settle(task, guess_task(estimator, plain), estimator, plain)
    if task == "regression":
        numbers = _numbers(y, n_rows)
        _refuse_odd_scales(name, numbers)
        return Target(task, name, None, numbers, numbers)
    if classes is None:
        classes = read_classes(y, n_rows)  # raises the error for numbers that are no classes
    if not isinstance(classes, MultiTarget):
        _refuse_names_of_rows(name, len(classes.classes), n_rows)
        for label in classes.classes:
            check_label(str(label), "A class of the target")
        return Target(task, name, classes.classes, classes.classes[classes.codes], classes.codes)
    if not classes.multilabel:
        raise ValueError(
            "y has several columns of more than two classes, but one column of classes, or 0 and "
            "1 for each label, is expected: fit one AutoFeatures for each column."
        )
    labels = _plain(y, n_rows, classes).astype(np.int64)
    names = _label_names_of(y)
    return Target(task, name, list(classes.classes), labels, classes.codes, names)


def _refuse_many_classes(name: str | None, estimator: Any, y: NDArray[Any]) -> None:
    """Refuse numbers that a classifier would take for classes of very few rows each."""
    numbers = y.dtype.kind in "fiu" and y.ndim == 1
    if not numbers or not isinstance(estimator, BaseEstimator) or not is_classifier(estimator):
        return
    n_values = len(np.unique(y))
    if n_values > _MAX_WHOLE_CLASSES and n_values * _MIN_CLASS_ROWS > len(y):
        raise ValueError(
            f"The target {_quoted(name)}has {n_values:,} different numbers in {len(y):,} rows, but "
            f"the estimator, {type(estimator).__name__}, is a classifier: pass a regressor, or "
            'task="classification" if they are classes.'
        )


def _settle(asked: str, guessed: str, estimator: Any, y: NDArray[Any]) -> str:
    """Return the task that is asked for, where the target and the estimator allow it."""
    if asked in ("auto", guessed):
        return guessed
    if isinstance(estimator, BaseEstimator) and (
        is_classifier(estimator) or is_regressor(estimator)
    ):
        kind = "classifier" if is_classifier(estimator) else "regressor"
        raise ValueError(
            f"task={asked!r} does not go with the estimator, a {kind}: use another estimator, or "
            'task="auto".'
        )
    if asked == "regression" and y.dtype.kind not in "biuf":
        raise ValueError(
            "task='regression' needs numbers, but y holds labels: use task=\"classification\", or "
            "a target of numbers."
        )
    # Several labels are classes too.
    return guessed if guessed == "multilabel" and asked == "classification" else asked


def _plain(y: Any, n_rows: int, classes: Any) -> NDArray[Any]:
    """Return the target as it came, as an array."""
    if classes is None:
        return _numbers(y, n_rows)
    if isinstance(classes, MultiTarget):
        return np.column_stack(
            [own[codes] for own, codes in zip(classes.classes, classes.codes.T, strict=True)]
        )
    labels: NDArray[Any] = classes.classes[classes.codes]
    return labels


def _numbers(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return a target of numbers; one column becomes one dimension."""
    numbers = read_numbers(y, n_rows)
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers
