"""Compile user operators, so that kernels can call them by address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from featurewright.kernels.operators import MAX_USER_ARITY
from featurewright.kernels.programs import UserFunctions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from featurewright.expressions import Operator


def compile_operator(operator: Operator, width: Any) -> Any:
    """Compile an operator's function for one float width.

    Raises
    ------
    ValueError
        If numba cannot compile the function or the operator takes too many operands.
    """
    if operator.arity > MAX_USER_ARITY:
        raise ValueError(
            f"operator {operator.name!r} takes {operator.arity} operands, but at most "
            f"{MAX_USER_ARITY} are supported; build it from smaller operators."
        )
    scalar = numba.njit(error_model="numpy")(operator.function)
    # The wrapper turns a Boolean or integer result into a float.
    arguments = [width] * operator.arity
    try:
        scalar.compile(tuple(arguments))
        result = scalar.overloads[tuple(arguments)].signature.return_type
        if not isinstance(result, types.Float | types.Integer | types.Boolean):
            raise ValueError(
                f"operator {operator.name!r} must return a number, but its function returns "
                f"{result}; return a float or a bool."
            )
        return numba.cfunc(width(*arguments))(_wrappers(operator.arity, scalar, width))
    except NumbaError as error:
        reason = str(error).strip().splitlines()
        raise ValueError(
            f"operator {operator.name!r} has a function that numba cannot compile "
            f"({reason[-1] if reason else 'no reason given'}); use plain arithmetic, comparisons "
            "and functions of the math module."
        ) from error


def _wrappers(arity: int, scalar: Any, width: Any) -> Any:
    """Give a function of so many arguments that calls the user's and returns a float."""

    def one(a):
        return width(scalar(a))

    def two(a, b):
        return width(scalar(a, b))

    def three(a, b, c):
        return width(scalar(a, b, c))

    def four(a, b, c, d):
        return width(scalar(a, b, c, d))

    return (one, two, three, four)[arity - 1]


class CompiledOperators:
    """The compiled user operators of one fit, for both float widths.

    Addresses do not survive a process: they are made anew after unpickling.
    """

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = tuple(operators)
        self._functions = {
            dtype: [compile_operator(o, width) for o in self.operators]
            for dtype, width in ((np.float32, types.float32), (np.float64, types.float64))
        }

    def functions(self, dtype: Any) -> UserFunctions:
        """Give the addresses and arities for a float width."""
        compiled = self._functions[np.dtype(dtype).type]
        return UserFunctions(
            np.array([f.address for f in compiled], np.int64),
            np.array([o.arity for o in self.operators], np.int64),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledOperators, (self.operators,)
