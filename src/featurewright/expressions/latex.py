"""Expressions as LaTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.operators import Brackets, BuiltInOperator, Operator, Precedence
from featurewright.expressions.text import bracket_levels, enclose, written_operator, written_order

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "{}$&#_%"},
}


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


def escape(text: str) -> str:
    """Write any string as LaTeX text."""
    return r"\text{" + "".join(_ESCAPES.get(character, character) for character in text) + "}"


def _column(node: Column) -> tuple[str, Precedence]:
    """Write a column: a letter as a variable, anything longer as text."""
    letter = len(node.name) == 1 and node.name.isascii() and node.name.isalpha()
    return node.name if letter else escape(node.name), Precedence.ATOM


def _number(text: str) -> str:
    """Write a number; an exponent as a power of ten."""
    digits, _, exponent = text.partition("e")
    return rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits


def _call(node: Call, parts: list[tuple[str, Precedence]]) -> tuple[str, Precedence]:
    """Write an operator by its template around its written arguments."""
    operator, label = written_operator(node)
    if node.parameter is not None:
        written = _number(label) if node.operator.has_number else escape(label)
        parts = written_order(operator, parts, (written, Precedence.ATOM))
    own, wanted = formula_levels(operator, len(parts))
    form = r"\left({}\right)"
    arguments = [
        enclose(text, precedence, level, form)
        for (text, precedence), level in zip(parts, wanted, strict=True)
    ]
    if operator.latex is None:
        name = r"\operatorname{" + escape(operator.name) + "}"
        return name + form.format(", ".join(arguments)), own
    # One pass over the template, so that a '#' inside a column name is never taken for a place.
    drawn = re.sub(r"(?<!\\)#(\d)", lambda slot: arguments[int(slot[1]) - 1], operator.latex)
    return drawn, own


def formula_levels(operator: Operator, n_operands: int) -> Brackets:
    """Return the precedence of an operator in a formula and the least one of each operand."""
    drawn = operator.brackets if isinstance(operator, BuiltInOperator) else None
    return bracket_levels(operator, n_operands) if drawn is None else drawn
