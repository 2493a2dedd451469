"""Similarities to landmarks: values, widths, names, tables of all kinds."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from tests.cases import loop_over
from tests.naive import landmarks as naive

from featurewright import KernelFeatureEnsembleClassifier, LandmarkKernelFeatures
from featurewright.datasets import make_ringnorm
from featurewright.landmarks.similarity import gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CASES = {
    "gaussian": {"width": 2.5},
    "rbf": {"gamma": 0.3},
    "linear": {},
    "polynomial": {"gamma": 0.5, "degree": 2, "coef0": 0.7},
    "sigmoid": {"gamma": 0.2, "coef0": -0.5},
    "laplacian": {"gamma": 0.4},
    "cosine": {},
    "chi2": {"gamma": 0.8},
}


def features(n_landmarks=5, **params):
    settings = {"append": False, "random_state": 0} | params
    return LandmarkKernelFeatures(n_landmarks, **settings)


@loop_over("kernel", CASES)
def test_values_are_those_of_the_kernel(kernel):
    rows = np.abs(X) if kernel == "chi2" else X
    model = features(kernel=kernel, **CASES[kernel]).fit(rows)
    expected = naive.similarities(kernel, rows, rows[model.landmark_rows_], **CASES[kernel])
    assert_allclose(model.transform(rows), expected, rtol=1e-9, atol=1e-12)


@loop_over("kernel", CASES)
@loop_over("n_columns", [1, 3, 20, 67])
def test_one_row_equals_the_batch(kernel, n_columns):
    rows = np.random.default_rng(1).uniform(0.1, 2, size=(2500, n_columns))
    model = features(7, kernel=kernel).fit(rows[:100])
    batch = model.transform(rows)
    for k in (0, 1, 1023, 1024, 2499):
        assert_array_equal(model.transform(rows[k : k + 1])[0], batch[k])
    assert_array_equal(model.transform(rows[1:]), batch[1:])
    assert_array_equal(clone(model).set_params(n_jobs=3).fit(rows[:100]).transform(rows), batch)


@pytest.mark.parametrize("gamma", [None, 0.3])
def test_the_gaussian_is_that_of_scikit_learn(gamma):
    rng = np.random.default_rng(0)
    points, landmarks = rng.normal(size=(50, 4)), rng.normal(size=(7, 4))
    found = gaussian(points, np.vstack([landmarks, points[:3]]), gamma)
    expected = rbf_kernel(points, np.vstack([landmarks, points[:3]]), gamma=gamma)
    assert_array_equal(found, expected)


def test_width_is_the_median_squared_distance():
    model = features().fit(X)
    assert model.width_ == pytest.approx(naive.median_width(X))
    assert_allclose(
        model.transform(X),
        naive.similarities("gaussian", X, X[model.landmark_rows_], width=model.width_),
    )


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), [[1.0]], np.full((4, 1), 1e30)])
def test_width_of_rows_that_do_not_differ(rows):
    model = features(n_landmarks=1).fit(rows)
    assert model.width_ == 1.0
    assert_array_equal(model.transform(rows), 1.0)


def test_width_steps_over_equal_rows():
    rows = np.array([[0.0]] * 9 + [[2.0]])
    assert features().fit(rows).width_ == 4.0


def test_distances_far_from_the_origin():
    far = X + 1e9
    model = features(width=2.0).fit(far)
    expected = naive.similarities("gaussian", far, far[model.landmark_rows_], width=2.0)
    assert_allclose(model.transform(far), expected, rtol=1e-6)


def test_function_of_two_rows():
    def overlap(x, z, power=1):
        return np.minimum(x, z).sum() ** power

    model = features(kernel=overlap, kernel_params={"power": 3}).fit(X)
    landmarks = X[model.landmark_rows_]
    expected = [[np.minimum(x, z).sum() ** 3 for z in landmarks] for x in X]
    assert_allclose(model.transform(X), expected)
    assert model.get_feature_names_out()[0].startswith("overlap(x, row ")


def test_function_of_two_tables():
    def not_positive(A, B):
        return -np.abs(A[:, None] - B[None]).sum(axis=2)

    model = features(kernel=not_positive, batched=True).fit(X)
    found = model.transform(X)
    landmarks = X[model.landmark_rows_]
    assert_allclose(found, [[-np.abs(x - z).sum() for z in landmarks] for x in X])
    gram = found[model.landmark_rows_]
    assert np.linalg.eigvalsh(gram).min() < 0  # no kernel at all
    assert_array_equal(model.transform(X[3:4]), found[3:4])


def test_order_of_arguments_of_a_function():
    model = features(kernel=lambda x, z: x[0] - 2 * z[0]).fit(X)
    expected = X[:, :1] - 2 * X[model.landmark_rows_, 0]
    assert_allclose(model.transform(X), expected)


def test_a_function_of_tables_gets_the_rows_and_nothing_else():
    seen = []

    def product(A, B):
        seen.append(A.shape)
        return (A - 1.0) @ B.T

    rows = np.random.default_rng(0).normal(size=(2500, 4))
    model = features(kernel=product, batched=True, n_jobs=2).fit(X)
    seen.clear()
    for part in (rows[:2], rows):
        assert_array_equal(model.transform(part), (part - 1.0) @ X[model.landmark_rows_].T)
    assert seen == [(2, 4), (2500, 4)]


ACROSS_ROWS = {
    "from the mean": lambda A, B: (A - A.mean(axis=0)) @ B.T,
    "from the first row": lambda A, B: (A - A[0]) @ B.T,
    "in units of the rows": lambda A, B: rbf_kernel(A / A.std(), B),
    "over the number of rows": lambda A, B: A @ B.T / len(A),
    "shares of a column": lambda A, B: rbf_kernel(A, B) / rbf_kernel(A, B).sum(axis=0),
    "ranks": lambda A, B: A.argsort(axis=0).argsort(axis=0) @ B.T,
    "random": lambda A, B: np.random.default_rng().random((len(A), len(B))),
}


@pytest.mark.parametrize("kernel", ACROSS_ROWS.values(), ids=ACROSS_ROWS)
def test_functions_of_tables_that_look_across_rows_are_refused(kernel):
    by_ensemble = KernelFeatureEnsembleClassifier(n_estimators=2, kernel=kernel, batched=True)
    for fit in (
        lambda: features(kernel=kernel, batched=True).fit(X),
        lambda: by_ensemble.fit(X, X[:, 0] > 0),
    ):
        with pytest.raises(ValueError, match=r"for a row alone but .* among 16 rows") as caught:
            fit()
        assert "from each row and landmark only" in str(caught.value)


def squares_in_single_precision(A, B):
    A, B = np.asarray(A, np.float32), np.asarray(B, np.float32)
    return (A**2).sum(axis=1)[:, None] - 2 * A @ B.T + (B**2).sum(axis=1)


HONEST = {
    "product": lambda A, B: A @ B.T,
    "single precision": squares_in_single_precision,
    "from the mean of the landmarks": lambda A, B: A @ (B - B.mean(axis=0)).T,
    "nothing": lambda A, B: np.zeros((len(A), len(B))),
}


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("kernel", HONEST.values(), ids=HONEST)
def test_rounding_of_functions_of_tables_is_no_difference(kernel, offset):
    rows = np.random.default_rng(0).normal(size=(300, 40)) + offset
    model = features(kernel=kernel, batched=True).fit(rows)
    assert model.transform(rows).shape == (300, 5)
    for few in (1, 2):
        assert features(1, kernel=kernel, batched=True).fit(rows[:few]).landmarks_.shape == (1, 40)


def test_two_large_similarities_are_cut():
    model = features(kernel=lambda x, z: 1e300).fit(X)
    assert_array_equal(model.transform(X), np.finfo(np.float32).max)


def test_append_puts_originals_first():
    alone, both = features().fit(X), features(append=True).fit(X)
    assert_array_equal(both.transform(X), np.hstack([X, alone.transform(X)]))
    assert both.transform(X).dtype == np.float64


def test_names():
    frame = pd.DataFrame(X, columns=["a", "b c", "d", "e"])
    model = features(2, append=True).fit(frame)
    rows = model.landmark_rows_
    expected = [*frame.columns, *(f"gaussian(x, row {row})" for row in rows)]
    assert model.get_feature_names_out().tolist() == expected
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == expected
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a"])


def test_features_of_features_have_other_names():
    twice = make_pipeline(features(append=True), features(append=True))
    twice.set_output(transform="polars").fit(pl.DataFrame(X))
    names = twice.transform(pl.DataFrame(X)).columns
    assert len(set(names)) == len(names) == 4 + 5 + 5


def test_missing_values_are_the_median():
    holes = X.copy()
    holes[::3, 1] = np.nan
    model = features(append=True).fit(holes)
    filled = np.where(np.isnan(holes), np.nanmedian(holes, axis=0), holes)
    assert_array_equal(model.transform(holes), model.transform(filled))
    assert_array_equal(model.transform(holes)[:, :4], filled)


def test_labels_are_indicators():
    colours = np.array(["red", "blue", None, "green"] * 15, dtype=object)
    frame = pd.DataFrame({"number": X[:, 0], "colour": colours, "flag": X[:, 1] > 0})
    model = features(width=1.0).fit(frame)
    points = np.column_stack(
        [X[:, 0], X[:, 1] > 0, *((colours == level) for level in ("blue", "green", "red"))]
    ).astype(float)
    assert_allclose(
        model.transform(frame),
        naive.similarities("gaussian", points, points[model.landmark_rows_], width=1.0),
    )
    unseen = frame.assign(colour="violet")
    gone = frame.assign(colour=pd.Series([None] * 60, dtype=object))
    assert_array_equal(model.transform(unseen), model.transform(gone))
    appended = clone(model).set_params(append=True).fit(frame).transform(frame)
    assert np.isfinite(appended).all()
    assert set(appended[:, 1]) == {0.0, 1.0, 2.0}


def test_scale_divides_by_the_spread():
    units = X * [1, 1e3, 1e-3, 1e6]
    scaled = features(scale=True, width=2.0).fit(units)
    expected = features(width=2.0).fit(X / X.std(axis=0))
    assert_allclose(scaled.transform(units), expected.transform(X / X.std(axis=0)), rtol=1e-9)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, lambda rows: pl.DataFrame(rows).to_arrow()]
)
def test_frames_and_arrays_agree(make):
    columns = {f"c{k}": X[:, k] for k in range(4)}
    table = make(columns)
    assert_array_equal(features().fit(table).transform(table), features().fit(X).transform(X))


def test_pickle_and_seed():
    model = features().fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))
    assert_array_equal(features().fit(X).landmark_rows_, model.landmark_rows_)
    other = features(random_state=1).fit(X)
    assert np.any(other.landmark_rows_ != model.landmark_rows_)


def test_helps_a_linear_model():
    rows, y = make_ringnorm(600, random_state=0)
    plain = LogisticRegression(max_iter=500).fit(rows[:300], y[:300]).score(rows[300:], y[300:])
    model = make_pipeline(features(40, append=True, width=40.0), LogisticRegression(max_iter=2000))
    assert model.fit(rows[:300], y[:300]).score(rows[300:], y[300:]) > plain + 0.1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": lambda x, z: x}, "use batched=True if it takes two tables"),
        ({"kernel": lambda x, z: 1.0, "batched": True}, "use batched=False if it takes two rows"),
        ({"kernel": lambda x, z: "much"}, "gave 'much' for row 0 and landmark 0, but a finite"),
        ({"kernel": lambda x, z: None}, "gave None for row 0 and landmark 0, but a finite"),
        ({"kernel": lambda x, z: np.inf}, "gave inf for row 0 .* return one for every pair"),
        ({"kernel": lambda A, B: None, "batched": True}, "of the shape .2, 1., but gave None"),
        ({"kernel": lambda A, B: np.ones((2, 2)), "batched": True}, "but gave the shape .2, 2."),
        (
            {"kernel": lambda A, B: np.full((len(A), len(B)), np.nan), "batched": True},
            "gave nan for row 0 and landmark 0, but a finite number is expected",
        ),
        ({"kernel": "precomputed"}, r"shape \(60, 4\), but kernel='precomputed' expects a square"),
        ({"kernel": "precomputed", "landmarks": "kmeans"}, "needs rows of numbers"),
        ({"scale": "sometimes"}, "must be True, False or 'auto'"),
        ({"landmarks": "class"}, "requires y"),
    ],
)
def test_nonsense_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        features(**params).fit(X).transform(X)
