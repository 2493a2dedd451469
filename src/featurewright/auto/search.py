"""The search: methods in folds within a time budget, and what adds up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.choice import choose, corrected_error
from featurewright.auto.estimators import fit_estimator, measure
from featurewright.auto.sources import SOURCES, refusal
from featurewright.auto.workspace import JOINT, Config, Piece, Problem, Workspace, readable

Rows = NDArray[np.intp]
Listener = Callable[[dict[str, Any]], None]

ORIGINAL = Config()
MAX_SEARCH_ROWS = 10_000
_CELLS = 2_000_000  # rows times columns of a table that is searched with
_LEAST_SEARCH_ROWS = 2_000
_VARIANTS = (6, 4, 3)  # choices of one method that go on after the first folds
_SAFETY = 1.3  # what is foreseen takes longer now and then
_MAX_TOGETHER = 3
# What may go wrong inside a method on a strange table; the method is left out then.
FAILURES = (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)


class Clock:
    """The time budget."""

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self._seconds = seconds

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left; negative when the budget is overdrawn."""
        return self._seconds - self.spent


@dataclass
class Record:
    """What became of one method, or of several together."""

    status: str = "done"
    reason: str = ""
    seconds: float = 0.0
    configs: list[Config] = field(default_factory=list)


@dataclass(eq=False)
class Fold:
    """The rows of one fold, and what was constructed from its training rows."""

    space: Workspace
    test: Problem
    test_base: NDArray[np.float64]

    def score(self, config: Config, estimator: Any, scorer: Any) -> float:
        """Fit an estimator with the chosen columns and score it on the held-out rows."""
        parts = self.space.parts(config)
        problem = self.space.problem
        model = fit_estimator(estimator, self.space.columns(parts), problem.y, problem.weights)
        held_out = np.hstack([self.test_base, *(part.compute(self.test.table) for part in parts)])
        return measure(scorer, model, held_out, self.test.y, self.test.weights)


