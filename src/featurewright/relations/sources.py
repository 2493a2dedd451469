"""Links read: linked rows in order, and what the rows of a table see of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from featurewright.estimators.collections import is_collection
from featurewright.expressions import Column, Domain
from featurewright.relations.aggregates import AGGREGATES, LinkFeature, LinkValues, SeenRows
from featurewright.relations.keys import Numbers, learn_keys, read_keys
from featurewright.relations.linked import (
    LinkedRows,
    TableLayout,
    Times,
    encode_columns,
    learn_layout,
    read_times,
    sort_rows,
)
from featurewright.relations.links import Link, LinkKind, all_links
from featurewright.relations.targets import TARGET, TargetColumns, known_from
from featurewright.tables import Schema
from featurewright.tables.schema import generated_names

_NESTED = ("sum", "mean", "min", "max", "last")  # of the rows of a nested link


@dataclass(frozen=True, eq=False)
class LinkLayout:
    """How the rows of a link are read: their own columns, and those of links below.

    Parameters
    ----------
    table : TableLayout
        The columns of the linked table itself.
    nested : tuple of NestedLayout
        What each nested link adds.
    schema : Schema
        All columns: those of the table, then those of nested links.
    kinds : tuple of str
        What the values of each key column are: "numbers", "text" or "times".
    has_dates, zoned : bool
        Whether the times are dates, and have a time zone.
    are_days : bool
        Whether they have no time of day: what they date is known when the day is over.
    """

    table: TableLayout
    nested: tuple[NestedLayout, ...]
    schema: Schema
    kinds: tuple[str, ...]
    has_dates: bool
    zoned: bool
    are_days: bool = False


@dataclass(frozen=True, eq=False)
class NestedLayout:
    """What a nested link adds to the rows above it.

    Parameters
    ----------
    rows : LinkLayout
        How its rows are read.
    features : tuple of LinkFeature or None
        What is computed of its rows; None looks columns up, one row for each key.
    """

    rows: LinkLayout
    features: tuple[LinkFeature, ...] | None


@dataclass(frozen=True, eq=False)
class Source:
    """A link as learned in `fit`.

    Parameters
    ----------
    link : Link
        Its declaration; a group has the time of its rows here.
    layout : LinkLayout
        How its rows are read.
    linked : LinkedRows or None
        The rows; None where they are not kept.
    target : TargetColumns or None
        How targets of earlier rows are read, where the rows hold these.
    """

    link: Link
    layout: LinkLayout
    linked: LinkedRows | None
    target: TargetColumns | None = None

    @property
    def rows(self) -> LinkedRows:
        """The linked rows, where there are any."""
        assert self.linked is not None
        return self.linked

    @property
    def is_group(self) -> bool:
        """Whether a row may see itself among the linked rows, and must not."""
        return self.link.kind is LinkKind.GROUP and self.link.time is None

    def see(self, frame: nw.DataFrame[Any], as_of: str | None, *, training: bool) -> SeenRows:
        """Return what the rows of a table see."""
        here = [name for name, _ in self.link.keys]
        keys = self.rows.index.find(read_keys(frame, here, "X"), here)
        until = self._until(frame, as_of)
        # A target is known from its time on; other linked rows only before the row's time.
        now = until if self.target is None or until is None else np.nextafter(until, np.inf)
        starts, ends = self.rows.spans(keys, now)
        if training and self.link.kind is LinkKind.TABLE and not np.any(ends > starts):
            warnings.warn(
                f"No row of X sees a row of link {self.link.title!r}: check that the keys are "
                "written alike in both tables, and that times of linked rows are before those of "
                "the rows.",
                UserWarning,
                stacklevel=2,
            )
        own = self.rows.place if training and self.is_group else None
        return SeenRows(keys, starts, ends, until, own)

    def _until(self, frame: nw.DataFrame[Any], as_of: str | None) -> Numbers | None:
        """Return the time of each row, up to which linked rows are known; None without times."""
        rows = self.rows
        if rows.times is None:
            return None
        column = as_of if self.link.kind is LinkKind.TABLE else self.link.time
        if column is None:
            raise ValueError(
                f"Link {self.link.title!r} has the time {self.link.time!r}, but as_of is None: "
                "name the column of X that says at which time each row is predicted (as_of=…)."
            )
        until = read_times(frame, column, "X")
        if rows.n_rows:
            until.check_like(
                rows.has_dates, rows.zoned, f"Column {column!r} of X", f"link {self.link.title!r}"
            )
        n_missing = int(np.count_nonzero(np.isnan(until.values)))
        if n_missing:
            warnings.warn(
                f"Column {column!r} of X has no time in {n_missing} of {len(frame)} rows: these "
                f"see no rows of link {self.link.title!r}, as if there were none; fill the times, "
                "or leave these rows out.",
                UserWarning,
                stacklevel=2,
            )
        # What is dated to a day may have come after the row on that day.
        return np.floor(until.values) if self.layout.are_days else until.values

    def told(self, links: Sequence[Link]) -> Source:
        """Return the source with its link as it was given, and no rows of a collection."""
        (given,) = [link for link in links if link.title == self.link.title]
        if not any(is_collection(link.table) for link in all_links([given])):
            return self
        return replace(self, link=given, linked=None)

    def without_rows(self) -> Source:
        """Return what was learned, without the rows."""
        return replace(self, linked=None)

    def reread(self, tables: Mapping[str, Any]) -> Source:
        """Return the source with newer tables, for itself or for links below it."""
        link = self.link
        own = tables.get(link.title)
        if self.target is None:
            frame = as_frame(link.table if own is None else own, link.title)
            return replace(self, linked=_read(link, frame, tables, self.layout))
        frame = as_frame(own, link.title)
        if any(name not in frame.columns for name in self.target.names):
            return self  # earlier targets are still those of the fit
        rows = target_rows(link, frame, self.target.read(frame), self.target)
        return replace(self, linked=rows)

    def missing(self, tables: Mapping[str, Any]) -> list[str]:
        """Return the links whose tables have to be given, since they are not kept."""
        given = [one.title for one in all_links([self.link]) if one.title in tables]
        if not given and (self.linked is not None or is_collection(self.link.table)):
            return []
        if self.target is not None:
            if self.linked is not None:
                return []
            frame = tables.get(self.link.title)
            columns = [] if frame is None else as_frame(frame, self.link.title).columns
            lacking = any(name not in columns for name in self.target.names)
            return [self.link.title] if lacking else []
        # Rows of the table's own history and groups are not in the link.
        return [
            one.title
            for one in all_links([self.link])
            if one.title not in tables and one.table is None
        ]


def learn_sources(
    links: Sequence[Link],
    frame: nw.DataFrame[Any],
    target: Numbers,
    columns: TargetColumns,
    *,
    as_of: str | None,
    max_order: int,
) -> list[Source]:
    """Read the links of a training table; `target` has one column for each of its parts."""
    sources = []
    for link in links:
        sources.append(_learn_rows(link, frame, as_of, max_order))
        if link.kind is LinkKind.HISTORY and link.target_delay is not None:
            for name in columns.names:
                if name in frame.columns:
                    raise ValueError(
                        f"X has a column {name!r}, which is how the targets of earlier rows are "
                        "called: rename it, or leave it out."
                    )
            rows = target_rows(link, frame, target, columns)
            own = sources[-1].layout
            layout = LinkLayout(
                TableLayout(rows.schema, {}), (), rows.schema, own.kinds, own.has_dates, own.zoned
            )
            sources.append(Source(link, layout, rows, columns))
    return sources


def _learn_rows(link: Link, frame: nw.DataFrame[Any], as_of: str | None, max_order: int) -> Source:
    """Return a link with its rows, those of the training table where it has no other."""
    if isinstance(link.table, Source):  # of `read_links`
        return link.table
    if link.kind is LinkKind.TABLE:
        return learn_source(link, as_frame(link.table, link.title), max_order)
    _check_group(link, as_of)
    timed = replace(link, time=as_of) if link.kind is LinkKind.GROUP else link
    return learn_source(timed, frame, max_order)


def _check_group(link: Link, as_of: str | None) -> None:
    """Refuse a delay of the targets of a group whose rows have no times."""
    if link.kind is LinkKind.GROUP and link.target_delay and as_of is None:
        raise ValueError(
            f"Link {link.title!r} has target_delay={link.target_delay!r}, but as_of is None: name "
            "the column of X that says at which time each row is predicted (as_of=…)."
        )


def read_links(
    links: Sequence[Link], frame: nw.DataFrame[Any], *, as_of: str | None, max_order: int
) -> list[Link]:
    """Return links whose rows have been read, for fits on several choices of the rows of a table.

    Earlier rows are those of the whole table: what a row may see of them depends on its time alone.
    Groups without times have statistics of the training rows, and are read with these.
    """
    for link in links:
        _check_group(link, as_of)
    return [
        link
        if link.kind is LinkKind.GROUP and as_of is None
        else replace(link, table=_learn_rows(link, frame, as_of, max_order))
        for link in links
    ]


def as_frame(table: Any, title: str) -> nw.DataFrame[Any]:
    """Return the table of a link, wrapped by narwhals."""
    if not nw.dependencies.is_into_dataframe(table):
        raise TypeError(
            f"The table of link {title!r} is a {type(table).__name__}, but a data frame is "
            "expected: pass one of pandas, polars or PyArrow."
        )
    return wrap_frame(table, f"The table of link {title!r}", named=True)


def newer_tables(links: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return newer linked tables by the names of their links."""
    if links is not None and not isinstance(links, Mapping):
        raise TypeError(
            f"links is a {type(links).__name__}, but newer tables are expected by the names of "
            "their links: pass a dict, such as {'orders': orders}."
        )
    return dict(links or {})


