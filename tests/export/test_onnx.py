"""Models as ONNX graphs, run and compared with the models themselves."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from tests.export.engines import mixed_frame
from tests.export.test_sql_features import labels_of
from tests.export.test_sql_predictions import EXACT

from featurewright import (
    AutoFeatures,
    BatchConstructor,
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesRegressor,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    FCTreeClassifier,
    ForestPathEncoder,
    LandmarkKernelFeatures,
    RecursiveSelectiveTransformer,
)
from featurewright.export import to_onnx
from featurewright.expressions import OPERATORS, Category

NUMERIC = [
    name for name, row in OPERATORS.items() if Category not in row.inputs and not row.has_number
]
HOSTILE = [0.0, -0.0, -1.0, 1e30, -1e30, 1e-30, np.nan, 3.4e38, 1e-45, 16777217.0, 0.1, -800.0]


def hostile(n_rows: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(size=(n_rows, 3)).round(2)
    nasty = random.random(values.shape) < 0.3
    return np.where(nasty, random.choice(HOSTILE, values.shape), values)


def target(X: np.ndarray) -> np.ndarray:
    score = np.nan_to_num(np.clip(X[:, 0], -9, 9) * np.clip(X[:, 1], -9, 9))
    return np.array(["it's", "b", "c"])[np.digitize(score, [-0.3, 0.3])]


def run(model, X: np.ndarray, output: str = "transform") -> list[np.ndarray]:
    made = to_onnx(model, output=output)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    return session.run(None, {"X": X})


@pytest.mark.parametrize("keep_missing", [False, True])
def test_features(keep_missing):
    X = hostile(200)
    model = ConstructiveForestClassifier(
        6, operators=NUMERIC, keep_missing=keep_missing, include_original=True, random_state=1
    ).fit(X, target(X))
    for rows in (X, hostile(100, seed=1), X[:1]):
        (found,) = run(model, rows)
        np.testing.assert_allclose(found, model.transform(rows), rtol=1e-12, atol=1e-300)
    props = {prop.key: json.loads(prop.value) for prop in to_onnx(model).metadata_props}
    assert props["output_names"] == list(model.get_feature_names_out())
    assert props["input_names"] == ["x0", "x1", "x2"]


def test_other_transformers():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[::7, 1] = np.nan
    models = [BatchConstructor(), RecursiveSelectiveTransformer(n_recursions=1, random_state=0)]
    for kernel in ("gaussian", "laplacian", "linear", "polynomial", "sigmoid", "cosine"):
        models.append(LandmarkKernelFeatures(3, kernel=kernel, scale=True, random_state=0))
    for model in models:
        expected = model.fit(X, target(X)).transform(X)
        np.testing.assert_allclose(run(model, X)[0], expected, rtol=1e-9, atol=1e-9)


CLASSIFIERS = [
    ConstructiveTreeClassifier(operators=EXACT, random_state=0),
    ConstructiveForestClassifier(8, operators=EXACT, random_state=0),
    FCTreeClassifier(3, random_state=0),
    ConstructiveBoostingClassifier(5, operators=EXACT, min_samples_leaf=3, random_state=0),
    ConstructiveBoostingClassifier(5, loss="adaboost_mh", operators=EXACT, random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classes(model, n_classes):
    X = hostile(200)
    y = target(X) if n_classes == 3 else np.where(target(X) == "b", 5, -1)
    model.fit(X, y)
    for rows in (X, hostile(100, seed=2)):
        np.testing.assert_array_equal(run(model, rows, "predict")[0], model.predict(rows))
        (shares,) = run(model, rows, "predict_proba")
        np.testing.assert_allclose(shares, model.predict_proba(rows), rtol=1e-12, atol=1e-14)


def test_numbers():
    X = hostile(200)
    y = np.random.default_rng(0).normal(size=200)
    for model in (
        ConstructiveForestRegressor(5, operators=EXACT, random_state=0),
        ConstructiveExtraTreesRegressor(3, operators=EXACT, random_state=0),
        ConstructiveBoostingRegressor(5, operators=EXACT, random_state=0),
    ):
        model.fit(X, y)
        np.testing.assert_allclose(run(model, X, "predict")[0], model.predict(X), rtol=1e-12)
    several = ConstructiveForestRegressor(3, random_state=0).fit(X, np.column_stack([y, 2 * y]))
    np.testing.assert_allclose(run(several, X, "predict")[0], several.predict(X), rtol=1e-12)
    constant = ConstructiveForestRegressor(3, random_state=0).fit(X, np.ones(200))
    np.testing.assert_array_equal(run(constant, X, "predict")[0], np.ones(200))


def test_several_outputs():
    X = hostile(120)
    several = np.column_stack([target(X), np.where(target(X) == "b", "yes", "no")])
    model = ConstructiveForestClassifier(3, operators=EXACT, random_state=0).fit(X, several)
    np.testing.assert_array_equal(np.column_stack(run(model, X, "predict")), model.predict(X))
    (shares,) = run(model, X, "predict_proba")
    np.testing.assert_allclose(shares, np.hstack(model.predict_proba(X)), rtol=1e-12)


def label_inputs(frame) -> dict[str, np.ndarray]:
    """Return a mixed table as the inputs of a graph: numbers, and labels as text."""
    labels = frame.select("c`ol").fill_null("no such label").to_numpy().astype(object)
    numbers = frame.drop("c`ol").cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return {"X": np.ascontiguousarray(numbers), "labels": labels}


def run_mixed(model, frame, output: str) -> np.ndarray:
    made = to_onnx(model, output=output)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    return session.run(None, label_inputs(frame))[0]


def test_labels():
    frame, other = mixed_frame(150), mixed_frame(60, seed=1)
    other = other.with_columns(pl.Series("c`ol", ["purple", "red", None] * 20))
    y = labels_of(frame)
    forest = ConstructiveForestClassifier(
        5, operators=EXACT, include_original=False, random_state=0
    ).fit(frame, y)
    props = {prop.key: json.loads(prop.value) for prop in to_onnx(forest).metadata_props}
    assert props["label_names"] == ["c`ol"]
    assert "c`ol" not in props["input_names"]
    for rows in (frame, other):
        np.testing.assert_array_equal(run_mixed(forest, rows, "predict"), forest.predict(rows))
        found = run_mixed(forest, rows, "transform")
        np.testing.assert_allclose(found, forest.transform(rows), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("estimator", ["linear", "boosting"])
def test_original_columns_of_labels(estimator):
    """Levels, frequencies and codes."""
    frame = mixed_frame(150, hostile=False)
    auto = AutoFeatures(estimator, methods="batch", effort="quick", cv=2, random_state=0)
    auto.fit(frame, labels_of(frame))
    kinds = {column.kind for column in auto.columns_}
    assert ("code" in kinds) == (estimator == "boosting")
    found = run_mixed(auto, frame, "transform")
    np.testing.assert_allclose(found, auto.transform(frame), rtol=1e-12, atol=1e-300)
    many = frame.with_columns(pl.Series("c`ol", [f"level {k % 40}" for k in range(150)]))
    auto = AutoFeatures(methods="batch", effort="quick", cv=2, random_state=0)
    auto.fit(many, labels_of(frame))
    assert "frequency" in {column.kind for column in auto.columns_}
    found = run_mixed(auto, many, "transform")
    np.testing.assert_allclose(found, auto.transform(many), rtol=1e-12, atol=1e-300)


def test_refusals():
    frame = mixed_frame(60, hostile=False)
    model = ConstructiveTreeClassifier(max_depth=2).fit(frame, labels_of(frame))
    days = frame.with_columns(day=pl.date(2024, 1, 1) + pl.duration(days=pl.int_range(60)))
    auto = AutoFeatures(methods="batch", effort="quick", cv=2, random_state=0)
    with pytest.raises(ValueError, match="'day' holds dates or times"):
        to_onnx(auto.fit(days, labels_of(frame)))
    objects = pd.DataFrame({"a": np.arange(60.0), "b": [1, "x"] * 30})
    mixed = ConstructiveTreeClassifier(max_depth=2).fit(objects, labels_of(frame))
    with pytest.raises(ValueError, match="'b' holds the label 1, but labels of an ONNX model"):
        to_onnx(mixed, output="predict")
    X = hostile(60)
    with pytest.raises(ValueError, match="Paths of trees have no ONNX form"):
        to_onnx(ForestPathEncoder(2, random_state=0).fit(X, target(X)))
    with pytest.raises(ValueError, match="output="):
        to_onnx(model, output="fit")
