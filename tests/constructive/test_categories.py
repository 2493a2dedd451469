"""Categories, booleans and missing values."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.cases import case, loop_over
from tests.constructive.learners import (
    CLASSES,
    bits_target,
    check_outputs,
    check_same,
    every_learner,
    make,
    make_loose,
    soft,
    table,
)

from featurewright.engine.forest import join
from featurewright.engine.level_sets import is_member

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
STUMP = {"max_depth": 1, "min_samples_leaf": 1, "n_estimators": 30, "budget": "20n"}
SINGLE = ["TreeClassifier", "TreeRegressor", "BoostingClassifier", "BoostingRegressor"]
# Tables are read in one way whoever learns from them, so each learner gets frames of one kind.
every_learner_and_frame = pytest.mark.parametrize(
    ("name", "kind"), list(zip(CLASSES, cycle(FRAMES), strict=False))
)


def labels(n_levels: int, n_rows: int, seed: int = 0) -> np.ndarray:
    codes = np.random.default_rng(seed).permutation(np.arange(n_rows) % n_levels)
    return np.array([f"level {code}" for code in codes], dtype=object)


def hits(model, X, y) -> float:
    """Return the share of rows predicted right, numbers being rounded."""
    predicted = model.predict(X)
    return float(
        np.mean(predicted == y if predicted.dtype.kind in "OU" else abs(predicted - y) < 0.5)
    )


@every_learner_and_frame
def test_one_level_among_many(name, kind):
    for n_levels in (5, 300):
        chosen = labels(n_levels, 1500)
        X = FRAMES[kind]({"noise": table(1500, 1)[:, 0], "kind": chosen})
        y = bits_target(name, chosen == "level 3")
        for search in ("random", None):
            model = make_loose(name, search=search, min_samples_leaf=1, n_estimators=40).fit(X, y)
            with case(n_levels, search):
                assert hits(model, X, y) == 1.0


@pytest.mark.parametrize("name", ["TreeClassifier", "TreeRegressor"])
@loop_over("n_levels", [5, 300])
@loop_over("flipped", [False, True])
def test_one_test_finds_the_level(name, n_levels, flipped):
    chosen = labels(n_levels, 1500)
    X = pd.DataFrame({"noise": table(1500, 1)[:, 0], "kind": chosen})
    y = bits_target(name, (chosen == "level 3") != flipped)
    model = make(name, search=None, max_depth=1).fit(X, y)
    assert hits(model, X, y) == 1.0
    assert model.forest_.n_leaves == 2


@every_learner_and_frame
def test_is_tests_are_features(name, kind):
    colour, noise = labels(4, 300), table(300, 1)[:, 0]
    X = FRAMES[kind]({"noise": noise, "colour": colour})
    y = bits_target(name, (colour == "level 2") & (noise > 0))
    model = make(name, operators=("is", "mul"), budget=60).fit(X, y)
    made = {feature.name for feature in model.features_}
    assert "colour is 'level 2'" in " ".join(made)
    check_outputs(model, X)
    column = [feature.name for feature in model.features_]
    if "colour is 'level 2'" in column:
        k = column.index("colour is 'level 2'")
        np.testing.assert_array_equal(np.asarray(model.transform(X))[:, k], colour == "level 2")


OPERATORS = {
    "equal": lambda d: d["a"] == d["b"],
    "xor": lambda d: d["p"] ^ d["q"],
    "and": lambda d: d["p"] & d["q"],
    "or": lambda d: d["p"] | d["q"],
    "less": lambda d: d["u"] < d["v"],
    "greater_equal": lambda d: d["u"] >= d["v"],
}


@every_learner_and_frame
def test_operators_on_their_own_domains(name, kind):
    rng = np.random.default_rng(0)
    data = {
        "a": labels(4, 400, 1),
        "b": labels(4, 400, 2),
        "p": rng.random(400) < 0.5,
        "q": rng.random(400) < 0.5,
        "u": rng.normal(size=400),
        "v": rng.normal(size=400),
    }
    X = FRAMES[kind](data)
    for operator, truth in OPERATORS.items():
        y = bits_target(name, truth(data))
        model = make_loose(name, operators=(operator,), **STUMP, learning_rate=0.5).fit(X, y)
        with case(operator):
            assert hits(model, X, y) > (0.95 if name.startswith("ExtraTrees") else 0.999)
            check_outputs(model, X)


@pytest.mark.parametrize("first", [["x", "y", "z"], ["q", "z", "y"]])
def test_equal_compares_labels_not_codes(first):
    a = np.array(first * 20, dtype=object)
    b = np.array(["z"] * 60, dtype=object)
    X = pd.DataFrame({"a": a, "b": b})
    model = make("TreeClassifier", operators=("equal",), max_depth=1, budget=50).fit(X, a == b)
    assert model.score(X, a == b) == 1.0


@every_learner_and_frame
def test_unseen_labels_are_missing(name, kind):
    colour = labels(3, 200)
    colour[::9] = None
    X = FRAMES[kind]({"colour": colour, "x": table(200, 1)[:, 0]})
    y = bits_target(name, colour == "level 1")
    model = make(name).fit(X, y)
    new = FRAMES[kind]({"colour": ["purple", "level 9", ""], "x": [0.1, -0.2, 0.3]})
    gone = FRAMES[kind]({"colour": [None, None, None], "x": [0.1, -0.2, 0.3]})
    np.testing.assert_array_equal(soft(model, new), soft(model, gone))
    np.testing.assert_array_equal(model.transform(new), model.transform(gone))
    check_outputs(model, new)


@every_learner
def test_kinds_of_label_columns_agree(name):
    text = labels(5, 150)
    y = bits_target(name, (text == "level 1") | (text == "level 3"))
    x = table(150, 1)[:, 0]
    kinds = [
        pd.DataFrame({"c": text, "x": x}),
        pd.DataFrame({"c": pd.Categorical(text), "x": x}),
        pd.DataFrame({"c": pd.Series(text).astype("string"), "x": x}),
        pl.DataFrame({"c": text.tolist(), "x": x}),
        pl.DataFrame({"c": text.tolist(), "x": x}).with_columns(pl.col("c").cast(pl.Categorical)),
    ]
    expected = make(name).fit(kinds[0], y)
    for other in kinds[1:]:
        check_same(expected, make(name).fit(other, y), kinds[0], other)


@every_learner
def test_booleans_are_zero_and_one(name):
    bits = np.random.default_rng(0).random((150, 3)) < 0.5
    y = bits_target(name, bits[:, 0] ^ bits[:, 1])
    frame = make(name).fit(pd.DataFrame(bits, columns=list("abc")), y)
    array = make(name).fit(bits, y)
    number = make(name).fit(bits.astype(float), y)
    expected = soft(frame, pd.DataFrame(bits, columns=list("abc")))
    np.testing.assert_array_equal(soft(array, bits), expected)
    np.testing.assert_array_equal(soft(number, bits.astype(float)), expected)


@every_learner
def test_one_column_of_labels_only(name):
    X = pd.DataFrame({"c": labels(3, 90)})
    y = bits_target(name, X["c"] == "level 0")
    model = make_loose(name, min_samples_leaf=1, n_estimators=40).fit(X, y)
    check_outputs(model, X)
    assert hits(model, X, y) == 1.0


@every_learner
def test_category_of_one_label(name):
    X = pd.DataFrame({"c": ["only"] * 50, "x": table(50, 1)[:, 0]})
    y = bits_target(name, X["x"] > 0)
    model = make(name).fit(X, y)
    check_outputs(model, X)
    assert model.score(X, y) > 0.6  # by the other column


# Missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
@loop_over("flipped", [False, True])
@loop_over("search", ["random", None])
@loop_over("present", ["varied", "constant"])
def test_being_missing_is_informative(name, flipped, search, present):
    x = table(300, 1)[:, 0] if present == "varied" else np.ones(300)
    gone = np.random.default_rng(3).random(300) < 0.4
    x[gone] = np.nan
    X = np.column_stack([x, table(300, 1, seed=4)])
    y = bits_target(name, gone != flipped)
    shape = {"max_depth": 1, "learning_rate": 0.5, "max_features": "all", "n_estimators": 20}
    model = make_loose(name, search=search, **shape).fit(X, y)
    assert hits(model, X, y) == 1.0


@every_learner
def test_missing_goes_with_the_rows_that_behave_like_it(name):
    x = table(400, 1)[:, 0]
    low = x < 0
    gone = np.random.default_rng(3).random(400) < 0.3
    x[gone] = np.nan
    for missing_is_low in (False, True):
        y = bits_target(name, np.where(gone, missing_is_low, low))
        shape = {"max_depth": 1, "learning_rate": 0.5, "n_estimators": 30}
        model = make_loose(name, search=None, **shape).fit(x[:, None], y)
        assert hits(model, x[:, None], y) > (0.8 if name.startswith("ExtraTrees") else 0.99)


# Sets of levels --------------------------------------------------------------------------------


def many_levels(n_levels: int, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with many levels, each with an effect of its own, and the effects."""
    chosen = labels(n_levels, n_rows)
    effect = np.random.default_rng(1).normal(size=n_levels)
    number = np.array([int(label.split()[1]) for label in chosen])
    return pd.DataFrame({"kind": chosen, "x": table(n_rows, 1)[:, 0]}), effect[number]


