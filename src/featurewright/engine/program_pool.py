"""A tree's pool of random programs, from which each node scores its share."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import N_SHAPES
from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.fast_path import OTHER, is_quick, note_form, run_form, score_quickly
from featurewright.engine.grammar import complete, fingerprint
from featurewright.engine.operators import symbol_opcode
from featurewright.engine.random import draw_below, next_bits
from featurewright.engine.search import (
    FROM_BUFFER,
    copy_program,
    note_score,
    spent,
)
from featurewright.expressions import opcodes as op


@kernel(inline=True)
def same_program(programs, i, others, k):
    """Tell whether two programs are equal."""
    equal = True
    for d in range(programs.shape[1]):
        equal &= programs[i, d] == others[k, d]
    return equal


@kernel(inline=True)
def shape_of(programs, k):
    """Give the heap of a program: programs that differ in their columns alone share one."""
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
    """Sort the draws by shape, else as they came.

    A node that scores programs of the same operators one after the other does not have the
    processor guess wrong what comes next, which costs as much as scoring a few dozen rows.
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
    """Draw complete random programs to choose a tree's candidates from.

    The list of draws has a program as often as the grammar drew it, under one number. Other kernels
    call this one by address.
    """
    zero = np.int64(0)
    state, grammar = context.state, context.grammar
    found, pool = context.buffers.found, context.buffers.pool
    width = found.programs.shape[1]
    mask = np.uint64(pool.table.shape[0] - 1)
    for place in range(np.uint64(pool.table.shape[0])):
        pool.table[place] = -1
    distinct = np.int64(0)
    for draw in range(pool.drawn.shape[0]):
        state.grammar_state = 0
        next_bits(state)  # not used, but the numbers after it, and so all trees, depend on it
        length = complete(grammar, found.programs, found.visited, zero, zero, state)
        place = (fingerprint(found.programs, zero, length) >> np.uint64(20)) & mask
        while pool.table[place] >= 0:
            if same_program(found.programs, zero, pool.programs, np.int64(pool.table[place])):
                break
            place = (place + np.uint64(1)) & mask
        if pool.table[place] < 0:
            copy_program(found.programs, zero, pool.programs, distinct, width)
            pool.stamps[distinct] = 0
            pool.table[place] = distinct
            note_form(pool.programs, distinct, grammar.n_levels, pool.forms)
            distinct += 1
        pool.drawn[draw] = pool.table[place]
    sort_by_shape(pool)


@kernel
def search_pool(context, n, n_stats):
    """Score the node's share of the tree's pool of random programs, none twice.

    The sorted list is cut into as many parts as the budget allows candidates, and a random program
    of each part is scored; twice, because some will have been scored already. What the budget then
    has left goes through the list one by one. The first part is a random one, because a perfect
    split ends the search.
    """
    rows, settings, state, grammar = context.rows, context.settings, context.state, context.grammar
    found, candidate_scores, buffer, pool = (
        context.buffers.found,
        context.buffers.candidate_scores,
        context.buffers.buffer,
        context.buffers.pool,
    )
    size = np.int64(pool.draws.shape[0])
    width = found.programs.shape[1]
    parts = min(settings.budget, size)
    part = draw_below(state, parts)
    # A part's draws times 2**32, rounded up: dividing at each candidate would cost as much as rows.
    per_part = ((size << 32) + parts - 1) // parts
    n_columns, no = np.int64(grammar.n_levels.shape[0]), np.int64(0)
    state.node += 1
    quick = is_quick(rows, n_stats, settings, settings.many_thresholds)
    while not spent(settings.budget, state) and state.tries < 2 * parts + size:
        if state.tries < 2 * parts:
            begin = (part * per_part) >> 32
            end = ((part + 1) * per_part) >> 32
            part = part + 1 if part + 1 < parts else np.int64(0)
            place = begin + draw_below(state, end - begin)
        else:
            place = state.tries - 2 * parts
        state.tries += 1
        p = np.int64(pool.draws[place])
        if pool.stamps[p] == state.node:
            continue
        pool.stamps[p] = state.node
        k = state.scored
        if quick and pool.forms[p, 0] != OTHER:
            row = run_form(pool.forms, p, buffer, n_columns, n, state)
            score = score_quickly(buffer, row, rows, n, n_stats, settings, state.best_score, state)
            note_score(pool.programs, p, k, score, no, candidate_scores, state)
        else:
            call_kernel(settings.scorer, (context, pool.programs, p, k, FROM_BUFFER, n, n_stats))
        copy_program(pool.programs, p, found.programs, k, width)
