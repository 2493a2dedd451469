"""Split the levels of a category into two sets naively."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tests.naive import split

from featurewright.engine.criteria import GINI, INFORMATION, RATIO, SQUARES

SMOOTHING = 10.0
LEAST_ROWS = 4
OWN_BINS = 32
MOST_BINS = 128


class Best(NamedTuple):
    """The best split of a category: its score, -inf if there is none, and the lighter side."""

    score: float
    levels: frozenset[int]


def members(words: np.ndarray) -> set[int]:
    """Return the levels of a set of bits."""
    return {32 * k + b for k, word in enumerate(words.tolist()) for b in range(32) if word >> b & 1}


def groups_of(x: np.ndarray) -> list[list[int]]:
    """Return the levels present; those of few rows are one group."""
    levels, counts = np.unique(x[~np.isnan(x)].astype(int), return_counts=True)
    rare = levels[counts < LEAST_ROWS].tolist()
    return [[level] for level in levels[counts >= LEAST_ROWS].tolist()] + ([rare] if rare else [])


def sums_of_groups(x: np.ndarray, sums: split.Sums) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight and the statistics of each group of levels."""
    goes = [np.isin(x, group) for group in groups_of(x)]
    weights = np.array([sums.weights[rows].sum() for rows in goes])
    return weights, np.array([sums.statistics[:, rows].sum(axis=1) for rows in goes])


def widest(x: np.ndarray, sums: split.Sums) -> int:
    """Return the statistic whose means differ most among levels."""
    weights, by_group = sums_of_groups(x, sums)
    spread = (by_group**2 / weights[:, None]).sum(axis=0) - by_group.sum(axis=0) ** 2 / sum(weights)
    return int(np.argmax(spread))


def sorted_groups(x: np.ndarray, sums: split.Sums) -> list[list[int]]:
    """Return the levels by their smoothed means of the statistic whose means differ most."""
    groups = groups_of(x)
    weights, by_group = sums_of_groups(x, sums)
    chosen = by_group[:, widest(x, sums)]
    mean = chosen.sum() / weights.sum()
    means = (chosen + SMOOTHING * mean) / (weights + SMOOTHING)
    return [group for _, group in sorted(zip(means, groups, strict=True))]


def bins_of(count: int) -> list[int]:
    """Return the bins of sorted levels: their own, except in the middle if there are many."""
    if count <= MOST_BINS:
        return list(range(count))
    middle = count - 2 * OWN_BINS
    shared = [OWN_BINS + k * (MOST_BINS - 2 * OWN_BINS) // middle for k in range(middle)]
    return [*range(OWN_BINS), *shared, *range(MOST_BINS - OWN_BINS, MOST_BINS)]


def chance(x: np.ndarray, sums: split.Sums, settings: Any, levels: frozenset[int]) -> float:
    """Return the gain expected of the best set of so many levels, if they mean nothing."""
    count = len(groups_of(x))
    few = sum(set(group) <= levels for group in groups_of(x))
    few = min(few, count - few)
    each = min(2 / np.pi * (count - 1), 2 * (few - 1) * (1 + np.log(count / few)))
    criterion, known, weight = int(settings["criterion"]), ~np.isnan(x), sums.weights.sum()
    if settings["by_class"]:
        each *= (sums.weights**2).sum() / weight
    if criterion <= RATIO:
        return float(each / (2 * np.log(2)))
    if criterion == GINI:
        shares = sums.statistics[:, known].sum(axis=1) / sums.weights[known].sum()
        return float(each * (1 - (shares**2).sum()))
    if criterion == SQUARES:
        values = sums.statistics[widest(x, sums)]
        return float(each * ((values - values.sum() / weight * sums.weights) ** 2).sum() / weight)
    return 0.0


def score_set(x: np.ndarray, sums: split.Sums, settings: Any, levels: frozenset[int]) -> float:
    """Return the score of a set of levels, lessened by what is due to chance."""
    known, goes = ~np.isnan(x), np.isin(x, list(levels))
    plain = settings.copy()
    plain["min_rows"], plain["min_weight"], plain["side_share"] = 1, 0.0, 0.0
    if plain["criterion"] <= RATIO:
        plain["criterion"] = INFORMATION
    gain = split.score(sums, goes, known, plain)
    lost = chance(x, sums, settings, levels)
    if not gain > lost:
        return -np.inf
    return split.score(sums, goes, known, settings) * (1 - lost / gain)


def best(x: np.ndarray, sums: split.Sums, settings: Any) -> Best:
    """Return the best split of known levels, its score lessened by what is due to chance."""
    known = ~np.isnan(x)
    groups = sorted_groups(x, sums)
    bins = bins_of(len(groups))
    found = Best(-np.inf, frozenset())
    for last in sorted(set(bins))[:-1]:
        sides: tuple[list[int], list[int]] = ([], [])
        for group, b in zip(groups, bins, strict=True):
            sides[b > last].extend(group)
        goes = np.isin(x, sides[0])
        score = split.score(sums, goes, known, settings)
        if score > found.score:
            light = 2 * sums.weights[goes].sum() <= sums.weights[known].sum()
            found = Best(score, frozenset(sides[0] if light else sides[1]))
    if not found.levels:
        return found
    return found._replace(score=score_set(x, sums, settings, found.levels))