@pytest.mark.parametrize("name", ["Boosting", "Forest", "Tree"])
def test_many_levels_are_split_into_sets(name):
    X, effect = many_levels(300, 6000)
    half = np.arange(6000) < 3000
    for kind, y in (("Classifier", effect > 0), ("Regressor", effect)):
        model = make(f"{name}{kind}", search=None, max_features="all", budget="10n")
        model.set_params(n_estimators=60) if name == "Boosting" else None
        model.fit(X[half], y[half])
        with case(kind):
            assert model.forest_.tests_set.any()
            assert model.score(X[~half], y[~half]) > 0.9


def test_sets_survive_slicing_and_joining():
    X, effect = many_levels(70, 900)
    X.loc[::11, "kind"] = None
    model = make("BoostingRegressor", n_estimators=12).fit(X, effect)
    forest, matrix = model.forest_, model._read_rows(X)
    users = model._construction.compiled.functions(np.float32)
    assert forest.tests_set.any()
    parts = [forest.trees(k, k + 1) for k in range(forest.n_trees)]
    again = join(parts)
    np.testing.assert_array_equal(again.threshold, forest.threshold)
    np.testing.assert_array_equal(again.level_sets, forest.level_sets)
    total = sum(part.sum_values(matrix, users) for part in parts)
    np.testing.assert_allclose(total, forest.sum_values(matrix, users), rtol=1e-12)
    node = int(np.flatnonzero(forest.tests_set)[0])
    expected = [k for k in range(70) if is_member(forest.level_sets, 0, np.float32(k))]
    assert forest.levels_in_set(node).tolist() == expected
