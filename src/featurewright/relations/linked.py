"""Linked rows sorted by key and time, and the ranges of them that the rows of a table see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, prod
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.engine.ranges import find_before
from featurewright.expressions import Domain
from featurewright.tables import EncodedTable, Schema, encode, learn_schema
from featurewright.tables.dates import DAY, TimeKind, read_seconds, time_kind

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
KeyValues = NDArray[Any] | list[Any]
Levels = NDArray[Any] | dict[Any, int]

NO_KEY = -1
_ID_NAME = re.compile(r"(^|[^a-zA-Z])(id|key|code)$|(?<=[a-z0-9])(Id|ID|Key|Code)$")
_MAX_LABEL_SHARE = 0.5  # of the rows, that may have a label of their own
_MANY_LABELS = 100  # below which labels are kept whatever their share


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """The keys that linked rows have.

    Parameters
    ----------
    levels : tuple of dict or ndarray
        For each key column its values: numbers sorted, others with their places.
    combined : ndarray
        The combinations of places that occur, each as one number, sorted.
    kinds : tuple of str
        What the values of each key column are, in a word.

    Examples
    --------
    >>> index, codes = learn_keys([["b", "a", None, "b"]], ["key"])
    >>> codes.tolist(), index.find([["a", "c"]], ["key"]).tolist()
    ([1, 0, -1, 1], [0, -1])
    """

    levels: tuple[Levels, ...]
    combined: Places
    kinds: tuple[str, ...]

    def find(self, columns: Sequence[KeyValues], names: Sequence[str]) -> Places:
        """Return the number of each row's key; -1 where no linked row has it, or it is missing."""
        for values, kind, name in zip(columns, self.kinds, names, strict=True):
            found = _kind_of(values)
            if found and kind and found != kind:
                raise TypeError(
                    f"Key {name!r} holds {found} here, but {kind} in the linked table: convert one "
                    "of them, so that keys can be equal."
                )
        wide, known = _combine(self.levels, columns)
        if not len(self.combined):
            return np.full(len(wide), NO_KEY)
        at = np.minimum(np.searchsorted(self.combined, wide), len(self.combined) - 1)
        return np.where(known & (self.combined[at] == wide), at, NO_KEY)


def learn_keys(columns: Sequence[KeyValues], names: Sequence[str]) -> tuple[KeyIndex, Places]:
    """Return the keys of linked rows, numbered in increasing order, and each row's number."""
    levels = tuple(map(_learn_levels, columns))
    if prod(max(1, len(own)) for own in levels) > 2**62:
        raise ValueError(
            f"The keys {', '.join(map(repr, names))} have too many combinations to number: join "
            "them into one column first."
        )
    wide, known = _combine(levels, columns)
    combined = np.unique(wide[known])
    codes = np.where(known, np.searchsorted(combined, wide), NO_KEY)
    return KeyIndex(levels, combined, tuple(map(_kind_of, columns))), codes


def _combine(
    levels: Sequence[Levels], columns: Sequence[KeyValues]
) -> tuple[Places, NDArray[np.bool_]]:
    """Return one number for the places of all key columns, and where all of them are known."""
    wide = np.zeros(len(columns[0]), np.int64)
    known = np.ones(len(columns[0]), bool)
    for own, values in zip(levels, columns, strict=True):
        places = _places(own, values)
        known &= places >= 0
        wide = wide * max(1, len(own)) + places
    return wide, known


def _learn_levels(values: KeyValues) -> Levels:
    """Return the distinct values of a key, sorted; missing ones are none."""
    if isinstance(values, np.ndarray):
        return np.unique(values[~np.isnan(values)])
    distinct = {value for value in values if value is not None}
    listed = sorted(distinct, key=lambda value: (type(value).__name__, value))
    return {value: place for place, value in enumerate(listed)}


def _places(levels: Levels, values: KeyValues) -> Places:
    """Return the place of each value among the levels; -1 for others."""
    if isinstance(levels, dict):
        get = levels.get if not isinstance(values, np.ndarray) else {}.get
        return np.fromiter((get(value, NO_KEY) for value in values), np.int64, len(values))
    if not isinstance(values, np.ndarray) or not len(levels):  # all of either are missing
        return np.full(len(values), NO_KEY)
    at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    return np.where(levels[at] == values, at, NO_KEY)


