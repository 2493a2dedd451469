"""Predictions of trees as SQL, executed and compared with `predict` and `predict_proba`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.export.engines import ENGINES, KEY, mixed_frame, numbers, run
from tests.export.test_sql_features import ALL, labels_of

from featurewright import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesClassifier,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    ConstructiveTreeRegressor,
    FCTreeRegressor,
    ForestPathEncoder,
    LandmarkKernelFeatures,
)
from featurewright.export import cases, to_sql
from featurewright.expressions import OPERATORS

# What computes the same in float32 wherever it is computed.
EXACT = [name for name in ALL if OPERATORS[name].exact]


def check_predictions(model, frame: pl.DataFrame, outputs=("predict",), rtol=0.0) -> None:
    for output in outputs:
        expected = np.asarray(getattr(model, output)(frame))
        for engine in ENGINES:
            query = to_sql(model, "t", engine, key=KEY, output=output)
            names, rows = run(query, engine, frame)
            if expected.dtype.kind in "UO":
                assert [row[0] for row in rows] == expected.tolist()
            else:
                found = numbers(rows)
                wanted = expected.reshape(found.shape).astype(float)
                np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
            if output == "predict":
                assert names == ["prediction"] or names[0] == "prediction_0"
            else:
                assert names == [f"probability_{label}" for label in model.classes_]


CLASSIFIERS = [
    ConstructiveTreeClassifier(operators=EXACT, random_state=0),
    ConstructiveForestClassifier(5, operators=EXACT, random_state=0),
    ConstructiveExtraTreesClassifier(3, operators=EXACT, random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classes_on_a_hostile_table_to_the_last_bit(model):
    frame = mixed_frame(160)
    model.fit(frame, labels_of(frame))
    check_predictions(model, frame, ("predict", "predict_proba"))
    check_predictions(model, mixed_frame(400, seed=5), ("predict_proba",))


@pytest.mark.parametrize("loss", ["log_loss", "adaboost_mh"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_classes(loss, n_classes):
    frame = mixed_frame(200)
    target = labels_of(frame)
    target = target if n_classes == 3 else target == "b"
    model = ConstructiveBoostingClassifier(
        4, loss=loss, operators=EXACT, min_samples_leaf=5, random_state=0
    ).fit(frame, target)
    check_predictions(model, frame, ("predict_proba",), rtol=1e-14)
    check_predictions(model, frame, ("predict",))


@pytest.mark.parametrize("size", [1.0, 1e200])
def test_numbers(size):
    frame = mixed_frame(150)
    target = np.random.default_rng(0).normal(size=150) * size
    for model in (
        ConstructiveTreeRegressor(max_depth=5, operators=EXACT, random_state=0),
        ConstructiveForestRegressor(3, max_depth=6, operators=EXACT, random_state=0),
        ConstructiveBoostingRegressor(4, operators=EXACT, random_state=0),
        FCTreeRegressor(max_depth=4, random_state=0),
    ):
        check_predictions(model.fit(frame, target), frame, rtol=1e-14)


def test_several_outputs():
    frame = mixed_frame(150)
    labels = labels_of(frame)
    several = np.column_stack([labels, np.where(labels == "b", "yes", "no's")])
    model = ConstructiveForestClassifier(4, operators=EXACT, random_state=0).fit(frame, several)
    expected, shares = model.predict(frame), np.hstack(model.predict_proba(frame))
    for engine in ENGINES:
        names, rows = run(to_sql(model, "t", engine, key=KEY, output="predict"), engine, frame)
        assert names == ["prediction_0", "prediction_1"]
        assert [list(row) for row in rows] == expected.tolist()
        query = to_sql(model, "t", engine, key=KEY, output="predict_proba")
        names, rows = run(query, engine, frame)
        assert names[-1] == "probability_1_yes"
        np.testing.assert_array_equal(numbers(rows), shares)
    numbers_model = ConstructiveForestRegressor(3, max_depth=4, random_state=0)
    check_predictions(numbers_model.fit(frame, shares[:, :2]), frame, rtol=1e-14)


def test_whole_numbers_as_labels():
    frame = mixed_frame(80)
    model = ConstructiveTreeClassifier(max_depth=3, random_state=0)
    model.fit(frame, np.where(labels_of(frame) == "b", -3, 7))
    check_predictions(model, frame, ("predict",))
    with pytest.raises(ValueError, match="ConstructiveTreeRegressor predicts no probabilities"):
        to_sql(
            ConstructiveTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]),
            "t",
            output="predict_proba",
        )
    with pytest.raises(TypeError, match="Predictions of LandmarkKernelFeatures cannot"):
        to_sql(LandmarkKernelFeatures(1).fit([[0.0], [1.0]]), "t", output="predict")


def test_constant_and_many_classes():
    frame = pl.DataFrame({"a": np.arange(60.0)})
    for target in (np.zeros(60), np.arange(60)):
        model = ConstructiveForestClassifier(3, random_state=0).fit(frame, target)
        check_predictions(model, frame, ("predict", "predict_proba"))
    constant = ConstructiveTreeRegressor().fit(frame, np.full(60, 2.5))
    check_predictions(constant, frame)


@pytest.mark.parametrize(
    "operators",
    [
        *(pytest.param(names, marks=pytest.mark.slow) for names in (["sub"], ["mul", "add"])),
        ["div", "square"],
        None,
    ],
)
def test_rows_at_and_beside_thresholds(operators):
    """Rows whose values are the thresholds, and the floats of both widths beside them."""
    random = np.random.default_rng(1)
    X = random.choice([0.1, 0.2, 0.3, 0.7, 1e-3, 16777217.0, 5.0], size=(300, 2))
    X += random.choice([0.0, 0.1], size=X.shape)
    y = random.integers(0, 2, 300)
    search = {"search": None} if operators is None else {"operators": operators, "max_size": 5}
    model = ConstructiveForestClassifier(3, bootstrap=False, random_state=0, **search)
    model.fit(pl.DataFrame(X, schema=["x0", "x1"]), y)
    ends = model.forest_.threshold[model.forest_.left >= 0].astype(float)
    near = [ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)]
    with np.errstate(over="ignore"):
        narrow = ends.astype(np.float32)
        for way in (np.inf, -np.inf):
            beside = np.nextafter(narrow, np.float32(way)).astype(float)
            near += [beside, (beside + ends) / 2]
            near += [np.nextafter(near[-1], np.inf), np.nextafter(near[-1], -np.inf)]
    near = np.concatenate(near)
    near = near[np.abs(near) < 3e38][:600]
    rows = np.vstack([X, np.column_stack([near, random.permutation(near)])])
    check_predictions(model, pl.DataFrame(rows, schema=["x0", "x1"]), ("predict_proba",))


def chained(forest, depth: int):
    """Return a tree of which every right child is a leaf, but the last one's."""
    inner, n_nodes = 2 * np.arange(depth), 2 * depth + 1
    left = np.empty(n_nodes, np.int32)
    left[inner] = inner + 1
    leaves = np.append(inner + 1, n_nodes - 1)
    left[leaves] = -1 - np.arange(depth + 1)
    return replace(
        forest,
        left=left,
        programs=np.repeat(forest.programs[:1], n_nodes, axis=0),
        threshold=np.repeat(np.arange(depth + 1) / 5, 2)[:n_nodes].astype(np.float32),
        is_level=np.zeros(n_nodes, np.uint8),
        missing_left=np.zeros(n_nodes, np.uint8),
        depth=np.append(0, np.repeat(np.arange(depth) + 1, 2)).astype(np.int32),
        values=np.arange(depth + 1.0)[:, None],
    )


