"""Search one candidate's splits exhaustively."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from tests.naive import criteria


class Sums(NamedTuple):
    """Statistics of rows: one row per class or target column, and the weights."""

    statistics: np.ndarray  # float64[statistics, rows]
    weights: np.ndarray  # float64[rows]


def of_classes(codes: np.ndarray, weights: np.ndarray) -> Sums:
    """Return one statistic per class present."""
    present = np.unique(codes)
    return Sums((codes == present[:, None]) * np.asarray(weights, np.float64), weights)


def of_targets(sums: np.ndarray, weights: np.ndarray, *, centered: bool) -> Sums:
    """Return one statistic per weighted target column, minus its mean if `centered`."""
    sums, weights = np.asarray(sums, np.float64), np.asarray(weights, np.float64)
    if centered:
        sums = sums - sums.sum(axis=1, keepdims=True) / weights.sum() * weights
    return Sums(sums, weights)


def least_weight(sums: Sums, settings: Any) -> float:
    """Return the weight that each side of a split must exceed: C4.5's share goes up to 25 rows."""
    share = min(float(settings["side_share"]) * float(sums.weights.sum()), 25.0)
    return max(float(settings["min_weight"]), share * (1 - 1e-5) if share else 0.0)


def less_cost(scores: list[float], settings: Any) -> list[float]:
    """Return the scores of different thresholds less the bits that name one of those allowed."""
    n_cuts = sum(score > -np.inf for score in scores)
    if not settings["cut_cost"] or n_cuts == 0:
        return scores
    charged = [score - np.log2(n_cuts) for score in scores]
    return [score if score > 0 else -np.inf for score in charged]


def score(sums: Sums, goes_left: np.ndarray, known: np.ndarray, settings: Any) -> float:
    """Return the score of a split of the known rows; -inf if it is not allowed."""
    left, right = known & goes_left, known & ~goes_left
    weights = (float(sums.weights[left].sum()), float(sums.weights[right].sum()))
    least = max(1, int(settings["min_rows"]))
    if min(left.sum(), right.sum()) < least or min(weights) <= least_weight(sums, settings):
        return -np.inf
    return criteria.score(
        sums.statistics[:, left].sum(axis=1),
        sums.statistics[:, right].sum(axis=1),
        weights,
        int(settings["criterion"]),
        l2=float(settings["l2"]),
        known=sum(weights) / float(sums.weights.sum()),
    )


def goes_left(x: np.ndarray, threshold: float, *, is_level: bool) -> np.ndarray:
    """Return which values pass a test."""
    return x == threshold if is_level else x <= threshold


def score_test(
    x: np.ndarray, sums: Sums, settings: Any, test: float, *, is_level: bool = False
) -> float:
    """Return the score of a threshold or level; an infinite one separates missing values."""
    known = ~np.isnan(x)
    if np.isinf(test):
        return score(sums, known, np.ones(len(x), bool), settings)
    return score(sums, goes_left(x, test, is_level=is_level), known, settings)


def thresholds(x: np.ndarray) -> list[float]:
    """Return the midpoints between neighbouring distinct values."""
    distinct = np.unique(x[~np.isnan(x)].astype(np.float64))
    return [0.5 * (a + b) for a, b in pairwise(distinct)]


def score_routed(
    x: np.ndarray, sums: Sums, settings: Any, test: float, *, is_level: bool = False
) -> float:
    """Return the score of a threshold or level on all rows, missing ones on the better side."""
    missing = np.isnan(x)
    left = goes_left(x, test, is_level=is_level)
    everyone = np.ones(len(x), bool)
    return max(score(sums, side, everyone, settings) for side in (left, left | missing))


def best(
    x: np.ndarray, sums: Sums, settings: Any, *, tests: Iterable[float], is_level: bool = False
) -> tuple[float, float]:
    """Return the highest score of known values among thresholds or levels, and its test."""
    wide = x.astype(np.float64)
    tests = list(tests)
    scores = [score_test(wide, sums, settings, test, is_level=is_level) for test in tests]
    if not is_level:
        scores = less_cost(scores, settings)
    scored = zip(scores, tests, strict=True)
    return max(scored, key=lambda pair: pair[0], default=(-np.inf, np.nan))


def between_bins(x: np.ndarray, codes: np.ndarray) -> list[float]:
    """Return the midpoints between the last value of each bin and the first one after it."""
    known = ~np.isnan(x)
    wide, codes = x[known].astype(np.float64), codes[known]
    cuts = [(wide[codes <= b].max(), wide[codes > b].min()) for b in np.unique(codes)[:-1]]
    return [0.5 * (below + above) for below, above in cuts]
