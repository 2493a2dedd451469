"""Keys: what makes rows of two tables belong together, as numbers that can be compared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, prod
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.tables.dates import TimeKind, read_seconds

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Levels = NDArray[np.int64] | NDArray[np.float64] | tuple[str, ...]

NO_KEY = -1
_MAX_SPREAD = 4  # of whole numbers in a row's key, in rows, up to which they are looked up
_EXACT = 2.0**53  # whole numbers up to here are exact as floats


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """The values of one key column.

    Parameters
    ----------
    kind : {"numbers", "text", "times", ""}
        What the values are; "" where all are missing.
    values : ndarray or list of str
        Whole numbers, other numbers (NaN is missing), or texts (None is missing).
    known : ndarray of bool
        Where there is a value.
    """

    kind: str
    values: Any
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.known)


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """The keys that linked rows have.

    Parameters
    ----------
    levels : tuple
        The values of each key column, sorted: an array of numbers, or a tuple of texts.
    combined : ndarray
        The combinations of places that occur, each as one number, sorted.
    kinds : tuple of str
        What the values of each key column are, in a word.

    Examples
    --------
    >>> import polars as pl
    >>> here, there = pl.DataFrame({"key": ["a", "c"]}), pl.DataFrame({"key": ["b", "a", None]})
    >>> index, codes = learn_keys(read_keys(there, ["key"], "the linked table"), ["key"])
    >>> codes.tolist(), index.find(read_keys(here, ["key"], "X"), ["key"]).tolist()
    ([1, 0, -1], [0, -1])
    """

    levels: tuple[Levels, ...]
    combined: Places
    kinds: tuple[str, ...]

    @property
    def n_keys(self) -> int:
        """Number of different keys."""
        return len(self.combined)

    def find(self, columns: Sequence[KeyColumn], names: Sequence[str]) -> Places:
        """Return the number of each row's key; -1 where no linked row has it, or it is missing."""
        for column, kind, name in zip(columns, self.kinds, names, strict=True):
            if column.kind and kind and column.kind != kind:
                raise TypeError(
                    f"Key {name!r} holds {column.kind} here, but {kind} in the linked table: "
                    "convert one of them, so that keys can be equal."
                )
        wide, known = _combine(self.levels, columns)
        if not len(self.combined):
            return np.full(len(wide), NO_KEY)
        at = np.minimum(np.searchsorted(self.combined, wide), len(self.combined) - 1)
        return np.where(known & (self.combined[at] == wide), at, NO_KEY)

    def values(self) -> list[list[Any]]:
        """Return the values of each key column, for each of the keys in order."""
        sizes = [max(1, len(own)) for own in self.levels]
        found: list[list[Any]] = []
        rest = self.combined
        for own, size in zip(reversed(self.levels), reversed(sizes), strict=True):
            places = rest % size
            rest = rest // size
            listed = own if isinstance(own, tuple) else own.tolist()
            found.insert(0, [listed[place] for place in places.tolist()])
        return found


def learn_keys(columns: Sequence[KeyColumn], names: Sequence[str]) -> tuple[KeyIndex, Places]:
    """Return the keys of linked rows, numbered in increasing order, and each row's number."""
    levels = tuple(map(_learn_levels, columns))
    if prod(max(1, len(own)) for own in levels) > 2**62:
        raise ValueError(
            f"The keys {', '.join(map(repr, names))} have too many combinations to number: join "
            "them into one column first."
        )
    wide, known = _combine(levels, columns)
    if len(columns) == 1:  # every level occurs
        combined, codes = np.arange(len(levels[0])), np.where(known, wide, NO_KEY)
    else:
        combined = np.unique(wide[known])
        codes = np.where(known, np.searchsorted(combined, wide), NO_KEY)
    return KeyIndex(levels, combined, tuple(column.kind for column in columns)), codes


def _combine(
    levels: Sequence[Levels], columns: Sequence[KeyColumn]
) -> tuple[Places, NDArray[np.bool_]]:
    """Return one number for the places of all key columns, and where all of them are known."""
    wide = np.zeros(len(columns[0]), np.int64)
    known = np.ones(len(columns[0]), bool)
    for own, column in zip(levels, columns, strict=True):
        places = _places(own, column)
        known &= places >= 0
        wide = wide * max(1, len(own)) + np.maximum(places, 0)
    return wide, known


def _learn_levels(column: KeyColumn) -> Levels:
    """Return the distinct values of a key, sorted; missing ones are none."""
    if isinstance(column.values, np.ndarray):
        return np.unique(column.values[column.known])
    return tuple(sorted({value for value in column.values if value is not None}))


