"""Evaluate programs: over whole columns while growing, on one row while descending."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import CHUNK_ROWS, LANES
from featurewright.engine.compiler import kernel, prefetch
from featurewright.engine.operators import (
    apply_one,
    apply_two,
    apply_user,
    is_arithmetic,
    is_commutative,
    symbol_opcode,
    symbol_parameter,
    takes_one,
)
from featurewright.expressions import builtin as op
from featurewright.expressions.opcodes import END, FIRST_USER

ROWS_AHEAD = np.uint64(16)  # asked for before they are read
IN_BUFFER = np.int64(-1)  # instead of the first row: the rows' columns are in the buffer


@kernel
def program_length(programs, k):
    """Count the symbols of the k-th program before its padding."""
    length = 0
    while length < programs.shape[1] and programs[k, length] != END:
        length += 1
    return length


@kernel
def vector_one(opcode, parameter, buffer, a, out, n):
    """Apply a unary operator to a row of the buffer."""
    # The opcode is a constant in each branch, so every loop is compiled for one operator.
    a, out = np.uint64(a), np.uint64(out)
    if opcode == op.NEG:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.NEG, 0, buffer[a, i])
    elif opcode == op.ABS:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.ABS, 0, buffer[a, i])
    elif opcode == op.SQUARE:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.SQUARE, 0, buffer[a, i])
    elif opcode == op.SQRT:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.SQRT, 0, buffer[a, i])
    elif opcode == op.RECIPROCAL:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.RECIPROCAL, 0, buffer[a, i])
    elif opcode == op.NOT:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.NOT, 0, buffer[a, i])
    elif opcode == op.IS:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(op.IS, parameter, buffer[a, i])
    else:  # e.g. logarithms: the library call for each value takes longer than the dispatch
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_one(opcode, parameter, buffer[a, i])


@kernel(inline=True)
def combine(opcode, buffer, a, b, out, n):
    """Apply an arithmetic operator to two rows of the buffer."""
    a, b, out = np.uint64(a), np.uint64(b), np.uint64(out)
    if opcode == op.ADD:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.ADD, buffer[a, i], buffer[b, i])
    elif opcode == op.SUB:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.SUB, buffer[a, i], buffer[b, i])
    elif opcode == op.MUL:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.MUL, buffer[a, i], buffer[b, i])
    else:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.DIV, buffer[a, i], buffer[b, i])


@kernel
def vector_two(opcode, buffer, a, b, out, n):
    """Apply a binary operator to two rows of the buffer."""
    a, b, out = np.uint64(a), np.uint64(b), np.uint64(out)
    if is_arithmetic(opcode):
        combine(opcode, buffer, a, b, out, n)
    elif opcode == op.MIN:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.MIN, buffer[a, i], buffer[b, i])
    elif opcode == op.MAX:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.MAX, buffer[a, i], buffer[b, i])
    elif opcode == op.LESS:
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(op.LESS, buffer[a, i], buffer[b, i])
    else:  # less frequent operators share one loop with the dispatch inside
        for i in range(np.uint64(n)):
            buffer[out, i] = apply_two(opcode, buffer[a, i], buffer[b, i])


@kernel
def vector_user(users, opcode, buffer, top, out, n, stack, values):
    """Apply a user operator to the rows on top of the stack; return the new top."""
    slot = opcode - FIRST_USER
    arity = users.arities[slot]
    first = top - arity
    for i in range(n):
        for k in range(arity):
            values[k] = buffer[stack[first + k], i]
        buffer[out, i] = apply_user(users.addresses[slot], values, 0, arity)
    return first


@kernel
def run_operators(programs, k, length, buffer, n_columns, n, users, stack, operands):
    """Evaluate the k-th program on the first rows of the buffer; return the result's row.

    Each operator writes to its own scratch row after the columns: a loop that overwrites an operand
    would not vectorise.
    """
    n = padded(n)
    top = np.uint64(0)
    one = np.uint64(1)
    scratch = np.int64(n_columns)
    for d in range(np.uint64(length)):
        symbol = np.int64(programs[k, d])
        if symbol >= 0:
            stack[top] = symbol
            top += one
            continue
        opcode = symbol_opcode(symbol)
        if opcode >= FIRST_USER:
            first = vector_user(users, opcode, buffer, np.int64(top), scratch, n, stack, operands)
            top = np.uint64(first)
        elif takes_one(opcode):
            top -= one
            vector_one(opcode, symbol_parameter(symbol), buffer, stack[top], scratch, n)
        else:
            top -= one + one
            vector_two(opcode, buffer, stack[top], stack[top + one], scratch, n)
        stack[top] = scratch
        top += one
        scratch += 1
    return stack[0]


@kernel
def padded(n):
    """Round a number of rows up to a multiple of LANES."""
    return (n + LANES - 1) // LANES * LANES


@kernel
def gather(columns, column, rows, start, n, buffer, row):
    """Copy one column's values at the given rows into a row of the buffer.

    The last value is repeated up to a multiple of LANES, so that loops over few rows vectorise and
    minimum and maximum do not change.
    """
    first, row, column = np.uint64(start), np.uint64(row), np.uint64(column)
    for i in range(np.uint64(n)):
        buffer[row, i] = columns[column, np.uint64(rows[first + i])]
    last = buffer[row, np.uint64(n - 1)]
    for i in range(np.uint64(n), np.uint64(padded(n))):
        buffer[row, i] = last


@kernel(inline=False)
def gather_all(matrix, rows, start, n, buffer):
    """Copy all columns' values at the given rows into the buffer, padded like `gather`.

    The matrix is read by rows: the values of a row are adjacent in memory, while reading them
    from columns would be a cache miss each.
    """
    first, width = np.uint64(start), np.uint64(matrix.shape[1])
    final = first + np.uint64(n - 1)
    for i in range(np.uint64(n)):
        prefetch(matrix, np.uint64(rows[min(first + i + ROWS_AHEAD, final)]))
        row = np.uint64(rows[first + i])
        for j in range(width):
            buffer[j, i] = matrix[row, j]
    for j in range(width):
        last = buffer[j, np.uint64(n - 1)]
        for i in range(np.uint64(n), np.uint64(padded(n))):
            buffer[j, i] = last


@kernel
def run_node(context, programs, k, start, n):
    """Evaluate the k-th program on a node's rows. Other kernels call this one by address.

    The values go to `evaluation.values`. If `start` is IN_BUFFER, the rows' columns are in the
    buffer, and so are the values: `state.values_row` is their row.
    """
    evaluation = context.buffers.evaluation
    if start == IN_BUFFER:
        context.state.values_row = run_operators(
            programs,
            k,
            program_length(programs, k),
            context.buffers.buffer,
            np.int64(context.grammar.n_levels.shape[0]),
            n,
            context.users,
            evaluation.stack,
            evaluation.operands,
        )
        return
    run_rows(
        programs,
        k,
        context.columns,
        context.row_ids,
        start,
        n,
        context.users,
        evaluation,
    )


@kernel(inline=True)
def run_rows(programs, k, columns, rows, start, n, users, evaluation):
    """Evaluate the k-th program on any number of rows, gathering only the columns it names.

    The result goes to `evaluation.values`; `evaluation.intermediates` holds CHUNK_ROWS values of
    each column and of each operator's result.
    """
    zero = np.int64(0)
    operands, local, out = evaluation.intermediates, evaluation.local, evaluation.values
    length = program_length(programs, k)
    if length == 1:
        gather(columns, np.int64(programs[k, 0]), rows, start, n, out, zero)
        return
    n_columns = np.int64(0)
    for d in range(length):
        local[0, d] = programs[k, d]
        if programs[k, d] >= 0:
            local[0, d] = n_columns
            n_columns += 1
    for begin in range(0, n, CHUNK_ROWS):
        size = min(CHUNK_ROWS, n - begin)
        column = np.int64(0)
        for d in range(length):
            if programs[k, d] >= 0:
                name = np.int64(programs[k, d])
                gather(columns, name, rows, start + begin, size, operands, column)
                column += 1
        result = run_operators(
            local,
            zero,
            length,
            operands,
            n_columns,
            size,
            users,
            evaluation.stack,
            evaluation.operands,
        )
        source, target = np.uint64(result), np.uint64(begin)
        for i in range(np.uint64(padded(size))):
            out[np.uint64(0), target + i] = operands[source, i]


@kernel
def run_row(programs, k, matrix, i, users, stack):
    """Evaluate the k-th program on row i of a matrix."""
    top = 0
    for d in range(programs.shape[1]):
        symbol = np.int64(programs[k, d])
        if symbol == END:
            break
        if symbol >= 0:
            stack[top] = matrix[i, symbol]
            top += 1
            continue
        opcode = symbol_opcode(symbol)
        if opcode >= FIRST_USER:
            slot = opcode - FIRST_USER
            top -= users.arities[slot]
            stack[top] = apply_user(users.addresses[slot], stack, top, users.arities[slot])
        elif takes_one(opcode):
            top -= 1
            stack[top] = apply_one(opcode, symbol_parameter(symbol), stack[top])
        else:
            top -= 2
            stack[top] = apply_two(opcode, stack[top], stack[top + 1])
        top += 1
    return stack[0]


@kernel
def comes_first(program, a, a_end, b, b_end):
    """Whether symbols a to a_end are fewer than, or lexicographically before, b to b_end."""
    if a_end - a != b_end - b:
        return a_end - a < b_end - b
    for k in range(a_end - a):
        if program[a + k] != program[b + k]:
            return program[a + k] < program[b + k]
    return True


@kernel
def order_operands(programs, arities, starts, spare):
    """Sort the operands of commutative operators in place, by `comes_first`.

    `arities` are those of user operators, whose operands are not sorted; `starts` and `spare` are
    scratch arrays as long as a program.
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
