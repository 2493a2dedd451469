"""The grammar lists exactly the valid programs, and its random programs have the right shares."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.cases import loop_over
from tests.engine.arguments import make_grammar, make_state
from tests.naive.automaton import all_programs, is_program
from tests.naive.programs import operator_of, symbols_of

from featurewright.engine.grammar import complete, fingerprint
from featurewright.expressions import build_automaton, resolve_operators
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol, symbol_opcode, symbol_parameter

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


@loop_over("sampling", ["symbol", "kind"])
@loop_over("case", CASES)
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


def test_fingerprints_of_distinct_programs_differ():
    seen = {}
    for program, _, length in draw_programs("arithmetic", 4000):
        key = fingerprint(program[None, :].copy(), 0, length)
        assert seen.setdefault(key, tuple(program)) == tuple(program)
    assert len(seen) > 500


SMALL_CASES = {
    "arithmetic": ([0, 0], ["add", "div"], 5),
    "unary": ([0], ["neg", "sqrt", "add"], 5),
    "Boolean": ([0, 1], ["less", "and", "not"], 4),
    "Category": ([0, 2, 2], ["is", "equal", "mul"], 4),
    "nothing": ([0, 1, 2], [], 3),
}
every_small_case = pytest.mark.parametrize("case", SMALL_CASES)


def choices(grammar, state):
    first, last = grammar.start[state], grammar.start[state + 1]
    return list(zip(grammar.symbol[first:last], grammar.following[first:last], strict=True))


def reachable(grammar, max_size):
    """List all programs the grammar can write."""
    found, open_ends = set(), [((), 0)]
    while open_ends:
        program, state = open_ends.pop()
        for symbol, after in choices(grammar, state):
            if symbol == END:
                found.add(program)
            elif len(program) + 1 == max_size:
                found.add((*program, int(symbol)))
            else:
                open_ends.append(((*program, int(symbol)), int(after)))
    return found


@every_small_case
def test_exactly_the_valid_programs(case):
    domains, names, max_size = SMALL_CASES[case]
    grammar = make_grammar(domains, names, max_size)
    signatures = {
        operator_symbol(operator.opcode): (tuple(map(int, operator.inputs)), int(operator.output))
        for operator in resolve_operators(tuple(names))
    }
    expected = all_programs(domains, signatures, max_size)
    # A category alone is a one-value test; anything else that is one is no program.
    assert reachable(grammar, max_size) == expected


@every_small_case
def test_every_symbol_is_listed_once(case):
    grammar = make_grammar(*SMALL_CASES[case])
    for state in range(len(grammar.start) - 1):
        counts = Counter(symbol for symbol, _ in choices(grammar, state))
        assert set(counts.values()) <= {1}


@every_small_case
def test_kinds_are_equally_likely(case):
    grammar = make_grammar(*SMALL_CASES[case], sampling="kind")
    plain = make_grammar(*SMALL_CASES[case])
    for state in range(len(grammar.start) - 1):
        listed = Counter(symbol for symbol, _ in choices(grammar, state))
        assert set(listed) == {symbol for symbol, _ in choices(plain, state)}
        kinds = Counter()
        for symbol, count in listed.items():
            kinds["end" if symbol == END else "column" if symbol >= 0 else "operator"] += count
        assert len(set(kinds.values())) <= 1
        for sign in (True, False):
            within = {c for s, c in listed.items() if (s >= 0) is sign and s != END}
            assert len(within) <= 1


def test_levels_are_kept():
    grammar = make_grammar([0, 2, 1], ["is"])
    np.testing.assert_array_equal(grammar.n_levels, [0, 3, 0])
    assert symbol_opcode(operator_symbol(IS, 9)) == IS


def test_too_many_choices_are_refused(monkeypatch):
    monkeypatch.setattr("featurewright.engine.grammar._MAX_CHOICES", 10)
    with pytest.raises(ValueError, match="max_size=5 with 4 operators on 3 columns") as caught:
        make_grammar([0, 0, 0])
    assert "\n" not in str(caught.value)
