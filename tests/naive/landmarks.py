"""Kernels and AdaBoost.M1, computed one pair and one row at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

KERNELS: dict[str, Callable[[np.ndarray, np.ndarray, dict[str, Any]], float]] = {
    "gaussian": lambda x, z, p: np.exp(-sum((x - z) ** 2) / p["width"]),
    "rbf": lambda x, z, p: np.exp(-p["gamma"] * sum((x - z) ** 2)),
    "linear": lambda x, z, p: sum(x * z) + p.get("coef0", 1.0),
    "polynomial": lambda x, z, p: (p["gamma"] * sum(x * z) + p["coef0"]) ** p["degree"],
    "sigmoid": lambda x, z, p: np.tanh(p["gamma"] * sum(x * z) + p["coef0"]),
    "laplacian": lambda x, z, p: np.exp(-p["gamma"] * sum(abs(x - z))),
    "cosine": lambda x, z, p: sum(x * z) / np.sqrt(sum(x * x) * sum(z * z)),
    "chi2": lambda x, z, p: np.exp(-p["gamma"] * sum((x - z) ** 2 / (x + z))),
}


def similarities(kernel: str, rows: np.ndarray, landmarks: np.ndarray, **params: Any) -> np.ndarray:
    """Compare every row with every landmark."""
    return np.array([[KERNELS[kernel](x, z, params) for z in landmarks] for x in rows])


def median_width(rows: np.ndarray) -> float:
    """Return the median squared distance of two rows."""
    return float(np.median([sum((x - z) ** 2) for x, z in combinations(rows, 2)]))


class AdaBoostM1:
    """AdaBoost.M1 over copies of a learner that takes weights."""

    def __init__(self, learner: Any, n_rounds: int) -> None:
        self.learner, self.n_rounds = learner, n_rounds

    def fit(self, X: np.ndarray, y: np.ndarray) -> AdaBoostM1:
        """Train round by round, weights adding up to one."""
        shares = np.full(len(y), 1 / len(y))
        self.members, self.votes = [], []
        for _ in range(self.n_rounds):
            member = clone(self.learner).fit(X, y, sample_weight=shares * len(y))
            answers = member.predict(X)
            error = sum(share for share, a, b in zip(shares, answers, y, strict=True) if a != b)
            if error < 1e-9 or error > 0.5 - 1e-9:
                if not self.members:
                    self.members, self.votes = [member], [1.0]
                break
            self.members.append(member)
            self.votes.append(np.log((1 - error) / error))
            for k in range(len(y)):
                if answers[k] != y[k]:
                    shares[k] *= (1 - error) / error
            shares = shares / shares.sum()
        return self

    def predict_proba(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        """Count the votes of each class."""
        if len(self.members) == 1:
            return self.members[0].predict_proba(X)
        counts = np.zeros((len(X), n_classes))
        for member, vote in zip(self.members, self.votes, strict=True):
            for k, answer in enumerate(member.predict(X)):
                counts[k, answer] += vote
        return counts / sum(self.votes)
