"""Measures of the benchmark of path encodings, as the slow versions say."""

from __future__ import annotations

import numpy as np
import paths_tasks
from data import LabelSet
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


def test_labels_are_measured_on_scaled_and_unscaled_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * [1.0, 1.0, 1e4]  # the last is noise
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    rows = np.arange(90)
    labels = LabelSet("made", X, Y, True, rows[:60], rows[60:])
    monkeypatch.setattr(paths_tasks, "load_labels", lambda name: labels)
    settings = {"set": "made", "max_rows": None, "split": 0, "n_jobs": 1}
    found = paths_tasks.measure_labels(settings | {"params": {"n_estimators": 20}})
    assert found["micro-AUC original"] > found["micro-AUC unscaled"] + 0.1
    assert found["micro-AUC paths"] > found["micro-AUC unscaled"] + 0.1
