"""Features over links: aggregates of a value of linked rows, under a condition, in a window."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from featurewright.engine.features import evaluate_expressions
from featurewright.engine.grammar import compile_operators
from featurewright.engine.ranges import (
    N_LOST,
    N_MOMENTS,
    order_by_key,
    range_ends,
    range_extremes,
    range_levels,
    range_modes,
    range_moments,
    range_quantiles,
    sliding_levels,
    sliding_quantiles,
)
from featurewright.engine.threads import run_in_threads
from featurewright.expressions import Column, Domain, Expression
from featurewright.expressions.latex import escape
from featurewright.relations.keys import Numbers, Places
from featurewright.relations.linked import LinkedRows
from featurewright.tables import Schema

Result = TypeVar("Result")

_OFTEN = 32  # times that a linked row is seen, on average
_BLOCK_ROWS = 65_536  # of linked rows, that an expression is evaluated on at a time


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
class Level:
    """The level of a category that an aggregate is compared with.

    Parameters
    ----------
    code : float
        Its place in the order of levels.
    text : str
        The level as text.

    Examples
    --------
    >>> from featurewright.expressions import Real
    >>> channel = Column(0, "channel", Real)
    >>> print(LinkFeature("orders", "mode", channel, level=Level(1.0, "'web'")))
    mode(orders.channel) = 'web'
    """

    code: float
    text: str

    def holds(self, found: Numbers) -> Numbers:
        """Return 1 where codes are that of the level, else 0; NaN where there is none."""
        return np.where(np.isnan(found), np.nan, found == self.code)


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
    level : Level or None
        Of an aggregate that gives a level: the one that it is compared with; None for the level
        itself.

    Examples
    --------
    >>> from featurewright.expressions import Category, Real
    >>> amount = Column(0, "amount", Real)
    >>> print(LinkFeature("orders", "mean", amount, None, Window(90.0, None, True)))
    mean(orders.amount, last 90 days)
    >>> LinkFeature("orders", "mean", amount)
    LinkFeature('mean(orders.amount)')
    >>> LinkFeature("orders", "mode", Column(1, "channel", Category)).domain
    <Domain.CATEGORY: 2>
    """

    link: str
    aggregate: str
    value: Expression | None = None
    condition: Condition | None = None
    window: Window | None = None
    level: Level | None = None

    @property
    def size(self) -> int:
        """How much there is to read: one for the aggregate, its condition and each operator."""
        operators = 0 if self.value is None else self.value.size // 2
        return 1 + operators + (self.condition is not None)

    @property
    def domain(self) -> Domain:
        """What its values are: numbers, 1 where a level is the one asked for, or codes."""
        if self.level is not None:
            return Domain.BOOLEAN
        of_labels = isinstance(self.value, Column) and self.value.domain == Domain.CATEGORY
        return (
            Domain.CATEGORY if of_labels and AGGREGATES[self.aggregate].gives_level else Domain.REAL
        )

    def __str__(self) -> str:
        if self.value is None:
            subject = self.link
        elif isinstance(self.value, Column):
            subject = f"{self.link}.{self.value.name}"
        else:
            subject = f"{self.link}: {self.value}"
        equal = "" if self.level is None else f" = {self.level.text}"
        return f"{self.aggregate}({', '.join([subject, *self._limits()])}){equal}"

    def __repr__(self) -> str:
        return f"LinkFeature({str(self)!r})"

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
        equal = "" if self.level is None else f" = {escape(self.level.text)}"
        return rf"\operatorname{{{name}}}_{{{below}}}\left({inside}\right){equal}"


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

    def overlaps(self, linked: LinkedRows) -> bool:
        """Whether linked rows are seen so often that it pays to let them come and go in order."""
        return int((self.ends - self.starts).sum()) > _OFTEN * linked.n_rows

    @cached_property
    def by_end(self) -> Places:
        """The rows in order of their keys, of the ends of what they see, and of its starts."""
        return np.lexsort((self.starts, self.ends, self.keys))

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


