"""Numbers in formulas: what is written, what is packed, what is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import loop_over

from featurewright.expressions import (
    Call,
    Column,
    Feature,
    ParseError,
    Real,
    from_program,
    get_operator,
    parse,
    to_program,
)
from featurewright.expressions.numbers import (
    code_number,
    is_number_code,
    number_code,
    number_text,
)
from featurewright.expressions.opcodes import FLOAT_MAX, MAX_PARAMETER


@given(st.floats(-FLOAT_MAX, FLOAT_MAX))
def test_a_number_keeps_four_digits_and_its_text(value):
    code = number_code(value)
    assert 0 <= code <= MAX_PARAMETER
    assert is_number_code(code)
    assert number_code(float(number_text(code))) == code
    assert code_number(code) == pytest.approx(float(number_text(code)), rel=4e-16, abs=0)
    if abs(value) > 1e-120:
        assert abs(float(number_text(code)) - value) <= 0.0005001 * abs(value)


@given(st.integers(0, MAX_PARAMETER))
def test_any_code_is_a_number_or_refused(code):
    column = Column(0, "a", Real)
    if is_number_code(code):
        made = Call(get_operator("over"), (column,), (code, number_text(code)))
        assert parse(str(made), ["a"]) == made
        assert from_program(to_program(made), ["a"], [Real]) == made
    else:
        with pytest.raises(ValueError, match="code of no number"):
            Call(get_operator("over"), (column,), (code, "1"))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e39])
def test_what_float32_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match="within float32"):
        number_code(value)


@loop_over(
    ("text", "reason"),
    [
        ("2 + a", "numbers stand after"),
        ("a / 2", "numbers stand after"),
        ("2", "numbers stand after"),
        ("2 * 3 * a", "in parentheses"),
        ("a / 2 * b", "in parentheses"),
        ("--2 * a", "in parentheses"),
        ("1.2345 * a", "at most four digits"),
        ("a - 1e39", "at most four digits"),
        ("2 * ", "expected a column"),
        ("scaled(a)", "written before its arguments"),
        ("2 > a", "numbers stand after"),
        ("a < 2", "numbers stand after"),
        ("max(2, a)", "numbers stand after"),
        ("max(a, 1.2345)", "at most four digits"),
        ("a > 1e39", "at most four digits"),
        ("at_least(a)", "written before its arguments"),
        ("max(a, 2, a)", r"expected '\)'"),
        ("a > -", "expected a column"),
        ("a > -b > 2", "expected"),
    ],
)
def test_numbers_elsewhere_are_refused(text, reason):
    with pytest.raises(ParseError, match=reason):
        parse(text, ["a", "b"])


@pytest.mark.parametrize("number", [0.24, 0.7, 0.1, 2.675, 1e-5, 9999.0])
def test_a_value_is_not_over_the_number_it_is(number):
    for dtype in (np.float32, np.float64):
        x = np.array([number], dtype)
        (found,) = get_operator("over").reference(x, parameter=number_code(number))
        assert found == 0.0
    assert code_number(number_code(number)) == number


def test_a_step_and_a_bend():
    X = [[1.0], [2.5], [3.0], [np.nan]]
    assert parse("x > 2.5", ["x"]).evaluate(X).tolist()[:3] == [0.0, 0.0, 1.0]
    assert parse("max(x, 2.5)", ["x"]).evaluate(X).tolist()[:3] == [2.5, 2.5, 3.0]
    assert parse("min(x, 2.5)", ["x"]).evaluate(X).tolist()[:3] == [1.0, 2.5, 2.5]
    assert np.isnan(parse("x > 2.5", ["x"]).evaluate(X)[3])


def test_powers_of_ten_are_drawn():
    small = Feature.of(parse("max(x, -9e-05)", ["x"]))
    assert r"-9 \cdot 10^{-5}" in small.latex()
    assert "<mn>−9</mn><mo>·</mo><msup><mn>10</mn><mn>−5</mn></msup>" in small.mathml()
    large = Feature.of(parse("x > 2.5e+09", ["x"]))
    assert r"2.5 \cdot 10^{9}" in large.latex()


@loop_over(
    ("text", "written"),
    [
        ("2 * a", "2 * a"),
        ("a * 2", "2 * a"),
        ("-2 * a - b", "-2 * a - b"),
        ("2 * a - b + 0.5 * a", "2 * a - b + 0.5 * a"),
        ("a - 3", "a - 3"),
        ("a + -3", "a - 3"),
        ("a - -3", "a + 3"),
        ("a + 1.5 - b", "a + 1.5 - b"),
        ("a - (b + 1.5)", "a - (b + 1.5)"),
        ("a * 2 * b", "2 * a * b"),
        ("2 * (a * b)", "2 * (a * b)"),
        ("a * (-2 * b)", "a * (-2 * b)"),
        ("-(2 * a)", "-(2 * a)"),
        ("a > 2 * b", "a > 2 * b"),
        ("2 * a < b - 9e-05", "2 * a < b - 9e-05"),
        ("max(a, 2 * b)", "max(a, 2 * b)"),
        ("square(a - 3) > 2", "square(a - 3) > 2"),
        ("1e+20 * a", "1e+20 * a"),
    ],
)
def test_factors_and_shifts_are_read_and_written(text, written):
    made = parse(text, ["a", "b"])
    assert str(made) == written
    assert parse(str(made), ["a", "b"]) == made


def test_factors_and_shifts_in_all_forms():
    made = parse("2 * a - (b - 1.5)", ["a", "b"])
    assert made.evaluate([[1.0, 2.0], [np.nan, 1.0]]).tolist()[0] == 1.5
    assert made.latex() == r"2 \cdot a - \left(b - 1.5\right)"
    assert made.words() == "2 times a minus (b minus 1.5)"
    assert "<mn>2</mn><mo>·</mo><mi>a</mi>" in made.mathml()
    assert "<mi>b</mi><mo>−</mo><mn>1.5</mn>" in made.mathml()
    assert str(made.sympy()) == "2*a - b + 3/2"


@pytest.mark.parametrize("name", ["scaled", "shifted"])
def test_what_is_too_large_is_missing(name):
    code = number_code(3e38)
    for dtype in (np.float32, np.float64):
        x = np.array([3e38, -1e-3, 0.0, np.nan], dtype)
        found = get_operator(name).reference(x, parameter=code)
        assert np.isnan(found).tolist() == [True, False, False, True]
