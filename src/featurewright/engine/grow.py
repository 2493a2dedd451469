"""Grow a whole tree in one call."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from featurewright.engine.binning import EXACT_ROWS, MAX_BINS, SAMPLE
from featurewright.engine.compiler.decorator import call_kernel, kernel, kernel_address, share
from featurewright.engine.compiler.parallel_compile import compiled_in_second_process
from featurewright.engine.criteria import MISSING_ALONE, WORST
from featurewright.engine.fast_path import FORM
from featurewright.engine.grammar import Grammar
from featurewright.engine.node_search import (
    Target,
    is_pure,
    prepare_node,
    route_missing,
    search_node,
)
from featurewright.engine.operators import MAX_USER_ARITY
from featurewright.engine.partition import partition_rows, partition_rows_both_ways
from featurewright.engine.program_pool import SHAPES, ProgramPool, fill_pool, search_pool
from featurewright.engine.programs import CHUNK, LANES, EvalScratch, UserFunctions, run_node
from featurewright.engine.records import SETTINGS, STATE, make_record
from featurewright.engine.search import (
    LOOK_AHEAD,
    RANDOM_SEARCH,
    REFINE,
    STEP,
    WEIGHTED,
    Candidates,
    CandidateScores,
    score_candidate,
    search_stepwise,
)
from featurewright.engine.sparse_columns import MANY_STATS
from featurewright.engine.sums import Rows, SplitScratch
from featurewright.engine.thresholds import THRESHOLDS
from featurewright.engine.weighted import (
    OperatorWeights,
    no_operator_weights,
    pass_on,
    search_weighted,
)
from featurewright.expressions import opcodes as op

_ZERO = np.float32(0.0)
_BLOCK = 2048  # rows whose columns are gathered together
_COMPILING = Lock()
_STOCK = 16  # random programs drawn for a tree, in multiples of a node's budget


class Grown(NamedTuple):
    """A tree as it grows: one entry per node; children stand side by side."""

    left: np.ndarray  # int32: index of the left child, -1 at a leaf; the right one follows it
    programs: np.ndarray  # int32[nodes, max_size]
    threshold: np.ndarray  # float32
    is_level: np.ndarray  # uint8: the test is "equal to the threshold", not "at most"
    missing_left: np.ndarray  # uint8
    gain: np.ndarray  # float32: of the split, in units of weight
    start: np.ndarray  # int64: the node's rows are row_ids[start : start + size]
    size: np.ndarray  # int64
    room: np.ndarray  # int64: free places behind them, for rows that go to both children
    depth: np.ndarray  # int32
    rank: np.ndarray  # float32: score by which best-first growth chooses


def make_grown(capacity: int, width: int) -> Grown:
    """Allocate a tree of at most so many nodes."""
    return Grown(
        left=np.empty(capacity, np.int32),
        programs=np.empty((capacity, width), np.int32),
        threshold=np.empty(capacity, np.float32),
        is_level=np.empty(capacity, np.uint8),
        missing_left=np.empty(capacity, np.uint8),
        gain=np.empty(capacity, np.float32),
        start=np.empty(capacity, np.int64),
        size=np.empty(capacity, np.int64),
        room=np.empty(capacity, np.int64),
        depth=np.empty(capacity, np.int32),
        rank=np.empty(capacity, np.float32),
    )


class TreeBuffers(NamedTuple):
    """Everything one growing tree works with."""

    rows: Rows
    sampled: Rows
    scratch: SplitScratch
    found: Candidates
    candidate_scores: CandidateScores
    evaluation: EvalScratch
    buffer: np.ndarray  # float32[columns + max_size, rows searched at once]
    pool: ProgramPool
    sample_ids: np.ndarray  # int32
    spare: np.ndarray  # int32
    frontier: np.ndarray  # int64
    operator_weights: OperatorWeights


def make_tree_buffers(
    n: int,
    n_columns: int,
    n_stats: int,
    width: int,
    settings: Any,
    capacity: int,
) -> TreeBuffers:
    """Allocate the working arrays of one tree on n rows."""
    stat_rows = 1 if settings["by_class"] else n_stats + 1
    searched = settings["budget"] > 0
    sample = int(settings["sample"]) if searched else 0
    # The largest node whose columns are gathered together, and the largest sample of a larger one.
    whole = min(n, max(sample * 3 // 2, _BLOCK)) if sample else n
    part = min(n, max(sample, n * 2 // 3 + 1)) if sample else 1
    budget = int(settings["budget"])
    slots = budget + 2 if searched else 1
    stepwise = searched and settings["strategy"] != RANDOM_SEARCH
    table = 1 << (4 * slots).bit_length() if stepwise else 1
    # A tree with few nodes, or a small budget, needs only so many programs to choose from.
    draws = min(_STOCK * budget, budget * max(4, capacity // 2))
    pool = 1 << max(1, draws - 1).bit_length() if searched and not stepwise else 2

    def make_rows(count: int) -> Rows:
        return Rows(
            weights=np.empty((stat_rows, count + LANES), np.float32),
            segments=np.empty(n_stats + 2, np.int64),
            packed=np.empty(count + LANES, np.int64),
            narrow=np.empty(count + LANES, np.uint32),
            packing=np.zeros(3, np.int64),
            sum_packed=np.empty(1, np.uint64),
            units=np.zeros(2, np.float32),
            entropy=np.empty(2, np.float32),
            totals=np.empty(n_stats + 2, np.float32),
            tried=np.empty(2 * THRESHOLDS, np.float32),
            lefts=np.empty(2 * THRESHOLDS, np.int64),
        )

    return TreeBuffers(
        rows=make_rows(n),
        sampled=make_rows(part),
        scratch=SplitScratch(
            codes=np.empty(n + LANES, np.uint8),
            ranks=np.empty(max(n, EXACT_ROWS) if n_stats >= MANY_STATS else EXACT_ROWS, np.int32),
            marks=np.empty(SAMPLE, np.float32),
            left=np.empty((n_stats + 2, MAX_BINS + 1), np.float32),
            spare=np.empty((3, MAX_BINS + 1), np.float32),
            packed=np.empty(MAX_BINS + 1, np.int64),
            packed_spare=np.empty((3, MAX_BINS + 1), np.int64),
            total=np.empty(n_stats + 2, np.float32),
            scores=np.empty(MAX_BINS + 1, np.float32),
            tried=np.empty(THRESHOLDS, np.float32),
        ),
        found=Candidates(
            programs=np.empty((slots, width), np.int32),
            visited=np.empty((slots, width), np.int32),
            seen=np.empty(table, np.uint64),
            order=np.empty(max(slots, n_columns), np.int64),
        ),
        candidate_scores=CandidateScores(
            scores=np.empty(slots, np.float32),
            thresholds=np.empty(slots, np.float32),
            best=np.empty((1, width), np.int32),
        ),
        evaluation=EvalScratch(
            values=np.empty((1, n + LANES), np.float32),
            intermediates=np.empty((2 * width, CHUNK), np.float32),
            local=np.empty((1, width), np.int32),
            stack=np.empty(width + 1, np.int64),
            operands=np.empty(MAX_USER_ARITY, np.float32),
        ),
        buffer=np.empty((n_columns + width, whole + LANES) if searched else (1, 1), np.float32),
        pool=ProgramPool(
            programs=np.empty((pool, width), np.int32),
            draws=np.empty(pool, np.int32),
            drawn=np.empty(pool, np.int32),
            stamps=np.empty(pool, np.int32),
            table=np.empty(4 * pool, np.int32),
            places=np.empty(SHAPES + 1, np.int64),
            forms=np.empty((pool, FORM), np.int32),
        ),
        sample_ids=np.empty(part, np.int32),
        spare=np.empty(n + 1, np.int32),
        frontier=np.empty(capacity, np.int64),
        operator_weights=no_operator_weights(),
    )


SEARCHERS = {
    RANDOM_SEARCH: search_pool,
    STEP: search_stepwise,
    LOOK_AHEAD: search_stepwise,
    WEIGHTED: search_weighted,
}


class GrowContext(NamedTuple):
    """What kernels pass on to one another by reference while a tree grows."""

    rows: Rows  # made ready for scoring
    row_ids: np.ndarray  # int32: those rows, each node's side by side
    matrix: np.ndarray  # float32[all rows, columns]
    columns: np.ndarray  # float32[columns, all rows]
    target: Target
    settings: Any
    grammar: Grammar
    users: UserFunctions
    state: Any
    buffers: TreeBuffers


def _example() -> GrowContext:
    """Give what kernels pass on to one another, with nothing in it."""
    settings = make_record(SETTINGS)
    nothing = np.empty(0, np.int64)
    floats, small = np.empty((0, 0), np.float32), np.empty(0, np.int32)
    buffers = make_tree_buffers(1, 1, 1, 1, settings, 1)
    return GrowContext(
        rows=buffers.rows,
        row_ids=buffers.spare,
        matrix=floats,
        columns=floats,
        target=Target(small, floats, np.empty(0, np.float32)),
        settings=settings,
        grammar=Grammar(nothing, nothing, small, small, nothing),
        users=UserFunctions(nothing, nothing),
        state=make_record(STATE),
        buffers=buffers,
    )


@cache
def scorer_address() -> int:
    """Give the address of the kernel that takes longest to compile."""
    context, number = _example(), np.int64(0)
    score = (context.buffers.found.programs, number, number, number, number, number)
    return kernel_address(score_candidate, context, score)


@cache
def kernel_addresses(strategy: int | None = None) -> dict[str, int]:
    """Give the addresses of the kernels that are called by address, as settings.

    What a search needs is compiled for those who use it.
    """
    context, number = _example(), np.int64(0)
    # Threads that begin together wait for the first one.
    with _COMPILING, compiled_in_second_process(score_candidate, __name__, scorer_address.__name__):
        row = (context.buffers.found.programs, number, number, number)
        addresses = {"runner": kernel_address(run_node, context, row)}
        if strategy is not None:
            addresses["searcher"] = kernel_address(SEARCHERS[strategy], context, (number, number))
        if strategy == RANDOM_SEARCH:
            addresses["filler"] = kernel_address(fill_pool, context, ())
        table = (context.matrix, context.columns, context.target, context.row_ids, context.settings)
        language = (context.grammar, context.users)
        stop, grown = np.zeros(1, np.int64), make_grown(1, 1)
        grow_tree.compile_for(*table, *language, context.state, stop, grown, context.buffers)
    return {"scorer": scorer_address(), **addresses}


@kernel(inline=True)
def next_node(rank, frontier, count, best_first):
    """Take the next node to split off the frontier."""
    pick = count - 1
    if best_first:
        for place in range(count):
            if rank[frontier[place]] > rank[frontier[pick]]:
                pick = place
    node = frontier[pick]
    frontier[pick] = frontier[count - 1]
    return node


@kernel(inline=True)
def leave_as_leaf(grown, node):
    """Note down that a node is not split."""
    grown.left[node] = -1
    grown.rank[node] = WORST
    grown.gain[node] = _ZERO
    grown.threshold[node] = _ZERO
    grown.is_level[node] = 0
    grown.missing_left[node] = 0
    for d in range(grown.programs.shape[1]):
        grown.programs[node, d] = op.END


@kernel(inline=True)
def find_split(context, sample, stop, grown, node):
    """Find a new node's best split and note it down; a node that stays a leaf ranks WORST."""
    start, n = grown.start[node], grown.size[node]
    leave_as_leaf(grown, node)
    settings, state, rows, buffers = context.settings, context.state, context.rows, context.buffers
    small = n < settings.min_split or n < 2 * settings.min_rows
    if small or grown.depth[node] >= settings.max_depth or stop[0] != 0:
        return
    if settings.by_class:
        # Rows lie in order of class.
        codes, first, last = (
            context.target.codes,
            context.row_ids[start],
            context.row_ids[start + n - 1],
        )
        if codes[first] == codes[last]:
            return
    n_stats = prepare_node(context, start, n)
    if is_pure(rows, n, n_stats, settings):
        return
    buffers.operator_weights.node[0] = node
    search_node(context, sample, start, n, n_stats)
    if not state.best_score > WORST:
        return
    zero, best = np.int64(0), buffers.candidate_scores.best
    call_kernel(settings.runner, (context, best, zero, start, n))
    # The next round of second-order boosting corrects what coarse thresholds leave, and an average
    # of trees forgives it.
    zooms = settings.many_thresholds and settings.l2 == _ZERO and n > EXACT_ROWS
    coarse = not settings.random_threshold and (state.best_few or zooms)
    apart = state.best_threshold == MISSING_ALONE
    if coarse and not state.best_is_level and not apart:
        call_kernel(settings.scorer, (context, best, zero, zero, REFINE, n, n_stats))
    side, gain = route_missing(
        buffers.evaluation.values,
        rows,
        n,
        n_stats,
        settings,
        buffers.scratch,
        state.best_threshold,
        state.best_is_level,
    )
    # A split that gains nothing may still lead to one that does; rounding must not forbid it.
    rounding = np.float32(1e-6) * rows.totals[n_stats]
    if not gain >= settings.min_gain - rounding or (settings.strict and gain <= rounding):
        return
    grown.rank[node] = max(gain, _ZERO)
    grown.gain[node] = max(gain, _ZERO)
    grown.threshold[node] = state.best_threshold
    grown.is_level[node] = state.best_is_level
    grown.missing_left[node] = side
    for d in range(grown.programs.shape[1]):
        grown.programs[node, d] = best[0, d]


