"""Seeds, samples and the drivers that grow trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.cases import loop_over
from tests.engine.forests import make_job

from featurewright.engine.buffers import Target
from featurewright.engine.forest import join
from featurewright.engine.growth import (
    draw_sample,
    grow_one,
    grow_trees,
    leaf_of_rows,
    order_rows,
    tree_seeds,
)
from featurewright.engine.threads import Halt


def test_seeds_depend_on_the_tree_alone():
    seeds = tree_seeds(3, 0, 200)
    assert len(set(seeds)) == 200
    assert seeds[50:70] == tree_seeds(3, 50, 70)
    assert not set(seeds) & set(tree_seeds(4, 0, 200))
    assert tree_seeds(3, 5, 5) == []
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_all_rows_are_drawn_once():
    order = np.array([4, 2, 9], np.int32)
    sample = draw_sample(order, 3, 1, bootstrap=False)
    np.testing.assert_array_equal(sample.rows, order)
    assert sample.counts is None
    sample.rows[0] = 7
    assert order[0] == 4  # growing sorts its own copy


@pytest.mark.parametrize("n_draws", [1, 50, 200])
def test_bootstrap(n_draws):
    order = np.random.default_rng(0).permutation(100).astype(np.int32)
    sample = draw_sample(order, n_draws, 5, bootstrap=True)
    assert sample.counts.sum() == n_draws
    assert (sample.counts[sample.rows] > 0).all()
    kept = np.isin(order, sample.rows)
    np.testing.assert_array_equal(sample.rows, order[kept])
    assert np.count_nonzero(sample.counts) == len(sample.rows) == len(set(sample.rows))
    again = draw_sample(order, n_draws, 5, bootstrap=True)
    np.testing.assert_array_equal(again.counts, sample.counts)


def test_bootstrap_leaves_out_a_third():
    order = np.arange(5000, dtype=np.int32)
    shares = [len(draw_sample(order, 5000, seed, bootstrap=True).rows) / 5000 for seed in range(20)]
    assert np.mean(shares) == pytest.approx(1 - np.exp(-1), abs=0.01)


def test_without_replacement():
    order = np.arange(0, 200, 2, dtype=np.int32)
    sample = draw_sample(order, 30, 5, bootstrap=False)
    assert len(sample.rows) == 30
    assert set(sample.counts[sample.rows]) == {1.0}
    assert (np.diff(sample.rows) > 0).all()


def test_rows_are_ordered_by_class_without_those_of_no_weight():
    codes = np.array([1, 0, 1, 0, 2], np.int32)
    weights = np.array([1, 1, 0, 2, 1], np.float32)
    target = Target(codes, np.zeros((0, 5), np.float32), weights)
    np.testing.assert_array_equal(order_rows(target), [1, 3, 0, 4])
    numbers = Target(np.zeros(0, np.int32), np.zeros((1, 5), np.float32), weights)
    np.testing.assert_array_equal(order_rows(numbers), [0, 1, 3, 4])


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_the_same_trees_for_any_number_of_threads(by_class, n_jobs):
    job, seeds = make_job(by_class=by_class), tree_seeds(1, 0, 9)
    one = join(grow_trees(job, seeds, bootstrap=True, n_jobs=1))
    many = join(grow_trees(job, seeds, bootstrap=True, n_jobs=n_jobs))
    np.testing.assert_array_equal(one.programs, many.programs)
    np.testing.assert_array_equal(one.threshold, many.threshold)
    np.testing.assert_array_equal(one.values, many.values)
    separate = join([grow_trees(job, [seed], bootstrap=True)[0] for seed in seeds])
    np.testing.assert_array_equal(one.threshold, separate.threshold)


def test_growing_leaves_the_job_alone():
    job = make_job(by_class=False)
    kept = job.columns.copy(), job.target.sums.copy(), job.target.weights.copy()
    settings = job.settings.copy()
    grow_trees(job, tree_seeds(1, 0, 3), bootstrap=True)
    for now, before in zip((job.columns, job.target.sums, job.target.weights), kept, strict=True):
        np.testing.assert_array_equal(now, before)
    assert settings == job.settings


@loop_over("by_class", [True, False])
@loop_over("searched", [True, False])
@loop_over(
    "limits",
    [
        {"max_depth": 4},
        {"min_rows": 15},
        {"max_leaves": 9},
        {"max_leaves": 9, "min_rows": 10},
        {"min_gain": 1.0},
        {"min_gain": 1.0, "random_threshold": 1},
    ],
)
def test_rows_end_up_in_the_leaf_they_descend_to(by_class, searched, limits):
    # A node searched without success must not leave values by which another one is partitioned.
    search = {} if searched else {"budget": 0, "n_raw": 2}
    job = make_job(by_class=by_class, **search, **limits)
    order = order_rows(job.target)
    tree, places = grow_one(job, draw_sample(order, len(order), 1, bootstrap=False), 1, Halt())
    np.testing.assert_array_equal(np.sort(places.row_ids), np.arange(120))
    noted = leaf_of_rows(tree, places, job, everyone=False)
    found = leaf_of_rows(tree, places, job, everyone=True)
    np.testing.assert_array_equal(noted, found)
    counts = np.bincount(noted, minlength=tree.n_leaves)
    np.testing.assert_array_equal(counts, tree.n_rows[tree.left < 0])


def test_a_raised_flag_stops_growing():
    job = make_job()
    halt = Halt()
    halt.raise_flag()
    order = order_rows(job.target)
    tree, _ = grow_one(job, draw_sample(order, len(order), 1, bootstrap=False), 1, halt)
    assert tree.n_leaves == 1
    np.testing.assert_allclose(tree.values[0].sum(), 1.0)


def test_a_deadline_that_has_passed_gives_one_tree():
    trees = grow_trees(make_job(), tree_seeds(0, 0, 50), halt=Halt(1e-9))
    assert len(trees) == 1
    assert np.isfinite(trees[0].values).all()


@pytest.mark.parametrize("limits", [{"max_depth": 1}, {"max_leaves": 2}, {"max_depth": 3},
                                    {"max_leaves": 7}, {"min_rows": 30}])  # fmt: skip
def test_limits_leave_room_for_all_nodes(limits):
    tree = grow_trees(make_job(**limits), [3])[0]
    assert len(tree.left) == 2 * tree.n_leaves - 1
    if "max_leaves" in limits:
        assert tree.n_leaves == limits["max_leaves"]
    if "max_depth" in limits:
        assert tree.depth.max() == limits["max_depth"]
    if "min_rows" in limits:
        assert tree.n_rows.min() >= 30


def test_weights_of_zero_leave_the_rows_out():
    job = make_job()
    weights = job.target.weights.copy()
    weights[::3] = 0
    light = replace(job, target=Target(job.target.codes, job.target.sums, weights))
    tree = grow_trees(light, [3])[0]
    assert tree.n_rows[0] == 80
