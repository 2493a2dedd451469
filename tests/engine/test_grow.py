"""Whole trees: what holds for every one, and what a plain one has in common with naive CART."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.arguments import (
    Tree,
    class_target,
    grow,
    leaf_of_grown_rows,
    leaf_of_rows,
    make_grammar,
    make_settings,
    sums_target,
    walk,
)
from tests.naive import split as naive_split
from tests.naive import trees as naive
from tests.naive.programs import run, symbols_of

from featurewright.engine.buffers import LOOK_AHEAD, STEP
from featurewright.engine.criteria import (
    EDGE_TREE,
    GINI,
    INFORMATION,
    KEARNS_MANSOUR,
    NORMALIZED,
    RATIO,
    SQUARES,
)
from featurewright.expressions import Category
from featurewright.expressions.opcodes import END

DOMAINS = (0, 0, 0, 1, 2)
EXACT = ("add", "sub", "mul", "div", "sqrt", "less", "and", "not", "is", "min")


def table(seed: int, n: int, missing: float = 0.0, decimals: int = 3) -> np.ndarray:
    """Three columns of numbers, one of truth values, one of four levels."""
    rng = np.random.default_rng(seed)
    columns = np.round(rng.normal(size=(5, n)), decimals)
    columns[3], columns[4] = rng.integers(0, 2, n), rng.integers(0, 4, n)
    columns[rng.random((5, n)) < missing] = np.nan
    return columns.astype(np.float32)


def class_of(columns: np.ndarray, seed: int, *, whole: bool = True):
    rng = np.random.default_rng(seed)
    x = np.nan_to_num(columns)
    n = x.shape[1]
    codes = (x[0] * x[1] > 0).astype(int) + (x[4] == 2)
    codes = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), codes)
    codes = np.unique(codes, return_inverse=True)[1]
    return class_target(codes, rng.integers(1, 4, n) if whole else 0.2 + rng.random(n))


def numbers_of(columns: np.ndarray, seed: int, n_targets: int = 2):
    rng = np.random.default_rng(seed)
    x = np.nan_to_num(columns)
    n = x.shape[1]
    values = np.stack([x[0] * x[1] + x[3], (x[4] == 1) - x[2]])[:n_targets]
    return sums_target(values + 0.3 * rng.normal(size=values.shape), 0.2 + rng.random(n))


def check_leaves(tree: Tree) -> None:
    """Leaves bear no trace of a split, those neither that growth could still have split."""
    assert (tree.left[tree.leaves] == -1).all()
    assert (tree.programs[tree.leaves] == END).all()
    for values in (tree.gain, tree.threshold, tree.is_level, tree.missing_left):
        assert (values[tree.leaves] == 0).all()


def check_tree(tree: Tree, columns, target, settings, grammar) -> None:
    """Check all that holds for every grown tree."""
    check_leaves(tree)
    n = columns.shape[1]
    assert sorted(tree.ids) == list(range(n))
    assert (tree.start[0], tree.size[0], tree.depth[0]) == (0, n, 0)
    assert (tree.size >= max(1, settings["min_rows"])).all() or len(tree.left) == 1
    assert (tree.depth <= settings["max_depth"]).all()
    if settings["max_leaves"]:
        assert len(tree.leaves) <= settings["max_leaves"]
    assert len(tree.leaves) == len(tree.inner) + 1
    for node in tree.inner:
        check_split(tree, int(node), columns, target, settings=settings, grammar=grammar)
    if len(target.codes) and not settings["max_leaves"]:
        # Where leaves are limited, some have found a split, and their rows lie by its sides.
        for leaf in tree.leaves:  # the rows of inner nodes are partitioned again below them
            assert (np.diff(target.codes[tree.rows(leaf)]) >= 0).all()
    np.testing.assert_array_equal(leaf_of_rows(tree, columns), leaf_of_grown_rows(tree))


def check_split(tree: Tree, node: int, columns, target, *, settings, grammar) -> None:
    """Check one split: its program, its children's rows and its gain."""
    left = int(tree.left[node])
    assert tree.start[left] == tree.start[node]
    assert tree.start[left + 1] == tree.start[left] + tree.size[left]
    assert tree.size[left] + tree.size[left + 1] == tree.size[node]
    assert tree.depth[left] == tree.depth[left + 1] == tree.depth[node] + 1
    walk(grammar, symbols_of(tree.programs[node]))  # raises on what is not valid
    rows = np.sort(tree.rows(node))
    if len(target.codes):
        rows = rows[np.argsort(target.codes[rows], kind="stable")]
        sums = naive_split.of_classes(target.codes[rows], target.weights[rows])
    else:
        sums = naive_split.of_targets(
            target.sums[:, rows], target.weights[rows], centered=bool(settings["centered"])
        )
    x = run(tree.programs[node], columns[:, rows])
    is_level = bool(tree.is_level[node])
    lone = len(symbols_of(tree.programs[node])) == 1
    threshold = float(tree.threshold[node])
    # An infinite threshold separates known from missing values, also of levels.
    levels = lone and grammar.n_levels[tree.programs[node, 0]] > 0
    assert is_level == (levels and threshold < np.inf)
    goes = naive_split.goes_left(x, threshold, is_level=is_level)
    goes |= np.isnan(x) & bool(tree.missing_left[node])
    assert sorted(tree.rows(left)) == sorted(rows[goes])
    _, gain = naive.route_missing(x, sums, settings, threshold, is_level=is_level)
    assert tree.gain[node] >= 0
    # A square root of a small difference keeps half of the digits.
    digits = 1e-3 if settings["criterion"] == KEARNS_MANSOUR else 2e-5
    slack = digits * float(sums.weights.sum()) + 1e-5
    assert tree.gain[node] == pytest.approx(max(gain, 0), rel=2e-3, abs=slack)


