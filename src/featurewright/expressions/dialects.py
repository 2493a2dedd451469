"""The databases that SQL is written for: all that differs between them is a field here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from featurewright.expressions.sql_pieces import (
    Make,
    Sql,
    case,
    double,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)

_DAY_SECONDS = 86_400.0
_SECOND_MICROS = 1e6


@dataclass(frozen=True)
class Dialect:
    """What a database can do and hold, where databases differ.

    Parameters
    ----------
    name : str
        Its name, here and in sqlglot.
    casts_round : bool
        Whether casting to float32 and back rounds, and never fails.
    holds_number : callable or None
        Writes whether a value is a number, or text that reads as one. It is asked first where a
        cast to a number turns other text into zero.
    casts_booleans : bool
        Whether truth values can be cast to floats; elsewhere they become whole numbers first.
    decimal_literals : bool
        Whether a number among literals alone is a decimal number and not a float.
    labels_collation : str
        The collation that tells labels apart which differ in case alone, where columns may have
        another one.
    greatest : str
        The function that returns the largest of its arguments.
    forbidden_in_names : str
        Characters that no name can hold.
    plain_outputs : bool
        Whether names of result columns are letters, digits and underscores alone.
    max_name_bytes : int or None
        Longest name of a result column.
    case_sensitive_names : bool
        Whether quoted names that differ in case alone are different.
    max_columns : int or None
        Most columns of a query.
    max_nesting : int or None
        Most symbols that wait for their end in one expression.
    max_tree_levels : int
        Most levels of a tree in one expression.
    max_layer_trees, max_layer_nodes : int
        Most trees, and nodes of them, whose values are added up in one layer of a query.
    materializes_layers : bool
        Whether layers must be marked as computed once: the database would write a layer into the
        next one, again for each use of a column.
    seconds : dict of str to callable
        For "date", "instant" (a time with a zone), "time" and "duration", what writes a column of
        it as seconds; what is not there cannot be read.
    written_dates : callable or None
        Writes text that holds dates in given forms as seconds.
    """

    name: str
    casts_round: bool = False
    holds_number: Callable[[Make], Sql] | None = None
    casts_booleans: bool = False
    decimal_literals: bool = False
    labels_collation: str = ""
    greatest: str = "GREATEST"
    forbidden_in_names: str = ""
    plain_outputs: bool = False
    max_name_bytes: int | None = None
    case_sensitive_names: bool = False
    max_columns: int | None = None
    max_nesting: int | None = None
    max_tree_levels: int = 30
    max_layer_trees: int = 200
    max_layer_nodes: int = 100_000
    materializes_layers: bool = False
    seconds: Mapping[str, Callable[[str], Sql]] = field(default_factory=dict)
    written_dates: Callable[[str, Sequence[str]], Sql] | None = None

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names that the database cannot have."""
        for name in names:
            for sign in self.forbidden_in_names:
                if sign in name:
                    raise ValueError(
                        f"The name {name!r} holds {sign!r}, which names in {self.name} cannot "
                        "have; rename the column."
                    )

    def label(self, value: Sql) -> Sql:
        """Write text so that labels are compared letter by letter."""
        if not self.labels_collation:
            return value
        return sqlglot().Collate(this=value, expression=sqlglot().Var(this=self.labels_collation))

    def comparable_name(self, name: str) -> str:
        """Return what the database compares names by."""
        return name if self.case_sensitive_names else name.casefold()


