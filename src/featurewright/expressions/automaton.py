"""The valid next symbols of a program being written, as tables that compiled code samples from.

A state is the stack of a partial program: values of known domains. Every value but the top one is
a finished operand of some operator still to come, because nothing can touch it before that
operator takes it. So a stack is read from the bottom as operands of nested pending operators, each
of them giving the operand the one around it waits for. `Completion` derives from this the exact
least number of symbols that complete a program, without looking ahead, so states from which
nothing can be completed are never visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.expressions.domains import Boolean, Domain, Real, accepts
from featurewright.expressions.opcodes import END, operator_symbol
from featurewright.expressions.operators import Operator
from featurewright.expressions.programs import operator_opcode

MAX_SIZE = 31
MAX_STATES = 1_000_000

Stack = tuple[Domain, ...]
State = tuple[int, Stack]
Signature = tuple[tuple[Domain, ...], Domain]

IMPOSSIBLE = 1_000_000
"""A number of symbols no program has."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """The symbols that may follow in every state from which a program can be completed.

    A state is the number of symbols written and the domains on the stack; state 0 is the start.
    In a table of next states, -1 marks symbols that are not valid.

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
    """Refuse domains, operators and sizes that no automaton can be built from."""
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


class Completion:
    """Least numbers of symbols to completion, and the moves between stacks.

    Parameters
    ----------
    pushed : sequence of Domain or None
        Per domain, what pushing a column of it adds to the stack; None without such a column.
    signatures : sequence of (inputs, output)
        What the operators take and give.

    Examples
    --------
    >>> from featurewright.expressions import Real
    >>> completion = Completion([Real, None, None], [((Real, Real), Real)])
    >>> completion.cost((Real, Real, Real))
    2
    """

    def __init__(self, pushed: Sequence[Domain | None], signatures: Sequence[Signature]) -> None:
        """Solve for the costs that do not depend on a stack."""
        self._pushed = list(pushed)
        self._signatures = list(signatures)
        self._widest = max((len(inputs) for inputs, _ in signatures), default=1)
        self._fresh = self._solve_fresh()
        self._convert = self._solve_convert()
        # Demands are the domains, and after them none, which is that on the final value.
        self._rest: dict[Stack, list[int]] = {(): [*[IMPOSSIBLE] * len(Domain), 0]}
        self._moves: dict[Stack, list[tuple[Stack, int]]] = {}

    def cost(self, stack: Stack) -> int:
        """Return the least number of symbols that turn a non-empty stack into one value."""
        rest, convert = self._rest_after(stack[:-1]), self._convert[stack[-1]]
        return min(map(int.__add__, rest, convert))

    def moves(self, stack: Stack) -> list[tuple[Stack, int]]:
        """Return, per domain pushed and per signature applied, the next stack and its cost."""
        if stack not in self._moves:
            following = [None if domain is None else (*stack, domain) for domain in self._pushed]
            following += [self._apply(stack, signature) for signature in self._signatures]
            self._moves[stack] = [
                ((), IMPOSSIBLE) if after is None else (after, self.cost(after))
                for after in following
            ]
        return self._moves[stack]

    @staticmethod
    def _apply(stack: Stack, signature: Signature) -> Stack | None:
        """Return the stack after an operator, None if it does not apply."""
        inputs, output = signature
        below = len(stack) - len(inputs)
        if below < 0 or not _fits(inputs, stack[below:]):
            return None
        return (*stack[:below], output)

    def _solve_fresh(self) -> list[int]:
        """Return per domain the least number of symbols that make an operand for it."""
        given = [domain for domain in self._pushed if domain is not None]
        fresh = [
            1 if any(accepts(asked, domain) for domain in given) else IMPOSSIBLE for asked in Domain
        ]
        changed = True
        while changed:
            changed = False
            for inputs, output in self._signatures:
                made = 1 + sum(fresh[domain] for domain in inputs)
                for asked in Domain:
                    if accepts(asked, output) and made < fresh[asked]:
                        fresh[asked], changed = made, True
        return fresh

    def _solve_convert(self) -> list[list[int]]:
        """Return, per domain on top of the stack and per demand, the symbols from one to the other.

        The given value is the first operand of the first operator, whose result is the first
        operand of the next, and so on; their other operands are made afresh.
        """
        convert = [
            [*[0 if accepts(asked, given) else IMPOSSIBLE for asked in Domain], 0]
            for given in Domain
        ]
        changed = True
        while changed:
            changed = False
            for inputs, output in self._signatures:
                step = 1 + sum(self._fresh[domain] for domain in inputs[1:])
                for given in filter(lambda given: accepts(inputs[0], given), Domain):
                    for demand, onward in enumerate(convert[output]):
                        if step + onward < convert[given][demand]:
                            convert[given][demand], changed = step + onward, True
        return convert

    def _rest_after(self, stack: Stack) -> list[int]:
        """Return per demand the symbols still to come once the next value meets that demand.

        All the values of the stack are finished operands. The last ones, ``taken`` of them, are
        the first operands of the innermost pending operator, which waits for its next one.
        """
        if stack in self._rest:
            return self._rest[stack]
        rest = [IMPOSSIBLE] * (len(Domain) + 1)
        for taken in range(1, min(len(stack), self._widest - 1) + 1):
            around, operands = self._rest_after(stack[:-taken]), stack[-taken:]
            for inputs, output in self._signatures:
                if len(inputs) > taken and _fits(inputs[:taken], operands):
                    later = 1 + sum(self._fresh[domain] for domain in inputs[taken + 1 :])
                    later += min(map(int.__add__, around, self._convert[output]))
                    asked = inputs[taken]
                    rest[asked] = min(rest[asked], later)
        self._rest[stack] = rest
        return rest


def _fits(inputs: Sequence[Domain], operands: Sequence[Domain]) -> bool:
    """Whether the inputs accept operands of these domains."""
    return all(map(accepts, inputs, operands))
