"""LightGBM's and XGBoost's estimators for Dask learn from features that stay collections."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pytest
from tests.distributed import models

from featurewright import AutoFeatures

pytestmark = [
    pytest.mark.slow,
    # Of their own use of Dask, and of the sockets they open.
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


def lightgbm_on(client):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    return lightgbm.DaskLGBMRegressor(client=client, n_estimators=20, verbose=-1)


def xgboost_on(client):
    xgboost = pytest.importorskip("xgboost.dask", reason="XGBoost is not installed")
    model = xgboost.DaskXGBRegressor(n_estimators=20)
    model.client = client
    return model


@pytest.mark.parametrize("learner_on", [lightgbm_on, xgboost_on])
def test_features_feed_other_learners(learner_on, processes):
    rng = np.random.default_rng(0)
    X, _, _ = models.make_table()
    X = X[["a", "b", "c"]]
    y = X["a"] * X["b"] + 0.1 * rng.normal(size=len(X))
    with processes.as_current():
        table, target = dd.from_pandas(X, npartitions=4), dd.from_pandas(y, npartitions=4)
        features = AutoFeatures(
            effort="quick", methods=["batch"], feature_names="short", random_state=0
        )
        computed = features.fit(table, target).transform(table)
        assert isinstance(computed, dd.DataFrame)
        learner = learner_on(processes).fit(computed, target)
        predicted = np.asarray(learner.predict(computed))
    assert 1 - np.var(y - predicted) / np.var(y) > 0.5
