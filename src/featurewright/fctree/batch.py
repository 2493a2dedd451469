"""Two-step construction: enumerate every feature, then keep the best."""

from __future__ import annotations

import heapq
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import (
    STATE,
    GrowContext,
    GrownTree,
    Target,
    TreeBuffers,
    make_record,
)
from featurewright.engine.grammar import user_operators
from featurewright.engine.grow import kernel_addresses
from featurewright.engine.growth import order_rows
from featurewright.engine.node_search import prepare
from featurewright.engine.search import score_programs
from featurewright.engine.threads import Halt, local_threads, run_in_threads
from featurewright.engine.weighted import gain_unit, is_symmetric_up_to_sign
from featurewright.estimators.base import ConstructiveLearner, some_rows
from featurewright.estimators.construction import (
    Construction,
    Limits,
    count_levels,
    make_settings,
)
from featurewright.estimators.parameters import (
    Parameter,
    documented,
    keep_arguments,
    optional,
    whole,
    within,
)
from featurewright.estimators.progress import compilation_notice, progress
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import (
    CLASS_WEIGHT,
    MAX_TIME,
    MIN_SAMPLES_LEAF,
    OPERATORS,
    OUTPUT,
    RANDOM_STATE,
    RUNNING,
    any_criterion,
    worded,
)
from featurewright.estimators.units import chosen_backend, run_units
from featurewright.expressions import (
    Domain,
    Feature,
    Operator,
    accepts,
    from_program,
    operator_opcode,
    resolve_operators,
)
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol
from featurewright.fctree.planning import is_constant, no_operands, plan, six_or_named
from featurewright.tables import Schema

BLOCK = 1024  # choices of operands of a block; more where an operator has very many
_MAX_BLOCKS = 100_000  # of an operator
_MAX_CANDIDATES = 10**10  # of an operator: hours, or as far as `max_time` allows
_SPARE = 10  # candidates that are scored again at finer thresholds, for each feature asked for
_TRIAL = 16  # candidates scored to estimate the time of all
_logger = logging.getLogger("featurewright")

# A kept candidate: its score, the negative number of its place in the one order of all candidates
# (of two that score alike the first is better), and its program.
Kept = tuple[float, int, tuple[int, ...]]


@dataclass(frozen=True)
class Block:
    """Candidates of one operator: those whose choices of operands have numbers in a range."""

    operator: int
    first: int  # numbers of choices, from this one
    last: int  # to before this one