CONFIGS = {
    "plain": {"n_raw": 5},
    "some columns": {"n_raw": 2, "criterion": GINI},
    "expressions": {"budget": 30, "criterion": NORMALIZED},
    "expressions and columns": {"budget": 20, "n_raw": 2, "criterion": RATIO},
    "random thresholds": {"budget": 30, "random_threshold": 1, "criterion": NORMALIZED},
    "columns at random": {"n_raw": 3, "random_threshold": 1, "criterion": KEARNS_MANSOUR},
    "step": {"budget": 30, "strategy": STEP},
    "look ahead": {"budget": 40, "strategy": LOOK_AHEAD},
    "halving": {"budget": 40, "sample": 64, "criterion": NORMALIZED},
    "halving by four": {"budget": 40, "sample": 32, "keep": 4, "random_threshold": 1},
    "few leaves": {"n_raw": 5, "max_leaves": 9},
    "shallow": {"n_raw": 5, "max_depth": 3},
    "large leaves": {"budget": 20, "n_raw": 1, "min_rows": 15, "min_split": 40},
    "heavy leaves": {"n_raw": 5, "min_weight": 10.0, "min_rows": 3},
    "a share of each node": {"n_raw": 5, "side_share": 0.05},
    "stump": {"budget": 10, "max_depth": 1},
    "root only": {"n_raw": 5, "max_depth": 0},
}


@loop_over(
    ("kind", "missing"), [("classes", 0.2), ("fractional", 0.0), ("numbers", 0.2), ("edges", 0.0)]
)
@pytest.mark.parametrize("name", CONFIGS)
def test_what_holds_for_every_tree(name, kind, missing):
    columns = table(len(name), 400, missing, decimals=1)
    values = {"strategy": 1, **CONFIGS[name]}
    if kind in ("classes", "fractional"):
        target = class_of(columns, 1, whole=kind == "classes")
        settings = make_settings(**{**values, "whole_weights": int(kind == "classes")})
    else:
        target = numbers_of(columns, 1)
        criterion = SQUARES if kind == "numbers" else EDGE_TREE
        centered = int(kind == "numbers")
        settings = make_settings(
            **{**values, "by_class": 0, "criterion": criterion, "centered": centered}
        )
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)
    before = settings.copy()
    tree = grow(columns, target, settings, grammar=grammar, seed=3**40)
    assert settings == before
    check_tree(tree, columns, target, settings, grammar)
    assert len(tree.left) > 1 or name == "root only"
    again = grow(columns, target, settings, grammar=grammar, seed=3**40)
    for field in vars(tree):
        np.testing.assert_array_equal(getattr(again, field), getattr(tree, field))


def test_another_seed_gives_another_tree():
    columns = table(0, 300)
    target, settings = class_of(columns, 0), make_settings(budget=20, strategy=1)
    trees = [grow(columns, target, settings, seed=seed,
                  grammar=make_grammar(DOMAINS, EXACT, n_levels=4))
             for seed in (3**40, 5**27)]  # fmt: skip
    assert not np.array_equal(trees[0].programs, trees[1].programs)


