"""Draw random programs from the valid-action automaton."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.operators import operator_symbol, symbol_opcode
from featurewright.engine.random import draw_below
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END


@kernel(inline=True)
def take_choice(grammar, choice, programs, k, d, state):
    """Write a choice's symbol as the d-th of a program and note the state after it.

    A test for a level gets its level here: a random one of the column it is applied to.
    """
    symbol = np.int64(grammar.symbol[choice])
    if symbol < 0 and symbol_opcode(symbol) == IS:
        level = draw_below(state, max(np.int64(1), grammar.n_levels[programs[k, d - 1]]))
        symbol = operator_symbol(IS, level)
    programs[k, d] = symbol
    state.grammar_state = grammar.following[choice]
    return symbol


@kernel
def complete(grammar, programs, visited, k, d, state):
    """Fill a program from position d by valid random symbols; give its length.

    `visited` receives the automaton's state after each symbol.
    """
    width = programs.shape[1]
    while d < width:
        first = grammar.start[state.grammar_state]
        choices = grammar.start[state.grammar_state + 1] - first
        choice = first + draw_below(state, choices)
        symbol = take_choice(grammar, choice, programs, k, d, state)
        if symbol == END:
            break
        visited[k, d] = state.grammar_state
        d += 1
    for rest in range(d, width):
        programs[k, rest] = END
    return d


@kernel(inline=True)
def fingerprint(programs, k, length):
    """Hash a program's symbols."""
    total = np.uint64(length)
    for d in range(np.uint64(length)):
        total = (total ^ np.uint64(np.uint32(programs[k, d]))) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total
