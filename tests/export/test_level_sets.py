"""Trees that split categories into sets of levels: as SQL, ONNX, files and paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnxruntime
import polars as pl
import pytest
from tests.export.test_sql_predictions import check_predictions

from featurewright import (
    ConstructiveBoostingRegressor,
    ConstructiveForestClassifier,
    ForestPathEncoder,
)
from featurewright.export import ModelFileError, load, onnx, save

N_LEVELS = 40


def frame(n_rows: int, seed: int = 0, *, unseen: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    labels = [f"it's {k}" for k in rng.integers(0, N_LEVELS + 20 * unseen, n_rows)]
    kinds = np.where(rng.random(n_rows) < 0.1, None, np.array(labels, object)).tolist()
    return pl.DataFrame({"kind": kinds, "x": rng.normal(size=n_rows).round(2)})


def effect(table: pl.DataFrame) -> np.ndarray:
    slope = np.random.default_rng(9).normal(size=N_LEVELS)
    numbers = [0 if kind is None else int(kind.split()[1]) for kind in table["kind"]]
    return slope[numbers] * (1 + (table["x"].to_numpy() > 0))


def boosted() -> ConstructiveBoostingRegressor:
    table = frame(800)
    model = ConstructiveBoostingRegressor(15, search=None, random_state=0)
    model.fit(table, effect(table))
    assert model.forest_.tests_set.sum() > 10
    return model


def test_sql():
    table = frame(300, seed=4, unseen=True)
    check_predictions(boosted(), table, rtol=1e-9)
    forest = ConstructiveForestClassifier(5, random_state=0)
    learned = frame(800)
    forest.fit(learned, np.sign(effect(learned)).astype(int))
    assert forest.forest_.tests_set.any()
    check_predictions(forest, table, ("predict_proba",), rtol=1e-9)


def test_onnx():
    model, table = boosted(), frame(200, seed=5, unseen=True)
    made = onnx.to_onnx(model, output="predict")
    session = onnxruntime.InferenceSession(made.SerializeToString())
    labels = table.select("kind").fill_null("no such label").to_numpy().astype(object)
    found = session.run(None, {"X": table.select("x").to_numpy(), "labels": labels})[0]
    np.testing.assert_allclose(found.ravel(), model.predict(table), rtol=1e-9)


def test_files(tmp_path):
    model, table = boosted(), frame(200, seed=6, unseen=True)
    save(model, tmp_path / "model.fw")
    np.testing.assert_array_equal(load(tmp_path / "model.fw").predict(table), model.predict(table))


@pytest.mark.parametrize("change", ["no words", "fewer sets", "another kind", "a number"])
def test_files_with_sets_that_there_are_not(tmp_path, change):
    model = boosted()
    forest = model.forest_
    is_level, programs = forest.is_level.copy(), forest.programs.copy()
    node = np.flatnonzero(forest.tests_set)[0]
    is_level[node] = 3
    programs[node, 0] = 1
    changes = {
        "no words": {"level_sets": forest.level_sets[:, :1].copy()},
        "fewer sets": {"level_sets": forest.level_sets[:-1].copy()},
        "another kind": {"is_level": is_level},
        "a number": {"programs": programs},
    }
    model.forest_ = replace(forest, **changes[change])
    save(model, tmp_path / "model.fw")
    with pytest.raises(ModelFileError):
        load(tmp_path / "model.fw")


@pytest.mark.parametrize("missing", ["learned", "spread"])
def test_paths(missing):
    model, table = boosted(), frame(100, seed=7)
    encoder = ForestPathEncoder.from_forest(model)
    encoder.missing = missing
    encoding = encoder.transform(table).toarray()
    names = encoder.get_feature_names_out()
    whole = np.array([kind is not None for kind in table["kind"]])
    tested = 0
    for k in np.flatnonzero([name.count(" in {") == name.count(" & ") + 1 for name in names]):
        condition = names[k].partition(": ")[2]
        goes = np.ones(len(table), bool)
        for part in condition.split(" & "):
            listed = part[part.index("{") + 1 : -1].split(", ")
            goes &= np.isin(table["kind"].to_numpy(), listed) != (" not in {" in part)
        np.testing.assert_array_equal(encoding[whole, k] > 0, goes[whole])
        tested += 1
    assert tested > 5
