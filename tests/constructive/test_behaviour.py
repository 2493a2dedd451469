"""Strange tables and targets work, or are refused with one clear sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.cases import case, loop_over
from tests.constructive.learners import (
    CLASSIFIERS,
    bits_target,
    check_outputs,
    check_sentence,
    every_classifier,
    every_learner,
    every_regressor,
    make,
    problem,
    table,
)

FLOAT_MAX = float(np.finfo(np.float32).max)


def with_missing(share: float) -> np.ndarray:
    X = table(60, 3)
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


TABLES = {
    "one column": table(40, 1),
    "two rows": table(2, 3),
    "three rows": table(3, 3),
    "constant columns": np.full((30, 3), 7.0),
    "all zero": np.zeros((30, 3)),
    "one column constant": np.column_stack([np.ones(40), table(40, 2)]),
    "all missing": np.full((30, 3), np.nan),
    "one column missing": np.column_stack([np.full(40, np.nan), table(40, 2)]),
    "nearly all missing": with_missing(0.95),
    "half missing": with_missing(0.5),
    "1e30": table(60, 3) * 1e30,
    "1e-30": table(60, 3) * 1e-30,
    "1e30 and 1e-30": table(60, 4) * [1e30, 1e-30, 1.0, 1e30],
    "smallest float32": np.where(table(60, 3) > 0, 1e-45, -1e-45),
    "largest float32": np.where(table(60, 3) > 0, FLOAT_MAX, -FLOAT_MAX),
    "below float32": table(60, 3) * 1e-300,
    "few values": np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float),
    "many columns": table(12, 200),
}


@every_learner
def test_strange_tables_work(name):
    for kind, X in TABLES.items():
        with case(kind):
            model = make(name).fit(X, bits_target(name, np.arange(len(X)) % 2))
            check_outputs(model, X)
            check_outputs(model, X[:1])
            check_outputs(model, np.full((2, X.shape[1]), np.nan))


@every_learner
def test_strange_tables_work_with_any_search(name):
    for search in ("step", "look_ahead", None):
        for kind in ("one column", "all missing"):
            X = TABLES[kind]
            with case(search, kind):
                model = make(name, search=search).fit(X, bits_target(name, np.arange(len(X)) % 2))
                check_outputs(model, X)


@every_learner
def test_one_row(name):
    X, y = table(1, 3), bits_target(name, [True])
    if name == "BoostingClassifier":
        with pytest.raises(ValueError, match="one class only") as caught:
            make(name).fit(X, y)
        check_sentence(caught.value)
        return
    model = make(name).fit(X, y)
    check_outputs(model, X)
    assert model.predict(X)[0] == y[0]


@every_learner
def test_constant_target(name):
    X, y = table(40, 3), bits_target(name, np.ones(40))
    if name == "BoostingClassifier":
        with pytest.raises(ValueError, match="one class only"):
            make(name).fit(X, y)
        return
    model = make(name).fit(X, y)
    check_outputs(model, X)
    assert (model.predict(X) == y).all()
    assert model.features_ == ()


@every_classifier
@loop_over("search", ["random", None])
def test_500_classes(name, search):
    X = table(1000, 3)
    X[:, 0] = np.arange(1000) % 500
    y = np.arange(1000) % 500
    small = {} if name == "TreeClassifier" else {"n_estimators": 2}
    model = make(name, search=search, **small).fit(X, y)
    assert len(model.classes_) == 500
    check_outputs(model, X[:50])
    if name == "TreeClassifier":
        assert model.score(X, y) == 1.0


def test_500_classes_by_votes():
    X = table(500, 2)
    y = np.arange(500)
    model = make("BoostingClassifier", n_estimators=2, loss="adaboost_mh").fit(X, y)
    assert len(model.classes_) == 500
    check_outputs(model, X[:50])


@every_learner
@loop_over("value", [np.inf, -np.inf, 1e39, -1e300])
def test_too_large_numbers_are_refused(name, value):
    X, y = problem(name, 30)
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match="'x1' contains") as caught:
        make(name).fit(bad, y)
    check_sentence(caught.value, "x1")
    model = make(name).fit(X, y)
    for method in ("predict", "transform"):
        with pytest.raises(ValueError, match="'x1' contains"):
            getattr(model, method)(bad)


@every_learner
def test_duplicate_column_names_are_refused(name):
    X, y = problem(name, 30)
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="2 columns named 'a'") as caught:
        make(name).fit(frame, y)
    check_sentence(caught.value, "rename")


@every_regressor
@loop_over("size", [1e-300, 1e-30, 1e30, 1e150, 1e200, 1.7e308])
def test_targets_of_any_size(name, size):
    X = table(60, 3)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    model = make(name, search=None).fit(X, y * size)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert (np.sign(predicted) == y).all()


@every_regressor
def test_target_with_a_large_offset(name):
    X = table(60, 3)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    predicted = make(name, search=None).fit(X, 1e9 + y).predict(X)
    assert (np.sign(predicted - 1e9) == y).all()


@every_learner
@loop_over("what", ["no rows", "no columns", "wrong length", "three dimensions"])
def test_wrong_shapes_are_refused(name, what):
    X, y = problem(name, 30)
    bad, target = {
        "no rows": (X[:0], y[:0]),
        "no columns": (X[:, :0], y),
        "wrong length": (X, y[:-1]),
        "three dimensions": (X[:, :, None], y),
    }[what]
    with pytest.raises(ValueError, match=r".{10}"):
        make(name).fit(bad, target)


@every_learner
def test_predicting_another_table_is_refused(name):
    X, y = problem(name, 30)
    model = make(name).fit(pd.DataFrame(X, columns=list("abcd")), y)
    for names in ("abce", "abdc", "abc"):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(pd.DataFrame(X[:, : len(names)], columns=list(names)))
    with pytest.raises(ValueError, match="3 features"):
        make(name).fit(X, y).predict(X[:, :3])


@every_learner
def test_missing_target_is_refused(name):
    X, y = problem(name, 30)
    bad = y.astype(object)
    bad[4] = None
    with pytest.raises(ValueError, match="NaN"):
        make(name).fit(X, bad)


@every_learner
@loop_over("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_without_any_value(name, frame):
    data = {"a": [None] * 30, "b": list(range(30)), "c": ["x", None, "y"] * 10}
    X = frame(data)
    y = bits_target(name, np.arange(30) > 14)
    model = make(name).fit(X, y)
    check_outputs(model, X)
    if name in CLASSIFIERS and not name.startswith("Boosting"):
        assert model.score(X, y) == 1.0
