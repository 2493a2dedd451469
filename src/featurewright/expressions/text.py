"""Expressions as text, with no more parentheses than the tree needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.operators import (
    Brackets,
    BuiltInOperator,
    Infix,
    Operator,
    Precedence,
    Prefix,
)

T = TypeVar("T")

PLAIN = re.compile(r"[^\W\d]\w*")
"""A name that needs no backticks, unless an operator has it."""


def quote_name(name: str) -> str:
    """Write a name, in backticks if it is not a plain word or is that of an operator.

    Parameters
    ----------
    name : str
        Any string.

    Returns
    -------
    str
        The name as it appears in an expression.

    Examples
    --------
    >>> quote_name("width"), quote_name("min"), quote_name("a`b")
    ('width', '`min`', '`a``b`')
    """
    if PLAIN.fullmatch(name) and name not in OPERATORS:
        return name
    return "`" + name.replace("`", "``") + "`"


def shorten(name: str, length: int = 48) -> str:
    """Shorten a long name to its two ends.

    Parameters
    ----------
    name : str
        Any string.
    length : int
        The most characters to keep.

    Returns
    -------
    str
        The name, with an ellipsis for the characters left out.

    Examples
    --------
    >>> shorten("abcdefghij", 5)
    'abc…j'
    """
    if len(name) <= length:
        return name
    ending = length // 4
    return name[: length - ending - 1] + "…" + name[len(name) - ending :]


def printable(text: str) -> str:
    r"""Replace characters that cannot be printed, such as control codes of a terminal.

    Parameters
    ----------
    text : str
        Any string.

    Returns
    -------
    str
        Text of the same length without line ends and other control characters.

    Examples
    --------
    >>> printable("a\x1b[31mb") == "a\ufffd[31mb"
    True
    """
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def text_of(expression: Expression) -> str:
    """Write an expression as text.

    ``sqrt`` and ``log`` take the magnitude of their argument, as the operators do.

    Parameters
    ----------
    expression : Expression
        What to write.

    Returns
    -------
    str
        Text that ``parse`` reads back into the same tree.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> for text in ["(a + b) + c", "a + (b + c)", "((a * b)) - sqrt(c)"]:
    ...     print(text_of(parse(text, ["a", "b", "c"])))
    a + b + c
    a + (b + c)
    a * b - sqrt(c)
    """
    return expression.fold(_column, _call)[0]


def written_form(operator: Operator) -> Infix | Prefix | None:
    """Return how an operator is written in text, None for a call with arguments in parentheses."""
    return operator.text if isinstance(operator, BuiltInOperator) else None


def written_operator(node: Call) -> tuple[Operator, str]:
    """Return the operator by which a node is written, and the text of its level or number."""
    operator, label = node.operator, node.label
    other = operator.if_negative if isinstance(operator, BuiltInOperator) else None
    if other is not None and label.startswith("-"):
        return OPERATORS[other], label[1:]
    return operator, label


def written_order(operator: Operator, operands: list[T], parameter: T) -> list[T]:
    """Return operands and a level or number in the order in which they are written."""
    if isinstance(operator, BuiltInOperator) and operator.number_first:
        return [parameter, *operands]
    return [*operands, parameter]


def bracket_levels(operator: Operator, n_operands: int) -> Brackets:
    """Return the precedence of an operator's text and the least one of each operand."""
    form = written_form(operator)
    if form is None:
        return Brackets(Precedence.ATOM, (Precedence.ANY,) * n_operands)
    level = form.precedence
    if isinstance(form, Prefix):
        return Brackets(level, (level,))
    # Operators of one level read from the left; a comparison has none beside it.
    above = Precedence(level + 1)
    return Brackets(level, (above if level == Precedence.COMPARISON else level, above))


def enclose(text: str, precedence: int, at_least: int, form: str = "({})") -> str:
    """Put text in parentheses if it binds less tightly than its place asks for."""
    return text if precedence >= at_least else form.format(text)


def _column(node: Column) -> tuple[str, Precedence]:
    """Write a column."""
    return quote_name(node.name), Precedence.ATOM


def _parameter(node: Call, label: str) -> str:
    """Write the level of an operator in quotes, or its number."""
    return label if node.operator.has_number else "'" + label.replace("'", "''") + "'"


def _call(node: Call, parts: list[tuple[str, Precedence]]) -> tuple[str, Precedence]:
    """Write an operator around its written arguments."""
    operator, label = written_operator(node)
    if node.parameter is not None:
        parts = written_order(operator, parts, (_parameter(node, label), Precedence.ATOM))
    own, wanted = bracket_levels(operator, len(parts))
    written = [enclose(*part, level) for part, level in zip(parts, wanted, strict=True)]
    form = written_form(operator)
    if form is None:
        name = node.name if node.operator.opcode is not None else quote_name(node.name)
        return f"{name}({', '.join(written)})", own
    if isinstance(form, Prefix):
        return form.sign + written[0], own
    return f" {form.sign} ".join(written), own
