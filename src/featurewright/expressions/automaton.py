"""The valid next symbols of a program being written, as tables compiled code samples from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.expressions.completion import Completion, Signature, Stack
from featurewright.expressions.domains import Boolean, Domain, Real
from featurewright.expressions.opcodes import END, operator_symbol
from featurewright.expressions.operators import Operator
from featurewright.expressions.programs import operator_opcode

MAX_SIZE = 31
MAX_STATES = 1_000_000

State = tuple[int, Stack]


@dataclass(frozen=True, eq=False)
class Automaton:
    """Which symbols may follow, in every state from which a program can still be completed.

    A state is the number of symbols written and the domains on the stack; state 0 is the start.
    In a table of next states, -1 marks what is not valid.

    Attributes
    ----------
    columns : ndarray of int32
        Column indices grouped by domain: Real, Boolean, Category.
    domain_start : ndarray of int64 of shape (4,)
        Where each group starts in ``columns``, and the end.
    input_next : ndarray of int32 of shape (n_states, 3)
        State after pushing a column of each domain; -1 also when there is no such column.
    op_next : ndarray of int32 of shape (n_states, n_operators)
        State after applying each operator.
    can_end : ndarray of uint8
        Whether the program may end here.
    op_symbol : ndarray of int32
        Symbol of each operator, with parameter 0.
    op_arity : ndarray of int64
        Number of operands of each operator.
    op_commutative : ndarray of uint8
        Whether the order of the operands of each operator is irrelevant.
    states : tuple of (int, tuple of Domain)
        Symbols written and stack of each state. A Boolean counts as a Real there when no operator
        asks for a Boolean, since nothing then tells them apart.
    """

    columns: npt.NDArray[np.int32]
    domain_start: npt.NDArray[np.int64]
    input_next: npt.NDArray[np.int32]
    op_next: npt.NDArray[np.int32]
    can_end: npt.NDArray[np.uint8]
    op_symbol: npt.NDArray[np.int32]
    op_arity: npt.NDArray[np.int64]
    op_commutative: npt.NDArray[np.uint8]
    states: tuple[State, ...]

    def valid_symbols(self, state: int) -> list[int]:
        """Return the symbols that may come next: columns, operators, END, in this order.

        Parameters
        ----------
        state : int
            Number of the state.

        Returns
        -------
        list of int
            The symbols; that of an ``is`` test has the parameter 0.
        """
        symbols: list[int] = []
        for domain in np.flatnonzero(self.input_next[state] >= 0):
            group = self.columns[self.domain_start[domain] : self.domain_start[domain + 1]]
            symbols.extend(group.tolist())
        symbols.extend(self.op_symbol[self.op_next[state] >= 0].tolist())
        return [*symbols, END] if self.can_end[state] else symbols


def build_automaton(
    column_domains: Sequence[int] | npt.NDArray[Any],
    operators: Sequence[Operator],
    max_size: int,
) -> Automaton:
    """Tabulate the valid next symbols for a table and a selection of operators.

    Parameters
    ----------
    column_domains : sequence of int
        Domain of each column.
    operators : sequence of Operator
        The selection; user operators among it get their slots in this order.
    max_size : int
        Largest number of symbols of a program, 1 to 31.

    Returns
    -------
    Automaton
        The tables.

    Examples
    --------
    >>> from featurewright.expressions import Real, build_automaton, resolve_operators
    >>> automaton = build_automaton([Real, Real], resolve_operators(["add", "sqrt"]), max_size=3)
    >>> automaton.valid_symbols(0)
    [0, 1]
    >>> automaton.valid_symbols(int(automaton.input_next[0, Real]))
    [0, 1, -8, 2147483647]
    """
    domains = np.asarray(column_domains, dtype=np.int64)
    _check(domains, operators, max_size)
    # Nothing tells a Boolean from a Real when no operator asks for one: fewer states.
    merge = not any(Boolean in operator.inputs for operator in operators)
    kept = [Real if merge and domain == Boolean else domain for domain in Domain]
    of_operator: list[Signature] = [
        (operator.inputs, kept[operator.output]) for operator in operators
    ]
    # Operators of one signature lead to the same states, so only signatures are followed.
    signatures = list(dict.fromkeys(of_operator))
    pushed = [kept[domain] if domain in domains else None for domain in Domain]
    states, rows = _enumerate(pushed, signatures, max_size)
    table = np.array(rows, dtype=np.int32)
    n_inputs = len(Domain)
    chosen = [n_inputs + signatures.index(signature) for signature in of_operator]
    user_operators = [operator for operator in operators if operator.opcode is None]
    symbols = [operator_symbol(operator_opcode(op, user_operators)) for op in operators]
    return Automaton(
        columns=np.argsort(domains, kind="stable").astype(np.int32),
        domain_start=np.searchsorted(np.sort(domains), np.arange(n_inputs + 1)).astype(np.int64),
        input_next=np.ascontiguousarray(table[:, :n_inputs]),
        op_next=np.ascontiguousarray(table[:, chosen]),
        can_end=np.array([len(stack) == 1 for _, stack in states], dtype=np.uint8),
        op_symbol=np.array(symbols, dtype=np.int32),
        op_arity=np.array([operator.arity for operator in operators], dtype=np.int64),
        op_commutative=np.array([op.commutative for op in operators], dtype=np.uint8),
        states=tuple(states),
    )


def _check(domains: npt.NDArray[np.int64], operators: Sequence[Operator], max_size: int) -> None:
    """Refuse what no automaton can be built from."""
    if domains.ndim != 1 or not len(domains):
        raise ValueError(
            f"Expected the domains of at least one column, got the shape {domains.shape}; give one "
            "domain per column."
        )
    if not np.isin(domains, list(Domain)).all():
        raise ValueError(
            f"Expected domains 0 (Real), 1 (Boolean) or 2 (Category), got {np.unique(domains)}; "
            "use members of Domain."
        )
    if not all(isinstance(operator, Operator) for operator in operators):
        raise TypeError("Expected operators, got other objects; call resolve_operators first.")
    if not isinstance(max_size, (int, np.integer)) or not 1 <= max_size <= MAX_SIZE:
        raise ValueError(
            f"max_size must be an integer from 1 to {MAX_SIZE}, got {max_size!r}; change it."
        )


def _enumerate(
    pushed: Sequence[Domain | None], signatures: Sequence[Signature], max_size: int
) -> tuple[list[State], list[list[int]]]:
    """List the states reachable from the start that can be completed, and where symbols lead."""
    completion = Completion(pushed, signatures)
    states: list[State] = [(0, ())]
    number: dict[Stack, int] = {}
    rows: list[list[int]] = []
    depth = 0
    # New states join the end of the list while it is walked: breadth first, so grouped by depth.
    for written, stack in states:
        if written == depth:
            depth, number = depth + 1, {}
        left = max_size - depth
        row = []
        for following, cost in completion.moves(stack):
            if cost > left:
                row.append(-1)
                continue
            if following not in number:
                number[following] = len(states)
                states.append((depth, following))
            row.append(number[following])
        rows.append(row)
        if len(states) > MAX_STATES:
            raise ValueError(
                f"Expressions of {max_size} symbols over these domains and operators have more "
                f"than {MAX_STATES:,} states; use a smaller max_size."
            )
    return states, rows