class Search:
    """Try methods on folds of the training rows.

    Parameters
    ----------
    problem : Problem
        All training rows.
    folds : sequence of (train, test)
        Row numbers.
    measured_with : (estimator, callable)
        The estimator and the scorer.
    methods : sequence of str
        Names of methods.
    seed : int
        Seed.
    clock : Clock
        The time budget.
    listen : callable
        Called with a dict whenever something was tried: method, stage, seconds, best_method,
        best_score and baseline.
    """

    def __init__(
        self,
        problem: Problem,
        folds: Sequence[tuple[Rows, Rows]],
        measured_with: tuple[Any, Any],
        methods: Sequence[str],
        *,
        seed: int,
        clock: Clock,
        listen: Listener,
    ) -> None:
        self.problem = problem
        self.estimator, self.scorer = measured_with
        self.rows, self.seed, self.clock, self.listen = list(folds), seed, clock, listen
        self.folds: list[Fold] = []
        self.scores: dict[Config, dict[int, float]] = {ORIGINAL: {}}
        self.records: dict[str, Record] = {"original": Record(configs=[ORIGINAL])}
        self.alive: list[str] = []
        n_rows = len(problem.y)
        n_classes = len(np.unique(problem.codes)) if problem.task.kind == "classification" else 0
        for method in methods:
            reason = refusal(SOURCES[method], problem.task, n_rows, n_classes)
            self.records[method] = Record("skipped" if reason else "done", reason)
            if not reason:
                self.alive.append(method)
        self._seconds: dict[str, list[float]] = {}
        self._base_seconds = 0.0

    # Folds --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Try the methods on one fold after the other, then what adds up."""
        for number in range(len(self.rows)):
            if number and self.clock.left < _SAFETY * (self._base_seconds + self._reserve()):
                break
            self._open_fold(number)
            for method in self._in_order():
                self._try_method(method, number)
            self._thin(number)
        for method in self.alive:
            if not self.records[method].configs:
                self._drop(method, "skipped", "the time budget was spent")
        self._combine()

    def _open_fold(self, number: int) -> None:
        """Prepare a fold and score the original columns on it."""
        started = time.monotonic()
        train, test = (self._some(rows, number) for rows in self.rows[number])
        learned, held_out = self.problem.take(train), self.problem.take(test)
        space = Workspace(learned, self.seed + number)
        base = space.originals.compute(np.asarray(held_out.table.matrix, np.float64))
        self.folds.append(Fold(space, held_out, base))
        self.scores[ORIGINAL][number] = self.folds[number].score(
            ORIGINAL, self.estimator, self.scorer
        )
        self._base_seconds = time.monotonic() - started
        self.records["original"].seconds += self._base_seconds
        self._tell("original", f"fold {number + 1} of {len(self.rows)}")

    def _some(self, rows: Rows, number: int) -> Rows:
        """Take as many rows as a search needs; all of them in most tables."""
        n_columns = max(1, self.problem.table.shape[1])
        most = min(MAX_SEARCH_ROWS, max(_LEAST_SEARCH_ROWS, _CELLS // n_columns))
        if len(rows) <= most:
            return rows
        return np.sort(np.random.default_rng(self.seed + number).permutation(rows)[:most])

    def _in_order(self) -> list[str]:
        """Give the methods that are tried, the best so far first."""
        return sorted(self.alive, key=lambda method: -self._best_gain(method))

    def _try_method(self, method: str, number: int) -> None:
        """Run a method on a fold and score the choices of its columns."""
        record = self.records[method]
        before = self._seconds.get(method)
        need = _SAFETY * (max(before) if before else 2.0 * self._base_seconds)
        if self.clock.left - self._reserve() < need:
            if number == 0:
                self._drop(method, "skipped", "the time budget was spent")
            elif record.status == "done":
                record.status, record.reason = "stopped", "the time budget was spent"
            return
        started = time.monotonic()
        fold = self.folds[number]
        most = max(0.05, (self.clock.left - self._reserve()) / (2.0 + len(self.rows) - number))
        try:
            pieces = fold.space.construct(SOURCES[method], self._sizes(method), most)
            configs = [Config((piece,)) for piece in pieces]
            if number:
                configs = self._kept_variants(record, configs, number)
            known: dict[tuple[str, int], float] = {}
            for config in configs:
                # Where fewer columns are there than asked for, two sizes are one choice.
                same = config.pieces[0].order, fold.space.width(config.pieces[0])
                if same not in known:
                    known[same] = fold.score(config, self.estimator, self.scorer)
                self.scores.setdefault(config, {})[number] = known[same]
                if config not in record.configs:
                    record.configs.append(config)
                if self.clock.left < self._reserve():
                    break
        except FAILURES as error:
            self._drop(method, "failed", f"{type(error).__name__}: {error}")
        spent = time.monotonic() - started
        self._seconds.setdefault(method, []).append(spent)
        record.seconds += spent
        self._tell(method, f"fold {number + 1} of {len(self.rows)}")

    def _sizes(self, method: str) -> list[int]:
        """Give the numbers of columns to try: fewer where rows are few."""
        source = SOURCES[method]
        most = max(min(source.sizes), len(self.problem.y) // (10 if source.readable else 1))
        most = min(most, self.problem.limit or most)
        return sorted({min(size, most) for size in source.sizes if size <= most} or {most})

    def _kept_variants(self, record: Record, configs: list[Config], number: int) -> list[Config]:
        """Go on with the better choices of a method, those that have all folds."""
        complete = [c for c in record.configs if len(self.scores[c]) == number]
        ranked = sorted(complete, key=lambda config: -self.gains(config).mean())
        kept = set(ranked[: _VARIANTS[min(number, len(_VARIANTS)) - 1]])
        return [config for config in configs if config in kept]

    def _thin(self, number: int) -> None:
        """Drop methods that lose in every fold, and the worst ones where time is short."""
        for method in list(self.alive):
            if number >= 1 and self._hopeless(method):
                self._drop(method, "stopped", "worse than the original columns in every fold")
        left = len(self.rows) - number - 1
        while len(self.alive) > 1 and left:
            ahead = left * (self._base_seconds + sum(max(self._seconds[m]) for m in self.alive))
            if ahead <= self.clock.left - self._reserve():
                break
            worst = min(self.alive, key=self._best_gain)
            self._drop(worst, "stopped", "the time is better spent on other methods")

    def _hopeless(self, method: str) -> bool:
        """Tell whether every choice of a method loses in every fold."""
        configs = [c for c in self.records[method].configs if len(self.scores[c]) >= 2]
        return bool(configs) and all(np.all(self.gains(config) < 0) for config in configs)

    def _drop(self, method: str, status: str, reason: str) -> None:
        """Try a method no more."""
        record = self.records[method]
        record.status, record.reason = status, reason
        if method in self.alive:
            self.alive.remove(method)

    def _reserve(self) -> float:
        """Foresee the seconds of constructing and fitting once more on all rows."""
        if not self.folds:
            return 0.0
        growth = len(self.problem.y) / max(1, len(self.folds[0].space.problem.y))
        methods = max((max(times) for times in self._seconds.values()), default=0.0)
        return growth * (self._base_seconds + 0.5 * methods)

    # What adds up -------------------------------------------------------------------------------

    def _combine(self) -> None:
        """Join the formulas of several methods, and columns of several methods, greedily."""
        n_folds = self.n_complete
        if n_folds < 2:
            return
        able = [m for m in self.records if m != "original" and self._complete(m)]
        formulas = readable(able)
        if len(formulas) > 1:
            for size in self._sizes(formulas[0]):
                self._try_together(Config(tuple(Piece(m, JOINT, size) for m in formulas)))
        best = self._best(self._finished())
        while best is not None and len(best.pieces) < _MAX_TOGETHER:
            others = [
                found
                for method in able
                if method not in best.methods and (found := self._best(self._complete(method)))
            ]
            trials = []
            for other in sorted(others, key=lambda config: -self.gains(config).mean()):
                trial = Config((*best.pieces, *other.pieces))
                if self._try_together(trial, better_than=best):
                    trials.append(trial)
            better = self._best([*trials, best])
            if better is None or better == best:
                break
            best = better

    def _try_together(self, config: Config, better_than: Config | None = None) -> bool:
        """Score a combination on all folds; give up early where it loses."""
        n_folds = self.n_complete
        need = n_folds * 1.5 * self._base_seconds
        if self.clock.left - self._reserve() < _SAFETY * need:
            return False
        started = time.monotonic()
        record = self.records.setdefault(config.label, Record())
        found: dict[int, float] = {}
        try:
            for number in range(n_folds):
                found[number] = self.folds[number].score(config, self.estimator, self.scorer)
                if better_than is not None and number == 1:
                    rival = self.scores[better_than]
                    if found[0] <= rival[0] and found[1] <= rival[1]:
                        break
                if self.clock.left < self._reserve():
                    break
        except FAILURES as error:
            record.status, record.reason = "failed", f"{type(error).__name__}: {error}"
        record.seconds += time.monotonic() - started
        self.scores[config] = found
        record.configs.append(config)
        if len(found) < n_folds and record.status == "done":
            record.status, record.reason = "stopped", "no better than without, or out of time"
        elif len(found) == n_folds and record.status == "stopped":
            record.status, record.reason = "done", ""
        self._tell(config.label, "combination")
        return len(found) == n_folds

    # Results ------------------------------------------------------------------------------------

    @property
    def n_complete(self) -> int:
        """Number of folds that some method has done; those of the originals where none has."""
        done = [len(found) for config, found in self.scores.items() if config != ORIGINAL]
        return max(done, default=len(self.scores[ORIGINAL]))

    def _complete(self, method: str) -> list[Config]:
        """Give the choices of a method that have all folds."""
        n_folds = self.n_complete
        return [c for c in self.records[method].configs if len(self.scores[c]) == n_folds]

    def _finished(self) -> list[Config]:
        """Give all choices that have all folds."""
        n_folds = self.n_complete
        return [
            config
            for config, found in self.scores.items()
            if config != ORIGINAL and len(found) == n_folds
        ]

    def _best(self, configs: list[Config]) -> Config | None:
        """Give the choice with the largest mean gain."""
        return max(configs, key=lambda config: self.gains(config).mean(), default=None)

    def _best_gain(self, method: str) -> float:
        """Give the largest mean gain among a method's choices, 0 before there is one."""
        configs = self.records[method].configs
        if not configs:
            return 0.0
        most = max(len(self.scores[config]) for config in configs)
        return max(
            float(self.gains(config).mean())
            for config in configs
            if len(self.scores[config]) == most
        )

    def gains(self, config: Config) -> NDArray[np.float64]:
        """Give the differences to the original columns in the folds that were done."""
        base = self.scores[ORIGINAL]
        return np.array([score - base[n] for n, score in sorted(self.scores[config].items())])

    @property
    def test_share(self) -> float:
        """Test rows of a fold over its training rows, as the folds were made."""
        shares = [len(test) / max(1, len(train)) for train, test in self.rows]
        return float(np.mean(shares)) if shares else 0.0

    def decide(self) -> tuple[Config, NDArray[np.float64]]:
        """Choose; give the honest gains fold by fold too."""
        usable = {}
        for config in self._finished():
            gains = self.gains(config)
            if np.isfinite(gains).all():
                usable[config] = gains
        sizes = {config: config.n_columns for config in usable}
        choice = choose(usable, sizes, self.test_share)
        return (ORIGINAL if choice.key is None else choice.key), choice.gains

    def results(self) -> list[dict[str, Any]]:
        """List every method tried, the original columns first, as plain values."""
        return [self._result(label, record) for label, record in self.records.items()]

    def _result(self, label: str, record: Record) -> dict[str, Any]:
        """Describe the best choice of one method."""
        found = [config for config in record.configs if self.scores[config]]
        most = max((len(self.scores[config]) for config in found), default=0)
        best = self._best([config for config in found if len(self.scores[config]) == most])
        scores = [self.scores[best][n] for n in sorted(self.scores[best])] if best else []
        gains = self.gains(best) if best else np.zeros(0)
        return {
            "method": label,
            "status": record.status,
            "reason": record.reason,
            "fold_scores": [float(score) for score in scores],
            "mean": float(np.mean(scores)) if scores else float("nan"),
            "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan"),
            "gain": float(gains.mean()) if len(gains) else float("nan"),
            "gain_std": corrected_error(gains, self.test_share),
            "seconds": round(record.seconds, 4),
            "n_features": best.n_columns if best else 0,
        }

    def _tell(self, method: str, stage: str) -> None:
        """Report what was tried and the best so far."""
        best, base = ORIGINAL, float(np.mean(list(self.scores[ORIGINAL].values())))
        most = self.n_complete
        for config, found in self.scores.items():
            if len(found) == most and config != ORIGINAL:
                ahead = self.gains(config).mean()
                if ahead > (self.gains(best).mean() if best != ORIGINAL else 0.0):
                    best = config
        ahead = float(self.gains(best).mean()) if best != ORIGINAL else 0.0
        self.listen(
            {
                "method": method,
                "stage": stage,
                "seconds": self.clock.spent,
                "best_method": best.label,
                "best_score": base + ahead,
                "baseline": base,
            }
        )
