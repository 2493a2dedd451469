"""The search: methods on folds within a time budget, combinations of them, and the proof."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.failures import Attempt, ScoringError
from featurewright.auto.leaderboard import Leaderboard, Record
from featurewright.auto.methods import METHODS, may_join, readable
from featurewright.auto.outcomes import DONE, Outcome, Reason, Status
from featurewright.auto.scoring import HeldOutScore, HeldOutScorer
from featurewright.auto.timing import SAFETY, Clock, Costs
from featurewright.auto.workspace import Fold, Problem, ValueStore, Workspace

_logger = logging.getLogger("featurewright")

Rows = NDArray[np.intp]
FoldRows = tuple[Rows, Rows]
Listener = Callable[[dict[str, Any]], None]

# Sizes.
MAX_SEARCH_ROWS = 10_000
MAX_TEST_ROWS = 5_000
MAX_SCREEN_ROWS = 2_000
_MIN_SCREEN_ROWS = 500
_MIN_ROWS = 10  # below which nothing is constructed
_MAX_SCREEN_CELLS = 200_000
_MAX_SEARCH_CELLS = 2_000_000  # rows times columns of the table of a fold
_MAX_FIT_CELLS = 50_000_000  # rows times constructed columns of the last fit
_FIRST_SIZES = (10, 50, 200)  # numbers of columns for a first look
_N_KEPT_VARIANTS = (6, 4, 3)  # candidates of one method that go on after one, two, more folds
_MAX_ORDERS = 3  # orders of columns that are joined
_N_FINALISTS = 3  # candidates that are tried on further folds
_MAX_FINALISTS = 6  # with the best ones of other methods alone, where there is time
_N_PARTS = 4  # of the held-out rows, where there was time for one fold only
_MIN_PART_ROWS = 50
_N_FULL_FOLDS = 2  # of all rows, on which a candidate found on some of them is tried
# Shares of the time.
_SCREEN_SHARE = 0.35  # of the time left, that a screen may take
_LOOK_SHARE = 0.2  # of the time left, that a look at a whole fold may take
_PROOF_SHARE = 0.25  # of the budget, that is kept for proving a choice
_FIT_SHARE = 0.2  # of the time left, that one fit may take
_CHEAP_SHARE = 0.01  # of the budget: a method that takes no more is not dropped to save time
_LATE_SHARE = 0.1  # of the budget, by which a search may be late besides the time of one fold
_N_ALL_FITS = 40  # fits of a fold with all candidates of all methods, about
_MIN_FOLDS = 3  # that the best method of the first one should have time for
# Shares of the best mean gain.
_FAR_BEHIND = 0.3  # below this a method is dropped after two folds
_NOT_FAR = 0.7  # above this formulas are put in one order, and a method may replace the leader


class Search:
    """Score candidates of all methods on folds of the training rows, within a time budget.

    A large table is first screened on some rows of the first fold: that tells what pays and how
    long things take, and so how many methods and rows the folds can have.

    Parameters
    ----------
    problem : Problem
        All training rows.
    folds : sequence of (train, test)
        Row numbers.
    further : sequence of (train, test)
        Folds on which the best few candidates are tried, if there is time.
    estimator : estimator
        The model that candidates are scored with.
    scorer : HeldOutScorer
        How it is scored.
    methods : sequence of str
        Names of methods.
    seed : int
        Seed.
    clock : Clock
        The time budget.
    listen : callable
        Called with a dict whenever something was tried: method, stage, seconds, best_method,
        best_score and baseline.

    Attributes
    ----------
    leaderboard : Leaderboard
        All scores, and what became of the methods.
    folds : list of Fold
        The folds that were opened.
    n_scores : int
        Number of columns of a method with one for each class.
    store : ValueStore
        Values of constructed columns.
    """

    def __init__(
        self,
        problem: Problem,
        folds: Sequence[FoldRows],
        further: Sequence[FoldRows],
        *,
        estimator: Any,
        scorer: HeldOutScorer,
        methods: Sequence[str],
        seed: int,
        clock: Clock,
        listen: Listener,
    ) -> None:
        self.problem, self.estimator, self.scorer = problem, estimator, scorer
        self.seed, self.clock, self._listen = seed, clock, listen
        self.store = ValueStore()
        self.folds: list[Fold] = []
        self._rows, self._further = list(folds), list(further)
        self._n_folds = len(folds)  # asked for; those that cannot be scored are left out
        self._largest = max((len(train) for train, _ in folds), default=0)
        shares = [len(test) / max(1, len(train)) for train, test in folds]
        test_share = float(np.mean(shares)) if shares else 0.0
        self.leaderboard = Leaderboard(methods, test_share, needs_proof=bool(further))
        n_rows, n_columns = len(problem.y), max(1, problem.table.shape[1])
        n_classes = len(np.unique(problem.codes)) if problem.task.kind == "classification" else 0
        self.n_scores = n_classes if n_classes > 2 else 1
        self._alive: list[str] = []
        for method in methods:
            reason = METHODS[method].refusal(problem.task, n_classes)
            if reason is None:
                self._alive.append(method)
            else:
                self._drop(method, Status.SKIPPED, reason)
        screen_rows = max(_MIN_SCREEN_ROWS, _MAX_SCREEN_CELLS // n_columns)
        self._n_screen_rows = min(MAX_SCREEN_ROWS, screen_rows)
        fold_rows = max(MAX_SCREEN_ROWS, _MAX_SEARCH_CELLS // n_columns)
        self._n_fold_rows = min(MAX_SEARCH_ROWS, fold_rows)
        self._costs = Costs(n_rows)
        self._screen_gains: dict[Candidate, float] = {}
        # First folds that were made before they are opened, by their number of rows.
        self._first_folds: dict[int, tuple[Fold, HeldOutScore]] = {}
        # Scores of the first fold that the screen has found already, by method.
        self._first_scores: dict[str, dict[Candidate, HeldOutScore]] = {}

    def run(self) -> None:
        """Try the methods on one fold after the other, then combinations, then prove the best."""
        if not self._rows or len(self.problem.y) < _MIN_ROWS:
            for method in list(self._alive):
                self._drop(method, Status.SKIPPED, Reason.TOO_FEW_ROWS)
            return
        if len(self._rows[0][0]) > 2 * self._n_screen_rows:
            self._screen()
        while self._open_fold(number := len(self.folds)):
            ranked = sorted(self._alive, key=self._promise, reverse=True)
            if number and ranked and not self._try_method(ranked[0], number):
                # The leader has no time for this fold: others that are far behind are no answer.
                others = max((self._promise(method) for method in ranked[1:]), default=0.0)
                if ranked[0] in self._alive and others < _NOT_FAR * self._promise(ranked[0]):
                    break
            for method in ranked[1 if number else 0 :]:
                self._try_method(method, number)
            self._drop_losers(number)
        reason = Reason.NO_TIME if self.folds else Reason.UNDEFINED_SCORE
        for method in list(self._alive):
            if not self.leaderboard.records[method].candidates:
                self._drop(method, Status.SKIPPED, reason)
        if not self.folds:
            return
        self._resume()
        self._combine()
        self._confirm()
        self._compare_on_parts()
        self._check_on_all_rows()
        self._report(self.leaderboard.decide()[0].label, "fitting on all rows")

    # Folds --------------------------------------------------------------------------------------

    def _open_fold(self, number: int) -> bool:
        """Begin a fold with the original columns; False without one more, or time for it."""
        expected = SAFETY * (self._costs.base + self._last_fit_seconds(number))
        short = self.clock.left < expected
        if number and (short or not (self._alive or self._put_off_methods())):
            return False
        made = self._first_folds.pop(self._n_fold_rows, None)
        made = made or self._scored_fold(number, self._n_fold_rows)
        self._first_folds.clear()
        if made is None:
            return False
        self._costs.record_base(made[0])
        self._keep_fold(number, *made)
        self._report(ORIGINAL.label, f"fold {number + 1} of {len(self._rows)}")
        return True

    def _make_fold(self, number: int, max_rows: int) -> tuple[Fold, HeldOutScore]:
        """Prepare a fold and score the original columns on it."""
        started = self.clock.now()
        random = np.random.default_rng(self.seed + number)
        train, test = (
            rows if len(rows) <= limit else np.sort(random.permutation(rows)[:limit])
            for rows, limit in zip(self._rows[number], (max_rows, MAX_TEST_ROWS), strict=True)
        )
        space = Workspace(self.problem.take(train), self.seed + number, self.store)
        fold = Fold(space, self.problem.take(test), self.clock.now)
        score = fold.score_originals(self.estimator, self.scorer, started)
        self._costs.record_base(fold)
        return fold, score

    def _scored_fold(self, number: int, max_rows: int) -> tuple[Fold, HeldOutScore] | None:
        """Prepare the next fold in which the score is defined; None where there is none left."""
        made, problem, n_left_out = None, None, 0
        while number < len(self._rows) and (not n_left_out or self.clock.left > 0.0):
            try:
                fold, score = self._make_fold(number, max_rows)
                if np.isfinite(score).all():
                    made = fold, score
                    break
            except ScoringError as error:
                problem = problem or error
            del self._rows[number]
            self._n_folds -= 1
            n_left_out += 1
        if n_left_out:
            _logger.warning(
                "Folds left out because the score is undefined in them: %d.", n_left_out
            )
        if made is None and problem is not None and not self.folds:
            raise problem
        return made

    def _keep_fold(self, number: int, fold: Fold, score: HeldOutScore) -> None:
        """Keep a fold and the score of the original columns on it."""
        self.folds.append(fold)
        self.leaderboard.add(ORIGINAL.label, ORIGINAL, number, score)
        self.leaderboard.records[ORIGINAL.label].seconds += self._costs.base

    def _screen(self) -> None:
        """Run all methods on some rows of the first fold, and plan the rest by what that took."""
        self._n_fold_rows = min(self._n_fold_rows, self._largest)
        made = self._scored_fold(0, self._n_screen_rows)
        if made is None:
            return
        fold, base = self._first_folds[self._n_screen_rows] = made
        scale = self._n_fold_rows / self._n_screen_rows
        if scale * self._costs.base < _LOOK_SHARE * self.clock.left:
            larger, _ = self._first_folds[self._n_fold_rows] = self._make_fold(0, self._n_fold_rows)
            self._costs.learn_growth(fold, larger)
            self._costs.record_base(fold)
        room = _SCREEN_SHARE * self.clock.left if self.clock.left > self._costs.reserve else 0.0
        end = self.clock.spent + room
        for method in list(self._alive):
            if self.clock.spent >= end:
                self._drop(method, Status.SKIPPED, Reason.NO_TIME)
                continue
            few = self._first_variants(method)
            found = self._first_scores[method] = self._measure(method, fold, few, room / 10.0)
            for candidate, score in found.items():
                self._screen_gains[candidate] = score.evidence - base.evidence
        ranked = sorted(self._alive, key=self._promise, reverse=True)
        left = 0.8 * (self.clock.left - self._costs.reserve)
        # Rather fewer rows than fewer than three methods.
        while scale > 1.0 and self._folds_seconds(ranked[:3], len(self._rows)) * scale > left:
            scale = max(1.0, scale / 2.0)
            self._n_fold_rows = round(scale * self._n_screen_rows)
        while len(ranked) > 1 and self._folds_seconds(ranked, len(self._rows)) * scale > left:
            self._drop(ranked.pop(), Status.STOPPED, Reason.SCREENED_OUT)
        if self._n_fold_rows != self._n_screen_rows:
            self._first_scores.clear()

    # Methods ------------------------------------------------------------------------------------

    def _try_method(self, method: str, number: int) -> bool:
        """Run a method on a fold and score candidates of its columns; False without time for it."""
        found = self._first_scores.pop(method, None) or self._try_on_fold(method, number)
        for candidate, score in found.items():
            self.leaderboard.add(method, candidate, number, score)
        if found:
            self._report(method, f"fold {number + 1} of {len(self._rows)}")
        return bool(found)

    def _try_on_fold(self, method: str, number: int) -> dict[Candidate, HeldOutScore]:
        """Run a method on a fold and score candidates, if there is time."""
        record = self.leaderboard.records[method]
        expected = self._method_seconds(method) or 2.0 * self._costs.base
        room = self.clock.left - self._last_fit_seconds(number)
        if method != self._leader():
            room -= self._proof_seconds()
            if number == 0:
                room -= self._leader_seconds(min(_MIN_FOLDS, len(self._rows)) - 1)
        if room < SAFETY * expected:
            if number == 0:
                self._drop(method, Status.SKIPPED, Reason.NO_TIME)
            elif record.outcome == DONE:
                record.outcome = Outcome(Status.STOPPED, Reason.NO_TIME)
            return {}
        allowed = self._kept_variants(method, number)
        seconds = room / (2.0 + len(self._rows) - number)
        return self._measure(method, self.folds[number], allowed, seconds)

    def _measure(
        self, method: str, fold: Fold, allowed: set[Candidate] | None, seconds: float
    ) -> dict[Candidate, HeldOutScore]:
        """Construct and score candidates; a method that fails is dropped."""
        started = self.clock.now()
        record = self.leaderboard.records[method]
        found: dict[Candidate, HeldOutScore] = {}
        with Attempt(f"The method {method!r}") as attempt:
            seconds = max(0.05, seconds)
            blocks = fold.space.construct(METHODS[method], self._sizes(method), seconds)
            self._costs.record_construction(method, fold, self.clock.now() - started)
            if not blocks and not record.candidates:
                self._drop(method, Status.SKIPPED, Reason.NOTHING_NEW)
            known: dict[tuple[Order, int], HeldOutScore] = {}
            # The best so far first: where time is short, it must not be the one left out.
            candidates = [Candidate((block,)) for block in blocks]
            for candidate in sorted(candidates, key=self._known_gain, reverse=True):
                (block,) = candidate.blocks
                if allowed is not None and candidate not in allowed:
                    continue
                # Where there are fewer columns than asked for, two sizes are one candidate.
                same = block.order, fold.space.width(block)
                if same not in known:
                    room = self.clock.left - self._costs.reserve - self._proof_seconds()
                    next_fit = self._costs.next_fit(block, fold)
                    if found and (room <= 0 or next_fit > _FIT_SHARE * room):
                        continue
                    known[same] = self._score(candidate, fold)
                found[candidate] = known[same]
        if attempt.error:
            self._drop_with(method, attempt.outcome)
            found = {}
        record.seconds += self.clock.now() - started
        return found

    def _score(self, candidate: Candidate, fold: Fold) -> HeldOutScore:
        """Score a candidate on a fold, and record what that took."""
        score = fold.score(candidate, self.estimator, self.scorer)
        self._costs.record_fit(candidate, fold)
        return score

    def _sizes(self, method: str) -> list[int]:
        """Return the numbers of columns to try: fewer where rows are few, or very many."""
        asked, n_rows = METHODS[method], len(self.problem.y)
        if asked.one_per_class:
            return [min(self.n_scores, self.problem.limit or self.n_scores)]
        most = max(min(asked.sizes), n_rows // (10 if asked.readable else 1))
        most = min(most, max(1, _MAX_FIT_CELLS // n_rows), self.problem.limit or most)
        return sorted({size for size in asked.sizes if size <= most} or {most})

    def _kept_variants(self, method: str, number: int) -> set[Candidate] | None:
        """Return the better candidates of a method, those that have all folds; None for any."""
        if number == 0:
            slow = _N_ALL_FITS * self._costs.base > self.clock.left / (2 * self._n_folds)
            return self._first_variants(method) if slow else None
        board = self.leaderboard
        complete = [c for c in board.records[method].candidates if board.n_scores(c) == number]
        ranked = sorted(complete, key=board.mean_gain, reverse=True)
        kept = set(ranked[: _N_KEPT_VARIANTS[min(number, len(_N_KEPT_VARIANTS)) - 1]])
        return kept | ({board.smallest(ranked)} if ranked else set())

    def _first_variants(self, method: str) -> set[Candidate]:
        """Return a few candidates of a method: for a first look, or where every fit takes long."""
        sizes = self._sizes(method)
        sizes = [size for size in sizes if size in _FIRST_SIZES] or sizes[:2]
        return {
            Candidate((Block(method, order, size),))
            for order in (Order.RESIDUAL, Order.OWN)
            for size in sizes
        }

    def _drop_losers(self, number: int) -> None:
        """Drop methods that lose in every fold, and the worst ones where time is short."""
        for method in list(self._alive):
            if number >= 1 and self._loses_everywhere(method):
                self._drop(method, Status.STOPPED, Reason.WORSE)
        leader = max((self._promise(method) for method in self._alive), default=0.0)
        for method in list(self._alive):
            if number >= 1 and self._promise(method) < _FAR_BEHIND * leader:
                self._drop(method, Status.STOPPED, Reason.FAR_BEHIND)
        left = len(self._rows) - number - 1
        while len(self._alive) > 1 and left:
            room = self.clock.left - self._costs.reserve - self._proof_seconds()
            if self._folds_seconds(self._alive, left) <= room:
                break
            ranked = sorted(self._alive, key=self._promise)
            slow = [m for m in ranked[:-1] if self._saves_time(m)]
            if not slow:
                break
            worst = min(slow, key=self._promise_for_time)
            self._drop(worst, Status.STOPPED, Reason.TIME_FOR_OTHERS)

    def _loses_everywhere(self, method: str) -> bool:
        """Whether every candidate of a method loses in every fold."""
        board = self.leaderboard
        candidates = [c for c in board.records[method].candidates if board.n_scores(c) >= 2]
        return bool(candidates) and all(np.all(board.gains(c) < 0) for c in candidates)

    def _resume(self) -> None:
        """Go on with methods that were put off, the most promising first, if there is time."""
        if len(self.folds) < self._n_folds:
            return
        board = self.leaderboard
        for method in sorted(self._put_off_methods(), key=self._promise, reverse=True):
            record = board.records[method]
            self._alive.append(method)
            before, record.outcome = record.outcome, DONE
            first = max(map(board.n_scores, record.candidates), default=0)
            for number in range(first, self._n_folds):
                self._try_method(method, number)
                if not any(board.n_scores(candidate) > number for candidate in record.candidates):
                    break
            if method in self._alive and not board.complete(method):
                self._drop_with(method, Outcome(Status.STOPPED, before.reason))

    def _put_off_methods(self) -> list[str]:
        """Return the methods that may be tried further in the end."""
        return [
            method
            for method, record in self.leaderboard.records.items()
            if record.outcome.reason is not None and record.outcome.reason.is_put_off
        ]

    def _drop(self, method: str, status: Status, reason: Reason) -> None:
        """Try a method no more."""
        self._drop_with(method, Outcome(status, reason))

    def _drop_with(self, method: str, outcome: Outcome) -> None:
        """Try a method no more, with an outcome."""
        self.leaderboard.records[method].outcome = outcome
        if method in self._alive:
            self._alive.remove(method)

    # What is known so far -----------------------------------------------------------------------

    def _promise(self, method: str) -> float:
        """Return the best mean gain of a method so far, in the folds or else in the screen."""
        if self.leaderboard.records[method].candidates:
            return self.leaderboard.best_gain(method)
        gains = [gain for c, gain in self._screen_gains.items() if c.methods == (method,)]
        return max(gains, default=0.0)

    def _promise_for_time(self, method: str) -> float:
        """Return the gain of a method for its time: twice the gain is worth four times the time."""
        promise = self._promise(method)
        cost = np.sqrt(max(self._method_seconds(method), 1e-3))
        return promise / cost if promise > 0.0 else promise * cost

    def _known_gain(self, candidate: Candidate) -> float:
        """Return the mean gain of a candidate in the folds or else in the screen; 0 without any."""
        if self.leaderboard.scores.get(candidate):
            return self.leaderboard.mean_gain(candidate)
        return self._screen_gains.get(candidate, 0.0)

    def _leader(self) -> str | None:
        """Return the best method so far that is not dropped; None where none has a gain."""
        leader = max(self._alive, key=self._promise, default=None)
        return leader if leader is not None and self._promise(leader) > 0.0 else None

    def _report(self, method: str, stage: str) -> None:
        """Report to the listener what was tried and the best so far."""
        best = self.leaderboard.best(self.leaderboard.finished())
        if best is not None:
            self._costs.expect(best)
        self._listen(self.leaderboard.event(method, stage, self.clock.spent))

    # Expected seconds ---------------------------------------------------------------------------

    def _method_seconds(self, method: str) -> float:
        """Return the expected seconds of a method in a fold; 0 where nothing is known."""
        return self._costs.method_seconds(method, _N_KEPT_VARIANTS[0])

    def _folds_seconds(self, methods: Sequence[str], n_folds: int) -> float:
        """Return the expected seconds of some methods in folds of the size seen last."""
        return n_folds * (self._costs.base + sum(map(self._method_seconds, methods)))

    def _saves_time(self, method: str) -> bool:
        """Whether leaving a method out of a fold saves time worth mentioning."""
        return self._method_seconds(method) > _CHEAP_SHARE * self.clock.budget

    def _last_fit_seconds(self, number: int) -> float:
        """Return the seconds to be kept for constructing and fitting on all rows.

        While in the second fold, half of the time left at most: one fold proves little, and
        constructing ends with the time.
        """
        reserve = self._costs.reserve
        if number != 1:
            return reserve
        return max(self._costs.fit_reserve, min(reserve, 0.5 * self.clock.left))

    def _leader_seconds(self, n_folds: int) -> float:
        """Return the seconds that the best method so far needs for some more folds."""
        leader = self._leader()
        if leader is None:
            return 0.0
        return n_folds * (self._costs.base + self._costs.method_seconds(leader, 1))

    def _proof_seconds(self) -> float:
        """Return the seconds to be kept for a proof, on further folds or with all rows."""
        needed = self._costs.reserve if self._largest > self._n_fold_rows else 0.0
        if self._further:
            needed = self._leader_seconds(self._n_folds)
        return min(needed, _PROOF_SHARE * self.clock.budget)

    # Combinations -------------------------------------------------------------------------------

    def _combine(self) -> None:
        """Join the formulas of several methods, and columns of several methods, greedily."""
        board = self.leaderboard
        if board.n_folds < 2:
            return
        able = [m for m in board.records if m != ORIGINAL.label and board.complete(m)]
        formulas = readable(able)
        leader = board.best(board.finished())
        best_formulas = max(map(board.best_gain, formulas), default=0.0)
        close = leader is not None and best_formulas >= _NOT_FAR * board.mean_gain(leader)
        if len(formulas) > 1 and close:
            for size in self._sizes(formulas[0]):
                blocks = tuple(Block(method, Order.JOINT, size) for method in formulas)
                self._try_combination(Candidate(blocks))
        best = board.best(board.finished())
        while best is not None and best.n_orders < _MAX_ORDERS:
            others = [
                found
                for method in able
                if may_join(method, best.methods) and (found := board.best(board.complete(method)))
            ]
            trials = []
            for other in sorted(others, key=board.mean_gain, reverse=True):
                trial = Candidate((*best.blocks, *other.blocks))
                fits = trial.n_columns * len(self.problem.y) <= _MAX_FIT_CELLS
                if fits and self._try_combination(trial, rival=best):
                    trials.append(trial)
            better = board.best([*trials, best])
            if better is None or better == best:
                break
            best = better

    def _try_combination(self, candidate: Candidate, rival: Candidate | None = None) -> bool:
        """Score a combination on all folds; False where it loses to a rival, or without time."""
        board, n_folds = self.leaderboard, self.leaderboard.n_folds
        needed = SAFETY * n_folds * self._costs.fit_seconds(candidate, self.folds[0])
        if self.clock.left - self._costs.reserve - self._proof_seconds() < needed:
            return False
        started = self.clock.now()
        record = board.records.setdefault(candidate.label, Record())
        n_done, reason = 0, Reason.NO_TIME
        with Attempt(f"The combination {candidate.label!r}") as attempt:
            for number in range(n_folds):
                score = self._score(candidate, self.folds[number])
                board.add(candidate.label, candidate, number, score)
                n_done += 1
                if rival is not None and number == 1:
                    others = board.gains(rival)[:2]
                    if np.all(board.gains(candidate) <= others):
                        reason = Reason.NO_BETTER_JOINED
                        break
                if self.clock.left < self._costs.reserve:
                    break
        if attempt.error:
            record.outcome = attempt.outcome
        record.seconds += self.clock.now() - started
        if n_done == n_folds:
            record.outcome = DONE
        elif record.outcome == DONE and not board.complete(candidate.label):
            record.outcome = Outcome(Status.STOPPED, reason)
        self._report(candidate.label, "combination")
        return n_done == n_folds

    # Proof --------------------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Try the best few candidates on further folds.

        The best of many candidates on few rows owes much to luck, which other folds do not share.
        """
        board, n_first = self.leaderboard, self._n_folds
        if not self._further or board.n_folds < max(2, n_first):
            return
        finalists = self._finalists()
        if not finalists:
            return
        # Rather fewer candidates than fewer folds than there were.
        while (n_more := self._n_affordable(finalists)) < n_first and len(finalists) > 1:
            finalists.pop()
        label = finalists[0].label
        for rows in self._further[: n_more if n_more > 1 else 0]:
            number, started = len(self._rows), self.clock.now()
            self._rows.append(rows)
            with Attempt(f"A further fold with {label!r}") as attempt:
                fold, base = self._make_fold(number, self._n_fold_rows)
                for method in _methods_of(finalists):
                    sizes = self._sizes(method)
                    fold.space.construct(METHODS[method], sizes, self.clock.left)
                scores = [fold.score(c, self.estimator, self.scorer) for c in finalists]
            if attempt.error:
                self._rows.pop()
                break
            if not np.isfinite(base).all():
                self._rows.pop()
                continue
            self._keep_fold(number, fold, base)
            for candidate, score in zip(finalists, scores, strict=True):
                board.add(candidate.label, candidate, number, score)
            board.records[label].seconds += self.clock.now() - started
            self._report(label, f"further fold {number + 1 - n_first}")
            if self.clock.left < self._costs.reserve:
                break
        if board.n_folds >= n_first + 2:
            board.n_choosing_folds = n_first

    def _finalists(self) -> list[Candidate]:
        """Return the best few candidates, then the best ones of other methods by themselves.

        The best few are often one method with this or that besides, and lucky or not together. A
        gain that varies much from fold to fold is luck more often than one that does not.
        """
        board = self.leaderboard

        def lower_bound(candidate: Candidate) -> float:
            gains = board.gains(candidate)
            return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains)))

        ranked = [c for c in board.finished() if board.mean_gain(c) > 0.0]
        ranked.sort(key=lower_bound, reverse=True)
        if ranked:
            # First fewer columns that are as good: where time is short, only the first is tried.
            most = board.mean_gain(ranked[0])
            no_better = [c for c in ranked if board.mean_gain(c) <= most]
            ranked = list(dict.fromkeys([board.smallest(no_better), *ranked]))
        best = ranked[:_N_FINALISTS]
        alone: dict[str, Candidate] = {}
        for candidate in ranked[_N_FINALISTS:]:
            if len(candidate.blocks) == 1 and candidate.methods not in [c.methods for c in best]:
                alone.setdefault(candidate.label, candidate)
        return [*best, *alone.values()][:_MAX_FINALISTS]

    def _n_affordable(self, finalists: Sequence[Candidate]) -> int:
        """Return the number of further folds that there is time for."""
        costs = self._costs
        seconds = costs.base + sum(costs.method_seconds(m, 0) for m in _methods_of(finalists))
        seconds += sum(costs.fit_seconds(candidate, self.folds[0]) for candidate in finalists)
        return int((self.clock.left - costs.reserve) / (SAFETY * seconds))

    def _compare_on_parts(self) -> None:
        """Where there was time for one fold only, compare its best candidate on parts of its rows.

        A gain that shows on every part should not be lost because there is one fold.
        """
        board = self.leaderboard
        best = board.best(board.finished())
        if board.n_folds != 1 or best is None:
            return
        fold = self.folds[0]
        if len(fold.held_out.y) < _N_PARTS * _MIN_PART_ROWS:
            return
        self._costs.expect(best)
        if not self._can_be_kept(best):
            return
        with Attempt(f"The comparison of {best.label!r} on parts of a fold") as attempt:
            ours, base = (
                [s.score for s in fold.score_parts(c, self.estimator, self.scorer, _N_PARTS)]
                for c in (best, ORIGINAL)
            )
        if not attempt.error:
            board.part_gains = best, np.subtract(ours, base)

    def _can_be_kept(self, candidate: Candidate) -> bool:
        """Whether there is time to compare a candidate on parts and to fit it on all rows."""
        costs, first = self._costs, self.folds[0]
        comparing = costs.fit_seconds(candidate, first) + costs.fit_seconds(ORIGINAL, first)
        a_fold = costs.base + sum(costs.method_seconds(m, 1) for m in candidate.methods)
        late = a_fold + _LATE_SHARE * self.clock.budget
        return comparing + costs.reserve <= self.clock.left + late

    def _check_on_all_rows(self) -> None:
        """Check whether a candidate that was found on some of the rows helps with all of them too.

        What helps a model that has few rows may hinder one that has many.
        """
        board = self.leaderboard
        candidate, _ = board.decide()
        if candidate == ORIGINAL or self._largest <= self._n_fold_rows:
            return
        needed = self._costs.reserve  # constructing and fitting once more on all rows
        gains: list[float] = []
        by_rows = sorted(range(self._n_folds), key=lambda number: -len(self._rows[number][0]))
        for number in by_rows[:_N_FULL_FOLDS]:
            if self.clock.left < 2.0 * needed:
                break
            with Attempt(f"The check of {candidate.label!r} with all rows") as attempt:
                fold, base = self._make_fold(number, len(self._rows[number][0]))
                for method in candidate.methods:
                    fold.space.construct(METHODS[method], (), self.clock.left)
                found = fold.score(candidate, self.estimator, self.scorer)
                gains.append(found.evidence - base.evidence)
            if attempt.error:
                break
        if gains and not np.mean(gains) > 0.0:
            board.disproved.add(candidate)
            outcome = Outcome(Status.STOPPED, Reason.NO_BETTER_ON_ALL_ROWS)
            board.records[candidate.label].outcome = outcome


def _methods_of(candidates: Sequence[Candidate]) -> list[str]:
    """Return the methods of some candidates, each once."""
    return list(dict.fromkeys(method for c in candidates for method in c.methods))
