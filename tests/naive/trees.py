"""Grow plain trees, route missing rows, descend and compute leaf values naively."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.naive import level_sets, split
from tests.naive.programs import run

from featurewright.engine.criteria import INFORMATION, RATIO


def gain_settings(settings: Any) -> Any:
    """Return settings that score a split by its gain in units of weight, without limits."""
    plain = settings.copy()
    plain["min_rows"], plain["min_weight"] = 1, 0.0
    plain["side_share"], plain["cut_cost"] = 0.0, 0
    if settings["criterion"] <= RATIO:
        plain["criterion"] = INFORMATION
    return plain


def route_missing(
    x: np.ndarray, sums: split.Sums, settings: Any, threshold: float, *, is_level: bool
) -> tuple[bool, float]:
    """Return whether missing rows go left, and the gain; the larger side if none is missing."""
    missing = np.isnan(x)
    left = split.goes_left(x, threshold, is_level=is_level)
    everyone = np.ones(len(x), bool)
    plain = gain_settings(settings)
    right_gain = split.score(sums, left & ~missing, everyone, plain)
    if not missing.any():
        weight = sums.weights[left].sum()
        return bool(2 * weight >= sums.weights.sum()), right_gain
    left_gain = split.score(sums, left | missing, everyone, plain)
    return bool(left_gain > right_gain), max(left_gain, right_gain)


@dataclass
class Cart:
    """A plain classification or regression tree by exhaustive search."""

    columns: np.ndarray
    sums: split.Sums
    settings: Any
    centered: bool
    tied: bool = False  # whether two splits were equally good anywhere
    gains: list[float] = field(default_factory=list)
    leaves: list[np.ndarray] = field(default_factory=list)

    def grow(self, rows: np.ndarray, depth: int = 0) -> None:
        """Split rows recursively as long as it is allowed."""
        sums = split.Sums(self.sums.statistics[:, rows], self.sums.weights[rows])
        if self.centered:
            sums = split.of_targets(sums.statistics, sums.weights, centered=True)
        present = np.abs(sums.statistics).sum(axis=1) > 1e-9
        pure = present.sum() <= (0 if self.centered else 1)
        too_small = len(rows) < self.settings["min_split"]
        found = []
        if not pure and not too_small and depth < self.settings["max_depth"]:
            for column in self.columns:
                x = column[rows].astype(np.float64)
                for test in split.thresholds(x):
                    score = split.score(sums, x <= test, np.ones(len(x), bool), self.settings)
                    if score > -np.inf:
                        found.append((score, tuple(x <= test)))
        if not found:
            self.leaves.append(rows)
            return
        best, sides = max(found)
        close = {way for score, way in found if score > best - 1e-4 * abs(best) - 1e-6}
        mirrored = {tuple(not side for side in way) for way in close}
        self.tied |= len(close) > 1 and not (len(close) == 2 and close == mirrored)
        left = np.array(sides)
        self.gains.append(
            split.score(sums, left, np.ones(len(rows), bool), gain_settings(self.settings))
        )
        self.grow(rows[left], depth + 1)
        self.grow(rows[~left], depth + 1)


def find_leaf(tree: Any, row: np.ndarray, users: Any = ()) -> int:
    """Return the leaf node that a row reaches."""
    node = 0
    while tree.left[node] >= 0:
        x = run(tree.programs[node], row[:, None], users)[0]
        if np.isnan(x):
            goes_left = bool(tree.missing_left[node])
        elif tree.is_level[node] == 2:  # while it grows, a tree has a set for each node
            goes_left = int(x) in level_sets.members(tree.level_sets[node])
        elif tree.is_level[node]:
            goes_left = x == tree.threshold[node]
        else:
            goes_left = x <= tree.threshold[node]
        node = int(tree.left[node]) + (0 if goes_left else 1)
    return node


def class_values(codes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the weighted class shares of a leaf's rows."""
    shares = np.bincount(codes, weights, minlength=n_classes)
    return shares / shares.sum()


def mean_values(sums: np.ndarray, weights: np.ndarray, l2: float) -> np.ndarray:
    """Return a leaf's target sums divided by its weight plus L2."""
    return sums.astype(np.float64).sum(axis=1) / (weights.astype(np.float64).sum() + l2)


def vote_values(sums: np.ndarray) -> np.ndarray:
    """Return the sign of a leaf's target sums, plus one for zero."""
    return np.where(sums.astype(np.float64).sum(axis=1) >= 0, 1.0, -1.0)
