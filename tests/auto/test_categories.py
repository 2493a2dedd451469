"""Estimators that take categories get them as codes; others as indicators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import featurewright
from featurewright import AutoFeatures, export
from featurewright.auto.estimators import fit_estimator, takes_categories

RANDOM = np.random.default_rng(0)
N = 300
LEVELS = np.array([f"shop {k}" for k in range(40)])
EFFECTS = RANDOM.normal(size=40)
CODES = RANDOM.integers(40, size=N)
FRAME = pd.DataFrame(
    {"shop": LEVELS[CODES], "a": RANDOM.normal(size=N), "b": RANDOM.normal(size=N)}
)
FRAME.loc[::25, "shop"] = None
Y = EFFECTS[CODES] + FRAME["a"] * FRAME["b"]
SEARCH = {"methods": "batch", "effort": "quick", "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def boosted():
    model = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=3)
    return AutoFeatures(model, **SEARCH).fit(FRAME, Y)


def test_codes_of_categories(boosted):
    codes = boosted.columns_[0]
    assert (codes.name, codes.kind, codes.source) == ("code of shop", "code", "shop")
    assert [column.kind for column in boosted.columns_].count("level") == 0
    values = boosted.transform(FRAME)[:, 0]
    levels = sorted(set(FRAME["shop"].dropna()))
    expected = [0 if pd.isna(shop) else 1 + levels.index(shop) for shop in FRAME["shop"]]
    assert_array_equal(values, expected)
    assert boosted.model_.get_params()["categorical_features"] == [0]
    assert boosted.model_.is_categorical_[0]
    new = FRAME[:2].assign(shop="never seen")
    assert_array_equal(boosted.transform(new)[:, 0], 0)
    assert len(boosted.predict(new)) == 2


def test_fewer_formulas_and_sums_of_codes(boosted):
    limited = boosted.limit(1)
    assert limited.model_.is_categorical_[0]
    additive = boosted.to_additive(5)
    assert "code" not in {column.kind for column in additive.columns_}


def test_codes_are_saved_and_exported(boosted, tmp_path):
    featurewright.save(boosted, tmp_path / "model.fw")
    loaded = featurewright.load(tmp_path / "model.fw")
    assert_array_equal(loaded.transform(FRAME), boosted.transform(FRAME))
    sql = export.to_sql(boosted, table="t")
    assert "code of shop" in sql


def test_other_estimators_get_indicators():
    assert takes_categories(HistGradientBoostingClassifier())
    assert not takes_categories(HistGradientBoostingClassifier(categorical_features=None))
    assert not takes_categories(None)
    linear = AutoFeatures(**SEARCH).fit(FRAME, Y)
    assert "code" not in {column.kind for column in linear.columns_}
    many = FRAME.assign(shop=[f"shop {k % 280}" for k in range(N)])
    boosted = AutoFeatures("boosting", **SEARCH).fit(many, Y)
    assert "code" not in {column.kind for column in boosted.columns_}


def test_packages_that_take_categories():
    """Stand-ins: which call tells LightGBM and XGBoost about categories."""

    class Model(HistGradientBoostingRegressor):
        def fit(self, X, y, categorical_feature=None, sample_weight=None):
            self.told_ = categorical_feature
            return self

    lightgbm = type("LGBMRegressor", (Model,), {"__module__": "lightgbm.sklearn"})
    assert takes_categories(lightgbm())
    X = np.column_stack([RANDOM.integers(3, size=20), RANDOM.normal(size=20)])
    assert fit_estimator(lightgbm(), X, X[:, 1], None, [0]).told_ == [0]

    class Typed(Model):
        def __init__(self, enable_categorical=False, feature_types=None):
            super().__init__()
            self.enable_categorical, self.feature_types = enable_categorical, feature_types

    xgboost = type("XGBRegressor", (Typed,), {"__module__": "xgboost.sklearn"})
    assert not takes_categories(xgboost())
    assert takes_categories(xgboost(enable_categorical=True))
    fitted = fit_estimator(xgboost(enable_categorical=True), X, X[:, 1], None, [0])
    assert fitted.feature_types == ["c", "q"]
