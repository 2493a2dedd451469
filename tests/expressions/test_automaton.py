"""The automaton accepts exactly the programs that trying all sequences finds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.naive.automaton import all_programs

from featurewright.expressions import (
    OPERATORS,
    Boolean,
    Category,
    Operator,
    Real,
    build_automaton,
    from_program,
    resolve_operators,
)
from featurewright.expressions.automaton import Automaton
from featurewright.expressions.opcodes import END


def third(x: float, y: float, z: float) -> float:
    """Return the last."""
    return z


THREE = Operator("three", (Real, Real, Real), Real, third)
MIXED = Operator("mixed", (Category, Real, Boolean), Real, third)
FLAG = Operator("flag", (Boolean, Real), Boolean, max)
FAR = Operator("far", (Category, Category, Category), Boolean, third)

CASES = {
    "columns only": ([Real, Real], [], 4),
    "one column, binary": ([Real], ["add"], 5),
    "unary and binary": ([Real, Real], ["add", "neg"], 5),
    "unary only": ([Real], ["neg", "abs"], 5),
    "ternary only": ([Real, Real], [THREE], 5),
    "unary, binary, ternary": ([Real], ["sqrt", "sub", THREE], 5),
    "Booleans as numbers": ([Real, Boolean], ["add", "neg"], 5),
    "logic": ([Boolean, Boolean], ["and", "not"], 5),
    "comparison feeds logic": ([Real, Boolean], ["less", "and"], 5),
    "Boolean wanted, none given": ([Real], ["not", "add"], 5),
    "Boolean only by comparison": ([Real], ["less", "not", FLAG], 5),
    "Category tests": ([Category, Real], ["is", "add"], 5),
    "Category pairs": ([Category, Category], ["equal", "not"], 5),
    "Category without operator": ([Category, Real], ["add"], 5),
    "Category only, arithmetic": ([Category], ["add", "is"], 5),
    "all kinds, mixed ternary": ([Category, Real, Boolean], [MIXED, "is"], 5),
    "three Categories": ([Category, Real], [FAR, "add", "equal"], 5),
    "mixed without Boolean": ([Category, Real], [MIXED, "add"], 5),
    "size one": ([Real, Boolean, Category], ["add", "is"], 1),
    "size two": ([Real, Boolean, Category], ["add", "is", "not"], 2),
}


def accepted(automaton: Automaton, max_size: int):
    """Walk every path: yield each prefix, its valid symbols and whether it may end."""
    symbol_of = automaton.op_symbol.tolist()
    todo = [((), 0)]
    while todo:
        prefix, state = todo.pop()
        yield prefix, automaton.valid_symbols(state)
        assert len(prefix) <= max_size
        for domain in range(3):
            following = int(automaton.input_next[state, domain])
            start, stop = automaton.domain_start[domain : domain + 2]
            if following >= 0:
                todo += [((*prefix, int(c)), following) for c in automaton.columns[start:stop]]
        for symbol, following in zip(symbol_of, automaton.op_next[state], strict=True):
            if following >= 0:
                todo.append(((*prefix, symbol), int(following)))


@loop_over("case", CASES)
def test_accepts_exactly_the_programs(case) -> None:
    domains, selected, max_size = CASES[case]
    operators = resolve_operators(selected)
    automaton = build_automaton(domains, operators, max_size)
    symbols = automaton.op_symbol.tolist()
    signatures = {s: (op.inputs, op.output) for s, op in zip(symbols, operators, strict=True)}
    expected = all_programs(domains, signatures, max_size)
    following: dict[tuple[int, ...], set[int]] = {}
    for program in expected:
        for cut, symbol in enumerate((*program, END)):
            following.setdefault(program[:cut], set()).add(symbol)
    actual = dict(accepted(automaton, max_size))
    assert {prefix for prefix, valid in actual.items() if END in valid} == expected
    assert {prefix: set(valid) for prefix, valid in actual.items()} == following
    assert all(len(set(valid)) == len(valid) for valid in actual.values())


@pytest.mark.parametrize("max_size", [3, 4, 5, 8])
def test_table_for_one_domain(max_size) -> None:
    operators = resolve_operators(["neg", "add"])
    automaton = build_automaton([Real], operators, max_size)
    unary, binary = automaton.op_symbol.tolist()
    column = 0
    for state, (d, stack) in enumerate(automaton.states):
        size = len(stack)
        if size == 0:
            expected = {column}
        elif d == max_size:
            expected = {END}
        elif size == 1 and d != max_size - 1:
            expected = {column, unary, END}
        elif size == 1:
            expected = {unary, END}
        elif size < max_size - d:
            expected = {column, unary, binary}
        elif size == max_size - d:
            expected = {unary, binary}
        else:
            assert size == max_size - d + 1
            expected = {binary}
        assert set(automaton.valid_symbols(state)) == expected
    assert len(set(automaton.states)) == len(automaton.states)


def test_arrays_are_what_compiled_code_expects() -> None:
    operators = resolve_operators(["sub", THREE, "add", FLAG])
    automaton = build_automaton(np.array([2, 0, 1, 0]), operators, 5)
    assert automaton.columns.tolist() == [1, 3, 2, 0]
    assert automaton.domain_start.tolist() == [0, 2, 3, 4]
    assert automaton.op_symbol.tolist() == [-2, -65, -1, -66]
    assert automaton.op_arity.tolist() == [2, 3, 2, 2]
    assert automaton.op_commutative.tolist() == [0, 0, 1, 0]
    n_states = len(automaton.states)
    assert automaton.input_next.shape == (n_states, 3)
    assert automaton.op_next.shape == (n_states, 4)
    dtypes = {
        "columns": "int32",
        "domain_start": "int64",
        "input_next": "int32",
        "op_next": "int32",
        "can_end": "uint8",
        "op_symbol": "int32",
        "op_arity": "int64",
        "op_commutative": "uint8",
    }
    for name, dtype in dtypes.items():
        array = getattr(automaton, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
    assert build_automaton([Real], (), 3).op_next.shape == (2, 0)


def test_random_walks_are_programs() -> None:
    rng = np.random.default_rng(0)
    operators = (*OPERATORS.values(), MIXED, FLAG, FAR)
    users = [MIXED, FLAG, FAR]
    domains = [Real, Real, Boolean, Category, Category]
    automaton = build_automaton(domains, operators, 9)
    for _ in range(300):
        state, symbols = 0, []
        while True:
            symbol = int(rng.choice(automaton.valid_symbols(state)))
            if symbol == END:
                break
            symbols.append(symbol)
            if symbol >= 0:
                state = int(automaton.input_next[state, domains[symbol]])
            else:
                column = automaton.op_symbol.tolist().index(symbol)
                state = int(automaton.op_next[state, column])
        assert from_program(symbols, list("abcde"), domains, None, users).size == len(symbols) <= 9


@pytest.mark.parametrize(("max_size", "n_states"), [(5, 40), (15, 2500)])
def test_states_are_few(max_size, n_states) -> None:
    operators = tuple(OPERATORS.values())
    automaton = build_automaton(np.tile([0, 1, 2], 20), operators, max_size)
    assert len(automaton.states) <= n_states


def test_largest_size_in_one_domain_is_small() -> None:
    automaton = build_automaton([Real, Boolean], resolve_operators(["add", "mul", "sqrt"]), 31)
    assert len(automaton.states) < 31 * 17


@pytest.mark.parametrize("max_size", [0, -1, 32, 2.5, "5"])
def test_bad_size_is_refused(max_size) -> None:
    with pytest.raises(ValueError, match="from 1 to 31"):
        build_automaton([Real], resolve_operators(["add"]), max_size)


def test_bad_columns_and_operators_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one column"):
        build_automaton([], resolve_operators(["add"]), 5)
    with pytest.raises(ValueError, match="members of Domain"):
        build_automaton([0, 3], resolve_operators(["add"]), 5)
    with pytest.raises(TypeError, match="resolve_operators"):
        build_automaton([0], ["add"], 5)
