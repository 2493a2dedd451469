"""Compiled operators equal their NumPy references, over columns and over one row."""

from __future__ import annotations

import numpy as np
from tests.cases import loop_over
from tests.engine.arguments import NO_USERS, as_programs, make_settings
from tests.naive import programs as naive

from featurewright.engine.buffers import TreeBuffers
from featurewright.engine.descend import run_programs
from featurewright.engine.operators import (
    apply_one,
    apply_two,
    is_arithmetic,
    is_commutative,
    takes_one,
)
from featurewright.engine.programs import run_row, run_rows
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
    """Missing at the same places, and otherwise within `ulps` units in the last place."""
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


@loop_over("name", EVERY_OPERATOR)
def test_over_columns_equals_the_reference(name):
    columns = operands(OPERATORS[name].arity, np.float32)
    expected = naive.run(single(name)[0], columns)
    actual = over_columns(single(name), columns)[0]
    assert actual.dtype == expected.dtype == np.float32
    assert_close_bits(actual, expected, 2 if name in ROUNDED else 0)


@loop_over("name", EVERY_OPERATOR)
def test_over_one_row_equals_columns_to_the_last_bit(name):
    columns = operands(OPERATORS[name].arity, np.float32)
    np.testing.assert_array_equal(
        over_rows(single(name), columns), over_columns(single(name), columns)
    )


@loop_over("name", EVERY_OPERATOR)
def test_wide_floats_equal_the_reference(name):
    columns = operands(OPERATORS[name].arity, np.float64)
    expected = naive.run(single(name)[0], columns)
    actual = np.empty((columns.shape[1], 1))
    run_programs(np.ascontiguousarray(columns.T), single(name), NO_USERS, np.empty(6), actual)
    assert_close_bits(actual[:, 0], expected, 2 if name in ROUNDED else 0)