@pytest.mark.parametrize("operators", [("exp", "log", "gaussian", "div", "sqrt", "square")])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_growth_and_descent_agree_to_the_last_bit(seed, missing, operators):
    columns = table(seed, 600, missing)
    target = class_of(columns, seed)
    grammar = make_grammar(DOMAINS, operators, n_levels=4)
    for drawn in (0, 1):
        settings = make_settings(budget=40, strategy=1, random_threshold=drawn)
        tree = grow(columns, target, settings, grammar=grammar, seed=7**20 + seed)
        np.testing.assert_array_equal(leaf_of_rows(tree, columns), leaf_of_grown_rows(tree))


@pytest.mark.parametrize("max_leaves", [0, 20])
def test_a_node_after_one_that_cannot_be_split(max_leaves):
    """The right child is mixed but constant, so it stays a leaf; the left one must be split."""
    columns = np.repeat([[0, 1, 2]], [10, 10, 20], axis=1).astype(np.float32)
    target = class_target(np.repeat([0, 1, 2, 3], 10))
    settings = make_settings(n_raw=1, max_leaves=max_leaves)
    tree = grow(columns, target, settings)
    assert tree.left.tolist() == [1, 3, -1, -1, -1]
    assert tree.size.tolist() == [40, 20, 20, 10, 10]
    check_tree(tree, columns, target, settings, make_grammar([0]))


@loop_over("max_leaves", [0, 12])
@loop_over("seed", range(4))
def test_tables_with_many_equal_rows(seed, max_leaves):
    """Nodes that cannot be split stand among nodes that can."""
    columns = np.round(table(seed, 120, 0.1, decimals=0)[:2])
    target = class_target(np.random.default_rng(seed).integers(0, 3, 120))
    settings = make_settings(n_raw=2, max_leaves=max_leaves)
    tree = grow(columns, target, settings, seed=seed)
    check_tree(tree, columns, target, settings, make_grammar([0, 0]))


