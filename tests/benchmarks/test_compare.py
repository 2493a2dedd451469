"""Features under three models: one worker for all libraries, errors, and what no columns mean."""

from __future__ import annotations

import argparse
import json
import sys
from types import SimpleNamespace

import compare_features
import numpy as np
import peer_worker
import pytest
import runner
from compare_tables import MODELS, Errors, behind_original, report, summary_of
from peers import Answer
from runner import Store, run
from significance import Ranking

RNG = np.random.default_rng(0)


def test_the_worker_fits_one_of_ours(tmp_path, monkeypatch):
    X = RNG.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    np.savez(tmp_path / "rows.npz", X_train=X, y_train=y, X_test=X[:7])
    task = {"library": "featurewright", "method": "FCTreeClassifier", "task": "binary", "seed": 0}
    task |= {"n_jobs": 1, "params": {}, "beside": True, "warm": True}
    (tmp_path / "task.json").write_text(json.dumps(task))
    monkeypatch.setattr(sys, "argv", ["peer_worker.py", str(tmp_path)])
    peer_worker.main()
    out = json.loads((tmp_path / "out.json").read_text())
    with np.load(tmp_path / "out.npz") as made:
        np.testing.assert_array_equal(made["train"][:, :3], X)
        np.testing.assert_array_equal(made["test"], made["train"][:7])
        assert out["n_columns"] == made["test"].shape[1] > 3
    assert 0 < out["fit_seconds"] < 60
    assert out["memory"] >= 0


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_columns_that_are_not_finite_do_not_end_a_model(kind, task):
    X = RNG.normal(size=(90, 2))
    y = X[:, 0] if task == "regression" else (X[:, 0] > 0).astype(int)
    X = np.column_stack([X, np.zeros(90)])
    X[3, 2], X[60, 2], X[61, 2] = np.nan, np.inf, -np.inf
    columns = Answer("", X[:60], X[60:])
    assert compare_features.error_under(kind, task, columns, y[:60], y[60:]) < 0.5


def options_of(tmp_path, **more) -> argparse.Namespace:
    usual = f"--quick --limit 5 --max-rows 60 --splits 1 --write {tmp_path / 'page.md'}"
    options = compare_features.read_options(usual.split())
    changed = {"sets": ["iris", "wine", "twonorm"], "methods": ["original", "FCTree", "openfe"]}
    for name, value in (changed | more).items():
        setattr(options, name, value)
    return options


def test_no_columns_leave_the_original_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    options = options_of(tmp_path)
    cells = compare_features.plan(options)

    def work(job):
        if job["family"] == "openfe" and job["set"] == "wine":
            return {"reason": "no result after 5 s", "fit_seconds": 5.0}
        if job["family"] == "openfe" and job["set"] == "twonorm":
            raise ValueError("was never done")
        error = 0.1 * (1 + options.sets.index(job["set"])) / (1 + (job["family"] == "FCTree"))
        return dict.fromkeys(MODELS, error) | {"fit_seconds": 1.0}

    store = Store("some")
    problems = run(store, [job for jobs in cells.values() for job in jobs], work=work)
    assert len(problems) == 1
    scores = Errors(cells, store, "linear", options).scores()
    np.testing.assert_allclose(scores[:2], [[0.1, 0.05, 0.1], [0.2, 0.1, 0.2]])
    assert np.isnan(scores[2, 2])
    text = report(cells, store, options)
    assert "no result after 5 s" in text
    assert "FCTree: error 0.50 times" in text
    assert "No columns on 1 sets." in text
    assert (tmp_path / "page_linear.png").exists()


def test_the_sentence_about_peers():
    errors = SimpleNamespace(why_behind=lambda rival: f" {rival} is ahead.")
    labels = ["original", "AutoFeatures", "openfe", "gplearn"]
    pairs = {("original", "AutoFeatures"): 0.01, ("AutoFeatures", "openfe"): 0.2}
    ranking = Ranking(labels, np.array([3.5, 1.5, 3.0, 2.0]), 16, 1.2, 0.01, pairs)
    assert summary_of(ranking, "Boosting", errors) == (
        "Boosting: mean rank of AutoFeatures 1.50, of the best peer, gplearn, 2.00, of the "
        "original columns 3.50; on 16 sets it differs beyond chance from original (p = 0.01) "
        "by Wilcoxon's test with Holm's correction, from openfe, original by Nemenyi's."
    )
    behind = ranking._replace(ranks=np.array([3.5, 2.1, 3.0, 2.0]))
    assert summary_of(behind, "Boosting", errors).endswith(" gplearn is ahead.")
    alike = ranking._replace(pairs={})
    assert "from none of them by Wilcoxon's" in summary_of(alike, "Boosting", errors)
    assert not summary_of(ranking._replace(labels=["original", "a", "b", "c"]), "Boosting", errors)


def test_methods_behind_the_original_columns():
    labels = ["original", "RST", "paths", "gplearn"]
    ranking = Ranking(labels, np.array([2.0, 3.5, 1.0, 3.5]), 16, 1.2, 0.01, {})
    assert behind_original(ranking).startswith("Behind the original columns (2.00): RST (3.50). ")
    assert behind_original(ranking._replace(ranks=np.array([3.0, 2.0, 1.0, 4.0]))) == ""


def test_why_a_peer_is_ahead():
    errors = Errors.__new__(Errors)
    errors.methods = ["original", "AutoFeatures", "gplearn"]
    errors.scores = lambda: np.array([[0.4, 0.1, 0.2], [0.3, 0.3, 0.3], [0.2, 0.2, 0.1]])
    said = errors.why_behind("gplearn")
    assert "on 2 sets (gplearn on 1)" in said
    assert "a higher one on 0 (0)" in said
    assert "its error is 0.63 times theirs, with gplearn 0.63 times." in said


def test_a_job_of_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("FEATUREWRIGHT_DATA", str(tmp_path))
    options = options_of(tmp_path, sets=["iris"], methods=["original", "FCTree"])
    for (_, method), jobs in compare_features.plan(options).items():
        values = compare_features.work(jobs[0])
        assert set(MODELS) < set(values)
        assert all(0 <= values[model] < 0.3 for model in MODELS)
        assert (values["n_columns"] > 4) == (method == "FCTree")
