"""ML-kNN against its definition, row by row and label by label."""

from __future__ import annotations

import numpy as np
from benchmarks.mlknn import nearest, predict_labels


def naive_counts(distances: np.ndarray, Y: np.ndarray, k: int) -> np.ndarray:
    """Count the neighbours with each label."""
    return np.array([Y[np.argsort(row, kind="stable")[:k]].sum(axis=0) for row in distances])


def naive_labels(X: np.ndarray, Y: np.ndarray, Z: np.ndarray, k: int, s: float) -> np.ndarray:
    """Follow the publication's formulas."""
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    counts = naive_counts(distances, Y, k)
    test_counts = naive_counts(np.linalg.norm(Z[:, None] - X[None], axis=2), Y, k)
    out = np.empty((len(Z), Y.shape[1]))
    for label in range(Y.shape[1]):
        has = Y[:, label] == 1
        prior = (s + has.sum()) / (2 * s + len(X))
        for row, found in enumerate(test_counts[:, label]):
            among = [np.sum(counts[side, label] == found) for side in (has, ~has)]
            chances = [
                (s + n) / (s * (k + 1) + side.sum())
                for n, side in zip(among, (has, ~has), strict=True)
            ]
            ours = prior * chances[0]
            out[row, label] = ours / (ours + (1 - prior) * chances[1])
    return out


def test_nearest_is_by_distance():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(8, 3))
    expected = np.argsort(np.linalg.norm(Z[:, None] - X[None], axis=2), axis=1)[:, :4]
    np.testing.assert_array_equal(nearest(Z @ X.T, (X**2).sum(axis=1), 4), expected)


def test_labels():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(60, 4)), rng.normal(size=(15, 4))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0).astype(int)
    Y[:, 2] = 0  # a label that nobody has
    actual = predict_labels(X @ X.T, Z @ X.T, Y, k=5, smoothing=0.5)
    np.testing.assert_allclose(actual, naive_labels(X, Y, Z, 5, 0.5))
