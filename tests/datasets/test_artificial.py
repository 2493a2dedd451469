"""Generated problems follow their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from featurewright import datasets

MAKERS = [
    datasets.make_twonorm,
    datasets.make_ringnorm,
    datasets.make_waveform,
    datasets.make_unit_square,
    datasets.make_sin_inverse,
]


@pytest.mark.parametrize("make", MAKERS)
def test_seed_decides(make):
    X, y = make(50, random_state=3)
    again = make(50, random_state=3)
    other = make(50, random_state=4)
    assert X.shape[0] == y.shape[0] == 50
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert_array_equal(X, again[0])
    assert_array_equal(y, again[1])
    assert np.any(other[0] != X)


@pytest.mark.parametrize("make", MAKERS)
def test_no_rows_are_refused(make):
    for odd in (2.5, "9", None, True):
        with pytest.raises(ValueError, match="but a number of rows of at least 1"):
            make(odd)
    with pytest.raises(ValueError, match="n_samples is 0, but"):
        make(0)


def test_twonorm_moments():
    X, y = datasets.make_twonorm(20_000, random_state=0)
    a = 2 / np.sqrt(20)
    assert_allclose(X[y == 0].mean(axis=0), a, atol=0.05)
    assert_allclose(X[y == 1].mean(axis=0), -a, atol=0.05)
    assert_allclose(X[y == 0].std(axis=0), 1, atol=0.05)


def test_ringnorm_moments_and_best_error():
    X, y = datasets.make_ringnorm(20_000, random_state=0)
    assert_allclose(X[y == 0].mean(axis=0), 0, atol=0.1)
    assert_allclose(X[y == 0].std(axis=0), 2, atol=0.05)
    assert_allclose(X[y == 1].mean(axis=0), 2 / np.sqrt(20), atol=0.05)
    assert_allclose(X[y == 1].std(axis=0), 1, atol=0.05)
    # Two normal classes: quadratic discriminants come near the best possible error, 1.24%.
    error = 1 - QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    assert error == pytest.approx(0.0124, abs=0.003)


def test_waveform_means():
    X, y = datasets.make_waveform(30_000, random_state=0)
    t = np.arange(1, 22)
    first, second, third = (np.maximum(6 - np.abs(t - peak), 0) for peak in (7, 15, 11))
    for label, (one, two) in enumerate([(first, second), (first, third), (second, third)]):
        assert_allclose(X[y == label].mean(axis=0), (one + two) / 2, atol=0.08)


@pytest.mark.parametrize(
    ("concept", "shares"),
    [
        ("plus", [0.25, 0.25, 0.25, 0.25]),
        ("2x", [0.75, 0.25]),
        ("diagonal", [0.5, 0.5]),
        ("circle", [np.pi / 8, 1 - np.pi / 8]),
    ],
)
def test_unit_square_areas(concept, shares):
    X, y = datasets.make_unit_square(20_000, concept=concept, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 1
    assert_allclose(np.bincount(y) / len(y), shares, atol=0.015)


def test_unknown_concept():
    with pytest.raises(ValueError, match="concept is 'star', but one of 'plus', '2x'"):
        datasets.make_unit_square(concept="star")


def test_sin_inverse_density():
    X, y = datasets.make_sin_inverse(20_000, smallest=0.01, random_state=0)
    # A density proportional to 1/x puts as many rows below 0.1 as above.
    assert np.mean(X[:, 0] < 0.1) == pytest.approx(0.5, abs=0.02)
    assert X[:, 0].min() >= 0.01
    assert X[:, 0].max() <= 1
    assert_array_equal(y, X[:, 1] >= np.sin(1 / X[:, 0]))
    with pytest.raises(ValueError, match="smallest is 0, but"):
        datasets.make_sin_inverse(smallest=0)
