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

from featurewright.tables.columns import distinct_values

Seconds = NDArray[np.float64]
Parts = tuple[int, int, int, int, int, int]  # year, month, day, hour, minute, second

DAY = 86_400.0
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?")
_CLOCK = r"(?: (\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])[Mm])?)?"
_NUMBERS = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})" + _CLOCK)
_DAY_MONTH = re.compile(r"(\d{1,2})(?: ([A-Za-z]{3,9}),? |-([A-Za-z]{3,9})-)(\d{4})" + _CLOCK)
_MONTH_DAY = re.compile(r"([A-Za-z]{3,9}) (\d{1,2}),? (\d{4})" + _CLOCK)
_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTHS = {
    written: number for number, name in enumerate(_NAMES, start=1) for written in (name, name[:3])
}
_WHOLE = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\.0*)?")
_FIRST_WHOLE, _LAST_WHOLE = 19_000_101, 21_001_231  # other whole numbers are no dates
_N_SAMPLED_LABELS = 200  # read before a whole column of text is
_MIN_DATE_SHARE = 0.95  # of the labels, for a column of text to hold dates


class TimeKind(Enum):
    """What a column of times holds."""

    DATE = "date"
    DAY_FIRST = "date written like 31/12/2024"
    MONTH_FIRST = "date written like 12/31/2024"
    YEAR_FIRST = "date written like 2024/12/31"
    NAMED_MONTH = "date written like 31 Dec 2024"
    WHOLE_NUMBER = "date written like 20241231"
    DURATION = "duration"
    TIME = "time"

    @property
    def is_date(self) -> bool:
        """Whether it is a date, however it is written."""
        return self not in (TimeKind.DURATION, TimeKind.TIME)


_DATE_FORMS = {
    TimeKind.DAY_FIRST: ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"),
    TimeKind.MONTH_FIRST: ("%m/%d/%Y", "%m.%d.%Y", "%m-%d-%Y"),
    TimeKind.YEAR_FIRST: ("%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d"),
    TimeKind.NAMED_MONTH: tuple(
        form.replace("%b", month)
        for month in ("%b", "%B")
        for form in ("%d %b %Y", "%d-%b-%Y", "%d %b, %Y", "%b %d, %Y", "%b %d %Y")
    ),
}


def written_forms(kind: TimeKind) -> list[str]:
    """Return the formats in which dates of a kind are written, as `strptime` has them."""
    times = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M%p", " %I:%M:%S %p", " %I:%M:%S%p")
    iso = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")
    forms = [f"{date}{time}" for date in _DATE_FORMS[kind] for time in times]
    return list(dict.fromkeys([*forms, *(f"%Y-%m-%d{time}" for time in iso)]))


def time_kind(series: nw.Series) -> TimeKind | None:
    """Return what kind of dates, durations or times of day a column holds; None for other data."""
    dtype = series.dtype
    if dtype in (nw.Datetime, nw.Date):
        return TimeKind.DATE
    if dtype == nw.Duration:
        return TimeKind.DURATION
    if dtype == nw.Time:
        return TimeKind.TIME
    if dtype == nw.Object:
        return _kind_of_objects(series)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _kind_of_text(series)
    if dtype.is_numeric():
        return _kind_of_numbers(series)
    return None


def _kind_of_numbers(series: nw.Series) -> TimeKind | None:
    """Return the kind of whole numbers nearly all of which are days, such as 20241231."""
    values = _floats(series)
    known = values[np.isfinite(values)]
    n_likely = np.count_nonzero((known >= _FIRST_WHOLE) & (known <= _LAST_WHOLE))
    if len(known) < 2 or n_likely < _MIN_DATE_SHARE * len(known):
        return None
    is_day = np.isfinite(_seconds_of_numbers(known))
    return TimeKind.WHOLE_NUMBER if is_day.mean() >= _MIN_DATE_SHARE else None


