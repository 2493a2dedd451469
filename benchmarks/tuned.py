"""A learner whose parameters are chosen from a small fixed grid, on a part of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

HELD_OUT = 0.25
SMALLEST = 1e-6  # probability, for the logarithm


class Tuned:
    """Fit every point of a grid on three quarters of the rows, then the best one on all.

    Parameters
    ----------
    make : callable
        Makes an estimator of some parameters.
    grid : sequence of dict
        The points.
    task : {"binary", "multiclass", "regression"}
        Points are judged by log loss, or by squared error.
    seed : int
        Seed of the rows held out.
    """

    def __init__(
        self,
        make: Callable[[dict[str, Any]], Any],
        grid: Sequence[dict[str, Any]],
        task: str,
        seed: int,
    ) -> None:
        self.make, self.grid, self.task, self.seed = make, list(grid), task, seed

    def _loss(self, model: Any, X: Any, y: np.ndarray) -> float:
        """Measure how wrong a model is."""
        if self.task == "regression":
            return float(np.mean((model.predict(X) - y) ** 2))
        chances = model.predict_proba(X)
        right = np.full(len(y), SMALLEST)
        for k, label in enumerate(model.classes_):
            right[y == label] = chances[y == label, k]
        return float(-np.mean(np.log(np.maximum(right, SMALLEST))))

    def fit(self, X: Any, y: np.ndarray) -> Tuned:
        """Choose and fit."""
        from data import take

        # Each class must have a row on both sides to be drawn by.
        by_class = self.task != "regression" and np.unique(y, return_counts=True)[1].min() > 1
        rows, held = train_test_split(
            np.arange(len(y)),
            test_size=HELD_OUT,
            random_state=self.seed,
            stratify=y if by_class else None,
        )
        losses = [
            self._loss(self.make(point).fit(take(X, rows), y[rows]), take(X, held), y[held])
            for point in self.grid
        ]
        self.best_ = self.grid[int(np.argmin(losses))]
        self.model_ = self.make(self.best_).fit(X, y)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the fitted model."""
        return self.model_.classes_

    def predict(self, X: Any) -> np.ndarray:
        """Predict with the chosen model."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the chosen model."""
        return self.model_.predict_proba(X)
