"""Dates and times: seconds read by each dialect, and the parts of dates as arithmetic on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from featurewright.auto.dates import TimeKind, written_forms
from featurewright.expressions.sql_form import (
    Sql,
    case,
    double,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)

if TYPE_CHECKING:
    from featurewright.export.graph import Graph

_DAY = 86_400.0
_MILLION = 1e6


def date_part(graph: Graph, column: Any, kinds: dict[str, str]) -> int:
    """Give the step of a derived column: a part of a date, or the difference of two dates."""

    def over(step: int, divisor: float) -> int:
        """Divide, which is exact where a product with the reciprocal is not."""
        return graph.add("ratio", step, graph.add("number", data=divisor))

    def floor(step: int, divisor: float) -> int:
        """Divide and round down."""
        return graph.add("floor", over(step, divisor))

    def whole(step: int, divisor: int, shift: float = 0.0) -> int:
        """Add to a whole number, divide by another and round down."""
        return floor(graph.linear([step], [1.0], shift) if shift else step, float(divisor))

    seconds = graph.add("moment", data=(column.source, kinds[column.source]))
    if column.part == "seconds":
        return seconds
    if column.part == "days":
        return graph.linear([over(seconds, _DAY)], [1.0], -column.base)
    if column.part == "difference":
        other = graph.add("moment", data=(column.other, kinds[column.other]))
        return over(graph.linear([seconds, other], [1.0, -1.0]), _DAY)
    days = floor(seconds, _DAY)
    if column.part == "weekday":  # 1970 began on a Thursday, and 0 is Monday
        return graph.linear([days, whole(days, 7, 3.0)], [1.0, -7.0], 3.0)
    rest = graph.linear([seconds, days], [1.0, -_DAY])
    if column.part == "hour":
        return floor(rest, 3600.0)
    if column.part == "minute":
        return graph.linear([floor(rest, 60.0), floor(rest, 3600.0)], [1.0, -60.0])
    # Years that begin in March, so that the leap day is the last one; 400 of them are an era.
    era = whole(days, 146_097, 719_468.0)
    day = graph.linear([days, era], [1.0, -146_097.0], 719_468.0)
    leap_days = [whole(day, 1460), whole(day, 36_524), whole(day, 146_096)]
    year = whole(graph.linear([day, *leap_days], [1.0, -1.0, 1.0, -1.0]), 365)
    centuries = [whole(year, 4), whole(year, 100)]
    of_year = graph.linear([day, year, *centuries], [1.0, -365.0, -1.0, 1.0])
    month = whole(graph.linear([of_year], [5.0], 2.0), 153)
    late = whole(month, 10)  # January and February belong to the next year
    if column.part == "year":
        return graph.linear([year, era, late], [1.0, 400.0, 1.0])
    if column.part == "month":
        return graph.linear([month, late], [1.0, -12.0], 3.0)
    before = whole(graph.linear([month], [153.0], 2.0), 5)
    return graph.linear([of_year, before], [1.0, -1.0], 1.0)


def read_moment(name: str, what: str, dialect: str) -> Sql:
    """Write a column of dates, durations or times of day as seconds, NULL where it is none."""
    exp = sqlglot()
    column = quoted(name, column=True)
    if what.startswith("date "):
        return _written(name, what, dialect)
    if dialect == "sqlite":
        return _in_sqlite(name, what)
    if what != "date" and dialect not in ("duckdb", "postgres"):
        raise ValueError(
            f"Column {name!r} holds a {what}, which can be read in duckdb, postgres and, where it "
            f"is a time of day, sqlite, but not in {dialect}; turn it into seconds before the fit."
        )
    if dialect == "postgres":
        value = column
        if what != "duration":
            value = exp.Cast(this=column, to=kind("TIMESTAMP" if what == "date" else "TIME"))
        return double(exp.Extract(this=exp.Var(this="EPOCH"), expression=value))
    if dialect == "duckdb":
        if what == "duration":
            return _call("EPOCH", column)
        if what == "time":
            return _call("EPOCH", exp.TryCast(this=column, to=kind("TIME")))
        return _millionth(_call("EPOCH_US", exp.TryCast(this=column, to=kind("TIMESTAMP"))))
    if dialect == "bigquery":
        stamp = exp.Anonymous(this="UNIX_MICROS", expressions=[_typed(column, "TIMESTAMP")])
        return _millionth(stamp)
    if dialect == "snowflake":
        stamp = exp.Cast(this=column, to=kind("TIMESTAMPNTZ"))
        return _millionth(_call("DATE_PART", exp.Var(this="EPOCH_MICROSECOND"), stamp))
    # Spark counts seconds in the zone of the session: the parts of the clock do not depend on it.
    first = exp.Anonymous(this="TO_DATE", expressions=[text("1970-01-01")])
    days = _call("DATEDIFF", exp.Anonymous(this="TO_DATE", expressions=[column]), first)
    terms = double(days)
    terms = exp.Mul(this=terms, expression=number(_DAY))
    stamp = _call("TO_TIMESTAMP", column.copy())
    for function, size in (("HOUR", 3600.0), ("MINUTE", 60.0)):
        part = double(_call(function, stamp.copy()))
        terms = exp.Add(this=terms, expression=exp.Mul(this=part, expression=number(size)))
    second = double(_call("DATE_PART", text("SECOND"), stamp))
    return exp.Add(this=terms, expression=second)


def _in_sqlite(name: str, what: str) -> Sql:
    """Write a date or time of day, which SQLite holds as text, as seconds to the millisecond."""
    exp = sqlglot()
    if what == "duration":
        raise ValueError(
            f"Column {name!r} holds a duration, which sqlite does not know; turn it into seconds "
            "before the fit."
        )

    def part(form: str) -> Sql:
        value = quoted(name, column=True)
        if what == "time":
            value = exp.DPipe(this=text("1970-01-01 "), expression=value)
        return double(exp.Anonymous(this="STRFTIME", expressions=[text(form), value]))

    storage = exp.Anonymous(this="TYPEOF", expressions=[quoted(name, column=True)])
    fraction = exp.Paren(this=exp.Sub(this=part("%f"), expression=part("%S")))
    value = exp.Add(this=part("%s"), expression=fraction)
    return case((exp.EQ(this=storage, expression=text("text")), value))


def _typed(value: Sql, name: str) -> Sql:
    """Write a cast of BigQuery's that gives NULL for what cannot be read."""
    exp = sqlglot()
    return exp.TryCast(this=value, to=exp.DataType(this=exp.DataType.Type.TIMESTAMPTZ))


def _written(name: str, what: str, dialect: str) -> Sql:
    """Write text that holds dates, written in one of several ways, as seconds."""
    exp = sqlglot()
    if dialect != "duckdb":
        raise ValueError(
            f"Column {name!r} held a {what}, which can be read in duckdb, but not in {dialect}; "
            "turn it into a date, or into text such as 2024-12-31, before the fit."
        )
    forms = exp.Array(expressions=[text(form) for form in written_forms(TimeKind(what))])
    label = exp.Cast(this=quoted(name, column=True), to=kind("TEXT"))
    stamp = _call("TRY_STRPTIME", label, forms)
    # Years of two digits are none to us and ancient to the database.
    recent = exp.GTE(this=_call("YEAR", stamp.copy()), expression=number(1000.0))
    return case((recent, _millionth(_call("EPOCH_US", stamp))))


def _call(name: str, *values: Sql) -> Sql:
    """Write a function of a dialect as it is."""
    return sqlglot().Anonymous(this=name, expressions=list(values))


def _millionth(value: Sql) -> Sql:
    """Write microseconds as seconds."""
    return sqlglot().Div(this=double(value), expression=number(_MILLION), typed=True)
