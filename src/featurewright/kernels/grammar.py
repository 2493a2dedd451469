"""Draw random programs from the valid-action automaton."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featurewright.expressions import opcodes as op
from featurewright.kernels.jit import kernel
from featurewright.kernels.random import draw_below, mix


class Grammar(NamedTuple):
    """The automaton as lists of choices: one per valid symbol of each state, END included.

    A choice is drawn uniformly, so a symbol that is to come up more often is listed more often.
    """

    start: np.ndarray  # int64[states + 1]: where a state's choices begin
    symbol: np.ndarray  # int32[choices]
    following: np.ndarray  # int32[choices]: the state after the symbol
    n_levels: np.ndarray  # int64[columns]: levels of a Category column, 0 for the others


@kernel
def take_choice(grammar, choice, programs, k, d, state):
    """Write a choice's symbol as the d-th of a program and note the state after it.

    A test for a level gets its level here: a random one of the column it is applied to.
    """
    symbol = np.int64(grammar.symbol[choice])
    if symbol < 0 and ((-1 - symbol) & 0xFF) == op.IS:
        level = draw_below(state, max(np.int64(1), grammar.n_levels[programs[k, d - 1]]))
        symbol = -1 - ((-1 - symbol) | (level << 8))
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
        if symbol == op.END:
            break
        visited[k, d] = state.grammar_state
        d += 1
    for rest in range(d, width):
        programs[k, rest] = op.END
    return d


@kernel
def is_commutative(opcode):
    """Tell whether a built-in operator gives the same for exchanged operands."""
    return (
        opcode == op.ADD
        or opcode == op.MUL
        or (op.MIN <= opcode <= op.XOR)  # minimum, maximum, gaussian, and, or, xor
        or opcode == op.EQUAL
    )


@kernel
def fingerprint(programs, k, length, arities, hashes):
    """Hash a program so that operand order under a commutative operator does not matter.

    `arities` are those of the user operators.
    """
    top = 0
    for d in range(length):
        symbol = np.int64(programs[k, d])
        if symbol >= 0:
            hashes[top] = mix(np.uint64(symbol + 1))
            top += 1
            continue
        code = -1 - symbol
        opcode = code & 0xFF
        salt = np.uint64(code) << np.uint64(32)
        if opcode >= op.FIRST_USER:
            arity = arities[opcode - op.FIRST_USER]
        elif (op.NEG <= opcode <= op.RECIPROCAL) or opcode == op.NOT or opcode == op.IS:
            arity = 1
        else:
            arity = 2
        top -= arity
        total = hashes[top]
        for j in range(1, arity):
            other = hashes[top + j]
            if is_commutative(opcode):
                total = total + other
            else:
                total = mix(total + np.uint64(j)) ^ other
        hashes[top] = mix(total + salt)
        top += 1
    return hashes[0]
