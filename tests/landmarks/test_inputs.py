"""Sparse rows, objects and precomputed similarities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from featurewright import (
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    LandmarkKernelFeatures,
    load,
    save,
)
from featurewright.landmarks.runs import METHODS

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(1500, 12)) * (RNG.random((1500, 12)) < 0.3)
SPARSE = sparse.csr_array(DENSE)
Y = ((DENSE**2).sum(axis=1) > 3).astype(int)
WORDS = np.array(["".join(RNG.choice(list("abcdef"), RNG.integers(2, 9))) for _ in range(240)])
HAS_A = np.array(["a" in word for word in WORDS])


def shared(one, other):
    """Share of letters that two words have in common."""
    return len(set(one) & set(other)) / len(set(one) | set(other))


def shared_of_all(words, others):
    return np.array([[shared(one, other) for other in others] for one in words])


def features(n_landmarks=5, **params):
    return LandmarkKernelFeatures(n_landmarks, **{"append": False, "random_state": 0} | params)


@pytest.mark.parametrize(
    "kernel", ["gaussian", "rbf", "linear", "polynomial", "sigmoid", "laplacian", "cosine", "chi2"]
)
def test_sparse_rows_have_the_similarities_of_dense_ones(kernel):
    dense, rows = (np.abs(table) if kernel == "chi2" else table for table in (DENSE, SPARSE))
    by_dense, by_sparse = (features(kernel=kernel).fit(table) for table in (dense, rows))
    found = by_sparse.transform(rows)
    assert_allclose(found, by_dense.transform(dense), rtol=1e-9, atol=1e-12)
    assert_allclose(by_dense.transform(rows), found, rtol=1e-9, atol=1e-12)
    assert_allclose(by_sparse.transform(dense), found, rtol=1e-9, atol=1e-12)
    for k in (0, 700, 1499):
        assert_array_equal(by_sparse.transform(rows[[k]])[0], found[k])
    threads = features(kernel=kernel, n_jobs=3).fit(rows)
    assert_array_equal(threads.transform(rows), found)


def test_sparse_columns_stay_sparse_and_are_scaled_alike():
    units = [1.0] * 11 + [1e4]
    model = features(append=True, landmarks="kmeans").fit(SPARSE * units)
    assert model._map.places.scale[-1] == pytest.approx(1e4 * DENSE[:, -1].std())
    found = model.transform(SPARSE * units)
    assert sparse.issparse(found)
    assert_array_equal(found[:, :12].toarray(), DENSE * units)
    assert len(model.get_feature_names_out()) == found.shape[1] == 17


@pytest.mark.parametrize("method", METHODS)
def test_ensembles_of_sparse_rows(method):
    settings = {"method": method, "n_estimators": 9, "random_state": 0}
    model = KernelFeatureEnsembleClassifier(**settings).fit(SPARSE[:400], Y[:400])
    assert model.score(SPARSE[400:], Y[400:]) > 0.75
    same = np.isclose(model.predict_proba(DENSE), model.predict_proba(SPARSE))
    assert same.mean() > 0.99  # a similarity that rounds differently may cross a threshold
    other = KernelFeatureEnsembleClassifier(GaussianNB(), n_estimators=4, random_state=0)
    assert other.fit(SPARSE, Y).predict(SPARSE).shape == (1500,)


def test_functions_get_sparse_rows():
    def dot(x, z):
        return (x @ z.T).sum()

    def dots(A, B):
        return A @ B.T

    expected = features(kernel="linear", coef0=0.0).fit(DENSE[:90]).transform(DENSE[:90])
    assert_allclose(features(kernel=dot).fit_transform(SPARSE[:90]), expected)
    assert_allclose(features(kernel=dots, batched=True).fit_transform(SPARSE[:90]), expected)
    few = {"n_estimators": 4, "random_state": 0}
    model = KernelFeatureEnsembleClassifier(kernel=dots, batched=True, **few)
    assert model.fit(SPARSE, Y).predict(SPARSE[:3]).shape == (3,)


@pytest.mark.parametrize(
    "make", [list, np.array, lambda w: w.astype(object), pd.Series, pl.Series, tuple]
)
def test_words(make):
    model = features(kernel=shared).fit(make(WORDS))
    expected = shared_of_all(WORDS, WORDS[model.landmark_rows_])
    assert_array_equal(model.transform(make(WORDS)), expected)
    assert_array_equal(model.landmarks_, WORDS[model.landmark_rows_])
    assert model.get_feature_names_out()[0].startswith("shared(x, row ")
    assert features(kernel=shared, append=True).fit_transform(make(WORDS)).shape == (240, 5)


@pytest.mark.parametrize("method", METHODS)
def test_ensembles_of_words(method):
    settings = {"method": method, "n_estimators": 9, "random_state": 0, "landmarks": "class"}
    model = KernelFeatureEnsembleClassifier(kernel=shared, **settings)
    model.fit(list(WORDS[:160]), HAS_A[:160])
    assert model.score(list(WORDS[160:]), HAS_A[160:]) > 0.7
    assert model.kernel_importance_ == pytest.approx(1.0)
    batched = KernelFeatureEnsembleClassifier(kernel=shared_of_all, batched=True, **settings)
    batched.fit(WORDS[:160], HAS_A[:160])
    assert_array_equal(batched.predict_proba(WORDS), model.predict_proba(WORDS))
    assert_array_equal(model.predict_proba(WORDS[7:8]), model.predict_proba(WORDS)[7:8])


def test_objects_of_any_kind():
    series = [RNG.normal(size=n) for n in RNG.integers(3, 9, size=80)]
    y = np.array([one.mean() for one in series])
    model = KernelFeatureEnsembleRegressor(
        Ridge(1e-3), kernel=lambda a, b: abs(a.mean() - b.mean()), random_state=0
    )
    assert model.fit(series, y).score(series, y) > 0.9
    graphs = [{0: {1}, 1: {0}}, {0: set()}, {0: {1, 2}, 1: {0}, 2: {0}}]
    edges = features(2, kernel=lambda a, b: min(sum(map(len, a.values())), len(b)))
    assert edges.fit_transform(graphs).shape == (3, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"landmarks": "kmeans"}, "needs columns of numbers, but X holds objects"),
        ({"scale": True}, "scale=True needs columns of numbers"),
        ({"kernel": "gaussian"}, "not rows and columns"),
    ],
)
def test_what_objects_cannot_have(params, message):
    with pytest.raises(ValueError, match=message):
        features(**{"kernel": shared} | params).fit(WORDS)
    model = features(kernel=shared).fit(WORDS)
    with pytest.raises(ValueError, match="the model was fitted on objects"):
        model.transform(DENSE)
    with pytest.raises(ValueError, match="X has no rows"):
        model.transform(np.array([], dtype=object))


GRAM = rbf_kernel(DENSE[:300], gamma=0.1)


def test_precomputed_similarities_are_columns(tmp_path):
    model = features(kernel="precomputed", append=True).fit(GRAM)
    later = rbf_kernel(DENSE[300:], DENSE[:300], gamma=0.1)
    assert_array_equal(model.transform(later), later[:, model.landmark_rows_])
    assert len(model.get_feature_names_out()) == 5
    save(model, tmp_path / "model.fw")
    assert_array_equal(load(tmp_path / "model.fw").transform(later), model.transform(later))
    holes = later.copy()
    holes[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in row 4 and column 2"):
        model.transform(holes)


@pytest.mark.parametrize("method", METHODS)
def test_ensembles_of_precomputed_similarities(method, tmp_path):
    settings = {"method": method, "n_estimators": 9, "random_state": 0}
    given = KernelFeatureEnsembleClassifier(kernel="precomputed", **settings)
    scores = cross_val_score(given, GRAM, Y[:300], cv=3)  # takes columns with the rows
    assert scores.mean() > 0.75
    model = given.fit(GRAM, Y[:300])
    save(model, tmp_path / "model.fw")
    assert_array_equal(load(tmp_path / "model.fw").predict_proba(GRAM), model.predict_proba(GRAM))
    if method == "kernel_only":
        computed = KernelFeatureEnsembleClassifier(kernel="rbf", gamma=0.1, **settings)
        expected = computed.fit(DENSE[:300], Y[:300]).predict_proba(DENSE[:300])
        assert np.isclose(model.predict_proba(GRAM), expected).mean() > 0.98
