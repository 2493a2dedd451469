"""Whether loaded programs are such as compiled code may run: it looks at no bounds itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.compiled_grammar import user_operators
from featurewright.export.stored.errors import broken
from featurewright.expressions import OPERATORS, Domain, Operator, operator_opcode
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, MAX_OPCODE, symbol_opcode, symbol_parameter
from featurewright.expressions.operators import MAX_ARITY
from featurewright.tables import Schema

Integers = npt.NDArray[np.int64]
_Stacks = tuple[Integers, Integers, Integers]  # domains, columns, and how many there are


class _Table:
    """What each opcode takes and gives; an arity of 0 marks opcodes that there are not."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        users = user_operators(operators)
        self.arity = np.zeros(MAX_OPCODE + 1, np.int64)
        self.inputs = np.full((MAX_OPCODE + 1, MAX_ARITY), -1, np.int64)
        self.output = np.full(MAX_OPCODE + 1, -1, np.int64)
        for operator in (*OPERATORS.values(), *users):
            opcode = operator_opcode(operator, users)
            self.arity[opcode] = operator.arity
            self.inputs[opcode, : operator.arity] = operator.inputs
            self.output[opcode] = operator.output


def check_programs(
    programs: npt.NDArray[np.int32], schema: Schema, operators: Sequence[Operator]
) -> None:
    """Refuse programs that are not whole, well-typed expressions over the columns of a table.

    All programs are followed at once, symbol by symbol, on stacks of domains.
    """
    table = _Table(operators)
    n_programs, width = programs.shape
    # One column more, so that a program of operators alone has something to look at.
    stacks = np.full((n_programs, width + 1), -1, np.int64)
    sources = np.full((n_programs, width + 1), -1, np.int64)
    tops = np.zeros(n_programs, np.int64)
    going = np.ones(n_programs, bool)
    for symbols in programs.T.astype(np.int64):
        going &= symbols != END
        pushing = np.flatnonzero(going & (symbols >= 0))
        _refuse_if(symbols[pushing] >= schema.n_columns, "names a column that there is not")
        stacks[pushing, tops[pushing]] = schema.domains[symbols[pushing]]
        sources[pushing, tops[pushing]] = symbols[pushing]
        tops[pushing] += 1
        rows = np.flatnonzero(going & (symbols < 0))
        if len(rows):
            _apply(table, schema, symbols[rows], rows, (stacks, sources, tops))
    _refuse_if(tops != 1, "does not end with one value")


def _apply(
    table: _Table, schema: Schema, symbols: Integers, rows: Integers, stack: _Stacks
) -> None:
    """Apply one operator on each of some stacks."""
    stacks, sources, tops = stack
    opcodes, parameters = symbol_opcode(symbols), symbol_parameter(symbols)
    arity = table.arity[opcodes]
    _refuse_if(arity == 0, "applies an operator that there is not")
    first = tops[rows] - arity
    _refuse_if(first < 0, "applies an operator to too few values")
    for place in range(int(arity.max())):
        some = arity > place
        given = stacks[rows[some], first[some] + place]
        wanted = table.inputs[opcodes[some], place]
        as_number = (wanted == Domain.REAL) & (given == Domain.BOOLEAN)
        _refuse_if((given != wanted) & ~as_number, "applies an operator to values of another kind")
    tests = opcodes == IS
    n_levels = np.array([len(levels or ()) for levels in schema.levels], np.int64)
    tested = sources[rows[tests], first[tests]]
    _refuse_if(parameters[tests] >= n_levels[tested], "tests for a level that there is not")
    _refuse_if(parameters[~tests] != 0, "has a parameter for an operator without one")
    stacks[rows, first] = table.output[opcodes]
    tops[rows] = first + 1


def _refuse_if(wrong: Any, what: str) -> None:
    """Refuse a program if any has something wrong."""
    if np.any(wrong):
        raise broken(f"a node's program {what}")
