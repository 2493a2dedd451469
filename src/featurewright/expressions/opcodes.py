"""How a symbol of a program is packed into 32 bits, and the bounds that all operators share.

A program is reverse Polish notation, one int32 per symbol:

- ``s >= 0`` pushes input column ``s``;
- ``s < 0`` applies an operator: with ``u = -1 - s``, the opcode is ``u & 0xFF`` and the
  parameter ``u >> 8``: the code of a level or number (see ``numbers``) for operators that have a
  parameter, 0 for others;
- ``END`` pads the program to its fixed width.

The functions are plain arithmetic, which ``engine/operators.py`` compiles as it is.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Codes = TypeVar("Codes", int, npt.NDArray[np.int64])

FIRST_USER = 64
"""Opcode of the first user operator of a fit; the next ones follow."""

MAX_OPCODE = 0xFF
"""Largest opcode the eight bits of a symbol can hold."""

MAX_PARAMETER = 2**23 - 1
"""Largest parameter whose packed symbol is an int32 for every opcode."""

END = 2**31 - 1
"""The symbol after the last one of a program."""

FLOAT_MAX = 3.4028234663852886e38
"""Largest float32. Results beyond it are missing in float64 too, so that both widths agree."""

EXP_BOUND = 80.0
"""``exp`` bounds its argument from above by this, which keeps its result within float32."""


def operator_symbol(opcode: int, parameter: Any = 0) -> Any:
    """Return the symbol that applies an operator.

    Parameters
    ----------
    opcode : int
        Number of the operator, 0 to 255.
    parameter : int or ndarray, default=0
        Code of its level or number; 0 for an operator without a parameter.

    Returns
    -------
    int or ndarray
        A negative number that fits an int32, or one for each parameter.

    Examples
    --------
    >>> operator_symbol(0), operator_symbol(23, parameter=2)
    (-1, -536)
    """
    return -1 - (opcode | (parameter << 8))


def symbol_opcode(symbol: Codes) -> Codes:
    """Return the opcode of an operator symbol.

    Parameters
    ----------
    symbol : int or ndarray of int64
        Negative symbols.

    Returns
    -------
    int or ndarray of int64
        The operators' numbers.

    Examples
    --------
    >>> symbol_opcode(-536)
    23
    """
    return (-1 - symbol) & MAX_OPCODE


def symbol_parameter(symbol: Codes) -> Codes:
    """Return the parameter of an operator symbol.

    Parameters
    ----------
    symbol : int or ndarray of int64
        Negative symbols.

    Returns
    -------
    int or ndarray of int64
        The code of a level or number, 0 for operators without a parameter.

    Examples
    --------
    >>> symbol_parameter(-536)
    2
    """
    return (-1 - symbol) >> 8
