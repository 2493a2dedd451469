"""Links read: linked rows in order, and what the rows of a table see of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from featurewright.expressions import Column, Domain
from featurewright.relations.aggregates import (
    LinkFeature,
    LinkValues,
    SeenRows,
)
from featurewright.relations.linked import (
    KeyIndex,
    LinkedRows,
    Numbers,
    Places,
    encode_columns,
    learn_keys,
    read_keys,
    read_times,
    sort_rows,
)
from featurewright.relations.links import Link, LinkKind
from featurewright.tables import Schema

TARGET = "target"  # the column of the target in a table's own history
_NESTED = ("sum", "mean", "min", "max")  # of the rows of a nested link, for each linked row


@dataclass(frozen=True, eq=False)
class Source:
    """A link as learned in `fit`.

    Parameters
    ----------
    link : Link
        Its declaration.
    linked : LinkedRows
        The linked rows.
    of_target : bool
        Whether the rows hold the targets of earlier rows, known from a later time on.
    """

    link: Link
    linked: LinkedRows
    of_target: bool = False

    @property
    def is_group(self) -> bool:
        """Whether a row may see itself among the linked rows, and must not."""
        return self.link.kind is LinkKind.GROUP

    def see(self, frame: nw.DataFrame[Any], as_of: str | None, *, training: bool) -> SeenRows:
        """Return what the rows of a table see."""
        here = [name for name, _ in self.link.keys]
        keys = self.linked.index.find(read_keys(frame, here, "X"), here)
        until = self._until(frame, as_of)
        starts, ends = self.linked.spans(keys, until)
        own = self.linked.place if training and self.is_group else None
        return SeenRows(keys, starts, ends, until, own)

    def _until(self, frame: nw.DataFrame[Any], as_of: str | None) -> Numbers | None:
        """Return the time of each row, up to which linked rows are known; None without times."""
        if self.linked.times is None:
            return None
        column = self.link.time if self.link.kind is LinkKind.HISTORY else as_of
        if column is None:
            raise ValueError(
                f"Link {self.link.title!r} has the time {self.link.time!r}, but as_of is None: "
                "name the column of X that says at which time each row is predicted (as_of=…)."
            )
        until, has_dates, zoned = read_times(frame, column, "X")
        if has_dates != self.linked.has_dates:
            kinds = {True: "dates", False: "numbers"}
            raise TypeError(
                f"Column {column!r} of X holds {kinds[has_dates]}, but the times of link "
                f"{self.link.title!r} are {kinds[self.linked.has_dates]}: convert one of them."
            )
        if zoned != self.linked.zoned:
            which = {True: "a time zone", False: "no time zone"}
            raise TypeError(
                f"Column {column!r} of X has {which[zoned]}, but the times of link "
                f"{self.link.title!r} have {which[self.linked.zoned]}: convert one of them."
            )
        # A target is known from its time on; linked rows only before the row's time.
        return np.nextafter(until, np.inf) if self.of_target else until


def learn_sources(links: Any, frame: nw.DataFrame[Any], target: Numbers | None) -> list[Source]:
    """Read the links of a training table; `target` has one column for each of its parts."""
    sources = []
    for link in links:
        sources.append(Source(link, _linked_rows(link, frame)))
        if link.kind is LinkKind.HISTORY and link.target_delay is not None and target is not None:
            sources.append(_target_history(link, frame, target))
    return sources


def read_links(links: Any, frame: nw.DataFrame[Any]) -> list[Link]:
    """Return links whose rows have been read once, for fits on several choices of the rows.

    The earlier rows of a history are those of the whole table: what a row may see of them depends
    on its time alone. Statistics of groups are those of the training rows.
    """
    return [
        link if link.kind is LinkKind.GROUP else replace(link, table=_linked_rows(link, frame))
        for link in links
    ]


def _linked_rows(link: Link, frame: nw.DataFrame[Any]) -> LinkedRows:
    """Return the rows of a link, those of the training table where it has no table of its own."""
    if isinstance(link.table, LinkedRows):
        return link.table
    is_table = link.kind is LinkKind.TABLE
    return read_rows(link, as_frame(link.table, link.title) if is_table else frame)


def as_frame(table: Any, title: str) -> nw.DataFrame[Any]:
    """Return the table of a link, wrapped by narwhals."""
    if not nw.dependencies.is_into_dataframe(table):
        raise TypeError(
            f"The table of link {title!r} is a {type(table).__name__}, but a data frame is "
            "expected: pass one of pandas, polars or PyArrow."
        )
    return nw.from_native(table, eager_only=True)


def read_rows(link: Link, frame: nw.DataFrame[Any], schema: Schema | None = None) -> LinkedRows:
    """Return the rows of a link in order; under the schema of the fit, where there is one."""
    owner = "X" if link.kind is not LinkKind.TABLE else f"The table of link {link.title!r}"
    there = [name for _, name in link.keys]
    keys = read_keys(frame, there, owner)
    times = None if link.time is None else read_times(frame, link.time, owner)
    leave_out = {*there, *([link.time] if link.time else [])}
    for nested in link.links:
        leave_out |= {name for name, _ in nested.keys}
    n_own = None
    if schema is not None:
        n_own = sum(name in frame.columns and name not in leave_out for name in schema.names)
        own = Schema(schema.names[:n_own], True, schema.domains[:n_own], schema.levels[:n_own])
        matrix, _ = encode_columns(frame, leave_out, own)
        found = schema
    else:
        matrix, found = encode_columns(frame, leave_out, for_values=True)
    for nested in link.links:
        more, added = _join_nested(link, nested, frame, times)
        matrix = np.hstack([matrix, more])
        if schema is None:
            found = Schema(
                (*found.names, *added.names),
                True,
                np.concatenate([found.domains, added.domains]),
                (*found.levels, *added.levels),
            )
    return sort_rows(link.title, found, matrix, learn_keys(keys, there), times)


def _join_nested(
    link: Link, nested: Link, frame: nw.DataFrame[Any], times: tuple[Numbers, bool, bool] | None
) -> tuple[Numbers, Schema]:
    """Return the columns that a nested link adds to linked rows."""
    rows = read_rows(nested, as_frame(nested.table, nested.title))
    here = [name for name, _ in nested.keys]
    keys = rows.index.find(read_keys(frame, here, f"The table of link {link.title!r}"), here)
    schema = rows.schema
    if rows.times is None and int(np.diff(rows.offsets).max(initial=0)) <= 1:  # a look-up
        place = np.where(keys >= 0, rows.offsets[np.maximum(keys, 0)], 0)
        looked_up = np.full((len(keys), schema.n_columns), np.nan)
        if rows.n_rows:
            looked_up = np.where((keys >= 0)[:, np.newaxis], rows.matrix[place], np.nan)
        names = tuple(f"{nested.title}.{name}" for name in schema.names)
        return looked_up, replace(schema, names=names)
    if rows.times is not None and times is None:
        raise ValueError(
            f"Link {nested.title!r} has times, but link {link.title!r} above it has none: name its "
            "time too, so that no row sees what came later."
        )
    # A linked row has what is known at its own time.
    until = None if rows.times is None or times is None else np.nextafter(times[0], np.inf)
    values = LinkValues(rows, SeenRows(keys, *rows.spans(keys, until), until))
    features = [LinkFeature(nested.title, "count")]
    for at in np.flatnonzero(schema.domains != Domain.CATEGORY):
        column = Column(int(at), schema.names[at], Domain.REAL)
        features += [LinkFeature(nested.title, aggregate, column) for aggregate in _NESTED]
    matrix = np.column_stack([values.compute(feature) for feature in features])
    names = tuple(map(str, features))
    blank = np.full(len(names), Domain.REAL, np.int8)
    return matrix, Schema(names, True, blank, (None,) * len(names))


def _target_history(link: Link, frame: nw.DataFrame[Any], target: Numbers) -> Source:
    """Return the targets of earlier rows as a source of their own: they are known later."""
    assert link.time is not None
    assert link.target_delay is not None
    times, has_dates, zoned = read_times(frame, link.time, "X")
    n_parts = target.shape[1]
    names = tuple(TARGET if n_parts == 1 else f"{TARGET} {k}" for k in range(n_parts))
    schema = Schema(names, True, np.full(n_parts, Domain.REAL, np.int8), (None,) * n_parts)
    there = [name for _, name in link.keys]
    keys = learn_keys(read_keys(frame, there, "X"), there)
    known = (times + link.target_delay, has_dates, zoned)
    return Source(link, sort_rows(link.title, schema, target, keys, known), of_target=True)


@dataclass(frozen=True, eq=False)
class GroupTarget:
    """Mean targets of the rows with the same key, shrunk towards the mean of all.

    Parameters
    ----------
    link : Link
        The group.
    index : KeyIndex
        The keys.
    sums, counts : ndarray
        Sum of the targets of each key, and its rows.
    mean : ndarray
        Mean of the targets of all rows.
    prior : ndarray
        Rows that the mean of all counts for, by target: the more targets vary within groups
        rather than between them, the more.
    """

    link: Link
    index: KeyIndex
    sums: Numbers
    counts: Numbers
    mean: Numbers
    prior: Numbers

    def encode(self, frame: nw.DataFrame[Any]) -> Numbers:
        """Return the mean targets of each row's group; the mean of all where there is no such."""
        here = [name for name, _ in self.link.keys]
        return self.of_keys(self.index.find(read_keys(frame, here, "X"), here))

    def of_keys(self, keys: Places) -> Numbers:
        """Return the mean targets of groups."""
        at = np.maximum(keys, 0)
        found = (self.sums + self.prior * self.mean) / (self.counts[:, np.newaxis] + self.prior)
        return np.where((keys >= 0)[:, np.newaxis], found[at], self.mean)


