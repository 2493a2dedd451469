"""Targets of other rows: mean targets of groups, and when a target is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.engine.ranges import find_before, running_totals
from featurewright.relations.keys import KeyIndex, KeyTable, Numbers, Places, read_keys
from featurewright.relations.linked import Times, read_times

TARGET = "target"  # how features and newer tables call the target
_TIMED_PRIOR = 10.0  # rows that the mean of all earlier rows counts for
_MAX_PRIOR = 1e6


@dataclass(frozen=True, eq=False)
class TargetColumns:
    """How a target becomes columns of numbers.

    Parameters
    ----------
    names : tuple of str
        The columns that hold the targets in a table of rows: "target", or "target 0", "target 1".
    labels : tuple of str
        What each column of numbers is called.
    classes : ndarray or None
        The classes; None for numbers and for several labels.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    classes: NDArray[Any] | None

    def read(self, frame: nw.DataFrame[Any]) -> Numbers:
        """Return the targets in a table of rows, as columns of numbers; missing ones are NaN."""
        if self.classes is None:
            columns = [frame[name].cast(nw.Float64).to_numpy() for name in self.names]
            return np.column_stack(columns).astype(np.float64)
        labels = frame[self.names[0]].to_list()
        place = {label: at for at, label in enumerate(self.classes.tolist())}
        codes = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        shown = np.arange(len(self.classes))[-len(self.labels) :]
        found = (codes[:, np.newaxis] == shown).astype(np.float64)
        found[codes < 0] = np.nan
        return found


def known_from(times: Times, delay: float) -> Times:
    """Return when targets are known: after a delay, and never at the time of the row itself."""
    later = np.maximum(times.values + delay, np.nextafter(times.values, np.inf))
    return replace(times, values=later)


# Means of groups --------------------------------------------------------------------------------


def learn_means(
    names: tuple[str, ...],
    index: KeyIndex,
    codes: Places,
    target: Numbers,
    overall: Numbers | None = None,
) -> KeyTable:
    """Return the mean targets of groups, shrunk towards the mean of all.

    The more targets vary within groups rather than between them, the more rows the mean of all
    counts for.
    """
    known = codes >= 0
    n_keys = index.n_keys
    counts = np.bincount(codes[known], minlength=n_keys).astype(np.float64)[:, np.newaxis]
    columns = (np.bincount(codes[known], part[known], minlength=n_keys) for part in target.T)
    sums = np.column_stack(list(columns)).astype(np.float64)
    mean = target.mean(axis=0)
    total = ((target[known] - mean) ** 2).sum(axis=0)
    return shrunk_means(names, index, counts, sums, mean=mean, total=total, overall=overall)


def shrunk_means(
    names: tuple[str, ...],
    index: KeyIndex,
    counts: Numbers,
    sums: Numbers,
    *,
    mean: Numbers,
    total: Numbers,
    overall: Numbers | None,
) -> KeyTable:
    """Return shrunk means from the counts (a column) and sums of targets by key.

    `mean` is that of all rows, `total` the sum of squared differences from it over rows with a key.
    """
    means = sums / np.maximum(counts, 1.0)
    between = (counts * (means - mean) ** 2).sum(axis=0)
    n_rows, n_groups = max(1, int(counts.sum())), max(1, int((counts > 0).sum()))
    within = np.maximum(total - between, 0.0) / max(1, n_rows - n_groups)
    # Method of moments: what the groups' means vary beyond what their rows explain.
    spread = np.maximum(between - (n_groups - 1) * within, 0.0) / n_rows
    prior = np.clip(within / np.where(spread > 0, spread, np.inf), 1.0, _MAX_PRIOR)
    prior = np.where(spread > 0, prior, _MAX_PRIOR)
    towards = mean if overall is None else overall
    return KeyTable(names, index, (sums + prior * towards) / (counts + prior), towards)


def means_gain(
    index: KeyIndex, codes: Places, target: Numbers, learning: NDArray[np.bool_]
) -> float:
    """Return what the means of one half of the rows explain in the other half, and vice versa."""
    before, after = np.zeros_like(target), np.zeros_like(target)
    for half in (learning, ~learning):
        if not half.any() or half.all():
            continue
        learned = learn_means((), index, codes[half], target[half])
        before[~half] = target[~half] - learned.other
        after[~half] = target[~half] - _of_codes(learned, codes[~half])
    return _gain(before, after)


def _gain(before: Numbers, after: Numbers) -> float:
    """Return by how many standard errors squared errors become smaller; of several, the most."""
    gains = before**2 - after**2
    error = gains.std(axis=0) / np.sqrt(max(1, len(gains)))
    return float((gains.mean(axis=0) / np.where(error > 0, error, np.inf)).max(initial=0.0))


def least_gain(n_candidates: int) -> float:
    """Return the standard errors that the best of some useless means would hardly reach."""
    return float(np.sqrt(2.0 * np.log(20.0 * n_candidates)))