def refuse_array(links: Sequence[Link]) -> None:
    """Refuse an array where there are links: its columns have no names."""
    if len(links):
        raise TypeError(
            "X is an array, but links need columns with names: pass a data frame of pandas, "
            "polars or PyArrow."
        )


def wrap_frame(table: Any, owner: str, *, named: bool) -> nw.DataFrame[Any]:
    """Return a data frame wrapped by narwhals, which wants each name of a column once.

    With `named`, names must be text: links find columns by name. Otherwise, columns of pandas whose
    names are no text are called `x0` and so on, like those of an array.
    """
    try:
        frame = nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(
            f"{owner} has several columns of one name ({' '.join(str(error).split())}): rename all "
            "but one of them."
        ) from error
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd and not named:
        names = list(generated_names(len(frame.columns)))
        return nw.from_native(table.set_axis(names, axis=1), eager_only=True)
    if odd:
        raise TypeError(
            f"{owner} has a column named {odd[0]!r}, but links need names that are text: rename "
            "the columns with X.columns = X.columns.astype(str)."
        )
    return frame


def _owner(link: Link) -> str:
    """Return how errors call the table of a link."""
    return "X" if link.kind is not LinkKind.TABLE else f"The table of link {link.title!r}"


@contextmanager
def _told_of(link: Link) -> Iterator[None]:
    """Say in errors about a column which table it is in, where that is not X."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if link.kind is not LinkKind.TABLE or not said.startswith("Column "):
            raise
        where = f"In the table of link {link.title!r}, c{said[1:]}"
        raise type(error)(where) from error


def learn_source(link: Link, frame: nw.DataFrame[Any], max_order: int) -> Source:
    """Return a link with its rows, and how they were read."""
    layout = _learn_layout(link, frame, max_order)
    return Source(link, layout, _read(link, frame, {}, layout))


def _learn_layout(link: Link, frame: nw.DataFrame[Any], max_order: int) -> LinkLayout:
    """Learn how the rows of a link are read."""
    leave_out = {name for _, name in link.keys} | ({link.time} if link.time else set())
    for nested in link.links:
        leave_out |= {name for name, _ in nested.keys}
    with _told_of(link):
        table = learn_layout(frame, leave_out, for_values=True)
    below = []
    for nested in link.links:
        own = as_frame(nested.table, nested.title)
        rows = _learn_layout(nested, own, max_order - 1)
        below.append(_learn_nested(link, nested, own, rows, max_order))
    there = [name for _, name in link.keys]
    kinds = tuple(key.kind for key in read_keys(frame, there, _owner(link)))
    times = None if link.time is None else read_times(frame, link.time, _owner(link))
    schema = join_schemas(table.schema, link.links, below)
    has_dates, zoned = times is not None and times.has_dates, times is not None and times.zoned
    are_days = times is not None and times.are_days and link.kind is LinkKind.TABLE
    return LinkLayout(table, tuple(below), schema, kinds, has_dates, zoned, are_days)


def _learn_nested(
    link: Link, nested: Link, frame: nw.DataFrame[Any], rows: LinkLayout, max_order: int
) -> NestedLayout:
    """Learn what a nested link adds: looked-up columns, or aggregates of its rows."""
    there = [name for _, name in nested.keys]
    _, codes = learn_keys(read_keys(frame, there, _owner(nested)), there)
    known = codes[codes >= 0]
    if nested.time is None and len(np.unique(known)) == len(known):
        return NestedLayout(rows, None)
    if nested.time is not None and link.time is None:
        raise ValueError(
            f"Link {nested.title!r} has times, but link {link.title!r} above it has none: name its "
            "time too, so that no row sees what came later."
        )
    if max_order < 2:
        return NestedLayout(rows, ())
    features = [LinkFeature(nested.title, "count")]
    names = [name for name in _NESTED if nested.time is not None or not AGGREGATES[name].needs_time]
    for at in np.flatnonzero(rows.schema.domains != Domain.CATEGORY):
        column = Column(int(at), rows.schema.names[at], Domain.REAL)
        features += [LinkFeature(nested.title, name, column) for name in names]
    return NestedLayout(rows, tuple(features))


def join_schemas(own: Schema, links: Sequence[Link], below: Sequence[NestedLayout]) -> Schema:
    """Return all columns: those of a table, then those of nested links, under different names."""
    names, domains, levels = list(own.names), [*own.domains], [*own.levels]
    for link, nested in zip(links, below, strict=True):
        if nested.features is None:
            schema = nested.rows.schema
            names += [f"{link.title}.{name}" for name in schema.names]
            domains += [*schema.domains]
            levels += [*schema.levels]
        else:
            names += [str(feature) for feature in nested.features]
            domains += [Domain.REAL] * len(nested.features)
            levels += [None] * len(nested.features)
    return Schema(unique_names(names), True, np.array(domains, np.int8), tuple(levels))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with a number behind those that come a second time."""
    taken: set[str] = set()
    found = []
    for name in names:
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name} ({count})"
        taken.add(unique)
        found.append(unique)
    return tuple(found)


