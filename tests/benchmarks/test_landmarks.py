"""What the page on kernel features says of cells that are worse than published."""

from types import SimpleNamespace

import numpy as np
import papers_landmarks
import pytest

CELLS = {("forest", "banana"): ["banana"], ("forest", "heart"): ["heart"]}


@pytest.fixture
def errors(monkeypatch):
    """Errors of two cells, published with 13.4 and 17.9."""
    found = {"banana": np.array([13.3, 13.4, 13.5]), "heart": np.array([19.8, 20.0, 20.2])}
    monkeypatch.setattr(papers_landmarks, "errors", lambda _, jobs: found[jobs[0]])
    return found


def test_cells_that_are_worse_are_named(errors):
    said = papers_landmarks.worse_than_published(None, CELLS)
    assert said.startswith("Beside the published errors: 0 better, 1 within noise, 1 worse.")
    assert "Worse: forest on heart.\n  The published trees" in said
    errors["banana"] -= 2.0
    assert "go both ways" in papers_landmarks.worse_than_published(None, CELLS)
    errors["heart"] = np.array([17.0, 18.0, 19.0])
    assert "Worse" not in papers_landmarks.worse_than_published(None, CELLS)


def test_few_splits_say_nothing(errors):
    errors.update(banana=np.array([1.0, 2.0]), heart=np.array([1.0, np.nan, 2.0]))
    assert "Too few splits" in papers_landmarks.worse_than_published(None, CELLS)


def test_the_published_mean_has_noise_too(errors):
    spread = np.resize([-1.0, 1.0], 100)
    errors["heart"] = 17.9 + 0.25 + spread  # 2.5 standard errors of ours, 1.8 of both
    assert "0 worse" in papers_landmarks.worse_than_published(None, CELLS)
    errors["heart"] = 17.9 + 0.35 + spread
    assert "1 worse" in papers_landmarks.worse_than_published(None, CELLS)


def test_no_more_splits_than_published():
    options = SimpleNamespace(jobs=1, runs=1, splits=30, studies=1)
    sets = papers_landmarks.plan(options)["sets"]
    assert len(sets["forest", "image"]) == 20
    assert len(sets["forest", "heart"]) == 30


def test_what_was_not_published_is_not_compared(errors):
    errors["banana"] = np.array([40.0, 41.0, 42.0])
    cells = {("subspace", "banana"): ["banana"], ("forest", "heart"): ["heart"]}
    said = papers_landmarks.worse_than_published(None, cells)
    assert said.startswith("Beside the published errors: 0 better, 0 within noise, 1 worse.")
