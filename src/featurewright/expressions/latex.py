"""Expressions as LaTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the trees import this module to draw themselves
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.operators import OPERATORS
from featurewright.expressions.text import ATOM, COMPARISON, INFIX, PREFIX, enclose

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "{}$&#_%"},
}

_POWER = 8
"""Fractions and powers bind like a sign: tighter than a product, not enough to be raised again."""

_DRAWN = {
    "div": (_POWER, (0, 0)),
    "reciprocal": (_POWER, (0,)),
    "square": (_POWER, (ATOM,)),
    "gaussian": (_POWER, (6, 7)),
}
"""Where LaTeX brackets otherwise than text: own precedence, that asked from each argument."""


def latex_of(expression: Expression) -> str:
    r"""Write an expression as LaTeX, without dollar signs.

    Parameters
    ----------
    expression : Expression
        What to write.

    Returns
    -------
    str
        LaTeX for math mode; column names are set as text.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> print(latex_of(parse("(a + b_1) / square(a)", ["a", "b_1"])))
    \frac{a + \text{b\_1}}{a^{2}}
    """
    return expression.fold(_column, _call)[0]


def _escape(text: str) -> str:
    """Write any string as LaTeX text."""
    return r"\text{" + "".join(_ESCAPES.get(character, character) for character in text) + "}"


def _column(node: Column) -> tuple[str, int]:
    """Write a column: a letter as a variable, anything longer as text."""
    letter = len(node.name) == 1 and node.name.isascii() and node.name.isalpha()
    return node.name if letter else _escape(node.name), ATOM


def _number(text: str) -> str:
    """Write a number; a power of ten as people write it."""
    digits, _, exponent = text.partition("e")
    return rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits


def _call(node: Call, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """Write an operator by its template around its written arguments."""
    operator = OPERATORS.get(node.name, node.operator)
    if node.operator.has_number:
        parts = [*parts, (_number(node.label), ATOM)]
    precedence, wanted = levels(operator.name, len(parts))
    if operator.has_level:
        return f"{parts[0][0]} = {_escape(node.label)}", COMPARISON
    brackets = r"\left({}\right)"
    arguments = [
        enclose(text, own, level, brackets)
        for (text, own), level in zip(parts, wanted, strict=True)
    ]
    if operator.latex is None:
        name = r"\operatorname{" + _escape(operator.name) + "}"
        return name + brackets.format(", ".join(arguments)), ATOM
    # One pass over the template, so that a '#' inside a column name is never taken for a place.
    drawn = re.sub(r"(?<!\\)#(\d)", lambda slot: arguments[int(slot[1]) - 1], operator.latex)
    return drawn, precedence


def levels(name: str, arity: int) -> tuple[int, tuple[int, ...]]:
    """Return the precedence of an operator and the least one of each argument."""
    if name in _DRAWN:
        return _DRAWN[name]
    if name in INFIX:
        level = INFIX[name][1]
        return level, (level + 1 if level == COMPARISON else level, level + 1)
    if name in PREFIX:
        level = PREFIX[name][1]
        return level, (level,)
    return ATOM, (0,) * arity