def _kind_of(values: KeyValues) -> str:
    """Return what the values of a key are, in a word for errors; "" where all are missing."""
    if isinstance(values, np.ndarray):
        return "numbers"
    texts = {isinstance(value, str) for value in values if value is not None}
    return " and ".join("text" if is_text else "times" for is_text in sorted(texts))


def read_keys(frame: nw.DataFrame[Any], names: Sequence[str], owner: str) -> list[KeyValues]:
    """Return key columns: arrays of numbers with NaN, or lists with None, where one is missing."""
    found: list[KeyValues] = []
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"{owner} has no column {name!r} to link on; its columns are "
                f"{', '.join(map(repr, frame.columns[:20]))}."
            )
        series = frame[name]
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            if series.null_count() or not series.dtype.is_integer():
                series = series.cast(nw.Float64)
            found.append(np.asarray(series.to_numpy()))
            continue
        values = series.to_list()
        found.append([None if isinstance(v, float) and isnan(v) else v for v in values])
    return found


def read_times(frame: nw.DataFrame[Any], name: str, owner: str) -> tuple[Numbers, bool, bool]:
    """Return a column of times as days or numbers, whether they are dates, and whether zoned."""
    if name not in frame.columns:
        raise ValueError(f"{owner} has no column {name!r} to take times from.")
    series = frame[name]
    zoned = getattr(series.dtype, "time_zone", None) is not None
    if series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64), False, False
    kind = time_kind(series)
    if kind is None or not kind.is_date:
        raise TypeError(
            f"Column {name!r} of {owner} has the dtype {series.dtype}, but times are dates or "
            "numbers: convert it first."
        )
    if zoned:
        # Instants are compared, whatever the zones they are written in.
        series = series.dt.convert_time_zone("UTC")
    return read_seconds(name, series, TimeKind.DATE if kind is None else kind) / DAY, True, zoned


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """The rows of a link, sorted by key and then by time.

    Parameters
    ----------
    title : str
        How features call the rows.
    schema : Schema
        Names, domains and levels of their columns.
    matrix : ndarray of shape (n_rows, n_columns)
        The columns, encoded.
    index : KeyIndex
        The keys.
    offsets : ndarray of shape (n_keys + 1,)
        Where the rows of each key begin.
    times : ndarray of shape (n_rows,) or None
        Days, or a number of the table's own unit.
    has_dates : bool
        Whether times are dates.
    zoned : bool
        Whether the times have a zone.
    place : ndarray of shape (n_given_rows,)
        Where each row of the given table stands; -1 for those without a key.
    """

    title: str
    schema: Schema
    matrix: Numbers
    index: KeyIndex
    offsets: Places
    times: Numbers | None
    has_dates: bool
    zoned: bool
    place: Places

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.matrix)

    def table(self) -> EncodedTable:
        """Return the rows as a table."""
        return EncodedTable(self.matrix, self.schema)

    def of_keys(self, keys: Places) -> tuple[LinkedRows, Places]:
        """Return the rows of some keys alone, and the numbers of the keys among these."""
        chosen, codes = np.unique(keys, return_inverse=True)
        has_none = bool(len(chosen)) and chosen[0] < 0
        chosen = chosen[1:] if has_none else chosen
        counts = self.offsets[chosen + 1] - self.offsets[chosen]
        ends = np.cumsum(counts)
        rows = np.arange(int(counts.sum())) + np.repeat(
            self.offsets[chosen] - ends + counts, counts
        )
        alone = replace(
            self,
            matrix=np.asfortranarray(self.matrix[rows]),
            offsets=np.concatenate([[0], ends]).astype(np.int64),
            times=None if self.times is None else self.times[rows],
        )
        return alone, codes - 1 if has_none else codes

    def spans(self, keys: Places, until: Numbers | None) -> tuple[Places, Places]:
        """Return where the rows begin and end that rows with some keys see, before some times."""
        known = np.maximum(keys, 0)
        starts = np.where(keys >= 0, self.offsets[known], 0)
        if self.times is None or until is None:
            return starts, np.where(keys >= 0, self.offsets[known + 1], 0)
        return starts, self.before(keys, until)

    def before(self, keys: Places, until: Numbers) -> Places:
        """Return for some keys the place of the first row that is not before a time."""
        out = np.empty(len(keys), np.int64)
        if self.times is None:
            raise ValueError(f"The rows of {self.title!r} have no times.")
        # A comparison with NaN is false, so a row without a time of its own would see nothing.
        find_before(self.offsets, self.times, keys, until, out)
        return out


