"""Exact statistics of all partitions of a collection, reduced in a tree.

Levels and their counts are merged. Quantiles are found by their digits: a first pass counts the
upper halves of all values, a second one the lower halves of those that begin like the quantile. So
they are those of all rows, in single precision, whatever the partitions are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import dask
import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from featurewright.auto import AutoFeatures
from featurewright.distributed.groups import TrainingRows
from featurewright.distributed.rows import Columns, Partitions
from featurewright.tables.columns import label_key
from featurewright.tables.schema import Levels

MAX_LEVELS = 10_000
"""Levels of a column, beyond which only those of the sample are known."""

_HALF = 16  # bits
_BLOCK_ROWS = 50_000  # whose values are computed at a time
_LARGEST = float(np.finfo(np.float32).max)

Values = npt.NDArray[np.float64]
# Digits that occur and how often, by column and upper half; -1 stands for all values.
Counts = dict[tuple[int, int], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


# Levels -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The levels of the columns of labels, and how many rows have each.

    Parameters
    ----------
    counts : dict
        For each column of labels, the rows of each of its levels, by `label_key`; None where there
        are too many.
    """

    counts: dict[str, Counter[tuple[str, object]] | None]

    def levels(self) -> dict[str, Levels]:
        """Return the sorted levels of the columns that have not too many."""
        return {
            name: tuple(label for _, label in sorted(own))
            for name, own in self.counts.items()
            if own is not None
        }

    def shares(self, name: str, levels: Levels, n_rows: int) -> Values | None:
        """Return the share of the rows that each level of a column has."""
        own = self.counts.get(name)
        if own is None:
            return None
        return np.array([own[label_key(level)] for level in levels], np.float64) / n_rows


def count_levels(partitions: Partitions) -> LevelCounts:
    """Return the levels of all partitions and their counts."""
    return LevelCounts(partitions.reduce(_count_labels, _add_labels))


def _count_labels(columns: Columns, first: int) -> dict[str, Any]:
    """Count the labels of a partition."""
    found: dict[str, Any] = {}
    if not isinstance(columns.X, pd.DataFrame):
        return found
    for name in columns.X.columns:
        series = nw.from_native(columns.X[name], series_only=True).drop_nulls()
        if not isinstance(name, str) or not _holds_labels(series):
            continue
        counts = columns.X[name].value_counts()
        found[name] = _bounded(
            Counter({label_key(label): int(n) for label, n in counts.items() if n})
        )
    return found


def _holds_labels(series: Any) -> bool:
    """Whether a column without missing values holds text or categories."""
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return len(series) > 0
    return series.dtype == nw.Object and set(map(type, series.to_list())) == {str}


