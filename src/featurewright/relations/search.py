"""Candidates over links, and which of them say something about the target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions import Call, Column, Domain, Expression, get_operator
from featurewright.relations.aggregates import (
    AGGREGATES,
    Condition,
    Level,
    LinkFeature,
    SeenRows,
    Window,
)
from featurewright.relations.keys import Numbers
from featurewright.relations.linked import LinkedRows
from featurewright.relations.sources import Source
from featurewright.tables import MAX_CODES

N_BINS = 8
# Windows that are tried where times are dates, in days: those that usually hold a few linked rows.
_DAYS = (1 / 24, 6 / 24, 1.0, 7.0, 30.0, 90.0, 365.0, 1825.0)
_MAX_WINDOWS = 4
_MIN_GAPS = 2.0  # usual times between linked rows, that a window has at least
_PARTS = (64.0, 16.0, 4.0)  # of the whole time, where times are numbers
_ROWS = (3, 10)
_MAX_LEVELS = 5  # of a category, that conditions ask for
_MAX_CONDITION_LEVELS = 1_000  # of a category beyond which no condition asks for one
_MIN_LABELS = 3  # levels of a feature that is a label: of two a test says all
_JOINING = ("mul", "div", "sub")


def seen_by_any(linked: LinkedRows, seen: SeenRows) -> NDArray[np.bool_]:
    """Return which linked rows some row of a table sees; others must not decide anything."""
    some = seen.ends > seen.starts
    opened = np.bincount(seen.starts[some], minlength=linked.n_rows + 1)
    closed = np.bincount(seen.ends[some], minlength=linked.n_rows + 1)
    return np.asarray(np.cumsum(opened - closed)[: linked.n_rows] > 0)


def auto_windows(linked: LinkedRows, past: NDArray[np.bool_]) -> list[Window]:
    """Return the windows that are tried for a link: some times, and some numbers of rows.

    `past` says which linked rows some row sees.
    """
    if linked.times is None or not past.any():
        return []
    whole = float(np.ptp(linked.times[past]))
    gaps = np.diff(linked.times)
    first_of_key = linked.offsets[1:-1] - 1
    inside = past[1:] & past[:-1]
    inside[first_of_key[(first_of_key >= 0) & (first_of_key < len(gaps))]] = False
    usual = float(np.median(gaps[inside])) if inside.any() else 0.0
    spans = _DAYS if linked.has_dates else tuple(whole / part for part in _PARTS)
    fitting = [span for span in spans if max(0.0, _MIN_GAPS * usual) < span < whole]
    found = [Window(span, None, linked.has_dates) for span in fitting[:_MAX_WINDOWS]]
    return [*found, *(Window(None, rows, linked.has_dates) for rows in _ROWS)]


def base_candidates(
    source: Source,
    aggregates: Sequence[str],
    windows: Sequence[Window],
    past: NDArray[np.bool_],
    *,
    categories: bool = False,
) -> list[LinkFeature]:
    """Return every aggregate of every column in every window.

    `past` says which linked rows some row sees: levels are theirs. With `categories`, labels are
    features by themselves too, not only compared with a level.
    """
    linked = source.rows
    schema = linked.schema
    numbers: list[Column] = []
    labels: list[Column] = []
    for at, (name, domain) in enumerate(zip(schema.names, schema.domains, strict=True)):
        of_labels = domain == Domain.CATEGORY
        column = Column(at, name, Domain.CATEGORY if of_labels else Domain.REAL)
        (labels if of_labels else numbers).append(column)
    values: dict[str, Iterable[Column | None]] = {
        "rows": [] if source.target is not None else [None],
        "number": numbers,
        "category": labels,
    }
    found = []
    for name in aggregates:
        aggregate = AGGREGATES[name]
        if aggregate.needs_condition or (aggregate.needs_time and linked.times is None):
            continue
        if source.is_group and not aggregate.for_groups:
            continue
        for value in values[aggregate.of]:
            if aggregate.of == "category" and aggregate.gives_level:
                continue
            for window in [None, *windows]:
                if window is not None and window.rows is not None and name == "count":
                    continue  # nearly always the number of rows itself
                found.append(LinkFeature(linked.title, name, value, None, window))
        if aggregate.gives_level:
            # The last row of a window is the last of all, unless that is too old.
            within = [None, *windows] if name == "mode" else [None]
            found += [
                LinkFeature(linked.title, name, value, None, window, level)
                for value in labels
                for level in tested_levels(linked, value.index, past)
                for window in within
            ]
            found += [
                LinkFeature(linked.title, name, value, None, window)
                for value in labels
                if categories and _makes_category(linked, value.index, past)
                for window in within
            ]
    return found


def _makes_category(linked: LinkedRows, at: int, past: NDArray[np.bool_]) -> bool:
    """Whether the labels of a column may be a feature."""
    n_levels = len(linked.schema.levels[at] or ())
    return _MIN_LABELS <= n_levels <= MAX_CODES and bool(frequent_levels(linked, at, past))


def tested_levels(linked: LinkedRows, at: int, past: NDArray[np.bool_]) -> list[Level]:
    """Return the levels that a label is compared with: of two one says all."""
    levels = frequent_levels(linked, at, past)
    return levels[:1] if len(linked.schema.levels[at] or ()) == 2 else levels


def frequent_levels(linked: LinkedRows, at: int, past: NDArray[np.bool_]) -> list[Level]:
    """Return the most frequent levels of a column of linked rows that some row sees.

    There are none where the column has one level alone, or too many for any to be frequent.
    """
    values, levels = linked.matrix[:, at], linked.schema.levels[at] or ()
    known = values[~np.isnan(values) & past]
    if len(levels) > _MAX_CONDITION_LEVELS or not len(known) or known.min() == known.max():
        return []
    counts = np.bincount(known.astype(np.intp), minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
    return [Level(float(code), repr(levels[code])) for code in order if counts[code]]


def conditions_of(linked: LinkedRows, past: NDArray[np.bool_]) -> list[Condition]:
    """Return the conditions that are tried: frequent levels, true, and above the median.

    `past` says which linked rows some row sees: levels and medians are theirs.
    """
    schema = linked.schema
    found = []
    for at, (name, domain) in enumerate(zip(schema.names, schema.domains, strict=True)):
        if domain == Domain.CATEGORY and schema.levels[at]:
            found += [
                Condition(at, True, level.code, f"{name} = {level.text}")
                for level in frequent_levels(linked, at, past)
            ]
            continue
        values = linked.matrix[:, at]
        known = values[~np.isnan(values) & past]
        if not len(known) or known.min() == known.max():
            continue
        if domain == Domain.BOOLEAN:
            found.append(Condition(at, True, 1.0, name))
        else:
            middle = float(f"{np.median(known):.3g}")
            if known.min() <= middle < known.max():
                found.append(Condition(at, False, middle, f"{name} > {middle:g}"))
    return found


def counted_rows(
    source: Source,
    aggregates: Collection[str],
    windows: Sequence[Window],
    conditions: Sequence[Condition],
) -> list[LinkFeature]:
    """Return how many linked rows meet a condition, their share, and how long ago the last one was.

    These are tried whatever the number of all rows says: events of one kind may be in no relation
    to the number of events.
    """
    if source.target is not None:
        return []
    linked = source.rows
    spans = [window for window in windows if window.rows is None]
    within: dict[str, list[Window | None]] = {
        "count": [None, *spans],
        "share": [None, *windows],
        "time since last": [None],
    }
    return [
        LinkFeature(linked.title, name, None, condition, window)
        for condition in conditions
        for name, tried in within.items()
        if name in aggregates and not (AGGREGATES[name].needs_time and linked.times is None)
        if AGGREGATES[name].for_groups or not source.is_group
        for window in tried
    ]


def refined(
    feature: LinkFeature, source: Source, conditions: Sequence[Condition], shares: bool
) -> list[LinkFeature]:
    """Return variants of a feature: under a condition, and of values that join two columns."""
    schema = source.layout.schema
    numbers = [
        Column(int(at), schema.names[at], Domain.REAL)
        for at in np.flatnonzero(schema.domains != Domain.CATEGORY)
    ]
    of_labels = AGGREGATES[feature.aggregate].of == "category" or feature.level is not None
    own = feature.value.index if of_labels and isinstance(feature.value, Column) else None
    # Of labels that are all the same there is nothing to say.
    found = [_with(feature, condition=one) for one in conditions if one.column != own]
    if feature.aggregate == "count" and shares:
        found += [_with(variant, aggregate="share") for variant in found]
    is_number = feature.domain is Domain.REAL
    of_numbers = AGGREGATES[feature.aggregate].of == "number" and is_number
    if isinstance(feature.value, Column) and of_numbers:
        mine = feature.value.index
        for first, second in permutations(numbers, 2):
            if mine not in (first.index, second.index):
                continue
            for name in _JOINING:
                if name != "mul" or first.index < second.index:
                    found.append(_with(feature, value=_join(name, first, second)))
    return found


def _join(name: str, first: Column, second: Column) -> Expression:
    """Return an operator applied to two columns."""
    return Call(get_operator(name), (first, second))


def _with(feature: LinkFeature, **changes: Any) -> LinkFeature:
    """Return a feature with some parts changed."""
    return replace(feature, **changes)


# Worth ------------------------------------------------------------------------------------------


def bin_numbers(column: Numbers, edges: Numbers) -> NDArray[np.intp]:
    """Return the bin of each value; missing ones have a bin of their own, the last."""
    bins = np.searchsorted(edges, column, side="left")
    return np.where(np.isnan(column), len(edges) + 1, bins)


def learn_edges(column: Numbers) -> Numbers:
    """Return boundaries of bins with about equally many values."""
    known = column[~np.isnan(column)]
    if not len(known):
        return np.empty(0)
    return np.unique(np.quantile(known, np.arange(1, N_BINS) / N_BINS))


def bin_means(bins: NDArray[np.intp], n_bins: int, target: Numbers) -> Numbers:
    """Return the mean target of each bin, shrunk a little towards that of all rows."""
    counts = np.bincount(bins, minlength=n_bins).astype(np.float64)[:, np.newaxis]
    sums = np.column_stack([np.bincount(bins, part, minlength=n_bins) for part in target.T])
    return (sums + target.mean(axis=0)) / (counts + 1.0)


def _cut(column: Numbers, learning: Any, n_levels: int) -> tuple[NDArray[np.intp], int]:
    """Return the bin of each value, and how many bins there are; each level has one of its own.

    Boundaries between numbers are learned from some of the rows.
    """
    if n_levels:
        return np.where(np.isnan(column), n_levels, column).astype(np.intp), n_levels + 1
    edges = learn_edges(column[learning])
    return bin_numbers(column, edges), len(edges) + 2


def held_out_worth(
    column: Numbers, target: Numbers, learning: NDArray[np.bool_], n_levels: int = 0
) -> float:
    """Return the share of a target that a column explains in rows that did not choose its bins.

    The column is cut into bins, whose mean targets are learned from one part of the rows and
    compared with the targets of the others. A column of codes has as many levels as `n_levels`.
    """
    bins, n_bins = _cut(column, learning, n_levels)
    means = bin_means(bins[learning], n_bins, target[learning])
    others = target[~learning]
    error = ((others - means[bins[~learning]]) ** 2).sum()
    total = ((others - target[learning].mean(axis=0)) ** 2).sum()
    return float(1.0 - error / total) if total > 0 else 0.0


def least_worth(n_candidates: int, n_held_out: int) -> float:
    """Return the worth that the best of some columns without any would hardly reach by chance."""
    return 2.0 * float(np.log(max(2, n_candidates))) / max(1, n_held_out)


def explained(column: Numbers, target: Numbers, n_levels: int = 0) -> Numbers:
    """Return the mean targets of a column's bins, which linear models can compare.

    Of several targets, that which the bins explain most. A level may have few rows, so its mean is
    that of every other row.
    """
    bins, n_bins = _cut(column, slice(None), n_levels)
    if n_levels and len(bins) > 1:
        means = np.empty_like(target)
        for part in (0, 1):
            means[part::2] = bin_means(bins[1 - part :: 2], n_bins, target[1 - part :: 2])[
                bins[part::2]
            ]
    else:
        means = bin_means(bins, n_bins, target)[bins]
    return np.asarray(means[:, int(np.argmax(means.var(axis=0)))])


def some_of(candidates: list[Any], most: int, rng: Any) -> list[Any]:
    """Return candidates, a random choice in their order where there are more than asked for."""
    if len(candidates) <= most:
        return candidates
    return [candidates[k] for k in np.sort(rng.permutation(len(candidates))[:most])]
