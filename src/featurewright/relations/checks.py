"""What the parameters of features over links may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from featurewright.estimators.parameters import number, one_of, whole_number
from featurewright.relations.aggregates import AGGREGATES, Window

_MAX_ROWS = 2**31 - 1  # of a window


def check_as_of(name: str, value: Any) -> None:
    """Check the name of a column of times."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}={value!r} must be the name of a column of X, or None.")


def check_aggregates(name: str, value: Any) -> None:
    """Check which aggregates are tried."""
    if isinstance(value, str):
        one_of(name, value, ("all",))
        return
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(
            f"{name}={value!r} must be 'all' or a list of aggregates, such as ['mean', 'count']."
        )
    for aggregate in value:
        one_of(name, aggregate, tuple(AGGREGATES))


def check_windows(name: str, value: Any) -> None:
    """Check windows: "auto", None, or a list of days and of texts such as "10 rows"."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(
            f"{name}={value!r} must be 'auto', None, or a list of days and numbers of rows, such "
            "as [30, 90, '10 rows']."
        )
    for window in value:
        make_window(window, has_dates=True)


def make_window(value: Any, *, has_dates: bool) -> Window:
    """Return a window that a user wrote."""
    if isinstance(value, str):
        count, _, unit = value.partition(" ")
        if not count.isdigit() or unit not in ("row", "rows"):
            raise ValueError(f"windows holds {value!r}, but a text must be such as '10 rows'.")
        rows = whole_number("windows", int(count), 1, most=_MAX_ROWS)
        return Window(None, rows, has_dates)
    return Window(number("windows", value, above=0.0), None, has_dates)
