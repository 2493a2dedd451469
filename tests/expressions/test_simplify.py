"""Simplification changes no value and reaches a fixed point."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.expressions.strategies import (
    DOMAINS,
    LEVELS,
    NAMES,
    USER_OPERATORS,
    expressions,
    hostile_table,
)

from featurewright.expressions import Call, parse, simplify
from featurewright.expressions.simplify import simplify_call, unscaled


@settings(max_examples=400, deadline=None)
@given(expressions(), st.integers(0, 10))
def test_values_are_the_same_bit_for_bit(expression, seed) -> None:
    X = hostile_table(seed)
    simpler = simplify(expression)
    np.testing.assert_array_equal(simpler.evaluate(X), expression.evaluate(X))
    assert simpler.size <= expression.size
    assert set(simpler.columns()) <= set(expression.columns())
    assert simplify(simpler) == simpler


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_a_call_of_simplified_arguments_is_simplified_alike(expression) -> None:
    if isinstance(expression, Call):
        arguments = tuple(map(simplify, expression.arguments))
        found = simplify_call(expression.operator, arguments, expression.parameter)
        assert found == simplify(expression)


@loop_over(
    ("text", "expected"),
    [
        ("not not p", "p"),
        ("--a", "a"),
        ("abs(abs(a))", "abs(a)"),
        ("abs(sqrt(a - b))", "sqrt(a - b)"),
        ("abs(gaussian(a, b))", "gaussian(a, b)"),
        ("abs(a < b)", "a < b"),
        ("square(sqrt(a > 2.5))", "a > 2.5"),
        ("abs(-a)", "abs(a)"),
        ("square(-a)", "square(a)"),
        ("square(abs(a))", "square(a)"),
        ("sqrt(-a)", "sqrt(a)"),
        ("log(abs(a))", "log(a)"),
        ("a - -b", "a + b"),
        ("a + -b", "a - b"),
        ("-a + b", "b - a"),
        ("-a * -b", "a * b"),
        ("-a / -b", "a / b"),
        ("a * a", "square(a)"),
        ("-a * -a", "square(a)"),
        ("min(a, a)", "a"),
        ("p and p", "p"),
        ("p or p", "p"),
        ("gaussian(b, a)", "gaussian(a, b)"),
        ("b + a", "a + b"),
        ("a * c + b", "b + a * c"),
        ("a > b", "b < a"),
        ("a >= b", "b <= a"),
        ("not a < b", "b <= a"),
        ("not a > b", "a <= b"),
        ("a - b", "a - b"),
        ("b / a", "b / a"),
        ("middle(c, a, b)", "middle(a, b, c)"),
        ("p xor p", "p xor p"),
        ("a - a", "a - a"),
        ("a + (b + c)", "a + (b + c)"),
        ("1 * a", "a"),
        ("-1 * a + b", "b - a"),
        ("a + 0", "a"),
        ("1 * p", "1 * p"),
        ("-(2 * a)", "-2 * a"),
        ("2 * -a", "-2 * a"),
        ("b + -2 * a", "b - 2 * a"),
        ("-2 * a + b", "b - 2 * a"),
        ("b - -2 * a", "b + 2 * a"),
        ("square(-2 * a)", "square(2 * a)"),
        ("-2 * a / -b", "2 * a / b"),
        ("2 * (3 * a)", "2 * (3 * a)"),
    ],
)
def test_rule(text, expected) -> None:
    names = ["a", "b", "c", "p"]
    tree = parse(text, names, [0, 0, 0, 1], operators=USER_OPERATORS)
    assert str(simplify(tree)) == expected


@settings(deadline=None)
@given(expressions())
def test_simplified_text_still_reads_back(expression) -> None:
    simpler = simplify(expression)
    assert parse(str(simpler), NAMES, DOMAINS, LEVELS, USER_OPERATORS) == simpler


@loop_over(
    ("text", "expected"),
    [
        ("2 * (3 * a)", "a"),
        ("log(2 * (3 * a))", "log(6 * a)"),
        ("log(0.5 * (0.5 * a))", "log(0.25 * a)"),
        ("log(0.5 * (2 * a))", "log(0.5 * (2 * a))"),
        ("log(1.001 * (1.001 * a))", "log(1.001 * (1.001 * a))"),
        ("log(a + 1 + 2)", "log(a + 3)"),
        ("log(a + 3 - 1)", "log(a + 3 - 1)"),
        ("-2 * square(a - 3) + 4", "square(a - 3)"),
        ("-(2 * a - b)", "2 * a - b"),
        ("0 * a", "0 * a"),
        ("2 * p", "p"),
        ("log(3e+38 * (2 * a))", "log(3e+38 * (2 * a))"),
    ],
)
def test_scale_and_shift_of_the_whole_are_dropped(text, expected) -> None:
    tree = parse(text, ["a", "b", "p"], [0, 0, 1])
    assert str(unscaled(tree)) == expected
