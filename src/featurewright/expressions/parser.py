"""Parse text into expression trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import numpy as np

from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.domains import Category, Domain, Real
from featurewright.expressions.nodes import Call, Column, Expression
from featurewright.expressions.numbers import number_code, number_text
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.expressions.operators import Infix, Operator, Precedence, Prefix, get_operator
from featurewright.expressions.programs import level_text
from featurewright.expressions.text import PLAIN, written_form

MAX_TOKENS = 400
MAX_NESTING = 100
"""Bounds that no formula of a model reaches, so that hostile text cannot exhaust the stack."""

_INFIX = {
    operator.text.sign: (operator, operator.text.precedence)
    for operator in OPERATORS.values()
    if isinstance(operator.text, Infix) and operator.number_of is None
}
_PREFIX = {
    operator.text.sign.strip(): (operator, operator.text.precedence)
    for operator in OPERATORS.values()
    if isinstance(operator.text, Prefix)
}
_WITH_NUMBER = {
    name: (operator, name == operator.if_negative)
    for operator in OPERATORS.values()
    for name in (operator.number_of, operator.if_negative)
    if name
}
"""What an operator of two operands is where the second is a number; and whether its opposite."""

_TIMES = "*"
_WORDS = frozenset(sign for sign in (*_INFIX, *_PREFIX) if PLAIN.fullmatch(sign))
"""Operators that are words: no column has such a name without backticks."""

_SIGNS = sorted({*_INFIX, *_PREFIX, "(", ")", ","} - _WORDS, key=len, reverse=True)
_TOKEN = re.compile(
    rf"""\s*(?:(?P<quoted>`(?:[^`]|``)*`)
    |(?P<string>'(?:[^']|'')*')
    |(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
    |(?P<word>{PLAIN.pattern})
    |(?P<sign>{"|".join(map(re.escape, _SIGNS))}))""",
    re.VERBOSE,
)


class ParseError(ValueError):
    """Text that is not an expression over the given columns; the message says where."""


class _Token(NamedTuple):
    """A piece of text, what it is, and where it starts."""

    kind: str
    text: str
    start: int


def parse(
    text: str,
    names: Sequence[str],
    domains: Sequence[int] | np.ndarray[Any, Any] | None = None,
    levels: Sequence[Sequence[Any] | None] | None = None,
    operators: Sequence[Operator] = (),
) -> Expression:
    """Read an expression: the inverse of printing one.

    Parameters
    ----------
    text : str
        The expression.
    names : sequence of str
        Names of the columns; in the text, one that is not a plain word, or is the name of an
        operator, stands in backticks.
    domains : sequence of int, optional
        Domains of the columns; all Real if not given.
    levels : sequence, optional
        Per column None or the labels of its levels, by code.
    operators : sequence of Operator
        User operators the text may call besides the built-in and the registered ones.

    Returns
    -------
    Expression
        The tree.

    Raises
    ------
    ParseError
        If the text is not an expression over these columns.

    Examples
    --------
    >>> parse("`sepal width` * (a + a)", ["a", "sepal width"]).size
    5
    >>> print(parse("not colour is 'red'", ["colour"], [2], [["blue", "red"]]))
    not colour is 'red'
    """
    kinds = [Real] * len(names) if domains is None else [Domain(int(kind)) for kind in domains]
    columns = [Column(i, name, kinds[i]) for i, name in enumerate(names)]
    return _Parser(text, columns, levels, operators).whole()


class _Parser:
    """Recursive descent by precedence over the tokens of one text."""

    def __init__(
        self,
        text: str,
        columns: list[Column],
        levels: Sequence[Sequence[Any] | None] | None,
        operators: Sequence[Operator],
    ) -> None:
        """Split the text into tokens."""
        self.columns = columns
        self.levels = levels
        self.operators = {operator.name: operator for operator in operators}
        self.position = 0
        self.nesting = 0
        self.tokens = self._tokens(text)

    def _tokens(self, text: str) -> list[_Token]:
        """Split the text, refusing characters that begin no token."""
        tokens: list[_Token] = []
        start, stop = 0, len(text.rstrip())
        while start < stop:
            match = _TOKEN.match(text, start, stop)
            if match is None or match.lastgroup is None:
                start += len(text[start:]) - len(text[start:].lstrip())
                self.fail(_Token("", text[start], start), "a column, an operator or a parenthesis")
            kind = match.lastgroup
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            start = match.end()
            if len(tokens) > MAX_TOKENS:
                self.fail(tokens[-1], f"an expression of at most {MAX_TOKENS} words and signs")
        tokens.append(_Token("end", "the end", len(text)))
        return tokens

    def fail(self, token: _Token, expected: str) -> NoReturn:
        """Refuse the text at a token."""
        shown = token.text if token.kind == "end" else repr(token.text)
        raise ParseError(
            f"Cannot read the expression at character {token.start + 1}: got {shown}, expected "
            f"{expected}; correct the text there."
        )

    @property
    def token(self) -> _Token:
        """The next token."""
        return self.tokens[self.position]

    def take(self) -> _Token:
        """Return the next token and move past it."""
        token = self.token
        self.position += 1
        return token

    def expect(self, sign: str) -> None:
        """Move past a sign that must come next."""
        if (self.token.kind, self.token.text) != ("sign", sign):
            self.fail(self.token, repr(sign))
        self.position += 1

    def whole(self) -> Expression:
        """Read the text to its end."""
        expression = self.expression(0)
        if self.token.kind != "end":
            self.fail(self.token, "an operator between two operands or the end")
        return expression

    def expression(self, at_least: int) -> Expression:
        """Read operands joined by operators of at least the given precedence."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(self.token, f"at most {MAX_NESTING} levels of nesting")
        left, ceiling = self.operand(at_least)
        while True:
            token = self.token
            if token.kind not in ("sign", "word") or token.text not in _INFIX:
                break
            operator, level = _INFIX[token.text]
            if not at_least <= level <= ceiling:
                break
            self.position += 1
            if operator.has_level:
                left = self._is(token, operator, left)
            elif operator.name in _WITH_NUMBER and self._at_number(operator.name):
                left = self._with_number(token, operator.name, left)
            else:
                left = self.call(token, operator, (left, self.expression(level + 1)))
            # A second comparison beside the first would need parentheses to mean anything.
            ceiling = level - 1 if level == Precedence.COMPARISON else level
        self.nesting -= 1
        return left

    def operand(self, at_least: int) -> tuple[Expression, int]:
        """Read one operand; return it and the highest precedence of an operator after it."""
        if self._at_factor():
            return self._scaled(at_least), Precedence.PRODUCT
        token = self.take()
        if token.kind in ("sign", "word") and token.text in _PREFIX:
            operator, level = _PREFIX[token.text]
            if level < at_least:
                self.fail(token, "an operand; put this one in parentheses")
            return self.call(token, operator, (self.expression(level),)), level
        if token.kind == "sign" and token.text == "(":
            inner = self.expression(0)
            self.expect(")")
            return inner, Precedence.ATOM
        if token.kind in ("quoted", "word") and token.text not in _WORDS:
            called = (self.token.kind, self.token.text) == ("sign", "(")
            read = self._function if called else self._column
            return read(token), Precedence.ATOM
        if token.kind == "number":
            self.fail(
                token,
                "a column; numbers stand after '>', '+', '-' and '*', before '*', and second in "
                "min and max only",
            )
        self.fail(token, "a column, an operator with arguments or '('")

    def _name(self, token: _Token) -> str:
        """Return the name a token spells."""
        return token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text

    def _column(self, token: _Token) -> Column:
        """Find the column a token names."""
        name = self._name(token)
        found = [column for column in self.columns if column.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            self.fail(token, f"a name that only one column has, not {len(found)}")
        near = get_close_matches(name, [column.name for column in self.columns], n=3)
        hint = f" such as {' or '.join(map(repr, near))}" if near else ""
        self.fail(token, f"the name of a column{hint}")

    def _function(self, token: _Token) -> Expression:
        """Read an operator written before its arguments in parentheses."""
        name = self._name(token)
        try:
            operator = self.operators.get(name) or get_operator(name)
        except ValueError as error:
            raise ParseError(f"{error} (at character {token.start + 1})") from None
        if written_form(operator) is not None or operator.has_parameter:  # "at_least" is max
            self.fail(token, "an operator that is written before its arguments")
        if token.kind == "quoted" and name in OPERATORS:
            self.fail(token, "an operator without backticks")
        self.expect("(")
        arguments = [self.expression(0)]
        while (self.token.kind, self.token.text) == ("sign", ","):
            self.position += 1
            if name in _WITH_NUMBER and len(arguments) == 1 and self._at_number(name):
                made = self._with_number(token, name, arguments[0])
                self.expect(")")
                return made
            arguments.append(self.expression(0))
        self.expect(")")
        return self.call(token, operator, tuple(arguments))

    def call(
        self,
        token: _Token,
        operator: Operator,
        arguments: tuple[Expression, ...],
        parameter: tuple[int, str] | None = None,
    ) -> Call:
        """Make a node; an error about its arguments says where it is."""
        try:
            return Call(operator, arguments, parameter)
        except ValueError as error:
            raise ParseError(f"{error} (at character {token.start + 1})") from None

    def _is_number(self) -> bool:
        """Whether a number comes next, with or without a minus sign."""
        signed = (self.token.kind, self.token.text) == ("sign", "-")
        return self.tokens[self.position + signed].kind == "number"

    def _at_factor(self) -> bool:
        """Whether a number comes next, and a sign of multiplication after it."""
        signed = (self.token.kind, self.token.text) == ("sign", "-")
        if not self._is_number():
            return False
        after = self.tokens[self.position + signed + 1]
        return (after.kind, after.text) == ("sign", _TIMES)

    def _at_number(self, name: str) -> bool:
        """Whether the second operand of an operator is a number, and not a number times more."""
        return self._is_number() and (name == "mul" or not self._at_factor())

    def _number(self) -> float:
        """Read a number."""
        sign = self.take().text if self.token.text == "-" else ""
        written = self.take()
        value = float(sign + written.text)
        if not abs(value) <= FLOAT_MAX or float(number_text(number_code(value))) != value:
            self.fail(written, "a number of at most four digits within float32")
        return value

    def _with_number(self, token: _Token, name: str, argument: Expression) -> Call:
        """Read the number that is the second operand of an operator."""
        operator, opposite = _WITH_NUMBER[name]
        value = self._number()
        code = number_code(-value if opposite else value)
        return self.call(token, operator, (argument,), (code, number_text(code)))

    def _scaled(self, at_least: int) -> Call:
        """Read a number, a sign of multiplication and what is multiplied."""
        times, level = _INFIX[_TIMES]
        if level < at_least:
            self.fail(self.token, "an operand; put this one in parentheses")
        code = number_code(self._number())
        token = self.take()
        operator, _ = _WITH_NUMBER[times.name]
        argument = self.expression(level + 1)
        return self.call(token, operator, (argument,), (code, number_text(code)))

    def _is(self, token: _Token, operator: Operator, column: Expression) -> Call:
        """Read the level a column is compared with."""
        if not isinstance(column, Column) or column.domain != Category:
            self.fail(token, "'is' after a Category column only")
        quoted = self.take()
        if quoted.kind != "string":
            self.fail(quoted, "a level in single quotes")
        label = quoted.text[1:-1].replace("''", "'")
        known = None if self.levels is None else self.levels[column.index]
        if known is None:
            codes = [int(label)] if re.fullmatch("[0-9]{1,7}", label) else []
        else:
            codes = [code for code in range(len(known)) if level_text(known, code) == label]
        if len(codes) != 1:
            self.fail(quoted, f"the label of one level of column {column.name!r}")
        return self.call(token, operator, (column,), (codes[0], label))
