"""What is drawn more often in later trees."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.grown import NO_USERS, WIDTH, make_forest, make_grammar

from featurewright.engine.adaptive import build_library, column_weights
from featurewright.engine.compiled_grammar import walk
from featurewright.engine.features import Ranking, rank_programs
from featurewright.expressions.builtin import ADD, DIV, MUL, NEG
from featurewright.expressions.opcodes import END, operator_symbol

ADDED, DIVIDED, TIMES, NEGATED = map(operator_symbol, (ADD, DIV, MUL, NEG))


def ranking_of(*entries):
    programs = np.full((len(entries), WIDTH), END, np.int32)
    for k, (program, _) in enumerate(entries):
        programs[k, : len(program)] = program
    gains = np.array([gain for _, gain in entries], float)
    return Ranking(programs, gains, np.ones(len(entries), np.int64))


def part_of(row):
    return tuple(int(symbol) for symbol in row if symbol != END)


def test_equal_importances_give_equal_weights():
    weights = column_weights(np.full(10, 0.1))
    assert len(set(weights)) == 1
    assert (column_weights(np.zeros(4)) >= 1).all()


def test_weights_grow_with_importance_and_never_vanish():
    importances = np.array([0.0, 0.1, 0.3, 0.6])
    weights = column_weights(importances)
    assert (np.diff(weights) > 0).all()
    assert weights[0] >= 1
    assert weights.dtype == np.int64
    # Half of the draws stay uniform.
    assert weights[0] / weights.sum() == pytest.approx(0.5 / 4, abs=0.01)
    assert weights[3] / weights.sum() == pytest.approx(0.5 / 4 + 0.3, abs=0.01)


@pytest.mark.parametrize("n_columns", [1, 3, 100, 3000])
def test_weights_of_any_number_of_columns(n_columns):
    importances = np.zeros(n_columns)
    importances[0] = 1.0
    weights = column_weights(importances)
    assert (weights >= 1).all()
    assert weights[0] / weights.sum() == pytest.approx(0.5 + 0.5 / n_columns, abs=0.02)


def test_library_entries_are_valid_prefixes():
    forest, _ = make_forest(n_trees=10)
    grammar = make_grammar([0, 0, 0])
    library = build_library(rank_programs(forest, NO_USERS), grammar, NO_USERS)
    assert 0 < len(library.programs) <= 64
    for row, state in zip(library.programs, library.states, strict=True):
        part = part_of(row)
        assert 1 < len(part) <= WIDTH - 2
        assert part[-1] < 0
        assert walk(grammar, part) == state
    assert set(library.draws) == set(range(len(library.programs)))
    assert len({part_of(row) for row in library.programs}) == len(library.programs)


def test_library_counts_the_gain_of_every_whole():
    grammar = make_grammar([0, 0, 0])
    ranking = ranking_of(
        ([0, 1, TIMES, 2, ADDED], 0.6), ([0, 1, TIMES], 0.1), ([1, 2, DIVIDED], 0.3), ([2], 9.0)
    )
    library = build_library(ranking, grammar, NO_USERS)
    parts = [part_of(row) for row in library.programs]
    assert parts == [(0, 1, TIMES), (1, 2, DIVIDED)]
    counts = np.bincount(library.draws)
    assert counts[0] / counts.sum() == pytest.approx(0.7, abs=0.01)


def test_library_of_plain_columns_is_empty():
    grammar = make_grammar([0, 0, 0])
    for ranking in (ranking_of(([0], 1.0), ([1], 2.0)), ranking_of()):
        library = build_library(ranking, grammar, NO_USERS)
        assert len(library.programs) == len(library.draws) == 0


def test_library_without_any_gain():
    grammar = make_grammar([0, 0, 0])
    library = build_library(ranking_of(([0, 1, TIMES], 0.0)), grammar, NO_USERS)
    assert np.isfinite(library.draws).all()
    assert len(library.draws) >= 1


def test_library_of_nested_unary_operators():
    grammar = make_grammar([0, 0], ["neg", "add"])
    ranking = ranking_of(([0, NEGATED, 1, ADDED, NEGATED], 1.0))
    library = build_library(ranking, grammar, NO_USERS)
    assert {part_of(row) for row in library.programs} == {(0, NEGATED)}
