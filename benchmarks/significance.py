"""Tests of the publications and of comparisons over several sets.

Wilcoxon's matched pairs (path encodings), the paired t-test at 95% (kernel features) and one
standard deviation apart (path encodings again) judge pairs. Friedman's test and Nemenyi's critical
difference judge many methods over many sets by their ranks; pairs are judged by Wilcoxon's test
with Holm's correction beside it (Demšar, 2006; Benavoli, Corani and Mangili, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import (
    binomtest,
    fisher_exact,
    friedmanchisquare,
    norm,
    rankdata,
    studentized_range,
    ttest_rel,
    wilcoxon,
)

LEVEL = 0.05
CHANCE = 0.023  # of being above by two standard errors where nothing differs


def pairs_of(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the pairs of which both are there."""
    both = np.isfinite(ours) & np.isfinite(theirs)
    return ours[both], theirs[both]


def wilcoxon_p(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's matched pairs, 1 where no pair differs."""
    ours, theirs = pairs_of(ours, theirs)
    if not len(ours) or not np.any(ours != theirs):
        return 1.0
    return float(wilcoxon(ours, theirs).pvalue)


def share_sentence(wins: int, losses: int, share: float, total: int) -> str:
    """Say how often chance makes two shares of wins differ so much: ours and a published one.

    Parameters
    ----------
    wins, losses : int
        Ours.
    share : float
        Published share of wins.
    total : int
        Number of published wins and losses; 0 where it is not known, and the share is a guess.
    """
    if total:
        theirs = round(share * total)
        p = fisher_exact([[wins, losses], [theirs, total - theirs]]).pvalue
        chance = ", which chance can explain" if p >= LEVEL else ""
        return f"two shares that differ so much have p = {p:.2g} by Fisher's exact test{chance}"
    p = binomtest(wins, max(1, wins + losses), 0.5).pvalue
    chance = ", which chance can explain" if p >= LEVEL else ""
    return f"a share so far from one half has p = {p:.2g} by the sign test{chance}"


def wilcoxon_sentence(ours: np.ndarray, theirs: np.ndarray, published: str = "") -> str:
    """Say what Wilcoxon's test finds, beside the published p-value."""
    count = len(pairs_of(ours, theirs)[0])
    beside = f" (published: {published})" if published else ""
    found = wilcoxon_p(ours, theirs)
    return f"Wilcoxon's matched pairs over {count} sets: p = {found:.2g}{beside}."


def t_test(ours: np.ndarray, theirs: np.ndarray, level: float = LEVEL) -> str:
    """Judge errors of the same splits by the paired t-test.

    Parameters
    ----------
    ours, theirs : ndarray
        Errors on the same splits; NaN where there is none.
    level : float, default=0.05
        A smaller p-value is a win or a loss.

    Returns
    -------
    {"win", "draw", "loss", ""}
        Empty with fewer than two pairs.
    """
    ours, theirs = pairs_of(ours, theirs)
    if len(ours) < 2:
        return ""
    difference = ours - theirs
    # Equal differences have no spread, for which the test has no answer.
    if np.ptp(difference) == 0:
        return "draw" if difference[0] == 0 else ("win" if difference[0] < 0 else "loss")
    if ttest_rel(ours, theirs).pvalue >= level:
        return "draw"
    return "win" if difference.mean() < 0 else "loss"


def noise_of_both(error: float, n_ours: int, n_published: int) -> float:
    """Return the standard error of ours minus a published mean, whose splits vary as ours do.

    Parameters
    ----------
    error : float
        Standard error of our mean.
    n_ours, n_published : int
        Splits that the means are of.
    """
    return error * float(np.sqrt(1 + n_ours / n_published))


def beside_published(difference: float, noise: float) -> str:
    """Say whether an error minus the published one is a win, a draw within noise, or a loss."""
    if np.isnan(difference):
        return ""
    if abs(difference) <= 2 * noise:
        return "draw"
    return "win" if difference < 0 else "loss"


def beyond_chance(differences: Sequence[float], noises: Sequence[float]) -> np.ndarray:
    """Say which errors are above the published ones though many are compared, by Holm's correction.

    Parameters
    ----------
    differences, noises : sequence of float
        Our errors minus the published ones, and the standard errors of that.
    """
    # Without noise, any difference is one.
    scores = np.asarray(differences, float) / np.maximum(noises, 1e-12)
    return holm(norm.sf(scores)) < LEVEL


def deviations_apart(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Judge higher-is-better scores: a win is a mean minus deviation above the other's plus it."""
    ours, theirs = pairs_of(ours, theirs)
    if len(ours) < 2:
        return ""
    gap = ours.mean() - theirs.mean()
    if abs(gap) <= ours.std(ddof=1) + theirs.std(ddof=1):
        return "draw"
    return "win" if gap > 0 else "loss"


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Correct p-values for their number, as Holm does."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected


class Ranking(NamedTuple):
    """Methods over sets, by ranks."""

    labels: list[str]
    ranks: np.ndarray  # mean rank of each method, 1 is the best
    n_sets: int
    critical: float  # Nemenyi's critical difference
    friedman: float  # p-value that all are alike
    pairs: dict[tuple[str, str], float]  # p-values of Wilcoxon's test after Holm's correction


def critical_difference(n_methods: int, n_sets: int, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of mean ranks."""
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def rank_methods(scores: np.ndarray, labels: Sequence[str]) -> Ranking | None:
    """Rank methods by lower scores, over the sets that every method has done.

    Parameters
    ----------
    scores : ndarray of shape (n_sets, n_methods)
        Lower is better; NaN where there is none.
    labels : sequence of str
        Names of the methods.

    Returns
    -------
    Ranking or None
        None with fewer than two sets or methods.
    """
    scores = np.asarray(scores, dtype=float).reshape(-1, len(labels))
    scores = scores[np.isfinite(scores).all(axis=1)]
    n_sets, n_methods = scores.shape
    if n_sets < 2 or n_methods < 2:
        return None
    ranks = rankdata(scores, axis=1).mean(axis=0)
    keys = list(combinations(range(n_methods), 2))
    corrected = holm([wilcoxon_p(scores[:, a], scores[:, b]) for a, b in keys])
    pairs = {(labels[a], labels[b]): float(p) for (a, b), p in zip(keys, corrected, strict=True)}
    alike = bool(np.all(scores == scores[:, :1]))
    friedman = 1.0 if n_methods < 3 or alike else float(friedmanchisquare(*scores.T).pvalue)
    critical = critical_difference(n_methods, n_sets)
    return Ranking(list(labels), ranks, n_sets, critical, friedman, pairs)


def cliques(ranking: Ranking) -> list[tuple[int, int]]:
    """Return the longest runs of methods, in order of rank, that differ by less than the critical.

    Returns
    -------
    list of (first, last)
        Places in the order of mean ranks; single methods are left out.
    """
    ordered = np.sort(ranking.ranks)
    runs: list[tuple[int, int]] = []
    for first in range(len(ordered)):
        last = int(np.searchsorted(ordered, ordered[first] + ranking.critical, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def ranking_sentences(ranking: Ranking) -> str:
    """Say what the tests find."""
    apart = [f"{a} / {b} ({p:.2g})" for (a, b), p in ranking.pairs.items() if p < LEVEL]
    return (
        f"{ranking.n_sets} sets; Friedman's test: p = {ranking.friedman:.2g}; Nemenyi's critical "
        f"difference of mean ranks at 5%: {ranking.critical:.2f}. Pairs apart by Wilcoxon's test "
        f"with Holm's correction: {'; '.join(apart) or 'none'}. The bars of the plot join what "
        "Nemenyi's difference does not part, which is another test: the two may disagree."
    )
