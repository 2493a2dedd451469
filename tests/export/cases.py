"""Fitted models of every public estimator, their answers, and how to take files apart."""

from __future__ import annotations

import inspect
import io
import json
import warnings
import zipfile
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator

import featurewright
from featurewright.export import ModelFileError, load
from featurewright.expressions import Domain
from featurewright.report import summarize
from featurewright.tables.dates import TimeKind

ESTIMATORS = {
    name: public
    for name in sorted(featurewright.__all__)
    if inspect.isclass(public := getattr(featurewright, name)) and issubclass(public, BaseEstimator)
}
SMALL = {
    "n_estimators": 4,
    "budget": 12,
    "n_constructed": 8,
    "n_recursions": 2,
    "n_features_out": 3,
    "effort": "quick",
    "methods": "batch",
    "cv": 2,
    "random_state": 0,
    "n_jobs": 1,
}
TABLES = ("numbers", "pandas", "polars")
METHODS = ("predict", "predict_proba", "decision_function", "transform", "apply")
N_ROWS = 60


def make(name: str, **changes: Any) -> Any:
    """Make an estimator with small settings."""
    model = ESTIMATORS[name]()
    known = model.get_params()
    return model.set_params(**{k: v for k, v in {**SMALL, **changes}.items() if k in known})


@cache
def table(kind: str) -> Any:
    """Make a table: numbers alone, or with booleans, categories and missing values."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(N_ROWS, 4)).round(3)
    if kind == "numbers":
        return numbers
    columns: dict[str, Any] = {
        "size (cm)": np.where(random.random(N_ROWS) < 0.1, np.nan, numbers[:, 0]),
        "`odd` name": numbers[:, 1],
        "open": numbers[:, 2] > 0,
        "colour": random.choice(["red", "grün", "blue\n", None], N_ROWS).tolist(),
    }
    if kind == "polars":
        return pl.DataFrame(columns)
    frame = pd.DataFrame(columns)
    frame["colour"] = frame["colour"].astype("category")
    return frame


@cache
def target(name: str) -> Any:
    """Make classes, or numbers for a regressor."""
    numbers = table("numbers")
    product = numbers[:, 0] * numbers[:, 1]
    return product if name.endswith("Regressor") else np.digitize(product, [-0.3, 0.3])


def fitted(name: str, kind: str = "numbers") -> Any:
    """Return a fitted estimator; nobody changes it."""
    return _fit(name, kind)


def saved(name: str, kind: str = "numbers") -> bytes:
    """Return the bytes of its file."""
    return _save(name, kind)


@cache
def _fit(name: str, kind: str) -> Any:
    return make(name).fit(table(kind), target(name))


@cache
def _save(name: str, kind: str) -> bytes:
    return as_bytes(_fit(name, kind))


def as_bytes(model: Any) -> bytes:
    """Save a model in memory."""
    file = io.BytesIO()
    featurewright.save(model, file)
    return file.getvalue()


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """Collect all that a model says of some rows, and the names of its columns."""
    found: dict[str, Any] = {}
    for method in METHODS:
        if hasattr(model, method):
            said = getattr(model, method)(rows)
            said = said.toarray() if hasattr(said, "toarray") else said
            if isinstance(said, list):  # one table for each of several outputs
                said = np.hstack(said)
            found[method] = np.asarray(said)
    if hasattr(model, "get_feature_names_out"):
        found["names"] = np.asarray(model.get_feature_names_out(), dtype=str)
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two models say the same, to the last bit."""
    return one.keys() == other.keys() and all(
        one[key].dtype == other[key].dtype
        and one[key].shape == other[key].shape
        and one[key].tobytes() == other[key].tobytes()
        for key in one
    )


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the document and the other members of a file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def pack(document: Any, members: dict[str, bytes]) -> bytes:
    """Put a file together, with right checksums."""
    file = io.BytesIO()
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(array: Any, **settings: Any) -> bytes:
    """Return the .npy bytes of an array."""
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()


def refuse(data, match="."):
    """A file must be refused, in one line."""
    with pytest.raises(ModelFileError, match=match) as caught:
        load(io.BytesIO(data))
    check_sentence(str(caught.value))


def check_sentence(text: str) -> None:
    """An error is one sentence on one line."""
    assert text.startswith("Cannot load the model: ")
    assert text.endswith(".")
    assert text.isprintable()
    assert len(text) < 600


def refused_or_sound(data: bytes) -> Any:
    """Load a file that must be refused, in one line, or hold a model that works.

    Returns the answers of the model for rows of its own, and None of a file that was refused.
    """
    try:
        model = load(io.BytesIO(data))
    except ModelFileError as error:
        check_sentence(str(error))
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays may hold any number
        repr(model)
        if not any(name.endswith("_") for name in vars(model)):
            return {}  # not fitted
        found = answers(model, own_rows(model))
        if isinstance(model, featurewright.AutoFeatures):
            summarize(model)
    return found


def own_rows(model: Any) -> Any:
    """Return a few rows of the kind of table that a loaded model says it was fitted on."""
    reader, schema = getattr(model, "reader_", None), getattr(model, "_schema", None)
    layout = getattr(model, "_layout", None)
    random = np.random.default_rng(0)
    if layout is not None:
        schema = layout.schema
    if reader is None:
        columns = [
            _column(*kind, random) for kind in zip(schema.domains, schema.levels, strict=True)
        ]
        names, given = schema.names, schema.given_names
        for name, kind in (layout.dates if layout is not None else {}).items():
            columns[names.index(name)] = _times(kind)
    else:
        columns = [random.normal(size=5) for _ in reader.names_in]
        plain = reader.plain
        for place, *kind in zip(reader.places, plain.domains, plain.levels, strict=True):
            columns[place] = _column(*kind, random)
        for _, place, kind in reader.times:
            columns[place] = _times(kind)
        names, given = reader.names_in, hasattr(model, "feature_names_in_")
    if not given and all(np.asarray(column).dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    frame = pd.DataFrame(dict(enumerate(columns)))
    if given or layout is not None:  # links find their keys by name
        return frame.set_axis(pd.Index(names, dtype=object), axis=1)
    return frame


def _column(domain: int, levels: Any, random: Any) -> Any:
    """Return values of a column, one of them missing."""
    if domain == Domain.REAL:
        return np.array([np.nan, *random.normal(size=4)])
    if domain == Domain.BOOLEAN:
        return random.random(5) < 0.5
    # pandas cannot hold every text.
    known = [level for level in levels if not (isinstance(level, str) and "\ud800" in level)]
    return pd.Series([*(known or ["other"])[:4], *[None] * 5][:5], dtype=object)


def _times(kind: TimeKind) -> Any:
    """Return dates, times of day or durations."""
    days = pd.date_range("2024-01-01", periods=5, freq="31h").to_series(index=range(5))
    if kind is TimeKind.DURATION:
        return days - days[0]
    return days.dt.time.astype(object) if kind is TimeKind.TIME else days
