"""Features over links: aggregates of a value of linked rows, under a condition, in a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.engine.features import evaluate_expressions
from featurewright.engine.grammar import compile_operators
from featurewright.engine.ranges import (
    range_levels,
    range_minima,
    range_quantiles,
    running_minima,
    running_totals,
)
from featurewright.expressions import Column, Expression
from featurewright.expressions.latex import escape
from featurewright.relations.keys import Numbers, Places
from featurewright.relations.linked import LinkedRows


@dataclass(frozen=True)
class Condition:
    """Which linked rows count.

    Parameters
    ----------
    column : int
        The column that is tested.
    is_level : bool
        Whether the column must equal `bound`, the code of a level, rather than exceed it.
    bound : float
        The code or the number.
    text : str
        The condition as text.

    Examples
    --------
    >>> Condition(0, False, 2.5, "amount > 2.5").holds(np.array([[1.0], [3.0], [np.nan]]))
    array([False,  True, False])
    """

    column: int
    is_level: bool
    bound: float
    text: str

    def holds(self, matrix: Numbers) -> NDArray[np.bool_]:
        """Return in which linked rows the condition holds; never where the value is missing."""
        values = matrix[:, self.column]
        return values == self.bound if self.is_level else values > self.bound


@dataclass(frozen=True)
class Window:
    """How far back linked rows count: an amount of time, or a number of rows.

    Parameters
    ----------
    span : float or None
        Days, or units of a time that is a number.
    rows : int or None
        Linked rows, the last ones, and those of the same time as the first of them.
    has_dates : bool
        Whether times are dates.

    Examples
    --------
    >>> str(Window(90.0, None, True)), str(Window(None, 3, True))
    ('last 90 days', 'last 3 rows')
    """

    span: float | None
    rows: int | None
    has_dates: bool

    def __str__(self) -> str:
        if self.rows is not None:
            return "last row" if self.rows == 1 else f"last {self.rows} rows"
        span, unit = self.span or 0.0, ""
        if self.has_dates:
            span, unit = (span * 24.0, "hour") if span < 1.0 else (span, "day")
        return f"last {span:g} {unit}{'s' if unit and span != 1 else ''}".rstrip()


@dataclass(frozen=True)
class LinkFeature:
    """One feature over a link.

    Parameters
    ----------
    link : str
        How the linked rows are called.
    aggregate : str
        A name of `AGGREGATES`.
    value : Expression or None
        What is aggregated, over the columns of the linked rows; None counts rows.
    condition : Condition or None
        Which of them count; None for all.
    window : Window or None
        How far back they count; None for all that are seen.

    Examples
    --------
    >>> from featurewright.expressions import Real
    >>> amount = Column(0, "amount", Real)
    >>> print(LinkFeature("orders", "mean", amount, None, Window(90.0, None, True)))
    mean(orders.amount, last 90 days)
    """

    link: str
    aggregate: str
    value: Expression | None = None
    condition: Condition | None = None
    window: Window | None = None

    @property
    def size(self) -> int:
        """How much there is to read: one for the aggregate, its condition and each operator."""
        operators = 0 if self.value is None else self.value.size // 2
        return 1 + operators + (self.condition is not None)

    def __str__(self) -> str:
        if self.value is None:
            subject = self.link
        elif isinstance(self.value, Column):
            subject = f"{self.link}.{self.value.name}"
        else:
            subject = f"{self.link}: {self.value}"
        return f"{self.aggregate}({', '.join([subject, *self._limits()])})"

    def _limits(self) -> list[str]:
        """Return which linked rows count, as texts."""
        limits = [] if self.window is None else [str(self.window)]
        return limits + ([] if self.condition is None else [f"where {self.condition.text}"])

    def latex(self) -> str:
        r"""Return the feature as LaTeX, without dollar signs.

        Examples
        --------
        >>> from featurewright.expressions import Real
        >>> print(LinkFeature("orders", "mean", Column(0, "amount", Real)).latex())
        \operatorname{mean}_{\text{orders}}\left(\text{amount}\right)
        """
        name = self.aggregate.replace(" ", r"\ ")
        below = escape(", ".join([self.link, *self._limits()]))
        inside = "" if self.value is None else self.value.latex()
        return rf"\operatorname{{{name}}}_{{{below}}}\left({inside}\right)"


@dataclass(frozen=True, eq=False)
class SeenRows:
    """The linked rows that each row of a table sees.

    Parameters
    ----------
    keys : ndarray
        Number of each row's key; -1 for none.
    starts, ends : ndarray
        The range of linked rows before the row's time.
    until : ndarray or None
        The row's time.
    own : ndarray or None
        The place of the row itself among the linked rows, where it is one of them and must not
        count; -1 for rows that are not.
    """

    keys: Places
    starts: Places
    ends: Places
    until: Numbers | None
    own: Places | None = None

    def within(self, window: Window | None, linked: LinkedRows) -> SeenRows:
        """Return the rows that are seen in a window."""
        if window is None:
            return self
        if window.rows is not None:
            starts = np.maximum(self.starts, self.ends - window.rows)
            if linked.n_rows:
                # Rows of one time are in no order: all of them count, or none.
                alike = linked.first_alike[np.minimum(starts, linked.n_rows - 1)]
                starts = np.where(starts < self.ends, alike, starts)
        else:
            assert self.until is not None  # windows of time are made for links with times
            assert window.span is not None
            starts = np.minimum(linked.before(self.keys, self.until - window.span), self.ends)
        return SeenRows(self.keys, starts, self.ends, self.until, self.own)

    def take(self, rows: Any) -> SeenRows:
        """Return what some of the rows see."""
        until = None if self.until is None else self.until[rows]
        own = None if self.own is None else self.own[rows]
        return SeenRows(self.keys[rows], self.starts[rows], self.ends[rows], until, own)

    def alone(self, linked: LinkedRows) -> tuple[LinkedRows, SeenRows]:
        """Return the linked rows without keys that no row has, and what the rows see of them."""
        fewer, keys = linked.of_keys(self.keys)
        first = np.where(self.keys >= 0, linked.offsets[np.maximum(self.keys, 0)], 0)
        shift = np.where(keys >= 0, fewer.offsets[np.maximum(keys, 0)], 0) - first
        own = None if self.own is None else np.where(self.own >= 0, self.own + shift, -1)
        return fewer, SeenRows(keys, self.starts + shift, self.ends + shift, self.until, own)


@dataclass(eq=False)
class ValueColumn:
    """A value of the linked rows under a condition, and its running totals.

    Parameters
    ----------
    linked : LinkedRows
        The rows.
    raw : ndarray
        The value of each row; NaN where it is missing or the condition does not hold.
    """

    linked: LinkedRows
    raw: Numbers
    _totals: dict[str, Numbers] = field(default_factory=dict)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a value."""
        return ~np.isnan(self.raw)

    @cached_property
    def _centres(self) -> Numbers:
        """The first value of each key: sums of differences from it keep more digits.

        A mean of all values would do too, but then rows that nobody may see yet would change last
        digits.
        """
        offsets = self.linked.offsets
        if not len(self.raw):
            return np.zeros(len(offsets))
        first = self._following[np.minimum(offsets[:-1], len(self.raw) - 1)]
        inside = first < offsets[1:]
        values = self.raw[np.minimum(first, len(self.raw) - 1)]
        return np.append(np.where(inside, values, 0.0), 0.0)

    def centre(self, seen: SeenRows) -> Numbers:
        """Return what was subtracted from the values that each row sees; 0 without a key."""
        return self._centres[seen.keys]

    @cached_property
    def centred(self) -> Numbers:
        """Differences from the first value of the key; 0 where there is no value."""
        centres = np.repeat(self._centres[:-1], np.diff(self.linked.offsets))
        return np.where(self.known, self.raw - centres, 0.0)

    @cached_property
    def times(self) -> Numbers:
        """Times since the first row of each key; 0 where there is no value."""
        assert self.linked.times is not None
        counts = np.diff(self.linked.offsets)
        first = np.repeat(
            self.linked.times[self.linked.offsets[:-1][counts > 0]], counts[counts > 0]
        )
        return np.where(self.known, self.linked.times - first, 0.0)

    def total(self, what: str, seen: SeenRows) -> Numbers:
        """Return a sum over each range: of "count", "value", "square", "time" and products."""
        if what not in self._totals:
            values = {
                "count": lambda: self.known.astype(np.float64),
                "value": lambda: self.centred,
                "square": lambda: self.centred**2,
                "time": lambda: self.times,
                "time square": lambda: self.times**2,
                "time value": lambda: self.times * self.centred,
            }[what]()
            out = np.empty(len(values))
            running_totals(values, self.linked.offsets, out)
            self._totals[what] = out
        running = self._totals[what]
        found = _between(running, seen.starts, seen.ends, self._first(seen))
        if seen.own is not None:
            mine = np.maximum(seen.own, 0)
            alone = running[mine] - np.where(mine > self._first(seen), running[mine - 1], 0.0)
            found = found - np.where(seen.own >= 0, alone, 0.0)
        return found

    def _first(self, seen: SeenRows) -> Places:
        """Return where the linked rows of each row's key begin."""
        return np.where(seen.keys >= 0, self.linked.offsets[np.maximum(seen.keys, 0)], 0)

    @cached_property
    def _previous(self) -> Places:
        """The last row with a value up to each row; -1 where there is none."""
        return np.maximum.accumulate(np.where(self.known, np.arange(len(self.raw)), -1))

    @cached_property
    def _following(self) -> Places:
        """The first row with a value from each row on; the number of rows where there is none."""
        n = len(self.raw)
        ahead = np.where(self.known, np.arange(n), n)[::-1]
        return np.minimum.accumulate(ahead)[::-1]

    def last(self, seen: SeenRows) -> Places:
        """Return the last row with a value in each range; -1 for none."""
        if not len(self.raw):
            return np.full(len(seen.keys), -1)
        found = self._previous[np.maximum(seen.ends - 1, 0)]
        return np.where((seen.ends > seen.starts) & (found >= seen.starts), found, -1)

    def first(self, seen: SeenRows) -> Places:
        """Return the first row with a value in each range; -1 for none."""
        if not len(self.raw):
            return np.full(len(seen.keys), -1)
        found = self._following[np.minimum(seen.starts, len(self.raw) - 1)]
        return np.where((seen.ends > seen.starts) & (found < seen.ends), found, -1)

    @cached_property
    def _largest_alike(self) -> tuple[Numbers, Numbers]:
        """The largest value of a row's time up to the row, and from the row on."""
        if self.linked.times is None or not len(self.raw):
            return self.raw, self.raw
        alike = self.linked.first_alike
        starts = np.flatnonzero(alike == np.arange(len(alike)))
        if len(starts) == len(alike):
            return self.raw, self.raw
        values = np.where(self.known, -self.raw, np.inf)
        ahead, behind = np.empty(len(values)), np.empty(len(values))
        running_minima(values, np.append(starts, len(values)), ahead, behind)
        return -ahead, -behind

    def last_value(self, seen: SeenRows) -> Numbers:
        """Return the last value of each range, the largest of its time; NaN for none."""
        return self.at(self.last(seen), self._largest_alike[0])

    def first_value(self, seen: SeenRows) -> Numbers:
        """Return the first value of each range, the largest of its time; NaN for none."""
        return self.at(self.first(seen), self._largest_alike[1])

    def at(self, places: Places, values: Numbers) -> Numbers:
        """Return values at places; NaN where a place is -1."""
        if not len(values):
            return np.full(len(places), np.nan)
        return np.where(places >= 0, values[np.maximum(places, 0)], np.nan)

    def minimum(self, seen: SeenRows, sign: float = 1.0) -> Numbers:
        """Return the minimum over each range, or with a sign of -1 the maximum; NaN for none."""
        values = np.where(self.known, sign * self.raw, np.inf)
        out = np.empty(len(seen.keys))
        if seen.own is None:
            range_minima(values, seen.starts, seen.ends, out)
        else:
            ahead, behind = np.empty(len(values)), np.empty(len(values))
            running_minima(values, self.linked.offsets, ahead, behind)
            own = seen.own
            inside = own >= 0
            left = np.where(inside, own, seen.ends) - 1
            right = np.where(inside, own + 1, seen.ends)
            out = np.where(left >= seen.starts, ahead[np.maximum(left, 0)], np.inf)
            nearest = behind[np.minimum(right, max(0, len(values) - 1))]
            out = np.minimum(out, np.where(right < seen.ends, nearest, np.inf))
        return np.where(np.isfinite(out), sign * out, np.nan)

    def quantile(self, seen: SeenRows, share: float) -> Numbers:
        """Return a quantile of each range; NaN for none."""
        longest = int((seen.ends - seen.starts).max(initial=0))
        out = np.empty(len(seen.keys))
        range_quantiles(self.raw, seen.starts, seen.ends, share, np.empty(longest + 1), out)
        return out

    def distinct(self, seen: SeenRows) -> Numbers:
        """Return the number of distinct levels in each range."""
        codes = np.where(self.known, self.raw, -1.0).astype(np.int64)
        seen_in = np.full(int(codes.max(initial=0)) + 1, -1, np.int64)
        out = np.empty(len(seen.keys))
        range_levels(codes, seen.starts, seen.ends, seen_in, out)
        return out