def get_dialect(name: Any) -> Dialect:
    """Look up a dialect by its name."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(
            f"dialect={name!r} is not known; use one of {', '.join(map(repr, DIALECTS))}."
        )
    return DIALECTS[name]


# Dates, times of day and durations as seconds -----------------------------------------------------


def _duckdb_date(name: str) -> Sql:
    """Write a date in DuckDB."""
    stamp = sqlglot().TryCast(this=quoted(name, column=True), to=kind("TIMESTAMP"))
    return _from_micros(_call("EPOCH_US", stamp))


def _duckdb_time(name: str) -> Sql:
    """Write a time of day in DuckDB."""
    return _call("EPOCH", sqlglot().TryCast(this=quoted(name, column=True), to=kind("TIME")))


def _duckdb_duration(name: str) -> Sql:
    """Write a duration in DuckDB."""
    return _call("EPOCH", quoted(name, column=True))


def _duckdb_written(name: str, forms: Sequence[str]) -> Sql:
    """Write dates that are text in DuckDB."""
    exp = sqlglot()
    listed = exp.Array(expressions=[text(form) for form in forms])
    label = exp.Cast(this=quoted(name, column=True), to=kind("TEXT"))
    stamp = _call("TRY_STRPTIME", label, listed)
    # Years of two digits are no years when a table is read here, and ancient in the database.
    recent = exp.GTE(this=_call("YEAR", stamp.copy()), expression=number(1000.0))
    return case((recent, _from_micros(_call("EPOCH_US", stamp))))


def _postgres_seconds(type_name: str | None) -> Callable[[str], Sql]:
    """Return what writes a date, a time or, without a type, a duration in Postgres."""

    def write(name: str) -> Sql:
        exp = sqlglot()
        value = quoted(name, column=True)
        if type_name is not None:
            value = exp.Cast(this=value, to=kind(type_name))
        return double(exp.Extract(this=exp.Var(this="EPOCH"), expression=value))

    return write


def _sqlite_seconds(day: str) -> Callable[[str], Sql]:
    """Return what writes dates or, after a day, times of day, which SQLite holds as text."""

    def write(name: str) -> Sql:
        exp = sqlglot()

        def part(form: str) -> Sql:
            value = quoted(name, column=True)
            if day:
                value = exp.DPipe(this=text(day), expression=value)
            return double(_call("STRFTIME", text(form), value))

        storage = _call("TYPEOF", quoted(name, column=True))
        fraction = exp.Paren(this=exp.Sub(this=part("%f"), expression=part("%S")))
        value = exp.Add(this=part("%s"), expression=fraction)
        return case((exp.EQ(this=storage, expression=text("text")), value))

    return write


def _sqlite_holds_number(value: Make) -> Sql:
    """Write whether a value in SQLite is a number, or text that reads as one."""
    exp = sqlglot()
    known = exp.In(this=_call("TYPEOF", value()), expressions=[text("integer"), text("real")])
    return exp.Or(this=known, expression=exp.EQ(this=double(value()), expression=value()))


def _bigquery_date(name: str) -> Sql:
    """Write a date in BigQuery, NULL where it cannot be read."""
    exp = sqlglot()
    zoned = exp.DataType(this=exp.DataType.Type.TIMESTAMPTZ)
    stamp = exp.TryCast(this=quoted(name, column=True), to=zoned)
    return _from_micros(_call("UNIX_MICROS", stamp))


def _snowflake_date(name: str) -> Sql:
    """Write a date in Snowflake."""
    exp = sqlglot()
    stamp = exp.Cast(this=quoted(name, column=True), to=kind("TIMESTAMPNTZ"))
    return _from_micros(_call("DATE_PART", exp.Var(this="EPOCH_MICROSECOND"), stamp))


def _spark_date(name: str) -> Sql:
    """Write a date in Spark by the parts of the clock.

    Spark counts seconds in the zone of the session, on which the parts do not depend.
    """
    exp = sqlglot()
    column = quoted(name, column=True)
    days = _call("DATEDIFF", _call("TO_DATE", column), _call("TO_DATE", text("1970-01-01")))
    terms = exp.Mul(this=double(days), expression=number(_DAY_SECONDS))
    stamp = _call("TO_TIMESTAMP", column.copy())
    for function, size in (("HOUR", 3600.0), ("MINUTE", 60.0)):
        part = double(_call(function, stamp.copy()))
        terms = exp.Add(this=terms, expression=exp.Mul(this=part, expression=number(size)))
    second = double(_call("DATE_PART", text("SECOND"), stamp))
    return exp.Add(this=terms, expression=second)


def _call(name: str, *values: Sql) -> Sql:
    """Write a function of a database as it is."""
    return sqlglot().Anonymous(this=name, expressions=list(values))


def _from_micros(value: Sql) -> Sql:
    """Write microseconds as seconds."""
    return sqlglot().Div(this=double(value), expression=number(_SECOND_MICROS), typed=True)


def _instant_micros(function: str, *arguments: str) -> Callable[[str], Sql]:
    """Return what writes a time with a zone by a function that gives microseconds since 1970."""

    def write(name: str) -> Sql:
        exp = sqlglot()
        stamp = exp.Cast(this=quoted(name, column=True), to=kind("TIMESTAMPTZ"))
        first = [exp.Var(this=argument) for argument in arguments]
        return _from_micros(_call(function, *first, stamp))

    return write


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb",
            casts_round=True,
            casts_booleans=True,
            seconds={
                "date": _duckdb_date,
                "instant": _instant_micros("EPOCH_US"),
                "time": _duckdb_time,
                "duration": _duckdb_duration,
            },
            written_dates=_duckdb_written,
        ),
        Dialect(
            "postgres",
            decimal_literals=True,
            max_name_bytes=63,
            case_sensitive_names=True,
            max_columns=1600,
            seconds={
                "date": _postgres_seconds("TIMESTAMP"),
                "instant": _postgres_seconds("TIMESTAMPTZ"),
                "time": _postgres_seconds("TIME"),
                "duration": _postgres_seconds(None),
            },
        ),
        Dialect(
            "sqlite",
            holds_number=_sqlite_holds_number,
            casts_booleans=True,
            labels_collation="BINARY",  # a column may have been declared to ignore case
            greatest="MAX",
            max_columns=2000,
            max_nesting=20,  # its parser keeps a hundred symbols at most
            max_tree_levels=8,
            max_layer_trees=30,
            max_layer_nodes=3_000,
            materializes_layers=True,
            seconds={
                "date": _sqlite_seconds(""),
                "instant": _sqlite_seconds(""),  # text with an offset
                "time": _sqlite_seconds("1970-01-01 "),
            },
        ),
        Dialect(
            "spark",
            casts_round=True,
            seconds={"date": _spark_date, "instant": _instant_micros("UNIX_MICROS")},
        ),
        Dialect(
            "bigquery",
            forbidden_in_names="`\\\n\r",
            plain_outputs=True,
            max_name_bytes=300,
            seconds={"date": _bigquery_date, "instant": _instant_micros("UNIX_MICROS")},
        ),
        Dialect(
            "snowflake",
            decimal_literals=True,
            max_name_bytes=255,
            case_sensitive_names=True,
            seconds={
                "date": _snowflake_date,
                "instant": _instant_micros("DATE_PART", "EPOCH_MICROSECOND"),
            },
        ),
    )
}
"""All dialects by name."""
