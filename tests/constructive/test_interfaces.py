"""Learners in pipelines, searches, pickles and column transformers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cases import loop_over
from tests.constructive.learners import (
    CLASSIFIERS,
    check_same,
    every_learner,
    make,
    make_loose,
    problem,
    soft,
)

FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
}


@every_learner
def test_pickle(name):
    X, y = problem(name)
    model = make(name).fit(X, y)
    model.predict(X)  # which prepares the trees for descending
    check_same(model, pickle.loads(pickle.dumps(model)), X)


@every_learner
def test_clone(name):
    X, y = problem(name)
    model = make(name, operators=("mul", "sub"), budget="3n").fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "forest_")
    assert copy.get_params() == model.get_params()
    check_same(model, copy.fit(X, y), X)


@every_learner
def test_grid_search_over_operators_and_budget(name):
    X, y = problem(name)
    grid = {"operators": [("add",), ("mul", "div"), None], "budget": [2, "4n"]}
    search = GridSearchCV(make_loose(name, n_estimators=3), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == y.shape


@every_learner
def test_pipeline_of_features_and_a_linear_model(name):
    X, y = problem(name, 300)
    last = LogisticRegression() if name in CLASSIFIERS else Ridge()
    pipeline = make_pipeline(make(name, budget=40), StandardScaler(), last)
    plain = make_pipeline(StandardScaler(), clone(last))
    constructed = pipeline.fit(X[:200], y[:200]).score(X[200:], y[200:])
    assert constructed > plain.fit(X[:200], y[:200]).score(X[200:], y[200:]) + 0.2
    names = pipeline[:-1].get_feature_names_out()
    np.testing.assert_array_equal(names, pipeline[0].get_feature_names_out())


@every_learner
@loop_over("kind", FRAMES)
def test_column_transformer(name, kind):
    X, y = problem(name)
    frame = FRAMES[kind](X)
    both = ColumnTransformer(
        [("made", make(name, n_features_out=3), ["a", "b"]), ("kept", "passthrough", ["d"])]
    )
    out = both.fit_transform(frame, y)
    assert out.shape == (len(X), len(both.get_feature_names_out()))
    assert both.get_feature_names_out()[-1] == "kept__d"
    np.testing.assert_array_equal(out[:, -1], X[:, 3])


@every_learner
@loop_over("kind", FRAMES)
@loop_over("include_original", [False, True])
def test_set_output(name, kind, include_original):
    X, y = problem(name)
    frame = FRAMES[kind](X)
    model = make(name, include_original=include_original, n_features_out=4)
    out = model.set_output(transform=kind).fit(frame, y).transform(frame)
    assert type(out) is type(frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    plain = model.set_output(transform="default").transform(frame)
    np.testing.assert_array_equal(out.to_numpy(), plain)
    if kind == "pandas":
        rows = frame.iloc[::-3]
        model.set_output(transform="pandas")
        assert model.transform(rows).index.equals(rows.index)


@every_learner
@loop_over("kind", FRAMES)
def test_set_output_when_a_column_is_named_like_a_formula(name, kind):
    X, y = problem(name)
    frame = FRAMES[kind](X)
    names = {"c": "a * b"}
    frame = frame.rename(columns=names) if kind == "pandas" else frame.rename(names)
    model = make(name, include_original=True, operators=("mul",), budget=40)
    out = model.set_output(transform=kind).fit(frame, y).transform(frame)
    assert len(set(out.columns)) == len(out.columns)


@every_learner
def test_fit_transform_equals_fit_then_transform(name):
    X, y = problem(name)
    np.testing.assert_array_equal(make(name).fit_transform(X, y), make(name).fit(X, y).transform(X))


@every_learner
def test_cross_val_predict(name):
    X, y = problem(name)
    assert cross_val_predict(make_loose(name, n_estimators=3), X, y, cv=3).shape == y.shape


@every_learner
def test_html_and_text(name):
    X, y = problem(name)
    model = make(name).fit(X, y)
    assert name in repr(model)
    assert name in model._repr_html_()


@every_learner
def test_verbose_draws_a_bar_and_changes_nothing(name, capsys):
    X, y = problem(name)
    check_same(make(name).fit(X, y), make(name, verbose=2).fit(X, y), X)
    assert capsys.readouterr().out


@every_learner
def test_input_names_are_checked(name):
    X, y = problem(name)
    model = make(name).fit(FRAMES["pandas"](X), y)
    np.testing.assert_array_equal(
        model.get_feature_names_out(list("abcd")), model.get_feature_names_out()
    )
    for wrong in (["a", "b"], list("abcx")):
        with pytest.raises(ValueError, match="input_features"):
            model.get_feature_names_out(wrong)


@every_learner
def test_targets_of_any_form(name):
    X, y = problem(name)
    expected = soft(make(name).fit(X, y), X)
    for form in (pd.Series(y), pl.Series(y), list(y)):
        np.testing.assert_array_equal(soft(make(name).fit(X, form), X), expected)
