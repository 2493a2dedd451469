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
        Part of a sentence; what is computed first is in brackets.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> words_of(parse("price / (rooms + area)", ["price", "rooms", "area"]))
    'price divided by (rooms plus area)'
    >>> words_of(parse("price > 100", ["price"]))
    'whether price is greater than 100'
    """
    text, is_call = expression.fold(_column, _call)
    return f"whether {text}" if is_call and expression.domain == Boolean else text


def _column(node: Column) -> tuple[str, bool]:
    """Return the name of a column, and that it needs no brackets."""
    return shorten(printable(node.name)), False


def _call(node: Call, parts: list[tuple[str, bool]]) -> tuple[str, bool]:
    """Return the words of an operator around those of its operands, which get brackets."""
    operands = [f"({text})" if is_call else text for text, is_call in parts]
    operator, label = written_operator(node)
    if node.parameter is not None:
        written = label if node.operator.has_number else f"“{shorten(printable(label))}”"
        operands = written_order(operator, operands, written)
    template = operator.words if isinstance(operator, BuiltInOperator) else None
    if template is None:
        return f"{shorten(node.name)} of {' and '.join(operands)}", True
    return re.sub(r"#(\d)", lambda slot: operands[int(slot[1]) - 1], template), True
