"""Time: the budget, what things took, and what they will take."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from featurewright.auto.board import ORIGINAL
from featurewright.auto.estimators import fit_estimator
from featurewright.auto.sources import SOURCES
from featurewright.auto.workspace import Config, Piece, Problem, Workspace
from featurewright.auto.yardstick import Measured, Yardstick

SAFETY = 1.3  # what is foreseen takes longer now and then
# What may go wrong inside a method on a strange table; the method is left out then.
FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MARGIN = 1.2
_CONSTRUCTION_GROWTH = 0.8  # large nodes are searched on samples of their rows


class Clock:
    """The time budget."""

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self.budget = seconds

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left; negative when the budget is overdrawn."""
        return self.budget - self.spent


class Fold:
    """The rows of one fold, and what was constructed from its training rows."""

    def __init__(self, space: Workspace, test: Problem) -> None:
        self.space, self.test = space, test
        self._test_base = space.originals.compute(np.asarray(test.table.matrix, np.float64))
        self.fit_seconds = 0.0  # of the last fit, and with its score
        self.score_seconds = 0.0
        self.base_seconds = 0.0  # of making the fold and scoring the original columns
        self.base_fit_seconds = 0.0
        self.base_score_seconds = 0.0

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.space.problem.y)

    def score_originals(self, estimator: Any, yardstick: Yardstick, started: float) -> Measured:
        """Score the original columns, and note what the fold took since it was begun."""
        found = self.score(ORIGINAL, estimator, yardstick)
        self.base_fit_seconds, self.base_score_seconds = self.fit_seconds, self.score_seconds
        self.base_seconds = time.monotonic() - started
        return found

    def score(self, config: Config, estimator: Any, yardstick: Yardstick) -> Measured:
        """Fit an estimator with the chosen columns and score it on the held-out rows."""
        return self.score_parts(config, estimator, yardstick, 1)[0]

    def score_parts(
        self, config: Config, estimator: Any, yardstick: Yardstick, n_parts: int
    ) -> list[Measured]:
        """Fit an estimator and score it on so many parts of the held-out rows."""
        started = time.monotonic()
        parts = self.space.parts(config)
        problem, test = self.space.problem, self.test
        model = fit_estimator(estimator, self.space.columns(parts), problem.y, problem.weights)
        self.fit_seconds = time.monotonic() - started
        held_out = np.hstack([self._test_base, *(part.compute(test.table) for part in parts)])
        found = []
        for first in range(n_parts):
            rows = slice(first, None, n_parts)
            weights = None if test.weights is None else test.weights[rows]
            found.append(yardstick.measure(model, held_out[rows], test.y[rows], weights))
        self.score_seconds = time.monotonic() - started
        return found


class Costs:
    """Seconds that methods and estimators took, brought to the size of the fold seen last."""

    def __init__(self, n_rows: int) -> None:
        self._all_rows = n_rows
        self._rows = 1
        self.base = 0.0
        self._base_columns = 1
        self._construction: dict[str, tuple[float, int]] = {}
        self._fits: dict[Config, tuple[float, float, int]] = {}
        self._foreseen = ORIGINAL
        self._growth = 1.0  # seconds of a fit grow with the rows to this power

    def learn_growth(self, small: Fold, large: Fold) -> None:
        """Learn how fits grow with the rows, from two folds with the original columns."""
        few, many = small.n_rows, large.n_rows
        fast, slow = small.base_fit_seconds, large.base_fit_seconds
        if many > few and slow > 0 and fast > 0:
            self._growth = float(np.clip(np.log(slow / fast) / np.log(many / few), 0.3, 1.0))

    def _more(self, rows: int, before: int) -> float:
        """Give the factor by which a fit on other rows takes longer."""
        return float((rows / before) ** self._growth)

    def note_base(self, fold: Fold) -> None:
        """Note what a fold with the original columns took; it is the one seen last."""
        self._rows, self.base = fold.n_rows, fold.base_seconds
        self._base_columns = max(1, fold.space.base.shape[1])
        self._fits[ORIGINAL] = fold.base_fit_seconds, fold.base_score_seconds, fold.n_rows

    def note_construction(self, method: str, fold: Fold, seconds: float) -> None:
        """Note what constructing took."""
        self._construction[method] = seconds, fold.n_rows

    def note_fit(self, config: Config, fold: Fold) -> None:
        """Note what fitting and scoring took."""
        self._fits[config] = fold.fit_seconds, fold.score_seconds, fold.n_rows

    def of(self, method: str, n_fits: int = 99) -> float:
        """Foresee a method on a fold, with so many fits; 0 where nothing is known."""
        if method not in self._construction:
            return 0.0
        seconds, rows = self._construction[method]
        fits = sorted(
            (scoring * self._more(self._rows, at))
            for config, (_, scoring, at) in self._fits.items()
            if config.methods == (method,)
        )
        return seconds * self._rows / rows + sum(fits[max(0, len(fits) - n_fits) :])

    def next_fit(self, piece: Piece, fold: Fold) -> float:
        """Foresee a fit with a choice of columns from the largest one of its method so far."""
        own = [
            (config.n_columns, scoring * self._more(fold.n_rows, rows))
            for config, (_, scoring, rows) in self._fits.items()
            if config.methods == (piece.method,)
        ]
        if not own:
            return self.base
        columns, seconds = max(own)
        width = fold.space.width(piece) + self._base_columns
        return seconds * width / (columns + self._base_columns)

    def fit_of(self, config: Config, fold: Fold) -> float:
        """Foresee a fit with columns of several methods."""
        known = [
            (other.n_columns, scoring * self._more(fold.n_rows, rows))
            for other, (_, scoring, rows) in self._fits.items()
            if other.pieces and set(other.methods) <= set(config.methods)
        ]
        if not known:
            return self.base
        columns, seconds = max(known)
        return seconds * max(1.0, config.n_columns / max(1, columns))

    def foresee(self, config: Config) -> None:
        """Expect a choice of columns to be fitted on all rows at the end."""
        self._foreseen = config

    @property
    def reserve(self) -> float:
        """Seconds to be kept for constructing and fitting once more on all rows."""
        n_rows = self._all_rows
        total = 0.0
        for method in self._foreseen.methods:
            seconds, rows = self._construction.get(method, (0.0, 1))
            most = SOURCES[method].max_rows
            many, few = min(n_rows, most), min(rows, most)
            total += seconds * (many / few) ** _CONSTRUCTION_GROWTH
        return self.fit_reserve + _MARGIN * total

    @property
    def fit_reserve(self) -> float:
        """Seconds to be kept for fitting once more on all rows, which cannot be cut short."""
        known = self._foreseen if self._foreseen in self._fits else ORIGINAL
        seconds, _, rows = self._fits.get(known, (0.0, 0.0, 1))
        return _MARGIN * seconds * self._more(self._all_rows, rows)
