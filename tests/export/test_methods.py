"""The columns of every method of AutoFeatures: saved and loaded, as SQL, and as ONNX."""

from __future__ import annotations

import io

import numpy as np
import onnxruntime
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold
from tests.export.engines import ENGINES, KEY, numbers, run

from featurewright.auto import AutoFeatures, methods
from featurewright.auto.methods import METHODS
from featurewright.auto.originals import unique_names
from featurewright.auto.tasks import Request, Task
from featurewright.export import load, save, to_onnx, to_sql

VALUES = np.random.default_rng(0).normal(size=(90, 3)).round(2)
FRAME = pl.DataFrame(VALUES, schema=["a", "b", "c"])
TARGETS = {
    "classification": np.digitize(VALUES[:, 0] * VALUES[:, 1], [-0.3, 0.3]),
    "regression": VALUES[:, 0] * VALUES[:, 1] + VALUES[:, 2],
}
NO_ONNX = {
    "path": "Paths of trees have no ONNX form",
    "score": "Scores and votes of trees",
    "vote": "Scores and votes of trees",
}


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    """A query of some trees tells as much as one of hundreds."""
    for name in ("FOREST_TREES", "ROUND_TREES", "FC_TREES", "VOTING_TREES", "PATH_TREES"):
        monkeypatch.setattr(methods, f"_{name}", 5)
    for name in ("_PATIENT_ROUNDS", "_BOOSTED_ROUNDS"):
        monkeypatch.setattr(methods, name, 5)


@pytest.fixture(scope="module")
def searched() -> dict[str, AutoFeatures]:
    """A fitted search for each kind of target, whatever it has found."""
    folds = KFold(2, shuffle=True, random_state=0)
    settings = {"methods": "batch", "effort": "quick", "cv": folds, "random_state": 0}
    return {kind: AutoFeatures(**settings).fit(FRAME, y) for kind, y in TARGETS.items()}


def with_columns_of(method: str, kind: str, model: AutoFeatures) -> AutoFeatures:
    """Return a model whose constructed columns are the first ones of a method."""
    table, y = model.reader_.read(model, FRAME), TARGETS[kind]
    task = Task(kind, 1, max_size=3, n_jobs=1)
    request = Request(method, table, y, None, task, seed=0)
    part = METHODS[method].construct(request).part
    part = part.take(np.arange(min(4, len(part.columns))))
    made = clone(model)
    vars(made).update(vars(model))
    made.parts_, made.features_ = [part], list(part.features)
    made.stability_ = np.zeros(len(part.features))
    made.columns_ = unique_names([*model.originals_.columns, *part.columns])
    made.model_ = clone(model.model_).fit(made.transform(FRAME), y)
    return made


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("method", [name for name in METHODS if not METHODS[name].needs_links])
def test_columns_are_the_same_everywhere(method, kind, searched):
    model = with_columns_of(method, kind, searched[kind])
    assert len(model.columns_) > len(model.originals_.columns)
    expected = model.transform(FRAME)
    file = io.BytesIO()
    save(model, file)
    loaded = load(file)
    np.testing.assert_array_equal(loaded.transform(FRAME), expected)
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    for engine in ENGINES:
        names, rows = run(to_sql(loaded, "t", engine, key=KEY), engine, FRAME)
        assert names == list(model.get_feature_names_out())
        np.testing.assert_allclose(numbers(rows), expected, rtol=1e-9, atol=1e-9)
    refusal = NO_ONNX.get(model.parts_[0].kind)
    if refusal is not None:
        with pytest.raises(ValueError, match=refusal):
            to_onnx(loaded)
        return
    session = onnxruntime.InferenceSession(to_onnx(loaded).SerializeToString())
    (answer,) = session.run(None, {"X": VALUES})
    np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-9)
