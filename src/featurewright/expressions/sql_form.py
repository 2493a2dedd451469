"""Expressions as SQL, with the domain rules of the operators written out.

Missing is NULL. Every form below gives NULL where an operand is NULL, and never sees NaN or an
infinite number: what overflows becomes NULL at once. Operands are functions that build a fresh
piece of SQL, since a piece can stand in one place only and some rules ask for a value twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.dialects import get_dialect
from featurewright.expressions.domains import Boolean, Domain
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.expressions.operators import BuiltInOperator, Magnitude
from featurewright.expressions.sql_pieces import (
    Make,
    Sql,
    case,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)

NARROW_END = math.ldexp(2**25 - 1, 103)
"""Numbers from here on are infinite as float32, smaller ones round to the largest float32."""

_SPLITTER = float(2**29 + 1)  # x * s - (x * s - x) is x rounded to the 24 bits of a float32
_TINY = math.ldexp(1.0, -126)  # below, float32 has steps of one size
_STEP = math.ldexp(1.5, -97)  # adding this rounds a float64 to those steps
_MAX_LENGTH = 500_000


def sql_of(expression: Expression, dialect: str = "duckdb") -> str:
    """Write an expression as one piece of SQL over the columns of a table.

    Parameters
    ----------
    expression : Expression
        What to write.
    dialect : str, default="duckdb"
        A name in `DIALECTS`.

    Returns
    -------
    str
        A scalar expression; NULL where the value is undefined.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> print(sql_of(parse("log(a)", ["a"])))
    LN(NULLIF(ABS(CAST("a" AS DOUBLE)), 0.0e0))
    """
    rules = Rules(get_dialect(dialect).name)
    used: set[str] = set()
    expression.fold(lambda node: used.add(node.name), lambda _, __: None)
    get_dialect(dialect).check_names(used)

    def column(node: Column) -> Make:
        """Write a column: a number as a float, a label as it is."""
        return lambda: _cast(quoted(node.name, column=True), node.domain)

    def call(node: Call, parts: list[Make]) -> Make:
        """Write an operator around its written arguments."""
        if node.operator.has_number:
            parts = [*parts, lambda: number(node.number)]
        elif node.operator.has_level:
            parts = [*parts, lambda: text(node.label)]
        return lambda: rules.value(node.operator.name, parts)

    def length(node: Call, lengths: list[int]) -> int:
        """Count symbols: a value that is asked for twice doubles the text below it."""
        check_operator(node)
        return 10 + operand_uses(node.operator.name, dialect) * sum(lengths)

    if expression.fold(lambda _: 10, length) > _MAX_LENGTH:
        raise ValueError(
            f"The expression {str(expression)[:60]}... has {expression.size} symbols, too many to "
            "be written in one piece of SQL; use featurewright.export.to_sql, which names what "
            "it needs twice."
        )
    made: str = expression.fold(column, call)().sql(dialect=dialect)
    return made


def _cast(column: Sql, domain: Domain) -> Sql:
    """Write a column of whole numbers as floats, and one of truth values as 0 and 1."""
    exp = sqlglot()
    if domain == Domain.BOOLEAN:
        column = exp.Cast(this=column, to=kind("INT"))
    if domain == Domain.CATEGORY:
        return column
    return exp.Cast(this=column, to=kind("DOUBLE"))


def check_operator(node: Call) -> None:
    """Refuse a user operator: its function has no form in SQL or ONNX."""
    if node.operator.opcode is None:
        raise ValueError(
            f"Operator {node.operator.given_name!r} is a function of your own, which has no SQL or "
            "ONNX form; fit with built-in operators to export the model."
        )


@dataclass(frozen=True)
class Rules:
    """How a dialect computes the operators, in float64 or rounded to float32 at every step.

    Parameters
    ----------
    dialect : str
        The name of a dialect.
    narrow : bool, default=False
        Whether each result is rounded to float32, as it is while trees are descended. Sums,
        products, quotients and roots then are the very numbers float32 arithmetic gives.
    """

    dialect: str
    narrow: bool = False

    def value(self, name: str, parts: list[Make], code: int = 0) -> Sql:
        """Write an operator applied to operands, missing where it is undefined."""
        operator = _operator(name)
        if operator.output == Boolean or operator.magnitude is Magnitude.OF_OPERAND:
            return self.raw(name, parts, code)
        bounded = operator.magnitude is Magnitude.UNBOUNDED
        return self._settled(lambda: self.raw(name, parts), bounded=bounded)

    def raw(self, name: str, parts: list[Make], code: int = 0) -> Sql:
        """Write an operator applied to operands before its result is rounded and bounded.

        `code` is the level of an operator that has one, where it is not among the operands.
        """
        operator = _operator(name)
        if operator.has_level and len(parts) == operator.arity:
            parts = [*parts, lambda: number(float(code))]
        return operator.sql(self, *parts)

    def input(self, value: Make, holds: Make | None = None) -> Sql:
        """Write a number as it came: NULL where it is NaN, infinite or too large.

        `holds` writes a condition without which it is NULL too.
        """
        return self._settled(value, bounded=True, holds=holds)

    def _settled(self, value: Make, *, bounded: bool, holds: Make | None = None) -> Sql:
        """Round where asked, and make missing what is too large."""
        exp = sqlglot()
        if not bounded:
            return self._rounded(value) if self.narrow else value()

        def smaller(ask: Any, end: float) -> Sql:
            size = ask(this=exp.Abs(this=value()), expression=number(end))
            if holds is None:
                return size
            return exp.And(this=exp.Paren(this=holds()), expression=size)

        if not self.narrow:
            return case((smaller(exp.LTE, FLOAT_MAX), value()))
        fits = smaller(exp.LT, NARROW_END)
        if get_dialect(self.dialect).casts_round:
            return case((fits, self._rounded(value)))
        tiny = smaller(exp.LT, _TINY)
        return case((tiny, self._in_steps(value)), (fits, self._split(value)))

    def _rounded(self, value: Make) -> Sql:
        """Write a value rounded to float32."""
        exp = sqlglot()
        if get_dialect(self.dialect).casts_round:
            short = exp.Cast(this=value(), to=kind("FLOAT"))
            return exp.Cast(this=short, to=kind("DOUBLE"))

        return case(
            (exp.LT(this=exp.Abs(this=value()), expression=number(_TINY)), self._in_steps(value)),
            otherwise=self._split(value),
        )

    def _split(self, value: Make) -> Sql:
        """Write a value rounded to the digits of a float32."""
        exp = sqlglot()

        def times() -> Sql:
            return exp.Mul(this=self.operand(value), expression=number(_SPLITTER))

        rest = exp.Sub(this=times(), expression=self.operand(value))
        return exp.Sub(this=times(), expression=exp.Paren(this=rest))

    def _in_steps(self, value: Make) -> Sql:
        """Write a tiny value rounded to the steps of tiny float32."""
        exp = sqlglot()
        shifted = exp.Paren(this=exp.Add(this=self.operand(value), expression=number(_STEP)))
        return exp.Sub(this=shifted, expression=number(_STEP))

    # What the rows of the operator table write with ---------------------------------------------

    number = staticmethod(number)
    case = staticmethod(case)

    @staticmethod
    def apply(function: str, operand: Sql) -> Sql:
        """Write a function of one operand, by its name in sqlglot."""
        return getattr(sqlglot(), function)(this=operand)

    def infix(self, operation: str, x: Make, y: Make) -> Sql:
        """Write an operation between two operands, by its name in sqlglot."""
        made = getattr(sqlglot(), operation)
        return made(this=self.operand(x), expression=self.operand(y))

    def quotient(self, x: Make, y: Make) -> Sql:
        """Write a quotient that is NULL for a zero divisor."""
        exp = sqlglot()
        return exp.Div(this=self.operand(x), expression=self.nonzero(self.operand(y)), typed=True)

    @staticmethod
    def nonzero(value: Sql) -> Sql:
        """Write a value that is NULL where it is 0."""
        return sqlglot().Nullif(this=value, expression=number(0.0))

    @staticmethod
    def compare(comparison: str, x: Make, y: Make | float) -> Sql:
        """Write a condition: LT, LTE, GT, GTE, EQ or NEQ, as sqlglot calls them."""
        made = getattr(sqlglot(), comparison)
        return made(this=x(), expression=y() if callable(y) else number(y))

    def is_true(self, part: Make) -> Sql:
        """Write the condition that a truth value is not 0."""
        return self.compare("NEQ", part, 0.0)

    def is_false(self, part: Make) -> Sql:
        """Write the condition that a truth value is 0."""
        return self.compare("EQ", part, 0.0)

    @staticmethod
    def both(first: Sql, second: Sql) -> Sql:
        """Write that two conditions hold."""
        return sqlglot().And(this=first, expression=second)

    @staticmethod
    def either(first: Sql, second: Sql) -> Sql:
        """Write that one of two conditions holds."""
        exp = sqlglot()
        return exp.Or(this=exp.Paren(this=first), expression=exp.Paren(this=second))

    @staticmethod
    def not_null(*parts: Make) -> Sql:
        """Write that no operand is missing."""
        exp = sqlglot()
        tests = [exp.Not(this=exp.Is(this=part(), expression=exp.null())) for part in parts]
        return reduce(lambda one, other: exp.And(this=one, expression=other), tests)

    def truth(self, condition: Sql, *parts: Make) -> Sql:
        """Write a condition as 0 or 1, NULL where an operand is."""
        return case((condition, number(1.0)), (self.not_null(*parts), number(0.0)))

    @staticmethod
    def operand(part: Make) -> Sql:
        """Put an operand in parentheses unless it stands for itself."""
        made = part()
        exp = sqlglot()
        alone = (exp.Column, exp.Literal, exp.Case, exp.Func, exp.Paren)
        return made if isinstance(made, alone) else exp.Paren(this=made)


def _operator(name: str) -> BuiltInOperator:
    """Return a row of the operator table; a bump is a Gaussian whose square is given."""
    return OPERATORS["gaussian" if name == "bump" else name]


@cache
def operand_uses(name: str, dialect: str, *, narrow: bool = False) -> int:
    """Return how often the text of an operator names each of its operands."""
    operator = OPERATORS[name]
    operands = operator.arity + operator.has_parameter
    exp = sqlglot()
    made = Rules(dialect, narrow).value(name, [lambda: exp.column("x")] * operands)
    return math.ceil(len(list(made.find_all(exp.Column))) / operands)


TRUTHS = tuple(name for name, operator in OPERATORS.items() if operator.output == Boolean)
"""Operators whose result is 0 or 1."""


def narrow_end(threshold: float) -> float:
    """Return the largest float64 that is at most the threshold once rounded to float32.

    Examples
    --------
    >>> narrow_end(1.0) == 1.0 + 2.0**-24
    True
    """
    here = np.float32(threshold)
    if here >= np.float32(FLOAT_MAX):
        return float(np.nextafter(NARROW_END, 0.0))
    if np.isinf(here):
        return -NARROW_END
    above = np.nextafter(here, np.float32(np.inf))
    middle = (float(here) + float(above)) / 2.0
    return middle if np.float32(middle) <= here else float(np.nextafter(middle, -np.inf))