def learn_group_target(link: Link, index: KeyIndex, codes: Places, target: Numbers) -> GroupTarget:
    """Return the mean targets of groups, learned from some rows."""
    known = codes >= 0
    n_keys = len(index.combined)
    counts = np.bincount(codes[known], minlength=n_keys).astype(np.float64)
    columns = (np.bincount(codes[known], part[known], minlength=n_keys) for part in target.T)
    sums = np.column_stack(list(columns)).astype(np.float64)
    mean = target.mean(axis=0)
    safe = np.maximum(counts, 1.0)[:, np.newaxis]
    means = sums / safe
    total = ((target[known] - mean) ** 2).sum(axis=0)
    between = (counts[:, np.newaxis] * (means - mean) ** 2).sum(axis=0)
    n_rows, n_groups = max(1, int(known.sum())), max(1, int((counts > 0).sum()))
    within = np.maximum(total - between, 0.0) / max(1, n_rows - n_groups)
    # Method of moments: what the groups' means vary beyond what their rows explain.
    spread = np.maximum(between - (n_groups - 1) * within, 0.0) / n_rows
    prior = np.clip(within / np.where(spread > 0, spread, np.inf), 1.0, None)
    prior = np.where(spread > 0, np.minimum(prior, 1e6), 1e6)
    return GroupTarget(link, index, sums, counts, mean, prior)


def out_of_fold(
    link: Link, index: KeyIndex, codes: Places, target: Numbers, folds: Places
) -> Numbers:
    """Return the mean targets of each row's group over the rows of other folds."""
    out = np.empty_like(target)
    for fold in np.unique(folds):
        inside = folds == fold
        learned = learn_group_target(link, index, codes[~inside], target[~inside])
        out[inside] = learned.of_keys(codes[inside])
    return out
