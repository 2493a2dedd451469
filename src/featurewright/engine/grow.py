"""Grow a whole tree in one compiled call."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from featurewright.engine.buffers import (
    LOOK_AHEAD,
    MAX_EXACT_ROWS,
    RANDOM_SEARCH,
    STEP,
    WEIGHTED,
    GrowContext,
)
from featurewright.engine.compiler import call_kernel, kernel, kernel_address
from featurewright.engine.compiler.parallel_compile import compiled_in_second_process
from featurewright.engine.criteria import MISSING_ALONE, WORST
from featurewright.engine.descend import run_programs
from featurewright.engine.histograms import (
    begin_histograms,
    divide_histograms,
    has_histograms,
    release_slot,
)
from featurewright.engine.level_sets import IN_SET, SIDES, replace_by_side
from featurewright.engine.node_search import is_pure, prepare_node, route_missing, search_node
from featurewright.engine.partition import partition_rows, partition_rows_both_ways
from featurewright.engine.program_pool import fill_pool, search_pool
from featurewright.engine.programs import order_operands, run_node
from featurewright.engine.search import REFINE, score_candidate, search_stepwise
from featurewright.engine.weighted import inherit_weights, search_weighted
from featurewright.expressions import opcodes as op

_ZERO = np.float32(0.0)
_COMPILING = Lock()


SEARCHERS = {
    RANDOM_SEARCH: search_pool,
    STEP: search_stepwise,
    LOOK_AHEAD: search_stepwise,
    WEIGHTED: search_weighted,
}


@cache
def scorer_address() -> int:
    """Return the address of the kernel that takes longest to compile."""
    example, number = GrowContext.example(), np.int64(0)
    programs = example.buffers.candidates.programs
    return kernel_address(
        score_candidate, example, programs, number, number, number, number, number
    )


@cache
def kernel_addresses(strategy: int | None = None) -> dict[str, int]:
    """Return the addresses of the kernels that are called by address, as fields of settings.

    The kernels of a search are compiled only if its strategy is given.
    """
    context, number = GrowContext.example(), np.int64(0)
    programs = context.buffers.candidates.programs
    # The first thread compiles; threads that start at the same time wait for it.
    with _COMPILING, compiled_in_second_process(score_candidate, __name__, scorer_address.__name__):
        addresses = {"runner": kernel_address(run_node, context, programs, number, number, number)}
        if strategy is not None:
            addresses["searcher"] = kernel_address(SEARCHERS[strategy], context, number, number)
        if strategy == RANDOM_SEARCH:
            addresses["filler"] = kernel_address(fill_pool, context)
        is_first_use = not grow_tree.is_cached
        grow_tree.compile_for(context, context)
        if is_first_use:
            compile_what_follows(context)
    return {"scorer": scorer_address(), **addresses}


def compile_what_follows(context: GrowContext) -> None:
    """Compile what most fits call after growing, while the other process compiles the scorer."""
    programs, numbers = context.tree.programs, np.empty((1, 1))
    order_operands.compile_for(
        programs, context.users.arities, np.empty(1, np.int64), np.empty(1, np.int32)
    )
    run_programs.compile_for(numbers, programs, context.users, np.empty(1), numbers)


@kernel(inline=True)
def next_node(rank, frontier, count, best_first):
    """Remove and return the next node to split: the last one, or that of highest rank."""
    pick = count - 1
    if best_first:
        for place in range(count):
            if rank[frontier[place]] > rank[frontier[pick]]:
                pick = place
    node = frontier[pick]
    frontier[pick] = frontier[count - 1]
    return node


@kernel(inline=True)
def mark_as_leaf(tree, node):
    """Record that a node is not split."""
    tree.left[node] = -1
    tree.rank[node] = WORST
    tree.gain[node] = _ZERO
    tree.threshold[node] = _ZERO
    tree.is_level[node] = 0
    tree.missing_left[node] = 0
    for d in range(tree.programs.shape[1]):
        tree.programs[node, d] = op.END


@kernel(inline=True)
def find_split(context, sample, node):
    """Find and record a new node's best split; the rank of a node that stays a leaf is WORST."""
    tree = context.tree
    start, n = tree.start[node], tree.size[node]
    mark_as_leaf(tree, node)
    settings, state, rows, buffers = context.settings, context.state, context.rows, context.buffers
    small = n < settings.min_split or n < 2 * settings.min_rows
    if small or tree.depth[node] >= settings.max_depth or context.stop[0] != 0:
        return
    if settings.by_class:
        # Rows are sorted by class: equal ends mean one class.
        codes, row_ids = context.target.codes, context.row_ids
        if codes[row_ids[start]] == codes[row_ids[start + n - 1]]:
            return
    n_stats = prepare_node(context, start, n, n)
    if is_pure(rows, n, n_stats, settings):
        return
    buffers.operator_weights.node[0] = node
    search_node(context, sample, node, start, n, n_stats)
    if not state.best_score > WORST:
        return
    zero, best = np.int64(0), buffers.candidate_scores.best
    if not state.is_evaluated:
        call_kernel(settings.runner, (context, best, zero, start, n))
    # Later rounds of second-order boosting correct coarse thresholds, and averaging many trees
    # compensates for them.
    zooms = settings.many_thresholds and settings.l2 == _ZERO and n > MAX_EXACT_ROWS
    coarse = not settings.random_threshold and (state.best_few_thresholds or zooms)
    alone = state.best_threshold == MISSING_ALONE
    if coarse and not state.best_is_level and not alone:
        call_kernel(settings.scorer, (context, best, zero, zero, REFINE, n, n_stats))
    threshold, is_level = state.best_threshold, state.best_is_level
    if is_level == IN_SET:
        replace_by_side(buffers.evaluation.values, n, buffers.scratch.best_level_set, zero)
        threshold, is_level = SIDES, zero
    side, gain = route_missing(
        buffers.evaluation.values,
        rows,
        n,
        n_stats,
        settings,
        buffers.scratch,
        threshold,
        is_level,
    )
    # A split without gain may lead to splits with gain, so rounding must not forbid it.
    rounding = np.float32(1e-6) * rows.totals[n_stats]
    if not gain >= settings.min_gain - rounding or (settings.strict and gain <= rounding):
        return
    # A test that says nothing about the residuals gains their mean square on average.
    if gain * np.float32(n) < settings.f_to_enter * rows.summary.squared_deviations:
        return
    tree.rank[node] = max(gain, _ZERO)
    tree.gain[node] = max(gain, _ZERO)
    tree.threshold[node] = state.best_threshold
    tree.is_level[node] = state.best_is_level
    tree.missing_left[node] = side
    if state.best_is_level == IN_SET:
        for word in range(tree.level_sets.shape[1]):
            tree.level_sets[node, word] = buffers.scratch.best_level_set[0, word]
    for d in range(tree.programs.shape[1]):
        tree.programs[node, d] = best[0, d]
    if not settings.missing_both:
        # Here the values are known. A node that stays a leaf has its rows in another order.
        tree.left_size[node] = partition_rows(
            context.row_ids,
            start,
            n,
            buffers.evaluation.values,
            threshold,
            is_level,
            side,
            buffers.spare,
        )


