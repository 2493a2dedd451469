"""Trees by the rules of C4.5 (release 8), to tell what is the rules' doing and what ours.

Slow and plain NumPy: for comparisons beside publications whose trees were those of C4.5 or J48.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

LEAST_ROWS = 2.0  # on each side of a split, by weight
LEAST_SHARE = 0.1  # of a node's rows for each class, on each side,
MOST_OF_SHARE = 25.0  # but no more than this many
_NEAR = 1e-5  # values nearer than this are the same
_SLACK = 1e-3  # below the mean gain
_WORTH_A_TREE = 0.1  # errors that a subtree must save


def times_log(weights: np.ndarray) -> np.ndarray:
    """Return x log2 x, 0 for 0."""
    return weights * np.log2(np.maximum(weights, 1e-300))


def entropy(weights: np.ndarray) -> np.ndarray:
    """Return the entropy of class weights along the last axis, times their sum."""
    return times_log(weights.sum(axis=-1)) - times_log(weights).sum(axis=-1)


class C45(ClassifierMixin, BaseEstimator):
    """A tree grown by the rules of C4.5 from numbers without missing values.

    A cut needs some rows on both sides: two, or a tenth of the rows per class up to 25. The gain of
    a column's best cut is lessened by what it costs to say which cut it is; a column without gain
    left is not used. Of the columns whose gain is not below the mean, the one with the highest gain
    ratio is split on. Subtrees that err no less than a leaf are made one.

    Parameters
    ----------
    confidence : float, optional
        Prune as well: a subtree becomes a leaf if its leaves are not expected to err less, by the
        upper limit of a binomial share at this confidence (0.25 in C4.5 and J48). No subtree is
        put in the place of its parent.
    """

    def __init__(self, confidence: float | None = None) -> None:
        self.confidence = confidence

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        if not weights.sum() > 0.0:
            raise ValueError("All sample weights are zero; some must be larger.")
        sums = np.zeros((len(X), len(self.classes_)))
        sums[np.arange(len(X)), codes] = weights * len(X) / weights.sum()
        columns, cuts, children, leaves, errors, sizes = [], [], [], [], [], []
        waiting = [np.arange(len(X))]
        while len(columns) < len(waiting):
            rows = waiting[len(columns)]
            total = sums[rows].sum(axis=0)
            column, cut = choose_cut(X[rows], sums[rows], total)
            columns.append(column)
            cuts.append(cut)
            leaves.append(total / total.sum())
            errors.append(total.sum() - total.max())
            sizes.append(total.sum())
            children.append(len(waiting))
            if column >= 0:
                left = X[rows, column] <= cut
                waiting += [rows[left], rows[~left]]
        for node in reversed(range(len(columns))):
            if columns[node] >= 0:
                below = errors[children[node]] + errors[children[node] + 1]
                if below >= errors[node] - _SLACK:
                    columns[node] = -1
                errors[node] = min(errors[node], below)
        if self.confidence is not None:
            prune(columns, children, sizes, leaves, self.confidence)
        self.columns_, self.cuts_ = np.array(columns), np.array(cuts)
        self.children_, self.leaves_ = np.array(children), np.array(leaves)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the shares of the classes in the rows' leaves."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        nodes = np.zeros(len(X), dtype=int)
        inner = np.flatnonzero(self.columns_[nodes] >= 0)
        while len(inner):
            here = nodes[inner]
            right = X[inner, self.columns_[here]] > self.cuts_[here]
            nodes[inner] = self.children_[here] + right
            inner = inner[self.columns_[nodes[inner]] >= 0]
        return self.leaves_[nodes]

    def predict(self, X: Any) -> np.ndarray:
        """Return the most frequent class of the rows' leaves."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class SubspaceC45(C45):
    """The same on columns drawn with replacement, of which some come twice and count once.

    It is given half of the columns of a table, drawn without replacement, and the columns to keep
    in any case behind them. As many of that half go unused as would not have been drawn.
    """

    def __init__(
        self, n_kept: int = 0, random_state: Any = None, confidence: float | None = None
    ) -> None:
        super().__init__(confidence)
        self.n_kept = n_kept
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree; columns that it does not use are constant to it."""
        X = np.array(X, dtype=np.float64)
        random, half = check_random_state(self.random_state), X.shape[1] - self.n_kept
        distinct = len(np.unique(random.randint(2 * half, size=half)))
        X[:, random.permutation(half)[distinct:]] = 0.0
        return super().fit(X, y, sample_weight)


def expected_errors(size: float, errors: float, confidence: float) -> float:
    """Return the errors to expect of a leaf: the upper limit of a binomial share, times its rows.

    Parameters
    ----------
    size, errors : float
        Rows of the leaf, and those of them that are not of its class.
    confidence : float
        Chance that so few errors are seen, or fewer, where the share is the limit.
    """
    if errors < 1.0:
        none = size * (1.0 - confidence ** (1.0 / size))
        return (
            none
            if errors <= 0.0
            else none + errors * (expected_errors(size, 1.0, confidence) - none)
        )
    if errors + 0.5 >= size:
        return size
    z = norm.isf(confidence)
    share = (errors + 0.5) / size
    spread = np.sqrt(share / size - share**2 / size + z**2 / (4 * size**2))
    return float(size * (share + z**2 / (2 * size) + z * spread) / (1 + z**2 / size))


def prune(
    columns: list[int],
    children: list[int],
    sizes: list[float],
    leaves: list[np.ndarray],
    confidence: float,
) -> None:
    """Make leaves of subtrees that are not expected to err less; children come after parents."""
    expected = [0.0] * len(columns)
    for node in reversed(range(len(columns))):
        errors = sizes[node] * (1.0 - leaves[node].max())
        expected[node] = expected_errors(sizes[node], errors, confidence)
        if columns[node] < 0:
            continue
        below = expected[children[node]] + expected[children[node] + 1]
        if expected[node] <= below + _WORTH_A_TREE:
            columns[node] = -1
        else:
            expected[node] = below


def choose_cut(X: np.ndarray, sums: np.ndarray, total: np.ndarray) -> tuple[int, float]:
    """Choose the column and the cut of a node; column -1 makes it a leaf.

    Parameters
    ----------
    X : ndarray
        The node's rows.
    sums : ndarray
        The weight of each row in the column of its class.
    total : ndarray
        The weight of each class.
    """
    weight = total.sum()
    if weight < 2 * LEAST_ROWS or total.max() >= weight - _NEAR:
        return -1, np.nan
    least = min(max(LEAST_SHARE * weight / len(total), LEAST_ROWS), MOST_OF_SHARE)
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    left = np.cumsum(sums[order], axis=0)[:-1]  # rows, columns, classes
    part = left.sum(axis=-1)
    allowed = values[1:] > values[:-1] + _NEAR
    allowed &= (part >= least - _NEAR) & (weight - part >= least - _NEAR)
    n_cuts = allowed.sum(axis=0)
    if not n_cuts.any():
        return -1, np.nan
    within = entropy(np.maximum(left, 0.0)) + entropy(np.maximum(total - left, 0.0))
    gains = np.where(allowed, (entropy(total) - within) / weight, -np.inf)
    places = gains.argmax(axis=0)
    every = np.arange(X.shape[1])
    gain = gains[places, every] - np.log2(np.maximum(n_cuts, 1)) / weight
    useful = (n_cuts > 0) & (gain > _NEAR)
    if not useful.any():
        return -1, np.nan
    sides = np.stack([part[places, every], weight - part[places, every]], axis=-1)
    ratios = gain * weight / np.maximum(entropy(sides), _NEAR)
    useful &= gain >= gain[useful].mean() - _SLACK
    column = int(np.where(useful, ratios, -np.inf).argmax())
    place = places[column]
    return column, float(values[place, column] + values[place + 1, column]) / 2