def _places(levels: Levels, column: KeyColumn) -> Places:
    """Return the place of each value among the levels; -1 for others."""
    values = column.values
    if isinstance(levels, tuple) or isinstance(values, list):
        if not isinstance(levels, tuple) or not isinstance(values, list):  # all of one are missing
            return np.full(len(column), NO_KEY)
        get = {value: place for place, value in enumerate(levels)}.get
        return np.fromiter((get(value, NO_KEY) for value in values), np.int64, len(values))
    if not len(levels):
        return np.full(len(column), NO_KEY)
    known = column.known
    if levels.dtype != values.dtype:
        # Floats and whole numbers are equal where both are exact.
        if levels.dtype.kind == "i":
            whole = known & (np.abs(values) <= _EXACT) & (values == np.floor(values))
            known, values = whole, np.where(whole, values, 0.0).astype(np.int64)
        else:
            known, values = known & (np.abs(values) <= _EXACT), values.astype(np.float64)
    least, most = levels[0], levels[-1]
    if levels.dtype.kind == "i" and int(most) - int(least) < _MAX_SPREAD * len(values):
        # Whole numbers near each other are looked up, which is faster than a search.
        table = np.full(int(most) - int(least) + 1, NO_KEY)
        table[levels - least] = np.arange(len(levels))
        inside = known & (values >= least) & (values <= most)
        return np.where(inside, table[np.where(inside, values - least, 0)], NO_KEY)
    at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    return np.where(known & (levels[at] == values), at, NO_KEY)


def named_columns(frame: Any) -> str:
    """Return the first columns of a frame, for an error."""
    names = list(frame.columns)
    return ", ".join(map(repr, names[:20])) + ", …" * (len(names) > 20)


def read_keys(frame: Any, names: Sequence[str], owner: str) -> list[KeyColumn]:
    """Return the key columns of a frame."""
    frame = nw.from_native(frame, eager_only=True)
    found = []
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"{owner} has no column {name!r} to link on; its columns are "
                f"{named_columns(frame)}."
            )
        found.append(_read_key(name, frame[name], owner))
    return found


def _read_key(name: str, series: nw.Series[Any], owner: str) -> KeyColumn:
    """Return a key column, whatever its type."""
    dtype = series.dtype
    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC")
        seconds = read_seconds(name, series, TimeKind.DATE)
        return KeyColumn("times", seconds, ~np.isnan(seconds))
    if dtype.is_integer() or dtype == nw.Boolean:
        known = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
        if not known.all():
            series = series.fill_null(False if dtype == nw.Boolean else 0)
        return KeyColumn("numbers", np.asarray(series.to_numpy()).astype(np.int64), known)
    if dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return KeyColumn("numbers", values, np.isfinite(values))
    return _read_objects(name, series.to_list(), owner)


def _read_objects(name: str, values: list[Any], owner: str) -> KeyColumn:
    """Return a key column of Python objects: text, or all of one other kind."""
    listed = [None if _is_missing(value) else value for value in values]
    known = np.array([value is not None for value in listed], dtype=bool)
    kinds = {_kind_of(value) for value in listed if value is not None}
    if not kinds:
        return KeyColumn("", np.full(len(listed), np.nan), known)
    if kinds == {"text"}:
        return KeyColumn("text", listed, known)
    if kinds == {"numbers"}:
        if all(isinstance(value, int) for value in listed if value is not None):
            for value in listed:
                if value is not None and not -(2**63) <= value < 2**63:
                    raise ValueError(
                        f"Key {name!r} of {inside(owner)} holds {value}, but whole numbers have "
                        "up to 64 bits: convert this key to text in both tables."
                    )
            whole = np.array([0 if value is None else int(value) for value in listed], np.int64)
            return KeyColumn("numbers", whole, known)
        floats = [np.nan if value is None else float(value) for value in listed]
        return KeyColumn("numbers", np.array(floats), known)
    if kinds == {"times"}:
        seconds = [np.nan if value is None else _seconds(value) for value in listed]
        return KeyColumn("times", np.array(seconds), known)
    mixes = "mixes" if len(kinds) > 1 else "holds"
    raise TypeError(
        f"Key {name!r} of {inside(owner)} {mixes} {' and '.join(sorted(kinds))}: a key is text, "
        "numbers or times; convert it to one of them."
    )


def inside(owner: str) -> str:
    """Return the name of a table for the middle of a sentence."""
    return owner.replace("The table", "the table", 1)


def _is_missing(value: Any) -> bool:
    """Whether a Python object stands for a missing value."""
    # pandas has NaT and NA besides None and NaN; the former is not equal to itself.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and isnan(value)


def _kind_of(value: Any) -> str:
    """Return what a key value is, in a word for errors."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, Real):
        return "numbers"
    return "times" if isinstance(value, dt.date) else f"{type(value).__name__} objects"


def _seconds(value: dt.date) -> float:
    """Return the seconds of a date since 1970."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    epoch = dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
    return (value - epoch).total_seconds()


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Numbers that belong to a key: statistics of the rows that have it.

    Parameters
    ----------
    names : tuple of str
        The key columns of the table whose rows look numbers up.
    index : KeyIndex
        The keys.
    values : ndarray of shape (n_keys, n_columns)
        The numbers of each key.
    other : ndarray of shape (n_columns,)
        Those of a row whose key is missing or was never seen.
    """

    names: tuple[str, ...]
    index: KeyIndex
    values: Numbers
    other: Numbers

    def look_up(self, frame: Any) -> Numbers:
        """Return the numbers of each row of a table."""
        keys = self.index.find(read_keys(frame, self.names, "X"), self.names)
        if not len(self.values):
            return np.tile(self.other, (len(keys), 1))
        return np.where((keys >= 0)[:, np.newaxis], self.values[np.maximum(keys, 0)], self.other)