def plain_case(seed: int, criterion: int, **values):
    """A table of at most 32 rows, so that every threshold is tried."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 33))
    columns = rng.normal(size=(3, n)).astype(np.float32)
    by_class = criterion != SQUARES
    settings = make_settings(
        n_raw=3, criterion=criterion, by_class=int(by_class), centered=1, **values
    )
    weights = rng.integers(1, 4, n)
    if by_class:
        codes = rng.integers(0, 3, n)
        codes = np.unique(codes, return_inverse=True)[1]
        target = class_target(codes, weights)
        sums = naive_split.of_classes(codes, target.weights)
    else:
        target = sums_target(rng.normal(size=n), weights)
        sums = naive_split.of_targets(target.sums, target.weights, centered=False)
    return columns, target, settings, sums


@loop_over("criterion", [INFORMATION, GINI, SQUARES])
@loop_over(
    "values",
    [{}, {"min_rows": 3}, {"min_weight": 4.0}, {"min_split": 6}, {"side_share": 0.2}],
)
def test_every_split_of_a_plain_tree_is_the_best_one(criterion, values):
    for seed in range(12):
        columns, target, settings, sums = plain_case(seed, criterion, **values)
        tree = grow(columns, target, settings, seed=seed)
        for node in range(len(tree.left)):
            rows = tree.rows(node)
            here = naive_split.Sums(sums.statistics[:, rows], sums.weights[rows])
            if criterion == SQUARES:
                here = naive_split.of_targets(here.statistics, here.weights, centered=True)
            expected = max(
                naive_split.best(x, here, settings, tests=naive_split.thresholds(x))[0]
                for x in columns[:, rows]
            )
            pure = len(np.unique(target.codes[rows])) == 1 if len(target.codes) else len(rows) == 1
            if tree.left[node] >= 0:
                assert tree.gain[node] == pytest.approx(expected, rel=1e-4, abs=1e-4)
            else:
                too_small = len(rows) < settings["min_split"]
                assert pure or too_small or expected == -np.inf


def test_a_node_is_a_leaf_where_no_gain_pays_for_its_threshold():
    n_splits = n_unpaid = 0
    for seed in range(12):
        columns, target, settings, sums = plain_case(seed, INFORMATION, cut_cost=1)
        tree = grow(columns, target, settings, seed=seed)
        for node in range(len(tree.left)):
            rows = tree.rows(node)
            here = naive_split.Sums(sums.statistics[:, rows], sums.weights[rows])
            best = max(
                naive_split.best(x, here, settings, tests=naive_split.thresholds(x))[0]
                for x in columns[:, rows]
            )
            assert (tree.left[node] >= 0) == (best > 0)
            n_splits += best > 0
            n_unpaid += best <= 0 and len(np.unique(target.codes[rows])) > 1
            if best > 0:  # the gain of a node is that of its rows, before the cost
                paid = tree.gain[node] - best
                assert -1e-4 <= paid <= np.log2(len(rows)) + 1e-4
    assert n_splits > 3
    assert n_unpaid > 3


def test_a_node_is_a_leaf_where_no_split_gains_enough_over_chance():
    n_splits = n_by_chance = 0
    for seed in range(12):
        columns, target, settings, sums = plain_case(seed, SQUARES, f_to_enter=4.0)
        tree = grow(columns, target, settings, seed=seed)
        for node in range(len(tree.left)):
            rows = tree.rows(node)
            if len(rows) == 1:
                continue
            here = naive_split.of_targets(
                sums.statistics[:, rows], sums.weights[rows], centered=True
            )
            best = max(
                naive_split.best(x, here, settings, tests=naive_split.thresholds(x))[0]
                for x in columns[:, rows]
            )
            by_chance = (here.statistics[0] ** 2 / here.weights).mean()
            assert (tree.left[node] >= 0) == (best >= 4.0 * by_chance)
            n_splits += tree.left[node] >= 0
            n_by_chance += tree.left[node] < 0
    assert n_splits > 3
    assert n_by_chance > 3


@pytest.mark.parametrize(
    "criterion", [INFORMATION, NORMALIZED, RATIO, GINI, KEARNS_MANSOUR, SQUARES]
)
def test_a_plain_tree_equals_naive_cart(criterion):
    compared = 0
    for seed in range(25):
        columns, target, settings, sums = plain_case(seed, criterion, max_depth=2)
        expected = naive.Cart(columns, sums, settings, centered=criterion == SQUARES)
        expected.grow(np.arange(columns.shape[1]))
        if expected.tied:
            continue
        compared += 1
        tree = grow(columns, target, settings, seed=seed)
        actual = {frozenset(tree.rows(leaf).tolist()) for leaf in tree.leaves}
        assert actual == {frozenset(rows.tolist()) for rows in expected.leaves}
        np.testing.assert_allclose(
            np.sort(tree.gain[tree.inner]), np.sort(expected.gains), rtol=1e-4, atol=1e-4
        )
    assert compared >= 8


def test_full_trees_separate_all_distinct_rows():
    columns = np.random.default_rng(0).normal(size=(3, 500)).astype(np.float32)
    target = class_target(np.random.default_rng(1).integers(0, 4, 500))
    tree = grow(columns, target, make_settings(n_raw=1), seed=5)
    for leaf in tree.leaves:
        assert len(np.unique(target.codes[tree.rows(leaf)])) == 1


def test_best_first_growth_splits_what_gains_most():
    columns = table(2, 400)
    target = class_of(columns, 2)
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)

    def limited(max_leaves: int) -> Tree:
        settings = make_settings(n_raw=5, max_leaves=max_leaves)
        tree = grow(columns, target, settings, grammar=grammar, seed=3)
        check_tree(tree, columns, target, settings, grammar)
        return tree

    full = limited(1000)
    assert 40 < len(full.leaves) < 1000
    order = full.inner[np.argsort(full.left[full.inner])]
    waiting = {0}
    for node in order.tolist():
        assert full.gain[node] == max(full.gain[sorted(waiting)])
        waiting = waiting - {node} | {int(full.left[node]), int(full.left[node]) + 1}
    for max_leaves in (2, 10, 40):
        small = limited(max_leaves)
        np.testing.assert_array_equal(np.sort(small.inner), np.sort(order[: max_leaves - 1]))
        np.testing.assert_array_equal(small.gain[small.inner], full.gain[small.inner])


@loop_over("seed", [11**15, 7**20, 5**26, 3**39])
@loop_over("drawn", [0, 1])
@loop_over("limit", ["min_rows", "min_weight"])
def test_halving_asks_of_a_sample_only_its_share_of_a_side(limit, drawn, seed):
    """A fifth of the rows is enough for a side: the samples' rounds must not forbid it."""
    rng = np.random.default_rng(0)
    n = 3000
    columns = rng.normal(size=(4, n)).astype(np.float32)
    columns[0] = np.arange(n) % 5 == 0
    target = class_target((columns[0] > 0) ^ (rng.random(n) < 0.05))
    gains = [
        grow(
            columns,
            target,
            make_settings(
                budget=60,
                strategy=1,
                sample=sample,
                random_threshold=drawn,
                max_depth=1,
                **{limit: 300},
            ),
            seed=seed,
        ).gain[0]
        for sample in (0, 256)
    ]
    assert gains[1] == pytest.approx(gains[0], rel=0.05)


