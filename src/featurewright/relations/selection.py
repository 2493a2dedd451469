"""Which candidates over links are kept: compared on some rows, then ordered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.threads import local_threads
from featurewright.estimators.selection import left_over, pursue
from featurewright.relations.aggregates import (
    LinkFeature,
    LinkValues,
    SeenRows,
    Window,
    levels_of,
)
from featurewright.relations.checks import make_window
from featurewright.relations.keys import Numbers
from featurewright.relations.search import (
    auto_windows,
    base_candidates,
    conditions_of,
    counted_rows,
    explained,
    held_out_worth,
    least_worth,
    refined,
    seen_by_any,
    some_of,
)
from featurewright.relations.sources import Source

_SCREEN_ROWS = 4_000  # rows that candidates are compared on, half of them to learn from
_MAX_ROWS = 10_000  # rows that the better ones are ordered on
_N_REFINED = 20  # candidates that variants are made of
_COUNTED_SHARE = 10  # one in so many candidates may count rows under a condition
_FEW = 4  # one in so many linked rows are of the keys of rows, or the others are left aside
_SIMPLICITY = 0.8  # what a feature must explain of what one explains that is a part longer
_ROWS_PER_FEATURE = 20  # training rows for each feature that is kept: few rows support few
_POOL = 4  # candidates that are ordered, for each feature asked for


@dataclass(frozen=True, eq=False)
class Found:
    """A candidate, its worth in rows that it did not learn from, and its source."""

    feature: LinkFeature
    source: int
    worth: float


@dataclass(frozen=True)
class SearchSettings:
    """What a search over links is asked for.

    Parameters
    ----------
    aggregates : collection of str
        Those that are tried.
    windows : "auto", None or sequence
        As a user wrote them.
    conditions : bool
        Whether features may have a condition.
    categories : bool
        Whether features may be labels.
    n_features : int
        How many are kept at most.
    budget : int
        Candidates that are compared.
    is_exhaustive : bool
        Whether they are compared on all rows, rather than on a sample.
    n_jobs : int or None
        Threads.
    of_sample : bool
        Whether the rows are some of those that statistics will be of.
    """

    aggregates: Collection[str]
    windows: Any
    conditions: bool
    categories: bool
    n_features: int
    budget: int
    is_exhaustive: bool
    n_jobs: int | None
    of_sample: bool = False


class FeatureSearch:
    """Finds features over links that say something about a target.

    Parameters
    ----------
    sources : sequence of Source
        The links.
    seen : dict of int to SeenRows
        What the training rows see of each of them.
    settings : SearchSettings
        What is asked for.
    rng : RandomState
        Draws rows and candidates.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        seen: Mapping[int, SeenRows],
        settings: SearchSettings,
        rng: Any,
    ) -> None:
        self._sources, self._seen, self._settings, self._rng = sources, seen, settings, rng
        self.n_candidates = 0

    def run(
        self, target: Numbers, known: Numbers, labels: Any, times: Numbers | None = None
    ) -> list[Found]:
        """Return the features that are kept, best first.

        Parameters
        ----------
        target : ndarray of shape (n_rows, n_parts)
            The target as columns of numbers.
        known : ndarray of shape (n_rows, n_known)
            Columns that features must add to.
        labels : ndarray or None
            Rows with one label learn together or judge together.
        times : ndarray or None
            Times of the rows: without labels, the earlier half of them learns, and the later one
            judges.
        """
        n_rows, settings, rng = len(target), self._settings, self._rng
        if not self._seen or n_rows < 4:
            return []
        n_screened = n_rows if settings.is_exhaustive else min(n_rows, _SCREEN_ROWS)
        rows = np.sort(rng.permutation(n_rows)[:n_screened])
        left = left_over(known, target)[rows]
        learning = draw_half(len(rows), None if labels is None else labels[rows], rng)
        if times is not None and labels is None:
            # What is used later has to hold later.
            earlier = earlier_half(times[rows])
            learning = learning if earlier is None else earlier
        values = {
            at: LinkValues(*seen.take(rows).alone(self._sources[at].rows))
            for at, seen in self._seen.items()
        }

        def score(candidates: Sequence[tuple[int, LinkFeature]]) -> list[Found]:
            self.n_candidates += len(candidates)
            found = []
            for at, linked in values.items():
                mine = [feature for place, feature in candidates if place == at]
                mine.sort(key=_by_value)
                schema = self._sources[at].rows.schema
                n_levels = [len(levels_of(feature, schema)) for feature in mine]

                def rate(k: int, column: Numbers, counts: list[int] = n_levels) -> float:
                    return held_out_worth(column, left, learning, counts[k])

                worths = linked.each(mine, rate, local_threads(settings.n_jobs))
                found += [
                    Found(feature, at, worth) for feature, worth in zip(mine, worths, strict=True)
                ]
            return found

        past = {at: seen_by_any(self._sources[at].rows, seen) for at, seen in self._seen.items()}
        windows = {at: self._windows(at, past[at]) for at in values}
        base = [
            (at, feature)
            for at in values
            for feature in base_candidates(
                self._sources[at],
                list(settings.aggregates),
                windows[at],
                past[at],
                categories=settings.categories,
            )
        ]
        found = score(some_of(base, max(1, settings.budget // 2), rng))
        conditions = {
            at: conditions_of(self._sources[at].rows, past[at]) if settings.conditions else []
            for at in values
        }
        tried = {(one.source, one.feature) for one in found}
        variants = [
            (one.source, feature)
            for one in _best(found)[:_N_REFINED]
            for feature in refined(
                one.feature,
                self._sources[one.source],
                conditions[one.source],
                "share" in settings.aggregates,
            )
            if (one.source, feature) not in tried
        ]
        counted = [
            (at, feature)
            for at in values
            for feature in counted_rows(
                self._sources[at], settings.aggregates, windows[at], conditions[at]
            )
        ]
        counted = some_of(counted, settings.budget // _COUNTED_SHARE, rng)
        variants = list(dict.fromkeys(one for one in variants if one not in set(counted)))
        room = max(0, settings.budget - len(found) - len(counted))
        found += score([*counted, *some_of(variants, room, rng)])
        least = least_worth(len(found), int(np.count_nonzero(~learning)))
        good = [one for one in _best(found) if one.worth > least and not self._grows(one)]
        return self._order(_in_turns(good)[: _POOL * settings.n_features], target, known)

    def _grows(self, one: Found) -> bool:
        """Whether a candidate grows with its group, of which there is but a sample."""
        is_group = self._sources[one.source].is_group
        return self._settings.of_sample and is_group and one.feature.aggregate in ("count", "sum")

    def _order(self, good: list[Found], target: Numbers, known: Numbers) -> list[Found]:
        """Return candidates so that each explains most of what those before leave over."""
        if not good:
            return []
        step = max(1, -(-len(target) // _MAX_ROWS))
        rows = np.arange(0, len(target), step)
        alone = {
            at: seen.take(rows).alone(self._sources[at].rows) for at, seen in self._seen.items()
        }
        sources = [replace(source, linked=alone[at][0]) for at, source in enumerate(self._sources)]
        seen = {at: mine for at, (_, mine) in alone.items()}
        columns = compute_found(good, sources, seen, self._settings.n_jobs)
        n_levels = [
            len(levels_of(one.feature, self._sources[one.source].rows.schema)) for one in good
        ]
        pool = np.column_stack(
            [
                explained(column, target[rows], count)
                for column, count in zip(columns.T, n_levels, strict=True)
            ]
        )
        simple = np.array([_SIMPLICITY ** (one.feature.size - 1) for one in good])
        most = min(self._settings.n_features, max(1, len(target) // _ROWS_PER_FEATURE))
        order, _ = pursue(known[rows], pool, target[rows], most, simple)
        return [good[place] for place in order]

    def _windows(self, at: int, past: npt.NDArray[np.bool_]) -> list[Window]:
        """Return the windows that are tried for a source."""
        linked, windows = self._sources[at].rows, self._settings.windows
        if windows is None or linked.times is None:
            return []
        if isinstance(windows, str):
            return auto_windows(linked, past)
        return [make_window(window, has_dates=linked.has_dates) for window in windows]


def compute_found(
    chosen: Sequence[Found],
    sources: Sequence[Source],
    seen: Mapping[int, SeenRows],
    n_jobs: int | None,
) -> Numbers:
    """Return the values of features over links."""
    n_rows = len(next(iter(seen.values())).keys)
    out = np.empty((n_rows, len(chosen)), order="F")
    for at, mine in seen.items():
        places = [place for place, found in enumerate(chosen) if found.source == at]
        if not places:
            continue

        def keep(number: int, values: Numbers, columns: list[int] = places) -> None:
            out[:, columns[number]] = values

        features = [chosen[place].feature for place in places]
        linked, seen_rows = sources[at].rows, mine
        if linked.n_rows_of(mine.keys) * _FEW < linked.n_rows:
            linked, seen_rows = mine.alone(linked)
        LinkValues(linked, seen_rows).each(features, keep, local_threads(n_jobs))
    return out


def draw_parts(n_rows: int, n_parts: int, labels: Any, rng: Any) -> npt.NDArray[np.int64]:
    """Return a part for each row, by chance; rows with one label are in one part."""
    if labels is None:
        return np.asarray(rng.permutation(n_rows) % n_parts, dtype=np.int64)
    _, codes = np.unique(labels, return_inverse=True)
    drawn = rng.permutation(int(codes.max(initial=-1)) + 1) % n_parts
    return np.asarray(drawn[codes], dtype=np.int64)


def draw_half(n_rows: int, labels: Any, rng: Any) -> npt.NDArray[np.bool_]:
    """Return half of the rows, by chance; rows with one label are on one side."""
    if labels is None:
        return np.asarray(rng.permutation(n_rows) < n_rows // 2)
    return draw_parts(n_rows, 2, labels, rng) == 0


def earlier_half(times: Numbers) -> npt.NDArray[np.bool_] | None:
    """Return which rows are the earlier half, never between equal times; None if all are equal."""
    known = np.sort(times[~np.isnan(times)])
    if not len(known) or known[0] == known[-1]:
        return None
    middle = known[len(known) // 2]
    return np.asarray(times < middle if known[0] < middle else times <= middle)


def _by_value(feature: LinkFeature) -> tuple[str, str]:
    """Return what orders candidates so that those of one value under one condition are together."""
    return str(feature.value), "" if feature.condition is None else feature.condition.text


def _best(found: Sequence[Found]) -> list[Found]:
    """Return candidates in order of their worth."""
    return sorted(found, key=lambda one: -one.worth)


def _in_turns(found: Sequence[Found]) -> list[Found]:
    """Return candidates so that links take turns: many of one link leave room for others."""
    turns: dict[int, int] = {}
    keyed: list[tuple[int, int, Found]] = []
    for one in found:
        turns[one.source] = turns.get(one.source, -1) + 1
        keyed.append((turns[one.source], len(keyed), one))
    return [one for *_, one in sorted(keyed, key=lambda item: item[:2])]