@kernel(inline=True)
def split_node(context, grown, node, n_nodes, evaluated):
    """Part a node's rows and make its two children."""
    row_ids, settings, state, buffers = (
        context.row_ids,
        context.settings,
        context.state,
        context.buffers,
    )
    start, n, room = grown.start[node], grown.size[node], grown.room[node]
    threshold, is_level = grown.threshold[node], grown.is_level[node]
    evaluation = buffers.evaluation
    if not evaluated:
        call_kernel(settings.runner, (context, grown.programs, node, start, n))
    if settings.missing_both:
        size, other, left_room = partition_rows_both_ways(
            row_ids, start, n, room, evaluation.values, threshold, is_level, state, buffers.spare
        )
    else:
        missing_left = grown.missing_left[node]
        size = partition_rows(
            row_ids, start, n, evaluation.values, threshold, is_level, missing_left, buffers.spare
        )
        other, left_room = n - size, np.int64(0)
    grown.left[node] = n_nodes
    for child in range(2):
        new = n_nodes + child
        grown.start[new] = start if child == 0 else start + size + left_room
        grown.size[new] = size if child == 0 else other
        grown.room[new] = left_room if child == 0 else room + n - size - other - left_room
        grown.depth[new] = grown.depth[node] + 1
        if settings.strategy == WEIGHTED:
            pass_on(buffers.operator_weights, node, new)


