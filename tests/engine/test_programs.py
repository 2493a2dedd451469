"""Evaluation of whole programs, gathering of their rows, and the order of their operands."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.arguments import NO_USERS, as_programs, make_grammar, make_settings, make_state
from tests.engine.test_operators import EVERY_OPERATOR, LARGEST, ROUNDED, over_columns, over_rows
from tests.naive import programs as naive

from featurewright.engine.buffers import LANES, TreeBuffers
from featurewright.engine.grammar import complete
from featurewright.engine.programs import (
    gather_all,
    order_operands,
    padded,
    run_operators,
    run_rows,
)
from featurewright.expressions import OPERATORS, Operator, Real
from featurewright.expressions.builtin import ADD, IS, MUL, SQRT, SUB
from featurewright.expressions.opcodes import FIRST_USER, operator_symbol

PLUS, TIMES, MINUS, ROOT = map(operator_symbol, (ADD, MUL, SUB, SQRT))


def some_programs(count: int, names, domains=(0, 0, 0, 1, 2), width: int = 7) -> np.ndarray:
    grammar = make_grammar(domains, names, width)
    state = make_state(5)
    programs = np.empty((count, width), np.int32)
    for k in range(count):
        state["grammar_state"] = 0
        complete(grammar, programs, np.empty_like(programs), k, 0, state)
    return programs


def some_columns(n: int, seed: int = 0) -> np.ndarray:
    """Three columns of numbers of many sizes, truth values and levels; a tenth missing."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(5, n)) * 10.0 ** rng.integers(-4, 5, size=(5, n))
    columns[3], columns[4] = rng.integers(0, 2, n), rng.integers(0, 3, n)
    columns[rng.random((5, n)) < 0.1] = np.nan
    return columns.astype(np.float32)


def test_whole_programs_give_the_same_over_columns_and_rows():
    programs = some_programs(150, EVERY_OPERATOR)
    columns = some_columns(100)
    np.testing.assert_array_equal(over_rows(programs, columns), over_columns(programs, columns))


@loop_over("n", [1, 31, 32, 33, 1023, 1024, 1025, 3000])
def test_whole_programs_equal_references_across_chunks(n):
    exact = [name for name in EVERY_OPERATOR if name not in ROUNDED]
    programs = some_programs(60, exact)
    columns = some_columns(n, seed=n)
    expected = np.array([naive.run(program, columns) for program in programs])
    np.testing.assert_array_equal(over_columns(programs, columns), expected)


def test_rows_are_gathered_in_the_given_order():
    columns = some_columns(2000)
    rows = np.random.default_rng(1).integers(0, 2000, 1500).astype(np.int32)
    programs = some_programs(10, ["add", "sub", "mul"])
    evaluation = TreeBuffers.allocate(2000, 1, 2, programs.shape[1], make_settings(), 1).evaluation
    for k, program in enumerate(programs):
        run_rows(programs, k, columns, rows, 100, 1400, NO_USERS, evaluation)
        expected = naive.run(program, columns[:, rows[100:]])
        np.testing.assert_array_equal(evaluation.values[0, :1400], expected)
        # The padding up to a multiple of LANES repeats the last value.
        np.testing.assert_array_equal(evaluation.values[0, 1400 : padded(1400)], expected[-1])


@pytest.mark.parametrize("n", [1, 31, 32, 33, 200])
def test_all_columns_are_gathered_at_once(n):
    columns = some_columns(300)
    rows = np.random.default_rng(n).integers(0, 300, n + 9).astype(np.int32)
    buffer = np.full((7, n + LANES), -7, np.float32)
    gather_all(np.ascontiguousarray(columns.T), rows, 9, n, buffer)
    expected = columns[:, rows[9:]]
    np.testing.assert_array_equal(buffer[:5, :n], expected)
    padding = np.repeat(expected[:, -1:], padded(n) - n, axis=1)
    np.testing.assert_array_equal(buffer[:5, n : padded(n)], padding)
    assert (buffer[5:] == -7).all()


@pytest.mark.parametrize("n", [1, 5, 32, 45])
def test_padding_does_not_reach_results(n):
    programs = some_programs(100, EVERY_OPERATOR)
    columns = some_columns(n)
    results = []
    for filler in (0.0, np.nan, LARGEST):
        buffer = np.full((len(columns) + programs.shape[1], n + LANES), filler, np.float32)
        for k, program in enumerate(programs):
            buffer[: len(columns), :n] = columns
            row = run_operators(
                programs, k, len(naive.symbols_of(program)), buffer, len(columns), n, NO_USERS,
                np.empty(programs.shape[1] + 1, np.int64), np.empty(4, np.float32),
            )  # fmt: skip
            results.append(buffer[row, :n].copy())
    results = np.array(results).reshape(3, len(programs), n)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])
    np.testing.assert_array_equal(results[0], over_columns(programs, columns))


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


def test_exactly_the_commutative_operators_are_ordered():
    for operator in OPERATORS.values():
        if operator.arity == 2:
            symbol = operator_symbol(operator.opcode)
            actual = ordered(as_programs([1, 0, symbol]))
            expected = as_programs([0, 1, symbol] if operator.commutative else [1, 0, symbol])
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
