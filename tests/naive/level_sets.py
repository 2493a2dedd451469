"""Split the levels of a category into two sets naively."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tests.naive import split

from featurewright.engine.criteria import GINI, INFORMATION, RATIO, SQUARES

SMOOTHING = 10.0
MOST_BINS = 128


class Best(NamedTuple):
    """The best split of a category: its score, -inf if there is none, and the lighter side."""

    score: float
    levels: frozenset[int]


def members(words: np.ndarray) -> set[int]:
    """Return the levels of a set of bits."""
    return {32 * k + b for k, word in enumerate(words.tolist()) for b in range(32) if word >> b & 1}


def sorted_levels(x: np.ndarray, sums: split.Sums) -> list[int]:
    """Return the levels by their smoothed means of the statistic whose means differ most."""
    present = np.unique(x[~np.isnan(x)]).astype(int)
    weights = np.array([sums.weights[x == level].sum() for level in present])
    by_level = np.array([sums.statistics[:, x == level].sum(axis=1) for level in present])
    spread = (by_level**2 / weights[:, None]).sum(axis=0) - by_level.sum(axis=0) ** 2 / sum(weights)
    chosen = by_level[:, np.argmax(spread)]
    mean = chosen.sum() / weights.sum()
    means = (chosen + SMOOTHING * mean) / (weights + SMOOTHING)
    return [int(level) for _, level in sorted(zip(means, present, strict=True))]


def bin_of_levels(x: np.ndarray, levels: list[int]) -> list[int]:
    """Return the bins of sorted levels: their own, or bins of about as many rows."""
    if len(levels) <= MOST_BINS:
        return list(range(len(levels)))
    counts = np.array([(x == level).sum() for level in levels])
    before = np.cumsum(counts) - counts
    return [int(np.float32(b) / np.float32(counts.sum()) * np.float32(MOST_BINS)) for b in before]


def chance(n_levels: int, sums: split.Sums, known: np.ndarray, settings: Any) -> float:
    """Return the gain that is expected of levels that mean nothing."""
    each = 2 / np.pi * (n_levels - 1)
    criterion = int(settings["criterion"])
    if criterion <= RATIO:
        return each / (2 * np.log(2))
    if criterion == GINI:
        shares = sums.statistics[:, known].sum(axis=1) / sums.weights[known].sum()
        return float(each * (1 - (shares**2).sum()))
    if criterion == SQUARES:
        return float(each * np.mean(sums.statistics[0] ** 2 / sums.weights))
    return 0.0


def score_set(x: np.ndarray, sums: split.Sums, settings: Any, levels: frozenset[int]) -> float:
    """Return the score of a set of levels, lessened by what is due to chance."""
    known, goes = ~np.isnan(x), np.isin(x, list(levels))
    plain = settings.copy()
    plain["min_rows"], plain["min_weight"], plain["side_share"] = 1, 0.0, 0.0
    if plain["criterion"] <= RATIO:
        plain["criterion"] = INFORMATION
    gain = split.score(sums, goes, known, plain)
    lost = chance(len(np.unique(x[known])), sums, known, settings)
    if not gain > lost:
        return -np.inf
    return split.score(sums, goes, known, settings) * (1 - lost / gain)


def best(x: np.ndarray, sums: split.Sums, settings: Any) -> Best:
    """Return the best split of known levels, its score lessened by what is due to chance."""
    known = ~np.isnan(x)
    levels = sorted_levels(x, sums)
    bins = bin_of_levels(x, levels)
    found = Best(-np.inf, frozenset())
    for last in sorted(set(bins))[:-1]:
        left = [level for level, b in zip(levels, bins, strict=True) if b <= last]
        goes = np.isin(x, left)
        score = split.score(sums, goes, known, settings)
        if score > found.score:
            light = 2 * sums.weights[goes].sum() <= sums.weights[known].sum()
            side = left if light else [level for level in levels if level not in left]
            found = Best(score, frozenset(side))
    return found._replace(score=score_set(x, sums, settings, found.levels))
