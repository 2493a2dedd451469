"""What notebooks show: the verdict and formulas, with every name escaped."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.report.cases import fitted

from featurewright import AutoFeatures
from featurewright.auto.notebook import search_html, show_status, status_line
from featurewright.report import show_report

HOSTILE = ["<script>alert(1)</script>", '"><img src=x>', "a", "b"]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_shows_verdict_formulas_and_front(task):
    shown = search_html(fitted(task=task))
    assert "Use the new features" in shown
    assert "<math" in shown
    assert "<polyline" in shown


def test_shows_no_formulas_where_none_are_kept():
    shown = search_html(fitted(keep_original=True))
    assert "Keep the original columns" in shown
    assert "<table>" not in shown


def test_columns_that_are_no_formulas_are_told():
    model = fitted()
    model.features_, model.stability_ = [], np.zeros(0)
    assert "They are not formulas" in search_html(model)


def test_features_that_were_asked_for_may_not_help():
    model = fitted()
    model.gain_, model.score_ = -0.01, model.baseline_score_ - 0.01
    assert "These features do not help: with 6 constructed columns, the" in search_html(model)


def test_a_notebook_shows_the_steps_in_one_line(monkeypatch):
    shown = []

    class Handle:
        def display(self, content, raw):
            shown.append(("new", content["text/plain"]))

        def update(self, content, raw):
            shown.append(("same", content["text/plain"]))

    shell = SimpleNamespace(kernel=None)
    display = SimpleNamespace(DisplayHandle=Handle)
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert not show_status("no search")
    with status_line():
        assert [show_status(text) for text in ("one", "two", "three")] == [True] * 3
    assert not show_status("no search")
    assert shown == [("new", "one"), ("same", "two"), ("same", "three")]


def test_names_are_escaped():
    shown = search_html(fitted(names=HOSTILE))
    assert "<script" not in shown
    assert "<img" not in shown


def test_one_that_is_not_fitted_is_shown_by_sklearn():
    shown = AutoFeatures()._repr_mimebundle_()
    assert shown["text/plain"] == "AutoFeatures()"
    assert "sk-" in shown["text/html"]


def test_the_report_is_at_hand():
    X = np.random.default_rng(0).normal(size=(90, 3))
    auto = AutoFeatures(methods="batch", effort="quick", random_state=0)
    assert not hasattr(auto, "report_")
    with pytest.raises(NotFittedError):
        auto.report_._repr_html_()
    auto.fit(X, X[:, 0] * X[:, 1] > 0)
    assert auto.report_._repr_html_() == show_report(auto)._repr_html_()