@dataclass(frozen=True, eq=False)
class RowsByKey:
    """The rows of a table in the order of their keys, in which linked rows are visited.

    Parameters
    ----------
    keys : ndarray
        Number of each row's key; -1 for none.
    order : ndarray
        The rows, those of one key together.
    own : ndarray
        The place of the row itself among the linked rows; -1 where that counts.
    longest : int
        Most linked rows of a key.
    """

    keys: Places
    order: Places
    own: Places
    longest: int


def rows_by_key(linked: LinkedRows, seen: SeenRows) -> RowsByKey:
    """Return the rows of a table in the order of their keys."""
    keys = seen.keys + 1  # those without a key come first
    places = np.cumsum(np.bincount(keys, minlength=1)) - np.bincount(keys, minlength=1)
    order = np.empty(len(keys), np.int64)
    order_by_key(keys, np.arange(len(keys)), places, order)
    own = np.full(len(keys), -1) if seen.own is None else seen.own
    known = seen.keys[seen.keys >= 0]
    counts = linked.offsets[known + 1] - linked.offsets[known]
    return RowsByKey(seen.keys, order, own, int(counts.max(initial=0)))


class ValueColumn:
    """A value of the linked rows under a condition; what several aggregates need is kept.

    Parameters
    ----------
    linked : LinkedRows
        The rows.
    raw : ndarray
        The value of each linked row; NaN where it is missing or the condition does not hold.
    rows : RowsByKey
        The rows of the table.
    aggregates : collection of str
        What will be asked for, of any window.
    """

    def __init__(
        self, linked: LinkedRows, raw: Numbers, rows: RowsByKey, aggregates: Collection[str]
    ) -> None:
        self.linked, self.raw, self._rows = linked, raw, rows
        shares = {AGGREGATES[name].share for name in aggregates}
        self._shares = np.array(sorted(share for share in shares if share is not None))
        self._n_moments = max(AGGREGATES[name].n_moments for name in aggregates)
        self._moments: dict[SeenRows, tuple[Numbers, Numbers]] = {}
        self._ends: dict[SeenRows, tuple[Places, Numbers]] = {}
        self._extremes: dict[SeenRows, Numbers] = {}
        self._quantiles: dict[SeenRows, Numbers] = {}

    @cached_property
    def _times(self) -> Numbers:
        """The times of the linked rows; none where they have none."""
        return np.empty(0) if self.linked.times is None else self.linked.times

    def moments(self, seen: SeenRows) -> tuple[Numbers, Numbers]:
        """Return what is subtracted from values, and sums over each range.

        The sums are the count, those of values and of their squares, and where some aggregate needs
        them of times, their squares and products with values.
        """
        if seen not in self._moments:
            rows = self._rows
            running = np.empty((self._n_moments, rows.longest + 1))
            lost = np.empty((N_LOST[self._n_moments], rows.longest + 1))
            centres, out = np.empty(len(rows.keys)), np.empty((self._n_moments, len(rows.keys)))
            own = np.zeros((self._n_moments, 0 if seen.own is None else len(rows.keys)))
            range_moments(
                *(self.raw, self._times, self.linked.offsets, rows.keys, rows.order),
                *(seen.starts, seen.ends, rows.own, running, lost, centres, out, own),
            )
            self._moments[seen] = centres, out if seen.own is None else out - own
        return self._moments[seen]

    def ends(self, seen: SeenRows) -> tuple[Places, Numbers]:
        """Return the places of the first and the last value of each range, and the values.

        A place is -1 where there is none, and the value NaN; of several values of one time it is
        the largest.
        """
        if seen not in self._ends:
            rows = self._rows
            running, places = np.empty((2, rows.longest + 1), np.int64)
            out = np.empty((2, len(rows.keys)), np.int64)
            values = np.empty((2, len(rows.keys)))
            range_ends(
                *(self.raw, self._times, self.linked.offsets, rows.keys, rows.order),
                *(seen.starts, seen.ends, running, places, out, values),
            )
            self._ends[seen] = out, values
        return self._ends[seen]

    def times_of(self, places: Places) -> Numbers:
        """Return the times of linked rows; NaN where a place is -1."""
        if not len(self._times):
            return np.full(len(places), np.nan)
        return np.where(places >= 0, self._times[np.maximum(places, 0)], np.nan)

    def extremes(self, seen: SeenRows) -> Numbers:
        """Return the minimum and the maximum over each range; NaN for none."""
        if seen not in self._extremes:
            rows = self._rows
            blocks, out = np.empty((4, rows.longest)), np.empty((2, len(rows.keys)))
            range_extremes(
                *(self.raw, self.linked.offsets, rows.keys, rows.order),
                *(seen.starts, seen.ends, rows.own, blocks, out),
            )
            out[~np.isfinite(out)] = np.nan
            self._extremes[seen] = out
        return self._extremes[seen]

    def quantile(self, seen: SeenRows, share: float) -> Numbers:
        """Return a quantile of each range; NaN for none."""
        if seen not in self._quantiles:
            longest = int((seen.ends - seen.starts).max(initial=0))
            out = np.empty((len(self._shares), len(seen.keys)))
            if seen.overlaps(self.linked):
                ranked, ranks = self._ranks
                tree = np.empty(self._rows.longest + 1, np.int64)
                sliding_quantiles(
                    *(self.raw, ranked, ranks, self.linked.offsets, seen.keys, seen.by_end),
                    *(seen.starts, seen.ends, self._shares, tree, out),
                )
            else:
                scratch = np.empty(longest + 1)
                range_quantiles(self.raw, seen.starts, seen.ends, self._shares, scratch, out)
            self._quantiles[seen] = out
        return np.asarray(self._quantiles[seen][int(np.searchsorted(self._shares, share))])

    @cached_property
    def _ranks(self) -> tuple[Places, Places]:
        """The linked rows of each key in order of their values, and the rank of each of them."""
        offsets = self.linked.offsets
        keys = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ranked, ranks = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        order_by_key(keys, np.argsort(self.raw, kind="stable"), offsets[:-1].copy(), ranked)
        ranks[ranked] = np.arange(len(keys)) - offsets[keys]
        return ranked, ranks

    @cached_property
    def _n_levels(self) -> int:
        """How many levels there are, those included that the fit did not see."""
        return int(np.fmax.reduce(self.raw, initial=0.0)) + 1

    def distinct(self, seen: SeenRows) -> Numbers:
        """Return the number of distinct levels in each range."""
        if seen.overlaps(self.linked):
            return self._levels(seen)[0]
        out = np.empty(len(seen.keys))
        range_levels(self.raw, seen.starts, seen.ends, np.full(self._n_levels, -1, np.int64), out)
        return out

    def mode(self, seen: SeenRows) -> Numbers:
        """Return the most frequent level of each range; of several the first one; NaN for none."""
        if seen.overlaps(self.linked):
            return self._levels(seen)[1]
        out = np.empty(len(seen.keys))
        range_modes(self.raw, seen.starts, seen.ends, np.zeros(self._n_levels, np.int64), out)
        return out

    def _levels(self, seen: SeenRows) -> Numbers:
        """Return the number of distinct levels in each range, and the most frequent one."""
        out = np.empty((2, len(seen.keys)))
        counts = np.zeros(self._n_levels, np.int64)
        sliding_levels(
            *(self.raw, self.linked.offsets, seen.keys, seen.by_end),
            *(seen.starts, seen.ends, counts, out),
        )
        return out


