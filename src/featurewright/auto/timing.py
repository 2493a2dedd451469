"""The time guard, what methods and fits took, and what they are expected to take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from featurewright.auto.candidates import ORIGINAL, Block, Candidate
from featurewright.auto.methods import METHODS, order_name
from featurewright.auto.units import needed_methods
from featurewright.auto.workspace import Fold

_SAFETY = 1.3  # factor on expected seconds: some things take longer than expected
_MARGIN = 1.2  # factor on the seconds that are kept for the last fit
# Power of the rows where nothing is known: large nodes are searched on samples of their rows.
_CONSTRUCTION_GROWTH = 0.8
_MIN_ROW_RATIO = 1.5  # of two folds, from which that power is learned
_MAX_RESERVE = 0.4  # of the budget that is kept for the last fit
_LATE_SHARE = 0.1  # of the budget, by which a search may be late
_FIRST_SHARE = 0.5  # of the seconds left, which a method may take that was not timed yet
_MIN_SECONDS = 0.05


class Clock:
    """The time of one search, and what is left of it where there is a limit.

    Parameters
    ----------
    budget : float or None
        Seconds; None for no limit.
    now : callable, default=time.monotonic
        Returns the time in seconds.

    Examples
    --------
    >>> hands = iter([100.0, 103.0])
    >>> Clock(60, now=lambda: next(hands)).left
    57.0
    """

    def __init__(self, budget: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self.budget = np.inf if budget is None else budget
        self.now = now
        self._start = now()

    def pause(self, work: Callable[[], object]) -> None:
        """Do something that is not counted."""
        started = self.now()
        work()
        self._start += self.now() - started

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.now() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left: infinite without a limit, negative when it is overdrawn."""
        return self.budget - self.spent


class _FitTime(NamedTuple):
    """Seconds of one fit."""

    fit: float
    fit_and_score: float
    n_rows: int