@kernel(inline=True)
def split_node(context, node, n_nodes, evaluated):
    """Add the two children of a node; rows that go both ways are partitioned only now."""
    settings, tree = context.settings, context.tree
    start, n, spare_rows = tree.start[node], tree.size[node], tree.spare_rows[node]
    buffers = context.buffers
    if settings.missing_both:
        threshold, is_level = tree.threshold[node], np.int64(tree.is_level[node])
        values = buffers.evaluation.values
        if not evaluated:
            call_kernel(settings.runner, (context, tree.programs, node, start, n))
            if is_level == IN_SET:
                replace_by_side(values, n, tree.level_sets, np.int64(node))
        if is_level == IN_SET:
            threshold, is_level = SIDES, np.int64(0)
        left_size, right_size, left_spare = partition_rows_both_ways(
            context.row_ids,
            start,
            n,
            spare_rows,
            values,
            threshold,
            is_level,
            context.state,
            buffers.spare,
        )
    else:
        left_size = tree.left_size[node]
        right_size, left_spare = n - left_size, np.int64(0)
    tree.left[node] = n_nodes
    for child in range(2):
        new = n_nodes + child
        tree.start[new] = start if child == 0 else start + left_size + left_spare
        tree.size[new] = left_size if child == 0 else right_size
        rest = spare_rows + n - left_size - right_size - left_spare
        tree.spare_rows[new] = left_spare if child == 0 else rest
        tree.depth[new] = tree.depth[node] + 1
        if settings.strategy == WEIGHTED:
            inherit_weights(buffers.operator_weights, node, new)


@kernel
def grow_tree(context, sample):
    """Grow one tree on the context's rows, which end up sorted by leaf; return the node count.

    The table is given twice: `matrix` by rows, for nodes that read all columns, and `columns` for
    nodes that read few. `sample` is the context for a sample of a node's rows. A non-zero `stop[0]`
    ends growth: nodes not split yet become leaves.
    """
    settings, tree, frontier = context.settings, context.tree, context.buffers.frontier
    stop = context.stop
    best_first = settings.max_leaves > 0
    if settings.budget > 0 and settings.strategy == RANDOM_SEARCH:
        call_kernel(settings.filler, (context,))
    capacity = tree.left.shape[0]
    tree.start[0] = 0
    tree.size[0] = context.row_ids.shape[0] - settings.spare_rows
    tree.spare_rows[0] = settings.spare_rows
    tree.depth[0] = 0
    if has_histograms(context):
        begin_histograms(context)
    n_nodes: Any = np.int64(1)
    first_new: Any = np.int64(0)
    leaves, waiting = 1, 0
    while True:
        full = n_nodes + 2 > capacity or (best_first and leaves >= settings.max_leaves)
        last_searched: Any = np.int64(-1)
        for node in range(first_new, n_nodes):
            last_searched = np.int64(-1)  # this search overwrites the values of the previous one
            if full:
                mark_as_leaf(tree, node)
                continue
            find_split(context, sample, node)
            if tree.rank[node] > WORST:
                frontier[waiting] = node
                waiting += 1
                last_searched = node
            elif has_histograms(context):
                release_slot(context.buffers.histograms, node)
        if waiting == 0 or full or stop[0] != 0:
            for place in range(waiting):
                mark_as_leaf(tree, frontier[place])
            return n_nodes
        node = next_node(tree.rank, frontier, waiting, best_first)
        waiting -= 1
        # Depth first, the node just searched is split next: its values are still in the buffer.
        known = node == last_searched
        split_node(context, node, n_nodes, known)
        is_last = best_first and leaves + 1 >= settings.max_leaves
        if has_histograms(context) and not is_last:
            divide_histograms(context, node, n_nodes)
        first_new = n_nodes
        n_nodes += 2
        leaves += 1