def _of_codes(table: KeyTable, codes: Places) -> Numbers:
    """Return the numbers of keys that are given by their places."""
    if not len(table.values):
        return np.tile(table.other, (len(codes), 1))
    return np.where((codes >= 0)[:, np.newaxis], table.values[np.maximum(codes, 0)], table.other)


def out_of_fold(index: KeyIndex, codes: Places, target: Numbers, folds: Places) -> Numbers:
    """Return the mean targets of each row's group over the rows of other folds.

    They are shrunk towards the mean of all rows: that of the other folds would tell by its
    difference from fold to fold what the targets of the fold itself are.
    """
    out = np.empty_like(target)
    overall = target.mean(axis=0)
    for fold in np.unique(folds):
        inside = folds == fold
        learned = learn_means((), index, codes[~inside], target[~inside], overall)
        out[inside] = _of_codes(learned, codes[inside])
    return out


@dataclass(frozen=True, eq=False)
class EarlierMeans:
    """Mean targets of the earlier rows with the same key, shrunk towards that of all earlier rows.

    Parameters
    ----------
    names : tuple of str
        The key columns.
    time : str
        The column of times.
    has_dates, zoned : bool
        What the times are.
    index : KeyIndex
        The keys.
    offsets : ndarray of shape (n_keys + 1,)
        Where the rows of each key begin.
    times : ndarray
        When the target of each row is known, in order for each key.
    totals : ndarray of shape (n_rows, n_parts)
        Sums of the targets of a key up to and with each row.
    all_times, all_totals : ndarray
        The same for the rows of all keys.
    """

    names: tuple[str, ...]
    time: str
    has_dates: bool
    zoned: bool
    index: KeyIndex
    offsets: Places
    times: Numbers
    totals: Numbers
    all_times: Numbers
    all_totals: Numbers

    def look_up(self, frame: nw.DataFrame[Any]) -> Numbers:
        """Return the mean targets that are known at the time of each row; NaN before the first."""
        keys = self.index.find(read_keys(frame, self.names, "X"), self.names)
        return self._of_keys(keys, self._now(frame))

    def gain(self, frame: nw.DataFrame[Any], target: Numbers) -> float:
        """Return what the means explain in the rows themselves, which are later than they."""
        now = self._now(frame)
        overall = self._of_keys(np.full(len(now), -1), now)
        some = ~np.isnan(overall[:, 0])
        return _gain((target - overall)[some], (target - self.look_up(frame))[some])

    def _now(self, frame: nw.DataFrame[Any]) -> Numbers:
        """Return the time of each row, moved so that what becomes known at it counts."""
        until = read_times(frame, self.time, "X")
        until.check_like(
            self.has_dates, self.zoned, f"Column {self.time!r} of X", "the training rows"
        )
        return np.nextafter(until.values, np.inf)

    def _of_keys(self, keys: Places, now: Numbers) -> Numbers:
        """Return the mean targets of keys at some times."""
        start = np.where(keys >= 0, self.offsets[np.maximum(keys, 0)], 0)
        end = np.empty(len(keys), np.int64)
        find_before(self.offsets, self.times, keys, now, end)
        count = (end - start)[:, np.newaxis]
        total = _total(self.totals, end, count)
        # NaN is above all times, but a row without a time knows nothing.
        before = np.where(np.isnan(now), 0, np.searchsorted(self.all_times, now, side="left"))
        all_count = before[:, np.newaxis]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = _total(self.all_totals, before, all_count) / all_count
        return np.asarray((total + _TIMED_PRIOR * mean) / (count + _TIMED_PRIOR))


def _total(totals: Numbers, end: Places, count: Places) -> Numbers:
    """Return the totals up to some rows; 0 where there are none."""
    if not len(totals):
        return np.zeros((len(end), totals.shape[1]))
    return np.where(count > 0, totals[np.maximum(end - 1, 0)], 0.0)


def learn_earlier_means(
    names: tuple[str, ...],
    time: str,
    keys: tuple[KeyIndex, Places],
    known: Times,
    target: Numbers,
) -> EarlierMeans:
    """Return the mean targets of earlier rows, for a table that has times."""
    index, codes = keys
    when = known.values
    # Targets of one time are summed in an order that does not depend on that of the rows.
    by_time = np.lexsort((*target.T, when))
    by_time = by_time[np.isfinite(when[by_time])]
    order = by_time[codes[by_time] >= 0]
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes[order], minlength=index.n_keys)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return EarlierMeans(
        names,
        time,
        known.has_dates,
        known.zoned,
        index,
        offsets,
        np.ascontiguousarray(when[order]),
        _running(target[order], offsets),
        np.ascontiguousarray(when[by_time]),
        _running(target[by_time], np.array([0, len(by_time)])),
    )


def _running(target: Numbers, offsets: Places) -> Numbers:
    """Return the running totals of each column, anew for every key."""
    out = np.empty(target.shape, order="F")
    for part, total in zip(target.T, out.T, strict=True):
        running_totals(np.ascontiguousarray(part), offsets, total)
    return out
