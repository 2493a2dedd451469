"""Steps as pieces of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from featurewright.export.graph import Step
from featurewright.expressions import OPERATORS
from featurewright.expressions.dialects import get_dialect
from featurewright.expressions.sql_form import Rules
from featurewright.expressions.sql_pieces import Make, Sql, case, number, sqlglot, text

_GROUP = 40  # terms of a sum, or arguments of a function, side by side: SQLite bounds both
_LEAST, _MOST = -700.0, 700.0  # exponents whose exponential is neither zero nor infinite


def render(step: Step, parts: list[Make], rules: Rules, *, raw: bool = False) -> Sql:
    """Write a step applied to written operands; a raw one is neither rounded nor bounded."""
    if is_operator(step):
        write = rules.raw if raw else rules.value
        return write(step.op, parts, step.data or 0)
    return _PLAIN[step.op](step.data, parts, rules)


def is_operator(step: Step) -> bool:
    """Whether a step applies an operator under its domain rule."""
    return step.op in OPERATORS or step.op == "bump"


def add_up(terms: Sequence[Sql]) -> Sql:
    """Write a sum in groups, so that no expression gets too deep."""
    exp = sqlglot()
    while len(terms) > 1:
        groups = [terms[k : k + _GROUP] for k in range(0, len(terms), _GROUP)]
        several = len(groups) > 1
        terms = [chain(group) for group in groups]
        if several:
            terms = [exp.Paren(this=term) for term in terms]
    return terms[0]


def chain(terms: Sequence[Sql]) -> Sql:
    """Write a sum from left to right."""
    exp = sqlglot()
    made = terms[0]
    for term in terms[1:]:
        negative = isinstance(term, exp.Neg)
        made = (exp.Sub if negative else exp.Add)(
            this=made, expression=term.this if negative else term
        )
    return made


def _fill(data: float, parts: list[Make], rules: Rules) -> Sql:
    """Write a value or its constant."""
    return sqlglot().Coalesce(this=parts[0](), expressions=[number(data)])


def _linear(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write a weighted sum."""
    weights, constant = data
    exp = sqlglot()
    terms = []
    for weight, part in zip(weights, parts, strict=True):
        term = _enclosed(part)
        if abs(weight) != 1.0:
            term = exp.Mul(this=term, expression=number(abs(weight)))
        terms.append(exp.Neg(this=term) if weight < 0 else term)
    if constant != 0.0 or not terms:
        terms.append(number(constant))
    return add_up(terms)


