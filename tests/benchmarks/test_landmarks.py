"""What the page on kernel features says of cells that are worse than published."""

from types import SimpleNamespace

import landmarks_rules
import numpy as np
import papers_landmarks
import pytest

from featurewright.publications import PUBLISHED

CELLS = {("forest", "banana"): ["banana"], ("forest", "heart"): ["heart"]}


@pytest.fixture
def errors(monkeypatch):
    """Errors of two cells, published with 13.4 and 17.9."""
    found = {"banana": np.array([13.3, 13.4, 13.5]), "heart": np.array([19.8, 20.0, 20.2])}
    monkeypatch.setattr(landmarks_rules, "errors", lambda _, jobs: found[jobs[0]])
    return found


def test_cells_that_are_worse_are_named(errors):
    said = landmarks_rules.worse_sentence(None, CELLS, {})
    assert said.startswith("Beside the published errors: 0 better, 1 within noise, 1 worse.")
    assert "Worse: forest on heart.\n  The published trees" in said
    assert "Of 2 cells about 0.0 would" in said
    assert "worse beyond chance: forest on heart." in said
    errors["banana"] -= 2.0
    assert "go both ways" in landmarks_rules.worse_sentence(None, CELLS, {})
    errors["heart"] = np.array([17.0, 18.0, 19.0])
    assert "Worse" not in landmarks_rules.worse_sentence(None, CELLS, {})


def test_few_splits_say_nothing(errors):
    errors.update(banana=np.array([1.0, 2.0]), heart=np.array([1.0, np.nan, 2.0]))
    assert "Too few splits" in landmarks_rules.worse_sentence(None, CELLS, {})


def test_the_published_mean_has_noise_too(errors):
    spread = np.resize([-1.0, 1.0], 100)
    errors["heart"] = 17.9 + 0.25 + spread  # 2.5 standard errors of ours, 1.8 of both
    assert "0 worse" in landmarks_rules.worse_sentence(None, CELLS, {})
    errors["heart"] = 17.9 + 0.35 + spread
    assert "1 worse" in landmarks_rules.worse_sentence(None, CELLS, {})


def test_no_more_splits_than_published():
    options = SimpleNamespace(jobs=1, runs=1, splits=30, studies=1)
    sets = papers_landmarks.plan(options)["sets"]
    assert len(sets["forest", "image"]) == 20
    assert len(sets["forest", "heart"]) == 30


def test_what_was_not_published_is_not_compared(errors):
    errors["banana"] = np.array([40.0, 41.0, 42.0])
    cells = {("subspace", "banana"): ["banana"], ("forest", "heart"): ["heart"]}
    said = landmarks_rules.worse_sentence(None, cells, {})
    assert said.startswith("Beside the published errors: 0 better, 0 within noise, 1 worse.")


def test_worse_cells_are_run_with_the_rules_of_the_published_program(errors, monkeypatch):
    monkeypatch.setattr(landmarks_rules, "load", lambda _: SimpleNamespace(X=np.zeros((1, 13))))
    errors["heart"] = np.array([25.0, 25.1, 25.2])  # published: 17.2 and 17.9
    cells = {("subspace", "heart"): ["heart"] * 3, ("forest + K", "heart"): ["heart"] * 3}
    rules = landmarks_rules.rule_cells(None, cells, 2, 1)
    trees, columns = rules["subspace", "heart"], rules["forest + K", "heart"]
    assert [job["split"] for job in trees] == [0, 1]
    plain = {"n_landmarks": 0, "estimator": "C4.5, drawn"}
    assert trees[0]["params"] == PUBLISHED["kernel_subspace"].settings | plain
    assert columns[0]["params"]["max_features"] == 5  # of 13 columns and 10 landmarks
    assert not landmarks_rules.rule_cells(None, CELLS | {("forest", "heart"): ["banana"]}, 2, 1)


def test_what_their_rules_change_is_said(errors):
    errors["their heart"] = np.array([17.8, 17.9, 18.0])
    rules = {("forest", "heart"): ["their heart"] * 3}
    cells = {("forest", "heart"): ["heart"] * 3}
    said = landmarks_rules.rules_section(None, cells, rules, 3)
    assert "| forest on heart |      17.9 | 20.0 ± 0.1 |  17.9 ± 0.1 |        better |" in said
    assert "1 of 1 cells err less than with our trees and\n0 more" in said
    assert "0 better, 1 within noise, 0 worse" in said
    assert "what is left: none." in landmarks_rules.worse_sentence(None, cells, rules)
    errors["their heart"] += 1.5  # better than ours, but not as good as published
    assert "left: forest on heart." in landmarks_rules.worse_sentence(None, cells, rules)
    errors["their heart"] = np.array([17.0, 20.5, 22.0])  # within noise, but of ours too
    assert "left: forest on heart." in landmarks_rules.worse_sentence(None, cells, rules)
    assert landmarks_rules.rules_section(None, CELLS, {}, 3) == ""
    assert "no reason" not in landmarks_rules.worse_sentence(None, CELLS, {})
