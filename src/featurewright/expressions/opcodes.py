"""The numbers that stand for operators, and how a symbol of a program is packed.

A program is reverse Polish notation, one int32 per symbol:

- ``s >= 0`` pushes input column ``s``;
- ``s < 0`` applies an operator: with ``u = -1 - s``, the opcode is ``u & 0xFF`` and the
  parameter ``u >> 8``: the level code of ``IS``, the code of the number that ``AT_LEAST``,
  ``AT_MOST`` and ``OVER`` compare with (see ``numbers``), 0 otherwise;
- ``END`` pads the program to its fixed width.

The constants are plain module-level integers and the functions plain arithmetic, so that compiled
code can use both as they are.
"""

from __future__ import annotations

ADD = 0
SUB = 1
MUL = 2
DIV = 3
NEG = 4
ABS = 5
SQUARE = 6
SQRT = 7
LOG = 8
EXP = 9
RECIPROCAL = 10
MIN = 11
MAX = 12
GAUSSIAN = 13
AND = 14
OR = 15
XOR = 16
NOT = 17
LESS = 18
LESS_EQUAL = 19
GREATER = 20
GREATER_EQUAL = 21
EQUAL = 22
IS = 23
AT_LEAST = 24
AT_MOST = 25
OVER = 26

FIRST_USER = 64
"""Opcode of the first user operator of a fit; the next ones follow."""

MAX_OPCODE = 0xFF
"""Largest opcode the eight bits of a symbol can hold."""

MAX_PARAMETER = 2**23 - 1
"""Largest parameter for which the packed symbol, whatever its opcode, is an int32."""

END = 2**31 - 1
"""The symbol after the last one of a program."""

FLOAT_MAX = 3.4028234663852886e38
"""Largest float32: a result beyond it is missing, in float64 too, so both agree on what exists."""

EXP_BOUND = 80.0
"""``exp`` bounds its argument from above by this, which keeps its result within float32."""


def operator_symbol(opcode: int, parameter: int = 0) -> int:
    """Return the symbol that applies an operator.

    Parameters
    ----------
    opcode : int
        Number of the operator, 0 to 255.
    parameter : int, default=0
        Level code of an ``IS`` test; 0 for every other operator.

    Returns
    -------
    int
        A negative number that fits an int32.

    Examples
    --------
    >>> operator_symbol(ADD), operator_symbol(IS, parameter=2)
    (-1, -536)
    """
    return -1 - (opcode | (parameter << 8))


def symbol_opcode(symbol: int) -> int:
    """Return the opcode of an operator symbol.

    Parameters
    ----------
    symbol : int
        A negative symbol.

    Returns
    -------
    int
        The operator's number.

    Examples
    --------
    >>> symbol_opcode(-536) == IS
    True
    """
    return (-1 - symbol) & 0xFF


def symbol_parameter(symbol: int) -> int:
    """Return the parameter of an operator symbol.

    Parameters
    ----------
    symbol : int
        A negative symbol.

    Returns
    -------
    int
        The level code of an ``IS`` test, 0 for other operators.

    Examples
    --------
    >>> symbol_parameter(-536)
    2
    """
    return (-1 - symbol) >> 8
