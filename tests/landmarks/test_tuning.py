"""Scales, numbers of landmarks and widths that the rows decide."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from featurewright import (
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    LandmarkKernelFeatures,
)
from featurewright.datasets import make_ringnorm, make_unit_square, make_waveform
from featurewright.landmarks.runs import TrainingTarget
from featurewright.landmarks.similarity import median_width
from featurewright.landmarks.tuning import LANDMARK_GRID, WIDTH_GRID, best_place, row_losses

RINGS, RING_Y = make_ringnorm(400, random_state=0)


def kernel_only(**params):
    settings = {"method": "kernel_only", "n_estimators": 30, "random_state": 0}
    return KernelFeatureEnsembleClassifier(**settings | params)


def halves(X, y):
    """Return training rows and test rows of a set, shuffled."""
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train], X[test], y[test]


def scales(X, **params):
    return LandmarkKernelFeatures(2, random_state=0, **params).fit(X)._map.places.scale


def test_columns_of_different_units_are_scaled():
    wine, digits = load_wine().data, load_digits().data
    assert_allclose(scales(wine), wine.std(axis=0))
    assert_allclose(scales(sparse.csr_array(wine)), wine.std(axis=0))
    assert_array_equal(scales(wine, scale=False), 1.0)
    for same_unit in (digits, load_iris().data, RINGS, RINGS[:, :1] * 1e6):
        assert_array_equal(scales(same_unit), 1.0)


def test_a_width_or_a_function_has_units_of_its_own():
    wine = load_wine().data
    assert_array_equal(scales(wine, width=3.0), 1.0)
    assert_array_equal(scales(wine, kernel="rbf", gamma=3.0), 1.0)
    assert_array_equal(scales(wine, kernel=lambda x, z: x @ z), 1.0)
    assert scales(wine, kernel="rbf").max() > 100


def test_scaling_helps_on_wine():
    X, y, X_test, y_test = halves(*load_wine(return_X_y=True))
    assert kernel_only().fit(X, y).score(X_test, y_test) > 0.93
    assert kernel_only(scale=False).fit(X, y).score(X_test, y_test) < 0.85


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(load_breast_cancer(return_X_y=True), id="cancer", marks=pytest.mark.slow),
        pytest.param(load_digits(return_X_y=True), id="digits", marks=pytest.mark.slow),
        pytest.param(load_wine(return_X_y=True), id="wine"),
        pytest.param(make_ringnorm(600, random_state=1), id="ringnorm"),
        pytest.param(
            make_unit_square(600, concept="circle", random_state=1),
            id="circle",
            marks=pytest.mark.slow,
        ),
        pytest.param(make_waveform(600, random_state=1), id="waveform", marks=pytest.mark.slow),
    ],
)
def test_auto_is_no_worse_than_ten_landmarks(rows):
    X, y, X_test, y_test = halves(*rows)
    usual = kernel_only().fit(X, y).score(X_test, y_test)
    model = kernel_only(n_landmarks="auto").fit(X, y)
    assert model.score(X_test, y_test) > usual - 0.02
    assert model.n_landmarks_ in LANDMARK_GRID


def test_more_landmarks_where_ten_are_too_few():
    X, y, X_test, y_test = halves(*load_digits(return_X_y=True))
    model = kernel_only(n_landmarks="auto").fit(X, y)
    assert model.n_landmarks_ > 10
    assert {len(rows) for rows in model.landmark_rows_} == {model.n_landmarks_}
    plain = kernel_only(n_landmarks=model.n_landmarks_).fit(X, y)
    assert plain.score(X_test, y_test) > kernel_only().fit(X, y).score(X_test, y_test)


@pytest.mark.parametrize("method", ["random_forest", "kernel_only"])
def test_a_choice_is_the_same_for_a_seed_and_any_threads(method):
    settings = {"method": method, "n_estimators": 9, "n_landmarks": "auto", "width": "auto"}
    model = kernel_only(**settings).fit(RINGS[:200], RING_Y[:200])
    three = clone(model).set_params(n_jobs=3).fit(RINGS[:200], RING_Y[:200])
    assert (three.n_landmarks_, three.width_) == (model.n_landmarks_, model.width_)
    assert_array_equal(three.predict_proba(RINGS), model.predict_proba(RINGS))


def test_widths_are_multiples_of_the_median_distance():
    # The classes differ at a distance far below the median one; a sum of similarities needs them
    # narrow, while trees see their order alone.
    X = np.random.default_rng(0).uniform(size=(600, 1)) * 8
    y = X[:, 0].astype(int) % 2
    linear = LogisticRegression(C=100.0, max_iter=2000)
    model = kernel_only(estimator=linear, n_estimators=3, n_landmarks=40, width="auto").fit(X, y)
    assert model.width_ < median_width(X) / 2
    factors = model.width_ / median_width(X) / np.array(WIDTH_GRID)
    assert np.abs(factors - 1.0).min() < 0.2  # some rows give the median
    wine = load_wine()
    scaled = kernel_only(width="auto", n_estimators=5).fit(wine.data, wine.target)
    assert_allclose(scaled._features.places.scale, wine.data.std(axis=0))


def test_numbers_several_targets_weights_words_and_given_similarities():
    y = np.sqrt((RINGS**2).sum(axis=1))
    few = {"n_estimators": 9, "n_landmarks": "auto", "random_state": 0}
    regressor = KernelFeatureEnsembleRegressor(**few).fit(RINGS, np.column_stack([y, RINGS[:, 0]]))
    assert regressor.n_landmarks_ in LANDMARK_GRID
    labels = np.column_stack([RING_Y, RINGS[:, 0] > 0]).astype(int)
    weights = (np.arange(400) < 200).astype(float)
    model = kernel_only(**few).fit(RINGS, labels, weights)
    assert max(rows.max() for rows in model.landmark_rows_) < 200
    gram = rbf_kernel(RINGS, gamma=0.1)
    given = kernel_only(kernel="precomputed", **few).fit(gram, RING_Y)
    computed = kernel_only(kernel="rbf", gamma=0.1, **few).fit(RINGS, RING_Y)
    assert given.n_landmarks_ == computed.n_landmarks_
    words = ["a" * (k % 7 + 1) for k in range(60)]
    spelt = kernel_only(kernel=lambda a, b: float(a == b), **few)
    assert spelt.fit(words, np.arange(60) % 7 > 3).score(words, np.arange(60) % 7 > 3) == 1.0
    assert kernel_only(**few).fit(RINGS[:4], [0, 1, 0, 1]).n_landmarks_ == 4


def test_losses_and_the_choice():
    shares = np.array([[0.5, 0.5], [0.1, 0.9]])
    assert_allclose(row_losses(shares, TrainingTarget(np.array([0, 1]), None, 2)), [0.5, 0.02])
    both = TrainingTarget(np.array([[0, 1], [1, 1]]), None, (2, 2))
    assert_allclose(row_losses(np.hstack([shares, shares]), both), [1.0, 0.04])
    numbers = TrainingTarget(np.array([0.0, 2.0]), None, 0)
    assert_allclose(row_losses(np.array([[1.0], [2.0]]), numbers), [1.0, 0.0])
    noisy = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, -0.1]])
    assert best_place(noisy, None) == 0
    assert best_place(np.array([[1.0, 1.0, 1.1], [0.5, 0.6, 0.5]]), None) == 1
