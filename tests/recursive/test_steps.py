"""The one matrix is what all recursions do in turn, and sizes are as published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from tests.cases import loop_over
from tests.naive import recursive as naive

from featurewright import RecursiveSelectiveTransformer
from featurewright.recursive.steps import (
    PROJECT,
    PROJECTIONS,
    RANKINGS,
    plan_parts,
    plan_sizes,
    rounded,
)


def scaled(X, train):
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    return (X - low) / (high - low)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n_columns=st.integers(1, 12),
    form=st.fixed_dictionaries(
        {
            "projection": st.sampled_from(PROJECTIONS),
            "project": st.sampled_from(PROJECT),
            "normalize": st.sampled_from([None, "unit", "max"]),
        }
    ),
    keep=st.one_of(st.just("published"), st.lists(st.integers(1, 12), min_size=1, max_size=4)),
)
def test_one_product_equals_the_recursions(seed, n_columns, form, keep):
    random = np.random.RandomState(seed)
    X = random.normal(size=(60, n_columns)) * random.uniform(0.01, 100, n_columns)
    y = (X[:, 0] / X[:, 0].std() + random.normal(size=60) > 0).astype(int)
    y[:2] = 0, 1
    if keep != "published":
        keep = sorted((min(size, n_columns) for size in keep), reverse=True)
    train = np.arange(40)
    y_train = y[train]
    model = RecursiveSelectiveTransformer(4, keep=keep, **form).fit(X[train], y_train)
    columns = scaled(X, train)
    (expected,) = naive.recurse(
        columns[train], [2.0 * y_train - 1], columns, plan_parts(n_columns, keep, 4), **form
    )
    actual = model.transform(X)
    assert actual.shape == expected.shape
    # Where weights of two columns are the same but for noise, another one of the two may be kept.
    assert_allclose(np.sort(actual, axis=1), np.sort(expected, axis=1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_every_class_has_its_own_projections(ranking):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:200], y[:200]
    X = X[:, X.std(axis=0) > 0]
    form = {"ranking": ranking, "normalize": "unit", "project": "first"}
    model = RecursiveSelectiveTransformer(2, keep=(40, 20), random_state=0, **form).fit(X, y)
    columns = scaled(X, np.arange(len(X)))
    blocks = np.split(model.transform(X), 3, axis=1)
    targets = [np.where(y == k, 1.0, -1.0) for k in range(3)]
    plan = plan_parts(X.shape[1], (40, 20), 2)
    expected = naive.recurse(columns, targets, columns, plan, **form)
    for block, rows in zip(blocks, expected, strict=True):
        assert_allclose(block, rows, atol=1e-2)
    assert not np.allclose(blocks[0], blocks[1], atol=1e-2)


def test_a_shared_ranking_keeps_the_same_columns_for_all_classes():
    X, y = load_digits(n_class=4, return_X_y=True)
    settings = {"n_recursions": 1, "keep": (10,), "projection": "diagonal", "random_state": 0}
    kept = {}
    for ranking in RANKINGS:
        model = RecursiveSelectiveTransformer(ranking=ranking, **settings).fit(X[:200], y[:200])
        kept[ranking] = [set(np.flatnonzero(matrix.any(axis=1))) for matrix in model.matrices_]
    assert all(columns == kept["shared"][0] for columns in kept["shared"])
    assert not all(columns == kept["class"][0] for columns in kept["class"])


def test_projecting_first_keeps_what_other_columns_say():
    X, y = load_digits(n_class=2, return_X_y=True)
    used = {
        project: np.count_nonzero(
            RecursiveSelectiveTransformer(1, keep=(5,), project=project, random_state=0)
            .fit(X, y)
            .matrices_[0]
            .any(axis=1)
        )
        for project in PROJECT
    }
    assert used["after"] == 5
    assert used["first"] > 30


@pytest.mark.parametrize(
    ("n_rows", "published"),
    [
        (37_126, [93, 80, 68, 58, 49, 41, 34]),
        (42_000, [784, 684, 597, 521, 454, 396, 345]),
        (240, [4096, 720, 509, 430, 375, 327, 285]),
        (124, [60, 51, 43, 36, 30, 25, 20]),
        (1_078, [64, 54, 46, 39, 33, 27, 22]),
        (12_000, [16, 12, 9, 5, 2]),
        (128, [9, 5, 2]),
        (90, [4, 2]),
    ],
)
def test_published_sizes(n_rows, published):
    assert plan_sizes(published[0], "published", 6, n_rows) == published[1:]


def test_the_usual_sizes_are_those_of_most_published_tables():
    assert plan_sizes(93, "auto", 6) == plan_sizes(93, "published", 6)
    assert plan_sizes(9, "auto", 6) == [6, 4, 2]


@loop_over(
    ("n_columns", "keep", "n_recursions", "expected"),
    [
        (4, "auto", 6, [2]),
        (1, "auto", 6, [1]),
        (2, 0.5, 6, [2]),
        (100, 0.5, 3, [50, 25, 12]),
        (5, 1.0, 3, [5, 5, 5]),
        (9, (5, 2), 6, [5, 2]),
        (9, np.array([5, 2]), 1, [5]),
        (9, [7], "auto", [7]),
        (9, "auto", 0, []),
    ],
)
def test_sizes(n_columns, keep, n_recursions, expected):
    assert plan_sizes(n_columns, keep, n_recursions) == expected


@pytest.mark.parametrize("keep", ["auto", "published", 0.9])
def test_parts_of_a_recursion(keep):
    for n_columns in range(1, 60):
        before = n_columns
        for parts in plan_parts(n_columns, keep, 6, n_rows=20):
            assert min(parts) >= 1
            assert sum(parts) <= before
            assert keep != "published" or max(parts) <= 20
            before = sum(parts)


def test_rounding_forgets_noise():
    w = np.array([3.0, -0.1, 1e-9, 0.0])
    assert_array_equal(rounded(w * (1 + 1e-12)), rounded(w))
    assert_allclose(rounded(w), w, atol=3e-4)
    assert_array_equal(rounded(np.zeros(2)), np.zeros(2))
    assert np.isfinite(rounded(np.array([1e-310, 1e308]))).all()
