"""A time limit is kept, and Ctrl-C stops at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.constructive.learners import (
    CLASSES,
    check_outputs,
    every_forest,
    make,
    make_loose,
    product_target,
    table,
)

import featurewright
from featurewright.constructive import rounds
from featurewright.engine import growth
from featurewright.engine.growth import grow_one
from featurewright.estimators import ensembles

SOURCE = Path(featurewright.__file__).parents[1]


@pytest.mark.parametrize("name", CLASSES)
def test_max_time(name):
    X = table(20_000, 10)
    y = product_target(name, X)
    make_loose(name).fit(X[:50], y[:50])  # compiles
    model = make_loose(name, n_estimators=3000, budget="50n", search="random", max_time=0.3)
    begin = time.perf_counter()
    model.fit(X, y)
    assert time.perf_counter() - begin < 4.0  # other work may share the machine
    assert 1 <= model.forest_.n_trees < 3000
    check_outputs(model, X[:100])


@every_forest
def test_time_enough_changes_nothing(name):
    X = table(100)
    y = product_target(name, X)
    plain, timed = (make_loose(name, max_time=limit).fit(X, y) for limit in (None, 600))
    np.testing.assert_array_equal(plain.predict(X), timed.predict(X))
    assert timed.n_estimators_ == 8


@every_forest
def test_no_tree_grows_twice_after_time_ran_out(name, monkeypatch):
    X = table(200)
    y = product_target(name, X)

    def slow_first(job, sample, seed, halt, rooms):
        while seed == first and not halt.flag[0]:
            time.sleep(0.01)
        return grow_one(job, sample, seed, halt, rooms)

    monkeypatch.setattr(growth, "grow_one", slow_first)
    model = make_loose(name, n_jobs=2, warm_start=True, n_estimators=30, max_time=0.2)
    first = growth.tree_seeds(model._draw_seed(), 0, 1)[0]
    model.fit(X, y)
    monkeypatch.undo()
    n_trees = model.n_estimators_
    model.set_params(max_time=None, n_estimators=n_trees + 3).fit(X, y)
    forest = model.forest_
    trees = [forest.trees(k, k + 1) for k in range(n_trees + 3)]
    assert len({tree.threshold.tobytes() for tree in trees}) == n_trees + 3


INTERRUPTED = """
import sys, time
import numpy as np
from featurewright import {learner} as Learner
X = np.random.default_rng(0).normal(size=({n_rows}, 20)).astype(np.float32)
y = X[:, 0] * X[:, 1] > 0
Learner({small}).fit(X[:100], y[:100])
print("ready", flush=True)
try:
    Learner({large}).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(0)
print("finished", flush=True)
sys.exit(3)
"""
FITS = {
    "forest": ("ConstructiveForestClassifier", "2", "100000, n_jobs=2", 20_000),
    "boosting": ("ConstructiveBoostingClassifier", "2", "100000, budget='200n'", 100_000),
    "votes": (
        "ConstructiveBoostingClassifier",
        "2, loss='adaboost_mh'",
        "100000, budget='200n', loss='adaboost_mh', max_depth=8, n_jobs=2",
        100_000,
    ),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for child processes")
@pytest.mark.parametrize("fit", FITS)
def test_interrupt(fit):
    learner, small, large, n_rows = FITS[fit]
    code = INTERRUPTED.format(learner=learner, small=small, large=large, n_rows=n_rows)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.7)
            child.send_signal(signal.SIGINT)
            begin = time.perf_counter()
            assert child.stdout.readline() == "interrupted\n"
            assert time.perf_counter() - begin < 1.2
            assert child.wait(timeout=10) == 0
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("name", "module"),
    [("BoostingRegressor", rounds), ("ForestRegressor", ensembles)],
)
def test_loading_the_engine_does_not_count_as_growing(name, module, monkeypatch):
    X = table(60, 3)
    monkeypatch.setattr(module, "load_kernels", lambda settings: time.sleep(0.7))
    model = make(name, n_estimators=5, max_time=0.6, random_state=0).fit(X, X[:, 0] * X[:, 1])
    assert model.forest_.n_trees == 5
