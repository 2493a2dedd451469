"""What every built-in operator computes, in NumPy: the reference compiled code is held to.

The rules shared by all: missing in, missing out; a result that is not finite, or whose magnitude
exceeds the largest float32, is missing. Each function works in the dtype of its inputs (float32
stays float32, integers become float64) and emits no warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from featurewright.expressions.numbers import code_number
from featurewright.expressions.opcodes import EXP_BOUND, FLOAT_MAX

Array = np.ndarray[Any, np.dtype[Any]]
Reference = Callable[..., Array]


def as_floats(arrays: tuple[Any, ...]) -> list[Array]:
    """Bring operands to one floating dtype: float32 if all of them are, float64 otherwise."""
    values = [np.asarray(array) for array in arrays]
    narrow = all(value.dtype == np.float32 for value in values)
    dtype = np.float32 if narrow else np.float64
    return [value.astype(dtype, copy=False) for value in values]


def bounded(result: Array) -> Array:
    """Replace by missing what is not finite or too large for float32."""
    with np.errstate(all="ignore"):
        return np.where(np.abs(result) <= FLOAT_MAX, result, np.nan).astype(result.dtype)


def _real(compute: Reference) -> Reference:
    """Wrap a computation of numbers in the shared rules."""

    @wraps(compute)
    def reference(*arrays: Any, **parameters: Any) -> Array:
        with np.errstate(all="ignore"):
            return bounded(compute(*as_floats(arrays), **parameters))

    return reference


def _boolean(compute: Callable[..., Any]) -> Reference:
    """Wrap a computation of truth values: 0.0 or 1.0, missing where an operand is."""

    @wraps(compute)
    def reference(*arrays: Any, **parameters: Any) -> Array:
        values = as_floats(arrays)
        with np.errstate(all="ignore"):
            truth = compute(*values, **parameters)
        # Sums would overflow or cancel infinities; asking each operand is exact.
        missing = np.isnan(values[0])
        for value in values[1:]:
            missing = missing | np.isnan(value)
        return np.where(missing, np.nan, truth).astype(values[0].dtype)

    return reference


@_real
def add(x: Array, y: Array) -> Array:
    """Sum."""
    return x + y


@_real
def sub(x: Array, y: Array) -> Array:
    """Difference."""
    return x - y


@_real
def mul(x: Array, y: Array) -> Array:
    """Product."""
    return x * y


@_real
def div(x: Array, y: Array) -> Array:
    """Quotient; missing for a zero divisor, which 0/0 and x/0 already are once bounded."""
    return x / y


@_real
def neg(x: Array) -> Array:
    """Opposite."""
    return -x


@_real
def absolute(x: Array) -> Array:
    """Magnitude."""
    return np.abs(x)


@_real
def square(x: Array) -> Array:
    """Square."""
    return x * x


@_real
def sqrt(x: Array) -> Array:
    """Square root of the magnitude."""
    return np.sqrt(np.abs(x))


@_real
def log(x: Array) -> Array:
    """Natural logarithm of the magnitude; that of zero is infinite, hence missing."""
    return np.log(np.abs(x))


@_real
def exp(x: Array) -> Array:
    """Exponential of an argument bounded from above."""
    return np.exp(np.minimum(x, EXP_BOUND))


@_real
def reciprocal(x: Array) -> Array:
    """Inverse; that of zero is infinite, hence missing."""
    return 1.0 / x


@_real
def minimum(x: Array, y: Array) -> Array:
    """Smaller of two."""
    return np.minimum(x, y)


@_real
def maximum(x: Array, y: Array) -> Array:
    """Larger of two."""
    return np.maximum(x, y)


@_real
def gaussian(x: Array, y: Array) -> Array:
    """Gaussian bump of the difference."""
    difference: Array = x - y
    return np.exp(-np.square(difference))


@_boolean
def both(x: Array, y: Array) -> Any:
    """Conjunction."""
    return (x != 0) & (y != 0)


@_boolean
def either(x: Array, y: Array) -> Any:
    """Disjunction."""
    return (x != 0) | (y != 0)


@_boolean
def one_of(x: Array, y: Array) -> Any:
    """Exclusive disjunction."""
    return (x != 0) ^ (y != 0)


@_boolean
def negation(x: Array) -> Any:
    """Negation."""
    return x == 0


@_boolean
def less(x: Array, y: Array) -> Any:
    """Strictly smaller."""
    return x < y


@_boolean
def less_equal(x: Array, y: Array) -> Any:
    """Smaller or equal."""
    return x <= y


@_boolean
def greater(x: Array, y: Array) -> Any:
    """Strictly larger."""
    return x > y


@_boolean
def greater_equal(x: Array, y: Array) -> Any:
    """Larger or equal."""
    return x >= y


@_boolean
def equal(x: Array, y: Array) -> Any:
    """Equal level codes."""
    return x == y


@_boolean
def is_level(x: Array, *, parameter: int = 0) -> Any:
    """Level code equal to the parameter."""
    return x == parameter


@_real
def at_least(x: Array, *, parameter: int = 0) -> Array:
    """Larger of the value and the parameter's number."""
    return np.maximum(x, x.dtype.type(code_number(parameter)))


@_real
def at_most(x: Array, *, parameter: int = 0) -> Array:
    """Smaller of the value and the parameter's number."""
    return np.minimum(x, x.dtype.type(code_number(parameter)))


@_boolean
def over(x: Array, *, parameter: int = 0) -> Any:
    """Strictly larger than the parameter's number."""
    return x > x.dtype.type(code_number(parameter))


def elementwise(function: Callable[..., Any], arrays: tuple[Any, ...], *, truth: bool) -> Array:
    """Apply a scalar Python function row by row, then the shared rules.

    A row for which the function raises an arithmetic or domain error is missing, as it would be
    had the same arithmetic been vectorised.
    """
    operands = as_floats(arrays)
    broadcast = np.broadcast_arrays(*operands)
    result = np.full(broadcast[0].shape, np.nan)
    present = ~np.any([np.isnan(value) for value in broadcast], axis=0)
    rows = zip(*(value[present].tolist() for value in broadcast), strict=True)
    result[present] = [_call(function, row) for row in rows]
    with np.errstate(all="ignore"):
        result = bounded(result.astype(operands[0].dtype))
    if truth:
        result = np.where(np.isnan(result), result, result != 0).astype(result.dtype)
    return result


def _call(function: Callable[..., Any], row: tuple[float, ...]) -> float:
    """Call a scalar function; undefined (an error of arithmetic, a complex result) is NaN."""
    try:
        value = function(*row)
        return float("nan") if isinstance(value, complex) else float(value)
    except (ArithmeticError, ValueError):
        return float("nan")
