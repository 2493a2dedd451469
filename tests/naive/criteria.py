"""The split scores as float64 formulas over the sums of the two sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.engine.criteria import (
    EDGE_STUMP,
    EDGE_TREE,
    GINI,
    INFORMATION,
    KEARNS_MANSOUR,
    NORMALIZED,
    RATIO,
    SQUARES,
)

CLASS_CRITERIA = (INFORMATION, NORMALIZED, RATIO, GINI, KEARNS_MANSOUR)
SUM_CRITERIA = (SQUARES, EDGE_STUMP, EDGE_TREE)


def entropy(weights: Any) -> float:
    """Entropy of some weights in bits."""
    shares = np.asarray(weights, np.float64)
    shares = shares[shares > 0] / np.sum(shares)
    return float(-np.sum(shares * np.log2(shares)))


def gini(weights: Any) -> float:
    """Gini impurity of some weights."""
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    return float(1 - np.sum(shares**2))


def roots(weights: Any) -> float:
    """Kearns-Mansour impurity of some weights, summed over classes."""
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    return float(np.sum(np.sqrt(shares * (1 - shares))))


def squares(sums: Any, weight: float, l2: float) -> float:
    """Squared sums over the weight, summed over target columns."""
    return float(np.sum(np.asarray(sums, np.float64) ** 2) / (weight + l2))


def score(
    left: Any,
    right: Any,
    weights: tuple[float, float],
    criterion: int,
    *,
    l2: float = 0.0,
    known: float = 1.0,
) -> float:
    """Score a split by the statistics and weights of its two sides."""
    left, right = np.asarray(left, np.float64), np.asarray(right, np.float64)
    left_weight, right_weight = weights
    both, weight = left + right, left_weight + right_weight
    if criterion in CLASS_CRITERIA:
        impurity = {GINI: gini, KEARNS_MANSOUR: roots}.get(criterion, entropy)
        within = left_weight * impurity(left) + right_weight * impurity(right)
        gain = weight * impurity(both) - within
        sides = weight * entropy([left_weight, right_weight])
        if criterion == NORMALIZED:
            return known * 2 * gain / (sides + weight * entropy(both))
        if criterion == RATIO:
            return known * gain / sides
        return gain
    if criterion == SQUARES:
        after = squares(left, left_weight, l2) + squares(right, right_weight, l2)
        return after - squares(both, weight, l2)
    if criterion == EDGE_STUMP:
        return float(np.sum(np.abs(left - right)))
    return float(np.sum(np.abs(left)) + np.sum(np.abs(right)) - np.sum(np.abs(both)))