def _between(running: Numbers, starts: Places, ends: Places, first: Places) -> Numbers:
    """Return the sums over ranges from running totals of each key."""
    if not len(running):
        return np.zeros(len(starts))
    upto = np.where(ends > starts, running[np.maximum(ends - 1, 0)], 0.0)
    before = np.where((ends > starts) & (starts > first), running[np.maximum(starts - 1, 0)], 0.0)
    return np.asarray(upto - before)


def _mean(column: ValueColumn, seen: SeenRows) -> Numbers:
    count = column.total("count", seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        return column.centre(seen) + np.where(
            count > 0, column.total("value", seen) / count, np.nan
        )


def _sum(column: ValueColumn, seen: SeenRows) -> Numbers:
    return column.total("value", seen) + column.centre(seen) * column.total("count", seen)


def _std(column: ValueColumn, seen: SeenRows) -> Numbers:
    count = column.total("count", seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = column.total("value", seen) / count
        squares = column.total("square", seen)
        spread = squares - count * mean**2
        # What rounding leaves of equal values is no spread.
        variance = np.where(spread > 1e-13 * squares, spread, 0.0) / (count - 1.0)
        return np.where(count > 1, np.sqrt(variance), np.nan)


def _share(column: ValueColumn, seen: SeenRows) -> Numbers:
    among = (seen.ends - seen.starts).astype(np.float64)
    if seen.own is not None:
        among -= seen.own >= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(among > 0, column.total("count", seen) / among, np.nan)


def _trend(column: ValueColumn, seen: SeenRows) -> Numbers:
    count = column.total("count", seen)
    time, value = column.total("time", seen), column.total("value", seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = column.total("time square", seen) - time**2 / count
        joint = column.total("time value", seen) - time * value / count
        # What rounding leaves of equal times is no spread.
        enough = (count > 1) & (spread > 1e-9 * np.maximum(1.0, column.total("time square", seen)))
        return np.where(enough, joint / spread, np.nan)


def _since_last(column: ValueColumn, seen: SeenRows) -> Numbers:
    assert column.linked.times is not None
    assert seen.until is not None
    return seen.until - column.at(column.last(seen), column.linked.times)


def _mean_gap(column: ValueColumn, seen: SeenRows) -> Numbers:
    assert column.linked.times is not None
    count = column.total("count", seen)
    first = column.at(column.first(seen), column.linked.times)
    last = column.at(column.last(seen), column.linked.times)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 1, (last - first) / (count - 1.0), np.nan)


@dataclass(frozen=True)
class Aggregate:
    """One way to make a number of the linked rows of a row.

    Parameters
    ----------
    compute : callable
        Takes a `ValueColumn` and `SeenRows`; NaN where it is undefined.
    of : {"rows", "number", "category"}
        What it is computed of: the rows, a number or Boolean, or a category.
    needs_time : bool
        Whether linked rows must have a time.
    needs_condition : bool
        Whether it says nothing without a condition.
    for_groups : bool
        Whether it can leave out the row itself.
    share : float or None
        Of a quantile, the share of values below it.
    """

    compute: Callable[[ValueColumn, SeenRows], Numbers]
    of: str
    needs_time: bool = False
    needs_condition: bool = False
    for_groups: bool = False
    share: float | None = None


def _quantile(share: float) -> Aggregate:
    """Return the quantile with a share of values below it."""
    return Aggregate(lambda c, s: c.quantile(s, share), "number", share=share)


AGGREGATES = {
    "count": Aggregate(lambda c, s: c.total("count", s), "rows", for_groups=True),
    "share": Aggregate(_share, "rows", needs_condition=True, for_groups=True),
    "time since last": Aggregate(_since_last, "rows", needs_time=True),
    "mean gap": Aggregate(_mean_gap, "rows", needs_time=True),
    "sum": Aggregate(_sum, "number", for_groups=True),
    "mean": Aggregate(_mean, "number", for_groups=True),
    "std": Aggregate(_std, "number", for_groups=True),
    "min": Aggregate(lambda c, s: c.minimum(s), "number", for_groups=True),
    "max": Aggregate(lambda c, s: c.minimum(s, -1.0), "number", for_groups=True),
    "median": _quantile(0.5),
    "quantile 0.25": _quantile(0.25),
    "quantile 0.75": _quantile(0.75),
    "first": Aggregate(lambda c, s: c.first_value(s), "number", needs_time=True),
    "last": Aggregate(lambda c, s: c.last_value(s), "number", needs_time=True),
    "trend": Aggregate(_trend, "number", needs_time=True),
    "distinct": Aggregate(lambda c, s: c.distinct(s), "category"),
}
"""What linked rows can be made a number of; names are those that features show."""


class LinkValues:
    """Computes features over one link; running totals are kept for the next feature.

    Parameters
    ----------
    linked : LinkedRows
        The linked rows.
    seen : SeenRows
        What each row of the table sees of them.
    """

    def __init__(self, linked: LinkedRows, seen: SeenRows) -> None:
        self.linked, self.seen = linked, seen
        self._columns: dict[Any, ValueColumn] = {}
        self._windows: dict[Window | None, SeenRows] = {None: seen}

    def compute(self, feature: LinkFeature) -> Numbers:
        """Return a feature of each row; undefined is NaN."""
        if feature.window not in self._windows:
            self._windows[feature.window] = self.seen.within(feature.window, self.linked)
        column = self._column(feature.value, feature.condition)
        out = AGGREGATES[feature.aggregate].compute(column, self._windows[feature.window])
        return np.asarray(out, dtype=np.float64)

    def _column(self, value: Expression | None, condition: Condition | None) -> ValueColumn:
        """Return a value under a condition."""
        if (value, condition) not in self._columns:
            # Features are computed value by value; the totals of earlier ones are in the way.
            self._columns.clear()
            matrix = self.linked.matrix
            if value is None:
                raw = np.ones(len(matrix))
            elif isinstance(value, Column):
                raw = matrix[:, value.index].copy()
            else:
                raw = evaluate_value(value, matrix)
            if condition is not None:
                raw[~condition.holds(matrix)] = np.nan
            self._columns[value, condition] = ValueColumn(self.linked, raw)
        return self._columns[value, condition]


def evaluate_value(value: Expression, matrix: Numbers) -> Numbers:
    """Return the values of an expression over linked rows; undefined is NaN."""
    functions = compile_operators(()).functions(np.float64)
    found = evaluate_expressions([value], np.ascontiguousarray(matrix), (), functions, 1)
    return np.array(found[:, 0], dtype=np.float64)
