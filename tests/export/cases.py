"""Fitted models of every public estimator, what they answer, and how to take files apart."""

from __future__ import annotations

import inspect
import io
import json
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
    "time_budget": 1,
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
    """Give a fitted estimator; nobody changes it."""
    return _fit(name, kind)


def saved(name: str, kind: str = "numbers") -> bytes:
    """Give the bytes of its file."""
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
            found[method] = np.asarray(said)
    if hasattr(model, "get_feature_names_out"):
        found["names"] = np.asarray(model.get_feature_names_out(), dtype=str)
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two models say the same, to the last bit."""
    return one.keys() == other.keys() and all(
        one[key].dtype == other[key].dtype
        and one[key].shape == other[key].shape
        and one[key].tobytes() == other[key].tobytes()
        for key in one
    )


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Give the document and the other members of a file."""
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
    """Give the .npy bytes of an array."""
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()


def refuse(data, match="."):
    """A file must be refused, in one line."""
    with pytest.raises(ModelFileError, match=match) as caught:
        load(io.BytesIO(data))
    text = str(caught.value)
    assert text.startswith("Cannot load the model: ")
    assert "\n" not in text
    assert len(text) < 600


def refused_or_sound(data, name, kind="numbers"):
    """A file must be refused, or hold a model that answers, or says what is wrong, and no crash."""
    try:
        model = load(io.BytesIO(data))
    except ModelFileError:
        return None
    try:
        return answers(model, table(kind))
    except (ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError):
        return None  # a parameter makes no sense, which is told when it is used
