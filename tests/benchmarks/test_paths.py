"""Measures of the benchmark of path encodings, as the slow versions say."""

from __future__ import annotations

import numpy as np
from paths_tasks import Space, gaussian, gaussian_of_products, nearest_accuracies
from sklearn.neighbors import KNeighborsClassifier


def points(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3))


def test_neighbours_vote():
    X, Z = points(60, 0), points(40, 1)
    y, z = (X[:, 0] > 0).astype(int), (Z[:, 0] > 0).astype(int)
    found = nearest_accuracies(Space(X @ X.T, Z @ X.T), y, z)
    for k, accuracy in found.items():
        assert accuracy == KNeighborsClassifier(k).fit(X, y).score(Z, z)
    assert list(found) == [1, 3, 5]


def test_gaussian_kernel_from_products():
    X = points(20, 2)
    np.testing.assert_allclose(gaussian_of_products(X @ X.T, 0.7), gaussian(X, X, 0.7), rtol=1e-9)
