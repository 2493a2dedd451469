"""The same seed gives the same learner, whatever the threads and the form of the input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.cases import loop_over
from tests.constructive.learners import (
    check_same,
    every_ensemble,
    every_learner,
    make,
    problem,
    product_target,
    soft,
    table,
)

SEARCHES = ["random", "step", "look_ahead", None]
every_search = pytest.mark.parametrize("search", SEARCHES)


@every_ensemble
@loop_over("search", ["random", None])
def test_any_number_of_threads(name, search):
    X, y = problem(name)
    Z = table(5000, seed=1)  # enough rows for prediction in threads
    one, two, four = (
        make(name, search=search, n_estimators=22, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 4)
    )
    check_same(one, two, Z)
    check_same(one, four, Z)


@pytest.mark.parametrize("loss", ["log_loss", "adaboost_mh"])
def test_any_number_of_threads_with_three_classes(loss):
    X = table()
    y = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])
    settings = {"loss": loss, "subsample": 0.7, "early_stopping": True}
    one, four = (
        make("BoostingClassifier", n_jobs=n_jobs, **settings).fit(X, y) for n_jobs in (1, 4)
    )
    check_same(one, four, X)


@every_learner
@every_search
def test_same_seed_same_learner(name, search):
    X, y = problem(name)
    check_same(make(name, search=search).fit(X, y), make(name, search=search).fit(X, y), X)


@every_learner
def test_refitting_starts_anew(name):
    X, y = problem(name)
    other, target = problem(name, seed=5)
    again = make(name).fit(other[:, :3], target).fit(X, y)
    check_same(make(name).fit(X, y), again, X)


@every_learner
def test_other_seeds_differ(name):
    X, y = problem(name)
    Z = table(seed=1)
    one, other = (make(name, random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(soft(one, Z), soft(other, Z))


@every_learner
def test_random_state_objects(name):
    X, y = problem(name)
    one, other = (make(name, random_state=np.random.RandomState(7)).fit(X, y) for _ in range(2))
    check_same(one, other, X)


def forms(X: np.ndarray) -> dict[str, object]:
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "float32": X.astype(np.float32),
        "float32 by columns": np.asfortranarray(X, dtype=np.float32),
        "by columns": np.asfortranarray(X),
        "not contiguous": wide[::2, ::2],
        "backwards": X[::-1].copy()[::-1],
        "read-only": frozen,
        "list": X.tolist(),
        "big-endian": X.astype(">f8"),
        "pandas": pd.DataFrame(X),
        "pandas float32": pd.DataFrame(X.astype(np.float32)),
        "named pandas": pd.DataFrame(X, columns=list("abcd")),
        "polars": pl.DataFrame(X, schema=list("abcd")),
        "nullable pandas": pd.DataFrame(X, columns=list("abcd")).astype("Float64"),
    }


@every_learner
def test_any_form_of_the_same_numbers(name):
    X, y = problem(name)
    X[::7, 2] = np.nan
    expected = make(name).fit(X, y)
    for form in forms(X).values():
        check_same(expected, make(name).fit(form, y), X, form)


@every_learner
def test_any_form_of_the_same_integers(name):
    X = np.random.default_rng(0).integers(-9, 10, (120, 4))
    y = product_target(name, X)
    expected = make(name).fit(X.astype(np.float64), y)
    for kind in (np.int64, np.int32, np.int8, np.float32, np.float16):
        check_same(expected, make(name).fit(X.astype(kind), y), X)


@every_learner
def test_input_is_left_alone(name):
    X, y = problem(name)
    X = np.asfortranarray(X, dtype=np.float32)
    X[::5, 1] = np.nan
    weights = np.linspace(0.5, 2, len(X))
    kept = X.copy(), y.copy(), weights.copy()
    model = make(name).fit(X, y, sample_weight=weights)
    model.predict(X)
    X64 = np.ascontiguousarray(X, np.float64)
    model.transform(X64)
    model.predict(X64)
    for now, before in zip((X, y, weights), kept, strict=True):
        np.testing.assert_array_equal(now, before)
    np.testing.assert_array_equal(X64, kept[0])


@every_learner
def test_one_row_is_as_good_as_many(name):
    X, y = problem(name)
    X[::5, 1] = np.nan
    model = make(name).fit(X, y)
    for method in ("predict", "transform"):
        batch = getattr(model, method)(X)
        single = np.concatenate([getattr(model, method)(X[k : k + 1]) for k in range(len(X))])
        np.testing.assert_array_equal(single, batch)
