"""Sums of columns, numbers inside formulas, and what AutoFeatures makes of them."""

from __future__ import annotations

import numpy as np
import onnxruntime
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.auto.cases import quick
from tests.cases import loop_over
from tests.export.engines import ENGINES, KEY, numbers, run

from featurewright import ConstructiveBoostingClassifier, load, save
from featurewright.auto.estimators import is_boosting, is_linear
from featurewright.auto.inner_numbers import safe_ratios, with_numbers
from featurewright.auto.sums import bent_sums, find_sums, is_sum
from featurewright.export import to_onnx, to_sql
from featurewright.expressions import Column, Real, parse
from featurewright.tables import EncodedTable, learn_schema

NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
OBLIQUE = 2 * X[:, 0] - X[:, 1] + 0.5 * X[:, 3]


def table(matrix):
    return EncodedTable(
        matrix, learn_schema(pl.DataFrame(dict(zip(NAMES, matrix.T, strict=False))))
    )


def texts(formulas):
    return [str(formula) for formula in formulas]


def test_a_sum_has_the_weights_of_least_squares():
    noise = 0.02 * RNG.normal(size=400)
    (found,) = find_sums(table(X), (OBLIQUE + noise)[:, None])
    assert str(found) == "a + 0.25 * d - 0.5 * b"
    assert is_sum(found)
    (found,) = find_sums(table(X), (X[:, 0] + 0.15 * X[:, 1])[:, None])
    assert str(found) == "a + 0.15 * b"
    scales = np.array([1e-3, 1.0, 1.0, 1e4])
    (found,) = find_sums(table(X * scales), OBLIQUE[:, None])
    assert str(found) == "a + 2.5e-08 * d - 0.0005 * b"
    assert texts(find_sums(table(X), OBLIQUE[:, None], max_terms=2)) == ["a - 0.5 * b"]


def test_a_sum_for_each_class_and_none_for_noise():
    classes = np.column_stack([OBLIQUE > 1, OBLIQUE < -1, np.abs(OBLIQUE) <= 1]).astype(float)
    assert len(find_sums(table(X), classes)) == 2  # the band in the middle has no direction
    assert len(find_sums(table(X), classes[:, :2])) == 1
    assert find_sums(table(X), RNG.normal(size=(400, 1))) == []
    assert find_sums(table(X), X[:, :1]) == []  # one column says it
    assert find_sums(table(X), OBLIQUE[:, None], max_terms=1) == []
    assert find_sums(table(X[:, :1]), OBLIQUE[:, None]) == []


def test_sums_of_hostile_columns():
    hostile = np.column_stack([X[:, 0] * 1e30, X[:, 1], np.full(400, 7.0), X[:, 3]])
    hostile[::3, 3] = np.nan
    with np.errstate(all="raise"):
        # A weight of 1e-30 is unreadable; the constant and the column with holes are left out.
        assert find_sums(table(hostile), OBLIQUE[:, None]) == []
    hostile[:, 0], hostile[::10, 1] = X[:, 0], np.nan
    (found,) = find_sums(table(hostile), OBLIQUE[:, None])
    assert found.columns() == (0, 1)
    huge = np.column_stack([X[:, 0] * 1e300, X[:, 1] * 1e-300])
    assert find_sums(table(huge), OBLIQUE[:, None]) == []


def test_sums_are_bent_and_squared():
    (formula,) = find_sums(table(X), OBLIQUE[:, None])
    found = texts(bent_sums([formula], table(X)))
    assert f"square({formula})" in found
    assert f"{formula} > 0" in found


@loop_over(
    ("text", "expected"),
    [
        ("a < b", {"a < b + 1.9", "a < 2 * b", "a < 0.5 * b"}),
        ("square(a)", {"square(a - 0.6)", "square(a + 1.3)"}),
        ("square(a + 1)", {"square(a + 0.9)", "square(a + 2)"}),
        ("square(a - b)", {"square(a - 2 * b)"}),
        ("a < 2 * b", {"a < 2.2 * b", "a < 1.4 * b"}),
        ("a - b > 0.5", {"a - 2 * b > 0.5"}),
        ("log(abs(a) * 2)", {"log(2 * abs(a) + 0.6)"}),
    ],
)
def test_numbers_are_tried_inside(text, expected):
    found = texts(with_numbers(parse(text, NAMES), table(X)))
    assert expected <= set(found)
    assert text not in found
    assert len(found) == len(set(found))


