"""Recursive selective transformation: every recursion transforms all rows again."""

from __future__ import annotations

from collections.abc import Sequence

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


def length(w: np.ndarray, normalize: str | None) -> float:
    """Return what weights are divided by."""
    return {None: 1.0, "unit": np.linalg.norm(w), "max": np.abs(w).max()}[normalize] or 1.0


def projection_matrix(w: np.ndarray, projection: str, normalize: str | None) -> np.ndarray:
    """Return the projection of some columns as a full matrix."""
    if projection == "orthogonal":
        w = w / length(w, "unit")
        return np.eye(len(w)) - np.outer(w, w)
    w = w / length(w, normalize)
    return np.diag(np.abs(w)) if projection == "diagonal" else np.eye(len(w)) + np.outer(w, w)


def recurse(
    train: np.ndarray,
    targets: Sequence[np.ndarray],
    rows: np.ndarray,
    plan: Sequence[Sequence[int]],
    *,
    projection: str = "stretch",
    normalize: str | None = None,
    project: str = "after",
    ranking: str = "class",
) -> list[np.ndarray]:
    """Transform rows by every recursion in turn, for each target; rows are scaled already."""
    trains, tables = [train] * len(targets), [rows] * len(targets)
    for steps in plan:
        outputs: list[list[np.ndarray]] = [[] for _ in range(2 * len(targets))]
        left_trains, left_tables = list(trains), list(tables)
        for n_kept in steps:
            weights = [weigh(t, y) for t, y in zip(left_trains, targets, strict=True)]
            shared = sum(abs(w / length(w, normalize)) for w in weights)
            for k, w in enumerate(weights):
                importance = shared if ranking == "shared" else abs(w)
                ranked = sorted(range(len(w)), key=lambda i: (-importance[i], i))
                kept, rest = sorted(ranked[:n_kept]), sorted(ranked[n_kept:])
                if project == "first":
                    matrix = projection_matrix(w, projection, normalize)[:, kept]
                else:
                    matrix = np.zeros((len(w), len(kept)))
                    matrix[kept] = projection_matrix(w[kept], projection, normalize)
                outputs[2 * k].append(left_trains[k] @ matrix)
                outputs[2 * k + 1].append(left_tables[k] @ matrix)
                left_trains[k], left_tables[k] = left_trains[k][:, rest], left_tables[k][:, rest]
        trains = [np.hstack(parts) for parts in outputs[::2]]
        tables = [np.hstack(parts) for parts in outputs[1::2]]
    return tables
