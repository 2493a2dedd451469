"""Programs and trees are two forms of one thing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.cases import loop_over
from tests.expressions.strategies import DOMAINS, LEVELS, NAMES, USER_OPERATORS, expressions

from featurewright.expressions import Operator, Real, from_program, parse, to_program
from featurewright.expressions import opcodes as op
from featurewright.expressions.builtin import ADD, IS, MUL, SQRT, SUB


@settings(deadline=None)
@given(expressions())
def test_round_trip(expression) -> None:
    program = to_program(expression, USER_OPERATORS, width=expression.size + 3)
    assert program.dtype == np.int32
    assert (program[expression.size :] == op.END).all()
    assert from_program(program, NAMES, DOMAINS, LEVELS, USER_OPERATORS) == expression


def test_exact_symbols() -> None:
    tree = parse("(a - b) * sqrt(a)", ["a", "b"])
    expected = [0, 1, -1 - SUB, 0, -1 - SQRT, -1 - MUL]
    assert to_program(tree).tolist() == expected
    tree = parse("c is 'y'", ["c"], [2], [["x", "y"]])
    assert to_program(tree).tolist() == [0, op.operator_symbol(IS, 1)]


def test_too_narrow() -> None:
    with pytest.raises(ValueError, match="3 symbols, more than the width 2"):
        to_program(parse("a + b", ["a", "b"]), width=2)


def test_unknown_user_operator() -> None:
    own = Operator("own", (Real,), Real, abs)
    tree = parse("own(a)", ["a"], operators=[own])
    assert to_program(tree, [own]).tolist() == [0, -1 - op.FIRST_USER]
    with pytest.raises(ValueError, match="'own' is not among"):
        to_program(tree)
    many = [Operator(f"own{i}", (Real,), Real, abs) for i in range(193)]
    with pytest.raises(ValueError, match="192 user operators, got 193"):
        to_program(tree, many)


@loop_over(
    ("symbols", "message"),
    [
        ([], "leaves 0 values"),
        ([op.END, 0], "leaves 0 values"),
        ([0, 0], "leaves 2 values"),
        ([2], "pushes column 2 of 2"),
        ([0, -1], "applies 'add' to 1 values"),
        ([0, -1 - 30], "unknown opcode 30"),
        ([0, -1 - 64], "unknown opcode 64"),
        ([0, 0, op.operator_symbol(ADD, 1)], "gives the parameter 1"),
        ([0, -1 - IS], "not a Category column"),
        ([1, op.operator_symbol(IS, 5)], "tests level 5"),
        ([1, 0, -1], "expects a Real"),
    ],
)
def test_broken_program_is_refused(symbols, message) -> None:
    with pytest.raises(ValueError, match=message):
        from_program(symbols, ["a", "c"], [0, 2], [None, ["x"]])


def test_level_without_labels_shows_its_code() -> None:
    assert str(from_program([0, op.operator_symbol(IS, 7)], ["c"], [2])) == "c is '7'"


def test_levels_of_one_text_have_different_names() -> None:
    levels = [[True, 1, 1.5, "1", "True", "x"]]
    names = [
        str(from_program([0, op.operator_symbol(IS, code)], ["c"], [2], levels))
        for code in range(6)
    ]
    assert names[0] == "c is 'True (bool)'"
    assert names[1:4] == ["c is '1 (int)'", "c is '1.5'", "c is '1'"]
    assert [parse(name, ["c"], [2], levels).code for name in names] == list(range(6))
