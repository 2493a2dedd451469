"""Compile user operators to functions that kernels call by address."""

from __future__ import annotations

from functools import lru_cache
from inspect import isfunction, signature
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from featurewright.engine.buffers import UserFunctions
from featurewright.expressions.domains import Boolean
from featurewright.expressions.operators import MAX_ARITY, LevelTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from featurewright.expressions import Operator


_OWN_SIGNATURES = 4  # up to here a function takes its operands alone; others take MAX_ARITY


@lru_cache(maxsize=256)  # a grid search fits the same operators repeatedly
def compile_operator(operator: Operator, width: Any) -> Any:
    """Compile an operator's function for one float width.

    Raises
    ------
    ValueError
        If numba cannot compile the function.
    """
    function = operator.function
    _check_defaults(operator)
    arguments = [width] * (operator.arity if operator.arity <= _OWN_SIGNATURES else MAX_ARITY)
    try:
        # Numba knows functions of the math module and many ufuncs. Others divide as Python does:
        # with NumPy's rules 1 // 0 would be 0 and 1 / 0 > 1 true, but both must be missing.
        scalar = numba.njit(error_model="python")(function) if isfunction(function) else function
        wrapper = _wrap(operator.arity, scalar, numba.njit(_settler(operator, width)))
        return numba.cfunc(width(*arguments))(wrapper)
    except (NumbaError, UnsupportedBytecodeError, TypeError) as error:
        raise ValueError(
            f"operator {operator.given_name!r} has a function that numba cannot compile "
            f"({_reason(error)}); use plain arithmetic, comparisons and functions of the math "
            "module."
        ) from error


def _check_defaults(operator: Operator) -> None:
    """Refuse default values that compiled code cannot hold.

    Raises
    ------
    ValueError
        If a parameter besides the operands has one.
    """
    if not isfunction(operator.function):
        return
    parameters = list(signature(operator.function).parameters.values())
    for parameter in parameters[operator.arity :]:
        default = parameter.default
        if default is not parameter.empty and not _is_constant(default):
            raise ValueError(
                f"operator {operator.given_name!r} has a function whose parameter "
                f"{parameter.name!r} has a {type(default).__name__} as its default, which cannot "
                "be compiled; use numbers, strings, None, or tuples of them, or an array."
            )


def _is_constant(value: Any) -> bool:
    """Whether compiled code can hold a value that never changes."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, (int, float, str, np.bool_, np.number, np.ndarray))


def _reason(error: Exception) -> str:
    """Return the line of a compiler error that states the reason."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [
        line for line in lines if line and not line.startswith(("Failed in", "During:", "File"))
    ]
    return reasons[0].rstrip(".:") if reasons else "no reason given"


def _settler(operator: Operator, width: Any) -> Any:
    """Return a function that turns what a user's function returned into the operator's value."""
    if isinstance(operator, LevelTest):
        level, n_levels = operator.level, len(operator.category.levels or ())

        def test_level(value):
            code = width(value)
            known = 0 <= code < n_levels and code == np.floor(code)
            return width(code == level) if known else width(np.nan)

        return test_level
    as_truth = operator.output == Boolean

    def settle(value):
        number = width(value)
        # Values that are not finite are kept, so that they become missing instead of true.
        return width(number != 0) if as_truth and np.isfinite(number) else number

    return settle


def _wrap(arity: int, scalar: Any, settle: Any) -> Any:
    """Return a function of `arity` arguments that returns a float, NaN if the user's raises.

    From five arguments on it takes eight and ignores the last.
    """
    missing = np.nan

    def one(a):
        try:
            return settle(scalar(a))
        except Exception:  # the only class that numba can catch
            return missing

    def two(a, b):
        try:
            return settle(scalar(a, b))
        except Exception:
            return missing

    def three(a, b, c):
        try:
            return settle(scalar(a, b, c))
        except Exception:
            return missing

    def four(a, b, c, d):
        try:
            return settle(scalar(a, b, c, d))
        except Exception:
            return missing

    def eight(a, b, c, d, e, f, g, h):
        try:
            return settle(scalar(*(a, b, c, d, e, f, g, h)[:arity]))
        except Exception:
            return missing

    return (one, two, three, four, eight)[min(arity, _OWN_SIGNATURES + 1) - 1]


class CompiledOperators:
    """The compiled user operators of one fit, for both float widths.

    Addresses are valid in one process only, so functions are compiled again after unpickling.
    """

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = tuple(operators)
        self._functions = {
            dtype: [compile_operator(o, width) for o in self.operators]
            for dtype, width in ((np.float32, types.float32), (np.float64, types.float64))
        }

    def functions(self, dtype: Any) -> UserFunctions:
        """Return the addresses and arities for a float width."""
        compiled = self._functions[np.dtype(dtype).type]
        return UserFunctions(
            np.array([f.address for f in compiled], np.int64),
            np.array([o.arity for o in self.operators], np.int64),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledOperators, (self.operators,)
