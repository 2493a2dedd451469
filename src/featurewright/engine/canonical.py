"""Order the operands of commutative operators, so that equal programs look equal."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.operators import is_commutative, symbol_opcode, takes_one
from featurewright.expressions.opcodes import END, FIRST_USER


@kernel
def comes_first(program, a, a_end, b, b_end):
    """Whether the part from a to a_end is shorter than, or precedes, that from b to b_end."""
    if a_end - a != b_end - b:
        return a_end - a < b_end - b
    for k in range(a_end - a):
        if program[a + k] != program[b + k]:
            return program[a + k] < program[b + k]
    return True


@kernel
def order_operands(programs, arities, starts, spare):
    """Exchange the operands of commutative operators, in place, wherever the second comes first.

    `arities` are those of user operators, whose operands stay as they are; `starts` and `spare`
    are scratch arrays as long as a program.
    """
    for row in range(programs.shape[0]):
        program = programs[row]
        top = 0
        for d in range(program.shape[0]):
            symbol = np.int64(program[d])
            if symbol == END:
                break
            if symbol >= 0:
                starts[top] = d
                top += 1
                continue
            opcode = symbol_opcode(symbol)
            if opcode >= FIRST_USER:
                top -= arities[opcode - FIRST_USER] - 1
            elif not takes_one(opcode):
                top -= 1
                a, b = starts[top - 1], starts[top]
                if is_commutative(opcode) and not comes_first(program, a, b, b, d):
                    for k in range(a, d):
                        spare[k] = program[k]
                    for k in range(b, d):
                        program[a + k - b] = spare[k]
                    for k in range(a, b):
                        program[a + d - b + k - a] = spare[k]
