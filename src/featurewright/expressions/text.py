"""Expressions as readable text with as few parentheses as keep the tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the trees import this module to print themselves
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.operators import OPERATORS

PLAIN = re.compile(r"[^\W\d]\w*")
"""A name that needs no backticks, unless an operator has it."""

INFIX = {
    "or": ("or", 1),
    "xor": ("xor", 2),
    "and": ("and", 3),
    "less": ("<", 5),
    "less_equal": ("<=", 5),
    "greater": (">", 5),
    "greater_equal": (">=", 5),
    "equal": ("==", 5),
    "add": ("+", 6),
    "sub": ("-", 6),
    "mul": ("*", 7),
    "div": ("/", 7),
}
"""Symbol and precedence of the operators written between their operands."""

PREFIX = {"not": ("not ", 4), "neg": ("-", 8)}
"""Symbol and precedence of the operators written before their operand."""

COMPARISON = 5
"""Precedence of comparisons and of ``is``, which do not chain."""

ATOM = 9
"""Precedence of what never needs parentheses: columns and calls."""


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
    """Keep both ends of a long name.

    Parameters
    ----------
    name : str
        Any string.
    length : int
        The most characters to keep.

    Returns
    -------
    str
        The name, with an ellipsis in the place of what was left out.

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
    r"""Replace characters that have no shape, such as those that steer a terminal.

    Parameters
    ----------
    text : str
        Any string.

    Returns
    -------
    str
        As long, without line ends and other controls.

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


def enclose(text: str, precedence: int, at_least: int, form: str = "({})") -> str:
    """Put text in parentheses if it binds less tightly than its place asks for."""
    return text if precedence >= at_least else form.format(text)


def _column(node: Column) -> tuple[str, int]:
    """Write a column."""
    return quote_name(node.name), ATOM


def _call(node: Call, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """Write an operator around its written arguments."""
    name = node.name
    if node.operator.has_number:
        parts = [*parts, (node.label, ATOM)]
    if name in INFIX:
        symbol, level = INFIX[name]
        # Operators of one level read from the left; a comparison has none beside it.
        left = enclose(*parts[0], level + 1 if level == COMPARISON else level)
        return f"{left} {symbol} {enclose(*parts[1], level + 1)}", level
    if name in PREFIX:
        symbol, level = PREFIX[name]
        return symbol + enclose(*parts[0], level), level
    if node.operator.has_level:
        label = node.label.replace("'", "''")
        return f"{parts[0][0]} is '{label}'", COMPARISON
    name = name if node.operator.opcode is not None else quote_name(name)
    return f"{name}({', '.join(text for text, _ in parts)})", ATOM
