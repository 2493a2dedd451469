"""Large tables: columns are constructed from a sample, and computed some rows at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from featurewright import AutoFeatures
from featurewright.auto import estimators, features, parts, workspace

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 4))
Y = X[:, 0] * X[:, 1] > 0
SEARCH = {"methods": "batch", "effort": "quick", "cv": 2, "random_state": 0}


def test_columns_are_computed_in_blocks(monkeypatch):
    auto = AutoFeatures(**SEARCH).fit(X, Y)
    whole = auto.transform(X)
    for block in (1, 7, 599):
        monkeypatch.setattr(parts, "_BLOCK_ROWS", block)
        assert_array_equal(auto.transform(X), whole)


def test_large_tables_are_constructed_from_a_sample(monkeypatch):
    monkeypatch.setattr(workspace, "_MIN_LAST_ROWS", 200)
    monkeypatch.setattr(workspace, "_MAX_LAST_CELLS", 300 * 4)
    seen = []
    compute = features.compute_columns
    monkeypatch.setattr(
        features,
        "compute_columns",
        lambda *a: seen.append(a[-1] if len(a) > 4 else None) or compute(*a),
    )
    auto = AutoFeatures(**SEARCH).fit(X, Y)
    assert seen == [np.float32]
    assert auto.features_[0].name == "x0 * x1 > 0"
    assert_allclose(auto.originals_.steps[0][2], np.median(X[:, 0]))  # all rows
    assert auto.score(X, Y) > 0.97
    assert auto.profile_["rows"] == 600
    again = AutoFeatures(**SEARCH).fit(X, Y)
    assert_array_equal(again.transform(X), auto.transform(X))


@pytest.mark.parametrize("weighted", [True, False])
def test_scaling_in_blocks(monkeypatch, weighted):
    table = np.column_stack([X, X[:, 0] > 0]).astype(float)
    weights = RANDOM.random(len(X)) if weighted else None
    once = estimators.EvenScaler().fit(table, sample_weight=weights)
    monkeypatch.setattr(estimators, "_MAX_CELLS_AT_ONCE", 500)
    blocks = estimators.EvenScaler().fit(table, sample_weight=weights)
    assert_allclose(blocks.mean_, once.mean_)
    assert_allclose(blocks.scale_, once.scale_)
    assert blocks.scale_[-1] == 1.0
    assert_allclose(blocks.var_, StandardScaler().fit(table, sample_weight=weights).var_)
    assert_allclose(blocks.fit(table[:50]).mean_, table[:50].mean(axis=0))