def test_no_numbers_where_they_change_nothing():
    for text in ("a - b", "a * b", "a + 2 * b"):
        assert with_numbers(parse(text, NAMES), table(X)) == []
    constant = table(np.column_stack([np.full(50, 3.0), np.full(50, np.nan), X[:50, :2]]))
    for text in ("square(a)", "a < b", "log(b)"):
        assert with_numbers(parse(text, NAMES), constant) == []


def test_divisors_are_never_near_zero():
    columns = [Column(k, name, Real) for k, name in enumerate(NAMES)]
    matrix = np.column_stack([X[:, 0], np.abs(X[:, 1]), np.full(400, 7.0), X[:, 3] * 1e30])
    found = safe_ratios(columns, table(matrix))
    assert {"a / (square(b) + 0.3)", "a / (b + 0.6)", "log(b + 0.6)", "b / (square(a) + 1)"} <= {
        *texts(found)
    }
    assert not [text for text in texts(found) if "/ (c" in text or "(d" in text]
    for formula in found:
        assert np.isfinite(formula.evaluate(matrix)).all() or "d" in str(formula)


@loop_over(
    ("estimator", "expected"),
    [
        (LogisticRegression(), True),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())), True),
        (KNeighborsClassifier(), False),
        (make_pipeline(StandardScaler(), SVC()), False),
        (RandomForestClassifier(), False),
    ],
)
def test_which_estimators_add_up_columns(estimator, expected):
    assert is_linear(estimator) == expected


@loop_over(
    ("estimator", "expected"),
    [
        (HistGradientBoostingClassifier(), True),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(GradientBoostingClassifier())), True),
        (ConstructiveBoostingClassifier(), True),
        (RandomForestClassifier(), False),
        (LogisticRegression(), False),
    ],
)
def test_which_estimators_boost_trees(estimator, expected):
    assert is_boosting(estimator) == expected


FRAME = pl.DataFrame(dict(zip(NAMES, X.T, strict=True)))
LABELS = np.where(OBLIQUE > 0.2, "yes", "no")


@pytest.fixture(scope="module")
def neighbours():
    """Return a search for nearest neighbours, which sums help most."""
    return quick(estimator="knn").fit(FRAME, LABELS)


def test_neighbours_get_a_sum(neighbours):
    first = neighbours.path_.features[0]
    assert is_sum(first.expression)
    assert set(first.expression.columns()) == {0, 1, 3}
    assert neighbours.gain_ > 0.02
    assert neighbours.features_[0].gain > 0.5
    assert neighbours.stability_.max() > 0.5
    assert max(point["score"] for point in neighbours.front_) > neighbours.baseline_score_
    limited = neighbours.limit(1)
    assert [feature.name for feature in limited.features_] == [first.name]


def test_a_linear_model_gets_no_sum():
    found = quick().fit(FRAME, LABELS)
    assert not [f for f in found.path_.features if is_sum(f.expression)]


def test_boosting_gets_no_sum():
    found = quick(estimator="boosting", methods="batch", cv=2).fit(FRAME, LABELS)
    assert found.path_.features
    assert not [f for f in found.path_.features if is_sum(f.expression)]


def test_two_seeds_find_the_same(neighbours):
    other = quick(estimator="knn", random_state=7).fit(FRAME, LABELS)
    assert [f.name for f in other.path_.features] == [f.name for f in neighbours.path_.features]


def test_one_row_is_computed_like_all_rows(neighbours):
    rows = FRAME.head(20).with_columns(pl.Series("b", [None] * 5 + X[5:20, 1].tolist()))
    together = neighbours.transform(rows)
    alone = np.vstack([neighbours.transform(rows[k : k + 1]) for k in range(20)])
    assert_array_equal(together, alone)
    assert np.isfinite(together).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_sql_computes_the_same(neighbours, engine):
    rows = FRAME.head(50)
    query = to_sql(neighbours, "t", engine, key=KEY)
    found = numbers(run(query, engine, rows)[1])
    assert_allclose(found, neighbours.transform(rows), rtol=1e-9)


def test_onnx_computes_the_same(neighbours):
    model = to_onnx(neighbours)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"X": X})
    assert_allclose(found, neighbours.transform(FRAME), rtol=1e-9)


def test_a_model_file_keeps_sums(neighbours, tmp_path):
    save(neighbours, tmp_path / "model.fw")
    again = load(tmp_path / "model.fw")
    assert [f.name for f in again.features_] == [f.name for f in neighbours.features_]
    assert_array_equal(again.transform(FRAME), neighbours.transform(FRAME))
