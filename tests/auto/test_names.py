"""Names of the output: formulas, or short names that LightGBM and XGBoost take."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from tests.auto.cases import PRODUCT, N, X, quick

import featurewright
from featurewright.auto.originals import OutputColumn, short_names
from featurewright.export import to_sql

FRAME = pd.DataFrame(X, columns=["a", "b", "c, d", "e"]).assign(
    when=pd.date_range("2024-01-01", periods=N, freq="7h")
)


def test_short_names_have_a_mapping():
    formulas = quick().fit(FRAME, PRODUCT)
    short = quick(feature_names="short").fit(FRAME, PRODUCT)
    names, long = short.get_feature_names_out(), formulas.get_feature_names_out()
    assert formulas.feature_mapping_ == {}
    assert [short.feature_mapping_.get(name, name) for name in names] == list(long)
    assert set(names[:3]) == {"a", "b", "fw_01"}
    assert short.feature_mapping_["fw_01"] == "c, d"
    assert short.features_[0].name in short.feature_mapping_.values()
    assert np.array_equal(short.transform(FRAME), formulas.transform(FRAME))
    frame = short.set_output(transform="pandas").transform(FRAME)
    assert list(frame.columns) == list(names)
    fewer = short.limit(0)
    assert not set(fewer.feature_mapping_.values()) & {f.name for f in short.features_}


def test_short_names_in_sql_and_model_files():
    auto = quick(feature_names="short").fit(X, PRODUCT)
    assert auto.feature_mapping_["fw_01"] == auto.parts_[0].names[0]
    text = to_sql(auto, table="t")
    assert '"fw_01"' in text
    file = io.BytesIO()
    featurewright.save(auto, file)
    file.seek(0)
    again = featurewright.load(file)
    assert again.feature_mapping_ == auto.feature_mapping_
    assert list(again.get_feature_names_out()) == list(auto.get_feature_names_out())


def test_short_names_are_free():
    columns = [OutputColumn("fw_01", "number", "fw_01")]
    columns += [OutputColumn(f"f{k}", "formula", "batch") for k in range(120)]
    found = short_names(tuple(columns))
    assert list(found)[:2] == ["fw_fw_001", "fw_fw_002"]
    assert list(found.values()) == [f"f{k}" for k in range(120)]


def test_lightgbm_follows():
    lightgbm = pytest.importorskip("lightgbm")
    trees = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    auto = quick(estimator=trees).set_output(transform="pandas")
    model = make_pipeline(auto, trees).fit(FRAME, PRODUCT)
    assert auto.feature_mapping_
    assert model.score(FRAME, PRODUCT) > 0.8


def test_results_show_no_more_columns_than_asked_for():
    auto = quick(methods=["batch", "scores", "votes"], n_features_out=2).fit(X, PRODUCT)
    assert max(result["n_features"] for result in auto.results_) <= 2
    gains = [feature.gain for feature in auto.features_]
    assert gains == sorted(gains, reverse=True)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="feature_names"):
        quick(feature_names="long").fit(X, PRODUCT)
