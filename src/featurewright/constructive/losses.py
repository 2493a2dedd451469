"""What boosting minimises: the statistics its trees grow on, and what their leaves add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from featurewright.engine import criteria
from featurewright.engine.buffers import Target

_NO_CODES = np.empty(0, np.int32)
_MOST_CERTAIN = 1.0 - 1e-6  # an edge of one would give its tree an infinite weight
_LARGEST_EXPONENT = 50.0
_LEAST_HESSIAN = 1e-3  # of the rows on each side of a split, as the peers have it

Floats = npt.NDArray[np.float64]


def _sums(values: Floats, weights: Floats) -> Target:
    """Make a target of sums and weights."""
    return Target(
        _NO_CODES,
        np.ascontiguousarray(values, np.float32),
        np.ascontiguousarray(weights, np.float32),
    )


class Loss(ABC):
    """A loss over raw scores of shape (n_scores, n_rows)."""

    n_scores: int
    leaf: str  # what the leaves of a tree hold
    scoring: Mapping[str, Any]  # how splits are scored

    @property
    def n_groups(self) -> int:
        """Trees grown in each round."""
        return self.n_scores

    @abstractmethod
    def start(self) -> Floats:
        """Give the constant scores before the first tree."""

    @abstractmethod
    def targets(self, raw: Floats) -> list[Target]:
        """Give what each tree of a round grows on."""

    @abstractmethod
    def mean(self, raw: Floats) -> float:
        """Give the mean loss of raw scores."""

    def leaf_values(
        self, values: Floats, leaves: npt.NDArray[np.int32], raw: Floats, rate: float
    ) -> Floats | None:
        """Give what a tree's leaves add to the scores, or None when boosting should end."""
        return values * rate


class SquaredError(Loss):
    """Squared error of one standardised target column."""

    n_scores = 1
    leaf = "mean"
    scoring: Mapping[str, Any] = {
        "by_class": 0,
        "criterion": criteria.SQUARES,
        "centered": 0,
        "strict": 1,
        "many_thresholds": 1,
    }

    def __init__(self, y: Floats, weights: Floats) -> None:
        self.y = y
        self.weights = weights

    def start(self) -> Floats:
        """Give the mean target."""
        return np.array([np.average(self.y, weights=self.weights)])

    def targets(self, raw: Floats) -> list[Target]:
        """Give the residuals."""
        return [_sums(((self.y - raw[0]) * self.weights)[None, :], self.weights)]

    def mean(self, raw: Floats) -> float:
        """Give the mean squared error."""
        return float(np.average((self.y - raw[0]) ** 2, weights=self.weights))


class LogLoss(Loss):
    """Log loss of classes: one score for two classes, else one for each."""

    leaf = "mean"
    scoring: Mapping[str, Any] = {
        "by_class": 0,
        "criterion": criteria.SQUARES,
        "centered": 0,
        "strict": 1,
        "many_thresholds": 1,
        "min_weight": _LEAST_HESSIAN,
    }

    def __init__(self, codes: npt.NDArray[np.int32], n_classes: int, weights: Floats) -> None:
        self.codes = codes
        self.weights = weights
        self.n_scores = 1 if n_classes == 2 else n_classes
        kinds = [1] if n_classes == 2 else range(n_classes)
        self.is_class = np.array([codes == kind for kind in kinds], np.float64)

    def start(self) -> Floats:
        """Give the scores of the class shares."""
        shares = np.average(self.is_class, axis=1, weights=self.weights).clip(1e-6, 1 - 1e-6)
        return np.log(shares / (1 - shares)) if self.n_scores == 1 else np.log(shares)

    def shares(self, raw: Floats) -> Floats:
        """Turn scores into probabilities of the scored classes."""
        return expit(raw) if self.n_scores == 1 else softmax(raw, axis=0)

    def targets(self, raw: Floats) -> list[Target]:
        """Give the gradients as sums and the second derivatives as weights."""
        shares = self.shares(raw)
        gradient = (self.is_class - shares) * self.weights
        hessian = np.maximum(shares * (1 - shares), 1e-12) * self.weights
        return [_sums(gradient[k : k + 1], hessian[k]) for k in range(self.n_scores)]

    def mean(self, raw: Floats) -> float:
        """Give the mean log loss."""
        shares = self.shares(raw)
        if self.n_scores == 1:
            right = np.where(self.is_class[0] > 0, shares[0], 1 - shares[0])
        else:
            right = shares[self.codes, np.arange(len(self.codes))]
        return float(np.average(-np.log(np.maximum(right, 1e-15)), weights=self.weights))


class AdaBoostMH(Loss):
    """The exponential loss of one-against-all labels; leaves vote for or against every class.

    Half of the initial weight lies on the right classes, the other half on the wrong ones.
    """

    leaf = "votes"

    def __init__(
        self, codes: npt.NDArray[np.int32], n_classes: int, weights: Floats, *, stumps: bool
    ) -> None:
        self.codes = codes
        self.row_weights = weights
        self.n_scores = n_classes
        self.stumps = stumps
        right = np.arange(n_classes)[:, None] == codes
        self.sign = np.where(right, 1.0, -1.0)
        self.first = np.where(right, 0.5, 0.5 / max(1, n_classes - 1)) * weights / weights.sum()
        criterion = criteria.EDGE_STUMP if stumps else criteria.EDGE_TREE
        self.scoring = {
            "by_class": 0,
            "criterion": criterion,
            "centered": 0,
            "strict": 1,
            "many_thresholds": 1,
        }
        self.counted = (weights > 0).astype(np.float64)  # rows without weight do not count

    @property
    def n_groups(self) -> int:
        """One tree votes for all classes."""
        return 1

    def start(self) -> Floats:
        """Begin undecided."""
        return np.zeros(self.n_scores)

    def _weights(self, raw: Floats) -> Floats:
        """Give the weight of every row and class, one in total."""
        margin = self.sign * raw
        # Counted from the smallest: margins grow without bound, what matters are differences.
        # Rows of no weight may lie lower still: they must not overflow.
        smallest = margin[self.first > 0].min()
        weights = self.first * np.exp(np.minimum(smallest - margin, 0.0))
        return weights / weights.sum()

    def targets(self, raw: Floats) -> list[Target]:
        """Give the signed weights, scaled to about one each so that float32 is enough."""
        edges = self._weights(raw) * self.sign
        return [_sums(edges * (self.counted.sum() * self.n_scores), self.counted)]

    def leaf_values(
        self, values: Floats, leaves: npt.NDArray[np.int32], raw: Floats, rate: float
    ) -> Floats | None:
        """Weigh a tree's votes by its edge; end when it does no better than chance."""
        signed = self._weights(raw) * self.sign
        if self.stumps and len(values) == 2:
            difference = signed[:, leaves == 0].sum(axis=1) - signed[:, leaves == 1].sum(axis=1)
            votes = np.where(difference >= 0, 1.0, -1.0)
            values = np.array([votes, -votes])
        edge = float((signed * values[leaves].T).sum())
        if edge <= 0.0:
            return None
        edge = min(edge, _MOST_CERTAIN)
        return values * (rate * 0.5 * np.log((1 + edge) / (1 - edge)))

    def mean(self, raw: Floats) -> float:
        """Give the share of wrong rows, then a little of the exponential loss to break ties."""
        wrong = np.average(np.argmax(raw, axis=0) != self.codes, weights=self.row_weights)
        margin = np.clip(self.sign * raw, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
        return float(wrong + 1e-6 * np.tanh((self.first * np.exp(-margin)).sum()))
