"""A tree's stock of random programs, from which each node scores its share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featurewright.kernels.grammar import fingerprint
from featurewright.kernels.jit import kernel
from featurewright.kernels.random import draw_below
from featurewright.kernels.search import (
    FROM_BUFFER,
    copy_program,
    score_one,
    spent,
    write_candidate,
)


class Stock(NamedTuple):
    """Random programs drawn for one tree; each node scores some of them."""

    programs: np.ndarray  # int32[draws, max_size]: distinct ones
    draws: np.ndarray  # int32: numbers of programs, as often as they were drawn; a power of two
    stamps: np.ndarray  # int32[draws]: the node at which a program was scored last
    table: np.ndarray  # int32: hash table of the programs' numbers, -1 where empty


@kernel(inline=True)
def same_program(programs, i, others, k):
    """Tell whether two programs are equal."""
    equal = True
    for d in range(programs.shape[1]):
        equal &= programs[i, d] == others[k, d]
    return equal


@kernel
def fill_stock(settings, grammar, library, found, stock, state):
    """Draw complete random programs to choose a tree's candidates from.

    `draws` lists them as they came, equal ones under the same number, so that a program comes up
    as often as the grammar draws it.
    """
    zero = np.int64(0)
    width = found.programs.shape[1]
    mask = np.uint64(stock.table.shape[0] - 1)
    for place in range(np.uint64(stock.table.shape[0])):
        stock.table[place] = -1
    distinct = np.int64(0)
    for draw in range(stock.draws.shape[0]):
        state.grammar_state = 0
        length = write_candidate(zero, zero, zero, settings, grammar, library, found, state)
        place = (fingerprint(found.programs, zero, length) >> np.uint64(20)) & mask
        while stock.table[place] >= 0:
            if same_program(found.programs, zero, stock.programs, np.int64(stock.table[place])):
                break
            place = (place + np.uint64(1)) & mask
        if stock.table[place] < 0:
            copy_program(found.programs, zero, stock.programs, distinct, width)
            stock.stamps[distinct] = 0
            stock.table[place] = distinct
            distinct += 1
        stock.draws[draw] = stock.table[place]


@kernel
def search_stock(
    rows, n, n_stats, settings, grammar, users, found, tally, bench, desk, buffer, stock, state
):
    """Score the node's share of the tree's stock of random programs, none twice.

    An odd step through a list as long as a power of two visits every place once, in an order
    unrelated to that at other nodes.
    """
    mask = np.int64(stock.draws.shape[0] - 1)
    width = found.programs.shape[1]
    place = draw_below(state, stock.draws.shape[0])
    step = 2 * draw_below(state, stock.draws.shape[0] // 2) + 1
    state.node += 1
    while not spent(settings.budget, state) and state.tries <= mask:
        state.tries += 1
        p = np.int64(stock.draws[place])
        place = (place + step) & mask
        if stock.stamps[p] == state.node:
            continue
        stock.stamps[p] = state.node
        k = state.scored
        score_one(
            stock.programs,
            p,
            k,
            FROM_BUFFER,
            rows,
            n,
            n_stats,
            settings,
            grammar.n_levels,
            users,
            tally,
            bench,
            desk,
            buffer,
            state,
        )
        copy_program(stock.programs, p, found.programs, k, width)
