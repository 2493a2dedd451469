"""The built-in operators for one value: the same functions serve vectors, single rows, both widths.

This is the one compiled part of an operator; every other fact about it is a row of the table in
``expressions/builtin.py``. Operators take float32 or float64 and return the same type. The common
rule is applied here and nowhere else: a result that is not finite, or larger than float32 holds,
is missing (NaN).
"""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np

from featurewright.engine.compiler import call_address, cast_like, kernel
from featurewright.expressions import builtin as op
from featurewright.expressions import opcodes
from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.numbers import DIGIT_BITS, EXPONENT_BITS, POWERS

# float32 constants widen silently next to a float64 and keep float32 loops in float32.
_LARGEST = np.float32(opcodes.FLOAT_MAX)
_MISSING = np.float32(np.nan)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_EXP_BOUND = np.float32(opcodes.EXP_BOUND)

# Facts of the table for compiled code, one bit for each opcode: a shift is all that it compiles.
_UNARY = sum(1 << row.opcode for row in OPERATORS.values() if row.arity == 1)
_COMMUTATIVE = sum(1 << row.opcode for row in OPERATORS.values() if row.commutative)
_ARITHMETIC = sum(1 << OPERATORS[name].opcode for name in op.ARITHMETIC)


def _compiled(function):
    """Compile a copy of a plain function: a kernel renames what it is made from."""
    return kernel(FunctionType(function.__code__, function.__globals__))


symbol_opcode = _compiled(opcodes.symbol_opcode)
symbol_parameter = _compiled(opcodes.symbol_parameter)
operator_symbol = _compiled(opcodes.operator_symbol)


@kernel
def takes_one(opcode):
    """Whether a built-in operator is unary; False for user operators."""
    return opcode < opcodes.FIRST_USER and (_UNARY >> opcode) & 1 == 1


@kernel
def is_commutative(opcode):
    """Whether a built-in operator gives the same for exchanged operands."""
    return (_COMMUTATIVE >> opcode) & 1 == 1


@kernel
def is_arithmetic(opcode):
    """Whether an operator adds, subtracts, multiplies or divides; False for user operators."""
    return opcode < opcodes.FIRST_USER and (_ARITHMETIC >> opcode) & 1 == 1


@kernel
def settle(value):
    """Return a value, missing where it is not finite or too large."""
    return value if abs(value) <= _LARGEST else _MISSING


@kernel
def truth(x, y, holds):
    """Return a condition as 0 or 1, missing where an operand is."""
    known = (x == x) & (y == y)
    return (_ONE if holds else _ZERO) if known else _MISSING


@kernel
def number_of(code):
    """Return the number of a code: digits, a power of ten and a sign."""
    whole = code & ((1 << DIGIT_BITS) - 1)
    exponent = (code >> DIGIT_BITS) & ((1 << EXPONENT_BITS) - 1)
    exponent -= (exponent >> (EXPONENT_BITS - 1)) << EXPONENT_BITS
    size = whole * POWERS[exponent] if exponent >= 0 else whole / POWERS[-exponent]
    return -size if code >> (DIGIT_BITS + EXPONENT_BITS) else size


@kernel
def apply_one(opcode, parameter, x):
    """Apply a unary built-in operator to one value; an unknown one gives missing."""
    if opcode == op.NEG:
        return -x
    if opcode == op.ABS:
        return abs(x)
    if opcode == op.SQUARE:
        return settle(x * x)
    if opcode == op.SQRT:
        return math.sqrt(abs(x))
    if opcode == op.LOG:
        return settle(math.log(abs(x)))
    if opcode == op.EXP:
        return settle(math.exp(_EXP_BOUND if x > _EXP_BOUND else x))
    if opcode == op.RECIPROCAL:
        return settle(_ONE / x)
    if opcode == op.NOT:
        return truth(x, x, x == _ZERO)
    if opcode == op.IS:
        return truth(x, x, x == np.float32(parameter))
    number = cast_like(number_of(parameter), x)
    if opcode == op.AT_LEAST:
        return settle(x if x != x or x > number else number)
    if opcode == op.AT_MOST:
        return settle(x if x != x or x < number else number)
    if opcode == op.OVER:
        return truth(x, x, x > number)
    return _MISSING


@kernel
def apply_two(opcode, x, y):
    """Apply a binary built-in operator to two values; an unknown one gives missing."""
    if opcode == op.ADD:
        return settle(x + y)
    if opcode == op.SUB:
        return settle(x - y)
    if opcode == op.MUL:
        return settle(x * y)
    if opcode == op.DIV:
        return settle(x / y)
    if opcode == op.MIN:
        return (x if x < y else y) if (x == x) & (y == y) else _MISSING
    if opcode == op.MAX:
        return (x if x > y else y) if (x == x) & (y == y) else _MISSING
    if opcode == op.GAUSSIAN:
        difference = x - y
        return settle(math.exp(-(difference * difference)))
    if opcode == op.AND:
        return truth(x, y, (x != _ZERO) & (y != _ZERO))
    if opcode == op.OR:
        return truth(x, y, (x != _ZERO) | (y != _ZERO))
    if opcode == op.XOR:
        return truth(x, y, (x != _ZERO) != (y != _ZERO))
    if opcode == op.LESS:
        return truth(x, y, x < y)
    if opcode == op.LESS_EQUAL:
        return truth(x, y, x <= y)
    if opcode == op.GREATER:
        return truth(x, y, x > y)
    if opcode == op.GREATER_EQUAL:
        return truth(x, y, x >= y)
    if opcode == op.EQUAL:
        return truth(x, y, x == y)
    return _MISSING


@kernel
def apply_user(address, values, first, arity):
    """Apply a user operator, compiled elsewhere, to the last values of a stack.

    A missing operand makes the result missing without asking the function.
    """
    for k in range(arity):
        if values[first + k] != values[first + k]:
            return values[first + k]
    a = values[first]
    if arity == 1:
        return settle(call_address(address, (a,)))
    b = values[first + 1]
    if arity == 2:
        return settle(call_address(address, (a, b)))
    c = values[first + 2]
    if arity == 3:
        return settle(call_address(address, (a, b, c)))
    return settle(call_address(address, (a, b, c, values[first + 3])))
