"""The grammar of programs: built from the automaton, drawn from by kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import Grammar
from featurewright.engine.compiler import kernel
from featurewright.engine.operators import operator_symbol, symbol_opcode
from featurewright.engine.random import draw_below
from featurewright.engine.user_functions import CompiledOperators
from featurewright.expressions import Automaton, Operator, build_automaton
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END


@kernel(inline=True)
def take_choice(grammar, choice, programs, k, d, state):
    """Append a choice's symbol at position d of a program and store the state after it.

    A level test gets a random level of the column that it is applied to.
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
    """Complete a program from position d with valid random symbols; return its length.

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


SAMPLINGS = ("symbol", "kind")
_MAX_CHOICES = 50_000_000


def user_operators(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return the user operators of a selection, in slot order."""
    return tuple(operator for operator in operators if operator.opcode is None)


def compile_operators(operators: Sequence[Operator]) -> CompiledOperators:
    """Compile the user operators of a selection."""
    return CompiledOperators(user_operators(operators))


def build_grammar(
    domains: npt.NDArray[np.int8],
    n_levels: npt.NDArray[np.int64],
    operators: Sequence[Operator],
    max_size: int,
    *,
    sampling: str = "symbol",
) -> Grammar:
    """Return the valid symbols of every automaton state, repeated by their probability.

    Parameters
    ----------
    domains : ndarray of int8
        Domain of each column.
    n_levels : ndarray of int64
        Number of levels of each Category column, 0 for the others.
    operators : sequence of Operator
        The constructors.
    max_size : int
        Largest number of symbols of an expression.
    sampling : {"symbol", "kind"}
        Uniform over valid symbols, or first over {column, constructor, end} and then within.
    """
    automaton = build_automaton(domains, operators, max_size)
    symbols: list[npt.NDArray[np.int32]] = []
    following: list[npt.NDArray[np.int32]] = []
    start, n_distinct = [0], []
    for state in range(len(automaton.can_end)):
        names, after = _choices(automaton, state, by_kind=sampling == "kind")
        # Each symbol once, then the repetitions, as `look_ahead` tries each symbol once.
        _, first = np.unique(names, return_index=True)
        once = np.zeros(len(names), bool)
        once[first] = True
        order = np.argsort(~once, kind="stable")
        symbols.append(names[order])
        following.append(after[order])
        n_distinct.append(len(first))
        start.append(start[-1] + len(names))
        if start[-1] > _MAX_CHOICES:
            raise ValueError(
                f"max_size={max_size} with {len(operators)} operators on {len(domains)} columns "
                f"needs more than {_MAX_CHOICES:,} choices; use a smaller max_size or fewer "
                "operators."
            )
    return Grammar(
        np.array(start, np.int64),
        np.array(n_distinct, np.int64),
        np.concatenate(symbols),
        np.concatenate(following),
        np.ascontiguousarray(n_levels, np.int64),
    )


def _choices(
    automaton: Automaton, state: int, *, by_kind: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return one state's choices and the states after them."""
    kinds: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
    inputs, after_inputs = [], []
    for domain in np.flatnonzero(automaton.input_next[state] >= 0):
        group = automaton.columns[
            automaton.domain_start[domain] : automaton.domain_start[domain + 1]
        ]
        inputs.append(group)
        after_inputs.append(
            np.full(len(group), automaton.input_next[state, domain], dtype=np.int32)
        )
    if inputs:
        kinds.append((np.concatenate(inputs), np.concatenate(after_inputs)))
    valid = np.flatnonzero(automaton.op_next[state] >= 0)
    if len(valid):
        kinds.append((automaton.op_symbol[valid], automaton.op_next[state, valid]))
    if automaton.can_end[state]:
        kinds.append((np.full(1, END, np.int32), np.zeros(1, np.int32)))
    if by_kind:
        common = lcm(*(len(names) for names, _ in kinds))
        kinds = [
            (np.tile(names, common // len(names)), np.tile(after, common // len(names)))
            for names, after in kinds
        ]
    return (
        np.concatenate([names for names, _ in kinds]).astype(np.int32),
        np.concatenate([after for _, after in kinds]).astype(np.int32),
    )