def _read(
    link: Link, frame: nw.DataFrame[Any], tables: Mapping[str, Any], layout: LinkLayout
) -> LinkedRows:
    """Return the rows of a link in order; nested tables are newer ones where these are given."""
    there = [name for _, name in link.keys]
    keys = learn_keys(read_keys(frame, there, _owner(link)), there)
    times = None if link.time is None else read_times(frame, link.time, _owner(link))
    with _told_of(link):
        matrix = encode_columns(frame, layout.table, _owner(link), number_unseen=True)
    parts = [matrix]
    for nested, learned in zip(link.links, layout.nested, strict=True):
        given = tables.get(nested.title)
        own = as_frame(nested.table if given is None else given, nested.title)
        rows = _read(nested, own, tables, learned.rows)
        parts.append(_columns_of(link, nested, rows, learned, frame=frame, times=times))
    if len(parts) > 1:
        matrix = np.asfortranarray(np.hstack(parts))
    return sort_rows(link.title, layout.schema, matrix, keys, times)


def _columns_of(
    link: Link,
    nested: Link,
    rows: LinkedRows,
    learned: NestedLayout,
    *,
    frame: nw.DataFrame[Any],
    times: Times | None,
) -> Numbers:
    """Return the columns that a nested link adds to linked rows."""
    here = [name for name, _ in nested.keys]
    keys = rows.index.find(read_keys(frame, here, _owner(link)), here)
    if learned.features is None:
        if int(np.diff(rows.offsets).max(initial=0)) > 1:
            raise ValueError(
                f"Link {nested.title!r} looks up one row for each key, but its table has a key "
                "twice: leave out all but one."
            )
        if not rows.n_rows:
            return np.full((len(keys), rows.schema.n_columns), np.nan)
        place = np.where(keys >= 0, rows.offsets[np.maximum(keys, 0)], 0)
        return np.where((keys >= 0)[:, np.newaxis], rows.matrix[place], np.nan)
    until = None
    if rows.times is not None and times is not None:
        if rows.n_rows:
            times.check_like(
                rows.has_dates, rows.zoned, f"Link {link.title!r}", f"link {nested.title!r}"
            )
        # A linked row has what is known at its own time.
        until = np.nextafter(times.values, np.inf)
    values = LinkValues(rows, SeenRows(keys, *rows.spans(keys, until), until))
    columns = values.each(learned.features, lambda _, column: column)
    return np.column_stack(columns) if columns else np.empty((len(keys), 0))


def target_rows(
    link: Link, frame: nw.DataFrame[Any], target: Numbers, columns: TargetColumns
) -> LinkedRows:
    """Return the targets of earlier rows as linked rows: they are known later."""
    assert link.time is not None
    assert link.target_delay is not None
    times = known_from(read_times(frame, link.time, "X"), link.target_delay)
    n_parts = target.shape[1]
    names = columns.labels if n_parts > 1 or columns.classes is not None else (TARGET,)
    schema = Schema(names, True, np.full(n_parts, Domain.REAL, np.int8), (None,) * n_parts)
    there = [name for _, name in link.keys]
    keys = learn_keys(read_keys(frame, there, "X"), there)
    return sort_rows(link.title, schema, target.copy(), keys, times)
