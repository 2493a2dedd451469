"""Linked rows sorted by key and time, and the ranges of them that the rows of a table see."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.engine.ranges import find_before, order_by_key
from featurewright.expressions import Domain
from featurewright.relations.keys import KeyIndex, Numbers, Places, inside, named_columns
from featurewright.tables import Schema, encode, learn_schema
from featurewright.tables.dates import DAY, TimeKind, read_instants, read_seconds, time_kind

_ID_NAME = re.compile(r"(^|[^a-zA-Z])(id|key|code)$|(?<=[a-z0-9])(Id|ID|Key|Code)$")
_MAX_LABEL_SHARE = 0.5  # of the rows, that may have a label of their own
_MANY_LABELS = 100  # below which labels are kept whatever their share


@dataclass(frozen=True, eq=False)
class Times:
    """When rows became known.

    Parameters
    ----------
    values : ndarray
        Days, or numbers of the table's own unit; NaN is missing.
    has_dates : bool
        Whether they are dates.
    zoned : bool
        Whether they have a time zone.
    """

    values: Numbers
    has_dates: bool
    zoned: bool

    @property
    def are_days(self) -> bool:
        """Whether they are dates without a time of day."""
        known = self.values[np.isfinite(self.values)]
        return self.has_dates and len(known) > 0 and bool(np.all(known == np.floor(known)))

    def check_like(self, has_dates: bool, zoned: bool, here: str, there: str) -> None:
        """Refuse times that cannot be compared with others."""
        if np.isnan(self.values).all():
            return
        if self.has_dates != has_dates:
            kinds = {True: "dates", False: "numbers"}
            raise TypeError(
                f"{here} holds {kinds[self.has_dates]}, but the times of {there} are "
                f"{kinds[has_dates]}: convert one of them."
            )
        if self.zoned != zoned:
            which = {True: "a time zone", False: "no time zone"}
            raise TypeError(
                f"{here} has {which[self.zoned]}, but the times of {there} have "
                f"{which[zoned]}: convert one of them."
            )


def read_times(frame: nw.DataFrame[Any], name: str, owner: str) -> Times:
    """Return a column of times."""
    if name not in frame.columns:
        raise ValueError(
            f"{owner} has no column {name!r} to take times from; its columns are "
            f"{named_columns(frame)}."
        )
    series = frame[name]
    zoned = getattr(series.dtype, "time_zone", None) is not None
    if series.null_count() == len(series):
        return Times(np.full(len(series), np.nan), False, False)
    if series.dtype.is_numeric():
        numbers = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return Times(numbers, False, False)
    kind = time_kind(series)
    if kind is not TimeKind.DATE:  # other ways to write dates may be read in two ways
        raise TypeError(
            f"Column {name!r} of {inside(owner)} has the dtype {series.dtype}, but times are "
            "dates, text such as '2024-12-31', or numbers: convert it first."
        )
    if series.dtype not in (nw.Datetime, nw.Date):
        try:
            instants = read_instants(series)
        except TypeError as error:
            raise TypeError(f"Column {name!r} of {owner} holds times, but {error}.") from error
        if instants is not None:
            return Times(instants / DAY, True, True)
    if zoned:
        # Instants are compared, whatever the zones they are written in.
        series = series.dt.convert_time_zone("UTC")
    return Times(read_seconds(name, series, kind) / DAY, True, zoned)


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

    @cached_property
    def first_alike(self) -> Places:
        """The first row of the key and time that each row has."""
        assert self.times is not None
        new = np.ones(self.n_rows, bool)
        new[1:] = self.times[1:] != self.times[:-1]
        new[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return np.maximum.accumulate(np.where(new, np.arange(self.n_rows), 0))

    def n_rows_of(self, keys: Places) -> int:
        """Return how many rows some keys have together."""
        chosen = np.unique(keys[keys >= 0])
        return int((self.offsets[chosen + 1] - self.offsets[chosen]).sum())

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
        if len(self.offsets) < 2:  # no linked row has a key
            return np.zeros_like(keys), np.zeros_like(keys)
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
    times: Times | None,
) -> LinkedRows:
    """Return encoded rows sorted by key and time; rows without a key or a time are left out.

    The matrix may be overwritten. The order in which rows were given does not matter: those of one
    key and time are in an order that follows from their values.
    """
    index, codes = keys
    seen = codes >= 0
    when = None if times is None else times.values
    if when is not None:
        seen = seen & np.isfinite(when)
    by_time = np.flatnonzero(seen)
    if when is not None:
        by_time = by_time[np.argsort(when[by_time], kind="stable")]
    counts = np.bincount(codes[by_time], minlength=index.n_keys)
    order = np.empty_like(by_time)
    order_by_key(codes, by_time, np.cumsum(counts) - counts, order)
    del by_time
    same = codes[order[1:]] == codes[order[:-1]]
    if when is not None:
        same &= when[order[1:]] == when[order[:-1]]
    order = _settle_ties(order, same, matrix)
    place = np.full(len(codes), -1, np.int64)
    place[order] = np.arange(len(order))
    matrix = np.asfortranarray(matrix, dtype=np.float64)
    for column in matrix.T:  # one after the other: a table has room in memory once, not twice
        column[: len(order)] = column[order]
    return LinkedRows(
        title,
        schema,
        matrix[: len(order)],
        index,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        None if when is None else np.ascontiguousarray(when[order]),
        times is not None and times.has_dates,
        times is not None and times.zoned,
        place,
    )


def _settle_ties(order: Places, same: NDArray[np.bool_], matrix: Numbers) -> Places:
    """Return rows with those that are equal to the one before in order of a hash of their values.

    `same` says of each row but the first whether it has the key and time of the row before.
    """
    if not same.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    stretch = np.cumsum(np.concatenate([[True], ~same]))[places]
    rows = order[places]
    mixed = np.zeros(len(rows), np.uint64)
    for column in matrix.T:
        values = column[rows] + 0.0  # -0 is 0
        values[np.isnan(values)] = np.nan  # there are many NaN
        bits = values.view(np.uint64)
        mixed = (mixed ^ (bits + (bits >> np.uint64(29)))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    settled = order.copy()
    settled[places] = rows[np.lexsort((mixed, stretch))]
    return settled


@dataclass(frozen=True, eq=False)
class TableLayout:
    """How the columns of a table are read.

    Parameters
    ----------
    schema : Schema
        Names, domains and levels of the columns that are read.
    dates : dict of str to TimeKind
        The columns of dates, and how they are written.
    """

    schema: Schema
    dates: dict[str, TimeKind]


def learn_layout(
    frame: nw.DataFrame[Any], leave_out: set[str], *, for_values: bool = False
) -> TableLayout:
    """Return how the columns of a frame are read.

    Where the columns are values of linked rows, whole numbers whose name says that they identify
    something are labels, and labels that hardly ever come twice are left out.
    """
    # Nothing can be learned of columns without rows.
    names = [name for name in frame.columns if name not in leave_out and len(frame)]
    kinds = {name: time_kind(frame[name]) for name in names}
    dates = {name: kind for name, kind in kinds.items() if kind is not None and kind.is_date}
    plain = [name for name in names if name not in dates]
    learned = None if not plain else learn_schema(frame.select(plain).to_native())
    kept, domains, levels = [], [], []
    for name in names:
        domain, level = Domain.REAL, None
        if learned is not None and name not in dates:
            at = plain.index(name)
            domain, level = Domain(learned.domains[at]), learned.levels[at]
            if for_values and frame[name].dtype.is_integer() and _is_id(name):
                # The numbers of identifiers say nothing, but equal ones do.
                found = [int(v) for v in frame[name].drop_nulls().unique().sort().to_list()]
                domain, level = (Domain.CATEGORY, tuple(found)) if found else (domain, level)
        many = max(_MANY_LABELS, _MAX_LABEL_SHARE * len(frame))
        if for_values and level is not None and len(level) > many:
            continue
        kept.append(name)
        domains.append(domain)
        levels.append(level)
    schema = Schema(tuple(kept), True, np.array(domains, np.int8), tuple(levels))
    return TableLayout(schema, {name: dates[name] for name in kept if name in dates})


def encode_columns(
    frame: nw.DataFrame[Any], layout: TableLayout, owner: str, *, number_unseen: bool = False
) -> Numbers:
    """Return the columns of a frame as numbers: dates are days, labels are codes.

    Labels that the fit did not see are missing, or get further codes with `number_unseen`, so that
    they can be counted.
    """
    schema = layout.schema
    out = np.empty((len(frame), schema.n_columns), order="F")
    for at, name in enumerate(schema.names):
        if name not in frame.columns:
            raise ValueError(f"{owner} lacks the column {name!r} that it had in the fit: add it.")
        if not len(frame):
            continue
        series = frame[name]
        if name in layout.dates:
            out[:, at] = read_seconds(name, series, layout.dates[name]) / DAY
            continue
        alone = Schema((name,), True, schema.domains[at : at + 1], (schema.levels[at],))
        if schema.levels[at] and series.dtype == nw.String:
            out[:, at] = _encode_text(alone, series)
        else:
            out[:, at] = encode(alone, frame.select([name]).to_native())[:, 0]
        levels = schema.levels[at]
        if number_unseen and levels is not None:
            _number_unseen(out[:, at], series, len(levels))
    return out


def _number_unseen(codes: Numbers, series: nw.Series[Any], first: int) -> None:
    """Assign codes to labels that have none, in the order of the labels."""
    known = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        known &= ~np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    unseen = known & np.isnan(codes)
    if unseen.any():
        labels = series.filter(unseen.tolist()).cast(nw.String)
        different = labels.unique().sort().to_list()
        numbers = [float(first + place) for place in range(len(different))]
        found = labels.replace_strict(different, numbers, return_dtype=nw.Float64)
        codes[unseen] = found.to_numpy()


def _encode_text(alone: Schema, series: nw.Series[Any]) -> Numbers:
    """Return the codes of a column of text: each text is looked up once, not for every row."""
    out = np.full(len(series), np.nan)
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    texts = series.drop_nulls()
    if not len(texts):
        return out
    different = texts.unique()
    codes = encode(alone, different.to_frame().to_native())[:, 0]
    # Unknown texts have a code of their own here: what is missing cannot be looked up.
    whole = np.where(np.isnan(codes), -1.0, codes)
    found = texts.replace_strict(different.to_list(), whole.tolist(), return_dtype=nw.Float64)
    values = np.asarray(found.to_numpy(), dtype=np.float64)
    out[~missing] = np.where(values < 0, np.nan, values)
    return out


def _is_id(name: str) -> bool:
    """Whether a name says that the numbers of a column identify something."""
    return bool(_ID_NAME.search(name))
