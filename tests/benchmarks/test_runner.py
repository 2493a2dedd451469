"""Results that survive a stop, and are not mixed up with those of other code."""

from __future__ import annotations

import json

import data
import numpy as np
import pytest
import runner
from runner import Store, column, markdown_table, outcome, run, show
from tuned import Tuned


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    return tmp_path


def jobs(count: int) -> list[dict]:
    return [
        {"set": "made", "family": "RandomForest", "params": {}, "split": split}
        for split in range(count)
    ]


def work(job: dict) -> dict:
    return {"error": job["split"] / 10, "fit_seconds": 0.0}


def test_a_cut_line_is_done_again_and_nothing_else(results):
    assert run(Store("some"), jobs(3), work=work) == []
    path = results / "some.jsonl"
    text = path.read_text()
    path.write_text(text[:-20])  # the power went while the third was written
    done = []

    def counted(job):
        done.append(job["split"])
        return work(job)

    assert run(Store("some"), jobs(4), work=counted) == []
    assert done == [2, 3]
    np.testing.assert_allclose(column(Store("some"), jobs(4), "error"), [0, 0.1, 0.2, 0.3])


def test_stopping_keeps_what_is_done(results):
    def stopped(job):
        if job["split"] == 2:
            raise KeyboardInterrupt
        return work(job)

    assert run(Store("some"), jobs(4), work=stopped) == ["Stopped with 2 runs left."]
    assert len((results / "some.jsonl").read_text().splitlines()) == 2
    assert run(Store("some"), jobs(4), max_minutes=-1, work=work)[0].startswith("2 of 2 runs")


def test_a_failed_job_is_told_and_the_others_go_on(results):
    def failing(job):
        if job["split"] == 1:
            raise ValueError("no such thing")
        return work(job)

    problems = run(Store("some"), jobs(3), work=failing)
    assert len(problems) == 1
    assert "split 1 failed: ValueError: no such thing" in problems[0]
    np.testing.assert_array_equal(np.isnan(column(Store("some"), jobs(3), "error")), [0, 1, 0])


def test_results_of_other_code_count_only_if_asked_for(results):
    Store("some").add(jobs(1)[0], work(jobs(1)[0]))
    path = results / "some.jsonl"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"code": "scikit-learn 0.1"}) + "\n")
    assert Store("some").get(jobs(1)[0]) is None
    reused = Store("some", reuse=True)
    assert reused.get(jobs(1)[0]) == {"error": 0.0, "fit_seconds": 0.0}
    assert len(reused.foreign) == 1


def test_results_of_other_rows_never_count(results, monkeypatch):
    """A set that was made because the folder lacked it is not the one of the folder."""
    job = {"set": "ringnorm", "family": "RandomForest", "params": {}, "split": 0}
    places = iter(["elsewhere", "elsewhere", "elsewhere", "folder", "folder"])
    monkeypatch.setattr(runner, "origin", lambda name: next(places))
    store = Store("some")
    store.add(job, work(job))
    assert store.get(job) is not None
    assert Store("some").get(job) is not None
    assert Store("some").get(job) is None
    assert Store("some", reuse=True).get(job) is None


def test_origins(monkeypatch):
    entries = {"a": {"file": "a.parquet"}, "b": {"openml": 1}}
    monkeypatch.setattr(data, "manifest", lambda: entries)
    assert [data.origin(name) for name in ("a", "b", "b:numeric", "made 3")] == [
        "folder",
        "elsewhere",
        "elsewhere",
        "folder",
    ]


def test_peers_are_known_by_their_pins():
    assert runner.code_of("peer gplearn").startswith("gplearn==")


def test_outcome_and_show():
    ours, theirs = np.array([0.1, 0.12, 0.11]), np.array([0.3, 0.31, 0.33])
    assert outcome(ours, theirs) == "win"
    assert outcome(theirs, ours) == "loss"
    assert outcome(ours, ours) == "draw"
    assert outcome(ours * np.nan, theirs) == ""
    assert show(np.array([1.0, 3.0])) == "2.00 ± 1.00"
    assert show(np.array([np.nan])) == runner.NO_VALUE
    assert markdown_table(["a", "b"], [["x", "1"]]).splitlines() == [
        "| a | b |",
        "|:--|--:|",
        "| x | 1 |",
    ]


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_tuned_takes_the_better_point(task):
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    X = np.random.default_rng(0).random((120, 2))
    y = X[:, 0] if task == "regression" else (3 * X[:, 0]).astype(int)
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    grid = [{"max_features": 1, "max_depth": 1}, {"max_depth": 6}]
    model = Tuned(lambda params: kind(random_state=0, **params), grid, task, 0).fit(X, y)
    assert model.best_ == {"max_depth": 6}
    assert np.mean(np.abs(model.predict(X) - y)) < 0.05
    if task == "multiclass":
        assert model.predict_proba(X).shape == (120, 3)
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
