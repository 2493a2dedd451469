"""A tree's stock of random programs, from which each node scores its share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featurewright.expressions import opcodes as op
from featurewright.kernels.grammar import fingerprint
from featurewright.kernels.jit import call_kernel, kernel, share
from featurewright.kernels.quick import OTHER, is_quick, note_form, run_form, score_quickly
from featurewright.kernels.random import draw_below
from featurewright.kernels.search import (
    FROM_BUFFER,
    copy_program,
    note_score,
    spent,
    write_candidate,
)

SHAPES = 256  # programs are sorted into so many heaps by the operators they apply


class Stock(NamedTuple):
    """Random programs drawn for one tree; each node scores some of them."""

    programs: np.ndarray  # int32[draws, max_size]: distinct ones
    draws: np.ndarray  # int32: numbers of programs as often as drawn, sorted by shape; 2**k long
    drawn: np.ndarray  # int32[draws]: the same, as they came
    stamps: np.ndarray  # int32[draws]: the node at which a program was scored last
    table: np.ndarray  # int32: hash table of the programs' numbers, -1 where empty
    places: np.ndarray  # int64[SHAPES + 1]: where the draws of a shape begin
    forms: np.ndarray  # int32[draws, FORM]: what the simple ones compute


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
        kind = np.int64(0) if symbol >= 0 else 1 + ((-1 - symbol) & 0xFF)
        shape = shape * np.uint64(37) + np.uint64(kind)
    return np.int64((shape + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(56))


@kernel(inline=True)
def sort_by_shape(stock):
    """Sort the draws by shape, else as they came.

    A node that scores programs of the same operators one after the other does not have the
    processor guess wrong what comes next, which costs as much as scoring a few dozen rows.
    """
    places = stock.places
    for shape in range(SHAPES + 1):
        places[shape] = 0
    for draw in range(stock.drawn.shape[0]):
        places[shape_of(stock.programs, np.int64(stock.drawn[draw])) + 1] += 1
    for shape in range(SHAPES):
        places[shape + 1] += places[shape]
    for draw in range(stock.drawn.shape[0]):
        shape = shape_of(stock.programs, np.int64(stock.drawn[draw]))
        stock.draws[places[shape]] = stock.drawn[draw]
        places[shape] += 1


@kernel
def fill_stock(content):
    """Draw complete random programs to choose a tree's candidates from.

    The list of draws has a program as often as the grammar drew it, under one number. Other kernels
    call this one by address.
    """
    work, zero = share(content), np.int64(0)
    settings, state, grammar = work.settings, work.state, work.grammar
    found, stock = work.shop.found, work.shop.stock
    width = found.programs.shape[1]
    mask = np.uint64(stock.table.shape[0] - 1)
    for place in range(np.uint64(stock.table.shape[0])):
        stock.table[place] = -1
    distinct = np.int64(0)
    for draw in range(stock.drawn.shape[0]):
        state.grammar_state = 0
        length = write_candidate(zero, zero, zero, settings, grammar, work.library, found, state)
        place = (fingerprint(found.programs, zero, length) >> np.uint64(20)) & mask
        while stock.table[place] >= 0:
            if same_program(found.programs, zero, stock.programs, np.int64(stock.table[place])):
                break
            place = (place + np.uint64(1)) & mask
        if stock.table[place] < 0:
            copy_program(found.programs, zero, stock.programs, distinct, width)
            stock.stamps[distinct] = 0
            stock.table[place] = distinct
            note_form(stock.programs, distinct, grammar.n_levels, stock.forms)
            distinct += 1
        stock.drawn[draw] = stock.table[place]
    sort_by_shape(stock)


@kernel
def search_stock(work, n, n_stats):
    """Score the node's share of the tree's stock of random programs, none twice.

    The sorted list is cut into as many parts as the budget allows candidates, and a random program
    of each part is scored; twice, because some will have been scored already. What the budget then
    has left goes through the list one by one. The first part is a random one, because a perfect
    split ends the search.
    """
    rows, settings, state, grammar = work.rows, work.settings, work.state, work.grammar
    found, tally, buffer, stock = (
        work.shop.found,
        work.shop.tally,
        work.shop.buffer,
        work.shop.stock,
    )
    size = np.int64(stock.draws.shape[0])
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
        p = np.int64(stock.draws[place])
        if stock.stamps[p] == state.node:
            continue
        stock.stamps[p] = state.node
        k = state.scored
        if quick and stock.forms[p, 0] != OTHER:
            row = run_form(stock.forms, p, buffer, n_columns, n, state)
            score = score_quickly(buffer, row, rows, n, n_stats, settings, state.best_score, state)
            note_score(stock.programs, p, k, score, no, tally, state)
        else:
            call_kernel(settings.scorer, (work, stock.programs, p, k, FROM_BUFFER, n, n_stats))
        copy_program(stock.programs, p, found.programs, k, width)
