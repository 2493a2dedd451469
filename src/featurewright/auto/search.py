"""The search: methods in folds within a time budget, and what adds up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.board import ORIGINAL, Board
from featurewright.auto.pace import FAILURES, SAFETY, Clock, Costs, Fold
from featurewright.auto.proof import check_on_all_rows, compare_parts, confirm
from featurewright.auto.sources import SOURCES, refusal
from featurewright.auto.together import NOT_FAR, combine
from featurewright.auto.workspace import (
    MAX_CELLS,
    OWN,
    RESIDUAL,
    Config,
    Piece,
    Problem,
    Workspace,
)
from featurewright.auto.yardstick import Measured, ScoringError, Yardstick

_logger = logging.getLogger("featurewright")

Rows = NDArray[np.intp]
Listener = Callable[[dict[str, Any]], None]

MAX_SEARCH_ROWS = 10_000
MAX_TEST_ROWS = 5_000
SCREEN_ROWS = 2_000
_LEAST_ROWS = 10  # rows below which nothing is constructed
_LEAST_SCREEN_ROWS = 500
_SCREEN_CELLS = 200_000
_SCREEN_SHARE = 0.35  # of the time that a screen may take
_LOOK_SHARE = 0.2  # of the time that a look at a whole fold may take
_FEW_SIZES = (10, 50, 200)  # numbers of columns for a first look
_ALL_FITS = 40  # fits of a fold with all choices of all methods, more or less
_CELLS = 2_000_000  # rows times columns of a table that is searched with
_VARIANTS = (6, 4, 3)  # choices of one method that go on after so many folds
_PROOF_SHARE = 0.25  # of the budget that is kept for proving a choice
_LEAST_FOLDS = 3  # folds that the best method of the first one should have time for
_FAR_BEHIND = 0.3  # share of the best mean gain below which a method is dropped after two folds
_SHARE = 0.2  # of the time left that one estimator may take
_LITTLE = 0.01  # of the budget: a method that takes no more in a fold is not dropped to save time
NO_TIME = "the time budget leaves no room for it"
_TOO_FEW = "too few rows, or too few of each class, to hold any out"
_UNDEFINED = "the score is undefined in every fold"
_NOTHING = "it constructs nothing here that the original columns do not say"
_LESS = "a screen on some rows promised less of it"
_LATER = "the time is better spent on other methods"
_BEHIND = "far behind other methods"
_PUT_OFF = (_LESS, _LATER, _BEHIND)  # tried further if there is time in the end


class Search:
    """Try methods on folds of the training rows.

    A large table is first screened on some rows of the first fold: that tells what pays and how
    long things take, and so how many methods and rows the folds can have.

    Parameters
    ----------
    problem : Problem
        All training rows.
    folds : sequence of (train, test)
        Row numbers.
    further : sequence of (train, test)
        Folds on which the best few choices are tried, if there is time.
    measured_with : (estimator, callable)
        The estimator and the yardstick.
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
        further: Sequence[tuple[Rows, Rows]],
        measured_with: tuple[Any, Yardstick],
        methods: Sequence[str],
        *,
        seed: int,
        clock: Clock,
        listen: Listener,
    ) -> None:
        self.problem = problem
        self.estimator, self.yardstick = measured_with
        self.rows, self.further = list(folds), further
        self.n_folds = len(folds)
        self.largest = max((len(train) for train, _ in self.rows), default=0)
        self.seed, self.clock, self.listen = seed, clock, listen
        shares = [len(test) / max(1, len(train)) for train, test in self.rows]
        test_share = float(np.mean(shares)) if shares else 0.0
        self.board = Board(methods, test_share, needs_proof=bool(further))
        self.folds: list[Fold] = []
        self.alive: list[str] = []
        n_rows = len(problem.y)
        n_classes = len(np.unique(problem.codes)) if problem.task.kind == "classification" else 0
        self.n_scores = n_classes if n_classes > 2 else 1
        for method in methods:
            reason = refusal(SOURCES[method], problem.task, n_rows, n_classes)
            if reason:
                self._drop(method, "skipped", reason)
            else:
                self.alive.append(method)
        n_columns = max(1, problem.table.shape[1])
        self.most_rows = min(MAX_SEARCH_ROWS, max(SCREEN_ROWS, _CELLS // n_columns))
        self.costs = Costs(n_rows)
        self._screened: dict[Config, float] = {}
        self._made: dict[int, tuple[Fold, Measured]] = {}  # first folds by their number of rows
        self._looked: dict[str, dict[Config, Measured]] = {}  # what is known of the first fold
        self._screen_rows = min(SCREEN_ROWS, max(_LEAST_SCREEN_ROWS, _SCREEN_CELLS // n_columns))

    # Folds --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Try the methods on one fold after the other, then what adds up."""
        if not self.rows or len(self.problem.y) < _LEAST_ROWS:
            for method in list(self.alive):
                self._drop(method, "skipped", _TOO_FEW)
            return
        if len(self.rows[0][0]) > 2 * self._screen_rows:
            self._screen()
        while self._open_fold(number := len(self.folds)):
            ranked = sorted(self.alive, key=lambda method: -self._promise(method))
            if number and ranked and not self._try_method(ranked[0], number):
                # The leader has no time for this fold: others that are far behind are no answer.
                others = max((self._promise(method) for method in ranked[1:]), default=0.0)
                if ranked[0] in self.alive and others < NOT_FAR * self._promise(ranked[0]):
                    break
            for method in ranked[1 if number else 0 :]:
                self._try_method(method, number)
            self._thin(number)
        for method in list(self.alive):
            if not self.board.records[method].configs:
                self._drop(method, "skipped", NO_TIME if self.folds else _UNDEFINED)
        if not self.folds:
            return
        self._resume()
        combine(self)
        confirm(self)
        compare_parts(self)
        check_on_all_rows(self)
        self.tell(self.board.decide()[0].label, "fitting on all rows")

    def _resume(self) -> None:
        """Go on with methods that were put off, the most promising first, if there is time."""
        if len(self.folds) < self.n_folds:
            return
        board = self.board
        for method in sorted(self._put_off(), key=lambda method: -self._promise(method)):
            record = board.records[method]
            self.alive.append(method)
            reason, record.status, record.reason = record.reason, "done", ""
            first = max((len(board.scores[config]) for config in record.configs), default=0)
            for number in range(first, self.n_folds):
                self._try_method(method, number)
                if not any(len(board.scores[config]) > number for config in record.configs):
                    break
            if method in self.alive and not board.complete(method):
                self._drop(method, "stopped", reason)

    def _put_off(self) -> list[str]:
        """Name the methods that may be tried further in the end."""
        return [m for m, record in self.board.records.items() if record.reason in _PUT_OFF]

    def make_fold(self, number: int, most: int) -> tuple[Fold, Measured]:
        """Prepare a fold and score the original columns on it."""
        started = time.monotonic()
        random = np.random.default_rng(self.seed + number)
        train, test = (
            rows if len(rows) <= limit else np.sort(random.permutation(rows)[:limit])
            for rows, limit in zip(self.rows[number], (most, MAX_TEST_ROWS), strict=True)
        )
        learned, held_out = self.problem.take(train), self.problem.take(test)
        fold = Fold(Workspace(learned, self.seed + number), held_out)
        score = fold.score_originals(self.estimator, self.yardstick, started)
        self.costs.note_base(fold)
        return fold, score

    def _open_fold(self, number: int) -> bool:
        """Begin a fold with the original columns, if there is one more and time for it."""
        short = self.clock.left < SAFETY * (self.costs.base + self._kept_for_the_end(number))
        if number and (short or not (self.alive or self._put_off())):
            return False
        made = self._made.pop(self.most_rows, None) or self._defined_fold(number, self.most_rows)
        self._made.clear()
        if made is not None:
            self.costs.note_base(made[0])
            self.keep_fold(number, *made)
            self.tell("original", f"fold {number + 1} of {len(self.rows)}")
        return made is not None

    def _kept_for_the_end(self, number: int) -> float:
        """Give the seconds to be kept for constructing and fitting once more, while in a fold.

        The second fold may have half of the time: one fold proves little, and constructing ends
        with the time.
        """
        reserve = self.costs.reserve
        if number != 1:
            return reserve
        return max(self.costs.fit_reserve, min(reserve, 0.5 * self.clock.left))

    def _defined_fold(self, number: int, most: int) -> tuple[Fold, Measured] | None:
        """Prepare the next fold in which the score is defined; None where there is none left."""
        made, problem, left_out = None, None, 0
        while number < len(self.rows) and (not left_out or self.clock.left > 0.0):
            try:
                fold, score = self.make_fold(number, most)
                if np.isfinite(score).all():
                    made = fold, score
                    break
            except ScoringError as error:
                problem = problem or error
            del self.rows[number]
            self.n_folds -= 1
            left_out += 1
        if left_out:
            _logger.warning("Folds left out because the score is undefined in them: %d.", left_out)
        if made is None and problem is not None and not self.folds:
            raise problem
        return made

    def keep_fold(self, number: int, fold: Fold, score: Measured) -> None:
        """Keep a fold and the score of the original columns on it."""
        self.folds.append(fold)
        self.board.note("original", ORIGINAL, number, score)
        self.board.records["original"].seconds += self.costs.base

    def _screen(self) -> None:
        """Run all methods on some rows of the first fold, and plan the rest by what that took."""
        self.most_rows = min(self.most_rows, self.largest)
        made = self._defined_fold(0, self._screen_rows)
        if made is None:
            return
        fold, base = self._made[self._screen_rows] = made
        scale = self.most_rows / self._screen_rows
        if scale * self.costs.base < _LOOK_SHARE * self.clock.left:
            larger, _ = self._made[self.most_rows] = self.make_fold(0, self.most_rows)
            self.costs.learn_growth(fold, larger)
            self.costs.note_base(fold)
        room = _SCREEN_SHARE * self.clock.left if self.clock.left > self.costs.reserve else 0.0
        end = self.clock.spent + room
        for method in list(self.alive):
            if self.clock.spent >= end:
                self._drop(method, "skipped", NO_TIME)
                continue
            few = self._few_variants(method)
            found = self._looked[method] = self._measure(method, fold, few, room / 10.0)
            for config, score in found.items():
                self._screened[config] = score.evidence - base.evidence
        ranked = sorted(self.alive, key=lambda method: -self._promise(method))
        left = 0.8 * (self.clock.left - self.costs.reserve)
        # Rather fewer rows than fewer than three methods.
        while scale > 1.0 and self._ahead(ranked[:3], len(self.rows)) * scale > left:
            scale = max(1.0, scale / 2.0)
            self.most_rows = round(scale * self._screen_rows)
        while len(ranked) > 1 and self._ahead(ranked, len(self.rows)) * scale > left:
            self._drop(ranked.pop(), "stopped", _LESS)
        if self.most_rows != self._screen_rows:
            self._looked.clear()

    def _ahead(self, methods: Sequence[str], n_folds: int) -> float:
        """Foresee the seconds of some methods in some folds of the size seen last."""
        kept = _VARIANTS[0]
        return n_folds * (self.costs.base + sum(self.costs.of(m, kept) for m in methods))

    def _promise(self, method: str) -> float:
        """Give the best mean gain of a method so far, in the folds or else in the screen."""
        if self.board.records[method].configs:
            return self.board.best_gain(method)
        gains = [gain for config, gain in self._screened.items() if config.methods == (method,)]
        return max(gains, default=0.0)

    def _try_method(self, method: str, number: int) -> bool:
        """Run a method on a fold and score the choices of its columns, if there is time."""
        found = self._looked.pop(method, None) or self._try_on_fold(method, number)
        for config, score in found.items():
            self.board.note(method, config, number, score)
        if found:
            self.tell(method, f"fold {number + 1} of {len(self.rows)}")
        return bool(found)

    def _try_on_fold(self, method: str, number: int) -> dict[Config, Measured]:
        """Run a method on a fold if there is time."""
        record = self.board.records[method]
        need = SAFETY * (self.costs.of(method, _VARIANTS[0]) or 2.0 * self.costs.base)
        room = self.clock.left - self._kept_for_the_end(number)
        if method != self._leader():
            room -= self.proof()
            if number == 0:
                room -= self._kept_back(min(_LEAST_FOLDS, len(self.rows)) - 1)
        if room < need:
            if number == 0:
                self._drop(method, "skipped", NO_TIME)
            elif record.status == "done":
                record.status, record.reason = "stopped", NO_TIME
            return {}
        allowed = self._kept_variants(method, number)
        seconds = room / (2.0 + len(self.rows) - number)
        return self._measure(method, self.folds[number], allowed, seconds)

    def _leader(self) -> str | None:
        """Name the best method so far that is tried on."""
        leader = max(self.alive, key=self._promise, default=None)
        return leader if leader is not None and self._promise(leader) > 0.0 else None

    def _kept_back(self, n_folds: int) -> float:
        """Give the seconds that the best method so far needs for some more folds."""
        leader = self._leader()
        return 0.0 if leader is None else n_folds * (self.costs.base + self.costs.of(leader, 1))

    def proof(self) -> float:
        """Give the seconds to be kept for proving a choice, on further folds or with all rows."""
        need = self.costs.reserve if self.largest > self.most_rows else 0.0
        if self.further:
            need = self._kept_back(self.n_folds)
        return min(need, _PROOF_SHARE * self.clock.budget)

    def _measure(
        self, method: str, fold: Fold, allowed: set[Config] | None, seconds: float
    ) -> dict[Config, Measured]:
        """Construct and score; a method that fails is dropped."""
        started = time.monotonic()
        found: dict[Config, Measured] = {}
        try:
            pieces = fold.space.construct(SOURCES[method], self.sizes(method), max(0.05, seconds))
            self.costs.note_construction(method, fold, time.monotonic() - started)
            if not pieces and not self.board.records[method].configs:
                self._drop(method, "skipped", _NOTHING)
            known: dict[tuple[str, int], Measured] = {}
            # The best so far first: where time is short, it must not be the one left out.
            configs = sorted((Config((piece,)) for piece in pieces), key=lambda c: -self._seen(c))
            for config in configs:
                (piece,) = config.pieces
                if allowed is not None and config not in allowed:
                    continue
                # Where fewer columns are there than asked for, two sizes are one choice.
                same = piece.order, fold.space.width(piece)
                if same not in known:
                    room = self.clock.left - self.costs.reserve - self.proof()
                    if found and (room <= 0 or self.costs.next_fit(piece, fold) > _SHARE * room):
                        continue
                    known[same] = fold.score(config, self.estimator, self.yardstick)
                    self.costs.note_fit(config, fold)
                found[config] = known[same]
        except FAILURES as error:
            self._drop(method, "failed", f"{type(error).__name__}: {error}")
            found = {}
        self.board.records[method].seconds += time.monotonic() - started
        return found

    def _seen(self, config: Config) -> float:
        """Give the mean gain of a choice in the folds or else in the screen, 0 without any."""
        if self.board.scores.get(config):
            return float(self.board.gains(config).mean())
        return self._screened.get(config, 0.0)

    def sizes(self, method: str) -> list[int]:
        """Give the numbers of columns to try: fewer where rows are few, or very many."""
        source, n_rows = SOURCES[method], len(self.problem.y)
        if not source.sizes:
            return [min(self.n_scores, self.problem.limit or self.n_scores)]
        most = max(min(source.sizes), n_rows // (10 if source.readable else 1))
        most = min(most, max(1, MAX_CELLS // n_rows), self.problem.limit or most)
        return sorted({size for size in source.sizes if size <= most} or {most})

    def _kept_variants(self, method: str, number: int) -> set[Config] | None:
        """Give the better choices of a method, those that have all folds; None for any."""
        if number == 0:
            slow = _ALL_FITS * self.costs.base > self.clock.left / (2 * self.n_folds)
            return self._few_variants(method) if slow else None
        board = self.board
        complete = [c for c in board.records[method].configs if len(board.scores[c]) == number]
        ranked = sorted(complete, key=lambda config: -board.gains(config).mean())
        kept = set(ranked[: _VARIANTS[min(number, len(_VARIANTS)) - 1]])
        return kept | ({board.smallest(ranked)} if ranked else set())

    def _few_variants(self, method: str) -> set[Config]:
        """Give a choice or two of a method: for a first look, or where every fit takes long."""
        sizes = self.sizes(method)
        sizes = [size for size in sizes if size in _FEW_SIZES] or sizes[:2]
        return {Config((Piece(method, o, s),)) for o in (RESIDUAL, OWN) for s in sizes}

    def _thin(self, number: int) -> None:
        """Drop methods that lose in every fold, and the worst ones where time is short."""
        for method in list(self.alive):
            if number >= 1 and self._hopeless(method):
                self._drop(method, "stopped", "worse than the original columns in every fold")
        leader = max((self._promise(method) for method in self.alive), default=0.0)
        for method in list(self.alive):
            if number >= 1 and self._promise(method) < _FAR_BEHIND * leader:
                self._drop(method, "stopped", _BEHIND)
        left = len(self.rows) - number - 1
        while len(self.alive) > 1 and left:
            room = self.clock.left - self.costs.reserve - self.proof()
            if self._ahead(self.alive, left) <= room:
                break
            others = [m for m in sorted(self.alive, key=self._promise)[:-1] if self._is_dear(m)]
            if not others:
                break
            self._drop(min(others, key=self._worth), "stopped", _LATER)

    def _is_dear(self, method: str) -> bool:
        """Tell whether leaving a method out of a fold saves any time to speak of."""
        return self.costs.of(method, _VARIANTS[0]) > _LITTLE * self.clock.budget

    def _worth(self, method: str) -> float:
        """Give what a method promises for the time it takes: twice for a quarter of the time."""
        promise = self._promise(method)
        cost = np.sqrt(max(self.costs.of(method, _VARIANTS[0]), 1e-3))
        return promise / cost if promise > 0.0 else promise * cost

    def _hopeless(self, method: str) -> bool:
        """Tell whether every choice of a method loses in every fold."""
        board = self.board
        configs = [c for c in board.records[method].configs if len(board.scores[c]) >= 2]
        return bool(configs) and all(np.all(board.gains(config) < 0) for config in configs)

    def _drop(self, method: str, status: str, reason: str) -> None:
        """Try a method no more."""
        record = self.board.records[method]
        record.status, record.reason = status, reason
        if method in self.alive:
            self.alive.remove(method)

    def tell(self, method: str, stage: str) -> None:
        """Report what was tried and the best so far."""
        best = self.board.best(self.board.finished())
        if best is not None:
            self.costs.foresee(best)
        self.listen(self.board.event(method, stage, self.clock.spent))
