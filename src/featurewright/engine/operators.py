"""The built-in operators on scalars, used for vectors and single rows, in float32 and float64.

This is the compiled part of an operator; everything else about it is a row of the table in
``expressions/builtin.py``. Operators take float32 or float64 and return the same type. The common
rule is applied here only: a result that is not finite, or too large for float32, is missing (NaN).
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

# float32 constants are widened next to a float64 and keep float32 loops in float32.
_LARGEST = np.float32(opcodes.FLOAT_MAX)
_MISSING = np.float32(np.nan)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_EXP_BOUND = np.float32(opcodes.EXP_BOUND)

# Properties from the operator table as bit sets of opcodes, which compile to a shift.
_UNARY = sum(1 << row.opcode for row in OPERATORS.values() if row.arity == 1)
_COMMUTATIVE = sum(1 << row.opcode for row in OPERATORS.values() if row.commutative)
_ARITHMETIC = sum(1 << OPERATORS[name].opcode for name in op.ARITHMETIC)


def _compiled(function):
    """Compile a copy of a Python function, because `kernel` renames its argument."""
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
    """Whether a built-in operator is commutative."""
    return (_COMMUTATIVE >> opcode) & 1 == 1


@kernel
def is_arithmetic(opcode):
    """Whether an operator adds, subtracts, multiplies or divides; False for user operators."""
    return opcode < opcodes.FIRST_USER and (_ARITHMETIC >> opcode) & 1 == 1


@kernel
def finite_or_missing(value):
    """Return a value, or NaN if it is not finite or too large for float32."""
    return value if abs(value) <= _LARGEST else _MISSING


@kernel
def boolean_or_missing(x, y, holds):
    """Return a condition as 0 or 1, or NaN if an operand is missing."""
    known = (x == x) & (y == y)
    return (_ONE if holds else _ZERO) if known else _MISSING


@kernel
def decode_number(code):
    """Return the number that a code stores as digits, a power of ten and a sign."""
    whole = code & ((1 << DIGIT_BITS) - 1)
    exponent = (code >> DIGIT_BITS) & ((1 << EXPONENT_BITS) - 1)
    exponent -= (exponent >> (EXPONENT_BITS - 1)) << EXPONENT_BITS
    size = whole * POWERS[exponent] if exponent >= 0 else whole / POWERS[-exponent]
    return -size if code >> (DIGIT_BITS + EXPONENT_BITS) else size


@kernel
def apply_one(opcode, parameter, x):
    """Apply a unary built-in operator to a value; the result of an unknown one is missing."""
    if opcode == op.NEG:
        return -x
    if opcode == op.ABS:
        return abs(x)
    if opcode == op.SQUARE:
        return finite_or_missing(x * x)
    if opcode == op.SQRT:
        return math.sqrt(abs(x))
    if opcode == op.LOG:
        return finite_or_missing(math.log(abs(x)))
    if opcode == op.EXP:
        return finite_or_missing(math.exp(_EXP_BOUND if x > _EXP_BOUND else x))
    if opcode == op.RECIPROCAL:
        return finite_or_missing(_ONE / x)
    if opcode == op.NOT:
        return boolean_or_missing(x, x, x == _ZERO)
    if opcode == op.IS:
        return boolean_or_missing(x, x, x == np.float32(parameter))
    number = cast_like(decode_number(parameter), x)
    if opcode == op.AT_LEAST:
        return finite_or_missing(x if x != x or x > number else number)
    if opcode == op.AT_MOST:
        return finite_or_missing(x if x != x or x < number else number)
    if opcode == op.OVER:
        return boolean_or_missing(x, x, x > number)
    if opcode == op.SCALED:
        return finite_or_missing(x * number)
    if opcode == op.SHIFTED:
        return finite_or_missing(x + number)
    return _MISSING


@kernel
def apply_two(opcode, x, y):
    """Apply a binary built-in operator to two values; the result of an unknown one is missing."""
    if opcode == op.ADD:
        return finite_or_missing(x + y)
    if opcode == op.SUB:
        return finite_or_missing(x - y)
    if opcode == op.MUL:
        return finite_or_missing(x * y)
    if opcode == op.DIV:
        return finite_or_missing(x / y)
    if opcode == op.MIN:
        return (x if x < y else y) if (x == x) & (y == y) else _MISSING
    if opcode == op.MAX:
        return (x if x > y else y) if (x == x) & (y == y) else _MISSING
    if opcode == op.GAUSSIAN:
        difference = x - y
        return finite_or_missing(math.exp(-(difference * difference)))
    if opcode == op.AND:
        return boolean_or_missing(x, y, (x != _ZERO) & (y != _ZERO))
    if opcode == op.OR:
        return boolean_or_missing(x, y, (x != _ZERO) | (y != _ZERO))
    if opcode == op.XOR:
        return boolean_or_missing(x, y, (x != _ZERO) != (y != _ZERO))
    if opcode == op.LESS:
        return boolean_or_missing(x, y, x < y)
    if opcode == op.LESS_EQUAL:
        return boolean_or_missing(x, y, x <= y)
    if opcode == op.GREATER:
        return boolean_or_missing(x, y, x > y)
    if opcode == op.GREATER_EQUAL:
        return boolean_or_missing(x, y, x >= y)
    if opcode == op.EQUAL:
        return boolean_or_missing(x, y, x == y)
    return _MISSING


@kernel
def apply_user(address, values, first, arity):
    """Apply a compiled user operator to `arity` values of a stack from `first` on.

    If an operand is missing, so is the result, and the function is not called.
    """
    for k in range(arity):
        if values[first + k] != values[first + k]:
            return values[first + k]
    a = values[first]
    if arity == 1:
        return finite_or_missing(call_address(address, (a,)))
    b = values[first + 1]
    if arity == 2:
        return finite_or_missing(call_address(address, (a, b)))
    c = values[first + 2]
    if arity == 3:
        return finite_or_missing(call_address(address, (a, b, c)))
    d = values[first + 3]
    if arity == 4:
        return finite_or_missing(call_address(address, (a, b, c, d)))
    # Functions of more operands take eight, of which they ignore the last.
    e = values[first + 4]
    f = values[first + 5] if arity > 5 else a
    g = values[first + 6] if arity > 6 else a
    h = values[first + 7] if arity > 7 else a
    return finite_or_missing(call_address(address, (a, b, c, d, e, f, g, h)))