def test_category_columns_are_split_by_level():
    columns = np.array([[0, 1, 2, 3] * 10], np.float32)
    target = class_target(columns[0] == 2)
    grammar = make_grammar([Category], (), n_levels=4)
    tree = grow(columns, target, make_settings(n_raw=1), grammar=grammar)
    assert tree.left.tolist() == [1, -1, -1]
    assert (tree.is_level[0], tree.threshold[0]) == (1, 2.0)
    assert tree.size.tolist() == [40, 10, 30]


def test_a_candidate_compared_by_few_thresholds_ends_with_one_of_many():
    finer = 0
    for seed in range(10):
        columns = np.random.default_rng(seed).normal(size=(1, 200)).astype(np.float32)
        target = class_target(columns[0] + np.random.default_rng(seed + 50).normal(size=200) > 0)
        ways = ({"budget": 1, "strategy": 1}, {"budget": 1, "strategy": 1, "many_thresholds": 1},
                {"n_raw": 1}, {"budget": 1, "strategy": 1, "n_raw": 1})  # fmt: skip
        gains = []
        for way in ways:
            settings, grammar = make_settings(max_depth=1, **way), make_grammar([0], ())
            gains.append(grow(columns, target, settings, grammar=grammar, seed=seed).gain[0])
        few, many, raw, both = gains
        assert min(few, both, many) >= raw * (1 - 1e-5)  # the bins are tried in any case
        finer += many > raw * (1 + 1e-5)
    assert finer >= 5


def test_splits_must_gain_enough():
    columns = table(4, 300)
    target = class_of(columns, 4)
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)
    for min_gain in (1.0, 10.0, 1e6):
        tree = grow(columns, target, make_settings(n_raw=5, min_gain=min_gain), grammar=grammar)
        assert (tree.gain[tree.inner] >= min_gain * (1 - 1e-3)).all()
        assert (len(tree.left) == 1) == (min_gain == 1e6)


def test_strict_trees_split_only_for_a_gain():
    """Of an exclusive or, no first split gains anything, but a second one does."""
    columns = np.array([[0, 0, 1, 1] * 10, [0, 1, 0, 1] * 10], np.float32)
    target = class_target([0, 1, 1, 0] * 10)
    sizes = [
        grow(columns, target, make_settings(n_raw=2, strict=strict)).size.tolist()
        for strict in (0, 1)
    ]
    assert sizes == [[40, 20, 20, 10, 10, 10, 10], [40]]


def test_a_raised_flag_leaves_the_root_a_leaf():
    columns = table(5, 100)
    tree = grow(columns, class_of(columns, 5), make_settings(n_raw=5), stop=np.ones(1, np.int64),
                grammar=make_grammar(DOMAINS, EXACT, n_levels=4))  # fmt: skip
    assert tree.left.tolist() == [-1]
    check_leaves(tree)


def test_a_flag_raised_while_growing_ends_it_soon():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(5, 30_000)).astype(np.float32)
    target = class_target(rng.integers(0, 2, 30_000))
    # The whole tree takes seconds, so that it is not grown when the flag is raised late.
    settings = make_settings(budget=30_000, strategy=1)
    grammar = make_grammar([0] * 5)
    stop = np.zeros(1, np.int64)
    found: list[Tree] = []
    small = make_settings(budget=10, strategy=1)
    grow(columns[:, :50], class_target(target.codes[:50]), small, grammar=grammar)  # compiled
    worker = threading.Thread(
        target=lambda: found.append(grow(columns, target, settings, grammar=grammar, stop=stop))
    )
    worker.start()
    time.sleep(0.2)
    stop[0] = 1
    worker.join(timeout=60)
    assert not worker.is_alive()
    (tree,) = found
    assert max(len(np.unique(target.codes[tree.rows(leaf)])) for leaf in tree.leaves) == 2
    assert len(tree.left) < 5000
    check_leaves(tree)
    np.testing.assert_array_equal(leaf_of_rows(tree, columns), leaf_of_grown_rows(tree))
