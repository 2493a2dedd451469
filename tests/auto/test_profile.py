"""Profiles of columns: counts add up, overlaps are rank correlations, everything is JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.cases import loop_over

from featurewright.auto.profile import MAX_CLASSES, N_BINS, OTHER, profile_columns


@pytest.fixture
def random():
    return np.random.RandomState(0)


def test_every_row_is_counted_once(random):
    X, y = random.normal(size=(300, 3)), random.randint(0, 3, size=300)
    X[0, 0], X[1, 0] = 1e30, -1e30
    profile = profile_columns(X, ["a", "b", "c"], y, "classification", class_labels=["x", "y", "z"])
    assert profile["classes"] == ["x", "y", "z"]
    for column in profile["columns"]:
        assert np.sum(column["counts"], axis=1).tolist() == np.bincount(y).tolist()
        assert len(column["edges"]) == N_BINS + 1
    json.dumps(profile, allow_nan=False)


def test_rare_classes_are_counted_together(random):
    y = np.repeat(np.arange(30), np.arange(30, 0, -1))
    profile = profile_columns(random.normal(size=(len(y), 1)), ["a"], y, "classification")
    assert profile["classes"] == [str(label) for label in range(MAX_CLASSES - 1)] + [OTHER]
    assert np.sum(profile["columns"][0]["counts"]) == len(y)


def test_regression_has_means_of_the_target(random):
    x = random.normal(size=500)
    column = profile_columns(x[:, None], ["x"], 2 * x + 1, "regression")["columns"][0]
    assert column["means"] == sorted(column["means"])
    assert np.average(column["means"], weights=column["counts"][0]) == pytest.approx(
        np.mean(2 * x + 1)
    )


def test_multilabel_counts_the_rows_of_each_label():
    profile = profile_columns(
        [[0.0], [1.0], [1.0]],
        ["a"],
        [[1, 0], [1, 1], [0, 0]],
        "multilabel",
        class_labels=["p", "q"],
    )
    assert profile["classes"] == ["p", "q"]
    assert profile["columns"][0]["counts"] == [[1, 1], [0, 1]]


def test_overlap_is_the_rank_correlation(random):
    a = random.normal(size=200)
    X = np.column_stack([a, np.exp(a), -a + random.normal(size=200), random.normal(size=200)])
    names = ["a", "grows", "falls", "noise"]
    overlap = profile_columns(X, names, a, "regression")["columns"][0]["overlap"]
    assert [entry["name"] for entry in overlap] == ["grows", "falls", "noise"]
    for entry in overlap:
        expected = spearmanr(a, X[:, names.index(entry["name"])]).statistic
        assert entry["rho"] == pytest.approx(expected)


@loop_over("task", ["classification", "regression"])
@loop_over(
    "column",
    [[np.nan, np.nan], [np.inf, 1.0], [3.0, 3.0], [1e308, -1e308], [5e-324, 0.0]],
)
def test_hostile_columns(column, task):
    profile = profile_columns(np.array(column)[:, None], ["a"], [0, 1], task)
    assert json.loads(json.dumps(profile, allow_nan=False)) == profile
    assert [found["name"] for found in profile["columns"]] == ["a"]


def test_no_columns_and_one_row():
    assert profile_columns(np.empty((3, 0)), [], [0, 1, 0], "classification")["columns"] == []
    assert profile_columns([[1.0]], ["a"], [0], "classification")["columns"][0]["overlap"] == []


def test_large_tables_are_sampled(random):
    X, y = random.normal(size=(500, 2)), random.normal(size=500)
    first = profile_columns(X, ["a", "b"], y, "regression", max_rows=100)
    assert first["rows"] == 100
    assert first == profile_columns(X, ["a", "b"], y, "regression", max_rows=100)
