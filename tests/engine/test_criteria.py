"""Split scores equal their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import criteria as naive
from tests.naive.criteria import CLASS_CRITERIA, SUM_CRITERIA

from featurewright.engine.buffers import MAX_BINS
from featurewright.engine.criteria import (
    CRITERIA,
    MAX_TABLE_WEIGHT,
    NORMALIZED,
    RATIO,
    SQUARES,
    log2_of,
    score_boundaries,
    score_boundary,
    xlogx,
)

N_BINS = 32


def as_arrays(left, total):
    """Put statistics and weights into arrays of the shapes that growing trees use."""
    wide = np.zeros((len(left) + 1, MAX_BINS + 1), np.float32)
    wide[: len(left), : left.shape[1]] = left
    return wide, np.append(total, 0).astype(np.float32)


def class_sums(rng, n_stats: int, weight: float, *, whole: bool):
    """Draw class sums left of each boundary, both sides never empty; the weight last."""
    total = rng.integers(1, max(2, weight), n_stats).astype(np.float64)
    left = np.round(rng.random((n_stats, N_BINS)) * total[:, None])
    if not whole:
        total = total * (0.5 + rng.random(n_stats))
        left = rng.random((n_stats, N_BINS)) * total[:, None]
    left[0] = np.clip(left[0], 0.5 * (1 + whole), None)
    total[0] += 1
    left = np.vstack([left, left.sum(axis=0)]).astype(np.float32)
    return left, np.append(total, total.sum()).astype(np.float32)


def number_sums(rng, n_stats: int, weight: float):
    """Draw target sums left of each boundary and weights; the weight last."""
    total = np.append(rng.normal(size=n_stats) * weight, weight)
    left = rng.normal(size=(n_stats, N_BINS)) * weight
    parts = weight * (0.02 + 0.96 * rng.random(N_BINS))
    return np.vstack([left, parts]).astype(np.float32), total.astype(np.float32)


def expected_scores(left, total, criterion: int, l2: float, known: float) -> np.ndarray:
    left, total = left.astype(np.float64), total.astype(np.float64)
    return np.array(
        [
            naive.score(
                x[:-1],
                total[:-1] - x[:-1],
                (x[-1], total[-1] - x[-1]),
                criterion,
                l2=l2,
                known=known,
            )
            for x in left.T
        ]
    )


def actual_scores(left, total, criterion: int, l2: float, known: float) -> np.ndarray:
    wide, padded_total = as_arrays(left, total)
    out = np.empty(MAX_BINS + 1, np.float32)
    score_boundaries(
        wide, padded_total, len(left) - 1, N_BINS, criterion, np.float32(l2), np.float32(known), out
    )
    return out[:N_BINS]


def single_scores(left, total, criterion: int, l2: float, known: float, *, whole: int):
    out = []
    for b in range(left.shape[1]):
        wide, padded_total = as_arrays(left[:, b : b + 1], total)
        scratch = np.empty(MAX_BINS + 1, np.float32)
        out.append(
            score_boundary(
                wide, padded_total, len(left) - 1, criterion, np.float32(l2), np.float32(known),
                whole, scratch,
            )
        )  # fmt: skip
    return np.array(out)


def tolerance(left, total, criterion: int):
    """Rounding of float32 sums of x log2 x, over the denominator where there is one."""
    weight = float(total[-1])
    slack = 3e-6 * weight * (1 + np.log2(1 + weight))
    if criterion not in (NORMALIZED, RATIO):
        return slack
    sides = [weight * naive.entropy([x, weight - x]) for x in left[-1].astype(np.float64)]
    return slack / np.array(sides)


cases = st.tuples(st.integers(0, 10**6), st.integers(1, 8), st.floats(2, 500))


@given(cases, st.sampled_from(CLASS_CRITERIA), st.booleans(), st.floats(0.01, 1))
def test_class_criteria(case, criterion, whole, known):
    seed, n_stats, weight = case
    left, total = class_sums(np.random.default_rng(seed), n_stats, weight, whole=whole)
    expected = expected_scores(left, total, criterion, 0.0, known)
    slack = tolerance(left, total, criterion)
    actual = actual_scores(left, total, criterion, 0.0, known)
    assert (np.abs(actual - expected) <= slack).all()
    alone = single_scores(left, total, criterion, 0.0, known, whole=0)
    assert (np.abs(alone - expected) <= slack).all()
    if whole:
        looked_up = single_scores(left, total, criterion, 0.0, known, whole=1)
        assert (np.abs(looked_up - expected) <= slack).all()


@given(cases, st.sampled_from(SUM_CRITERIA), st.sampled_from([0.0, 1.0, 10.0]))
def test_sum_criteria(case, criterion, l2):
    seed, n_stats, weight = case
    left, total = number_sums(np.random.default_rng(seed), n_stats, weight)
    expected = expected_scores(left, total, criterion, l2, 1.0)
    actual = actual_scores(left, total, criterion, l2, 1.0)
    scale = np.abs(expected).max() + np.abs(total).max()
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5 * scale)
    alone = single_scores(left, total, criterion, l2, 1.0, whole=0)
    np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
def test_a_split_that_separates_scores_highest(criterion):
    total = np.array([10, 6, 16], np.float32)
    lefts = np.array([[10, 0, 10], [0, 6, 6], [9, 0, 9], [5, 3, 8], [10, 1, 11]], np.float32).T
    left = np.repeat(lefts[:, :1], N_BINS, axis=1)
    left[:, : lefts.shape[1]] = lefts
    scores = actual_scores(left, total, criterion, 0.0, 1.0)
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)
    assert scores[:2].min() > scores[2:5].max()
    assert scores[3] == pytest.approx(0, abs=1e-4)
    if criterion in (NORMALIZED, RATIO):
        assert scores[0] == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, SQUARES])
def test_a_gain_is_worth_the_share_of_squares_that_the_table_says(criterion):
    apart, half = 0.02, 100.0  # of two classes that weigh the same, on sides that weigh the same
    total = np.array([half, half, 2 * half])
    left = np.array([[(1 + apart) * half / 2], [(1 - apart) * half / 2], [half]])
    unit = 1.0 if criterion in (NORMALIZED, RATIO) else 2 * half  # ratios have none
    if criterion == SQUARES:  # of one column of -1 and 1, whose sum of squares is the weight
        total, left = np.array([0.0, 2 * half]), np.array([[apart * half], [half]])
    (gain,) = expected_scores(left, total, criterion, 0.0, 1.0) / unit
    assert gain * CRITERIA[criterion].square_share == pytest.approx(apart**2, rel=1e-3)


@pytest.mark.parametrize(
    "weight", [MAX_TABLE_WEIGHT - 1, MAX_TABLE_WEIGHT, MAX_TABLE_WEIGHT + 1, 10**6]
)
def test_the_table_of_whole_weights_ends_where_it_says(weight):
    total = np.array([weight // 3, weight - weight // 3, weight], np.float32)
    left = np.array([[1], [weight // 2], [1 + weight // 2]], np.float32)
    expected = expected_scores(left, total, 0, 0.0, 1.0)
    actual = single_scores(left, total, 0, 0.0, 1.0, whole=1)
    np.testing.assert_allclose(actual, expected, rtol=1e-4)


def test_logarithms_are_close():
    mantissas = np.linspace(0.5, 2, 20_001).astype(np.float32)
    sizes = np.float32(2) ** np.arange(-126, 128, dtype=np.float32)
    for x in np.concatenate([mantissas, sizes, sizes[1:] * np.float32(0.75)]):
        expected = np.log2(np.float64(x))
        assert abs(log2_of(x) - expected) <= 1e-6 + np.spacing(np.float32(abs(expected)))


def test_whole_powers_have_exact_logarithms():
    for exponent in range(25):
        assert log2_of(np.float32(2**exponent)) == exponent


def test_nothing_weighs_nothing():
    for x in (0.0, -0.0, -1e-6, -5.0):
        assert xlogx(np.float32(x)) == 0
