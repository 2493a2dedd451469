"""Expressions in plain words, for people who do not read formulas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.domains import Boolean
from featurewright.expressions.operators import BuiltInOperator
from featurewright.expressions.text import printable, shorten, written_operator, written_order


def words_of(expression: Expression) -> str:
    """Write an expression in words.

    Parameters
    ----------
    expression : Expression
        What to write.

    Returns
    -------
    str
        Part of a sentence; what is computed first is in brackets, but for sums and products that
        need none.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> words_of(parse("price / (rooms + area)", ["price", "rooms", "area"]))
    'price divided by (rooms plus area)'
    >>> words_of(parse("2 * price + rooms - area", ["price", "rooms", "area"]))
    '2 times price plus rooms minus area'
    >>> words_of(parse("price > 100", ["price"]))
    'whether price is greater than 100'
    """
    text, operator = expression.fold(_column, _call)
    return f"whether {text}" if operator and expression.domain == Boolean else text


_SUMS, _PRODUCTS = ("add", "sub", "shifted"), ("mul", "scaled")
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "over")
_WITHOUT_BRACKETS: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(_SUMS, ((*_SUMS, *_PRODUCTS), _PRODUCTS)),
    **dict.fromkeys(_PRODUCTS, (_PRODUCTS, ())),
    **dict.fromkeys(_COMPARISONS, ((*_SUMS, *_PRODUCTS),) * 2),
}
"""Of operators that are read from the left: which need no brackets as first or second operand."""


def _column(node: Column) -> tuple[str, str]:
    """Return the name of a column, and that no operator makes it."""
    return shorten(printable(node.name)), ""


def _call(node: Call, parts: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the words of an operator around those of its operands, and its name."""
    operator, label = written_operator(node)
    if node.parameter is not None:
        written = label if node.operator.has_number else f"“{shorten(printable(label))}”"
        parts = written_order(operator, parts, (written, ""))
    template = operator.words if isinstance(operator, BuiltInOperator) else None
    bare = _WITHOUT_BRACKETS.get(operator.name, ((),) * len(parts))
    operands = [
        f"({text})" if inner and inner not in without else text
        for (text, inner), without in zip(parts, bare, strict=True)
    ]
    if template is None:
        return f"{shorten(node.name)} of {' and '.join(operands)}", node.name
    return re.sub(r"#(\d)", lambda slot: operands[int(slot[1]) - 1], template), operator.name