def sort_rows(
    title: str,
    schema: Schema,
    matrix: Numbers,
    keys: tuple[KeyIndex, Places],
    times: tuple[Numbers, bool, bool] | None,
) -> LinkedRows:
    """Return encoded rows sorted by key and time; rows without a key or a time are left out."""
    index, codes = keys
    seen = codes >= 0
    when = None
    if times is not None:
        when = times[0]
        seen = seen & np.isfinite(when)
    rows = np.flatnonzero(seen)
    by_time = rows if when is None else rows[np.argsort(when[rows], kind="stable")]
    order = by_time[np.argsort(codes[by_time], kind="stable")]
    place = np.full(len(codes), -1, np.int64)
    place[order] = np.arange(len(order))
    counts = np.bincount(codes[order], minlength=len(index.combined))
    return LinkedRows(
        title,
        schema,
        np.asfortranarray(matrix[order], dtype=np.float64),
        index,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        None if when is None else np.ascontiguousarray(when[order]),
        times is not None and times[1],
        times is not None and times[2],
        place,
    )


def encode_columns(
    frame: nw.DataFrame[Any],
    leave_out: set[str],
    schema: Schema | None = None,
    *,
    for_values: bool = False,
) -> tuple[Numbers, Schema]:
    """Return the columns of a frame as numbers: dates are days, labels are codes.

    Where the columns are values of linked rows, whole numbers whose name says that they identify
    something are labels, and labels that hardly ever come twice are left out.
    """
    if schema is None:
        names = [name for name in frame.columns if name not in leave_out]
        dates = {n for n in names if (kind := time_kind(frame[n])) is not None and kind.is_date}
        plain = [name for name in names if name not in dates]
        learned = None if not plain else learn_schema(frame.select(plain).to_native())
        kept, domains, levels = [], [], []
        for name in names:
            at = plain.index(name) if name in plain else None
            domain = Domain.REAL if at is None or learned is None else Domain(learned.domains[at])
            level = None if at is None or learned is None else learned.levels[at]
            if for_values and at is not None and frame[name].dtype.is_integer() and _is_id(name):
                # The numbers of identifiers say nothing, but equal ones do.
                found = [int(v) for v in frame[name].drop_nulls().unique().sort().to_list()]
                domain, level = Domain.CATEGORY, tuple(found)
            many = max(_MANY_LABELS, _MAX_LABEL_SHARE * len(frame))
            if for_values and level is not None and len(level) > many:
                continue
            kept.append(name)
            domains.append(domain)
            levels.append(level)
        schema = Schema(tuple(kept), True, np.array(domains, np.int8), tuple(levels))
    out = np.empty((len(frame), schema.n_columns))
    for at, name in enumerate(schema.names):
        if name not in frame.columns:
            raise ValueError(f"Column {name!r} of the linked table of the fit is missing: add it.")
        series = frame[name]
        kind = time_kind(series) if schema.domains[at] == Domain.REAL else None
        if kind is not None and kind.is_date:
            out[:, at] = read_seconds(name, series, kind) / DAY
            continue
        alone = Schema((name,), True, schema.domains[at : at + 1], (schema.levels[at],))
        out[:, at] = encode(alone, frame.select([name]).to_native())[:, 0]
    return out, schema


def _is_id(name: str) -> bool:
    """Whether a name says that the numbers of a column identify something."""
    return bool(_ID_NAME.search(name))
