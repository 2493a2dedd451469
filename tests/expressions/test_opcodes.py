"""Symbols pack and unpack, and fit 32 bits."""

from __future__ import annotations

import numpy as np
from tests.cases import loop_over

from featurewright.expressions import OPERATORS, builtin, opcodes


@loop_over("opcode", [0, 23, 64, 255])
@loop_over("parameter", [0, 1, 255, 256, opcodes.MAX_PARAMETER])
def test_symbol_round_trip(opcode: int, parameter: int) -> None:
    symbol = opcodes.operator_symbol(opcode, parameter)
    assert symbol < 0
    assert int(np.int32(symbol)) == symbol
    assert opcodes.symbol_opcode(symbol) == opcode
    assert opcodes.symbol_parameter(symbol) == parameter


def test_table_holds_every_opcode_once() -> None:
    constants = {
        name.lower(): value
        for name, value in vars(builtin).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, int)
    }
    assert {name: operator.opcode for name, operator in OPERATORS.items()} == constants
    assert len(set(constants.values())) == len(constants)
    # The engine has one bit of a signed number for each.
    assert all(0 <= opcode < opcodes.FIRST_USER - 1 for opcode in constants.values())


def test_opcodes_in_model_files_keep_their_meaning() -> None:
    stored = (
        *("add", "sub", "mul", "div", "neg", "abs", "square", "sqrt", "log", "exp", "reciprocal"),
        *("min", "max", "gaussian", "and", "or", "xor", "not", "less", "less_equal", "greater"),
        *("greater_equal", "equal", "is", "at_least", "at_most", "over", "scaled", "shifted"),
    )
    # The engine's fast path also packs two of the first four opcodes into four bits.
    assert [OPERATORS[name].opcode for name in stored] == list(range(len(stored)))


def test_float_max_is_that_of_float32() -> None:
    assert float(np.finfo(np.float32).max) == opcodes.FLOAT_MAX
