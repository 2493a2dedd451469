"""Very wide tables, and targets without values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, TimeSeriesSplit

from featurewright import AutoFeatures
from featurewright.auto import screening
from featurewright.auto.screening import best_columns, screening_rows, without_rows
from featurewright.tables import EncodedTable, encode, learn_schema

SEARCH = {"methods": "batch", "effort": "quick", "cv": 2, "random_state": 0}


def test_best_columns_of_all_kinds():
    random = np.random.default_rng(0)
    n_rows = 300
    frame = pl.DataFrame(
        {
            **{f"noise {k}": random.normal(size=n_rows) for k in range(30)},
            "level": random.choice(["a", "b", "c"], n_rows),
            "names": [f"row {k}" for k in range(n_rows)],
            "line": random.normal(size=n_rows),
            "bend": random.normal(size=n_rows),
        }
    )
    frame = frame.with_columns(line=pl.when(pl.col("line") > 1.2).then(None).otherwise("line"))
    line, bend = frame["line"].fill_null(0.0).to_numpy(), frame["bend"].to_numpy()
    y = line + bend**2 + 2.0 * (frame["level"] == "a").to_numpy()
    schema = learn_schema(frame)
    table = EncodedTable(encode(schema, frame, np.float64), schema)
    kept = best_columns(table, y[:, np.newaxis], frame.width, 3)
    assert [frame.columns[at] for at in kept] == ["level", "line", "bend"]


def test_rows_that_compare_columns_are_not_tested_on():
    rows = np.zeros((300, 1))
    folds = list(KFold(3, shuffle=True, random_state=0).split(rows))
    chosen = screening_rows(folds, 300, None, seed=0)
    assert len(chosen) == 100
    for (train, test), (same, left) in zip(folds, without_rows(folds, chosen), strict=True):
        assert same is train
        assert set(left) == set(test) - set(chosen)
    # Folds in time: the first rows, which none tests on.
    in_time = list(TimeSeriesSplit(4).split(rows))
    chosen = screening_rows(in_time, 300, None, seed=0)
    assert chosen.tolist() == list(range(60))
    # Whole groups.
    groups = np.arange(300) // 7
    chosen = screening_rows(folds, 300, groups, seed=0)
    assert not set(groups[chosen]) & set(np.delete(groups, chosen))
    assert 50 < len(chosen) <= 100
    assert without_rows([(np.arange(5), np.array([1, 2]))], np.array([1, 2])) == []


@pytest.mark.parametrize("frame", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_wide_tables_are_screened(monkeypatch, caplog, frame):
    monkeypatch.setattr(screening, "MAX_COLUMNS", 5)
    monkeypatch.setattr("featurewright.auto.features.MAX_COLUMNS", 5)
    random = np.random.default_rng(0)
    X = random.normal(size=(240, 40))
    y = X[:, 3] + X[:, 17] > 0
    names = [f"c{k}" for k in range(40)]
    table = pd.DataFrame(X, columns=names) if frame else X
    auto = AutoFeatures(**SEARCH).fit(table, y)
    assert "The table has 40 columns: the 5 that say most" in caplog.text
    kept = set(range(40)) - {int(name[1:]) for name in auto.left_out_}
    assert len(kept) == 5
    assert {3, 17} <= kept
    assert auto.transform(table).shape[1] >= 5
    np.testing.assert_array_equal(auto.transform(table[:1]), auto.transform(table)[:1])
    assert "and 15 more" in auto.summary()


def test_nothing_is_learned_from_noise_in_very_wide_tables(monkeypatch):
    """Columns chosen by rows that are tested on would seem to predict noise."""
    monkeypatch.setattr(screening, "MAX_COLUMNS", 10)
    monkeypatch.setattr("featurewright.auto.features.MAX_COLUMNS", 10)
    random = np.random.default_rng(1)
    X, y = random.normal(size=(150, 3000)), random.normal(size=150) > 0
    auto = AutoFeatures(**{**SEARCH, "cv": 5}).fit(X, y)
    assert auto.baseline_score_ < 0.62


def test_rows_without_a_target_are_left_out(caplog):
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = pd.Series(X[:, 0] * X[:, 1], name="product")
    known = np.arange(120) % 10 != 0
    some = AutoFeatures(**SEARCH).fit(X, y.where(known))
    assert "Rows without a target that were left out: 12." in caplog.text
    all_known = AutoFeatures(**SEARCH).fit(X[known], y[known])
    assert [f.name for f in some.features_] == [f.name for f in all_known.features_]
    assert some.gain_ == all_known.gain_
    labels = [None if gone else str(v > 0) for v, gone in zip(y, ~known, strict=True)]
    assert list(AutoFeatures(**SEARCH).fit(X, labels).classes_) == ["False", "True"]
    np.testing.assert_array_equal(
        AutoFeatures(**SEARCH).fit_transform(X, y.where(known)), some.transform(X)
    )


def test_targets_that_say_nothing():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for y, words in (
        (np.full(40, np.nan), "The target is missing in all rows"),
        (
            pd.Series([None] * 40, name="churn", dtype=object),
            "The target 'churn' is missing in all",
        ),
        (np.ones(40), "The target is 1.0 in all 40 rows, but two or more"),
        (pl.Series("churn", ["no"] * 40), "The target 'churn' is 'no' in all 40 rows"),
        (np.ones((40, 2)), "The target is 1.0 in all 40 rows"),
        (["x" * 2000, "y"] * 20, "A class of the target has 2,000 characters"),
    ):
        with pytest.raises(ValueError, match=words):
            AutoFeatures(**SEARCH).fit(X, y)
    listed = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    y = np.where(np.arange(40) == 3, np.nan, X[:, 0])
    with pytest.raises(ValueError, match="missing in 1 rows, but cv lists rows by number"):
        AutoFeatures(**{**SEARCH, "cv": listed}).fit(X, y)


def test_names_and_labels_have_a_limit():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "b": random.normal(size=60)})
    y = frame["a"] > 0
    with pytest.raises(ValueError, match="The name of column 2 has 5,000 characters"):
        AutoFeatures(**SEARCH).fit(frame.rename(columns={"b": "b" * 5000}), y)
    frame["c"] = ["x" * 5000, "y"] * 30
    auto = AutoFeatures(**SEARCH).fit(frame, y)
    assert auto.left_out_ == {"c": "has labels of more than 1,000 characters"}


def test_searches_that_try_nothing_say_so(caplog):
    X = np.random.default_rng(0).normal(size=(6, 3))
    AutoFeatures(**SEARCH).fit(X, X[:, 0])
    assert "No method could be tried (too few rows" in caplog.text
    assert "the original columns are kept." in caplog.text
