"""Operators are drawn by their weights, and weights follow the gains, as the description says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.engine.arguments import (
    NO_USERS,
    class_target,
    make_grammar,
    make_settings,
    make_state,
    sorted_rows,
    sums_target,
)
from tests.naive import weighted as naive
from tests.naive.programs import run, symbols_of
from tests.naive.streams import Stream

from featurewright.engine.buffers import (
    WEIGHTED,
    GrowContext,
    GrownTree,
    OperatorWeights,
    TreeBuffers,
)
from featurewright.engine.grow import grow_tree, kernel_addresses
from featurewright.engine.weighted import begin_tree, draw_operator, list_operators, nesting_depth
from featurewright.expressions import resolve_operators

SIX = ("sqrt", "square", "add", "sub", "mul", "gaussian")


class Growth:
    """A tree grown by weighted operators, with all that it noted down."""

    def __init__(
        self,
        columns: Any,
        target: Any,
        *,
        operators: tuple[str, ...] = SIX,
        seed: int = 1,
        strength: float = 0.5,
        max_order: int = 1,
        reuses: bool = False,
        **changes: Any,
    ) -> None:
        columns = np.ascontiguousarray(columns, np.float32)
        n = columns.shape[1]
        width = 2 ** (max_order + 1) - 1
        usual = {"strategy": WEIGHTED, "budget": 5, "min_split": 3, "many_thresholds": 1}
        usual = {**usual, "centered": 1, **kernel_addresses(WEIGHTED)}
        record = make_settings(**{**usual, **changes})
        domains = np.zeros(len(columns), np.int8)
        grown = GrownTree.allocate(2 * n + 1, width)
        listed = list_operators(
            resolve_operators(operators),
            domains,
            strength=strength,
            max_order=max_order,
            reuses=reuses,
        )
        self.operator_weights: OperatorWeights = begin_tree(listed, grown.programs)
        n_stats = int(target.codes.max()) + 1 if len(target.codes) else len(target.sums)
        buffers = TreeBuffers.allocate(n, len(columns), n_stats, width, record, 2 * n + 1)._replace(
            operator_weights=self.operator_weights
        )
        self.ids = sorted_rows(target)
        self.state = make_state(seed)
        context = GrowContext(
            buffers.rows, self.ids, np.ascontiguousarray(columns.T), columns, target, record,
            make_grammar([0] * len(columns), (), width=1), NO_USERS, self.state,
            np.zeros(1, np.int64), grown, buffers,
        )  # fmt: skip
        self.count = grow_tree(context, context.of_sample())
        self.grown, self.buffers = grown, buffers

    def rows(self, node: int) -> np.ndarray:
        start = self.grown.start[node]
        return self.ids[start : start + self.grown.size[node]]

    def path(self, node: int) -> list[int]:
        above = []
        while (node := int(self.operator_weights.parents[node])) >= 0:
            above.append(node)
        return above

    def program(self, node: int) -> list[int]:
        return symbols_of(self.grown.programs[node])

    @property
    def inner(self) -> np.ndarray:
        return np.flatnonzero(self.grown.left[: self.count] >= 0)


def problem(seed: int, n: int = 30, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    # Quarters: their sums, differences and products are exact, so that equals are equal.
    columns = (np.round(4 * rng.normal(size=(4, n))) / 4).astype(np.float32)
    return columns, rng.permutation(np.arange(n) % classes)


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([2, 3]),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.5, 1.0, 1000.0]),
)
def test_every_node_equals_its_description(seed, classes, budget, strength):
    columns, codes = problem(seed, classes=classes)
    stream = Stream(seed * 0x9E3779B97F4A7C15)
    tree = Growth(columns, class_target(codes), seed=stream.state, budget=budget, strength=strength)
    operator_weights = tree.operator_weights
    for node in range(tree.count):
        above = tree.path(node)
        start = operator_weights.weights[above[0]] if above else np.full(6, 1 / 6)
        rows = tree.rows(node)
        if len(rows) < 3 or len(np.unique(codes[rows])) < 2:
            np.testing.assert_array_equal(operator_weights.weights[node], start)
            assert not operator_weights.counts[node].any()
            continue
        chosen = [tree.program(k) for k in above]
        expected = naive.Node(
            columns[:, rows], codes[rows], operators=SIX, weights=start, chosen=chosen,
            stream=stream, budget=budget,
        )  # fmt: skip
        np.testing.assert_array_equal(operator_weights.counts[node], expected.counts)
        np.testing.assert_allclose(operator_weights.gains[node], expected.means, atol=2e-5)
        learned = naive.learn(start, operator_weights.gains[node], expected.counts, strength)
        np.testing.assert_allclose(operator_weights.weights[node], learned, rtol=1e-9)
        if tree.grown.left[node] >= 0:
            best = max(expected.gains.values())
            assert expected.gains[tuple(tree.program(node))] == pytest.approx(best, abs=2e-5)
    assert tree.state["random"] == stream.state


@given(st.integers(0, 10**6))
def test_nothing_is_chosen_twice_on_a_path(seed):
    columns, codes = problem(seed)
    tree = Growth(columns, class_target(codes), seed=seed + 1, budget=8)
    for node in tree.inner:
        assert tree.program(node) not in [tree.program(k) for k in tree.path(node)]


def test_columns_are_chosen_again_where_they_may_be():
    columns = np.arange(64.0)[None]
    codes = np.arange(64) // 8 % 2
    once = Growth(columns, class_target(codes), operators=())
    again = Growth(columns, class_target(codes), operators=(), reuses=True)
    assert (once.count, again.count) == (3, 15)  # eight stretches of one class each
    assert all(again.program(node) == [0] for node in again.inner)


def test_features_are_drawn_again_where_they_may_be():
    columns = np.random.default_rng(0).normal(size=(2, 300))
    codes = np.floor(4 * columns[0] * columns[1]).astype(int) % 2
    tree = Growth(columns, class_target(codes), operators=("mul",), reuses=True, budget=1)
    assert any(tree.program(k) in [tree.program(j) for j in tree.path(k)] for k in tree.inner)


def test_without_learning_weights_stay():
    columns, codes = problem(0)
    tree = Growth(columns, class_target(codes), strength=0.0)
    np.testing.assert_allclose(tree.operator_weights.weights[: tree.count], 1 / 6)
    assert tree.operator_weights.counts.sum() > 0


def test_operators_come_up_as_often_as_they_weigh():
    weights = np.array([[0.5, 0.2, 0.15, 0.1, 0.05]])
    state = make_state(12345)
    draws = [draw_operator(weights, 0, state) for _ in range(20_000)]
    found = np.bincount(draws, minlength=5)
    assert chisquare(found, 20_000 * weights[0]).pvalue > 0.001


def test_weights_decide_what_children_build():
    # Many columns, so that hardly a candidate comes up twice; the weights of the root's children
    # are those that learning gave.
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 60))
    codes = (columns[0] * columns[1] + columns[2] ** 2 > 0.5).astype(int)
    built, expected = np.zeros(6), np.zeros(6)
    for seed in range(40):
        tree = Growth(columns, class_target(codes), seed=seed + 1, budget=100, max_depth=2)
        for node in (1, 2):
            drawn = tree.operator_weights.counts[node]
            built += drawn
            expected += tree.operator_weights.weights[0] * drawn.sum()
    assert chisquare(built, expected).pvalue > 0.001


def test_numbers_gain_shares_of_the_sum_of_squares():
    rng = np.random.default_rng(1)
    columns, y = rng.normal(size=(3, 30)), rng.normal(size=30)
    tree = Growth(
        columns, sums_target(y), by_class=0, whole_weights=0, criterion=5, budget=9, max_depth=1
    )
    programs = tree.buffers.candidates.programs[: tree.state["scored"]]
    sums, counts = np.zeros(6), np.zeros(6)
    codes = list(tree.operator_weights.opcodes)
    for program in map(symbols_of, programs[: int(tree.operator_weights.counts[0].sum())]):
        values = run(program, columns.astype(np.float32))
        shares = [0.0]
        for threshold in np.unique(values)[:-1]:
            sides = y[values <= threshold], y[values > threshold]
            within = sum(((side - side.mean()) ** 2).sum() for side in sides)
            shares.append(1 - within / ((y - y.mean()) ** 2).sum())
        k = codes.index(-1 - program[-1])
        chance = 2 * np.log(30 - 1) / 30  # the share that is worth log2(30 - 1) bits
        sums[k] += max(0.0, max(shares) - chance)
        counts[k] += 1
    assert sums.any()
    np.testing.assert_allclose(
        tree.operator_weights.gains[0], sums / np.maximum(1, counts), atol=1e-5
    )


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3]))
def test_operators_stand_on_one_another_as_often_as_allowed(seed, max_order):
    columns, codes = problem(seed, n=60)
    tree = Growth(columns, class_target(codes), seed=seed + 1, budget=12, max_order=max_order)
    stack = np.empty(40, np.int64)
    orders = [nesting_depth(tree.grown.programs, k, NO_USERS, stack) for k in tree.inner]
    assert max(orders) <= max_order
    for node, order in zip(tree.inner, orders, strict=True):
        if order > 1:
            text = str(tree.program(node))[1:-1]
            assert any(str(tree.program(k))[1:-1] in text for k in tree.path(node))
