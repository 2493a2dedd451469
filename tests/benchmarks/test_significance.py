"""Tests of significance against SciPy and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, ttest_rel, wilcoxon
from significance import (
    beside_published,
    beyond_chance,
    cliques,
    critical_difference,
    deviations_apart,
    holm,
    noise_of_both,
    rank_methods,
    ranking_sentences,
    share_sentence,
    t_test,
    wilcoxon_p,
    wilcoxon_sentence,
)

RNG = np.random.default_rng(0)


def test_wilcoxon_leaves_out_pairs_that_miss_one():
    ours, theirs = RNG.random(12), RNG.random(12)
    holed = ours.copy()
    holed[3] = np.nan
    keep = np.arange(12) != 3
    assert wilcoxon_p(holed, theirs) == wilcoxon(ours[keep], theirs[keep]).pvalue
    assert wilcoxon_p(ours, ours) == 1.0
    assert wilcoxon_p(np.array([np.nan]), np.array([1.0])) == 1.0
    assert "over 11 sets" in wilcoxon_sentence(holed, theirs, "0.5")
    assert "(published: 0.5)" in wilcoxon_sentence(holed, theirs, "0.5")


@pytest.mark.parametrize("shift", [-0.4, -0.05, 0.0, 0.05, 0.4])
def test_paired_t_test(shift):
    theirs = RNG.random(10)
    ours = theirs + shift + 0.1 * RNG.random(10)
    expected = "draw"
    if ttest_rel(ours, theirs).pvalue < 0.05:
        expected = "win" if ours.mean() < theirs.mean() else "loss"
    assert t_test(ours, theirs) == expected


def test_t_test_without_spread():
    ones = np.ones(4)
    assert t_test(ones, ones) == "draw"
    assert t_test(ones, ones + 1) == "win"
    assert t_test(ones + 1, ones) == "loss"
    assert t_test(np.array([1.0]), np.array([2.0])) == ""


def test_deviations_apart():
    low = np.array([0.5, 0.6, 0.7])
    assert deviations_apart(low + 1, low) == "win"
    assert deviations_apart(low, low + 1) == "loss"
    assert deviations_apart(low + 0.15, low) == "draw"
    assert deviations_apart(low[:1], low[:1]) == ""


def test_holm_by_its_definition():
    values = RNG.random(7) / 5
    order = np.argsort(values)
    expected, running = np.empty(7), 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, (7 - place) * values[i]))
        expected[i] = running
    np.testing.assert_allclose(holm(values), expected)


@pytest.mark.parametrize(("n_methods", "quantile"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_critical_difference_has_the_known_quantiles(n_methods, quantile):
    expected = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14) == pytest.approx(expected, rel=1e-3)


def test_ranking():
    scores = RNG.random((9, 4))
    scores[2, 1] = scores[2, 0]  # a tie
    holed = np.vstack([scores, [np.nan, 0.1, 0.2, 0.3]])
    found = rank_methods(holed, list("abcd"))
    assert found is not None
    assert found.n_sets == 9
    np.testing.assert_allclose(found.ranks, rankdata(scores, axis=1).mean(axis=0))
    assert found.friedman == pytest.approx(friedmanchisquare(*scores.T).pvalue)
    raw = [wilcoxon_p(scores[:, i], scores[:, j]) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_allclose(list(found.pairs.values()), holm(raw))
    assert "9 sets" in ranking_sentences(found)
    assert rank_methods(scores[:1], list("abcd")) is None


def test_cliques_are_the_longest_runs_within_the_critical_difference():
    found = rank_methods(RNG.random((6, 8)), list("abcdefgh"))
    assert found is not None
    for critical in (0.0, 0.4, 1.0, 2.0, 9.0):
        ranks = np.sort(found.ranks)
        runs = [
            (i, j) for i in range(8) for j in range(i + 1, 8) if ranks[j] - ranks[i] <= critical
        ]
        longest = [
            (i, j)
            for i, j in runs
            if not any((a, b) != (i, j) and a <= i and b >= j for a, b in runs)
        ]
        assert cliques(found._replace(critical=critical)) == longest


def test_shares_that_differ_by_chance_and_not():
    assert "p = 0.15 by Fisher" in share_sentence(20, 19, 23 / 33, 33)
    assert "p = 1 by Fisher" in share_sentence(10, 10, 0.5, 20)
    assert "p = 0.0013 by the sign test" in share_sentence(2, 16, 0.5, 0)


@pytest.mark.parametrize(
    ("difference", "found"),
    [(np.nan, ""), (0.19, "draw"), (-0.19, "draw"), (0.21, "loss"), (-0.21, "win")],
)
def test_beside_a_published_error(difference, found):
    assert beside_published(difference, 0.1) == found


def test_noise_of_ours_and_of_the_published_mean():
    assert noise_of_both(0.1, 50, 50) == pytest.approx(0.1 * np.sqrt(2))
    assert noise_of_both(0.1, 1, 10**9) == pytest.approx(0.1)


def test_one_of_many_that_is_above_may_be_chance():
    noises = np.ones(100)
    one = np.where(np.arange(100) == 7, 2.5, 0.0)
    assert beyond_chance(one[7:8], noises[:1]).all()
    assert not beyond_chance(one, noises).any()
    assert beyond_chance(2 * one, noises).nonzero()[0].tolist() == [7]
    assert not beyond_chance(-2 * one, noises).any()
