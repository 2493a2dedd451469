"""Columns of a database table as the model reads them: numbers, 0 or 1, codes of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from featurewright.expressions import Domain
from featurewright.expressions.sql_form import (
    Make,
    Rules,
    Sql,
    case,
    double,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)
from featurewright.tables import Schema


def read_column(schema: Schema, index: int, rules: Rules) -> Sql:
    """Write a column of the table: NULL is missing, and so is what the model cannot read."""
    name, domain, levels = schema.names[index], schema.domains[index], schema.levels[index]
    if levels == ():  # text of which nothing was present in the fit
        return sqlglot().Cast(this=sqlglot().null(), to=kind("DOUBLE"))

    def column() -> Sql:
        return quoted(name, column=True)

    if domain == Domain.CATEGORY:
        return code_of(name, column, levels or (), rules.dialect)
    if domain == Domain.BOOLEAN:
        return _zero_or_one(column, rules.dialect)
    return _number(column, rules)


def code_of(name: str, column: Make, levels: Sequence[Any], dialect: str) -> Sql:
    """Write the code of a label; labels the fit did not see are missing."""
    exp = sqlglot()
    if levels and all(isinstance(level, (int, float)) for level in levels):
        value, labels = _as_number(column, dialect), [number(float(level)) for level in levels]
    elif all(isinstance(level, str) for level in levels):
        value = exp.Cast(this=column(), to=kind("TEXT"))
        if dialect == "sqlite":  # a column may have been declared to ignore case
            value = exp.Collate(this=value, expression=exp.Var(this="BINARY"))
        labels = [text(str(level)) for level in levels]
    else:
        raise ValueError(
            f"Column {name!r} held labels of different kinds, such as {levels[0]!r} and "
            f"{levels[-1]!r}, which a database cannot tell apart; fit on labels that are all text."
        )
    ifs = [exp.If(this=label, true=number(float(code))) for code, label in enumerate(labels)]
    return exp.Cast(this=exp.Case(this=value, ifs=ifs), to=kind("DOUBLE"))


def _number(column: Make, rules: Rules) -> Sql:
    """Write a number: text that holds none, NaN and what is too large are missing."""
    holds = (lambda: _holds_number(column)) if rules.dialect == "sqlite" else None
    return rules.input(lambda: double(column()), holds)


def _as_number(column: Make, dialect: str) -> Sql:
    """Write a column as a number, missing where it holds none."""
    if dialect != "sqlite":
        return double(column())
    return case((_holds_number(column), double(column())))


def _holds_number(column: Make) -> Sql:
    """Write whether a value of SQLite is a number, or text that reads as one.

    A cast would turn any other text into zero.
    """
    exp = sqlglot()
    storage = exp.Anonymous(this="TYPEOF", expressions=[column()])
    known = exp.In(this=storage, expressions=[text("integer"), text("real")])
    return exp.Or(this=known, expression=exp.EQ(this=double(column()), expression=column()))


def _zero_or_one(column: Make, dialect: str) -> Sql:
    """Write a truth value as 0 or 1; any other value is missing."""
    exp = sqlglot()

    def value() -> Sql:
        if dialect in ("duckdb", "sqlite"):
            return _as_number(column, dialect)
        # Elsewhere truth values become whole numbers, and those become floats.
        return double(exp.Cast(this=column(), to=kind("INT")))

    known = exp.In(this=value(), expressions=[number(0.0), number(1.0)])
    return case((known, value()))
