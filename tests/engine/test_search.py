"""The search strategies draw and score what their description says, within the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.engine.arguments import (
    NO_USERS,
    WIDTH,
    WORST,
    class_target,
    make_grammar,
    make_node,
    make_settings,
    make_state,
    sums_target,
    walk,
)
from tests.naive import split as naive_split
from tests.naive.programs import run, symbols_of
from tests.naive.search import Search
from tests.naive.streams import Stream

from featurewright.engine.buffers import (
    LANES,
    LOOK_AHEAD,
    RANDOM_SEARCH,
    STATE,
    STEP,
    GrowContext,
    GrownTree,
)
from featurewright.engine.node_search import search_node
from featurewright.engine.program_pool import fill_pool
from featurewright.engine.programs import program_length
from featurewright.engine.search import choose_survivors
from featurewright.engine.split import score_values
from featurewright.expressions.opcodes import END

STRATEGIES = {"random": RANDOM_SEARCH, "step": STEP, "look_ahead": LOOK_AHEAD}
OPERATORS = ("add", "sub", "mul", "div", "is", "less")
# Symbols are drawn more often by being listed more often.
LISTINGS = ({}, {"sampling": "kind"})


class Scene:
    """A node of 24 rows over three numbers and a Category, searched once."""

    def __init__(
        self, seed: int, *, classes: int = 3, n: int = 24, listing: Any = None, **settings
    ) -> None:
        rng = np.random.default_rng(seed)
        self.columns = np.round(rng.normal(size=(4, n)), 1).astype(np.float32)
        self.columns[3] = rng.integers(0, 3, n)
        usual = {"strategy": RANDOM_SEARCH, "budget": 40, "criterion": 1, "centered": 1}
        self.settings = make_settings(by_class=int(classes > 0), **{**usual, **settings})
        codes = rng.permutation(np.arange(n) % max(1, classes))
        target = class_target(codes) if classes else sums_target(rng.normal(size=n))
        self.node = make_node(target, self.settings, len(self.columns))
        self.grammar = make_grammar([0, 0, 0, 2], OPERATORS, **(listing or {}))
        self.stream_seed = seed * 0x9E3779B97F4A7C15 % 2**64  # small seeds begin alike
        self.state = make_state(self.stream_seed)

    def search(self) -> None:
        """Search the node as `grow_tree` searches a root."""
        node, buffers = self.node, self.node.buffers
        context = GrowContext(
            buffers.rows, node.ids, np.ascontiguousarray(self.columns.T), self.columns, node.target,
            self.settings, self.grammar, NO_USERS, self.state, np.zeros(1, np.int64),
            GrownTree.allocate(1, WIDTH), buffers,
        )  # fmt: skip
        if self.settings["budget"] and self.settings["strategy"] == RANDOM_SEARCH:
            fill_pool(context)
        search_node(context, context.of_sample(), 0, 0, len(node.ids), node.n_stats)

    @property
    def candidates(self) -> list[list[int]]:
        programs = self.node.buffers.candidates.programs[: self.state["scored"]]
        return [symbols_of(program) for program in programs]

    def score(
        self,
        program: list[int],
        best_so_far: np.float32 = WORST,
        stream: Stream | None = None,
        *,
        many: int = 0,
    ) -> tuple[float, bool]:
        """Score a program by itself, as the kernel would."""
        node = self.node
        values = run(program, self.columns[:, node.ids])
        padded = np.concatenate([values, np.full(32, values[-1], np.float32)])[None, :]
        levels = 3 if program == [3] else 0
        state = make_state(stream.state if stream else 1)
        state["many_thresholds"] = many
        score = score_values(
            padded, 0, node.buffers.rows, len(values), node.n_stats, self.settings,
            node.buffers.scratch, levels, best_so_far, state,
        )  # fmt: skip
        if stream:
            stream.state = int(state["random"])
        return score, bool(state["perfect"])


@given(
    st.integers(0, 10**6), st.sampled_from(sorted(STRATEGIES)), st.integers(1, 120),
    st.sampled_from([0, 2, 3]), st.sampled_from(LISTINGS),
)  # fmt: skip
def test_strategies_equal_their_description(seed, name, budget, classes, listing):
    scene = Scene(seed, classes=classes, strategy=STRATEGIES[name], budget=budget,
                  criterion=1 if classes else 5, listing=listing)  # fmt: skip
    naive = Search(scene.grammar, WIDTH, budget, scene.stream_seed, scene.score)
    if name == "random":
        naive.random(len(scene.node.buffers.pool.draws))
    else:
        naive.guided(look_ahead=name == "look_ahead")
    scene.search()
    assert scene.candidates == naive.candidates
    candidate_scores = scene.node.buffers.candidate_scores
    np.testing.assert_array_equal(candidate_scores.scores[: scene.state["scored"]], naive.scores)
    assert scene.state["tries"] == naive.tries
    assert scene.state["random"] == naive.stream.state
    if naive.best < 0:
        assert scene.state["best_score"] == WORST
    else:
        assert scene.state["best_score"] == np.float32(naive.scores[naive.best])
        assert symbols_of(candidate_scores.best[0]) == naive.candidates[naive.best]
    assert bool(scene.state["best_perfect"]) == naive.perfect


@pytest.mark.parametrize("name", STRATEGIES)
@loop_over("budget", [1, 17, 500])
@loop_over("drawn", [0, 1])
def test_the_budget_is_kept_and_nothing_is_scored_twice(name, budget, drawn):
    scene = Scene(3, strategy=STRATEGIES[name], budget=budget, random_threshold=drawn)
    scene.search()
    assert scene.state["scored"] == budget
    assert len({tuple(program) for program in scene.candidates}) == budget


def test_search_ends_when_nothing_new_is_left():
    scene = Scene(4, budget=1000)
    scene.grammar = make_grammar([0, 0, 0, 2], ["neg"], width=WIDTH)
    scene.search()
    # Three numbers with up to four signs in front; the Category cannot be negated.
    assert scene.state["scored"] == 3 * 5 + 1


@pytest.mark.parametrize("listing", LISTINGS)
def test_look_ahead_tries_every_first_symbol_once_and_extends_the_best(listing):
    scene = Scene(5, strategy=LOOK_AHEAD, budget=60, listing=listing)
    scene.search()
    candidates = scene.candidates
    scores = scene.node.buffers.candidate_scores.scores
    first = list(dict.fromkeys(scene.grammar.symbol[: scene.grammar.start[1]].tolist()))
    assert scene.grammar.n_distinct[0] == len(first)
    assert [program[0] for program in candidates[: len(first)]] == first
    best = candidates[int(np.argmax(scores[: len(first)]))]
    assert candidates[len(first)][0] == best[0]


def test_a_perfect_split_ends_the_search():
    scene = Scene(6, classes=2, budget=300)
    codes = np.asarray(scene.node.target.codes)
    scene.columns[0] = codes * 2.0
    scene.search()
    assert scene.state["best_perfect"]
    assert scene.state["scored"] < 300
    assert scene.candidates[-1] == symbols_of(scene.node.buffers.candidate_scores.best[0])


@pytest.mark.parametrize("n", [24, 200])
@pytest.mark.parametrize("seed", range(3))
def test_raw_columns_are_all_tried_and_the_best_of_many_thresholds_wins(seed, n):
    scene = Scene(seed, n=n, budget=0, n_raw=4)
    scene.search()
    assert not scene.state["best_few_thresholds"]
    x = scene.columns[:, scene.node.ids]
    expected = max(scene.score([column], many=1)[0] for column in range(4))
    assert scene.state["best_score"] == pytest.approx(expected, rel=1e-5)
    best = symbols_of(scene.node.buffers.candidate_scores.best[0])
    assert scene.score(best, many=1)[0] == scene.state["best_score"]
    left = naive_split.goes_left(
        x[best[0]], scene.state["best_threshold"], is_level=bool(scene.state["best_is_level"])
    )
    assert 0 < left.sum() < len(left)
    assert scene.state["best_is_level"] == (best == [3])


@pytest.mark.parametrize("many", [0, 1])
def test_expressions_are_compared_by_few_thresholds_unless_many_are_asked_for(many):
    scene = Scene(7, n=200, many_thresholds=many)
    scene.columns = np.abs(scene.columns) + 1  # no quotient is missing
    scene.columns[3] -= 1
    scene.search()
    assert scene.state["best_few_thresholds"] == 1 - many
    expected = [scene.score(program, many=1)[0] for program in scene.candidates]
    scores = scene.node.buffers.candidate_scores.scores[: scene.state["scored"]]
    assert (scores == expected).all() == many


def test_constant_columns_do_not_count():
    drawn = set()
    for seed in range(60):
        scene = Scene(seed, budget=0, n_raw=1)
        scene.columns[:2] = 7.0
        scene.search()
        assert scene.state["best_score"] > WORST
        drawn.add(int(scene.node.buffers.candidate_scores.best[0, 0]))
    assert drawn == {2, 3}


def test_columns_are_drawn_evenly():
    counts = np.zeros(4, int)
    for seed in range(400):
        scene = Scene(seed, budget=0, n_raw=1)
        scene.search()
        counts[scene.node.buffers.candidate_scores.best[0, 0]] += 1
    assert counts.min() > 70


@pytest.mark.parametrize("name", STRATEGIES)
def test_candidates_are_valid_programs(name):
    scene = Scene(8, budget=150, strategy=STRATEGIES[name])
    scene.search()
    assert scene.candidates
    for program in scene.candidates:
        walk(scene.grammar, program)  # raises on what is not valid


@loop_over("drawn", [0, 1])
@loop_over(("keep", "n"), [(2, 300), (4, 3000)])
@pytest.mark.parametrize("name", STRATEGIES)
def test_halving_is_the_same_where_columns_are_gathered_one_by_one(name, keep, n, drawn):
    found = []
    for width in (64 * 3 // 2, n):  # buffers for the first sample only, and for all rows
        scene = Scene(9, n=n, strategy=STRATEGIES[name], sample=64, keep=keep,
                      random_threshold=drawn, n_raw=1)  # fmt: skip
        buffer = np.empty((len(scene.columns) + WIDTH, width + LANES), np.float32)
        scene.node.buffers = scene.node.buffers._replace(buffer=buffer)
        scene.search()
        candidate_scores = scene.node.buffers.candidate_scores
        scores = candidate_scores.scores[: scene.settings["budget"]]
        found.append((scene.state.copy(), candidate_scores.best.copy(), scores.copy()))
    narrow, wide = found
    for field in set(STATE.names) - {"values_row"}:  # where values are, not what they are
        np.testing.assert_array_equal(narrow[0][field], wide[0][field], field)  # NaN is itself
    np.testing.assert_array_equal(narrow[1], wide[1])
    np.testing.assert_array_equal(narrow[2], wide[2])


@pytest.mark.parametrize("drawn", [0, 1])
@pytest.mark.parametrize("n", [300, 900, 3000])
def test_halving_ends_with_the_score_on_all_rows(n, drawn):
    for seed in range(10):
        scene = Scene(seed, n=n, sample=64, random_threshold=drawn)
        scene.search()
        best = symbols_of(scene.node.buffers.candidate_scores.best[0])
        x = run(best, scene.columns[:, scene.node.ids])
        codes = scene.node.target.codes[scene.node.ids]
        is_level = bool(scene.state["best_is_level"])
        sums = naive_split.of_classes(codes, np.ones(n))
        test = float(scene.state["best_threshold"])
        expected = naive_split.score_test(x, sums, scene.settings, test, is_level=is_level)
        assert scene.state["best_score"] == pytest.approx(expected, rel=2e-3, abs=2e-5)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
def test_survivors_are_the_best(scores, data):
    scores = np.array(scores, np.float32)
    count = data.draw(st.integers(1, len(scores)))
    kept = data.draw(st.integers(1, count))
    order = np.random.default_rng(0).permutation(len(scores)).astype(np.int64)
    before = order.copy()
    choose_survivors(scores, order, count, kept)
    assert sorted(order[:count]) == sorted(before[:count])
    np.testing.assert_array_equal(order[count:], before[count:])
    expected = np.sort(scores[before[:count]])[::-1][:kept]
    np.testing.assert_array_equal(np.sort(scores[order[:kept]])[::-1], expected)


def test_program_length_stops_at_the_padding():
    programs = np.full((2, WIDTH), END, np.int32)
    programs[1] = 3
    programs[0, :3] = 1
    assert [program_length(programs, k) for k in range(2)] == [3, WIDTH]
