"""Grow trees: seeds, bootstrap samples, working arrays, threads and leaf values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from featurewright.engine import leaves
from featurewright.engine.buffers import (
    HISTOGRAM_BINS,
    STATE,
    ColumnBins,
    Grammar,
    GrowContext,
    GrownTree,
    Histograms,
    OperatorWeights,
    Target,
    TreeBuffers,
    UserFunctions,
    count_words,
    make_record,
)
from featurewright.engine.compiler import Layouts, Shared
from featurewright.engine.criteria import SQUARES
from featurewright.engine.forest import Forest, tree_from_grown
from featurewright.engine.grow import grow_tree, kernel_addresses
from featurewright.engine.histograms import MAX_ROWS, MAX_SUMS_BYTES
from featurewright.engine.threads import Halt, local_threads, run_in_threads
from featurewright.engine.user_functions import CompiledOperators
from featurewright.engine.weighted import begin_tree

# Largest mean number of copies per row in a tree whose rows go both ways on missing values; once it
# is reached, rows go to a random side.
COPIES_PER_ROW = 3
# Words of the level sets of all nodes of a tree; if there are more, nodes test for single levels.
MAX_SET_WORDS = 1 << 24


@dataclass(frozen=True)
class Job:
    """The data and settings that all trees of one fit share."""

    matrix: npt.NDArray[np.float32]  # (n_rows, n_columns), contiguous
    columns: npt.NDArray[np.float32]  # the same by columns, contiguous
    target: Target
    settings: Any  # a SETTINGS record
    grammar: Grammar
    users: UserFunctions
    width: int  # symbols of a program
    leaf: str = "mean"  # what leaves predict: "classes", "mean", "votes" or "nothing"
    n_values: int = 1
    # Weighted sums and weights from which "mean" leaves are computed, in full precision; those that
    # splits are scored with may be scaled.
    leaf_sums: npt.NDArray[np.float64] | None = None
    leaf_weights: npt.NDArray[np.float64] | None = None
    operator_weights: OperatorWeights | None = None  # the operators, if drawn by weight
    bins: ColumnBins | None = None  # of raw columns, if all nodes share them


@dataclass(frozen=True)
class RowSample:
    """The rows that one tree grows on."""

    rows: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32] | None  # draws of each row of the table; None: one each


@dataclass(frozen=True)
class RowPlacement:
    """The rows at each node of a grown tree: row_ids[start : start + size]."""

    row_ids: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]


def tree_seeds(seed: int, first: int, last: int) -> list[int]:
    """Return a seed for each tree that depends only on `seed` and the tree's number."""
    return [
        int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
        for number in range(first, last)
    ]


def draw_sample(
    order: npt.NDArray[np.int32], n_draws: int, seed: int, *, bootstrap: bool
) -> RowSample:
    """Draw a tree's rows, keeping the given order (by class, if there are classes).

    Parameters
    ----------
    order : ndarray of int32
        The rows that may be drawn.
    n_draws : int
        How many are drawn, with replacement if `bootstrap`.
    """
    if not bootstrap and n_draws >= len(order):
        return RowSample(order.copy(), None)
    generator = np.random.Generator(np.random.PCG64(seed))
    if bootstrap:
        drawn = np.bincount(generator.integers(0, len(order), n_draws), minlength=len(order))
    else:
        drawn = np.zeros(len(order), np.int64)
        drawn[generator.permutation(len(order))[:n_draws]] = 1
    kept = drawn > 0
    rows = order[kept]
    counts = np.zeros(int(order.max()) + 1, np.float32)
    counts[rows] = drawn[kept]
    return RowSample(rows, counts)


def order_rows(target: Target) -> npt.NDArray[np.int32]:
    """Return the rows of positive weight, sorted by class if there are classes."""
    rows = np.flatnonzero(target.weights > 0).astype(np.int32)
    if len(target.codes):
        rows = rows[np.argsort(target.codes[rows], kind="stable")]
    return rows


class BufferPool:
    """Working arrays that the trees of one fit reuse.

    Allocating them for every tree would clear megabytes of memory each time.

    Parameters
    ----------
    n_rows : int
        Largest number of rows that a tree grows on.
    """

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._free: list[tuple[GrownTree, TreeBuffers, Layouts]] = []

    def take(self, job: Job) -> tuple[GrownTree, TreeBuffers, Layouts]:
        """Return arrays that no other tree is using."""
        try:
            return self._free.pop()
        except IndexError:  # checking first would race with other threads
            pass
        settings = job.settings
        copies = COPIES_PER_ROW * self.n_rows if settings["missing_both"] else 0
        capacity = _capacity(self.n_rows + copies, settings)
        n_stats = max(job.n_values if settings["by_class"] else 0, job.target.sums.shape[0])
        n_columns = job.columns.shape[0]
        n_levels = int(job.grammar.n_levels.max(initial=0)) if settings["level_sets"] else 0
        if capacity * count_words(n_levels) > MAX_SET_WORDS:
            n_levels = 0
        buffers = TreeBuffers.allocate(
            self.n_rows, n_columns, n_stats, job.width, settings, capacity, n_levels
        )
        if job.bins is not None:
            n_slots = count_slots(settings)
            histograms = Histograms.allocate(job.bins, n_slots, capacity)
            buffers = buffers._replace(histograms=histograms)
        grown = GrownTree.allocate(capacity, job.width, n_levels)
        inner = (field for field in buffers if isinstance(field, tuple))
        return grown, buffers, Layouts(grown, buffers, *inner)

    def give_back(self, arrays: tuple[GrownTree, TreeBuffers, Layouts]) -> None:
        """Return arrays to the pool."""
        self._free.append(arrays)


