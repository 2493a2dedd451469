"""Expressions in plain words, for people who do not read formulas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.domains import Boolean
from featurewright.expressions.operators import BuiltInOperator, Infix, Operator, Precedence
from featurewright.expressions.text import (
    enclose,
    printable,
    shorten,
    written_form,
    written_operator,
    written_order,
)


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
    text, precedence = expression.fold(_column, _call)
    is_call = precedence < Precedence.ATOM
    return f"whether {text}" if is_call and expression.domain == Boolean else text


def _column(node: Column) -> tuple[str, Precedence]:
    """Return the name of a column, which needs no brackets."""
    return shorten(printable(node.name)), Precedence.ATOM


def _call(node: Call, parts: list[tuple[str, Precedence]]) -> tuple[str, Precedence]:
    """Return the words of an operator around those of its operands, which may need brackets."""
    operator, label = written_operator(node)
    if node.parameter is not None:
        written = label if node.operator.has_number else f"“{shorten(printable(label))}”"
        parts = written_order(operator, parts, (written, Precedence.ATOM))
    own = _precedence(operator)
    first, others = _WITHOUT_BRACKETS.get(own, (Precedence.ATOM,) * 2)
    operands = [
        enclose(text, precedence, others if place else first)
        for place, (text, precedence) in enumerate(parts)
    ]
    own = own if own > Precedence.COMPARISON else Precedence.ANY
    template = operator.words if isinstance(operator, BuiltInOperator) else None
    if template is None:
        return f"{shorten(node.name)} of {' and '.join(operands)}", own
    return re.sub(r"#(\d)", lambda slot: operands[int(slot[1]) - 1], template), own


_WITHOUT_BRACKETS = {
    Precedence.COMPARISON: (Precedence.SUM, Precedence.SUM),
    Precedence.SUM: (Precedence.SUM, Precedence.PRODUCT),
    Precedence.PRODUCT: (Precedence.PRODUCT, Precedence.ATOM),
}
"""The least precedence of a first and of another operand that need no brackets."""


def _precedence(operator: Operator) -> Precedence:
    """Return how tightly words bind: as signs do, but operands of a division are in brackets."""
    form = written_form(operator)
    return form.precedence if isinstance(form, Infix) and form.sign != "/" else Precedence.ANY