def _seconds_of_numbers(values: Seconds) -> Seconds:
    """Return the seconds of days written as whole numbers; NaN for other numbers."""
    whole = (values >= _FIRST_WHOLE) & (values <= _LAST_WHOLE) & (values == np.floor(values))
    digits = np.where(whole, values, _FIRST_WHOLE).astype(np.int64)
    year, month, day = digits // 10_000, digits // 100 % 100, digits % 100
    months = (year - 1970) * 12 + month - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    # A day that its month does not have would be in the next one.
    same_month = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) == months
    valid = whole & (month >= 1) & (month <= 12) & (day >= 1) & same_month
    return np.where(valid, days * DAY, np.nan)


def _kind_of_objects(series: nw.Series) -> TimeKind | None:
    """Return the kind of a column of Python objects, by their types."""
    types = set(map(type, series.drop_nulls().to_list()))
    for kind, wanted in (
        (TimeKind.DATE, dt.date),
        (TimeKind.DURATION, dt.timedelta),
        (TimeKind.TIME, dt.time),
    ):
        if types and all(issubclass(found, wanted) for found in types):
            return kind
    return _kind_of_text(series) if types == {str} else None


def _kind_of_text(series: nw.Series) -> TimeKind | None:
    """Return how nearly all labels write dates; None where they do not, or not in one way.

    Where no day is above the twelfth, day and month are ambiguous: with slashes the month comes
    first, with points and hyphens the day.
    """
    labels = sorted({str(label).strip() for label in distinct_values(series.drop_nulls())})
    kinds = [TimeKind.DATE, TimeKind.YEAR_FIRST, TimeKind.NAMED_MONTH]
    slashes = bool(labels) and "/" in labels[0]
    either = (TimeKind.MONTH_FIRST, TimeKind.DAY_FIRST)
    kinds += either if slashes else reversed(either)
    step = max(1, len(labels) // _N_SAMPLED_LABELS)
    likely = [
        kind
        for kind in kinds
        if labels and _share_of_dates(labels[::step], kind) >= _MIN_DATE_SHARE
    ]
    shares = {kind: _share_of_dates(labels, kind) for kind in likely}
    best = max(shares, key=lambda kind: shares[kind], default=None)  # the first of equals
    return best if best is not None and shares[best] >= _MIN_DATE_SHARE else None


def _share_of_dates(labels: list[str], kind: TimeKind) -> float:
    """Return the share of labels that are dates of a kind."""
    return sum(_from_text(label, kind) is not None for label in labels) / len(labels)


def _from_text(label: str, kind: TimeKind) -> float | None:
    """Return the seconds of a date of a kind, or written as 2024-12-31; None for other text."""
    label = label.strip()
    try:
        if _ISO.fullmatch(label):
            return _from_object(dt.datetime.fromisoformat(label))
        if kind is TimeKind.DATE:
            return None
        if kind is TimeKind.WHOLE_NUMBER:
            digits = _WHOLE.fullmatch(label)
            if digits is None:
                return None
            year, month, day = map(int, digits.groups())
            return _from_object(dt.datetime(year, month, day))
        found = _named_parts(label) if kind is TimeKind.NAMED_MONTH else _parts(label, kind)
        return None if found is None else _from_object(dt.datetime(*found))
    except ValueError:  # such as the thirtieth of February
        return None


def _parts(label: str, kind: TimeKind) -> Parts | None:
    """Return year, month, day and time of a date of numbers; None for other text."""
    found = _NUMBERS.fullmatch(label)
    if not found:
        return None
    first, _, second, third, *clock = found.groups()
    day, month, year = first, second, third
    if kind is TimeKind.YEAR_FIRST:
        day, year = third, first
    elif kind is TimeKind.MONTH_FIRST:
        day, month = second, first
    if len(year) != 4 or len(day) > 2 or len(month) > 2:
        return None
    return int(year), int(month), int(day), *_clock(clock)


def _named_parts(label: str) -> Parts | None:
    """Return year, month, day and time of a date with an English month; None for other text."""
    found = _DAY_MONTH.fullmatch(label)
    if found:
        day, spaced, joined, year, *clock = found.groups()
        month = spaced or joined
    else:
        found = _MONTH_DAY.fullmatch(label)
        if not found:
            return None
        month, day, year, *clock = found.groups()
    number = _MONTHS.get(month.lower())
    return None if number is None else (int(year), number, int(day), *_clock(clock))


def _clock(found: list[str | None]) -> tuple[int, int, int]:
    """Return hours, minutes and seconds; midnight where there are none."""
    hour, minute, second, half = found
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(f"There is no {hours} {half}m.")
        hours = hours % 12 + (12 if half in "pP" else 0)
    return hours, int(minute or 0), int(second or 0)


def _from_object(value: Any) -> float:
    """Return a date, duration or time of day in seconds; wall time where there is a zone."""
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
    """Return a column of times in seconds, dates since 1970; what cannot be read is NaN."""
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if kind is TimeKind.WHOLE_NUMBER and series.dtype.is_numeric():
        return _seconds_of_numbers(_floats(series))
    text = series.dtype in (nw.String, nw.Categorical, nw.Enum)
    found = None if text else time_kind(series)
    may_be_text = text or series.dtype == nw.Object
    if found is not kind and not (kind.is_date and (may_be_text or found is TimeKind.DATE)):
        raise TypeError(
            f"Column {name!r} has the dtype {series.dtype}, but it held a {kind.value} when the "
            f"model was fitted: convert it to a {kind.value} first."
        )
    if series.dtype in (nw.Datetime, nw.Date):
        return _seconds_of_dates(series)
    if series.dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / 1e6
    return _one_by_one(series, kind)


def read_instants(series: nw.Series) -> Seconds | None:
    """Return the seconds since 1970 of text or objects with offsets such as +02:00.

    None where no value has an offset, and NaN for what cannot be read. Times with and without
    offsets cannot be compared.
    """
    values = series.to_list()
    known = {value: _instant(value) for value in set(values) if value is not None}
    found = [made for made in known.values() if made is not None]
    zoned = [zone for _, zone in found]
    if not any(zoned):
        return None
    if not all(zoned):
        raise TypeError("some of its times have a time zone and others have none: convert it first")
    seconds = {value: made[0] for value, made in known.items() if made is not None}
    return np.array([seconds.get(value, np.nan) for value in values])


def _instant(value: Any) -> tuple[float, bool] | None:
    """Return an instant, and whether the value has an offset; None for what is no date."""
    if isinstance(value, str):
        label = value.strip()
        if not _ISO.fullmatch(label):
            return None
        try:
            value = dt.datetime.fromisoformat(label)
        except ValueError:
            return None
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        return 0.0, False
    return _from_object(value.astimezone(dt.UTC)), True


def _seconds_of_dates(series: nw.Series) -> Seconds:
    """Return the seconds of a column with a dtype of dates."""
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    elif getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    return _floats(series.dt.timestamp("us")) / 1e6


def _floats(series: nw.Series) -> Seconds:
    """Return whole numbers as floats; missing becomes NaN."""
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _one_by_one(series: nw.Series, kind: TimeKind) -> Seconds:
    """Return the seconds of text and Python objects, each distinct value read once."""
    missing = series.is_null().to_numpy()
    known: dict[Any, float] = {}
    out = np.full(len(series), np.nan)
    for row, (value, gone) in enumerate(zip(series.to_list(), missing, strict=True)):
        if gone:
            continue
        if value not in known:
            read = _from_text(value, kind) if isinstance(value, str) else _read_object(value)
            known[value] = np.nan if read is None else read
        out[row] = known[value]
    return out


def _read_object(value: Any) -> float | None:
    """Return the seconds of a Python object; None where it is no time."""
    if isinstance(value, dt.date | dt.timedelta | dt.time):
        return _from_object(value)
    return None


def date_parts(seconds: Seconds) -> dict[str, Seconds]:
    """Return the parts of dates: year, month, day, weekday (0 is Monday), hour and minute."""
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
    """Return the pairs of date columns whose difference is a column, the later one first."""
    listed = list(names)
    return [(b, a) for i, a in enumerate(listed) for b in listed[i + 1 :]]
