"""Features of grown trees, compared with naive counting."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from tests.engine.arguments import NO_USERS, WIDTH
from tests.engine.forests import make_forest

from featurewright.engine.features import (
    column_importances,
    column_interactions,
    evaluate_expressions,
    list_features,
    rank_programs,
)
from featurewright.expressions import from_program, parse, resolve_operators, simplify
from featurewright.expressions.builtin import ADD, DIV, MUL
from featurewright.expressions.opcodes import END, operator_symbol
from featurewright.tables import Schema

NAMES = ("a", "b", "c")
SCHEMA = Schema(NAMES, given_names=True, domains=np.zeros(3, np.int8), levels=(None,) * 3)
COMMUTATIVE = {operator_symbol(ADD), operator_symbol(MUL)}


def canonical(program):
    """Sort the operands of commutative operators, as nested tuples."""
    stack = []
    for symbol in program:
        if symbol == END:
            break
        if symbol >= 0:
            stack.append(int(symbol))
            continue
        b, a = stack.pop(), stack.pop()
        operands = sorted((a, b), key=str) if symbol in COMMUTATIVE else (a, b)
        stack.append((int(symbol), *operands))
    return stack[0]


@pytest.fixture(scope="module")
def forest():
    return make_forest(n_trees=8)[0]


def test_interactions_against_naive_counting(forest):
    gains, total = defaultdict(float), 0.0
    for node in np.flatnonzero(forest.left >= 0):
        gain = float(forest.gain[node])
        total += gain
        columns = {int(s) for s in forest.programs[node] if s >= 0 and s != END}
        pairs = list(combinations(sorted(columns), 2))
        for pair in pairs:
            gains[pair] += gain / len(pairs)
    pairs, shares = column_interactions(forest)
    assert len(gains) == len(pairs) > 1
    assert (np.diff(shares) <= 0).all()
    for pair, share in zip(pairs.tolist(), shares, strict=True):
        assert share == pytest.approx(gains[tuple(pair)] / total)


def test_ranking_against_naive_counting(forest):
    ranking = rank_programs(forest, NO_USERS)
    gains, counts = defaultdict(float), defaultdict(int)
    for node in np.flatnonzero(forest.left >= 0):
        key = canonical(forest.programs[node])
        gains[key] += float(forest.gain[node])
        counts[key] += 1
    total = sum(gains.values())
    assert len(ranking.programs) == len(gains)
    for program, gain, count in zip(ranking.programs, ranking.gains, ranking.counts, strict=True):
        assert gain == pytest.approx(gains[canonical(program)] / total, abs=1.1e-6)
        assert count == counts[canonical(program)]
    assert (np.diff(ranking.gains) <= 0).all()
    assert 1 - 1e-6 * len(gains) <= ranking.gains.sum() <= 1 + 1e-9


def test_ranking_leaves_the_forest_alone(forest):
    before = forest.programs.copy()
    rank_programs(forest, NO_USERS)
    np.testing.assert_array_equal(forest.programs, before)


def test_ranking_of_leaves_only():
    stump, _ = make_forest(n_trees=3, max_depth=0)
    ranking = rank_programs(stump, NO_USERS)
    assert len(ranking.programs) == len(ranking.gains) == len(ranking.counts) == 0
    assert list_features(ranking, SCHEMA, ()) == ()
    np.testing.assert_array_equal(column_importances(stump, 3), np.zeros(3))


def test_features_merge_what_simplifies_to_the_same(forest):
    ranking = rank_programs(forest, NO_USERS)
    features = list_features(ranking, SCHEMA, ())
    gains, counts = defaultdict(float), defaultdict(int)
    for program, gain, count in zip(ranking.programs, ranking.gains, ranking.counts, strict=True):
        expression = simplify(
            from_program(program, SCHEMA.names, SCHEMA.domains, SCHEMA.levels, ())
        )
        if expression.size > 1:
            gains[expression] += gain
            counts[expression] += count
    assert {f.expression for f in features} == set(gains)
    for feature in features:
        assert feature.gain == pytest.approx(gains[feature.expression])
        assert feature.count == counts[feature.expression]
    listed = [feature.gain for feature in features]
    assert listed == sorted(listed, reverse=True)


def test_a_limit_keeps_the_best(forest):
    ranking = rank_programs(forest, NO_USERS)
    few = list_features(ranking, SCHEMA, (), limit=3)
    assert 1 <= len(few) <= 3
    everything = list_features(ranking, SCHEMA, ())
    assert few[0].expression in {feature.expression for feature in everything[:3]}


def test_importances_against_naive_sharing(forest):
    expected = np.zeros(3)
    for node in np.flatnonzero(forest.left >= 0):
        named = [s for s in forest.programs[node] if 0 <= s < 3]
        for column in named:
            expected[column] += forest.gain[node] / len(named)
    np.testing.assert_allclose(column_importances(forest, 3), expected / expected.sum(), rtol=1e-5)
    wider = column_importances(forest, 5)
    assert wider.shape == (5,)
    assert not wider[3:].any()


def test_evaluation_against_the_references():
    texts = ["a + b", "a / b", "a * b - c", "log(a)", "sqrt(b) * c", "a"]
    expressions = [parse(text, NAMES) for text in texts]
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[::4, 1] = 0.0
    X[::5, 0] = np.nan
    actual = evaluate_expressions(expressions, X, (), NO_USERS)
    for k, expression in enumerate(expressions):
        np.testing.assert_allclose(actual[:, k], expression.evaluate(X), rtol=1e-14)
    assert np.isnan(actual[4, 1])
    assert evaluate_expressions([], X, (), NO_USERS).shape == (30, 0)


def test_symbols_are_those_of_the_operators():
    names = resolve_operators(("add", "div"))
    assert [operator.opcode for operator in names] == [ADD, DIV]
    assert WIDTH == 5
