"""A time limit is kept, and Ctrl-C stops a fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.clock import FAR, Clock
from tests.constructive.learners import (
    CLASSES,
    check_outputs,
    every_forest,
    make_loose,
    product_target,
    table,
)

import featurewright
from featurewright.constructive import rounds
from featurewright.engine import growth
from featurewright.estimators import ensembles

SOURCE = Path(featurewright.__file__).parents[1]


def grower_of(name):
    """Return the module whose `grow_one` a learner calls."""
    return rounds if name.startswith("Boosting") else growth


@pytest.mark.parametrize("name", CLASSES)
def test_what_was_grown_when_time_ran_out_is_the_result(name, monkeypatch):
    X = table(100)
    y = product_target(name, X)
    whole = make_loose(name).fit(X, y)
    Clock(monkeypatch).cut_trees_after(monkeypatch, grower_of(name), 3)
    cut = make_loose(name, max_time=10.0).fit(X, y)
    n_trees = min(3, whole.forest_.n_trees)
    assert cut.forest_.n_trees == n_trees
    expected = whole.forest_.trees(0, n_trees)
    np.testing.assert_array_equal(cut.forest_.threshold, expected.threshold)
    check_outputs(cut, X)


@pytest.mark.parametrize("name", CLASSES)
def test_a_first_tree_is_grown_however_little_time_there_is(name, monkeypatch):
    X = table(100)
    y = product_target(name, X)
    if not name.startswith("Boosting"):  # whose first round is always grown whole
        Clock(monkeypatch).cut_trees_after(monkeypatch, growth, 0)
    else:
        Clock(monkeypatch).cut_trees_after(monkeypatch, rounds, 1)
    model = make_loose(name, max_time=1e-6).fit(X, y)
    assert model.forest_.n_trees == 1
    check_outputs(model, X)


@every_forest
def test_time_enough_changes_nothing(name, monkeypatch):
    X = table(100)
    y = product_target(name, X)
    Clock(monkeypatch)
    plain, timed = (make_loose(name, max_time=limit).fit(X, y) for limit in (None, 600))
    np.testing.assert_array_equal(plain.predict(X), timed.predict(X))
    assert timed.n_estimators_ == 8


@every_forest
def test_no_tree_grows_twice_after_time_ran_out(name, monkeypatch):
    X = table(200)
    y = product_target(name, X)
    clock, others, grow_one = Clock(monkeypatch), threading.Event(), growth.grow_one

    def slow_first(job, sample, seed, halt, buffers):
        if seed == first:
            others.wait()
            clock.now = FAR
            while not halt.flag[0]:
                time.sleep(0.001)
            return grow_one(job, sample, seed, halt, buffers)
        tree = grow_one(job, sample, seed, halt, buffers)
        others.set()
        return tree

    monkeypatch.setattr(growth, "grow_one", slow_first)
    model = make_loose(name, n_jobs=2, warm_start=True, n_estimators=30, max_time=10.0)
    first = growth.tree_seeds(model._draw_seed(), 0, 1)[0]
    model.fit(X, y)
    monkeypatch.undo()
    n_trees = model.n_estimators_
    model.set_params(max_time=None, n_estimators=n_trees + 3).fit(X, y)
    forest = model.forest_
    trees = [forest.trees(k, k + 1) for k in range(n_trees + 3)]
    assert len({tree.threshold.tobytes() for tree in trees}) == n_trees + 3


@pytest.mark.parametrize(
    ("name", "module"),
    [("BoostingRegressor", rounds), ("ForestRegressor", ensembles)],
)
def test_loading_the_engine_does_not_count_as_growing(name, module, monkeypatch):
    X = table(60, 3)
    clock = Clock(monkeypatch)
    monkeypatch.setattr(module, "load_kernels", lambda settings: setattr(clock, "now", FAR))
    model = make_loose(name, n_estimators=5, max_time=0.6, random_state=0)
    assert model.fit(X, X[:, 0] * X[:, 1]).forest_.n_trees == 5
    assert clock.now == FAR


# The fit tells when it grows its second tree, and would go on for hours.
INTERRUPTED = """
import sys
import numpy as np
from {module} import grow_one
import {module} as module
from featurewright import {learner} as Learner
grown = 0
def telling(*arguments):
    global grown
    grown += 1
    if grown == 2:
        print("growing", flush=True)
    return grow_one(*arguments)
module.grow_one = telling
X = np.random.default_rng(0).normal(size=(20_000, 5)).astype(np.float32)
try:
    Learner(20_000, budget=50, n_jobs=2).fit(X, X[:, 0] * X[:, 1] > 0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(0)
sys.exit(3)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for child processes")
@pytest.mark.parametrize(
    ("learner", "module"),
    [
        ("ConstructiveForestClassifier", "featurewright.engine.growth"),
        ("ConstructiveBoostingClassifier", "featurewright.constructive.rounds"),
    ],
)
def test_interrupt(learner, module):
    code = INTERRUPTED.format(learner=learner, module=module)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            assert child.stdout.readline() == "growing\n"
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert child.wait() == 0
        finally:
            child.kill()
