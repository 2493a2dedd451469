"""Check parameters: each refuses what makes no sense in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Check that a parameter has one of the allowed values."""
    if not any(value is a or (isinstance(value, str) and value == a) for a in allowed):
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"{name}={value!r} is not known; use one of {listed}.")
    return value


def whole_number(
    name: str, value: Any, least: int, *, most: int | None = None, other: str | None = None
) -> int:
    """Check that a parameter is a whole number in a range; `other` names what else it may be."""
    fits = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    if not fits or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        rest = "" if other is None else f", or {other}"
        raise ValueError(f"{name}={value!r} must be a whole number {wanted}{rest}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Check that a parameter is True or False: any other word would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False.")
    return bool(value)


def check_jobs(n_jobs: Any) -> None:
    """Check a number of threads; negative ones count from the last core, as in joblib."""
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number other than 0, or None.")


def number(
    name: str, value: Any, *, above: float | None = None, least: float | None = None
) -> float:
    """Check that a parameter is a finite number in a range."""
    fits = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if fits and above is not None:
        fits = float(value) > above
    if fits and least is not None:
        fits = float(value) >= least
    if not fits:
        wanted = f"above {above:g}" if above is not None else f"of at least {least:g}"
        raise ValueError(f"{name}={value!r} must be a finite number {wanted}.")
    return float(value)


def rows_or_share(name: str, value: Any, n_rows: int, least: int) -> int:
    """Read a number of rows, or a share of them as a float in (0, 1), as scikit-learn does."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not 0.0 < float(value) <= 1.0:
            raise ValueError(f"{name}={value!r} must lie in (0, 1] when it is a share of rows.")
        return max(least, ceil(float(value) * n_rows))
    return whole_number(name, value, least)


def raw_columns(max_features: Any, n_columns: int, rounding: Callable[[float], int] = round) -> int:
    """Read how many raw columns a node tries."""
    if isinstance(max_features, str):
        one_of("max_features", max_features, ("sqrt", "log2", "all"))
        if max_features == "all":
            return n_columns
        count = sqrt(n_columns) if max_features == "sqrt" else log2(n_columns)
        return max(1, rounding(count))
    if isinstance(max_features, Real) and not isinstance(max_features, Integral):
        if not 0.0 < float(max_features) <= 1.0:
            raise ValueError(f"max_features={max_features!r} must lie in (0, 1] when a share.")
        return max(1, rounding(float(max_features) * n_columns))
    return min(n_columns, whole_number("max_features", max_features, 0))
