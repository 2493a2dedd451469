"""Turn an operator set and a table's columns into the lists of choices that kernels draw from."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import Grammar
from featurewright.engine.user_functions import CompiledOperators
from featurewright.expressions import Automaton, Operator, build_automaton
from featurewright.expressions.opcodes import END

SAMPLINGS = ("symbol", "kind")
_MAX_CHOICES = 50_000_000


def user_operators(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Give the user operators among a selection, in slot order."""
    return tuple(operator for operator in operators if operator.opcode is None)


def compile_operators(operators: Sequence[Operator]) -> CompiledOperators:
    """Compile the user operators among a selection."""
    return CompiledOperators(user_operators(operators))


def build_grammar(
    domains: npt.NDArray[np.int8],
    n_levels: npt.NDArray[np.int64],
    operators: Sequence[Operator],
    max_size: int,
    *,
    sampling: str = "symbol",
) -> Grammar:
    """List the valid symbols of every automaton state as often as they should be drawn.

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
        # Each symbol once, then the repetitions.
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
    """List one state's choices and the states after them."""
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
