"""Text and trees: exact strings, round trips, and where errors are."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.expressions.strategies import DOMAINS, LEVELS, NAMES, USER_OPERATORS, expressions

from featurewright.expressions import Column, Operator, ParseError, Real, parse, simplify

COLUMNS = ["a", "b", "c", "p", "q", "colour", "petal length (cm)", "is"]
KINDS = [0, 0, 0, 1, 1, 2, 0, 0]
LABELS = [None, None, None, None, None, ["red", "it's"], None, None]


def read(text: str):
    """Parse over the columns of this module."""
    return parse(text, COLUMNS, KINDS, LABELS, [Operator("own op", (Real, Real), Real, max)])


@loop_over(
    "text",
    [
        "a",
        "`petal length (cm)` / a",
        "`is` + a",
        "a + b + c",
        "a + (b + c)",
        "a - (b - c)",
        "a * (b + c)",
        "a * b + c",
        "a / (b * c)",
        "a / b * c",
        "-a * b",
        "-(a * b)",
        "-(a + b)",
        "a - -b",
        "--a",
        "sqrt(a + b)",
        "min(a, max(b, c))",
        "gaussian(a, b) * square(c)",
        "log(abs(reciprocal(exp(a))))",
        "a < b",
        "a + p <= b * c",
        "(a < b) < c",
        "a < (b < c)",
        "p and q and p",
        "p and (q and p)",
        "p or q and p",
        "(p or q) and p",
        "p xor q or p",
        "not p and q",
        "not (p and q)",
        "not not p",
        "not a < b",
        "(not p) + a",
        "a < (not p)",
        "p and not q",
        "-p >= a",
        "colour == colour",
        "colour is 'red'",
        "colour is 'it''s' and p",
        "not colour is 'red'",
        "(colour is 'red') + a",
        "`own op`(a, b) > c",
        "max(a, 2.5)",
        "min(a - b, -0.001)",
        "a > 1e+20",
        "not a * b > -3",
        "(a > 3) + b",
        "max(min(a, 5), 0) / b",
    ],
)
def test_text_is_kept(text) -> None:
    assert str(read(text)) == text


@loop_over(
    ("text", "expected"),
    [
        ("((a))", "a"),
        ("(a+b)+c", "a + b + c"),
        ("  a*\n b ", "a * b"),
        ("(-a) * b", "-a * b"),
        ("`a` + b", "a + b"),
        ("max(a, 2.50)", "max(a, 2.5)"),
        ("a > - 1e2", "a > -100"),
        ("(a < b) and (p)", "a < b and p"),
    ],
)
def test_needless_parentheses_and_spaces_go(text, expected) -> None:
    assert str(read(text)) == expected


@settings(deadline=None)
@given(expressions())
def test_round_trip(expression) -> None:
    assert parse(str(expression), NAMES, DOMAINS, LEVELS, USER_OPERATORS) == expression


@settings(deadline=None)
@given(st.lists(st.text(max_size=6), min_size=2, max_size=2, unique=True))
def test_any_column_name_round_trips(names) -> None:
    tree = parse("x / y", ["x", "y"])
    first, second = (Column(i, name, Real) for i, name in enumerate(names))
    tree = type(tree)(tree.operator, (first, second))
    assert parse(str(tree), names) == tree


@loop_over(
    ("text", "where", "message"),
    [
        ("", 1, "got the end, expected a column"),
        ("a +", 4, "got the end"),
        ("a b", 3, "expected an operator"),
        ("a + * b", 5, r"got '\*'"),
        ("(a + b", 7, r"expected '\)'"),
        ("a ? b", 3, r"got '\?'"),
        ("a + `b", 5, "got '`'"),
        ("a + bb", 5, "the name of a column such as 'b'"),
        ("a < b < c", 7, "got '<'"),
        ("a + not p", 5, "put this one in parentheses"),
        ("min(a)", 1, "1 arguments, expected 2"),
        ("minn(a, b)", 1, "did you mean 'min'"),
        ("add(a, b)", 1, "written before its arguments"),
        ("`min`(a, b)", 1, "without backticks"),
        ("a and p", 3, "expects a Boolean"),
        ("a is 'red'", 3, "after a Category column only"),
        ("colour is red", 11, "single quotes"),
        ("colour is 'pink'", 11, "one level of column 'colour'"),
        ("min(a, b", 9, r"expected '\)'"),
        ("and", 1, "got 'and'"),
    ],
)
def test_errors_say_where(text, where, message) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        read(text)
    assert f"character {where}" in str(caught.value)


def test_a_name_two_columns_share_is_refused() -> None:
    with pytest.raises(ParseError, match="only one column has"):
        parse("a", ["a", "a"])


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 900 + "a", "a" + "+a" * 5000])
def test_monstrous_text_is_refused(text) -> None:
    with pytest.raises(ParseError, match="at most"):
        parse(text, ["a"])


def test_long_chains_survive_every_operation() -> None:
    tree = parse("a" + " + a" * 199, ["a"])
    assert tree.size == 399
    assert parse(str(tree), ["a"]) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.evaluate([[1.0]])[0] == 200
    assert simplify(tree).size == 399
