"""Histograms of raw columns: their bins, their sums, and the splits they lead to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.arguments import (
    grow,
    leaf_of_grown_rows,
    leaf_of_rows,
    make_grammar,
    make_settings,
    sums_target,
)
from tests.naive import histograms as naive
from tests.naive import split as naive_split

from featurewright.engine.buffers import HISTOGRAM_BINS, Histograms
from featurewright.engine.criteria import MISSING_ALONE, SQUARES
from featurewright.engine.growth import shares_bins
from featurewright.engine.histograms import bin_columns, fill_slot, pack_target, subtract_slot

MISSING = HISTOGRAM_BINS
BOOSTING = {
    "by_class": 0,
    "whole_weights": 0,
    "criterion": SQUARES,
    "many_thresholds": 1,
    "l2": 1.0,
    "strict": 1,
    "level_sets": 1,
}


def table(n: int, missing: float = 0.0) -> np.ndarray:
    """Columns of many values, of few, mostly of zeros, and of three levels."""
    rng = np.random.default_rng(n)
    columns = rng.normal(size=(4, n))
    columns[1] = np.round(columns[1], 1)
    columns[2] *= rng.random(n) < 0.2
    columns[3] = rng.integers(0, 3, n)
    columns[rng.random((4, n)) < missing] = np.nan
    return columns.astype(np.float32)


def numbers(columns: np.ndarray, n: int):
    rng = np.random.default_rng(n + 1)
    x = np.nan_to_num(columns)
    y = x[0] * (x[1] > 0) + (x[2] != 0) + (x[3] == 1) + 0.3 * rng.normal(size=n)
    return sums_target(y - y.mean(), 0.2 + rng.random(n))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_bins_have_about_as_many_rows_each(missing) -> None:
    columns = table(3000, missing)
    bins = bin_columns(np.ascontiguousarray(columns.T))
    for column, x in enumerate(columns):
        edges, count = bins.edges[column], bins.counts[column]
        np.testing.assert_array_equal(bins.codes[:, column], naive.codes(x, edges, MISSING))
        found = np.bincount(bins.codes[:, column], minlength=MISSING + 1)[:MISSING]
        assert (found[:count] > 0).all()
        assert not found[count:].any()
        distinct, rows = np.unique(x[~np.isnan(x)], return_counts=True)
        if len(distinct) <= HISTOGRAM_BINS:
            np.testing.assert_array_equal(found[:count], rows)
        else:
            share = rows.sum() / HISTOGRAM_BINS
            alone = np.isin(found[:count], rows[rows > 2 * share])
            assert found[:count][~alone].max() < 4 * share


def test_bins_of_odd_columns() -> None:
    matrix = np.array([[np.nan, 7.0, -np.inf], [np.nan, 7.0, 0.0], [np.nan, 7.0, np.inf]])
    bins = bin_columns(matrix.astype(np.float32))
    np.testing.assert_array_equal(bins.counts, [1, 1, 3])
    np.testing.assert_array_equal(bins.codes, [[MISSING, 0, 0], [MISSING, 0, 1], [MISSING, 0, 2]])


def test_sums_are_those_of_the_rows() -> None:
    n = 70_000  # three blocks
    columns = table(n, 0.1)
    target = numbers(columns, n)
    bins = bin_columns(np.ascontiguousarray(columns.T))
    histograms = Histograms.allocate(bins, 2, 3)
    rows = np.random.default_rng(0).permutation(n).astype(np.int32)
    pack_target(target, rows, n, histograms)
    start, size = 1000, 68_000
    fill_slot(histograms, rows, start, size, 0)
    seen = rows[start : start + size]
    for column in range(len(columns)):
        codes = bins.codes[seen, column]
        number, both = histograms.sums[0, :, column].astype(np.float64)
        counts, weight = both % 2**24, both // 2**24
        np.testing.assert_array_equal(counts, np.bincount(codes, minlength=MISSING + 1))
        for found, unit, values in (
            (number, histograms.units[0], target.sums[0]),
            (weight, histograms.units[1], target.weights),
        ):
            expected = naive.sums(values[seen], codes, MISSING + 1)
            assert np.all(np.abs(found / unit - expected) <= (0.5 * counts + 1) / unit)
    # The sums of the other rows are those of all rows less those of these rows, exactly.
    before = histograms.sums[0].copy()
    fill_slot(histograms, rows, 0, n, 0)
    fill_slot(histograms, rows, start, size, 1)
    np.testing.assert_array_equal(histograms.sums[1], before)
    subtract_slot(histograms.sums, 0, 1)
    rest = np.concatenate([rows[:start], rows[start + size :]])
    fill_slot(histograms, rest, 0, len(rest), 1)
    np.testing.assert_array_equal(histograms.sums[0], histograms.sums[1])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("limits", [{"max_leaves": 20, "max_depth": 30}, {"max_depth": 4}])
def test_splits_are_the_best_between_bins(missing, limits) -> None:
    n = 4000
    columns = table(n, missing)
    target = numbers(columns, n)
    settings = make_settings(**BOOSTING | {"n_raw": 4, "min_rows": 30} | limits)
    assert shares_bins(settings, columns)
    bins = bin_columns(np.ascontiguousarray(columns.T))
    tree = grow(columns, target, settings, grammar=make_grammar([0] * 4), bins=bins)
    assert len(tree.inner) > 8
    for node in tree.inner:
        rows = tree.rows(node)
        sums = naive_split.of_targets(target.sums[:, rows], target.weights[rows], centered=False)
        best = -np.inf
        for column, x in enumerate(columns[:, rows].astype(np.float64)):
            tests = list(bins.edges[column, : bins.counts[column] - 1].astype(np.float64))
            found, test = naive_split.best(x, sums, settings, tests=tests)
            if np.isnan(x).any():
                alone = naive_split.score_test(x, sums, settings, np.inf)
                routed = naive_split.score_routed(x, sums, settings, test)
                found = alone if found == -np.inf or alone > routed else found
            best = max(best, found)
        x = columns[tree.programs[node, 0], rows].astype(np.float64)
        # The sums are rounded, so that another split may win that is almost as good; the winner
        # may find a better threshold between those of the bins.
        score = naive_split.score_test(x, sums, settings, float(tree.threshold[node]))
        assert score > best * (1 - 2e-3)
    np.testing.assert_array_equal(leaf_of_grown_rows(tree), leaf_of_rows(tree, columns))


def test_missing_rows_may_stand_alone() -> None:
    n = 1000
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(2, n)).astype(np.float32)
    gone = rng.random(n) < 0.3
    columns[0, gone] = np.nan
    target = sums_target(np.where(gone, 1.0, -0.4))
    settings = make_settings(**BOOSTING | {"n_raw": 2, "max_leaves": 3})
    tree = grow(columns, target, settings, bins=bin_columns(np.ascontiguousarray(columns.T)))
    assert tree.programs[0, 0] == 0
    assert tree.threshold[0] == MISSING_ALONE


def test_categories_are_split_by_their_levels() -> None:
    n = 3000
    columns = table(n)
    target = numbers(columns, n)
    settings = make_settings(**BOOSTING | {"n_raw": 4, "max_leaves": 12})
    bins = bin_columns(np.ascontiguousarray(columns.T))
    tree = grow(columns, target, settings, grammar=make_grammar([0, 0, 0, 2]), bins=bins)
    by_level = tree.inner[tree.programs[tree.inner, 0] == 3]
    assert len(by_level)
    assert (tree.is_level[by_level] > 0).all()
    np.testing.assert_array_equal(leaf_of_grown_rows(tree), leaf_of_rows(tree, columns))


def test_only_boosting_of_limited_trees_shares_bins() -> None:
    columns = table(100)
    usual = BOOSTING | {"n_raw": 4, "max_leaves": 31}
    assert shares_bins(make_settings(**usual), columns)
    for other in (
        {"n_raw": 3},
        {"centered": 1},
        {"max_leaves": 0, "max_depth": 2**30},
        {"max_leaves": 2**20},
        {"by_class": 1, "criterion": 0},
    ):
        assert not shares_bins(make_settings(**usual | other), columns), other