def count_slots(settings: Any) -> int:
    """Return the most nodes of a growing tree that have histograms at the same time."""
    waiting = settings["max_leaves"] if settings["max_leaves"] > 0 else settings["max_depth"] + 1
    return int(waiting) + 1


def shares_bins(settings: Any, columns: npt.NDArray[np.float32]) -> bool:
    """Whether nodes can score raw columns by bins that they share: of one target, in boosting."""
    n_columns, n_rows = columns.shape
    size = 16 * (HISTOGRAM_BINS + 1) * n_columns * count_slots(settings)
    return bool(
        settings["criterion"] == SQUARES
        and not settings["centered"]
        and settings["many_thresholds"]
        and settings["n_raw"] >= n_columns
        and n_rows <= MAX_ROWS
        and size <= MAX_SUMS_BYTES
    )


def load_kernels(settings: Any) -> dict[str, int]:
    """Compile or load the kernels that the settings need, e.g. before a deadline starts."""
    return kernel_addresses(int(settings["strategy"]) if settings["budget"] > 0 else None)


def grow_one(
    job: Job, sample: RowSample, seed: int, halt: Halt, buffer_pool: BufferPool | None = None
) -> tuple[Forest, RowPlacement]:
    """Grow one tree; return it and the rows at its nodes."""
    target = job.target
    if sample.counts is not None:
        weights = target.weights.copy()
        weights[: len(sample.counts)] *= sample.counts
        sums = target.sums
        if sums.shape[0]:
            sums = sums.copy()
            sums[:, : len(sample.counts)] *= sample.counts
        target = Target(target.codes, sums, weights)
    settings = job.settings.copy()
    n_rows = len(sample.rows)
    settings["spare_rows"] = COPIES_PER_ROW * n_rows if settings["missing_both"] else 0
    rows = np.empty(n_rows + int(settings["spare_rows"]), np.int32)
    rows[:n_rows] = sample.rows
    for name, address in load_kernels(settings).items():
        settings[name] = address
    buffer_pool = BufferPool(n_rows) if buffer_pool is None else buffer_pool
    grown, buffers, layouts = arrays = buffer_pool.take(job)
    settings["level_sets"] = grown.level_sets.shape[1] > 0
    operator_weights = (
        None if job.operator_weights is None else begin_tree(job.operator_weights, grown.programs)
    )
    if operator_weights is not None:
        buffers = buffers._replace(operator_weights=operator_weights)
    context = GrowContext(
        rows=buffers.rows,
        row_ids=rows,
        matrix=job.matrix,
        columns=job.columns,
        target=target,
        settings=settings,
        grammar=job.grammar,
        users=job.users,
        state=make_record(STATE, random=seed),
        stop=halt.flag,
        tree=grown,
        buffers=buffers,
    )
    whole, sampled = Shared(context, layouts), Shared(context.of_sample(), layouts)
    n_nodes = int(grow_tree(whole, sampled))
    tree = tree_from_grown(grown, n_nodes)
    if operator_weights is not None:
        weights, counts = (
            operator_weights.weights[:n_nodes].copy(),
            operator_weights.counts[:n_nodes].copy(),
        )
        tree = replace(tree, operator_weights=weights, operator_counts=counts)
    start, size = grown.start[:n_nodes].copy(), grown.size[:n_nodes].copy()
    buffer_pool.give_back(arrays)
    values = _leaf_values(job, sample, target, tree, RowPlacement(rows, start, size))
    return replace(tree, values=values), RowPlacement(rows, start, size)


def _leaf_values(
    job: Job, sample: RowSample, target: Target, tree: Forest, places: RowPlacement
) -> npt.NDArray[Any]:
    """Return the values that the leaves of a grown tree predict."""
    where = (tree.left, places.start, places.size, places.row_ids)
    if job.leaf == "nothing":
        return tree.values
    shape = (tree.n_leaves, job.n_values)
    if job.leaf == "classes":
        values = np.empty(shape, np.float32)
        leaves.class_values(*where, target.codes, target.weights, values)
        return values
    if job.leaf == "votes":
        values = np.empty(shape, np.float32)
        leaves.vote_values(*where, target.sums, values)
        return values
    sums = target.sums.astype(np.float64) if job.leaf_sums is None else job.leaf_sums
    weights = target.weights.astype(np.float64) if job.leaf_weights is None else job.leaf_weights
    if job.leaf_sums is not None and sample.counts is not None:
        counts = np.zeros(len(weights))
        counts[: len(sample.counts)] = sample.counts
        sums, weights = sums * counts, weights * counts
    means = np.empty(shape)
    leaves.mean_values(*where, sums, weights, float(job.settings["l2"]), means)
    return means