def _add_labels(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up the counts of some partitions."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, own in part.items():
            before = total.get(name, Counter())
            total[name] = None if before is None or own is None else _bounded(before + own)
    return total


def _bounded(counts: Counter[tuple[str, object]]) -> Counter[tuple[str, object]] | None:
    """Return counts, or None for more levels than are kept."""
    return counts if len(counts) <= MAX_LEVELS else None


# Quantiles --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles and extremes of columns, over the rows where they are defined.

    Parameters
    ----------
    values : ndarray of shape (n_levels, n_columns)
        The quantiles; NaN of a column that is nowhere defined.
    lowest, highest : ndarray of shape (n_columns,)
        The extremes.
    """

    values: Values
    lowest: Values
    highest: Values


def find_quantiles(partitions: Partitions, model: Any, levels: Sequence[float]) -> Quantiles:
    """Return exact quantiles of what a fitted model computes, before constants are filled in.

    Between two values the quantile is interpolated, as NumPy does it.

    Parameters
    ----------
    partitions : Partitions
        The collection; rows without weight are left out.
    model : estimator
        Fitted; its `_unfilled` returns the columns.
    levels : sequence of float
        Between 0 and 1.
    """
    sent = dask.delayed(model, traverse=False)
    upper, lowest, highest = partitions.reduce(_first_pass, _join_passes, sent)
    ranks = {column: _ranks(upper[column, -1][1].sum(), levels) for column in range(len(lowest))}
    prefixes, rests = {}, {}
    for column, own in ranks.items():
        digits, counts = upper[column, -1]
        for rank in own.ravel().tolist():
            place, rests[column, rank] = _find(counts, rank)
            prefixes[column, rank] = int(digits[place])
    wanted = sorted({(column, prefix) for (column, _), prefix in prefixes.items()})
    lower = partitions.reduce(_second_pass, _join_counts, sent, wanted)
    found = np.full((len(levels), len(lowest)), np.nan)
    for column, own in ranks.items():
        ends = np.empty(own.shape)
        for at, value in np.ndenumerate(own):
            prefix = prefixes[column, int(value)]
            digits, counts = lower[column, prefix]
            place, _ = _find(counts, rests[column, int(value)])
            ends[at] = _number(prefix << _HALF | int(digits[place]))
        if len(ends):
            n_known = int(upper[column, -1][1].sum())
            share = np.asarray(levels) * (n_known - 1) % 1.0
            found[:, column] = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    return Quantiles(found, lowest, highest)


def _ranks(n_known: int, levels: Sequence[float]) -> npt.NDArray[np.int64]:
    """Return the ranks of the values on both sides of each quantile; none without values."""
    if not n_known:
        return np.empty((0, 2), np.int64)
    place = np.asarray(levels) * (n_known - 1)
    return np.column_stack([np.floor(place), np.ceil(place)]).astype(np.int64)


def _find(counts: npt.NDArray[np.int64], rank: int) -> tuple[int, int]:
    """Return the place of the digit that the value of a rank has, and its rank among those."""
    ends = np.cumsum(counts)
    place = int(np.searchsorted(ends, rank, side="right"))
    return place, rank - int(ends[place] - counts[place])


def _keys(values: Values) -> npt.NDArray[np.int64]:
    """Return whole numbers that sort as single-precision values do."""
    bits = (np.clip(values, -_LARGEST, _LARGEST) + 0.0).astype(np.float32).view(np.uint32)
    negative = bits >> np.uint32(31) == 1
    return np.where(negative, ~bits, bits | np.uint32(1 << 31)).astype(np.int64)


def _number(key: int) -> float:
    """Return the value of a key."""
    bits = key ^ (1 << 31) if key >> 31 else ~key & 0xFFFFFFFF
    return float(np.array(bits, np.uint32).view(np.float32))


def _known_columns(columns: Columns, first: int, model: Any) -> Iterator[list[Values]]:
    """Yield, some rows at a time, the defined values of each column that a model computes."""
    rows = np.arange(len(columns.X))
    if columns.sample_weight is not None:
        rows = rows[np.asarray(columns.sample_weight) > 0]
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        if isinstance(model, TrainingRows):
            values = model.unfilled_rows(columns.take(block), first + block)
        else:
            values = model._unfilled(columns.take(block).X)
        yield [own[np.isfinite(own)] for own in values.T]


def _first_pass(columns: Columns, first: int, model: Any) -> tuple[Counts, Values, Values]:
    """Count the upper halves of a partition's values, and find the extremes."""
    parts = []
    for known in _known_columns(columns, first, model):
        counts = {(k, -1): _count(_keys(own) >> _HALF) for k, own in enumerate(known)}
        lowest = np.array([own.min(initial=np.inf) for own in known])
        highest = np.array([own.max(initial=-np.inf) for own in known])
        parts.append((counts, lowest, highest))
    return _join_passes(parts)


def _second_pass(columns: Columns, first: int, model: Any, wanted: list[tuple[int, int]]) -> Counts:
    """Count the lower halves of a partition's values that begin with one of the upper halves."""
    parts: list[Counts] = []
    for known in _known_columns(columns, first, model):
        keys = {column: _keys(known[column]) for column in {column for column, _ in wanted}}
        lower = (1 << _HALF) - 1
        parts.append(
            {
                (column, prefix): _count(keys[column][keys[column] >> _HALF == prefix] & lower)
                for column, prefix in wanted
            }
        )
    return _join_counts(parts)


def _count(digits: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the digits that occur and how often."""
    counts = np.bincount(digits, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _join_passes(
    parts: list[tuple[Counts, Values, Values]],
) -> tuple[Counts, Values, Values]:
    """Join what was found in some parts; one without rows says nothing."""
    parts = [part for part in parts if len(part[1])]
    if not parts:
        return {}, np.empty(0), np.empty(0)
    lowest = reduce(np.minimum, [part[1] for part in parts])
    highest = reduce(np.maximum, [part[2] for part in parts])
    return _join_counts([part[0] for part in parts]), lowest, highest


def _join_counts(parts: list[Counts]) -> Counts:
    """Add up counts."""
    found: dict[tuple[int, int], list[Any]] = {}
    for part in parts:
        for key, own in part.items():
            found.setdefault(key, []).append(own)
    return {key: _add(own) for key, own in found.items()}


def _add(parts: list[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Add up the counts of equal digits."""
    digits, places = np.unique(np.concatenate([own[0] for own in parts]), return_inverse=True)
    counts = np.zeros(len(digits), np.int64)
    np.add.at(counts, places, np.concatenate([own[1] for own in parts]))
    return digits, counts


# Models -----------------------------------------------------------------------------------------


def learn_statistics(
    model: Any, partitions: Partitions, counts: LevelCounts, training: TrainingRows | None = None
) -> bool:
    """Replace a fitted model's medians, ranges and shares of levels by those of all partitions.

    `training` computes the columns of training rows where these differ from those of other rows.
    Returns whether the model has any that can be had so.
    """
    levels = getattr(model, "_quantile_levels", lambda: ())()
    source: Any = model
    if training is not None:
        source, levels = training, training.quantile_levels()
    if not levels:
        return False
    found = find_quantiles(partitions, source, levels)
    source._take_quantiles(found.values, found.lowest, found.highest)
    if isinstance(model, AutoFeatures):
        schema = model.reader_.schema
        found_shares = {
            at: counts.shares(schema.names[at], schema.levels[at] or (), len(partitions))
            for at in model.originals_.frequencies
        }
        known = {at: own for at, own in found_shares.items() if own is not None}
        model.originals_ = model.originals_.with_shares(known)
    return True
