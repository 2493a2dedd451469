"""Recursive selective transformation: every recursion transforms all rows again."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from sklearn.svm import LinearSVC


def weigh(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Fit a linear SVM and round its weights to 14 bits of the largest."""
    w = LinearSVC(dual=False, tol=1e-12).fit(columns, target).coef_[0]
    largest = np.abs(w).max()
    if largest == 0:
        return w
    unit = 2.0 ** (np.floor(np.log2(largest)) - 14)
    return np.rint(w / unit) * unit


def projection_matrix(w: np.ndarray, projection: str, normalize: str | None) -> np.ndarray:
    """Return the projection of some columns as a full matrix."""
    length = np.linalg.norm(w) or 1.0
    if projection == "orthogonal":
        return np.eye(len(w)) - np.outer(w, w) / length**2
    w = w / {None: 1.0, "unit": length, "max": np.abs(w).max() or 1.0}[normalize]
    return np.diag(np.abs(w)) if projection == "diagonal" else np.eye(len(w)) + np.outer(w, w)


def recurse(
    train: np.ndarray,
    target: np.ndarray,
    rows: np.ndarray,
    sizes: Sequence[int],
    *,
    projection: str = "stretch",
    normalize: str | None = None,
) -> np.ndarray:
    """Transform rows by every recursion in turn; rows are scaled already."""
    for size in sizes:
        w = weigh(train, target)
        ranked = sorted(range(len(w)), key=lambda k: (-abs(w[k]), k))
        n_strong = ceil(6 * size / 7)
        strong, rest = sorted(ranked[:n_strong]), sorted(ranked[n_strong:])
        parts = [(strong, projection_matrix(w[strong], projection, normalize))]
        if size > n_strong:
            inner = weigh(train[:, rest], target)
            ranked = sorted(range(len(rest)), key=lambda k: (-abs(inner[k]), k))
            best = sorted(ranked[: size - n_strong])
            weak = [rest[k] for k in best]
            parts.append((weak, projection_matrix(inner[best], projection, normalize)))
        train, rows = (
            np.hstack([table[:, kept] @ matrix for kept, matrix in parts])
            for table in (train, rows)
        )
    return rows
