"""The lists of choices hold exactly the valid programs, as often as they should."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.engine.grown import make_grammar
from tests.naive.automaton import all_programs

from featurewright.expressions import resolve_operators
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol, symbol_opcode

CASES = {
    "arithmetic": ([0, 0], ["add", "div"], 5),
    "unary": ([0], ["neg", "sqrt", "add"], 5),
    "Boolean": ([0, 1], ["less", "and", "not"], 4),
    "Category": ([0, 2, 2], ["is", "equal", "mul"], 4),
    "nothing": ([0, 1, 2], [], 3),
}
every_case = pytest.mark.parametrize("case", CASES)


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


@every_case
def test_exactly_the_valid_programs(case):
    domains, names, max_size = CASES[case]
    grammar = make_grammar(domains, names, max_size)
    signatures = {
        operator_symbol(operator.opcode): (tuple(map(int, operator.inputs)), int(operator.output))
        for operator in resolve_operators(tuple(names))
    }
    expected = all_programs(domains, signatures, max_size)
    # A category alone is a one-value test; anything else that is one is no program.
    assert reachable(grammar, max_size) == expected


@every_case
def test_every_symbol_is_listed_once(case):
    grammar = make_grammar(*CASES[case])
    for state in range(len(grammar.start) - 1):
        counts = Counter(symbol for symbol, _ in choices(grammar, state))
        assert set(counts.values()) <= {1}


@every_case
def test_kinds_are_equally_likely(case):
    grammar = make_grammar(*CASES[case], sampling="kind")
    plain = make_grammar(*CASES[case])
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
    monkeypatch.setattr("featurewright.engine.compiled_grammar._MAX_CHOICES", 10)
    with pytest.raises(ValueError, match="max_size=5 with 4 operators on 3 columns") as caught:
        make_grammar([0, 0, 0])
    assert "\n" not in str(caught.value)
