"""Growth stops where nothing is gained, and when it is asked to."""

from __future__ import annotations

import threading
import time

import numpy as np
from tests.engine.test_grow import DOMAINS, EXACT, check_leaves, class_of, table
from tests.engine.workbench import (
    Tree,
    class_target,
    grow,
    leaf_of_grown_rows,
    leaf_of_rows,
    make_grammar,
    make_settings,
)


def test_splits_must_gain_enough():
    columns = table(4, 300)
    target = class_of(columns, 4)
    grammar = make_grammar(DOMAINS, EXACT, n_levels=4)
    for min_gain in (1.0, 10.0, 1e6):
        tree = grow(columns, target, make_settings(n_raw=5, min_gain=min_gain), grammar=grammar)
        assert (tree.gain[tree.inner] >= min_gain * (1 - 1e-3)).all()
        assert (len(tree.left) == 1) == (min_gain == 1e6)


def test_strict_trees_split_only_for_a_gain():
    """Of an exclusive or, no first split gains anything, but a second one does."""
    columns = np.array([[0, 0, 1, 1] * 10, [0, 1, 0, 1] * 10], np.float32)
    target = class_target([0, 1, 1, 0] * 10)
    sizes = [
        grow(columns, target, make_settings(n_raw=2, strict=strict)).size.tolist()
        for strict in (0, 1)
    ]
    assert sizes == [[40, 20, 20, 10, 10, 10, 10], [40]]


def test_a_raised_flag_leaves_the_root_a_leaf():
    columns = table(5, 100)
    tree = grow(columns, class_of(columns, 5), make_settings(n_raw=5), stop=np.ones(1, np.int64),
                grammar=make_grammar(DOMAINS, EXACT, n_levels=4))  # fmt: skip
    assert tree.left.tolist() == [-1]
    check_leaves(tree)


def test_a_flag_raised_while_growing_ends_it_soon():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(5, 30_000)).astype(np.float32)
    target = class_target(rng.integers(0, 2, 30_000))
    settings = make_settings(budget=1500, strategy=1)
    grammar = make_grammar([0] * 5)
    stop = np.zeros(1, np.int64)
    found: list[Tree] = []
    small = make_settings(budget=10, strategy=1)
    grow(columns[:, :50], class_target(target.codes[:50]), small, grammar=grammar)  # compiled
    worker = threading.Thread(
        target=lambda: found.append(grow(columns, target, settings, grammar=grammar, stop=stop))
    )
    worker.start()
    time.sleep(0.2)
    stop[0] = 1
    worker.join(timeout=60)
    assert not worker.is_alive()
    (tree,) = found
    assert max(len(np.unique(target.codes[tree.rows(leaf)])) for leaf in tree.leaves) == 2
    assert len(tree.left) < 5000
    check_leaves(tree)
    np.testing.assert_array_equal(leaf_of_rows(tree, columns), leaf_of_grown_rows(tree))
