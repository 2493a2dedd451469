"""Programs, which compiled code runs, from and to expression trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from featurewright.expressions import opcodes
from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.domains import Category, Domain
from featurewright.expressions.nodes import Call, Column, Expression
from featurewright.expressions.numbers import number_text
from featurewright.expressions.operators import Operator

Levels = Sequence[Sequence[Any] | None]

_BY_OPCODE = {operator.opcode: operator for operator in OPERATORS.values()}
MAX_USER_OPERATORS = opcodes.MAX_OPCODE + 1 - opcodes.FIRST_USER


def operator_opcode(operator: Operator, user_operators: Sequence[Operator] = ()) -> int:
    """Return the opcode of an operator within a fit.

    Parameters
    ----------
    operator : Operator
        A built-in operator or one of the user operators.
    user_operators : sequence of Operator
        The user operators of the fit; the position is the slot.

    Returns
    -------
    int
        Its number, 0 to 255.

    Examples
    --------
    >>> from featurewright.expressions import get_operator
    >>> operator_opcode(get_operator("div"))
    3
    """
    if operator.opcode is not None:
        return operator.opcode
    if len(user_operators) > MAX_USER_OPERATORS:
        raise ValueError(
            f"A fit can use {MAX_USER_OPERATORS} user operators, got {len(user_operators)}; "
            "select fewer."
        )
    for slot, candidate in enumerate(user_operators):
        if candidate == operator:
            return opcodes.FIRST_USER + slot
    raise ValueError(
        f"Operator {operator.name!r} is not among the user operators "
        f"{[known.name for known in user_operators]}; add it to them."
    )


def to_program(
    expression: Expression, user_operators: Sequence[Operator] = (), width: int | None = None
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Convert an expression to a program.

    Parameters
    ----------
    expression : Expression
        The tree.
    user_operators : sequence of Operator
        The user operators of the fit, in the order of their slots.
    width : int, optional
        Length to pad to with END; the size of the expression if not given.

    Returns
    -------
    ndarray of int32
        The symbols in reverse Polish order.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> to_program(parse("b - a", ["a", "b"]), width=4).tolist()
    [1, 0, -2, 2147483647]
    """

    def column(node: Column) -> list[int]:
        """Return the symbol of a column."""
        return [node.index]

    def call(node: Call, parts: list[list[int]]) -> list[int]:
        """Return the symbols of the arguments, then the operator's."""
        opcode = operator_opcode(node.operator, user_operators)
        return [*chain.from_iterable(parts), opcodes.operator_symbol(opcode, node.code)]

    symbols = expression.fold(column, call)
    width = len(symbols) if width is None else width
    if width < len(symbols):
        raise ValueError(
            f"The expression {expression} has {len(symbols)} symbols, more than the width {width}; "
            "use a larger width."
        )
    program = np.full(width, opcodes.END, dtype=np.int32)
    program[: len(symbols)] = symbols
    return program


def from_program(
    symbols: Sequence[int] | np.ndarray[Any, Any],
    names: Sequence[str],
    domains: Sequence[int] | np.ndarray[Any, Any],
    levels: Levels | None = None,
    user_operators: Sequence[Operator] = (),
) -> Expression:
    """Convert a program to an expression.

    Parameters
    ----------
    symbols : sequence of int
        The program; symbols after the first END are ignored.
    names : sequence of str
        Names of the columns.
    domains : sequence of int
        Domains of the columns.
    levels : sequence, optional
        Per column None or the labels of its levels, by code. Labels appear as text.
    user_operators : sequence of Operator
        The user operators of the fit, in the order of their slots.

    Returns
    -------
    Expression
        The tree. Anything that is not a complete, well-typed program raises ValueError.

    Examples
    --------
    >>> print(from_program([1, 0, -2], ["a", "b"], [0, 0]))
    b - a
    """
    stack: list[Expression] = []
    for symbol in map(int, symbols):
        if symbol == opcodes.END:
            break
        if symbol >= 0:
            if symbol >= len(names):
                raise _broken(f"pushes column {symbol} of {len(names)}")
            stack.append(Column(symbol, names[symbol], Domain(int(domains[symbol]))))
            continue
        operator = _operator(opcodes.symbol_opcode(symbol), user_operators)
        if len(stack) < operator.arity:
            raise _broken(f"applies {operator.name!r} to {len(stack)} values")
        arguments = tuple(stack[-operator.arity :])
        del stack[-operator.arity :]
        code = opcodes.symbol_parameter(symbol)
        parameter = None
        if operator.has_number:
            parameter = code, number_text(code)
        elif operator.has_level:
            parameter = code, level_label(arguments[0], code, levels)
        elif code:
            raise _broken(f"gives the parameter {code} to {operator.name!r}")
        stack.append(Call(operator, arguments, parameter))
    if len(stack) != 1:
        raise _broken(f"leaves {len(stack)} values")
    return stack[0]


def level_label(argument: Expression, code: int, levels: Levels | None) -> str:
    """Return the label of a level of a column as text; its code when the column lists none."""
    if not isinstance(argument, Column) or argument.domain != Category:
        raise _broken(f"tests the level of {argument}, which is not a Category column")
    known = None if levels is None else levels[argument.index]
    if known is None:
        return str(code)
    if code >= len(known):
        raise _broken(f"tests level {code} of column {argument.name!r}, which has {len(known)}")
    return level_text(known, code)


def level_text(levels: Sequence[Any], code: int) -> str:
    """Return the text of a level, with its type where another level has the same text.

    Levels of several types, which are sorted by type, may be 1 and "1".
    """
    text = str(levels[code])
    if type(levels[0]) is type(levels[-1]) or isinstance(levels[code], str):
        return text
    shared = any(str(level) == text for k, level in enumerate(levels) if k != code)
    return f"{text} ({type(levels[code]).__name__})" if shared else text


def _operator(opcode: int, user_operators: Sequence[Operator]) -> Operator:
    """Return the operator of an opcode."""
    if opcode in _BY_OPCODE:
        return _BY_OPCODE[opcode]
    slot = opcode - opcodes.FIRST_USER
    if not 0 <= slot < len(user_operators):
        raise _broken(f"applies the unknown opcode {opcode}")
    return user_operators[slot]


def _broken(what: str) -> ValueError:
    """Return the error for a program that cannot be one of this fit."""
    return ValueError(
        f"The program {what}, which no valid program does; check that it belongs to this table and "
        "these operators."
    )
