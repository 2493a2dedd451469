"""Formulas that bend or step at a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from featurewright import AutoFeatures, load, save
from featurewright.auto.bends import bend, places_of
from featurewright.expressions import Feature, parse
from featurewright.expressions.numbers import code_number, number_code


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_places_part_the_values_and_have_four_digits(values):
    found = places_of(values)
    known = values[np.isfinite(values)]
    assert found == sorted(set(found))
    for number in found:
        assert known.min() <= number < known.max()
        assert code_number(number_code(number)) == pytest.approx(number, rel=1e-6, abs=1e-40)


def test_constants_and_nothing_have_no_place():
    assert places_of(np.full(5, 2.0)) == []
    assert places_of(np.full(5, np.nan)) == []


def test_a_curve_is_followed_by_bends_and_a_jump_by_a_step():
    x = np.linspace(0, 8, 400)[:, np.newaxis]
    feature = Feature.of(parse("x", ["x"]))
    rest = [feature], x, x
    curve = np.abs(x - 4.0)
    (found,) = bend(*rest, curve, n_bends=1, n_steps=0)
    assert found.name == "max(x, 4)"
    names = [f.name for f in bend(*rest, (x > 3.0) * 1.0, n_bends=0, n_steps=1)]
    assert names == ["x > 3"]


def test_truth_values_are_not_cut_and_holes_are_filled():
    X = np.column_stack([np.arange(50.0) % 2, np.where(np.arange(50) < 40, np.nan, 1.0)])
    truth = Feature.of(parse("a < b", ["a", "b"]))
    hollow = Feature.of(parse("b", ["a", "b"]))
    found = bend([truth, hollow], X, np.ones((50, 1)), X[:, :1], n_bends=5, n_steps=5)
    assert [f.name for f in found] == ["a < b"]


def test_auto_features_bend_for_a_linear_model_and_come_back_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    y = np.maximum(X[:, 0], 0.3) * 5 + (X[:, 1] > 0.2) + rng.normal(0, 0.05, 600)
    auto = AutoFeatures(methods=["boosting"], time_budget=20, cv=3, random_state=0).fit(X, y)
    assert auto.gain_ > 0.05
    assert any("max(x0, " in f.name or "x1 > " in f.name for f in auto.features_)
    save(auto, tmp_path / "auto.fw")
    again = load(tmp_path / "auto.fw")
    assert again.get_feature_names_out().tolist() == auto.get_feature_names_out().tolist()
    np.testing.assert_array_equal(again.transform(X), auto.transform(X))
