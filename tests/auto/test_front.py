"""The plan of a search, accuracy by number of formulas, and models with fewer of them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from tests.auto.cases import TWO_FOLDS, N, X, quick

import featurewright
from featurewright.auto.front import front_points
from featurewright.auto.plan import EFFORTS, make_stages

Y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * np.random.default_rng(1).normal(size=N)


@pytest.fixture(scope="module")
def auto():
    return quick(methods=["forest", "batch"], cv=TWO_FOLDS).fit(X, Y)


@pytest.mark.parametrize("effort", EFFORTS)
def test_stages_grow_up_to_the_rows_there_are(effort):
    for n_rows in (50, 3_000, 80_000, 2_000_000):
        stages = make_stages(EFFORTS[effort], n_rows, 20, 1)
        rows = [stage.n_rows for stage in stages]
        assert rows == sorted(set(rows))
        assert rows[-1] == min(n_rows, EFFORTS[effort].max_rows)
        assert stages[-1].n_folds is None
        assert not stages[0].chooses
        wide = make_stages(EFFORTS[effort], n_rows, 2_000, 30)
        assert wide[-1].n_rows <= max(500, rows[-1] // 100)


def test_points_have_means_and_errors():
    points = front_points({3: [0.8, 0.9], 1: [0.7, 0.7]}, [0.6, 0.5], 0.5, chosen=3)
    assert [point["n_formulas"] for point in points] == [0, 1, 3]
    assert points[2]["gain"] == pytest.approx(0.3)
    assert points[2]["fold_gains"] == pytest.approx([0.2, 0.4])
    assert points[2]["gain_std"] == pytest.approx(np.sqrt(0.02 * (0.5 + 0.5)))
    assert [point["chosen"] for point in points] == [False, False, True]
    assert front_points({}, [], 0.5, None) == []


def test_the_front_is_measured_and_its_smallest_good_point_kept(auto):
    assert [f.name for f in auto.features_] == ["x0 * x1", "abs(x2)"]
    assert auto.best_method_ == "formulas"
    assert auto.front_[0]["score"] == pytest.approx(auto.baseline_score_)
    (chosen,) = [point for point in auto.front_ if point["chosen"]]
    assert chosen["n_formulas"] == 2
    assert chosen["score"] > 0.95
    assert auto.stability_.tolist() == [1.0, 1.0]
    assert not auto.stopped_by_time_


def test_fewer_formulas_without_a_new_search(auto, tmp_path):
    one = auto.limit(1)
    assert [f.name for f in one.features_] == ["x0 * x1"]
    assert one.transform(X).shape == (N, 5)
    assert one.score_ == pytest.approx(auto.baseline_score_ + auto.front_[1]["gain"])
    assert one.score(X, Y) < auto.score(X, Y)
    assert len(auto.features_) == 2  # the model itself stays as it is
    more = auto.limit(5)
    assert len(more.features_) == 5
    assert np.all(np.diff([f.gain for f in more.features_]) <= 0)
    assert len(more.stability_) == 5
    none = auto.limit(0)
    assert none.best_method_ == "original"
    assert none.transform(X).shape == (N, 4)
    featurewright.save(auto, tmp_path / "model.fw")
    for loaded in (featurewright.load(tmp_path / "model.fw"), pickle.loads(pickle.dumps(auto))):
        with pytest.raises(ValueError, match="pass X and y of the training table"):
            loaded.limit(1)
        again = loaded.limit(1, X, Y)
        assert np.array_equal(again.predict(X), one.predict(X))
        assert loaded.front_ == auto.front_
    with pytest.raises(ValueError, match="n_formulas=500 is more than the"):
        auto.limit(500)
    with pytest.raises(ValueError, match="n_formulas=-1"):
        auto.limit(-1)


def test_a_search_without_formulas_has_none_to_limit():
    votes = quick(methods="votes", cv=TWO_FOLDS).fit(X, Y)
    assert [point["n_formulas"] for point in votes.front_] == [0]
    with pytest.raises(ValueError, match="more than the 0 formulas"):
        votes.limit(1)


def test_no_more_columns_than_asked_for():
    y = Y + X[:, 3] ** 2 + X[:, 1] * X[:, 3]
    auto = quick(methods="batch", n_features_out=2, cv=TWO_FOLDS).fit(X, y)
    assert len(auto.features_) <= 2
    assert max(result["n_features"] for result in auto.results_) <= 2
    assert max(point["n_formulas"] for point in auto.front_) == 2


def test_two_seeds_find_the_same_formulas():
    """Seeds draw folds; formulas are those of the table."""
    paths = [quick(methods="batch", cv=2, random_state=seed).fit(X, Y).path_ for seed in (0, 1)]
    assert paths[0].names == paths[1].names


PROGRAM = """
import hashlib, sys, numpy as np
from featurewright import AutoFeatures
X = np.random.default_rng(0).normal(size=(150, 4))
y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.5, 0.5])
auto = AutoFeatures(
    effort="quick",
    methods=["forest", "batch", "votes"],
    cv=2,
    random_state=0,
    n_jobs=int(sys.argv[1]),
)
auto.fit(X, y)
print([f.name for f in auto.features_], auto.front_, auto.best_method_)
print(hashlib.sha256(auto.transform(X).tobytes() + auto.predict_proba(X).tobytes()).hexdigest())
"""


def test_other_processes_find_the_same():
    """Whatever Python's hash seed, which orders sets, and the number of threads."""
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, seed],
            env=os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 2
