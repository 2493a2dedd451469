"""Expressions in plain words."""

from __future__ import annotations

import math
import re

import pytest
from tests.cases import loop_over

from featurewright.expressions import (
    OPERATORS,
    Category,
    Operator,
    Real,
    parse,
    resolve_operators,
)

NAMES = ["price", "area", "rooms"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("price / area", "price divided by area"),
        ("price", "price"),
        ("log(price / (area + rooms))", "the logarithm of (price divided by (area plus rooms))"),
        ("price > 100", "whether price is greater than 100"),
        ("price < area", "whether price is less than area"),
        ("max(price, 2.5)", "price but at least 2.5"),
        ("max(price, area)", "the larger of price and area"),
        ("square(price) - area", "(price squared) minus area"),
        ("2 * price + area - 3 * rooms", "2 times price plus area minus 3 times rooms"),
        ("price * area * rooms", "price times area times rooms"),
        ("price - (area - rooms)", "price minus (area minus rooms)"),
        ("(price + area) * rooms", "(price plus area) times rooms"),
        ("price / area + rooms", "(price divided by area) plus rooms"),
        ("price + area > 2 * rooms", "whether price plus area is greater than 2 times rooms"),
    ],
)
def test_words(text, words):
    assert parse(text, NAMES).words() == words


@loop_over("name", list(OPERATORS))
def test_every_operator_has_words(name):
    operator = OPERATORS[name]
    n_operands = operator.arity + operator.has_parameter
    assert operator.words is not None
    assert set(re.findall(r"#(\d)", operator.words)) == {str(k + 1) for k in range(n_operands)}
    assert re.fullmatch(r"[a-z#\d ]+", operator.words)


def test_words_differ():
    numbers = ("over", "scaled", "shifted")  # say what the operators of two columns say
    shown = [operator.words for name, operator in OPERATORS.items() if name not in numbers]
    assert len(set(shown)) == len(shown)


def test_operators_of_users():
    (both,) = resolve_operators([Operator("hypotenuse", (Real, Real), Real, math.hypot)])
    found = parse("hypotenuse(price, area)", NAMES, operators=[both])
    assert found.words() == "hypotenuse of price and area"


def test_levels_are_quoted():
    found = parse("colour is 'dark red'", ["colour"], [Category], [("blue", "dark red")])
    assert found.words() == "whether colour is “dark red”"
