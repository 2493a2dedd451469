"""The search: methods on folds, by stages of more and more rows; combinations; the proof."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.ahead import LookAhead
from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.choice import holds
from featurewright.auto.failures import Attempt, ScoringError
from featurewright.auto.formulas import is_found, sample_rows
from featurewright.auto.front import front_points
from featurewright.auto.leaderboard import Leaderboard, Record
from featurewright.auto.links import LinkSearch
from featurewright.auto.methods import (
    FORMULAS,
    METHODS,
    has_formulas,
    may_join,
    order_name,
    readable,
)
from featurewright.auto.outcomes import DONE, Outcome, Reason, Status
from featurewright.auto.plan import MAX_FIT_CELLS, Effort, Stage, column_sizes, make_stages
from featurewright.auto.scoring import HeldOutScore, HeldOutScorer
from featurewright.auto.timing import Clock, Costs
from featurewright.auto.units import FoldRows, needed_methods
from featurewright.auto.workspace import Fold, Problem, ValueStore, Workspace
from featurewright.expressions import Feature
from featurewright.tables import EncodedTable

_logger = logging.getLogger("featurewright")

Listener = Callable[[dict[str, Any]], None]

# Sizes.
_MIN_ROWS = 10  # below which nothing is constructed
_FIRST_SIZES = (10, 200)  # numbers of columns for a first look
_MAX_BLOCKS = 3  # methods that are joined
_N_PARTS = 4  # of the held-out rows, where there was time for one fold only
_MIN_PART_ROWS = 50
_N_CHECKED = 2  # candidates that are checked with more rows
# Shares of the best mean gain.
_FAR_BEHIND = 0.3  # below this a method is dropped after two folds
_TRAILING = 0.1  # by which a method trails the best in every fold, and is dropped
_N_COMPANIONS = 1  # methods without formulas that are kept even so: formulas may join them


class Search:
    """Score candidates of all methods on folds of the training rows.

    What is tried follows from the effort and the shape of the table. A large table is searched in
    stages: all methods on few rows, then the better ones on more. A clock with a limit may end the
    search before; what was finished by then decides.

    Parameters
    ----------
    problem : Problem
        All training rows.
    folds : sequence of (train, test)
        Row numbers.
    further : sequence of (train, test)
        Folds on which the best few candidates are tried.
    estimator : estimator
        The model that candidates are scored with.
    scorer : HeldOutScorer
        How it is scored.
    methods : sequence of str
        Names of methods.
    seed : int
        Seed.
    effort : Effort
        How much work to do.
    clock : Clock
        The time, and its limit where there is one.
    listen : callable
        Called with a dict whenever something was tried: method, stage, seconds, best_method,
        best_score, baseline, and the folds and training rows these are means of.
    store : ValueStore
        Where values of constructed columns are kept.
    skips_slow : bool
        Whether methods that are slow for the effort are left out.
    links : LinkSearch or None
        Finds columns over links in the training rows of each fold.

    Attributes
    ----------
    leaderboard : Leaderboard
        All scores of the last stage, and what became of the methods.
    folds : list of Fold
        The folds that were opened in it.
    joined : tuple of str
        The methods whose formulas are put in one order.
    n_scores : int
        Number of columns of a method with one for each class.
    stopped_by_time : bool
        Whether something was left out for lack of time.
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
        effort: Effort,
        clock: Clock,
        listen: Listener,
        store: ValueStore,
        skips_slow: bool = False,
        links: LinkSearch | None = None,
    ) -> None:
        self.problem, self.estimator, self.scorer = problem, estimator, scorer
        self.seed, self.effort, self.clock, self._listen = seed, effort, clock, listen
        self.store, self._links = store, links
        self.folds: list[Fold] = []
        self.joined: tuple[str, ...] = ()
        self.stopped_by_time = False
        self._rows, self._further = list(folds), list(further)
        self._n_folds = len(folds)  # asked for; those that cannot be scored are left out
        self._largest = max((len(train) for train, _ in folds), default=0)
        shares = [len(test) / max(1, len(train)) for train, test in folds]
        test_share = float(np.mean(shares)) if shares else 0.0
        self.leaderboard = Leaderboard(methods, test_share, needs_proof=bool(further))
        n_columns = max(1, problem.table.shape[1])
        n_classes = len(np.unique(problem.codes)) if problem.task.kind == "classification" else 0
        self.n_scores = n_classes if n_classes > 2 else 1
        self._stages = make_stages(effort, self._largest, n_columns, self.n_scores)
        self._n_fold_rows = self._stages[0].n_rows
        self._alive: list[str] = []
        for method in methods:
            reason = METHODS[method].refusal(problem.task, n_classes)
            if reason is None and skips_slow and METHODS[method].cost > effort.max_cost:
                reason = Reason.TOO_SLOW
            if reason is None and skips_slow and self._boosting and METHODS[method].tells_leaves:
                reason = Reason.FOUND_BY_BOOSTING
            if reason is None:
                self._alive.append(method)
            else:
                self._drop(method, Status.SKIPPED, reason)
        self._costs = Costs(len(problem.y), clock)
        self._ahead = LookAhead(
            problem,
            lambda: [*self._rows, *self._further],
            seed=seed,
            effort=effort,
            estimator=estimator,
            scorer=scorer,
            clock=clock,
            links=links,
            store=self.store,
            reserve=lambda: self._costs.reserve,
            report=self._report,
        )

    @property
    def _boosting(self) -> bool:
        """Whether the estimator boosts trees: its fits take long, and it gains from little."""
        return self.problem.task.corrects is not None

    def run(self) -> None:
        """Try the methods stage by stage, then combinations, then prove the best."""
        if not self._rows or len(self.problem.y) < _MIN_ROWS:
            for method in list(self._alive):
                self._drop(method, Status.SKIPPED, Reason.TOO_FEW_ROWS)
            return
        for stage in self._stages:
            self._run_stage(stage, is_last=stage is self._stages[-1])
            if self.stopped_by_time:
                break
        reason = Reason.NO_TIME if self.folds else Reason.UNDEFINED_SCORE
        for method in list(self._alive):
            if not self.leaderboard.was_tried(method):
                self._drop(method, Status.SKIPPED, reason)
        if not self.folds:
            return
        self._combine()
        self._confirm()
        self._compare_on_parts()
        self._check_with_more_rows()
        self._leave_out_late()
        first, label = self.leaderboard.n_choosing_folds, self.leaderboard.decide()[0].label
        self._report(label, "fitting on all rows", first)

    def _has_time(self, seconds: float) -> bool:
        """Whether there is time for something and for the last fit; if not, notes that."""
        if self._costs.has_time(seconds):
            return True
        self.stopped_by_time = True
        return False

    # Stages and folds ---------------------------------------------------------------------------

    def _run_stage(self, stage: Stage, *, is_last: bool) -> None:
        """Try the methods on the folds of a stage; without two folds, the stage before decides."""
        before = self.leaderboard, self.folds, self._n_fold_rows
        if self.folds:
            if stage.chooses:
                self._select_methods(self._stage_cost(stage))
            self.leaderboard = self.leaderboard.for_next_stage()
        self.folds, self._n_fold_rows = [], stage.n_rows
        self.joined = tuple(readable(self._alive)) if is_last else ()
        limit = len(self._rows) if stage.n_folds is None else stage.n_folds
        last_ahead = -1
        while len(self.folds) < min(limit, len(self._rows)) and self._open_fold():
            number = len(self.folds) - 1
            if number > last_ahead:
                last_ahead = self._last_undecided(number, stage, min(limit, len(self._rows)))
                self._look_ahead(range(number, last_ahead + 1), is_last=is_last)
            for method in sorted(self._entering(is_last=is_last), key=self._promise, reverse=True):
                self._try_method(method, number, is_last=is_last)
            self._try_formulas(number)
            self._drop_losers(number, stage)
        unproved = self.leaderboard.n_folds < 2 or not self.leaderboard.finished()
        if before[1] and self.stopped_by_time and unproved:
            records = self.leaderboard.records
            self.leaderboard, self.folds, self._n_fold_rows = before
            self.leaderboard.keep_outcomes(records)

    def _stage_cost(self, stage: Stage) -> float:
        """Return the largest sum of costs of the methods that a stage tries.

        It is halved from stage to stage: scores on few rows are too noisy to drop many at once.
        """
        n_later = len(self._stages) - 1 - self._stages.index(stage)
        return float(self.effort.stage_cost * 2.0**n_later)

    def _entering(self, *, is_last: bool) -> list[str]:
        """Return the methods that a stage tries.

        Methods with formulas are all tried in the last stage, so earlier ones leave them out. With
        a time budget the last stage may remain unfinished: then all stages try them.
        """
        if is_last or np.isfinite(self.clock.budget):
            return list(self._alive)
        return [method for method in self._alive if not has_formulas(method)]

    def _select_methods(self, max_cost: float) -> None:
        """Keep those with formulas, which are put in one order, and the best of the others."""
        others = [method for method in self._alive if not has_formulas(method)]
        left = max_cost
        for method in sorted(others, key=self._promise, reverse=True):
            left -= METHODS[method].cost
            if left < 0.0:
                left += METHODS[method].cost
                self._drop(method, Status.STOPPED, Reason.SCREENED_OUT)

    def _open_fold(self) -> bool:
        """Open a fold and score the original columns; False if there is none left, or no time."""
        number = len(self.folds)
        if number and not (self._alive and self._has_time(self._costs.base)):
            return False
        made = self._scored_fold(number, self._n_fold_rows)
        if made is None:
            return False
        self._keep_fold(number, *made)
        self._report(ORIGINAL.label, f"fold {number + 1} of {len(self._rows)}")
        return True

    def _make_fold(self, number: int, max_rows: int) -> tuple[Fold, HeldOutScore]:
        """Prepare a fold and score the original columns on it."""
        started = self.clock.now()
        fold = self._ahead.take_fold(number, max_rows)
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
            self._ahead.forget()
            self._n_folds -= 1
            n_left_out += 1
        if made is None and problem is not None and not self.folds:
            raise problem
        if n_left_out:
            _logger.warning(
                "Folds left out because the score is undefined in them: %d.", n_left_out
            )
        return made

    def _keep_fold(self, number: int, fold: Fold, score: HeldOutScore) -> None:
        """Keep a fold and the score of the original columns on it."""
        self.folds.append(fold)
        self.leaderboard.add(ORIGINAL.label, ORIGINAL, number, score)
        constant = fold.score_constant(self.scorer)
        if constant is not None:
            self.leaderboard.constants[number] = constant
        self.leaderboard.records[ORIGINAL.label].seconds += self._costs.base

    # Methods ------------------------------------------------------------------------------------

    def _try_method(self, method: str, number: int, *, is_last: bool) -> None:
        """Run a method on a fold and score candidates of its columns, if there is time."""
        record = self.leaderboard.records[method]
        expected = self._costs.method_seconds(method, len(self._sizes(method)))
        sizes = self._sizes_in_stage(method, number, is_last=is_last)
        is_known = self.folds[number].space.knows(method, sizes)
        if not is_known and not self._has_time(expected or self._costs.base):
            if record.outcome == DONE:
                record.outcome = Outcome(Status.STOPPED, Reason.NO_TIME)
            return
        found = self._measure(method, self.folds[number], sizes)
        for candidate, score in found.items():
            self.leaderboard.add(method, candidate, number, score)
        if found:
            self._report(method, f"fold {number + 1} of {len(self._rows)}")

    def _sizes_in_stage(self, method: str, number: int, *, is_last: bool) -> list[int]:
        """Return the numbers of columns of a method that a stage tries in a fold.

        Formulas of one method compete with nothing but with those of others: what is chosen is the
        order of all formulas. One fold shows how they compare where each fit takes long.
        """
        sizes = self._sizes(method)
        if not is_last:
            return [size for size in sizes if size in _FIRST_SIZES] or sizes[:1]
        if method in self.joined and len(self.joined) > 1:
            return [] if self._boosting and number else sizes[-1:]
        return sizes

    def _measure(
        self, method: str, fold: Fold, sizes: Sequence[int]
    ) -> dict[Candidate, HeldOutScore]:
        """Construct and score candidates; a method that fails is dropped."""
        started = self.clock.now()
        record = self.leaderboard.records[method]
        found: dict[Candidate, HeldOutScore] = {}
        with Attempt(f"The method {method!r}") as attempt:
            is_known = fold.space.knows(method, sizes)
            blocks = fold.space.construct(METHODS[method], sizes, self._costs.limit(method))
            took = fold.space.seconds if is_known else self.clock.now() - started
            self._costs.record_construction(method, fold, took)
            record.seconds += took if is_known else 0.0
            if not blocks and not record.candidates:
                self._drop(method, Status.SKIPPED, Reason.NOTHING_NEW)
            found = self._score_blocks(blocks, fold)
        if attempt.error:
            self._drop_with(method, attempt.outcome)
            found = {}
        record.seconds += self.clock.now() - started
        return found

    def _score_blocks(self, blocks: Sequence[Block], fold: Fold) -> dict[Candidate, HeldOutScore]:
        """Score choices of columns of one pool, the best so far first."""
        found: dict[Candidate, HeldOutScore] = {}
        known: dict[int, HeldOutScore] = {}
        # Where time is short, the best so far must not be the one left out.
        alone = [Candidate((block,)) for block in blocks]
        candidates = sorted(alone, key=self._known_gain, reverse=True)
        for candidate in candidates:
            (block,) = candidate.blocks
            # Where there are fewer columns than asked for, two sizes are one candidate.
            width = fold.space.width(block)
            if width not in known:
                is_next = not found or fold.has_score(candidate)
                if not is_next and not self._has_time(self._costs.next_fit(block, fold)):
                    continue
                known[width] = self._score(candidate, fold)
            found[candidate] = known[width]
        return found

    def _score(self, candidate: Candidate, fold: Fold) -> HeldOutScore:
        """Score a candidate on a fold, and record what that took."""
        score = fold.score(candidate, self.estimator, self.scorer)
        self._costs.record_fit(candidate, fold)
        return score

    def _sizes(self, method: str) -> list[int]:
        """Return the numbers of columns of a method to try."""
        front = self.effort.sizes_for(boosting=self._boosting)
        sizes = front if method == FORMULAS else METHODS[method].sizes
        if not sizes:
            return [min(self.n_scores, self.problem.limit or self.n_scores)]
        return column_sizes(
            sizes,
            self.effort,
            len(self.problem.y),
            self._stages[-1].n_rows,
            formulas=has_formulas(method),
            boosting=self._boosting,
            limit=self.problem.limit,
        )

    def _try_formulas(self, number: int) -> None:
        """Score the formulas of several methods in one order, by how many of them are taken."""
        if not self.joined:
            return
        fold, label = self.folds[number], self._joined_label
        started = self.clock.now()
        sizes = self._sizes(FORMULAS)
        is_known = fold.space.knows_order(self.joined, sizes)
        expected = self._costs.method_seconds(label, 1) or self._costs.base
        # A method for which there was no time in this fold may be one that the order would need.
        able = is_known or all(fold.space.has(method) for method in self.joined)
        if not able or not (is_known or self._has_time(expected)):
            return
        record = self.leaderboard.records.setdefault(label, Record())
        with Attempt("The order of all formulas") as attempt:
            blocks = self._join(fold.space, sizes)
            took = fold.space.seconds if is_known else self.clock.now() - started
            self._costs.record_construction(label, fold, took)
            record.seconds += took if is_known else 0.0
            for candidate, score in self._score_blocks(blocks, fold).items():
                self.leaderboard.add(label, candidate, number, score)
        if attempt.error:
            record.outcome = attempt.outcome
            self.joined = ()
        record.seconds += self.clock.now() - started
        self._report(label, f"fold {number + 1} of {len(self._rows)}")

    @property
    def _joined_label(self) -> str:
        """How formulas in one order are called."""
        return order_name(self.joined)

    def _join(self, space: Workspace, sizes: Sequence[int]) -> list[Block]:
        """Put the formulas of the methods that were run into one order."""
        return space.join(self._joined_label, self.joined, sizes)

    def construct(
        self, space: Workspace, candidates: Sequence[Candidate], *, is_last: bool = False
    ) -> None:
        """Construct all columns that candidates need; `is_last` keeps time to fit the first one."""
        methods, order_sizes = needed_methods(candidates, self.joined)
        for method, sizes in methods.items():
            limit = self._costs.last_limit(candidates[0]) if is_last else self._costs.limit(method)
            space.construct(METHODS[method], sizes, limit)
        if order_sizes:
            self._join(space, order_sizes)

    # Ahead of the decisions ---------------------------------------------------------------------

    def _last_undecided(self, number: int, stage: Stage, limit: int) -> int:
        """Return the last of the folds that try the same methods as a fold, whatever they score.

        From the third fold on few methods are dropped: the remaining folds are run together.
        """
        one_stage = stage is self._stages[0] and stage.n_folds is None
        if number > 1 or not (one_stage or stage.n_folds is None):
            return limit - 1
        return min(limit - 1, number if one_stage else 1)

    def _look_ahead(self, numbers: Sequence[int], *, is_last: bool) -> None:
        """Run the methods on some folds side by side, then the order of all formulas there.

        The first of the folds is open. Results wait in the folds until they are asked for.
        """
        if not self._ahead.pays:
            return
        entering = sorted(self._entering(is_last=is_last), key=self._promise, reverse=True)
        sizes = {
            (number, method): self._sizes_in_stage(method, number, is_last=is_last)
            for number in numbers
            for method in entering
        }
        where = self.folds[numbers[0]], numbers, self._n_fold_rows
        found = self._ahead.run_methods(*where, sizes)
        if self.joined:
            wanted = tuple(self._sizes(FORMULAS))
            self._ahead.run_orders(*where, methods=self.joined, sizes=wanted, found=found)

    def _drop_losers(self, number: int, stage: Stage) -> None:
        """Drop methods that lose, by how many folds they have been tried on.

        Methods with formulas stay in the last stage: their formulas are put in one order. For
        boosting, whose fits take long and which other columns seldom help, these must gain on the
        first fold, and any number of formulas on one of two.
        """
        if self.stopped_by_time:
            return
        able = [method for method in self._alive if method not in self.joined]
        leader = max((self._promise(method) for method in self._alive), default=0.0)
        for method in able:
            if self._loses_everywhere(method, 1 if self._boosting else 2):
                self._drop(method, Status.STOPPED, Reason.WORSE)
            elif number >= 1 and self._promise(method) < _FAR_BEHIND * leader:
                self._drop(method, Status.STOPPED, Reason.FAR_BEHIND)
        if number >= 1:
            self._drop_trailing()
        if self._boosting and self._loses_everywhere(self._joined_label, 2):
            # They are in one order in the end all the same, for a user who wants a few formulas.
            for label in (*self.joined, self._joined_label):
                self.leaderboard.records[label].outcome = Outcome(Status.STOPPED, Reason.WORSE)
            self._alive = [method for method in self._alive if method not in self.joined]
        if stage is not self._stages[0] or stage.n_folds is not None:
            return
        # A small table has one stage: methods become fewer from fold to fold instead.
        self._select_methods(self.effort.stage_cost * (2.0 if number == 0 else 1.0))

    def _drop_trailing(self) -> None:
        """Drop methods without formulas, but for the best few, that trail the leader everywhere."""
        board = self.leaderboard
        leader = board.best(board.finished())
        others = [method for method in self._alive if not has_formulas(method)]
        ranked = sorted(others, key=self._promise, reverse=True)
        if leader is None:
            return
        gains = board.gains(leader)
        for method in ranked[_N_COMPANIONS:]:
            best = board.best(board.complete(method))
            behind = best is not None and np.all(
                board.gains(best) < gains - _TRAILING * gains.mean()
            )
            if behind:
                self._drop(method, Status.STOPPED, Reason.FAR_BEHIND)

    def _drop(self, method: str, status: Status, reason: Reason) -> None:
        """Try a method no more."""
        self._drop_with(method, Outcome(status, reason))

    def _drop_with(self, method: str, outcome: Outcome) -> None:
        """Try a method no more, with an outcome."""
        self.leaderboard.records[method].outcome = outcome
        self.joined = tuple(name for name in self.joined if name != method)
        if method in self._alive:
            self._alive.remove(method)

    # What is known so far -----------------------------------------------------------------------

    def _promise(self, method: str) -> float:
        """Return the best mean gain of a method so far, in this stage or in the one before."""
        return self.leaderboard.best_gain(method)

    def _loses_everywhere(self, label: str, n_folds: int) -> bool:
        """Whether whatever was tried of a method on some folds or more loses in all of them."""
        board = self.leaderboard
        record = board.records.get(label)
        listed = [c for c in record.candidates if board.n_scores(c) >= n_folds] if record else []
        return bool(listed) and all(map(board.loses_everywhere, listed))

    def _known_gain(self, candidate: Candidate) -> float:
        """Return the mean gain of a candidate in the folds; 0 without any."""
        if self.leaderboard.scores.get(candidate):
            return self.leaderboard.mean_gain(candidate)
        return 0.0

    def _report(self, method: str, stage: str, first: int = 0) -> None:
        """Report to the listener what was tried and the best so far, in folds from a first on."""
        board = self.leaderboard
        ranked = sorted(board.finished(), key=board.mean_gain, reverse=True)
        self._costs.expect(ranked, self.joined)
        self._listen(board.event(method, stage, self.clock.spent, self._n_fold_rows, first))

    # What was found ------------------------------------------------------------------------------

    def front(self, kept: Candidate) -> list[dict[str, Any]]:
        """Return the held-out scores by number of formulas; see `front_points`."""
        board = self.leaderboard
        first = board.n_choosing_folds or board.n_folds
        base = board.fold_scores(ORIGINAL)[:first]
        scores: dict[int, list[float]] = {}
        for candidate in board.scores:
            is_joint = [block.order is Order.JOINT for block in candidate.blocks] == [True]
            found = board.fold_scores(candidate)[:first]
            if is_joint and len(found) == len(base):
                scores[candidate.n_columns] = found
        n_kept = kept.n_columns if kept.methods == (self._joined_label,) else None
        return front_points(scores, base, board.test_share, 0 if kept == ORIGINAL else n_kept)

    def longest_path(self) -> list[Candidate]:
        """Return the candidate of most formulas in one order; none where there was no time."""
        if not self.joined or self.stopped_by_time:
            return []
        path = Candidate((Block(self._joined_label, Order.JOINT, max(self._sizes(FORMULAS))),))
        self.stopped_by_time = not self._costs.affords(path)
        return [] if self.stopped_by_time else [path]

    def stability(self, features: Sequence[Feature], table: EncodedTable) -> NDArray[np.float64]:
        """Return for each formula the share of folds in which it was found.

        The table has all rows, with the columns of the formulas. A formula that ranks the rows
        almost alike is the same one.
        """
        chosen = [feature.expression for feature in features]
        shares = np.zeros(len(chosen))
        n_paths = 0
        for fold in self.folds:
            path = fold.space.joined
            if path is not None:
                found = [feature.expression for feature in path.features[: 2 * len(chosen)]]
                shares += is_found(chosen, found, *self._comparable(fold, table))
                n_paths += 1
        return shares / max(1, n_paths)

    def _comparable(self, fold: Fold, table: EncodedTable) -> tuple[EncodedTable, EncodedTable]:
        """Return the same rows as formulas over all rows see them, and as those of a fold do."""
        if self._links is None:
            rows = sample_rows(table)
            return rows, rows
        # Every fold has columns over links of its own, known for its own rows.
        ours = EncodedTable(table.matrix[fold.train], table.schema)
        return sample_rows(ours), sample_rows(fold.space.problem.table)

    # Combinations -------------------------------------------------------------------------------

    def _combine(self) -> None:
        """Join columns of several methods, greedily."""
        board = self.leaderboard
        if board.n_folds < 2 or self.stopped_by_time:
            return
        best = board.best(board.finished())
        able = [m for m in board.records if m != ORIGINAL.label and board.complete(m)]
        eligible = board.finished()
        while best is not None and len(best.blocks) < _MAX_BLOCKS:
            others = [
                found
                for method in able
                if may_join(method, best.methods)
                and (found := board.best(c for c in board.complete(method) if c in eligible))
            ]
            trials = []
            for other in sorted(others, key=board.mean_gain, reverse=True):
                trial = Candidate((*best.blocks, *other.blocks))
                fits = trial.n_columns * len(self.problem.y) <= MAX_FIT_CELLS
                if fits and self._try_combination(trial, rival=best):
                    trials.append(trial)
            better = board.best([*trials, best])
            if better is None or better == best:
                break
            best = better

    def _try_combination(self, candidate: Candidate, rival: Candidate) -> bool:
        """Score a combination on all folds; False where it loses to a rival, or without time."""
        board, n_folds = self.leaderboard, self.leaderboard.n_folds
        if not self._has_time(n_folds * self._costs.fit_seconds(candidate, self.folds[0])):
            return False
        started = self.clock.now()
        record = board.records.setdefault(candidate.label, Record())
        n_done = 0
        with Attempt(f"The combination {candidate.label!r}") as attempt:
            for number in range(n_folds):
                score = self._score(candidate, self.folds[number])
                board.add(candidate.label, candidate, number, score)
                n_done += 1
                others = board.gains(rival)[:2]
                if number == 1 and np.all(board.gains(candidate) <= others):
                    break
        if attempt.error:
            record.outcome = attempt.outcome
        record.seconds += self.clock.now() - started
        if n_done == n_folds:
            record.outcome = DONE
        elif record.outcome == DONE and not board.complete(candidate.label):
            record.outcome = Outcome(Status.STOPPED, Reason.NO_BETTER_JOINED)
        self._report(candidate.label, "combination")
        return n_done == n_folds

    # Proof --------------------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Try the best few candidates on further folds, unless the choice is clear already.

        The score of the best of many candidates on few rows is partly chance; other folds show it.
        One that loses on the first two of them is tried on no more.
        """
        board, n_first = self.leaderboard, self._n_folds
        if not self._further or board.n_folds < max(2, n_first) or board.is_beyond_doubt():
            return
        finalists = board.finalists(self.effort.n_finalists)
        if not finalists:
            return
        label = finalists[0].label
        numbers = range(len(self._rows), len(self._rows) + len(self._further))
        if self._ahead.pays:
            self._ahead.run_candidates(numbers, self._n_fold_rows, finalists, self.joined)
        while self._further:
            number, started = len(self._rows), self.clock.now()
            is_known = self._ahead.has_fold(number, self._n_fold_rows)
            if not is_known and not self._has_time(self._fold_seconds(finalists)):
                break
            self._rows.append(self._further.pop(0))
            with Attempt(f"A further fold with {label!r}") as attempt:
                fold, base = self._make_fold(number, self._n_fold_rows)
                self.construct(fold.space, finalists)
                scores = [fold.score(c, self.estimator, self.scorer) for c in finalists]
            if attempt.error:
                self._rows.pop()
                break
            if not np.isfinite(base).all():
                self._rows.pop()
                self._ahead.forget()
                continue
            self._keep_fold(number, fold, base)
            for candidate, score in zip(finalists, scores, strict=True):
                board.add(candidate.label, candidate, number, score)
            board.records[label].seconds += self.clock.now() - started
            self._report(label, f"further fold {number + 1 - n_first}", n_first)
            if board.n_folds >= n_first + 2:
                finalists = [c for c in finalists if not board.loses_everywhere(c, n_first)]
            if not finalists:
                break
        if board.n_folds >= n_first + 2:
            board.n_choosing_folds = n_first

    def _fold_seconds(self, candidates: Sequence[Candidate]) -> float:
        """Return the expected seconds of a fold with some candidates."""
        costs = self._costs
        methods = dict.fromkeys(m for c in candidates for m in (*c.methods, *self.joined))
        seconds = costs.base + sum(costs.method_seconds(method, 0) for method in methods)
        return seconds + sum(costs.fit_seconds(c, self.folds[0]) for c in candidates)

    def _compare_on_parts(self) -> None:
        """Where there was time for one fold only, compare its best candidate on parts of its rows.

        A gain that shows on every part should not be lost because there is one fold.
        """
        board = self.leaderboard
        best = board.best(board.finished())
        if board.n_folds != 1 or best is None:
            return
        highest = board.mean_gain(best)
        best = board.smallest(c for c in board.finished() if board.mean_gain(c) <= highest)
        fold = self.folds[0]
        if len(fold.held_out.y) < _N_PARTS * _MIN_PART_ROWS:
            return
        fits = sum(self._costs.fit_seconds(c, fold) for c in (best, ORIGINAL))
        if not self._costs.affords(best, fits - self._costs.base):
            return
        with Attempt(f"The comparison of {best.label!r} on parts of a fold") as attempt:
            ours, base = (
                [s.score for s in fold.score_parts(c, self.estimator, self.scorer, _N_PARTS)]
                for c in (best, ORIGINAL)
            )
        if not attempt.error:
            board.part_gains = best, np.subtract(ours, base)

    def _leave_out_late(self) -> None:
        """Rule out candidates whose columns of all rows cannot be computed in the time left."""
        board = self.leaderboard
        while (found := board.decide()[0]) != ORIGINAL and not self._costs.affords(found):
            self.stopped_by_time = True
            board.disproved.add(found)
            board.part_gains = None
            board.records[found.label].outcome = Outcome(Status.STOPPED, Reason.NO_TIME)

    def _check_with_more_rows(self) -> None:
        """Check whether a candidate that was found on some of the rows helps with more too.

        Columns that help with few rows may do harm with many. If they do, the next best candidate
        is checked, and no other.
        """
        board = self.leaderboard
        n_rows = min(self._largest, self.effort.check_rows)
        for _ in range(_N_CHECKED):
            candidate, _ = board.decide()
            if candidate == ORIGINAL or n_rows <= self._n_fold_rows:
                return
            gains = np.array(self._gains_with_more_rows(candidate, n_rows))
            if not len(gains) or holds(gains, board.test_share, self.effort.n_check_folds):
                return
            board.disproved.add(candidate)
            outcome = Outcome(Status.STOPPED, Reason.NO_BETTER_ON_ALL_ROWS)
            board.records[candidate.label].outcome = outcome
        board.disproved.update(board.finished())

    def _gains_with_more_rows(self, candidate: Candidate, n_rows: int) -> list[float]:
        """Return the gains of a candidate on the largest folds; none where there is no time."""
        # Without folds for the check, boosting has all folds, and the columns found before.
        gains: list[float] = []
        n_folds = finds = self.effort.n_check_folds
        if not finds and self._boosting:
            n_folds = min(self._n_folds, len(self.folds))
        by_rows = sorted(range(self._n_folds), key=lambda number: -len(self._rows[number][0]))
        for number in by_rows[:n_folds] if finds else range(n_folds):
            if not self._has_time(self._costs.reserve):
                break
            with Attempt(f"The check of {candidate.label!r} with more rows") as attempt:
                fold, base = self._make_fold(number, n_rows)
                if finds:
                    self.construct(fold.space, [candidate])
                else:
                    fold.space.take_columns(self.folds[number].space)
                found = fold.score(candidate, self.estimator, self.scorer)
                gains.append(found.evidence - base.evidence)
            if attempt.error:
                break
        return gains
