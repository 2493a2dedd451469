"""A tree's pool of random programs, some of which each node scores."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import N_SHAPES
from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.fast_path import OTHER, record_form, run_form, score_fast, takes_fast_path
from featurewright.engine.grammar import complete, fingerprint
from featurewright.engine.operators import symbol_opcode
from featurewright.engine.random import draw_below, next_bits
from featurewright.engine.search import (
    FROM_BUFFER,
    copy_program,
    record_score,
    spent,
)
from featurewright.expressions import opcodes as op


@kernel(inline=True)
def same_program(programs, i, others, k):
    """Whether two programs are equal."""
    equal = True
    for d in range(programs.shape[1]):
        equal &= programs[i, d] == others[k, d]
    return equal


@kernel(inline=True)
def shape_of(programs, k):
    """Return a hash of a program's operators: programs that differ only in columns share it."""
    shape = np.uint64(0)
    for d in range(programs.shape[1]):
        symbol = np.int64(programs[k, d])
        if symbol == op.END:
            break
        kind = np.int64(0) if symbol >= 0 else 1 + symbol_opcode(symbol)
        shape = shape * np.uint64(37) + np.uint64(kind)
    return np.int64((shape + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(56))


@kernel(inline=True)
def sort_by_shape(pool):
    """Sort the draws by shape, stably.

    Scoring programs of the same operators one after the other avoids mispredicted branches, which
    cost as much as scoring a few dozen rows.
    """
    places = pool.places
    for shape in range(N_SHAPES + 1):
        places[shape] = 0
    for draw in range(pool.drawn.shape[0]):
        places[shape_of(pool.programs, np.int64(pool.drawn[draw])) + 1] += 1
    for shape in range(N_SHAPES):
        places[shape + 1] += places[shape]
    for draw in range(pool.drawn.shape[0]):
        shape = shape_of(pool.programs, np.int64(pool.drawn[draw]))
        pool.draws[places[shape]] = pool.drawn[draw]
        places[shape] += 1


@kernel
def fill_pool(context):
    """Draw complete random programs for a tree's pool.

    The list of draws contains a program as often as the grammar drew it; equal programs share one
    number. Other kernels call this one by address.
    """
    zero = np.int64(0)
    state, grammar = context.state, context.grammar
    candidates, pool = context.buffers.candidates, context.buffers.pool
    width = candidates.programs.shape[1]
    mask = np.uint64(pool.table.shape[0] - 1)
    for place in range(np.uint64(pool.table.shape[0])):
        pool.table[place] = -1
    distinct = np.int64(0)
    for draw in range(pool.drawn.shape[0]):
        state.grammar_state = 0
        next_bits(state)  # unused, but the later random numbers, and so all trees, depend on it
        length = complete(grammar, candidates.programs, candidates.visited, zero, zero, state)
        place = (fingerprint(candidates.programs, zero, length) >> np.uint64(20)) & mask
        while pool.table[place] >= 0:
            if same_program(candidates.programs, zero, pool.programs, np.int64(pool.table[place])):
                break
            place = (place + np.uint64(1)) & mask
        if pool.table[place] < 0:
            copy_program(candidates.programs, zero, pool.programs, distinct, width)
            pool.stamps[distinct] = 0
            pool.table[place] = distinct
            record_form(pool.programs, distinct, grammar.n_levels, pool.forms)
            distinct += 1
        pool.drawn[draw] = pool.table[place]
    sort_by_shape(pool)


@kernel
def search_pool(context, n, n_stats):
    """Score some of the tree's pool of random programs, none twice at a node.

    The sorted list is divided into as many strata as the budget allows candidates, and a random
    program of each stratum is scored; in two passes, because some draws repeat a program. The
    remaining budget is spent on the list in order. The first stratum is random, because a perfect
    split ends the search.
    """
    rows, settings, state, grammar = context.rows, context.settings, context.state, context.grammar
    candidates, candidate_scores, buffer, pool = (
        context.buffers.candidates,
        context.buffers.candidate_scores,
        context.buffers.buffer,
        context.buffers.pool,
    )
    size = np.int64(pool.draws.shape[0])
    width = candidates.programs.shape[1]
    n_strata = min(settings.budget, size)
    stratum = draw_below(state, n_strata)
    # Times 2**32, rounded up: a division per candidate would cost as much as dozens of rows.
    draws_per_stratum = ((size << 32) + n_strata - 1) // n_strata
    n_columns, no = np.int64(grammar.n_levels.shape[0]), np.int64(0)
    state.node += 1
    fast = takes_fast_path(rows, n_stats, settings, settings.many_thresholds)
    while not spent(settings.budget, state) and state.tries < 2 * n_strata + size:
        if state.tries < 2 * n_strata:
            begin = (stratum * draws_per_stratum) >> 32
            end = ((stratum + 1) * draws_per_stratum) >> 32
            stratum = stratum + 1 if stratum + 1 < n_strata else np.int64(0)
            place = begin + draw_below(state, end - begin)
        else:
            place = state.tries - 2 * n_strata
        state.tries += 1
        p = np.int64(pool.draws[place])
        if pool.stamps[p] == state.node:
            continue
        pool.stamps[p] = state.node
        k = state.scored
        if fast and pool.forms[p, 0] != OTHER:
            row = run_form(pool.forms, p, buffer, n_columns, n, state)
            score = score_fast(buffer, row, rows, n, n_stats, settings, state.best_score, state)
            record_score(pool.programs, p, k, score, no, candidate_scores, state)
        else:
            call_kernel(settings.scorer, (context, pool.programs, p, k, FROM_BUFFER, n, n_stats))
        copy_program(pool.programs, p, candidates.programs, k, width)
