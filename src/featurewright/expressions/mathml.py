"""Expressions as MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, fromstring, tostring

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.latex import formula_levels
from featurewright.expressions.operators import BuiltInOperator, Precedence
from featurewright.expressions.text import printable, shorten, written_operator, written_order

_SLOT = "slot"
"""Tag of the element that stands for an operand in a parsed template."""


def mathml_of(expression: Expression) -> str:
    """Write an expression as MathML.

    Parameters
    ----------
    expression : Expression
        What to write.

    Returns
    -------
    str
        A ``math`` element; names and labels are escaped.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> print(mathml_of(parse("a / b", ["a", "b"])))
    <math displaystyle="true"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>
    """
    drawn = _element("math", expression.fold(_column, _call)[0])
    drawn.set("displaystyle", "true")  # fractions as large as their surroundings
    return tostring(drawn, encoding="unicode")


def _element(tag: str, *children: Element) -> Element:
    """Make an element around others."""
    element = Element(tag)
    element.extend(children)
    return element


def _leaf(tag: str, text: str) -> Element:
    """Make an element around text, without the characters that XML cannot hold."""
    element = Element(tag)
    element.text = printable(text)
    return element


def _row(*children: Element) -> Element:
    """Put elements side by side."""
    return _element("mrow", *children)


def _around(opening: str, content: Element, closing: str) -> Element:
    """Put content between two signs that grow with it."""
    return _row(_leaf("mo", opening), content, _leaf("mo", closing))


def _column(node: Column) -> tuple[Element, Precedence]:
    """Draw a column as an identifier; browsers slant a single letter."""
    return _leaf("mi", shorten(node.name)), Precedence.ATOM


def _number(text: str) -> Element:
    """Draw a number; an exponent as a power of ten."""
    digits, _, exponent = text.partition("e")
    drawn = _leaf("mn", digits.replace("-", "−"))
    if not exponent:
        return drawn
    power = _leaf("mn", str(int(exponent)).replace("-", "−"))
    return _row(drawn, _leaf("mo", "·"), _element("msup", _leaf("mn", "10"), power))


def _parameter(node: Call, label: str) -> Element:
    """Draw the level of an operator, in quotes, or its number."""
    return _number(label) if node.operator.has_number else _leaf("mi", _quoted(label))


def _quoted(label: str) -> str:
    """Return a label in quotes, shortened."""
    return shorten(f"“{label}”")


def _call(node: Call, parts: list[tuple[Element, Precedence]]) -> tuple[Element, Precedence]:
    """Draw an operator around its drawn arguments, bracketed as LaTeX brackets them."""
    operator, label = written_operator(node)
    if node.parameter is not None:
        parts = written_order(operator, parts, (_parameter(node, label), Precedence.ATOM))
    own, wanted = formula_levels(operator, len(parts))
    arguments = [
        drawn if precedence >= level else _around("(", drawn, ")")
        for (drawn, precedence), level in zip(parts, wanted, strict=True)
    ]
    template = operator.mathml if isinstance(operator, BuiltInOperator) else None
    if template is None:
        return _function(node.name, arguments), own
    return _filled(_parsed(template), arguments), own


def _function(name: str, arguments: list[Element]) -> Element:
    """Draw a function by its name and its arguments in parentheses."""
    listed = [part for argument in arguments for part in (_leaf("mo", ","), argument)][1:]
    return _row(_leaf("mi", shorten(name)), _around("(", _row(*listed), ")"))


@cache
def _parsed(template: str) -> Element:
    """Parse a template of the operator table; names and labels never reach the parser."""
    return fromstring(re.sub(r"#(\d)", rf"<{_SLOT}>\1</{_SLOT}>", template))


def _filled(template: Element, arguments: list[Element]) -> Element:
    """Return a copy of a template with operands in the place of its slots."""
    if template.tag == _SLOT:
        return arguments[int(template.text or "") - 1]
    made = _element(template.tag, *(_filled(part, arguments) for part in template))
    made.text = template.text
    return made
