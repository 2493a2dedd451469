"""Random programs are valid, and every valid symbol is as likely as any other."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.engine.workbench import make_grammar, make_state
from tests.naive.automaton import is_program
from tests.naive.programs import operator_of, symbols_of

from featurewright.engine.grammar import complete, fingerprint
from featurewright.expressions import build_automaton, resolve_operators
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, symbol_opcode, symbol_parameter

CASES = {
    "arithmetic": ([0, 0, 0], ["add", "sub", "mul", "div"], 5),
    "unary too": ([0, 0], ["add", "sqrt", "log"], 4),
    "Booleans": ([0, 1], ["less", "and", "not", "add"], 4),
    "Categories": ([0, 2, 2], ["is", "equal", "or", "add"], 4),
    "one column": ([0], ["neg"], 3),
    "columns only": ([0, 1, 2], [], 3),
    "size one": ([0, 0, 2], ["add", "is"], 1),
}
N_LEVELS = 5


def plain(symbol: int) -> int:
    """Take the parameter off a symbol."""
    return symbol if symbol >= 0 else -1 - symbol_opcode(symbol)


def draw_programs(case: str, count: int, sampling: str = "symbol"):
    domains, operators, width = CASES[case]
    grammar = make_grammar(domains, operators, width, N_LEVELS, sampling=sampling)
    state = make_state(11)
    programs, visited = np.empty((2, 1, width), np.int32)
    for _ in range(count):
        state["grammar_state"] = 0
        length = complete(grammar, programs, visited, 0, 0, state)
        yield programs[0].copy(), visited[0].copy(), length


def drawn_by_state(case: str, count: int, sampling: str) -> dict[int, Counter[int]]:
    """Count the symbols drawn in each state of the automaton."""
    drawn: dict[int, Counter[int]] = defaultdict(Counter)
    for program, visited, length in draw_programs(case, count, sampling):
        before = 0
        for d in range(min(length + 1, len(program))):
            drawn[before][plain(int(program[d]))] += 1
            before = int(visited[d])
    return drawn


def kind_of(symbol: int) -> str:
    if symbol == END:
        return "end"
    return "column" if symbol >= 0 else "constructor"


@pytest.mark.parametrize("sampling", ["symbol", "kind"])
@pytest.mark.parametrize("case", CASES)
def test_valid_symbols_are_drawn_as_often_as_they_should(case, sampling):
    domains, operators, width = CASES[case]
    automaton = build_automaton(domains, resolve_operators(operators), width)
    for state, counts in drawn_by_state(case, 6000, sampling).items():
        valid = automaton.valid_symbols(state)
        assert set(counts) <= set(valid)
        shares = np.ones(len(valid))
        if sampling == "kind":
            kinds = Counter(map(kind_of, valid))
            shares = np.array([1 / kinds[kind_of(symbol)] for symbol in valid])
        expected = shares / shares.sum() * counts.total()
        if len(valid) > 1 and expected.min() >= 5:
            actual = [counts[symbol] for symbol in valid]
            assert chisquare(actual, expected).pvalue > 1e-5


@pytest.mark.parametrize("case", CASES)
def test_programs_are_valid(case):
    domains, operators, _ = CASES[case]
    signatures = {
        -1 - operator.opcode: (operator.inputs, int(operator.output))
        for operator in resolve_operators(operators)
    }
    for program, _, length in draw_programs(case, 2000):
        symbols = symbols_of(program)
        assert len(symbols) == length
        assert (program[length:] == END).all()
        assert is_program([plain(symbol) for symbol in symbols], domains, signatures)


def test_level_tests_get_every_level_of_their_column_and_no_other():
    levels = Counter()
    for program, _, length in draw_programs("Categories", 6000):
        for symbol in program[:length].tolist():
            if symbol < 0 and symbol_opcode(symbol) == IS:
                levels[symbol_parameter(symbol)] += 1
            elif symbol < 0:
                assert symbol_parameter(symbol) == 0
    assert sorted(levels) == list(range(N_LEVELS))
    assert chisquare(list(levels.values())).pvalue > 1e-4


def test_prefixes_are_kept():
    grammar = make_grammar()
    state = make_state(3)
    programs, visited = np.empty((2, 1, 5), np.int32)
    complete(grammar, programs, visited, 0, 0, state)
    kept, states = programs[0, :1].copy(), visited[0, :1].copy()
    lengths = set()
    for _ in range(200):
        state["grammar_state"] = states[0]
        lengths.add(complete(grammar, programs, visited, 0, 1, state))
        assert programs[0, 0] == kept[0]
        operator_arities = [operator_of(s).arity for s in symbols_of(programs[0]) if s < 0]
        assert len(symbols_of(programs[0])) == 2 * len(operator_arities) + 1
    assert lengths == {1, 3, 5}


def test_fingerprints_tell_programs_apart():
    seen = {}
    for program, _, length in draw_programs("arithmetic", 4000):
        key = fingerprint(program[None, :].copy(), 0, length)
        assert seen.setdefault(key, tuple(program)) == tuple(program)
    assert len(seen) > 500
