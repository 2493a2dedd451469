"""Trees: structure, evaluation, validation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from tests.expressions.strategies import expressions

from featurewright.expressions import Boolean, Call, Category, Column, Real, get_operator, parse

A, B = Column(0, "a", Real), Column(1, "b", Real)
COLOUR = Column(2, "colour", Category)


def test_size_columns_and_domain() -> None:
    tree = Call(get_operator("less"), (Call(get_operator("mul"), (B, B)), A))
    assert tree.size == 5
    assert tree.columns() == (0, 1)
    assert tree.domain == Boolean


def test_evaluate_is_float64_and_does_not_alias_its_input() -> None:
    X = np.array([[1, 2], [3, 0]], dtype=np.float32)
    values = Call(get_operator("div"), (A, B)).evaluate(X)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [0.5, np.nan])
    X = X.astype(np.float64)
    A.evaluate(X)[0] = 99
    assert X[0, 0] == 1


def test_evaluate_level_test() -> None:
    tree = Call(get_operator("is"), (COLOUR,), (1, "red"))
    np.testing.assert_array_equal(
        tree.evaluate([[0, 0, 1], [0, 0, 0], [0, 0, np.nan]]), [1, 0, np.nan]
    )


def test_evaluate_wants_its_columns() -> None:
    with pytest.raises(ValueError, match="at least 2 columns"):
        B.evaluate([[1.0]])
    with pytest.raises(ValueError, match="2-D"):
        A.evaluate([1.0])


def test_equality_is_structural() -> None:
    names = ["a", "b"]
    assert parse("a + b", names) == parse("(a + b)", names)
    assert parse("a + b", names) != parse("b + a", names)
    assert hash(parse("a + b", names)) == hash(parse("a + b", names))


@pytest.mark.parametrize(
    ("operator", "arguments", "parameter", "message"),
    [
        ("add", (A,), None, "1 arguments, expected 2"),
        ("and", (A, B), None, "expects a Boolean and got a, a Real"),
        ("add", (A, COLOUR), None, "expects a Real and got colour, a Category"),
        ("is", (COLOUR,), None, "takes a level"),
        ("neg", (A,), (1, "x"), "takes no parameter"),
        ("is", (COLOUR,), (-1, "x"), "level code"),
    ],
)
def test_bad_call_is_refused(operator, arguments, parameter, message) -> None:
    with pytest.raises(ValueError, match=message):
        Call(get_operator(operator), arguments, parameter)


def test_negative_column_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Column(-1, "a", Real)


@settings(deadline=None)
@given(expressions())
def test_trees_pickle(expression) -> None:
    assert pickle.loads(pickle.dumps(expression)) == expression