def _count(column: ValueColumn, seen: SeenRows) -> Numbers:
    return np.asarray(column.moments(seen)[1][0])


def _mean(column: ValueColumn, seen: SeenRows) -> Numbers:
    centre, (count, value, *_) = column.moments(seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(centre + np.where(count > 0, value / count, np.nan))


def _sum(column: ValueColumn, seen: SeenRows) -> Numbers:
    centre, (count, value, *_) = column.moments(seen)
    return np.asarray(value + centre * count)


def _std(column: ValueColumn, seen: SeenRows) -> Numbers:
    _, (count, value, squares, *_) = column.moments(seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = squares - count * (value / count) ** 2
        # What rounding leaves of equal values is no spread.
        variance = np.where(spread > 1e-13 * squares, spread, 0.0) / (count - 1.0)
        return np.where(count > 1, np.sqrt(variance), np.nan)


def _share(column: ValueColumn, seen: SeenRows) -> Numbers:
    among = (seen.ends - seen.starts).astype(np.float64)
    if seen.own is not None:
        among -= seen.own >= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(among > 0, _count(column, seen) / among, np.nan)


def _trend(column: ValueColumn, seen: SeenRows) -> Numbers:
    _, (count, value, _, time, time_squares, products) = column.moments(seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = time_squares - time**2 / count
        joint = products - time * value / count
        # What rounding leaves of equal times is no spread.
        enough = (count > 1) & (spread > 1e-9 * np.maximum(1.0, time_squares))
        return np.where(enough, joint / spread, np.nan)


def _since_last(column: ValueColumn, seen: SeenRows) -> Numbers:
    assert seen.until is not None
    return np.asarray(seen.until - column.times_of(column.ends(seen)[0][1]))


def _mean_gap(column: ValueColumn, seen: SeenRows) -> Numbers:
    count = _count(column, seen)
    first, last = map(column.times_of, column.ends(seen)[0])
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
    n_moments : int
        How many of the sums of `range_moments` it needs.
    gives_level : bool
        Whether it picks a value: of a category it is a level.
    """

    compute: Callable[[ValueColumn, SeenRows], Numbers]
    of: str
    needs_time: bool = False
    needs_condition: bool = False
    for_groups: bool = False
    share: float | None = None
    n_moments: int = 1
    gives_level: bool = False


def _quantile(share: float) -> Aggregate:
    """Return the quantile with a share of values below it."""
    return Aggregate(lambda c, s: c.quantile(s, share), "number", share=share)


AGGREGATES = {
    "count": Aggregate(_count, "rows", for_groups=True),
    "share": Aggregate(_share, "rows", needs_condition=True, for_groups=True),
    "time since last": Aggregate(_since_last, "rows", needs_time=True),
    "mean gap": Aggregate(_mean_gap, "rows", needs_time=True),
    "sum": Aggregate(_sum, "number", for_groups=True, n_moments=3),
    "mean": Aggregate(_mean, "number", for_groups=True, n_moments=3),
    "std": Aggregate(_std, "number", for_groups=True, n_moments=3),
    "min": Aggregate(lambda c, s: c.extremes(s)[0], "number", for_groups=True),
    "max": Aggregate(lambda c, s: c.extremes(s)[1], "number", for_groups=True),
    "median": _quantile(0.5),
    "quantile 0.25": _quantile(0.25),
    "quantile 0.75": _quantile(0.75),
    "first": Aggregate(lambda c, s: c.ends(s)[1][0], "number", needs_time=True, gives_level=True),
    "last": Aggregate(lambda c, s: c.ends(s)[1][1], "number", needs_time=True, gives_level=True),
    "trend": Aggregate(_trend, "number", needs_time=True, n_moments=N_MOMENTS),
    "distinct": Aggregate(lambda c, s: c.distinct(s), "category"),
    "mode": Aggregate(lambda c, s: c.mode(s), "category", gives_level=True),
}
"""What linked rows can be made a number of; names are those that features show."""


def levels_of(feature: LinkFeature, schema: Schema) -> tuple[Any, ...]:
    """Return the levels that the codes of a feature stand for; none where it is no category."""
    if feature.domain is not Domain.CATEGORY or not isinstance(feature.value, Column):
        return ()
    return tuple(schema.levels[feature.value.index] or ())


class LinkValues:
    """Computes features over one link.

    Parameters
    ----------
    linked : LinkedRows
        The linked rows.
    seen : SeenRows
        What each row of the table sees of them.
    """

    def __init__(self, linked: LinkedRows, seen: SeenRows) -> None:
        self.linked, self.seen = linked, seen
        self._rows = rows_by_key(linked, seen)
        self._windows: dict[Window | None, SeenRows] = {None: seen}

    def compute(self, feature: LinkFeature) -> Numbers:
        """Return a feature of each row; undefined is NaN."""
        (found,) = self.each([feature], lambda _, values: values)
        return found

    def each(
        self,
        features: Sequence[LinkFeature],
        use: Callable[[int, Numbers], Result],
        n_threads: int = 1,
    ) -> list[Result]:
        """Return what a function makes of the values of each feature; undefined ones are NaN.

        Features of one value under one condition are computed together, since they need the same
        sums, and others in other threads. No more values are held than are used at a time.

        Parameters
        ----------
        features : sequence of LinkFeature
            The features.
        use : callable
            Takes the number of a feature and its values for each row.
        n_threads : int, default=1
            Threads. The values are the same for any number.
        """
        together: dict[tuple[Any, Any], list[int]] = {}
        for place, feature in enumerate(features):
            together.setdefault((feature.value, feature.condition), []).append(place)
            if feature.window not in self._windows:
                self._windows[feature.window] = self.seen.within(feature.window, self.linked)

        def compute(places: list[int]) -> list[Result]:
            mine = [features[place] for place in places]
            column = self._column(mine)
            found = []
            for place, feature in zip(places, mine, strict=True):
                made = AGGREGATES[feature.aggregate].compute(column, self._windows[feature.window])
                if feature.level is not None:
                    made = feature.level.holds(made)
                elif feature.domain is Domain.CATEGORY:
                    # Levels that the fit did not see are told apart here, but nowhere else.
                    made = np.where(
                        made < len(levels_of(feature, self.linked.schema)), made, np.nan
                    )
                found.append(use(place, made))
            return found

        tasks = [partial(compute, places) for places in together.values()]
        done = {
            place: one
            for places, found in zip(
                together.values(), run_in_threads(tasks, n_threads), strict=True
            )
            for place, one in zip(places, found or [], strict=True)
        }
        return [done[place] for place in range(len(features))]

    def _column(self, features: Sequence[LinkFeature]) -> ValueColumn:
        """Return the value of features that have the same one under the same condition."""
        value, condition = features[0].value, features[0].condition
        raw = raw_values(self.linked.matrix, self.linked.times, value, condition)
        wanted = {feature.aggregate for feature in features}
        return ValueColumn(self.linked, raw, self._rows, wanted)


def raw_values(
    matrix: Numbers, times: Numbers | None, value: Expression | None, condition: Condition | None
) -> Numbers:
    """Return a value of linked rows; NaN where it is missing or a condition does not hold."""
    if value is None:
        # Rows are counted, whatever is in them: times are never missing.
        raw = np.ones(len(matrix)) if times is None else times
    elif isinstance(value, Column):
        raw = matrix[:, value.index]
    else:
        raw = evaluate_value(value, matrix)
    return raw if condition is None else np.where(condition.holds(matrix), raw, np.nan)


def evaluate_value(value: Expression, matrix: Numbers) -> Numbers:
    """Return the values of an expression over linked rows; undefined is NaN."""
    functions = compile_operators(()).functions(np.float64)
    out = np.empty(len(matrix))
    for begin in range(0, len(matrix), _BLOCK_ROWS):  # columns become rows in little memory
        rows = np.ascontiguousarray(matrix[begin : begin + _BLOCK_ROWS])
        out[begin : begin + len(rows)] = evaluate_expressions([value], rows, (), functions, 1)[:, 0]
    return out
