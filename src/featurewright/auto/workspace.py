"""Training rows, what was constructed from them, and the folds that candidates are scored on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.estimators import fit_estimator, takes_categories
from featurewright.auto.failures import EstimatorError, ScoringError
from featurewright.auto.formulas import order_formulas
from featurewright.auto.methods import MAX_FORMULAS, METHODS, Method
from featurewright.auto.originals import Originals, learn_originals
from featurewright.auto.parts import KINDS, Part, category_places, learn_values, rate_formulas
from featurewright.auto.plan import Effort
from featurewright.auto.scoring import HeldOutScore, HeldOutScorer
from featurewright.auto.tasks import Request, Task, operators_of
from featurewright.auto.unexplained import unexplained
from featurewright.estimators.selection import by_residual, distinct, indicator_target
from featurewright.tables import EncodedTable, Schema

Matrix = NDArray[np.float64]
Places = NDArray[np.intp]

_JOINED = "joined"  # the pool of formulas of several methods, in one order
_MAX_STORED_BYTES = 2**28
_MIN_LAST_ROWS, _MAX_LAST_CELLS = 20_000, 6_000_000  # that the last construction sees


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with its target, as the search sees it.

    Parameters
    ----------
    table : EncodedTable
        The rows.
    y : ndarray
        The target as estimators see it.
    codes : ndarray
        The target as methods see it: class codes, or numbers.
    weights : ndarray or None
        Weights of the rows.
    task : Task
        What columns are constructed for.
    limit : int or None
        Largest number of constructed columns, where one was asked for.
    n_linked : int
        Number of columns over links, which are the last ones of the table. They are no original
        columns.
    """

    table: EncodedTable
    y: NDArray[Any]
    codes: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: Task
    limit: int | None
    n_linked: int = 0

    @property
    def own(self) -> EncodedTable:
        """The table without columns over links."""
        if not self.n_linked:
            return self.table
        schema, n_own = self.table.schema, self.table.shape[1] - self.n_linked
        first = Schema(
            schema.names[:n_own], schema.given_names, schema.domains[:n_own], schema.levels[:n_own]
        )
        return EncodedTable(self.table.matrix[:, :n_own], first)

    @property
    def target(self) -> Matrix:
        """The target as columns of numbers."""
        return indicator_target(self.codes, self.task.kind)

    def take(self, rows: Any) -> Problem:
        """Return the problem of some of the rows."""
        return Problem(
            EncodedTable(self.table.matrix[rows], self.table.schema),
            self.y[rows],
            self.codes[rows],
            None if self.weights is None else self.weights[rows],
            self.task,
            self.limit,
            self.n_linked,
        )

    def originals(self, estimator: Any) -> Originals:
        """Return the original columns for an estimator: codes of categories where it takes them."""
        codes = takes_categories(estimator)
        return learn_originals(self.own.matrix, self.own.schema, codes=codes)

    def sample(self, methods: Sequence[str], seed: int) -> Problem:
        """Return the rows that columns are constructed from in the end: of very many, a sample.

        Methods learn from a sample themselves, but for those that name rows.
        """
        n_rows, n_columns = self.table.shape
        most = max(_MIN_LAST_ROWS, _MAX_LAST_CELLS // max(1, n_columns))
        by_row = any(method in METHODS and METHODS[method].keeps_all_rows for method in methods)
        if n_rows <= most or by_row:
            return self
        return self.take(np.sort(np.random.default_rng(seed).permutation(n_rows)[:most]))


class ValueStore:
    """Values of constructed columns, up to a number of bytes; the least recently used go first.

    Parameters
    ----------
    max_bytes : int
        The limit.
    """

    def __init__(self, max_bytes: int = _MAX_STORED_BYTES) -> None:
        self.max_bytes = max_bytes
        # Weak keys: values are freed together with the fold that uses them.
        self._values: WeakKeyDictionary[MethodValues, NDArray[Any]] = WeakKeyDictionary()
        self._lock = Lock()  # threads construct side by side

    def get(self, owner: MethodValues) -> NDArray[Any] | None:
        """Return the values of an owner; None where there are none, or no more."""
        with self._lock:
            values = self._values.pop(owner, None)
            if values is not None:
                self._values[owner] = values  # the last one is the one used last
            return values

    def put(self, owner: MethodValues, values: NDArray[Any]) -> None:
        """Store the values of an owner, and drop others as needed."""
        if values.nbytes > self.max_bytes:
            return
        with self._lock:
            self._values[owner] = values
            while sum(stored.nbytes for stored in self._values.values()) > self.max_bytes:
                del self._values[next(iter(self._values))]


class MethodValues:
    """The columns that one method constructed, computed once for some rows.

    Parameters
    ----------
    part : Part
        The columns.
    table : EncodedTable
        The rows.
    store : ValueStore
        Where values are kept.
    """

    def __init__(self, part: Part, table: EncodedTable, store: ValueStore) -> None:
        self.part, self.table, self._store = part, table, store
        self._was_computed = False

    def all_columns(self, values: Matrix | None = None) -> Matrix:
        """Compute all columns, unless they are known, and store them."""
        self._was_computed = True
        if values is None:
            values = self.part.compute(self.table)
        indicator = KINDS[self.part.kind].is_indicator
        self._store.put(self, values.astype(bool) if indicator else values)
        return values

    def columns(self, places: Places) -> Matrix:
        """Return some of the columns, laid out in memory as `Part.compute` does it.

        Sums over columns depend on the layout in their last digits.
        """
        values = self._store.get(self)
        if values is None and self._was_computed:  # there is no room for all of them
            return self.part.take(places).compute(self.table)
        if values is None:
            values = self.all_columns()
        by_rows = values.flags.c_contiguous
        taken = np.take(values, places, axis=1) if by_rows else values[:, places]
        return np.asarray(taken, dtype=np.float64)


class Pool(NamedTuple):
    """The columns that one method constructed from the training rows, and their order."""

    train: MethodValues
    order: Places


@dataclass(frozen=True, eq=False)
class Found:
    """What a method, or the order of all formulas, found for a fold before it was asked for.

    Parameters
    ----------
    pool : str
        Name of the pool.
    methods : tuple of str
        Whose formulas were joined.
    sizes : tuple of int
        Numbers of columns that were asked for.
    part : Part
        The columns.
    order : ndarray of int
        Their order.
    blocks : list of Block
        The choices that are worth trying.
    seconds : float
        What constructing took.
    values : MethodValues or None
        The columns of the training rows, where they were computed in this process.
    """

    pool: str
    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    part: Part
    order: Places
    blocks: list[Block]
    seconds: float
    values: MethodValues | None

    @property
    def key(self) -> tuple[Any, ...]:
        """What was asked for."""
        return self.pool, self.methods, self.sizes


class TimedScore(NamedTuple):
    """A score, and the seconds that the fit took, and the fit with its score."""

    score: HeldOutScore
    fit_seconds: float
    score_seconds: float


class ChosenColumns(NamedTuple):
    """Some of the columns of one pool."""

    pool: str
    places: Places


class Workspace:
    """Training rows, of a fold or in the end all, and what methods constructed from them.

    Parameters
    ----------
    problem : Problem
        The rows.
    seed : int
        Seed of the methods.
    store : ValueStore
        Where values of constructed columns are kept.
    effort : Effort
        How much work methods do.

    Attributes
    ----------
    originals : Originals
        How the original columns become numbers.
    seconds : float
        What the last construction took.
    """

    def __init__(self, problem: Problem, seed: int, store: ValueStore, effort: Effort) -> None:
        self.problem, self.seed, self.store, self.effort = problem, seed, store, effort
        self.originals: Originals = problem.originals(None)
        self._base: Matrix | None = None
        self._pools: dict[str, Pool] = {}
        self._found: dict[tuple[Any, ...], Found] = {}
        self._with_codes: Originals | None = None
        self._unexplained: Matrix | None = None
        self._fitting = Lock()  # methods that run side by side wait for the same fits
        self.seconds = 0.0

    @property
    def base(self) -> Matrix:
        """The original columns as numbers, computed when they are needed."""
        found = self._base
        if found is None:
            matrix = np.asarray(self.problem.own.matrix, np.float64)
            found = self._base = self.originals.compute(matrix)
        return found

    def originals_for(self, estimator: Any) -> Originals:
        """Return the original columns for an estimator, as learned from the training rows."""
        if self.problem.table.schema.is_numeric or not takes_categories(estimator):
            return self.originals
        if self._with_codes is None:
            self._with_codes = self.problem.originals(estimator)
        return self._with_codes

    def aim(self) -> Matrix:
        """Return what formulas are to explain: the target, or what boosting leaves of it."""
        problem = self.problem
        if problem.task.corrects is None:
            return problem.target
        with self._fitting:
            if self._unexplained is None:
                self._unexplained = self._left_by(problem.task.corrects)
            return self._unexplained

    def _left_by(self, estimator: Any) -> Matrix:
        """Return what an estimator leaves unexplained out of fold, given the original columns."""
        problem, originals = self.problem, self.originals_for(estimator)
        columns = originals.compute(np.asarray(problem.own.matrix, np.float64))
        try:
            return unexplained(
                estimator,
                columns,
                problem.y,
                problem.task.kind,
                weights=problem.weights,
                categories=tuple(originals.categories),
                seed=self.seed,
            )
        except Exception as error:
            raise EstimatorError(
                f"the estimator failed with some of the rows: {type(error).__name__}: {error}"
            ) from error

    def construct(
        self, method: Method, sizes: Sequence[int], seconds: float | None = None
    ) -> list[Block]:
        """Run a method; return the choices of its columns that are worth trying.

        Without any sizes, nothing is tried: the columns are to be kept, and have their names, or
        are formulas that `join` puts in one order.
        """
        known = self._found.pop((method.name, (), tuple(sizes)), None)
        return self.keep(known or self.find(method, sizes, seconds, self.problem.task.n_jobs))

    def join(self, name: str, methods: Sequence[str], sizes: Sequence[int]) -> list[Block]:
        """Put the formulas of methods that were run in one order.

        Parameters
        ----------
        name : str
            How the result is called.
        methods : sequence of str
            The methods.
        sizes : sequence of int
            Numbers of formulas to try.

        Returns
        -------
        list of Block
            The choices that are worth trying.
        """
        known = self._found.pop((_JOINED, tuple(methods), tuple(sizes)), None)
        if known is None:
            known = self.find_order(name, [self.part(method) for method in methods], sizes)
        return self.keep(known)

    def keep(self, found: Found) -> list[Block]:
        """Keep columns as a pool; return the choices of them that are worth trying."""
        values = found.values
        if values is None:
            values = MethodValues(found.part, self.problem.table, self.store)
        self._pools[found.pool] = Pool(values, found.order)
        self.seconds = found.seconds
        return found.blocks

    def take_columns(self, other: Workspace) -> None:
        """Take over the columns that were found in other rows, to be computed for these."""
        for name, (found, order) in other._pools.items():
            values = MethodValues(found.part, self.problem.table, self.store)
            self._pools[name] = Pool(values, order)

    def knows(self, method: str, sizes: Sequence[int]) -> bool:
        """Whether a method was run before it was asked for."""
        return (method, (), tuple(sizes)) in self._found

    def knows_order(self, methods: Sequence[str], sizes: Sequence[int]) -> bool:
        """Whether formulas of methods were put in one order before that was asked for."""
        return (_JOINED, tuple(methods), tuple(sizes)) in self._found

    def take_over(self, found: Found) -> None:
        """Note what was found before it was asked for."""
        self._found[found.key] = found

    def find(
        self, method: Method, sizes: Sequence[int], seconds: float | None, n_jobs: int | None
    ) -> Found:
        """Run a method, and put its columns in order."""
        started = time.monotonic()
        problem = self.problem
        rows = self._rows(method)
        sample = problem if rows is None else problem.take(rows)
        weights = sample.weights
        if rows is not None and method.keeps_all_rows:
            sample, weights = problem, np.zeros(len(problem.y))
            weights[rows] = 1.0
        task, codes = replace(problem.task, n_jobs=n_jobs), sample.codes
        if method.readable and task.corrects is not None:
            rest = self.aim() if rows is None else self.aim()[rows]
            codes = rest[:, 0] if rest.shape[1] == 1 else rest
            task = replace(task, kind="regression", n_outputs=rest.shape[1])
        part, values = method.construct(
            Request(
                method.name,
                sample.table,
                codes,
                weights,
                task,
                self.seed,
                seconds,
                self.effort.scale,
                named=not sizes or method.readable,
                n_linked=problem.n_linked,
            )
        )
        train = MethodValues(part, problem.table, self.store)
        order, places = Order.OWN, np.empty(0, np.intp)
        if method.readable and sizes:
            values = train.all_columns(values if sample is problem else None)
            fresh = distinct(self.base, values)
            ranked = by_residual(self.base, values[:, fresh], self.aim(), max(sizes))
            order, places = Order.RESIDUAL, fresh[ranked]
        elif not method.readable:
            values = train.all_columns(values if sample is problem else None)
            places = _new_columns(self.base, part, values)
        # Formulas without sizes are wanted for one order with others.
        blocks = [Block(method.name, order, size) for size in sizes if len(places)]
        took = time.monotonic() - started
        return Found(method.name, (), tuple(sizes), part, places, blocks, took, train)

    def find_order(self, name: str, parts: Sequence[Part], sizes: Sequence[int]) -> Found:
        """Put the formulas of methods in one order; see `join`."""
        started = time.monotonic()
        problem = self.problem
        features = order_formulas(
            [feature for part in parts for feature in part.features[:MAX_FORMULAS]],
            problem.table,
            self.base,
            self.aim(),
            weights=problem.weights,
            wanted=max(sizes),
            max_size=problem.task.max_size,
            operators=operators_of(problem.table),
            n_polished=self.effort.n_polished,
            n_rows=self.effort.polish_rows,
            takes_sums=not problem.task.adds_up,
            takes_numbers=problem.task.takes_numbers,
            for_trees=problem.task.corrects is not None,
        )
        part, values = learn_values(name, "formula", problem.table, features=features)
        train = MethodValues(part, problem.table, self.store)
        train.all_columns(values)
        methods = tuple(part.method for part in parts)
        blocks = [Block(name, Order.JOINT, size) for size in sizes if len(features)]
        took, order = time.monotonic() - started, np.arange(len(features))
        return Found(_JOINED, methods, tuple(sizes), part, order, blocks, took, train)

    def _rows(self, method: Method) -> Any:
        """Return the rows a method learns from; None for all."""
        n_rows = len(self.problem.table.matrix)
        if n_rows <= method.max_rows:
            return None
        chosen = np.random.default_rng(self.seed).permutation(n_rows)[: method.max_rows]
        return np.sort(chosen)

    def width(self, block: Block) -> int:
        """Return the number of columns a block has here, where there may be fewer than asked."""
        return min(block.size, len(self._pools[_pool_of(block)].order))

    def has(self, pool: str) -> bool:
        """Whether the columns of a method are kept."""
        return pool in self._pools

    def part(self, pool: str) -> Part:
        """Return all columns that a method constructed."""
        return self._pools[pool].train.part

    @property
    def joined(self) -> Part | None:
        """The formulas of several methods in one order; None before they are joined."""
        return self.part(_JOINED) if _JOINED in self._pools else None

    def select(self, candidate: Candidate) -> list[ChosenColumns]:
        """Return the columns of a candidate, without those that earlier ones make redundant."""
        found: list[ChosenColumns] = []
        known = self.base
        room = self.problem.limit or candidate.n_columns
        for block in candidate.blocks:
            key = _pool_of(block)
            pool = self._pools[key]
            places = pool.order[: block.size]
            if found:
                values = pool.train.columns(places)
                new = _new_columns(known, pool.train.part, values)[: max(0, room)]
                places, values = places[new], values[:, new]
                known = np.hstack([known, values])
            elif len(candidate.blocks) > 1:
                known = self.columns([ChosenColumns(key, places)])
            room -= len(places)
            if len(places):
                found.append(ChosenColumns(key, places))
        return found

    def columns(
        self, chosen: Sequence[ChosenColumns], originals: Originals | None = None
    ) -> Matrix:
        """Return original and constructed columns of the training rows."""
        base = self.base
        if originals is not None and originals is not self.originals:
            base = originals.compute(np.asarray(self.problem.table.matrix, np.float64))
        values = [self._pools[pool].train.columns(places) for pool, places in chosen]
        return np.hstack([base, *values]) if values else base

    def rated_parts(self, chosen: Sequence[ChosenColumns], columns: Matrix) -> list[Part]:
        """Return chosen columns as parts of the output, their formulas with gains that compare."""
        parts = [self.part(pool).take(places) for pool, places in chosen]
        return rate_formulas(parts, columns, self.problem.target)


def _pool_of(block: Block) -> str:
    """Return the name of the pool that a block takes its columns from."""
    return _JOINED if block.order is Order.JOINT else block.method


def _new_columns(known: Matrix, part: Part, values: Matrix) -> Places:
    """Return the columns that are not redundant; indicators overlap little, and are many."""
    if KINDS[part.kind].is_indicator or KINDS[part.kind].is_category:
        return np.arange(values.shape[1])
    return distinct(known, values)


class Fold:
    """The rows of one fold, and what was constructed from its training rows.

    Parameters
    ----------
    space : Workspace
        The training rows.
    held_out : Problem
        The others.
    now : callable, default=time.monotonic
        Returns the time in seconds.

    Attributes
    ----------
    fit_seconds, score_seconds : float
        What the last fit took, and what it took with its score.
    base_seconds : float
        What making the fold and scoring the original columns took.
    base_fit_seconds, base_score_seconds : float
        What the fit with the original columns took, and what it took with its score.
    train : ndarray of int or None
        Numbers of the training rows among all rows, where they are noted.
    """

    def __init__(
        self, space: Workspace, held_out: Problem, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.space, self.held_out, self._now = space, held_out, now
        self.train: Places | None = None
        self._scores: dict[Candidate, TimedScore] = {}
        self._held_out_base: dict[Originals, Matrix] = {}
        self._held_out_values: dict[str, MethodValues] = {}
        self.fit_seconds = self.score_seconds = 0.0
        self.base_seconds = self.base_fit_seconds = self.base_score_seconds = 0.0

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.space.problem.y)

    def release(self) -> None:
        """Give up what can be computed again, while the fold is not in use."""
        self.space._base = None
        self._held_out_base.clear()

    def score_originals(
        self, estimator: Any, scorer: HeldOutScorer, started: float
    ) -> HeldOutScore:
        """Score the original columns, and note what the fold took since it was begun."""
        found = self.score(ORIGINAL, estimator, scorer)
        self.base_fit_seconds, self.base_score_seconds = self.fit_seconds, self.score_seconds
        self.base_seconds = self._now() - started
        return found

    def score_constant(self, scorer: HeldOutScorer) -> HeldOutScore | None:
        """Score a model that predicts the same for every row; None where it has no such score."""
        problem = self.space.problem
        numbers = problem.task.kind == "regression"
        model = DummyRegressor() if numbers else DummyClassifier()
        held_out = self.held_out
        try:
            fitted = model.fit(self.space.base, problem.y, sample_weight=problem.weights)
            rows = np.zeros((len(held_out.y), 1))  # whatever they are, the answer is the same
            found = scorer.measure(fitted, rows, held_out.y, held_out.weights)
        except ScoringError:
            return None
        return found if np.isfinite(found).all() else None

    def score(self, candidate: Candidate, estimator: Any, scorer: HeldOutScorer) -> HeldOutScore:
        """Fit an estimator with the columns of a candidate and score it on the held-out rows."""
        known = self._scores.pop(candidate, None)
        if known is None:
            return self.score_parts(candidate, estimator, scorer, 1)[0]
        score, self.fit_seconds, self.score_seconds = known
        return score

    def has_score(self, candidate: Candidate) -> bool:
        """Whether a candidate was scored before that was asked for."""
        return candidate in self._scores

    def take_over(self, scores: Mapping[Candidate, TimedScore]) -> None:
        """Note scores that were computed before they were asked for."""
        self._scores.update(scores)

    def score_parts(
        self, candidate: Candidate, estimator: Any, scorer: HeldOutScorer, n_parts: int
    ) -> list[HeldOutScore]:
        """Fit an estimator, and score it on each of some parts of the held-out rows."""
        started = self._now()
        chosen = self.space.select(candidate)
        originals = self.space.originals_for(estimator)
        model = self._fit(
            estimator,
            self.space.columns(chosen, originals),
            category_places(
                originals, ((self.space.part(pool).kind, len(places)) for pool, places in chosen)
            ),
            constructed=bool(chosen),
        )
        self.fit_seconds = self._now() - started
        if originals not in self._held_out_base:
            matrix = np.asarray(self.held_out.table.matrix, np.float64)
            self._held_out_base[originals] = originals.compute(matrix)
        values = (self._values(pool).columns(places) for pool, places in chosen)
        columns = np.hstack([self._held_out_base[originals], *values])
        found = []
        for first in range(n_parts):
            rows = slice(first, None, n_parts)
            weights = None if self.held_out.weights is None else self.held_out.weights[rows]
            found.append(scorer.measure(model, columns[rows], self.held_out.y[rows], weights))
        self.score_seconds = self._now() - started
        return found

    def _fit(
        self, estimator: Any, columns: Matrix, categories: Sequence[int], *, constructed: bool
    ) -> Any:
        """Fit an estimator on the training rows.

        If it fails with the original columns, its own error ends the search. If it fails with
        constructed ones, an `EstimatorError` rules out the candidate alone.
        """
        problem = self.space.problem
        try:
            return fit_estimator(estimator, columns, problem.y, problem.weights, categories)
        except Exception as error:
            if not constructed:
                raise
            raise EstimatorError(
                f"the estimator failed with these columns: {type(error).__name__}: {error}"
            ) from error

    def _values(self, pool: str) -> MethodValues:
        """Return the columns of a pool for the held-out rows."""
        part = self.space.part(pool)
        found = self._held_out_values.get(pool)
        if found is None or found.part is not part:  # a method may have been run again
            found = MethodValues(part, self.held_out.table, self.space.store)
            self._held_out_values[pool] = found
        return found