@kernel
def grow_tree(
    matrix, columns, target, row_ids, settings, grammar, users, state, stop, grown, buffers
):
    """Grow one tree on the given rows, which end up parted by leaf; give the number of nodes.

    The table comes twice: `matrix` by rows, for a node that looks at all columns, and `columns`
    for one that looks at few.

    A non-zero `stop[0]` ends growth at once: what is not split yet stays a leaf.
    """
    best_first = settings.max_leaves > 0
    table = (matrix, columns, target, settings, grammar, users, state, buffers)
    context = share(GrowContext(buffers.rows, row_ids, *table))
    sample = share(GrowContext(buffers.sampled, buffers.sample_ids, *table))
    if settings.budget > 0 and settings.strategy == RANDOM_SEARCH:
        call_kernel(settings.filler, (context,))
    capacity = grown.left.shape[0]
    grown.start[0] = 0
    grown.size[0] = row_ids.shape[0] - settings.room
    grown.room[0] = settings.room
    grown.depth[0] = 0
    n_nodes: Any = np.int64(1)
    first_new: Any = np.int64(0)
    leaves, waiting = 1, 0
    while True:
        last_searched: Any = np.int64(-1)
        for node in range(first_new, n_nodes):
            last_searched = np.int64(-1)  # this search overwrites the values of the one before
            find_split(context, sample, stop, grown, node)
            if grown.rank[node] > WORST:
                buffers.frontier[waiting] = node
                waiting += 1
                last_searched = node
        full = n_nodes + 2 > capacity or (best_first and leaves >= settings.max_leaves)
        if waiting == 0 or full or stop[0] != 0:
            for place in range(waiting):
                leave_as_leaf(grown, buffers.frontier[place])
            return n_nodes
        node = next_node(grown.rank, buffers.frontier, waiting, best_first)
        waiting -= 1
        # Depth first, the node just searched is the next to split: its values are still twork.
        known = node == last_searched
        split_node(context, grown, node, n_nodes, known)
        first_new = n_nodes
        n_nodes += 2
        leaves += 1
