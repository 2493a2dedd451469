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


def one_useful(
    operator: str, *, numbers: bool = False, seed: int = 0, n_rows: int = 1500
) -> tuple[np.ndarray, np.ndarray]:
    """Make a target that only features of one operator tell: ten of them vote by their signs.

    Single columns tell little, and so do other operators on the same ones. Only "sqrt" and "square"
    order rows alike, so that each tells as much as the other.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    narrow = rng.normal(size=(n_rows, 10))
    middle = 0.67  # as many normal numbers are nearer to 0 as are not
    if operator in ("sqrt", "square"):
        votes = np.sign(np.abs(X[:, ::2]) - middle)
    elif operator == "mul":
        votes = np.sign(X[:, ::2] * X[:, 1::2])
        # Of very different size: sums, differences and Gaussians tell what one of two columns does.
        X *= 2.0 ** (3 * np.arange(20))
    else:
        # Pairs of columns that are wide, but whose sum or difference is narrow.
        wide = 5.0 * X[:, ::2]
        X[:, ::2] = wide
        X[:, 1::2] = narrow - wide if operator == "add" else wide - narrow
        votes = np.sign(np.abs(narrow) - middle if operator == "gaussian" else narrow)
    y = votes.sum(axis=1)
    return X, y if numbers else y > np.median(y)
