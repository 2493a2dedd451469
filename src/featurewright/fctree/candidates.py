"""Every operator on every column and pair of columns, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from featurewright.engine.compiled_grammar import user_operators
from featurewright.engine.operator_lists import tells_nothing_new_exchanged
from featurewright.expressions import Domain, Operator, accepts, operator_opcode
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol

BLOCK = 1024  # candidates of a block, at most a few more than its first operand has partners


@dataclass(frozen=True)
class Block:
    """Candidates of one operator: some first operands, each with all that may stand second."""

    operator: int
    first: int  # places of first operands, from this one
    last: int  # to before this one
    size: int


class Candidates:
    """All features of one operator that a table allows, none of them held in memory.

    Parameters
    ----------
    operators : sequence of Operator
        Of one or two operands.
    domains : ndarray of int8
        Domain of each column.
    n_levels : ndarray of int64
        Levels of each Category column.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        domains: npt.NDArray[np.int8],
        n_levels: npt.NDArray[np.int64],
    ) -> None:
        for operator in operators:
            if operator.arity > 2:
                raise ValueError(
                    f"operators has {operator.name!r} of {operator.arity} operands, but only "
                    "columns and pairs of columns are enumerated; leave it out."
                )
        self.operators = tuple(operators)
        # The columns that each domain accepts, in order.
        self._columns = {
            domain: np.flatnonzero([accepts(domain, Domain(int(given))) for given in domains])
            for domain in Domain
        }
        self._n_levels = n_levels
        users = user_operators(operators)
        self._opcodes = [operator_opcode(operator, users) for operator in operators]

    def _partners(self, number: int) -> npt.NDArray[np.int64]:
        """Count how many candidates each first operand of an operator makes."""
        operator = self.operators[number]
        first = self._columns[operator.inputs[0]]
        if operator.has_level:
            return self._n_levels[first]
        if operator.arity == 1:
            return np.ones(len(first), np.int64)
        second = self._columns[operator.inputs[1]]
        if tells_nothing_new_exchanged(operator):
            return len(second) - np.searchsorted(second, first, side="right")
        return len(second) - np.isin(first, second).astype(np.int64)

    def blocks(self) -> list[Block]:
        """Part all candidates into blocks of about equal size."""
        found = []
        for number in range(len(self.operators)):
            ends = np.cumsum(self._partners(number))
            begin, done = 0, 0
            while begin < len(ends):
                end = max(begin + 1, int(np.searchsorted(ends, done + BLOCK, side="right")))
                size = int(ends[end - 1]) - done
                if size:
                    found.append(Block(number, begin, end, size))
                begin, done = end, int(ends[end - 1])
        return found

    def programs(self, block: Block) -> npt.NDArray[np.int32]:
        """Write the candidates of a block, in their one order."""
        operator, opcode = self.operators[block.operator], self._opcodes[block.operator]
        chosen = self._columns[operator.inputs[0]][block.first : block.last]
        out = np.full((block.size, 3), END, np.int32)
        rows = list(self._rows(operator, chosen))
        first = np.repeat(chosen, [len(row) for row in rows])
        second = np.concatenate(rows)
        out[:, 0] = first
        if operator.has_level:
            out[:, 1] = operator_symbol(IS, second)
        elif operator.arity == 1:
            out[:, 1] = -1 - opcode
        else:
            out[:, 1] = second
            out[:, 2] = -1 - opcode
        return out

    def _rows(
        self, operator: Operator, chosen: npt.NDArray[np.int64]
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Give the second operands, or levels, that go with each first operand."""
        if operator.has_level or operator.arity == 1:
            for column in chosen:
                count = int(self._n_levels[column]) if operator.has_level else 1
                yield np.arange(count, dtype=np.int64)
            return
        second = self._columns[operator.inputs[1]]
        once = tells_nothing_new_exchanged(operator)
        for column in chosen:
            yield second[second > column] if once else second[second != column]
