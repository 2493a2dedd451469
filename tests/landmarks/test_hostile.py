"""Tables that are hard to work with: finite answers, or one clear sentence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.cases import case

from featurewright import (
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    LandmarkKernelFeatures,
)
from featurewright.landmarks.runs import METHODS
from featurewright.landmarks.similarity import KERNELS

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(40, 3))
TABLES = {
    "one row": np.ones((1, 3)),
    "one column": NORMAL[:, :1],
    "constant": np.full((20, 2), 7.0),
    "huge": NORMAL * 1e30,
    "largest": np.array([[3e38], [-3e38], [1.0], [0.0]]),
    "tiny": NORMAL * 1e-30,
    "smallest": NORMAL * 1e-300,
    "mixed": NORMAL * [1e30, 1.0, 1e-30],
    "all missing": np.full((10, 2), np.nan),
    "a missing column": np.column_stack([NORMAL, np.full(40, np.nan)]),
    "hardly different": 1.0 + NORMAL * 1e-16,
}


@pytest.mark.parametrize("kernel", [k for k in KERNELS if "chi2" not in k and k != "precomputed"])
def test_features_stay_finite(kernel):
    # Which rows k-means chooses does not depend on the kernel.
    choices = ("random", "kmeans") if kernel == "gaussian" else ("random",)
    for table, scale, landmarks in product(TABLES, (False, True), choices):
        rows = TABLES[table]
        with case(table, scale, landmarks):
            n = min(5, len(rows))
            model = LandmarkKernelFeatures(
                n,
                kernel=kernel,
                degree=9,
                scale=scale,
                landmarks=landmarks,
                random_state=0,
            ).fit(rows)
            found = model.transform(rows)
            assert np.isfinite(found).all()
            assert np.isfinite(model.transform(np.full((2, rows.shape[1]), np.nan))).all()
            assert found.shape == (len(rows), rows.shape[1] + n)


@pytest.mark.parametrize("method", METHODS)
def test_ensembles_stay_finite(method):
    few = {"method": method, "n_estimators": 4, "random_state": 0}
    for table, rows in TABLES.items():
        y = np.arange(len(rows)) % 3
        with case(table):
            model = KernelFeatureEnsembleClassifier(**few).fit(rows, y)
            assert np.isfinite(model.predict_proba(rows)).all()
            if method != "adaboost":
                numbers = KernelFeatureEnsembleRegressor(**few).fit(rows, y * 1.0)
                assert np.isfinite(numbers.predict(rows)).all()


@pytest.mark.parametrize("method", METHODS)
def test_constant_target(method):
    model = KernelFeatureEnsembleClassifier(method=method, n_estimators=4, random_state=0)
    assert set(model.fit(NORMAL, np.full(40, "only")).predict(NORMAL)) == {"only"}


@pytest.mark.parametrize(
    ("method", "landmarks"),
    [*((method, "random") for method in METHODS), ("bagging", "class"), ("bagging", "kmeans")],
)
def test_five_hundred_classes(method, landmarks):
    rows = np.random.default_rng(0).normal(size=(1000, 2))
    y = np.arange(1000) % 500
    model = KernelFeatureEnsembleClassifier(
        method=method, n_estimators=4, landmarks=landmarks, random_state=0
    ).fit(rows, y)
    assert model.predict_proba(rows[:5]).shape == (5, 500)


@pytest.mark.parametrize(
    "make",
    [LandmarkKernelFeatures, KernelFeatureEnsembleClassifier, KernelFeatureEnsembleRegressor],
)
def test_infinity_is_refused(make):
    rows = NORMAL.copy()
    rows[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        make().fit(rows, np.arange(40) % 2)


def test_negative_values_for_chi2():
    with pytest.raises(ValueError, match="negative"):
        LandmarkKernelFeatures(kernel="chi2").fit(NORMAL).transform(NORMAL)


def test_many_rows_need_little_memory():
    import tracemalloc

    rows = np.random.default_rng(0).normal(size=(100_000, 4))
    model = LandmarkKernelFeatures(10, append=False, random_state=0).fit(rows)
    tracemalloc.start()
    found = model.transform(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < found.nbytes + rows.nbytes + 10e6


def test_flags_of_numpy_are_flags():
    made = LandmarkKernelFeatures(2, append=np.False_, random_state=0).fit_transform(NORMAL)
    assert made.shape == (40, 2)


def test_a_target_of_another_length_is_refused_even_where_it_is_not_used():
    with pytest.raises(ValueError, match="y has 39 rows, but X has 40"):
        LandmarkKernelFeatures().fit(NORMAL, np.arange(39))


def nearness(x, z):
    return float(np.exp(-((x - z) ** 2).sum()))


def test_a_function_of_rows_with_batched():
    model = LandmarkKernelFeatures(10, kernel=nearness, batched=True, random_state=0)
    with pytest.raises(ValueError, match=r"kernel nearness with batched=True .* gave the shape"):
        model.fit(NORMAL)


@pytest.mark.parametrize("estimator", ["bagging", dict])
def test_an_estimator_must_be_an_object_that_fits(estimator):
    for make in (KernelFeatureEnsembleClassifier, KernelFeatureEnsembleRegressor):
        with pytest.raises(TypeError, match=r"is not a scikit-learn .* method="):
            make(estimator).fit(NORMAL, np.arange(40) % 2)


def test_documentation_fits_the_kind():
    assert "adaboost" not in KernelFeatureEnsembleRegressor.__doc__
    assert '"adaboost" (AdaBoost.M1)' in KernelFeatureEnsembleClassifier.__doc__
