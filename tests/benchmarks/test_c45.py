"""Trees by the rules of C4.5 do what the rules say."""

import numpy as np
import pytest
from c45 import C45, SubspaceC45, choose_cut, expected_errors
from scipy.stats import binom

from featurewright import KernelFeatureEnsembleClassifier


def cut(X, y, weights=None):
    """Choose the first cut of a table of two classes."""
    sums = np.zeros((len(y), 2))
    sums[np.arange(len(y)), y] = 1.0 if weights is None else weights
    return choose_cut(np.asarray(X, float).reshape(len(y), -1), sums, sums.sum(axis=0))


def test_a_cut_needs_a_tenth_of_the_rows_per_class_on_both_sides():
    n = 100
    for rows, allowed in ((4, False), (5, True)):
        y = (np.arange(n) < rows).astype(int)
        column, place = cut(np.arange(n), y)
        assert column == 0
        assert (place == rows - 0.5) == allowed
    y = (np.arange(2000) < 25).astype(int)  # 25 rows are always enough
    assert cut(np.arange(2000), y) == (0, 24.5)


def test_a_gain_that_does_not_pay_for_naming_the_cut_is_none():
    y = np.array([0, 1] * 8)
    assert cut(np.arange(16), y)[0] == -1
    assert cut(np.repeat([0, 1], 8), np.repeat([0, 1], 8)) == (0, 0.5)


def test_of_columns_with_gain_the_ratio_decides():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    strong = np.where(rng.random(100) < 0.1, 1 - y, y)
    noise = rng.random(100)
    assert cut(np.column_stack([noise, strong]), y) == (1, 0.5)


def test_weights_count_as_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X[:, 0] += y
    times = rng.integers(1, 4, 60)
    assert cut(X, y, times) == cut(np.repeat(X, times, axis=0), np.repeat(y, times))


def test_nothing_is_left_of_a_tree_that_errs_as_a_leaf():
    X = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.r_[np.repeat([0, 1], [14, 6]), np.repeat([0, 1], [19, 1])]
    assert cut(X, y)[0] == 0
    assert C45().fit(X, y).columns_.tolist()[0] == -1


@pytest.mark.parametrize("method", ["random_subspace", "bagging", "adaboost", "kernel_only"])
def test_ensembles_of_them_learn(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X**2).sum(axis=1) > 3.4
    ensemble = KernelFeatureEnsembleClassifier(
        C45(), method=method, n_estimators=20, width=4.0, random_state=0
    )
    assert ensemble.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.85


def test_weights_are_taken_in_units_of_their_mean():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 2)), rng.random(80)
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    small, large = (C45().fit(X, y, size * weights).predict_proba(X) for size in (1e-6, 1e6))
    np.testing.assert_array_equal(small, large)
    with pytest.raises(ValueError, match="All sample weights are zero"):
        C45().fit(X, y, np.zeros(80))


def test_subspaces_drawn_with_replacement_have_fewer_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = X.sum(axis=1) > 0
    trees = [SubspaceC45(n_kept=2, random_state=seed).fit(X, y) for seed in range(40)]
    used = [set(tree.columns_[tree.columns_ >= 0].tolist()) for tree in trees]
    assert set().union(*used) == set(range(12))
    drawn = [len(columns - {10, 11}) for columns in used]
    # Of ten draws from twenty columns, eight are distinct on average.
    assert 7.0 < np.mean(drawn) < 9.0
    assert 4 < min(drawn) <= max(drawn) <= 10
    again = SubspaceC45(n_kept=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.columns_, trees[0].columns_)


def test_errors_to_expect_are_an_upper_limit():
    # Without errors the limit is exact: 6, 9 and 1 rows in Quinlan's example of pruning.
    expected = [expected_errors(rows, 0, 0.25) / rows for rows in (6, 9, 1)]
    np.testing.assert_allclose(expected, [0.206, 0.143, 0.750], atol=5e-4)
    for rows, errors in ((40, 3), (200, 50)):
        share = expected_errors(rows, errors, 0.25) / rows
        assert binom.cdf(errors, rows, share) == pytest.approx(0.25, abs=0.02)
    between = expected_errors(30, 0.5, 0.25)
    assert expected_errors(30, 0, 0.25) < between < expected_errors(30, 1, 0.25)
    assert expected_errors(4, 3.8, 0.25) == 4


def test_pruning_takes_what_fits_noise_and_leaves_what_does_not():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 10)))
    y = (X[:, 0] > 0) ^ (rng.random(400) < 0.3)
    trees = [C45(confidence=confidence).fit(X, y) for confidence in (None, 0.25, 0.01)]
    n_shares = [len(np.unique(tree.predict_proba(X)[:, 0])) for tree in trees]
    assert n_shares[0] >= n_shares[1] >= n_shares[2] >= 2
    assert n_shares[0] > n_shares[2]
    fresh = rng.normal(size=(400, 10))
    scores = [tree.score(fresh, fresh[:, 0] > 0) for tree in trees]
    assert scores[0] <= scores[1] <= scores[2]
    assert scores[2] > scores[0]
    clear = C45(confidence=0.25).fit(X, X[:, 0] == 0)
    np.testing.assert_array_equal(clear.predict(X), X[:, 0] == 0)
