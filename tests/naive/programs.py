"""Evaluate an RPN program on arrays with the NumPy references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from featurewright.expressions import OPERATORS, Operator
from featurewright.expressions.opcodes import END, FIRST_USER, symbol_opcode, symbol_parameter

BY_OPCODE = {operator.opcode: operator for operator in OPERATORS.values()}


def symbols_of(program: Sequence[int]) -> list[int]:
    """Return the symbols before the padding."""
    symbols = [int(symbol) for symbol in program]
    return symbols[: symbols.index(END)] if END in symbols else symbols


def operator_of(symbol: int, users: Sequence[Operator] = ()) -> Operator:
    """Return the operator of a negative symbol."""
    opcode = symbol_opcode(symbol)
    return users[opcode - FIRST_USER] if opcode >= FIRST_USER else BY_OPCODE[opcode]


def run(program: Sequence[int], columns: Any, users: Sequence[Operator] = ()) -> np.ndarray:
    """Evaluate a program; `columns` holds one column per row."""
    stack: list[np.ndarray] = []
    for symbol in symbols_of(program):
        if symbol >= 0:
            stack.append(columns[symbol])
            continue
        operator = operator_of(symbol, users)
        operands = stack[-operator.arity :]
        del stack[-operator.arity :]
        stack.append(operator.reference(*operands, parameter=symbol_parameter(symbol)))
    (result,) = stack
    return result
