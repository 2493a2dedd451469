"""YDF's gradient boosting with sparse oblique splits, called as scikit-learn's learners are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

_LABEL = "the target"


class _YdfOblique:
    """What the classifier and the regressor share.

    Parameters
    ----------
    random_state : int
        The seed.
    n_jobs : int
        Threads.
    learning_rate : float
        What YDF calls shrinkage.
    """

    _task = ""

    def __init__(self, random_state: int = 0, n_jobs: int = 1, learning_rate: float = 0.1) -> None:
        self.random_state, self.n_jobs = random_state, n_jobs
        self.learning_rate = learning_rate

    def _learn(self, X: Any, y: np.ndarray) -> None:
        """Train on the rows of a table."""
        import ydf

        ydf.verbose(0)
        learner = ydf.GradientBoostedTreesLearner(
            label=_LABEL,
            task=getattr(ydf.Task, self._task),
            split_axis="SPARSE_OBLIQUE",
            random_seed=self.random_state,
            num_threads=self.n_jobs,
            shrinkage=self.learning_rate,
        )
        self.model_ = learner.train(_columns(X) | {_LABEL: y})

    def _answer(self, X: Any) -> np.ndarray:
        """Return what the model says of the rows of a table."""
        return np.asarray(self.model_.predict(_columns(X)), np.float64)


class YdfObliqueRegressor(_YdfOblique):
    """Boosted oblique trees for a number."""

    _task = "REGRESSION"

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self._learn(X, np.asarray(y, np.float64))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return a number for each row."""
        return self._answer(X)


class YdfObliqueClassifier(_YdfOblique):
    """Boosted oblique trees for classes."""

    _task = "CLASSIFICATION"

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        # Padded, so that the order of the names is that of the codes.
        self._learn(X, np.array([f"c{code:05d}" for code in codes]))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes."""
        answer = self._answer(X)
        if answer.ndim == 1:
            return np.column_stack([1.0 - answer, answer])
        order = np.argsort(self.model_.label_classes())
        return answer[:, order]


def _columns(X: Any) -> dict[str, np.ndarray]:
    """Return the columns of a table of numbers by name, as YDF takes them."""
    matrix = np.asarray(X, np.float32)
    return {f"x{place}": matrix[:, place] for place in range(matrix.shape[1])}
