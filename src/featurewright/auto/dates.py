"""Dates, times and durations as seconds, and the parts of a date as numbers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]

DAY = 86_400.0
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?")
_LOOKED_AT = 200  # labels looked at before a whole column of text is read as dates
_SHARE = 0.95  # of the labels that must be dates


class TimeKind(Enum):
    """What a column of times holds."""

    DATE = "date"
    DURATION = "duration"
    TIME = "time"


def time_kind(series: nw.Series) -> TimeKind | None:
    """Tell whether a column holds dates, durations or times of day; None for anything else."""
    dtype = series.dtype
    if dtype in (nw.Datetime, nw.Date):
        return TimeKind.DATE
    if dtype == nw.Duration:
        return TimeKind.DURATION
    if dtype == nw.Time:
        return TimeKind.TIME
    if dtype == nw.Object:
        return _kind_of_objects(series)
    if dtype in (nw.String, nw.Categorical, nw.Enum) and _is_iso_text(series):
        return TimeKind.DATE
    return None


def _kind_of_objects(series: nw.Series) -> TimeKind | None:
    """Look at the Python types in a column of objects."""
    types = set(map(type, series.drop_nulls().to_list()))
    for kind, wanted in (
        (TimeKind.DATE, dt.date),
        (TimeKind.DURATION, dt.timedelta),
        (TimeKind.TIME, dt.time),
    ):
        if types and all(issubclass(found, wanted) for found in types):
            return kind
    if types == {str} and _is_iso_text(series):
        return TimeKind.DATE
    return None


def _is_iso_text(series: nw.Series) -> bool:
    """Tell whether nearly all labels are dates such as 2024-05-31 or 2024-05-31T10:15:00."""
    labels = [str(label) for label in series.drop_nulls().unique().to_list()]
    if not labels or not _mostly_dates(labels[:_LOOKED_AT]):
        return False
    return _mostly_dates(labels)


def _mostly_dates(labels: list[str]) -> bool:
    """Tell whether the share of dates among labels is large enough."""
    return sum(_from_text(label) is not None for label in labels) >= _SHARE * len(labels)


def _from_text(label: str) -> float | None:
    """Read one date; None where it is none."""
    if not _ISO.fullmatch(label):
        return None
    try:
        return _from_object(dt.datetime.fromisoformat(label))
    except ValueError:  # such as the thirtieth of February
        return None


def _from_object(value: Any) -> float:
    """Turn a date, duration or time of day into seconds; wall time where there is a zone."""
    if isinstance(value, dt.timedelta):
        return value / _MICROSECOND / 1e6
    if isinstance(value, dt.time):
        since = dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        return since.total_seconds() + value.microsecond / 1e6
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    since = value.replace(tzinfo=None) - _EPOCH
    return since / _MICROSECOND / 1e6


def read_seconds(name: str, series: nw.Series, kind: TimeKind) -> Seconds:
    """Turn a column of times into seconds: of dates, since 1970; what cannot be read is NaN."""
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    found = time_kind(series)
    text = series.dtype in (nw.String, nw.Categorical, nw.Enum)
    if found is not kind and not (kind is TimeKind.DATE and (text or series.dtype == nw.Object)):
        raise TypeError(
            f"Column {name!r} has the dtype {series.dtype}, but it held a {kind.value} when the "
            f"model was fitted: convert it to a {kind.value} first."
        )
    if series.dtype in (nw.Datetime, nw.Date):
        return _seconds_of_dates(series)
    if series.dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / 1e6
    return _one_by_one(series)


def _seconds_of_dates(series: nw.Series) -> Seconds:
    """Convert a column with a dtype of dates at once."""
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    elif getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    return _floats(series.dt.timestamp("us")) / 1e6


def _floats(series: nw.Series) -> Seconds:
    """Convert whole numbers; missing becomes NaN."""
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _one_by_one(series: nw.Series) -> Seconds:
    """Convert text and Python objects, each distinct value once."""
    missing = series.is_null().to_numpy()
    known: dict[Any, float] = {}
    out = np.full(len(series), np.nan)
    for row, (value, gone) in enumerate(zip(series.to_list(), missing, strict=True)):
        if gone:
            continue
        if value not in known:
            read = _from_text(value) if isinstance(value, str) else _read_object(value)
            known[value] = np.nan if read is None else read
        out[row] = known[value]
    return out


def _read_object(value: Any) -> float | None:
    """Read one Python object; None where it is no time."""
    if isinstance(value, dt.date | dt.timedelta | dt.time):
        return _from_object(value)
    return None


def date_parts(seconds: Seconds) -> dict[str, Seconds]:
    """Give the parts of dates: year, month, day, weekday (0 is Monday), hour and minute."""
    known = np.isfinite(seconds)
    days = np.floor(np.where(known, seconds, 0.0) / DAY)
    stamps = days.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]")
    years = stamps.astype("datetime64[Y]")
    rest = np.where(known, seconds, 0.0) - days * DAY
    parts = {
        "year": years.astype(np.int64) + 1970.0,
        "month": (months - years).astype(np.int64) + 1.0,
        "day": (stamps - months).astype(np.int64) + 1.0,
        "weekday": (days + 3.0) % 7.0,  # 1970 began on a Thursday
        "hour": np.floor(rest / 3600.0),
        "minute": np.floor(rest / 60.0) % 60.0,
    }
    return {part: np.where(known, values, np.nan) for part, values in parts.items()}


def pair_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Give the pairs of date columns whose difference is a column, the later name first."""
    listed = list(names)
    return [(b, a) for i, a in enumerate(listed) for b in listed[i + 1 :]]
