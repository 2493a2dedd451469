"""Blocks of trees that another process grows."""

from __future__ import annotations

import pickle

import numpy as np
from tests.engine.test_growth import make_job

from featurewright.engine.growth import TreeBlocks, grow_trees, tree_seeds
from featurewright.engine.user_functions import CompiledOperators


def test_a_block_is_the_same_after_a_journey():
    job = make_job()
    seeds = tree_seeds(0, 0, 3)
    expected = grow_trees(job, seeds, bootstrap=True)
    blocks = TreeBlocks(job, CompiledOperators(()), None, bootstrap=True)
    there = pickle.loads(pickle.dumps(blocks))
    first = there.grow(seeds[:1], None).whole
    # A worker that has grown trees may send the blocks on to another.
    further = pickle.loads(pickle.dumps(there))
    found = first + further.grow(seeds[1:], None).whole
    for tree, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(tree.left, other.left)
        np.testing.assert_array_equal(tree.threshold, other.threshold)
        np.testing.assert_array_equal(tree.values, other.values)


def test_the_second_layout_of_the_matrix_is_not_sent():
    job = make_job()
    blocks = TreeBlocks(job, CompiledOperators(()), None, bootstrap=True)
    assert blocks.__getstate__()["job"].columns.size == 0
    there = pickle.loads(pickle.dumps(blocks))
    np.testing.assert_array_equal(there.job.columns, job.columns)
    there.grow(tree_seeds(0, 0, 2), None)
    assert there.__getstate__()["buffer_pool"] is None


def test_a_deadline_ends_a_block():
    blocks = TreeBlocks(make_job(), CompiledOperators(()), None, bootstrap=True)
    grown = blocks.grow(tree_seeds(0, 0, 500), 1e-9)
    assert len(grown.whole) < 500
    assert len(grown.trees) >= 1
