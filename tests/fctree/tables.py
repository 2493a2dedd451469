"""Small tables for feature construction trees."""

from __future__ import annotations

import numpy as np


def quadrants(seed: int = 0, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Make XOR: the quadrants of a square without its axes, opposite ones of the same class."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(4 * n_rows, 2))
    X = X[np.abs(X[:, 0] * X[:, 1]) > 0.05][:n_rows]
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def products(seed: int = 0, n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Make numbers whose classes depend on a product of two of them and a difference."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 5)).astype(np.float32).astype(float)
    return X, np.where(X[:, 0] * X[:, 1] > 0, np.where(X[:, 2] > X[:, 3], "a", "b"), "c")


def five_products(seed: int = 0, n_rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Make classes that only products tell: those for which the signs of five of them vote.

    Columns are of very different size, so that sums, differences and Gaussians of two of them tell
    no more than one of them does.
    """
    X = np.random.default_rng(seed).normal(size=(n_rows, 10)) * 10.0 ** np.arange(10)
    signs = X[:, ::2] * X[:, 1::2] > 0
    return X, signs.sum(axis=1) > 2