def leaf_of_rows(
    tree: Forest, places: RowPlacement, job: Job, *, everyone: bool
) -> npt.NDArray[np.int32]:
    """Return the leaf of every row: from growth, or by descent if some rows did not grow it.

    With `everyone`, all rows descend.
    """
    n_rows = job.columns.shape[1]
    if everyone or len(places.row_ids) < n_rows:
        return tree.find_leaves(job.matrix, job.users)[:, 0]
    out = np.empty(n_rows, np.int32)
    leaves.place_rows(tree.left, places.start, places.size, places.row_ids, out)
    return out


def _capacity(n_rows: int, settings: Any) -> int:
    """Return an upper bound on the number of nodes of a tree."""
    leaf_rows = max(1, int(settings["min_rows"]))
    most = 2 * max(1, n_rows // leaf_rows) + 1
    if settings["max_depth"] < 30:
        most = min(most, 2 ** (int(settings["max_depth"]) + 1) + 1)
    if settings["max_leaves"] > 0:
        most = min(most, 2 * int(settings["max_leaves"]) + 1)
    return most


def grow_trees(
    job: Job,
    seeds: list[int],
    *,
    n_draws: int | None = None,
    bootstrap: bool = False,
    n_jobs: int | None = None,
    halt: Halt | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Forest]:
    """Grow one tree for each seed; the trees do not depend on the number of threads.

    If the deadline of `halt` passes, the trees before the first unfinished one are returned, so
    that tree k always belongs to seed k. There is at least one.
    """
    return grow_until_halted(
        job,
        seeds,
        n_draws=n_draws,
        bootstrap=bootstrap,
        n_jobs=n_jobs,
        halt=halt or Halt(),
        on_done=on_done,
    ).trees


def grow_until_halted(
    job: Job,
    seeds: list[int],
    *,
    n_draws: int | None,
    bootstrap: bool,
    n_jobs: int | None,
    halt: Halt,
    on_done: Callable[[int], None] | None = None,
    buffer_pool: BufferPool | None = None,
) -> Grown:
    """Grow one tree for each seed, as far as the deadline allows."""
    order = order_rows(job.target)
    draws = len(order) if n_draws is None else n_draws
    buffer_pool = buffer_pool or BufferPool(len(order))

    def task(seed: int) -> tuple[Forest, bool]:
        sample = draw_sample(order, draws, seed, bootstrap=bootstrap)
        tree, _ = grow_one(job, sample, seed, halt, buffer_pool)
        return tree, bool(halt.flag[0])

    results = run_in_threads(
        [partial(task, seed) for seed in seeds],
        min(local_threads(n_jobs), len(seeds)),
        halt=halt,
        on_done=on_done,
    )
    whole: list[Forest] = []
    for result in results:
        if result is None or result[1]:
            return Grown(whole, None if result is None else result[0])
        whole.append(result[0])
    return Grown(whole)


class Grown(NamedTuple):
    """Trees of consecutive seeds.

    If the deadline passed, these are the trees before the first unfinished one, so that tree k
    always belongs to seed k.
    """

    whole: list[Forest]
    unfinished: Forest | None = None  # the tree after them, as far as it was grown

    @property
    def trees(self) -> list[Forest]:
        """The finished trees, or the unfinished one where it is the first."""
        if self.whole or self.unfinished is None:
            return self.whole
        return [self.unfinished]


class TreeBlocks:
    """What a process needs to grow some trees of a fit.

    Addresses are valid in one process only and the two layouts of the matrix hold the same numbers,
    so neither the addresses nor the second layout are sent.
    """

    def __init__(
        self, job: Job, compiled: CompiledOperators, n_draws: int | None, *, bootstrap: bool
    ) -> None:
        self.job, self.compiled = job, compiled
        self.n_draws, self.bootstrap = n_draws, bootstrap
        self.buffer_pool: BufferPool | None = None  # of the process that grows the trees

    def __getstate__(self) -> dict[str, Any]:
        nothing = np.empty((0, 0), np.float32)
        no_users = UserFunctions(np.empty(0, np.int64), np.empty(0, np.int64))
        job = replace(self.job, columns=nothing, users=no_users)
        return {**vars(self), "job": job, "buffer_pool": None}  # a worker may send it on

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        matrix = np.asarray(self.job.matrix)
        columns, users = np.ascontiguousarray(matrix.T), self.compiled.functions(np.float32)
        self.job = replace(self.job, matrix=matrix, columns=columns, users=users)
        self.buffer_pool = BufferPool(len(order_rows(self.job.target)))

    def grow(self, seeds: list[int], seconds: float | None) -> Grown:
        """Grow the trees of some seeds in this thread."""
        return grow_until_halted(
            self.job,
            seeds,
            n_draws=self.n_draws,
            bootstrap=self.bootstrap,
            n_jobs=1,
            halt=Halt(seconds),
            buffer_pool=self.buffer_pool,
        )
