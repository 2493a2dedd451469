"""Original columns beside constructed ones: what becomes of values that the fit has not seen."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
from tests.auto.cases import quick

from featurewright.auto.originals import learn_originals
from featurewright.tables import learn_schema

RNG = np.random.default_rng(0)
SIZES = np.exp(0.5 * RNG.normal(size=(300, 2)))
Y = 1.0 / SIZES[:, 0] + SIZES[:, 0] * SIZES[:, 1]


def test_one_extreme_row_does_not_lead_astray():
    auto = quick().fit(SIZES, Y)
    assert auto.features_
    far = np.array([[100.0 * SIZES[:, 0].max(), 1.0], [-5.0, 1.0]])
    seen = np.array([[SIZES[:, 0].max(), 1.0], [SIZES[:, 0].min(), 1.0]])
    np.testing.assert_allclose(auto.transform(far)[:, :2], seen, rtol=1e-6)
    said = auto.predict(np.vstack([far, SIZES]))
    assert np.abs(said[:2]).max() < 1.5 * np.abs(said[2:]).max()
    # Rows of the fit are as they came.
    np.testing.assert_allclose(auto.transform(SIZES)[:, :2], SIZES, rtol=1e-6)


def test_alone_they_are_as_they_come():
    auto = quick().fit(SIZES, Y).limit(0)
    far = np.array([[1e4, -5.0]])
    np.testing.assert_allclose(auto.transform(far), far)


def test_dates_go_on():
    first = dt.date(2020, 1, 1)
    days = [first + dt.timedelta(days=k) for k in range(300)]
    auto = quick().fit(pl.DataFrame({"size": SIZES[:, 0], "day": days}), Y)
    assert auto.features_
    later = pl.DataFrame({"size": [1e4], "day": [dt.date(2031, 1, 1)]})
    row = dict(zip(auto.get_feature_names_out(), auto.transform(later)[0], strict=True))
    assert row["day: days"] == (dt.date(2031, 1, 1) - first).days
    assert row["size"] < 1e3


def test_ranges_are_those_of_known_numbers():
    frame = pl.DataFrame({"a": [3.0, None, -1.0], "b": [True, False, None], "c": ["x", "y", "x"]})
    schema = learn_schema(frame)
    matrix = np.array([[3.0, 1.0, 0.0], [np.nan, 0.0, 1.0], [-1.0, np.nan, 0.0]])
    originals = learn_originals(matrix, schema)
    assert originals.ranges == {0: (-1.0, 3.0)}
    assert learn_originals(matrix, schema, endless=["a"]).ranges == {}
    rows = np.array([[9.0, 0.0, 1.0], [-9.0, 1.0, 0.0]])
    columns = originals.compute(rows)
    clipped = originals.clip(columns)
    assert clipped[:, 0].tolist() == [3.0, -1.0]
    np.testing.assert_array_equal(clipped[:, 1:], columns[:, 1:])
    assert columns[:, 0].tolist() == [9.0, -9.0]


def test_ranges_of_a_larger_table():
    matrix = np.array([[0.0, 0.0], [1.0, 5.0]])
    schema = learn_schema(matrix)
    originals = learn_originals(matrix, schema, endless=["x1"])
    larger = originals.with_fills(
        schema, np.array([0.5, 2.0]), np.array([-7.0, -7.0]), np.array([8.0, 8.0])
    )
    assert larger.ranges == {0: (-7.0, 8.0)}
    assert [value for _, _, value in larger.steps] == [0.5, 2.0]
    unknown = originals.with_fills(schema, *np.full((3, 2), np.nan))
    assert unknown.ranges == originals.ranges
    assert unknown.steps == originals.steps
