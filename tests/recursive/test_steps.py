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
from featurewright.recursive.steps import PROJECTIONS, plan_sizes, rounded, split_size


def scaled(X, train):
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    return (X - low) / (high - low)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n_columns=st.integers(1, 12),
    projection=st.sampled_from(PROJECTIONS),
    normalize=st.sampled_from([None, "unit", "max"]),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
)
def test_one_product_equals_the_recursions(seed, n_columns, projection, normalize, sizes):
    random = np.random.RandomState(seed)
    X = random.normal(size=(60, n_columns)) * random.uniform(0.01, 100, n_columns)
    y = (X[:, 0] / X[:, 0].std() + random.normal(size=60) > 0).astype(int)
    y[:2] = 0, 1
    sizes = sorted((min(size, n_columns) for size in sizes), reverse=True)
    train = np.arange(40)
    y_train = y[train]
    model = RecursiveSelectiveTransformer(
        len(sizes), keep=sizes, projection=projection, normalize=normalize
    ).fit(X[train], y_train)
    columns = scaled(X, train)
    expected = naive.recurse(
        columns[train],
        2.0 * y_train - 1,
        columns,
        sizes,
        projection=projection,
        normalize=normalize,
    )
    actual = model.transform(X)
    assert actual.shape == expected.shape
    # Where weights of two columns are the same but for noise, another one of the two may be kept.
    assert_allclose(np.sort(actual, axis=1), np.sort(expected, axis=1), rtol=1e-3, atol=1e-3)


def test_every_class_has_its_own_recursions():
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:200], y[:200]
    varied = X.std(axis=0) > 0
    model = RecursiveSelectiveTransformer(2, keep=(40, 20), random_state=0).fit(X[:, varied], y)
    columns = scaled(X[:, varied], np.arange(len(X)))
    blocks = np.split(model.transform(X[:, varied]), 3, axis=1)
    for k, block in enumerate(blocks):
        expected = naive.recurse(columns, np.where(y == k, 1.0, -1.0), columns, (40, 20))
        assert_allclose(block, expected, atol=1e-2)


@pytest.mark.parametrize(
    "published",
    [
        [93, 80, 68, 58, 49, 41, 34],
        [60, 51, 43, 36, 30, 25, 20],
        [64, 54, 46, 39, 33, 27, 22],
        [784, 684, 597, 521, 454, 396, 345],
        [16, 12, 9],
        [4, 2],
    ],
)
def test_published_sizes(published):
    assert plan_sizes(published[0], "auto", len(published) - 1) == published[1:]


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


def test_parts_of_a_size():
    for size in range(1, 60):
        strong, weak = split_size(size)
        assert strong + weak == size
        assert strong >= 1
        assert weak >= 0


def test_rounding_forgets_noise():
    w = np.array([3.0, -0.1, 1e-9, 0.0])
    assert_array_equal(rounded(w * (1 + 1e-12)), rounded(w))
    assert_allclose(rounded(w), w, atol=3e-4)
    assert_array_equal(rounded(np.zeros(2)), np.zeros(2))
    assert np.isfinite(rounded(np.array([1e-310, 1e308]))).all()