def _distance(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write the distance to a point."""
    power, point = data
    exp = sqlglot()
    terms = []
    for part, place in zip(parts, point, strict=True):

        def difference(part: Make = part, place: float = place) -> Sql:
            return exp.Paren(this=exp.Sub(this=_enclosed(part), expression=number(place)))

        if power == 1:
            terms.append(exp.Abs(this=difference()))
        else:
            terms.append(exp.Pow(this=difference().this, expression=number(2.0)))
    return add_up(terms or [number(0.0)])


def _expit(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write 1 / (1 + exp(-x)), without exponentials that are too large."""
    exp = sqlglot()
    low = exp.LT(this=parts[0](), expression=number(_LEAST))
    opposite = exp.Exp(this=exp.Neg(this=_enclosed(parts[0])))
    high = exp.GT(this=parts[0](), expression=number(_MOST))
    below = exp.Paren(this=exp.Add(this=number(1.0), expression=opposite))
    share = exp.Div(this=number(1.0), expression=below, typed=True)
    return case((low, number(0.0)), (high, number(1.0)), otherwise=share)


def _exponential(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write an exponential that neither overflows nor, in Postgres, fails."""
    exp = sqlglot()
    low = exp.LT(this=parts[0](), expression=number(_LEAST))
    high = exp.GT(this=parts[0](), expression=number(_MOST))
    return case(
        (low, number(0.0)),
        (high, number(math.exp(_MOST))),
        otherwise=exp.Exp(this=parts[0]()),
    )


def _power(data: int, parts: list[Make], rules: Rules) -> Sql:
    """Write a whole power."""
    exp = sqlglot()
    if data == 1:
        return parts[0]()
    if data == 2:
        return exp.Mul(this=_enclosed(parts[0]), expression=_enclosed(parts[0]))
    return exp.Pow(this=parts[0](), expression=number(float(data)))


def _clip(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write a value within bounds."""
    exp = sqlglot()
    low, high = data
    return case(
        (exp.LT(this=parts[0](), expression=number(low)), number(low)),
        (exp.GT(this=parts[0](), expression=number(high)), number(high)),
        otherwise=parts[0](),
    )


def _ratio(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write a quotient of values whose divisor is positive."""
    return sqlglot().Div(this=_enclosed(parts[0]), expression=_enclosed(parts[1]), typed=True)


def _gap(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write whether a value is missing."""
    exp = sqlglot()
    missing = exp.Is(this=parts[0](), expression=exp.null())
    return case((missing, number(1.0)), otherwise=number(0.0))


def _shares(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write a number for each code."""
    exp = sqlglot()
    ifs = [exp.If(this=number(float(code)), true=number(v)) for code, v in enumerate(data)]
    return exp.Case(this=parts[0](), ifs=ifs, default=number(0.0))


def _quotient(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write a quotient that is 0 for a zero divisor."""
    exp = sqlglot()
    divisor = exp.Nullif(this=parts[1](), expression=number(0.0))
    share = exp.Div(this=_enclosed(parts[0]), expression=divisor, typed=True)
    return exp.Coalesce(this=share, expressions=[number(0.0)])


def _member(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write whether a place lies in a range."""
    exp = sqlglot()
    inside = exp.Between(this=parts[0](), low=whole(data[0]), high=whole(data[1]))
    present = exp.Not(this=exp.Is(this=parts[0](), expression=exp.null()))
    return case((inside, number(1.0)), (present, number(0.0)))


def _root(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write the length of a vector."""
    exp = sqlglot()
    squares = [exp.Mul(this=_enclosed(part), expression=_enclosed(part)) for part in parts]
    return exp.Sqrt(this=add_up(squares))


def _largest(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write the largest of some values."""
    name = get_dialect(rules.dialect).greatest
    values = [part() for part in parts]
    while len(values) > 1:
        groups = [values[k : k + _GROUP] for k in range(0, len(values), _GROUP)]
        values = [
            sqlglot().Anonymous(this=name, expressions=group) if len(group) > 1 else group[0]
            for group in groups
        ]
    return values[0]


def _pick(data: Any, parts: list[Make], rules: Rules) -> Sql:
    """Write which operand equals the last one, the largest."""
    exp = sqlglot()
    *values, largest = parts
    branches = [
        (exp.EQ(this=value(), expression=largest()), write_label(label))
        for value, label in zip(values, data, strict=True)
    ]
    return case(*branches)


def whole(value: int) -> Sql:
    """Write a whole number."""
    exp = sqlglot()
    literal = exp.Literal(this=str(abs(value)), is_string=False)
    return exp.Neg(this=literal) if value < 0 else literal


def write_label(label: Any) -> Sql:
    """Write a class label."""
    exp = sqlglot()
    if isinstance(label, bool):
        return exp.true() if label else exp.false()
    if isinstance(label, str):
        return text(label)
    if isinstance(label, int):
        return whole(label)
    if isinstance(label, float):
        return number(label)
    raise ValueError(
        f"The class {label!r} is a {type(label).__name__}, but text, numbers and truth values can "
        "be written in SQL; fit on such labels."
    )


def _enclosed(part: Make) -> Sql:
    """Put an operand in parentheses unless it stands for itself."""
    return Rules.operand(part)


_PLAIN: dict[str, Any] = {
    "number": lambda data, parts, rules: number(data),
    "fill": _fill,
    "gap": _gap,
    "shares": _shares,
    "floor": lambda data, parts, rules: sqlglot().Floor(this=parts[0]()),
    "round": lambda data, parts, rules: rules.input(parts[0]),
    "linear": _linear,
    "distance": _distance,
    "expit": _expit,
    "exponential": _exponential,
    "power": _power,
    "clip": _clip,
    "ratio": _ratio,
    "quotient": _quotient,
    "member": _member,
    "root": _root,
    "largest": _largest,
    "pick": _pick,
}
