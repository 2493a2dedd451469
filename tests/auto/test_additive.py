"""A short sum of columns, formulas, bends and steps."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from tests.auto.cases import PRODUCT, RATIO, N, X, quick
from tests.export.engines import KEY, numbers, run

from featurewright import AdditiveDisplay, load, save
from featurewright.auto.additive import read_shape
from featurewright.export import to_sql
from featurewright.expressions import parse

FRAME = pl.DataFrame(X, schema=["a", "b", "c", "d"])
THREE = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])]


@pytest.fixture(scope="module", params=["two", "three", "numbers"])
def fitted(request):
    y = {"two": PRODUCT, "three": THREE, "numbers": RATIO + np.maximum(X[:, 3], 0.5)}[request.param]
    auto = quick().fit(FRAME, y)
    return auto, auto.to_additive(max_terms=6), y


def test_terms_are_few_and_predict_well(fitted):
    auto, additive, y = fitted
    assert 1 <= len(additive.terms_) <= 6
    assert additive.score(FRAME, y) > auto.baseline_score_ + 0.1
    again = auto.to_additive(max_terms=6)
    assert again.terms_ == additive.terms_
    assert auto.to_additive(6, FRAME, y).terms_ == additive.terms_
    told = " ".join(additive.summary().split())
    assert "was not measured; score it on rows" in told or not additive.features_
    assert "How many formulas" not in told or not additive.features_


def test_terms_add_up_to_the_prediction():
    y = RATIO + np.maximum(X[:, 3], 0.5)
    additive = quick().fit(X, y).to_additive(max_terms=6)
    total = np.zeros(N)
    for term in additive.terms_:
        values = parse(term["formula"], ["x0", "x1", "x2", "x3"]).evaluate(X)
        if term["shape"] == "bend":
            values = np.maximum(values - term["threshold"], 0.0)
        elif term["shape"] == "step":
            values = (values > term["threshold"]).astype(float)
        total += term["coefficients"][0] * values
    rest = additive.predict(X) - total
    assert np.ptp(rest) < 1e-6 * np.ptp(y)


def test_sum_is_the_same_in_sql_and_from_a_file(fitted):
    _, additive, y = fitted
    file = io.BytesIO()
    save(additive, file)
    file.seek(0)
    loaded = load(file)
    assert loaded.terms_ == additive.terms_
    for output in ("predict",) if y.dtype.kind == "f" else ("predict", "predict_proba"):
        expected = getattr(additive, output)(FRAME)
        _, found = run(to_sql(additive, "t", output=output, key=KEY), "duckdb", FRAME)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(numbers(found).reshape(expected.shape), expected, atol=1e-9)
        else:
            assert [str(label).lower() for (label,) in found] == [str(e).lower() for e in expected]
        np.testing.assert_array_equal(getattr(loaded, output)(FRAME), expected)


def test_curves_add_up_the_terms_of_a_formula(fitted):
    pytest.importorskip("matplotlib").use("agg")
    _, additive, _ = fitted
    display = AdditiveDisplay.from_estimator(additive, FRAME)
    assert set(display.names) == {term["formula"] for term in additive.terms_}
    assert len(display.axes_) == len(display.names)
    drawn = display.axes_[0].lines[0].get_xydata()
    np.testing.assert_allclose(drawn, np.column_stack([display.points[0], display.curves[0]]))
    assert np.ptp(display.curves[0]) > 0
    with pytest.raises(ValueError, match="must be one of the"):
        AdditiveDisplay.from_estimator(additive, FRAME, score=9)


def test_shapes_are_read_off_formulas():
    assert read_shape(parse("a * b > 2", "ab"))[:3] == ("a * b", "step", 2.0)
    assert read_shape(parse("a * b", "ab"))[:3] == ("a * b", "line", None)


def test_what_is_no_sum_is_refused():
    auto = quick(estimator="knn").fit(X, PRODUCT)
    with pytest.raises(AttributeError, match="is no linear model"):
        _ = auto.terms_
    assert auto.to_additive(3).terms_
    with pytest.raises(ValueError, match="max_terms=0"):
        auto.to_additive(0)