class Costs:
    """Expected seconds of methods and fits, from what they took on folds seen before.

    Expectations are for the size of the fold seen last.

    Parameters
    ----------
    n_rows : int
        Rows of the last fit.
    clock : Clock
        The time.

    Attributes
    ----------
    base : float
        Seconds that the last fold took with the original columns.
    """

    def __init__(self, n_rows: int, clock: Clock) -> None:
        self._n_all_rows, self._clock = n_rows, clock
        self._n_fold_rows = 1
        self.base = 0.0
        self._n_base_columns = 1
        self._constructions: dict[str, dict[int, float]] = {}  # by method, then by rows
        self._fits: dict[Candidate, _FitTime] = {}
        self._expected = ORIGINAL
        self._joined: tuple[str, ...] = ()

    # What was seen ------------------------------------------------------------------------------

    def record_base(self, fold: Fold) -> None:
        """Record what a fold with the original columns took; it is the one seen last."""
        self._n_fold_rows, self.base = fold.n_rows, fold.base_seconds
        self._n_base_columns = max(1, fold.space.base.shape[1])
        self._fits[ORIGINAL] = _FitTime(fold.base_fit_seconds, fold.base_score_seconds, fold.n_rows)

    def record_construction(self, method: str, fold: Fold, seconds: float) -> None:
        """Record what constructing took."""
        self._constructions.setdefault(method, {})[fold.n_rows] = seconds

    def record_fit(self, candidate: Candidate, fold: Fold) -> None:
        """Record what the last fit and its score took."""
        self._fits[candidate] = _FitTime(fold.fit_seconds, fold.score_seconds, fold.n_rows)

    # What is expected ---------------------------------------------------------------------------

    def _construction(self, method: str, n_rows: int) -> float:
        """Return the expected seconds of constructing from some rows; 0 where nothing is known."""
        known = self._constructions.get(method)
        if not known:
            return 0.0
        few, many = min(known), max(known)
        growth = _CONSTRUCTION_GROWTH
        if many >= _MIN_ROW_RATIO * few and min(known.values()) > 0.0:
            power = np.log(known[many] / known[few]) / np.log(many / few)
            growth = float(np.clip(power, 0.0, 1.0))
        most = METHODS[method].max_rows if method in METHODS else n_rows
        return known[many] * float(min(n_rows, most) / min(many, most)) ** growth

    def method_seconds(self, method: str, n_fits: int) -> float:
        """Return the expected seconds of a method on a fold; 0 where nothing is known.

        Its slowest fits count, up to a number of them.
        """
        if method not in self._constructions:
            return 0.0
        fits = sorted(
            took.fit_and_score * self._n_fold_rows / took.n_rows
            for candidate, took in self._fits.items()
            if candidate.methods == (method,)
        )
        constructing = self._construction(method, self._n_fold_rows)
        return constructing + sum(fits[max(0, len(fits) - n_fits) :])

    def next_fit(self, block: Block, fold: Fold) -> float:
        """Return the expected seconds of a fit, from the widest one of the same method so far."""
        own = [
            (candidate.n_columns, took.fit_and_score * fold.n_rows / took.n_rows)
            for candidate, took in self._fits.items()
            if candidate.methods == (block.method,)
        ]
        if not own:
            return self.base
        columns, seconds = max(own)
        width = fold.space.width(block) + self._n_base_columns
        return seconds * width / (columns + self._n_base_columns)

    def fit_seconds(self, candidate: Candidate, fold: Fold) -> float:
        """Return the expected seconds of a fit with columns of several methods."""
        known = [
            (other.n_columns, took.fit_and_score * fold.n_rows / took.n_rows)
            for other, took in self._fits.items()
            if other.blocks and set(other.methods) <= set(candidate.methods)
        ]
        if not known:
            return self.base
        columns, seconds = max(known)
        return seconds * max(1.0, candidate.n_columns / max(1, columns))

    def expect(self, candidates: Iterable[Candidate], joined: Sequence[str]) -> None:
        """Expect that the first candidate for which time suffices is the one fitted at the end.

        Parameters
        ----------
        candidates : iterable of Candidate
            The best one first.
        joined : sequence of str
            The methods whose formulas are in one order.
        """
        most = _MAX_RESERVE * self._clock.budget
        self._joined = tuple(joined)
        affordable = (one for one in candidates if self._last_seconds(one) <= most)
        self._expected = next(affordable, ORIGINAL)

    def _last_seconds(self, candidate: Candidate) -> float:
        """Return the seconds to be kept for a candidate's columns of all rows, and a fit."""
        methods, order_sizes = needed_methods([candidate], self._joined)
        names = [*methods, *([order_name(self._joined)] if order_sizes else [])]
        total = sum(self._construction(name, self._n_all_rows) for name in names)
        return self._last_fit(candidate) + _MARGIN * total

    def _last_fit(self, candidate: Candidate) -> float:
        """Return the seconds to be kept for a fit on all rows, which cannot be cut short."""
        known = candidate if candidate in self._fits else ORIGINAL
        took = self._fits.get(known, _FitTime(0.0, 0.0, 1))
        return _MARGIN * took.fit * self._n_all_rows / took.n_rows

    @property
    def reserve(self) -> float:
        """Seconds to be kept for constructing and fitting on all rows."""
        return self._last_seconds(self._expected)

    # What there is time for ---------------------------------------------------------------------

    def has_time(self, seconds: float) -> bool:
        """Whether there is time for something, and for the last fit."""
        return self._clock.left - self.reserve >= _SAFETY * seconds

    def affords(self, candidate: Candidate, seconds: float = 0.0) -> bool:
        """Whether a candidate can be fitted in the end, with something else before."""
        if not np.isfinite(self._clock.budget):
            return True
        late = _LATE_SHARE * self._clock.budget
        return seconds + self._last_seconds(candidate) <= self._clock.left + late

    def limit(self, method: str) -> float | None:
        """Return the seconds after which a method stops growing trees; None without a limit."""
        if not np.isfinite(self._clock.budget):
            return None
        share = 1.0 if method in self._constructions else _FIRST_SHARE
        return max(_MIN_SECONDS, share * (self._clock.left - self.reserve))

    def last_limit(self, candidate: Candidate) -> float | None:
        """Return the same for the columns of all rows: what the last fit leaves."""
        if not np.isfinite(self._clock.budget):
            return None
        late = _LATE_SHARE * self._clock.budget
        return max(_MIN_SECONDS, self._clock.left + late - self._last_fit(candidate))
