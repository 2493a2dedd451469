"""Formulas with a threshold: hinges and steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.auto.cases import TWO_FOLDS, quick

from featurewright import load, save
from featurewright.auto.thresholded import choose_thresholds, select_thresholded
from featurewright.expressions import Feature, parse
from featurewright.expressions.numbers import code_number, number_code


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_thresholds_separate_the_values_and_have_four_digits(values):
    found = choose_thresholds(values)
    known = values[np.isfinite(values)]
    assert found == sorted(set(found))
    for number in found:
        assert known.min() <= number < known.max()
        assert code_number(number_code(number)) == pytest.approx(number, rel=1e-6, abs=1e-40)


def test_constants_and_nothing_have_no_threshold():
    assert choose_thresholds(np.full(5, 2.0)) == []
    assert choose_thresholds(np.full(5, np.nan)) == []


def test_a_curve_is_followed_by_hinges_and_a_jump_by_a_step():
    x = np.linspace(0, 8, 400)[:, np.newaxis]
    feature = Feature.of(parse("x", ["x"]))
    rest = [feature], x, x
    curve = np.abs(x - 4.0)
    (found,) = select_thresholded(*rest, curve, n_hinges=1, n_steps=0)
    assert found.name == "max(x, 4)"
    names = [f.name for f in select_thresholded(*rest, (x > 3.0) * 1.0, n_hinges=0, n_steps=1)]
    assert names == ["x > 3"]


def test_truth_values_are_not_cut_and_what_is_mostly_undefined_is_left_out():
    row = np.arange(50.0)
    X = np.column_stack([row % 2, np.where(row < 40, np.nan, row), np.where(row < 9, np.nan, row)])
    names = ["a", "b", "c"]
    features = [Feature.of(parse(text, names)) for text in ("a < b", "b", "c")]
    found = select_thresholded(features, X, np.ones((50, 1)), X[:, :1], n_hinges=9, n_steps=9)
    assert found[0].name == "a < b"
    assert found[0].gain == pytest.approx(1.0)
    assert all(1.0 >= feature.gain >= 0.0 and feature.name != "b" for feature in found)


def test_numbers_that_nobody_reads_are_left_out():
    assert choose_thresholds(np.array([1e-40, 2e-40, 3e-40])) == []
    assert choose_thresholds(np.array([-1.0, 1e-20, 1.0])) == [-0.5, 0.5]


def test_gains_of_all_methods_compare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] ** 2
    auto = quick().fit(X, y)
    gains = {feature.name: feature.gain for feature in auto.features_}
    assert max(gains, key=gains.get) == "x0 * x1"
    assert 0.5 < gains["x0 * x1"] < sum(gains.values()) <= 1.0


def test_auto_features_have_thresholds_for_a_linear_model_and_come_back_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = np.maximum(X[:, 0], 0.3) * 5 + (X[:, 1] > 0.2) + rng.normal(0, 0.05, 300)
    auto = quick(methods=["boosting"], cv=TWO_FOLDS).fit(X, y)
    assert auto.gain_ > 0.05
    assert any("max(x0, " in f.name or "x1 > " in f.name for f in auto.features_)
    save(auto, tmp_path / "auto.fw")
    again = load(tmp_path / "auto.fw")
    assert again.get_feature_names_out().tolist() == auto.get_feature_names_out().tolist()
    np.testing.assert_array_equal(again.transform(X), auto.transform(X))
