"""Which training rows are landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featurewright import KernelFeatureEnsembleRegressor, LandmarkKernelFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.array([0] * 90 + [1] * 25 + [2] * 5)
CHOICES = ("random", "class", "kmeans")


def rows_of(how, n_landmarks=12, seed=0, X=X, y=Y, **fit):
    model = LandmarkKernelFeatures(n_landmarks, landmarks=how, random_state=seed, append=False)
    model.fit(X, y, **fit)
    assert_array_equal(model.landmarks_, X[model.landmark_rows_])
    return model.landmark_rows_


@pytest.mark.parametrize("how", CHOICES)
def test_landmarks_are_different_training_rows(how):
    rows = rows_of(how)
    assert len(np.unique(rows)) == 12
    assert_array_equal(rows_of(how), rows)
    assert np.any(rows_of(how, seed=1) != rows)


@pytest.mark.parametrize("how", CHOICES)
def test_no_more_landmarks_than_rows(how):
    with pytest.warns(UserWarning, match="n_landmarks=500 is more than the 120 rows"):
        assert_array_equal(rows_of(how, 500), np.arange(len(X)))


@pytest.mark.parametrize("how", CHOICES)
def test_rows_without_weight_are_no_landmarks(how):
    weights = np.zeros(len(X))
    weights[80:] = RNG.uniform(1, 2, size=40)
    assert rows_of(how, sample_weight=weights).min() >= 80


def test_as_many_of_each_class():
    assert_array_equal(np.bincount(Y[rows_of("class")]), [4, 4, 4])
    # The third class has only five rows; the others share the rest.
    counts = np.bincount(Y[rows_of("class", 30)])
    assert counts[2] == 5
    assert sorted(counts[:2]) == [12, 13]


def test_more_classes_than_landmarks():
    many = np.repeat(np.arange(40), 3)
    assert len(np.unique(many[rows_of("class", 12, y=many)])) == 12


def test_class_names_are_any_labels():
    names = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    found = rows_of("class", 10, y=names)
    assert (names[found] == "yes").sum() == 5


def test_class_needs_classes():
    model = LandmarkKernelFeatures(landmarks="class")
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expects one column of classes"):
        model.fit(X, np.column_stack([Y == 0, Y == 1]).astype(int))


def test_kmeans_finds_the_clusters():
    centers = np.array([[0, 0, 0], [50, 0, 0], [0, 50, 0], [0, 0, 50]])
    clustered = centers[np.arange(120) % 4] + X
    rows = rows_of("kmeans", 4, X=clustered)
    assert sorted(rows % 4) == [0, 1, 2, 3]


def test_kmeans_with_equal_rows():
    few = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    rows = rows_of("kmeans", 10, X=few, y=None)
    assert set(few[rows, 0]) == {0.0, 1.0, 5.0}
    assert len(rows) == 10


def test_regression_takes_slices_of_the_target():
    y = np.exp(3 * X[:, 0])
    model = KernelFeatureEnsembleRegressor(n_estimators=4, landmarks="class", random_state=0)
    ranks = np.argsort(np.argsort(y))
    for rows in model.fit(X, y).landmark_rows_:
        assert sorted(ranks[rows] // 12) == list(range(10))
