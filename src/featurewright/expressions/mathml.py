"""Expressions as MathML, which browsers draw without any script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, tostring

if TYPE_CHECKING:  # the trees import this module to draw themselves
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.latex import levels
from featurewright.expressions.text import ATOM, COMPARISON, printable, shorten

_SIGNS = {
    "add": "+",
    "sub": "−",
    "mul": "·",
    "and": "∧",
    "or": "∨",
    "xor": "⊕",
    "less": "<",
    "less_equal": "≤",
    "greater": ">",
    "greater_equal": "≥",
    "equal": "=",
}
_PREFIXES = {"neg": "−", "not": "¬"}


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
    <math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>
    """
    drawn = expression.fold(_column, _call)[0]
    return tostring(_element("math", drawn), encoding="unicode")


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


def _column(node: Column) -> tuple[Element, int]:
    """Write a column; browsers slant a single letter, and take text for mere space."""
    return _leaf("mi", shorten(node.name)), ATOM


def _number(text: str) -> Element:
    """Write a number; a power of ten as people write it."""
    digits, _, exponent = text.partition("e")
    drawn = _leaf("mn", digits.replace("-", "−"))
    if not exponent:
        return drawn
    power = _leaf("mn", str(int(exponent)).replace("-", "−"))
    return _row(drawn, _leaf("mo", "·"), _element("msup", _leaf("mn", "10"), power))


def _call(node: Call, parts: list[tuple[Element, int]]) -> tuple[Element, int]:
    """Draw an operator around its drawn arguments, bracketed as LaTeX brackets them."""
    name = node.name
    if node.operator.has_number:
        parts = [*parts, (_number(node.label), ATOM)]
    if node.operator.has_level:
        label = _leaf("mi", shorten(f"“{node.label}”"))
        return _row(parts[0][0], _leaf("mo", "="), label), COMPARISON
    precedence, wanted = levels(name, len(parts))
    arguments = [
        drawn if own >= level else _around("(", drawn, ")")
        for (drawn, own), level in zip(parts, wanted, strict=True)
    ]
    if name in _SIGNS:
        return _row(arguments[0], _leaf("mo", _SIGNS[name]), arguments[1]), precedence
    if name in _PREFIXES:
        return _row(_leaf("mo", _PREFIXES[name]), arguments[0]), precedence
    if name in _DRAWN and node.operator.opcode is not None:
        return _DRAWN[name](*arguments), precedence
    return _function(name, arguments), ATOM


def _function(name: str, arguments: list[Element]) -> Element:
    """Draw a function by its name and its arguments in parentheses."""
    listed = [part for argument in arguments for part in (_leaf("mo", ","), argument)][1:]
    return _row(_leaf("mi", shorten(name)), _around("(", _row(*listed), ")"))


def _gaussian(first: Element, second: Element) -> Element:
    """Draw a bell curve: e to the negative squared difference."""
    difference = _around("(", _row(first, _leaf("mo", "−"), second), ")")
    power = _element("msup", difference, _leaf("mn", "2"))
    return _element("msup", _leaf("mi", "e"), _row(_leaf("mo", "−"), power))


_DRAWN: dict[str, Callable[..., Element]] = {
    "div": lambda a, b: _element("mfrac", a, b),
    "reciprocal": lambda a: _element("mfrac", _leaf("mn", "1"), a),
    "square": lambda a: _element("msup", a, _leaf("mn", "2")),
    "abs": lambda a: _around("|", a, "|"),
    "sqrt": lambda a: _element("msqrt", _around("|", a, "|")),
    "log": lambda a: _row(_leaf("mi", "log"), _around("|", a, "|")),
    "gaussian": _gaussian,
}
