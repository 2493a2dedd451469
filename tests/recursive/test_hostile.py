"""Odd tables and wrong parameters: finite results or one clear sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.cases import loop_over

from featurewright import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer

RANDOM = np.random.RandomState(0)
ROWS = RANDOM.normal(size=(40, 5))
Y = (ROWS[:, 0] > 0).astype(int)


def tables():
    big, tiny, mixed = ROWS * 1e30, ROWS * 1e-30, ROWS * np.array([1e30, 1e-30, 1, 1e15, 1e-15])
    empty = np.column_stack([ROWS, np.full(40, np.nan)])
    return {
        "1e30": big,
        "1e-30": tiny,
        "mixed": mixed,
        "subnormal": ROWS * 1e-310,
        "constant": np.full((40, 3), 1e30),
        "one constant": np.column_stack([ROWS, np.full(40, 7e29)]),
        "one column": ROWS[:, :1],
        "all missing column": empty,
        "all missing": np.full((40, 2), np.nan),
        "mostly missing": np.where(RANDOM.rand(40, 5) < 0.9, np.nan, ROWS),
        "booleans": ROWS > 0,
    }


@pytest.mark.parametrize("name", tables())
@loop_over("scale", ["auto", "maxabs", "standard"])
def test_odd_tables(name, scale):
    X, n_recursions = tables()[name], "auto" if scale == "auto" else 2
    model = RecursiveSelectiveTransformer(n_recursions, scale=scale, random_state=0).fit(X, Y)
    made = model.transform(X)
    assert np.isfinite(made).all()
    assert made.shape == (40, len(model.get_feature_names_out()))
    chances = RecursiveSelectiveClassifier(n_recursions=2, scale=scale, random_state=0)
    assert np.isfinite(chances.fit(X, Y).predict_proba(X)).all()


@pytest.mark.parametrize("name", ["1e30", "1e-30", "mixed"])
def test_no_scale(name):
    X = tables()[name]
    model = RecursiveSelectiveTransformer(2, scale=None, random_state=0)
    assert np.isfinite(model.fit(X, Y).transform(X)).all()


@pytest.mark.parametrize("y", [np.full(40, 2.5), ROWS[:, 0] * 1e300, ROWS[:, 0] * 1e-300])
def test_odd_numbers_to_learn(y):
    model = RecursiveSelectiveTransformer("auto", task="regression", random_state=0).fit(ROWS, y)
    assert np.isfinite(model.transform(ROWS)).all()


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_few_rows(n_rows):
    X, y = ROWS[:n_rows], np.arange(n_rows) % 2
    model = RecursiveSelectiveClassifier(n_recursions="auto", random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(RecursiveSelectiveTransformer("auto").fit(X, y).transform(X)).all()


def test_every_row_its_own_class():
    model = RecursiveSelectiveClassifier(n_recursions=1, random_state=0).fit(ROWS, np.arange(40))
    np.testing.assert_allclose(model.predict_proba(ROWS).sum(axis=1), 1.0)


def test_five_hundred_classes():
    X = RANDOM.normal(size=(1000, 3))
    y = np.arange(1000) % 500
    made = RecursiveSelectiveTransformer(1, keep=(2,), random_state=0).fit_transform(X, y)
    assert made.shape == (1000, 1000)
    assert np.isfinite(made).all()


def test_one_class_and_one_row_are_refused():
    for X, y in ((ROWS, np.zeros(40, int)), (ROWS[:1], [1])):
        with pytest.raises(ValueError, match="one class"):
            RecursiveSelectiveClassifier().fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        RecursiveSelectiveTransformer().fit(ROWS, Y, sample_weight=(Y == 1).astype(float))


@pytest.mark.filterwarnings("ignore:Column .id. has 1,001 different labels")
def test_infinity_and_too_many_labels_are_refused():
    bad = ROWS.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        RecursiveSelectiveTransformer().fit(bad, Y)
    table = pd.DataFrame({"id": [f"row {k}" for k in range(1001)]})
    with pytest.raises(ValueError, match="'id' has 1001 different labels"):
        RecursiveSelectiveTransformer().fit(table, np.arange(1001) % 2)


def test_parameters_that_the_table_does_not_allow_get_one_sentence():
    for name, value in (("keep", (6,)), ("block", "no such class")):
        with pytest.raises(ValueError, match=name) as caught:
            RecursiveSelectiveTransformer(**{name: value}).fit(ROWS, Y)
        text = str(caught.value)
        assert "\n" not in text
        assert text.endswith(".")


def test_targets_of_several_columns_are_refused():
    for y in (np.column_stack([Y, 1 - Y]), ROWS[:, :2]):
        with pytest.raises(ValueError, match="2 columns"):
            RecursiveSelectiveTransformer().fit(ROWS, y)


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, *"b" * 38],
        np.where(np.arange(40) == 3, np.nan, ROWS[:, 0]),
        pd.Series([0, None, *[1] * 38], dtype="Int64"),
    ],
)
@pytest.mark.parametrize("make", [RecursiveSelectiveTransformer, RecursiveSelectiveClassifier])
def test_missing_targets_are_refused(make, y):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        make().fit(ROWS, y)


def test_wide_tables_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("featurewright.recursive.steps._MAX_BYTES", 2**21)
    X = sparse.random(40, 2_000, density=0.01, format="csr", random_state=0)
    for params in ({}, {"n_recursions": 1}, {"n_recursions": 0}, {"keep": (50,)}):
        with pytest.raises(ValueError, match=r"2000 columns.* need .* GB.*keep=\(50,\)") as caught:
            RecursiveSelectiveTransformer(**params).fit(X, Y)
        assert "\n" not in str(caught.value)
    made = RecursiveSelectiveTransformer(1, keep=(50,), random_state=0).fit_transform(X, Y)
    assert made.shape == (40, 50)


def test_fewer_recursions_where_columns_or_sizes_run_out():
    assert RecursiveSelectiveTransformer(50, random_state=0).fit(ROWS, Y).n_recursions_ == 2
    short = RecursiveSelectiveTransformer(2, keep=(3,), random_state=0).fit(ROWS, Y)
    assert short.n_recursions_ == 1


def test_one_class_is_shown_plainly():
    with pytest.raises(ValueError, match=r"one class only, 1\.0, in"):
        RecursiveSelectiveClassifier().fit(ROWS, np.ones(40))


def test_rows_to_transform_with_infinity_or_an_overflowing_number_are_refused():
    # Weights of unit length are too small for the last number to overflow.
    model = RecursiveSelectiveTransformer(1, normalize=None, random_state=0).fit(ROWS, Y)
    for bad, word in ((np.inf, "infinity"), (-np.inf, "infinity"), (1.7e308, "e\\+308")):
        rows = ROWS.copy()
        rows[3] = bad
        rows[4, 0] = np.nan
        with pytest.raises(ValueError, match=word):
            model.transform(rows)
