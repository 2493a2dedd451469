"""Programs that differ in the order of operands become one, and compute what they did."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.test_operators import ROUNDED, some_columns, some_programs
from tests.engine.workbench import as_programs
from tests.naive import programs as naive

from featurewright.engine.programs import order_operands
from featurewright.expressions import OPERATORS, Operator, Real
from featurewright.expressions.builtin import ADD, IS, MUL, SQRT, SUB
from featurewright.expressions.opcodes import FIRST_USER, operator_symbol

PLUS, TIMES, MINUS, ROOT = map(operator_symbol, (ADD, MUL, SUB, SQRT))
COMMUTATIVE = sorted(name for name, operator in OPERATORS.items() if operator.commutative)


def ordered(programs, arities=()) -> np.ndarray:
    out = programs.copy()
    width = out.shape[1]
    order_operands(
        out, np.array(arities, np.int64), np.empty(width, np.int64), np.empty(width, np.int32)
    )
    return out


def commuted(program, rng) -> list[int]:
    """Exchange operands of commutative operators at random."""
    stack: list[list[int]] = []
    for symbol in naive.symbols_of(program):
        if symbol >= 0:
            stack.append([symbol])
            continue
        operator = naive.operator_of(symbol)
        parts = stack[-operator.arity :]
        del stack[-operator.arity :]
        if operator.commutative and rng.random() < 0.5:
            parts.reverse()
        stack.append([*(s for part in parts for s in part), symbol])
    return stack[0]


def test_values_stay():
    programs = some_programs(300, sorted(OPERATORS))
    columns = some_columns(50)
    actual = [naive.run(program, columns) for program in ordered(programs)]
    expected = [naive.run(program, columns) for program in programs]
    np.testing.assert_array_equal(actual, expected)
    assert not np.array_equal(ordered(programs), programs)


def test_twice_is_once():
    once = ordered(some_programs(300, sorted(OPERATORS)))
    np.testing.assert_array_equal(ordered(once), once)


def test_commuted_programs_become_equal():
    rng = np.random.default_rng(0)
    names = [name for name in sorted(OPERATORS) if name not in ROUNDED]
    programs = some_programs(500, names)
    others = as_programs(*(commuted(program, rng) for program in programs), width=7)
    assert not np.array_equal(others, programs)
    np.testing.assert_array_equal(ordered(others), ordered(programs))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_exactly_the_commutative_operators_are_ordered(name):
    operator = OPERATORS[name]
    if operator.arity != 2:
        return
    symbol = operator_symbol(operator.opcode)
    actual = ordered(as_programs([1, 0, symbol]))
    expected = as_programs([0, 1, symbol] if name in COMMUTATIVE else [1, 0, symbol])
    np.testing.assert_array_equal(actual, expected)


def test_shorter_operands_come_first():
    actual = ordered(as_programs([1, 2, TIMES, 0, PLUS], [2, 1, MINUS, 3, TIMES]))
    expected = as_programs([0, 1, 2, TIMES, PLUS], [3, 2, 1, MINUS, TIMES])
    np.testing.assert_array_equal(actual, expected)


def test_operands_of_user_operators_stay_in_place():
    three = operator_symbol(FIRST_USER)
    users = [Operator("three", (Real, Real, Real), Real, lambda a, b, c: a - b * c)]
    programs = as_programs([2, 1, 0, PLUS, 0, three, 1, PLUS], width=8)
    expected = as_programs([1, 2, 0, 1, PLUS, 0, three, PLUS], width=8)
    actual = ordered(programs, [users[0].arity])
    np.testing.assert_array_equal(actual, expected)
    columns = some_columns(20)[:3]
    np.testing.assert_array_equal(
        naive.run(actual[0], columns, users), naive.run(programs[0], columns, users)
    )


def test_parameters_and_unary_operators_stay_with_their_operand():
    level = operator_symbol(IS, 3)
    programs = as_programs([2, level, 1, ROOT, TIMES])
    expected = as_programs([2, level, 1, ROOT, TIMES], [1, ROOT, 2, level, TIMES])
    (actual,) = ordered(programs)
    assert actual.tolist() in expected.tolist()
    np.testing.assert_array_equal(ordered(expected), [actual, actual])
