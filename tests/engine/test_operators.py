"""Compiled operators equal their NumPy references, over columns and over one row."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.workbench import NO_USERS, as_programs, make_grammar, make_settings, make_state
from tests.naive import programs as naive

from featurewright.engine.buffers import LANES, TreeBuffers
from featurewright.engine.descend import run_programs
from featurewright.engine.grammar import complete
from featurewright.engine.operators import (
    apply_one,
    apply_two,
    is_arithmetic,
    is_commutative,
    takes_one,
)
from featurewright.engine.programs import gather_all, padded, run_operators, run_row, run_rows
from featurewright.expressions import ARITHMETIC, OPERATORS
from featurewright.expressions.numbers import number_code
from featurewright.expressions.opcodes import FIRST_USER, operator_symbol

LARGEST = np.finfo(np.float32).max
HOSTILE = np.array(
    [0, -0.0, np.nan, -np.nan, 1, -1, 2, -3.7, 0.1, 80, 80.5, 89, -104, 1e20, 1e30, -1e30, 1e-30,
     -1e-30, 1e-40, -1e-45, 1.2e-38, LARGEST, -LARGEST],
    np.float32,
)  # fmt: skip
ROUNDED = {name for name, row in OPERATORS.items() if not row.exact}
PARAMETER = 2
EVERY_OPERATOR = sorted(OPERATORS)


def operands(arity: int, dtype) -> np.ndarray:
    """All combinations of hostile values, one operand per row."""
    grid = np.meshgrid(*[HOSTILE.astype(dtype)] * arity, indexing="ij")
    return np.ascontiguousarray([values.ravel() for values in grid])


def single(name: str) -> np.ndarray:
    operator = OPERATORS[name]
    parameter = PARAMETER if operator.has_level else number_code(-3.7) * operator.has_number
    return as_programs([*range(operator.arity), operator_symbol(operator.opcode, parameter)])


def over_columns(programs, columns) -> np.ndarray:
    """Evaluate with `run_rows`."""
    n = columns.shape[1]
    evaluation = TreeBuffers.allocate(n, 1, 2, programs.shape[1], make_settings(), 1).evaluation
    out = []
    for k in range(len(programs)):
        run_rows(programs, k, columns, np.arange(n, dtype=np.int32), 0, n, NO_USERS, evaluation)
        out.append(evaluation.values[0, :n].copy())
    return np.array(out)


def over_rows(programs, columns) -> np.ndarray:
    """Evaluate with `run_row`."""
    matrix = np.ascontiguousarray(columns.T)
    stack = np.empty(programs.shape[1] + 1, matrix.dtype)
    return np.array(
        [
            [run_row(programs, k, matrix, i, NO_USERS, stack) for i in range(len(matrix))]
            for k in range(len(programs))
        ]
    ).astype(matrix.dtype)


def assert_close_bits(actual, expected, ulps: int) -> None:
    """Missing at the same places, and otherwise within so many units in the last place."""
    if ulps == 0:
        np.testing.assert_array_equal(actual, expected)
        return
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        allowed = ulps * np.spacing(np.abs(expected)).astype(np.float64)
    known = ~np.isnan(expected)
    assert (distance[known] <= allowed[known]).all()


def test_arity_and_symmetry_are_those_of_the_table():
    for row in OPERATORS.values():
        assert takes_one(row.opcode) == (row.arity == 1), row.name
        assert is_commutative(row.opcode) == row.commutative, row.name
    assert not takes_one(FIRST_USER)
    assert [name for name in OPERATORS if is_arithmetic(OPERATORS[name].opcode)] == list(ARITHMETIC)
    assert not is_arithmetic(FIRST_USER)


def test_an_opcode_without_a_kernel_gives_missing():
    unknown = FIRST_USER - 2
    assert np.isnan(apply_one(unknown, 0, 1.0))
    assert np.isnan(apply_two(unknown, 1.0, 1.0))


@pytest.mark.parametrize("name", EVERY_OPERATOR)
def test_over_columns_equals_the_reference(name):
    columns = operands(OPERATORS[name].arity, np.float32)
    expected = naive.run(single(name)[0], columns)
    actual = over_columns(single(name), columns)[0]
    assert actual.dtype == expected.dtype == np.float32
    assert_close_bits(actual, expected, 2 if name in ROUNDED else 0)


@pytest.mark.parametrize("name", EVERY_OPERATOR)
def test_over_one_row_equals_columns_to_the_last_bit(name):
    columns = operands(OPERATORS[name].arity, np.float32)
    np.testing.assert_array_equal(
        over_rows(single(name), columns), over_columns(single(name), columns)
    )


@pytest.mark.parametrize("name", EVERY_OPERATOR)
def test_wide_floats_equal_the_reference(name):
    columns = operands(OPERATORS[name].arity, np.float64)
    expected = naive.run(single(name)[0], columns)
    actual = np.empty((columns.shape[1], 1))
    run_programs(np.ascontiguousarray(columns.T), single(name), NO_USERS, np.empty(6), actual)
    assert_close_bits(actual[:, 0], expected, 2 if name in ROUNDED else 0)


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


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1023, 1024, 1025, 3000])
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
        # What follows up to a whole group of lanes repeats the last value.
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
