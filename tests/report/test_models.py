"""Pages of models that were really fitted, odd ones too."""

from __future__ import annotations

import datetime as dt
import json
import sys

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold
from tests.report.cases import fitted

from featurewright import AutoFeatures
from featurewright.report import render, summarize


def table(n_rows: int) -> pl.DataFrame:
    random = np.random.RandomState(0)
    a, b = random.normal(size=(2, n_rows))
    return pl.DataFrame(
        {
            "a": a,
            "<b>": b,
            "kind": random.choice(["x", "</script>"], size=n_rows),
            "when": [dt.date(2024, 1, 1) + dt.timedelta(int(k)) for k in range(n_rows)],
            "same": [1] * n_rows,
        }
    )


TARGETS = {
    "classes": lambda X: (X["a"] * X["<b>"] > 0).cast(pl.String),
    "numbers": lambda X: X["a"] * X["<b>"],
    "labels": lambda X: X.select(p=pl.col("a") > 0, q=pl.col("<b>") > 0).cast(int).to_numpy(),
    "many": lambda X: pl.Series([f"class {k % 30}" for k in range(X.height)]),
}


@pytest.mark.parametrize("n_rows", [4, 12, 150])
@pytest.mark.parametrize("target", TARGETS)
def test_any_fitted_model_has_a_page(n_rows, target):
    X = table(n_rows)
    model = AutoFeatures(methods=["batch"], effort="quick", cv=KFold(2), random_state=0)
    model.fit(X, TARGETS[target](X))
    summary = summarize(model)
    json.dumps(summary, allow_nan=False)
    assert summary["verdict"]["sentence"].endswith(".")
    page = render(summary)
    assert "nan" not in page
    assert page.count("<script") == 1
    assert "<b>&" not in page


def test_features_of_a_model_have_their_profiles():
    X = table(150)
    model = AutoFeatures(methods=["batch"], effort="quick", cv=3, random_state=0)
    summary = summarize(model.fit(X, TARGETS["classes"](X)))
    assert not summary["verdict"]["keep_original"]
    for feature in summary["features"]:
        assert feature["profile"]["counts"]
        assert sum(map(sum, feature["profile"]["counts"])) == 150
    assert [entry["name"] for entry in summary["left_out"]] == ["same"]
    assert summary["estimators"][0]["after"]["value"] == pytest.approx(summary["after"]["value"])


def test_summary_in_python_needs_no_other_package(monkeypatch):
    for package in ("rich", "jinja2", "typer"):
        monkeypatch.setitem(sys.modules, package, None)
    auto = AutoFeatures()
    vars(auto).update(vars(fitted()))
    text = auto.summary(width=72)
    assert text.startswith("Use the new features: 6 constructed columns")
    assert max(map(len, text.splitlines())) <= 72
    assert "--" not in text  # parameters are named, not options


@pytest.mark.parametrize(("n_folds", "proved"), [(1, False), (5, True)])
def test_a_search_without_time_for_two_folds_does_not_say_that_nothing_helps(n_folds, proved):
    model = fitted(keep_original=True)
    for result in model.results_[1:]:
        result["fold_scores"] = result["fold_scores"][:n_folds]
    verdict = summarize(model)["verdict"]
    assert verdict["keep_original"]
    assert verdict["clear"] == proved
    assert ("search longer" in verdict["sentence"]) != proved
