"""The time guard, what methods and fits took, and what they are expected to take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from featurewright.auto.candidates import ORIGINAL, Block, Candidate
from featurewright.auto.methods import METHODS
from featurewright.auto.workspace import Fold

SAFETY = 1.3  # factor on expected seconds: some things take longer than expected
_MARGIN = 1.2  # factor on the seconds that are kept for the last fit
_CONSTRUCTION_GROWTH = 0.8  # power of the rows: large nodes are searched on samples of their rows
_MIN_FIT_GROWTH, _MAX_FIT_GROWTH = 0.3, 1.0  # powers of the rows


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

    Attributes
    ----------
    base : float
        Seconds that the last fold took with the original columns.
    """

    def __init__(self, n_rows: int) -> None:
        self._n_all_rows = n_rows
        self._n_fold_rows = 1
        self.base = 0.0
        self._n_base_columns = 1
        self._constructions: dict[str, tuple[float, int]] = {}
        self._fits: dict[Candidate, _FitTime] = {}
        self._expected = ORIGINAL
        self._fit_growth = 1.0  # seconds of a fit grow with the rows to this power

    def learn_growth(self, small: Fold, large: Fold) -> None:
        """Learn how the time of fits grows with the rows, from two folds."""
        few, many = small.n_rows, large.n_rows
        fast, slow = small.base_fit_seconds, large.base_fit_seconds
        if many > few and slow > 0 and fast > 0:
            power = np.log(slow / fast) / np.log(many / few)
            self._fit_growth = float(np.clip(power, _MIN_FIT_GROWTH, _MAX_FIT_GROWTH))

    def _growth(self, n_rows: int, n_before: int) -> float:
        """Return the factor by which a fit on other rows takes longer."""
        return float((n_rows / n_before) ** self._fit_growth)

    def record_base(self, fold: Fold) -> None:
        """Record what a fold with the original columns took; it is the one seen last."""
        self._n_fold_rows, self.base = fold.n_rows, fold.base_seconds
        self._n_base_columns = max(1, fold.space.base.shape[1])
        self._fits[ORIGINAL] = _FitTime(fold.base_fit_seconds, fold.base_score_seconds, fold.n_rows)

    def record_construction(self, method: str, fold: Fold, seconds: float) -> None:
        """Record what constructing took."""
        self._constructions[method] = seconds, fold.n_rows

    def record_fit(self, candidate: Candidate, fold: Fold) -> None:
        """Record what the last fit and its score took."""
        self._fits[candidate] = _FitTime(fold.fit_seconds, fold.score_seconds, fold.n_rows)

    def method_seconds(self, method: str, n_fits: int) -> float:
        """Return the expected seconds of a method on a fold; 0 where nothing is known.

        Its slowest fits count, up to a number of them.
        """
        if method not in self._constructions:
            return 0.0
        seconds, rows = self._constructions[method]
        fits = sorted(
            took.fit_and_score * self._growth(self._n_fold_rows, took.n_rows)
            for candidate, took in self._fits.items()
            if candidate.methods == (method,)
        )
        return seconds * self._n_fold_rows / rows + sum(fits[max(0, len(fits) - n_fits) :])

    def next_fit(self, block: Block, fold: Fold) -> float:
        """Return the expected seconds of a fit, from the widest one of the same method so far."""
        own = [
            (candidate.n_columns, took.fit_and_score * self._growth(fold.n_rows, took.n_rows))
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
            (other.n_columns, took.fit_and_score * self._growth(fold.n_rows, took.n_rows))
            for other, took in self._fits.items()
            if other.blocks and set(other.methods) <= set(candidate.methods)
        ]
        if not known:
            return self.base
        columns, seconds = max(known)
        return seconds * max(1.0, candidate.n_columns / max(1, columns))

    def expect(self, candidate: Candidate) -> None:
        """Expect that this candidate is the one fitted on all rows at the end."""
        self._expected = candidate

    @property
    def reserve(self) -> float:
        """Seconds to be kept for constructing and fitting on all rows."""
        total = 0.0
        for method in self._expected.methods:
            seconds, rows = self._constructions.get(method, (0.0, 1))
            most = METHODS[method].max_rows if method in METHODS else self._n_all_rows
            many, few = min(self._n_all_rows, most), min(rows, most)
            total += seconds * (many / few) ** _CONSTRUCTION_GROWTH
        return self.fit_reserve + _MARGIN * total

    @property
    def fit_reserve(self) -> float:
        """Seconds to be kept for fitting on all rows, which cannot be cut short."""
        known = self._expected if self._expected in self._fits else ORIGINAL
        took = self._fits.get(known, _FitTime(0.0, 0.0, 1))
        return _MARGIN * took.fit * self._growth(self._n_all_rows, took.n_rows)
