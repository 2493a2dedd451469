"""Dates and times: seconds as databases read them, and parts of dates as arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from featurewright.expressions.dialects import DIALECTS, Dialect
from featurewright.expressions.sql_pieces import Sql
from featurewright.tables.dates import TimeKind, written_forms

if TYPE_CHECKING:
    from featurewright.export.graph import Graph

_DAY = 86_400.0


def date_part(graph: Graph, column: Any, kinds: dict[str, str]) -> int:
    """Return the step of a derived column: a part of a date, or the difference of two dates."""

    def over(step: int, divisor: float) -> int:
        """Divide: a product with the reciprocal would be inexact."""
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


def read_moment(name: str, what: str, dialect: Dialect) -> Sql:
    """Write a column of dates, durations or times of day as seconds, NULL where it is none."""
    if what == TimeKind.WHOLE_NUMBER.value:
        raise ValueError(
            f"Column {name!r} held whole numbers such as 20241231 that were read as dates, which "
            "no database reads here; turn it into a date before the fit."
        )
    if what.startswith("date "):  # text, in one of several forms
        if dialect.written_dates is None:
            raise ValueError(
                f"Column {name!r} held a {what}, which can be read in "
                f"{_listed(lambda other: other.written_dates is not None)}, but not in "
                f"{dialect.name}; turn it into a date, or into text such as 2024-12-31, before "
                "the fit."
            )
        return dialect.written_dates(name, written_forms(TimeKind(what)))
    if what not in dialect.seconds:
        raise ValueError(
            f"Column {name!r} holds a {what}, which can be read in "
            f"{_listed(lambda other: what in other.seconds)}, but not in {dialect.name}; turn it "
            "into seconds before the fit."
        )
    return dialect.seconds[what](name)


def _listed(can: Callable[[Dialect], bool]) -> str:
    """Return the names of the dialects that can do something."""
    *others, last = [dialect.name for dialect in DIALECTS.values() if can(dialect)]
    return f"{', '.join(others)} and {last}" if others else last