def test_deep_trees_and_many_of_them(monkeypatch):
    """A tree that is a chain of 600 levels, and more trees than are added up at once."""
    X = np.append(np.nan, np.arange(119.0))[:, None]
    frame = pl.DataFrame({"x0": X[:, 0]})
    deep = ConstructiveTreeClassifier(search=None, random_state=0)
    deep.fit(frame, np.arange(120) % 2)
    many = ConstructiveForestRegressor(70, search=None, max_depth=2, random_state=0)
    many.fit(frame, np.arange(120.0))
    chain = ConstructiveTreeRegressor(search=None, max_depth=1).fit(frame, np.arange(120.0))
    chain.forest_ = chained(chain.forest_, 600)
    for model in (deep, many, chain):
        check_predictions(model, frame)
    monkeypatch.setattr(cases, "MAX_NODES", 10)
    with pytest.raises(ValueError, match="nodes, but at most 10 can be written"):
        to_sql(deep, "t", output="predict")


@pytest.mark.parametrize("encode", ["path", "leaf"])
def test_paths(encode):
    frame = mixed_frame(150, hostile=False).drop_nulls()
    model = ForestPathEncoder(3, encode=encode, operators=EXACT, random_state=0)
    model.fit(frame, labels_of(frame))
    expected = model.transform(frame).toarray()
    gaps = frame.with_columns(pl.lit(None, pl.Float64).alias('a"b'))
    for engine in ENGINES:
        query = to_sql(model, "t", engine, key=KEY)
        names, rows = run(query, engine, frame)
        assert names == list(model.get_feature_names_out())
        np.testing.assert_array_equal(numbers(rows), expected)
        found = numbers(run(query, engine, gaps)[1])
        assert np.isnan(found).any()
        known = ~np.isnan(found)
        np.testing.assert_array_equal(found[known], model.transform(gaps).toarray()[known])
    model.set_params(root=False, depth_weights=[0.5, 0.25, 0.125])
    weighted = ForestPathEncoder(
        3, encode=encode, operators=EXACT, missing="learned", depth_weights=0.5, random_state=0
    )
    weighted.fit(pl.concat([frame[:100], gaps[100:]]), labels_of(frame))
    for other, table in ((model, frame), (weighted, gaps)):
        names, rows = run(to_sql(other, "t", ENGINES[0], key=KEY), ENGINES[0], table)
        assert names == list(other.get_feature_names_out())
        np.testing.assert_array_equal(numbers(rows), other.transform(table).toarray())
    hashed = ForestPathEncoder(2, n_hash=8, random_state=0).fit(frame, labels_of(frame))
    with pytest.raises(ValueError, match="fit with n_hash=None"):
        to_sql(hashed, "t")