class Candidates:
    """All features of one operator that a table allows, none of them held in memory.

    The choices of operands are numbered, the last operand changing fastest. Where the order of the
    operands is irrelevant, the choices are the combinations of columns; else all tuples, of which
    those with a repeated operand are no candidates. The choices of a test for a level are columns
    with a level.

    Parameters
    ----------
    operators : sequence of Operator
        What is applied to columns.
    domains : ndarray of int8
        Domain of each column.
    n_levels : ndarray of int64
        Levels of each Category column.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        domains: npt.NDArray[np.int8],
        n_levels: npt.NDArray[np.int64],
    ) -> None:
        self.operators = tuple(operators)
        self.width = 1 + max((operator.arity for operator in operators), default=1)
        # The columns that each domain accepts, in order.
        self._columns = {
            domain: np.flatnonzero([accepts(domain, Domain(int(given))) for given in domains])
            for domain in Domain
        }
        levels = [np.arange(count) for count in n_levels]
        self._level_columns = np.repeat(np.arange(len(n_levels)), n_levels)
        self._levels = np.concatenate([*levels, np.empty(0, np.int64)]).astype(np.int64)
        users = user_operators(operators)
        self._opcodes = [operator_opcode(operator, users) for operator in operators]

    def _sizes(self, operator: Operator) -> list[int]:
        """Return how many columns each operand may be."""
        return [len(self._columns[domain]) for domain in operator.inputs]

    def _n_choices(self, operator: Operator) -> int:
        """Return the number of choices of operands."""
        if operator.has_level:
            return len(self._levels)
        sizes = self._sizes(operator)
        if is_symmetric_up_to_sign(operator):
            return math.comb(sizes[0], operator.arity)
        return math.prod(sizes)

    def count(self, number: int) -> int:
        """Return the number of candidates of an operator."""
        operator = self.operators[number]
        if operator.has_level or is_symmetric_up_to_sign(operator):
            return self._n_choices(operator)
        total = 1
        taken: Counter[Domain] = Counter()
        # Numbers accept Booleans: those are taken first.
        for domain in sorted(operator.inputs, key=lambda domain: len(self._columns[domain])):
            before = sum(count for other, count in taken.items() if accepts(domain, other))
            total *= max(0, len(self._columns[domain]) - before)
            taken[domain] += 1
        return total

    def blocks(self) -> list[Block]:
        """Return all candidates as blocks."""
        found = []
        for number, operator in enumerate(self.operators):
            total = self._n_choices(operator)
            size = max(BLOCK, -(-total // _MAX_BLOCKS))
            found += [
                Block(number, first, min(first + size, total)) for first in range(0, total, size)
            ]
        return found

    def programs(self, block: Block) -> npt.NDArray[np.int32]:
        """Return the programs of a block's candidates, always in the same order."""
        operator, opcode = self.operators[block.operator], self._opcodes[block.operator]
        numbers = np.arange(block.first, block.last)
        if operator.has_level:
            out = np.full((len(numbers), self.width), END, np.int32)
            out[:, 0] = self._level_columns[numbers]
            out[:, 1] = operator_symbol(IS, self._levels[numbers])
            return out
        operands = self._operands(operator, numbers)
        out = np.full((len(operands), self.width), END, np.int32)
        out[:, : operator.arity] = operands
        out[:, operator.arity] = -1 - opcode
        return out

    def _operands(
        self, operator: Operator, numbers: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the operands of numbered choices, without those that are no candidates."""
        sizes = self._sizes(operator)
        if is_symmetric_up_to_sign(operator):
            return self._columns[operator.inputs[0]][
                numbered_combinations(sizes[0], operator.arity, numbers)
            ]
        places = np.unravel_index(numbers, sizes)
        operands = np.column_stack(
            [
                self._columns[domain][place]
                for domain, place in zip(operator.inputs, places, strict=True)
            ]
        )
        return operands[(np.diff(np.sort(operands, axis=1), axis=1) > 0).all(axis=1)]


def numbered_combinations(
    n: int, size: int, numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the combinations of `size` of 0, ..., n - 1 that have these places in their list.

    Examples
    --------
    >>> numbered_combinations(4, 2, np.arange(6)).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    out = np.empty((len(numbers), size), np.int64)
    rest = numbers.copy()
    least = np.zeros(len(numbers), np.int64)
    for place in range(size):
        left = size - place
        # Combinations of `left` numbers that begin with less than each number.
        before = np.array([math.comb(n, left) - math.comb(n - k, left) for k in range(n + 1)])
        rest += before[least]
        out[:, place] = np.searchsorted(before, rest, side="right") - 1
        rest -= before[out[:, place]]
        least = out[:, place] + 1
    return out


def check_count(candidates: Candidates, schema: Schema) -> None:
    """Refuse operators with more candidates than can be scored, or without any."""
    operators = candidates.operators
    if operators and not any(candidates.count(number) for number in range(len(operators))):
        raise no_operands(operators, schema)  # there are columns, but not enough different ones
    for number, operator in enumerate(candidates.operators):
        if candidates.count(number) > _MAX_CANDIDATES:
            raise ValueError(
                f"operator {operator.name!r} of {operator.arity} operands makes "
                f"{candidates.count(number):.1e} features of these columns, but at most "
                f"{_MAX_CANDIDATES:.0e} can be scored; give fewer columns, or draw some of them "
                "with FCTreeClassifier or FCTreeRegressor."
            )


class _Best:
    """The best candidates so far: a heap of bounded size that threads share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.heap: list[Kept] = []
        self._lock = threading.Lock()

    def offer(self, scores: npt.NDArray[np.float32], programs: Any, first: int) -> None:
        """Keep what is better than the worst that is kept; the order of offers does not matter."""
        good = np.flatnonzero(np.isfinite(scores))
        if len(good) > self.size:
            # Stable, so that of equals the first stay.
            good = good[np.argsort(-scores[good], kind="stable")[: self.size]]
        with self._lock:
            for k in good:
                entry = (float(scores[k]), -(first + int(k)), tuple(programs[k].tolist()))
                if len(self.heap) < self.size:
                    heapq.heappush(self.heap, entry)
                elif entry > self.heap[0]:
                    heapq.heapreplace(self.heap, entry)

    def merge(self, entries: Iterable[Kept]) -> None:
        """Keep the best of further candidates."""
        self.heap = heapq.nlargest(self.size, [*self.heap, *entries])[::-1]

    def ranked(self) -> list[Kept]:
        """Return the best candidates, best first."""
        return sorted(self.heap, reverse=True)


@documented(
    publication=cited(
        "fctree",
        """
This is the exhaustive method, called TFC, to which the publication compares feature construction
trees. `featurewright.published("tfc")` has its settings, which are the defaults.
""",
    ),
)
class BatchConstructor(ConstructiveLearner):
    """Apply every operator to every choice of columns, and keep what separates all rows best.

    The number of candidates grows with the square of the number of columns if operators have two
    operands, and with the cube if they have three. Candidates are scored a block at a time, and
    only the best are kept in memory. `FCTreeClassifier` looks at far fewer.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    features_ : tuple of Feature
        The kept features, best first. `gain` is the gain of the best split of all rows: in bits per
        row with "entropy", a share of the sum of squares for numbers. It is not a share of the gain
        of all splits, as it is for trees.
    n_candidates_ : int
        Features that were scored.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

    {publication}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import BatchConstructor
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = X[:, 1] * X[:, 3] > 0
    >>> batch = BatchConstructor(n_features_out=1).fit(X, y)
    >>> print(batch.get_feature_names_out(), batch.n_candidates_)
    ['x1 * x3'] 32
    """

    _class_criterion = "entropy"
    _construction: Construction

    _parameters: ClassVar = {
        "operators": worded(
            OPERATORS,
            """
            What features are constructed with. By default sqrt, square, add, sub, mul and gaussian,
            and "is" tests where the table has categories. The operands of a feature differ from
            each other. Operands in exchanged order are left out if they tell nothing new, and so
            are operators without columns of their kind; if that leaves none of the named operators,
            an error says so.
            """,
        ),
        "criterion": any_criterion(
            "entropy", "How features are scored by their best split of all rows."
        ),
        "n_features_out": Parameter(
            "int",
            """
            Features to keep; as many as there are columns by default. Only features with a gain are
            kept: if there are none, as with a constant target, `transform` returns the original
            columns.
            """,
            optional(whole(1)),
        ),
        "max_correlation": Parameter(
            "float",
            """
            Skip a feature whose absolute correlation with a better one is larger than this. Only
            the best features, ten times as many as are kept, are compared.
            """,
            optional(within("(0, 1]")),
        ),
        "min_samples_leaf": MIN_SAMPLES_LEAF,
        "class_weight": CLASS_WEIGHT,
        "include_original": OUTPUT["include_original"],
        "keep_missing": OUTPUT["keep_missing"],
        **RUNNING,
        "max_time": worded(
            MAX_TIME, "Seconds after which to stop; the best features so far are the result."
        ),
        "random_state": worded(
            RANDOM_STATE,
            "Seed. It matters only for categories of more than a hundred levels.",
        ),
    }

    def __init__(
        self,
        *,
        operators: Any = None,
        criterion: str | None = None,
        n_features_out: int | None = None,
        max_correlation: float | None = None,
        min_samples_leaf: int | float = 1,
        class_weight: Any = None,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _wanted_operators(self) -> tuple[Operator, ...]:
        return six_or_named(self)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score all candidates and keep the best.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers that are not all whole, or several columns of either.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted constructor.
        """
        self._check_parameters()
        if y is None:
            raise ValueError(
                "BatchConstructor requires y to be passed, but the target y is None; give classes "
                "or numbers."
            )
        matrix, operators = self._read_table(X)
        target, scoring = self._any_target(y, sample_weight, len(matrix))
        if self.operators is None and not self._schema.is_numeric:
            # Without tests for a level, features could not use a Category at all.
            operators = (*operators, *resolve_operators(["is"]))
        self._construction = plan(self, self._schema, operators, 0)
        limits = Limits(min_samples_leaf=self.min_samples_leaf)
        settings = make_settings(
            limits, self._construction, len(matrix), many_thresholds=1, **scoring
        )
        n_levels = count_levels(self._schema)
        candidates = Candidates(self._construction.operators, self._schema.domains, n_levels)
        check_count(candidates, self._schema)
        wanted = self.n_features_out or self._schema.n_columns
        best = _Best(wanted * _SPARE)
        with compilation_notice():
            scorer = _Scorer(self, matrix, target, settings)
            self.n_candidates_ = scorer.run(candidates, best)
            kept = [] if is_constant(target) else scorer.refine(best.ranked())
        listed = self._list(kept, scorer.unit)
        self.features_ = tuple(self._choose(listed, wanted, matrix, target.weights))
        self._learn_fill(matrix, target.weights)
        return self

    def _list(self, kept: list[Kept], unit: float) -> list[Feature]:
        """Return the features of the kept candidates that gain something."""
        schema = self._schema
        users = user_operators(self._construction.operators)
        features = []
        for score, _, program in kept:
            if score <= 0.0:
                break
            expression = from_program(
                np.array(program, np.int32), schema.names, schema.domains, schema.levels, users
            )
            features.append(Feature.of(expression, score / unit))
        return features

    def _choose(
        self,
        features: list[Feature],
        wanted: int,
        matrix: npt.NDArray[np.float32],
        weights: npt.NDArray[np.float32],
    ) -> list[Feature]:
        """Return the best, without those that correlate too much with a better one."""
        if self.max_correlation is None:
            return features[:wanted]
        values = self._evaluate(features, np.array(matrix[some_rows(weights)], np.float64))
        spread = np.nanmax(np.abs(values), axis=0, initial=1e-300, where=~np.isnan(values))
        values = values / spread  # squares of large numbers would overflow
        known = ~np.isnan(values)
        center = np.where(known, values, 0.0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
        values = np.where(known, values - center, 0.0)
        length = np.sqrt((values**2).sum(axis=0))
        values /= np.where(length > 0, length, 1.0)
        taken: list[int] = []
        for k in range(len(features)):
            if len(taken) == wanted:
                break
            if not taken or np.abs(values[:, taken].T @ values[:, k]).max() <= self.max_correlation:
                taken.append(k)
        return [features[k] for k in taken]


class _Scorer:
    """Score blocks of candidates in threads, all rows sorted by class once."""

    def __init__(
        self,
        learner: BatchConstructor,
        matrix: npt.NDArray[np.float32],
        target: Target,
        settings: Any,
    ) -> None:
        self.learner, self.settings = learner, settings.copy()
        construction = learner._construction
        self.grammar, self.compiled = construction.grammar, construction.compiled
        order = order_rows(target)
        # Values are contiguous in the order in which they are read.
        self.columns = np.ascontiguousarray(matrix.T[:, order])
        codes = target.codes[order] if len(target.codes) else target.codes
        sums = np.ascontiguousarray(target.sums[:, order])
        self.target = Target(codes, sums, target.weights[order])
        self.row_ids = np.arange(len(order), dtype=np.int32)
        self.n_values = int(learner.n_classes_) if self.settings["by_class"] else len(sums)
        self.width = construction.width
        self.seed = learner._draw_seed()
        self.halt = Halt(learner.max_time)
        self.unit = 1.0
        self._find_addresses()

    def _find_addresses(self) -> None:
        """Find the addresses of compiled functions, which are valid in one process only."""
        for name, address in kernel_addresses().items():
            self.settings[name] = address
        self.users = self.compiled.functions(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        # The learner would take the user's operators, which are in `compiled`, along once more.
        return {**vars(self), "learner": None, "users": None, "halt": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.settings = self.settings.copy()  # it may have come as one that cannot be written to
        self.halt = Halt()
        self._find_addresses()

    def run(self, candidates: Candidates, best: _Best) -> int:
        """Score all blocks; return the number of candidates scored."""
        blocks = candidates.blocks()
        starts = np.cumsum([0, *(block.last - block.first for block in blocks)])
        numbered = [(block, int(start)) for block, start in zip(blocks, starts, strict=False)]
        backend = chosen_backend()
        n_jobs = self.learner.n_jobs
        n_threads = local_threads(n_jobs) if backend is None else backend.effective_n_jobs(n_jobs)
        n_threads = max(1, min(n_threads, len(blocks)))
        buffers, n_stats = self._prepare()
        self.unit = float(gain_unit(buffers.rows, len(self.row_ids), n_stats, self.settings)) or 1.0
        if self.learner.verbose and blocks:
            total = sum(map(candidates.count, range(len(candidates.operators))))
            first = next(filter(len, map(candidates.programs, blocks)))
            self._log_time(first[:_TRIAL], total, n_threads)
        tasks = [partial(self._score, candidates, best, *one) for one in numbered]
        title = "scoring blocks of candidates"
        with progress(len(tasks), title, verbose=self.learner.verbose) as on_done:
            running: dict[str, Any] = {"halt": self.halt, "on_done": on_done}
            if backend is None or len(blocks) < 2:
                done = run_in_threads(tasks, n_threads, **running)
                return sum(count or 0 for count in done)
            shared = ScoredApart(self, candidates, best.size)
            running |= {"what": "block of candidates", "n_jobs": n_jobs}
            found = run_units(backend, ScoredApart.score, shared, numbered, **running)
        kept = [one for one in found if one is not None]
        best.merge([entry for own, _ in kept for entry in own])
        return sum(count for _, count in kept)

    def _prepare(self) -> tuple[Any, int]:
        """Allocate working arrays and prepare the rows."""
        n, n_columns = len(self.row_ids), self.columns.shape[0]
        buffers = TreeBuffers.allocate(n, n_columns, self.n_values, self.width, self.settings, 1)
        n_stats = prepare(self.target, self.row_ids, 0, n, n, self.settings, buffers.rows)
        return buffers, int(n_stats)

    def _score_programs(
        self, programs: npt.NDArray[np.int32], seed: int, *, refines: bool = False
    ) -> npt.NDArray[np.float32]:
        """Return the scores of programs on all rows."""
        buffers, n_stats = self._prepare()
        scores = np.empty(len(programs), np.float32)
        context = GrowContext(
            rows=buffers.rows,
            row_ids=self.row_ids,
            matrix=self.columns,  # by rows it is for nodes that look at all columns: here is none
            columns=self.columns,
            target=self.target,
            settings=self.settings,
            grammar=self.grammar,
            users=self.users,
            state=make_record(STATE, random=seed),
            stop=self.halt.flag,
            tree=GrownTree.allocate(1, self.width),
            buffers=buffers,
        )
        score_programs(context, programs, len(self.row_ids), n_stats, np.int64(refines), scores)
        return scores

    def refine(self, kept: list[Kept]) -> list[Kept]:
        """Score the best again at finer thresholds; return them in order."""
        if not kept:
            return kept
        programs = np.array([program for _, _, program in kept], np.int32)
        scores = self._score_programs(programs, self.seed, refines=True)
        better = [
            (max(old, float(new)), order, program)
            for (old, order, program), new in zip(kept, scores, strict=True)
        ]
        return sorted(better, reverse=True)

    def _score(self, candidates: Candidates, best: _Best, block: Block, start: int) -> int:
        """Score a block and keep its best; return how many of its candidates were scored."""
        programs = candidates.programs(block)
        best.offer(self._score_programs(programs, self.seed + start), programs, start)
        return 0 if self.halt.flag[0] else len(programs)

    def score_within(
        self, candidates: Candidates, size: int, block: Block, start: int, seconds: float | None
    ) -> tuple[list[Kept], int]:
        """Score a block in another process; return its best and how many were scored."""
        best = _Best(size)
        halt = Halt(seconds)
        # A copy of its own, because the threads of a worker share this object.
        own = copy(self)
        own.halt = halt
        (count,) = run_in_threads(
            [partial(own._score, candidates, best, block, start)], 1, halt=halt
        )
        return best.heap, count or 0

    def _log_time(self, programs: npt.NDArray[np.int32], total: int, n_threads: int) -> None:
        """Log how long scoring all candidates will take."""
        self._score_programs(programs, self.seed)  # compiles
        started = time.perf_counter()
        self._score_programs(programs, self.seed)
        seconds = (time.perf_counter() - started) / len(programs) * total / n_threads
        _logger.warning(
            "scoring %s candidates on %s rows takes about %.2g s",
            f"{total:,}",
            f"{len(self.row_ids):,}",
            seconds,
        )


@dataclass(frozen=True, eq=False)
class ScoredApart:
    """What other processes need to score blocks of candidates."""

    scorer: _Scorer
    candidates: Candidates
    size: int  # number of candidates that are kept

    def score(self, unit: tuple[Block, int], seconds: float | None) -> tuple[list[Kept], int]:
        """Score a block; return its best candidates and how many were scored."""
        return self.scorer.score_within(self.candidates, self.size, *unit, seconds)
