"""Estimators whose units a joblib backend can move, with a small table for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from featurewright import (
    BatchConstructor,
    ConstructiveExtraTreesClassifier,
    ConstructiveExtraTreesRegressor,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ForestPathEncoder,
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    Operator,
    Real,
    RecursiveSelectiveClassifier,
    RecursiveSelectiveTransformer,
)
from featurewright.engine.forest import Forest
from featurewright.expressions import Feature

N_ROWS = 160
SEED = {"random_state": 0}


def make_table() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return numbers, a category and missing values; classes; numbers to predict."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 5)), columns=list("abcde"))
    number = (X["a"] * X["b"] + X["c"]).to_numpy()
    X["colour"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, N_ROWS)]
    X.loc[rng.random(N_ROWS) < 0.1, "d"] = np.nan
    return X, np.digitize(number, [-0.5, 0.5]), number


def far(a, b):
    """An operator of the user's own."""
    return abs(a - b)


FAR = Operator("far", [Real, Real], Real, far)

# Whether the target is a class, and how the model is made.
MODELS: dict[str, tuple[bool, Any]] = {
    "forest": (True, lambda: ConstructiveForestClassifier(40, oob_score=True, **SEED)),
    "forest of numbers": (False, lambda: ConstructiveForestRegressor(7, **SEED)),
    "extra trees": (True, lambda: ConstructiveExtraTreesClassifier(7, **SEED)),
    "extra trees of numbers": (False, lambda: ConstructiveExtraTreesRegressor(7, **SEED)),
    "paths": (True, lambda: ForestPathEncoder(7, **SEED)),
    "paths until they settle": (True, lambda: ForestPathEncoder("auto", max_estimators=40, **SEED)),
    "kernels": (True, lambda: KernelFeatureEnsembleClassifier(n_estimators=9, **SEED)),
    "kernels of a learner": (
        True,
        lambda: KernelFeatureEnsembleClassifier(
            DecisionTreeClassifier(), method="bagging", n_estimators=9, oob_score=True, **SEED
        ),
    ),
    "kernels of numbers": (False, lambda: KernelFeatureEnsembleRegressor(n_estimators=9, **SEED)),
    "recursive": (True, lambda: RecursiveSelectiveTransformer(n_recursions="auto", **SEED)),
    "recursive classifier": (
        True,
        lambda: RecursiveSelectiveClassifier(n_recursions=2, calibration="published", **SEED),
    ),
    "batch": (True, lambda: BatchConstructor(**SEED)),
}
# Workers compile the operators of a user, each for itself, which takes them long.
SLOW = {"own operator": (True, lambda: ConstructiveForestClassifier(6, operators=[FAR], **SEED))}


def fit(name: str, **parameters: Any) -> Any:
    """Fit a model of the list on the table."""
    X, classes, numbers = make_table()
    is_class, make = (MODELS | SLOW)[name]
    return make().set_params(**parameters).fit(X, classes if is_class else numbers)


def learned(model: Any) -> dict[str, Any]:
    """Return all that a model has learned, as bytes that can be compared."""
    return {name: content(value) for name, value in vars(model).items() if name != "n_jobs"}


def content(value: Any) -> Any:
    """Return something that is equal where all bits of a value are."""
    if isinstance(value, np.ndarray):
        bits = value.tolist() if value.dtype == object else value.tobytes()
        return value.shape, value.dtype.str, bits
    if isinstance(value, Forest):
        fields = value.__dataclass_fields__
        return {name: content(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {key: content(own) for key, own in value.items()}
    if isinstance(value, list | tuple) and not isinstance(value, Feature):
        return [content(own) for own in value]
    if hasattr(value, "get_params") or type(value).__module__.startswith("featurewright.landmarks"):
        return {name: content(own) for name, own in vars(value).items()}
    return str(value) if type(value).__module__ in ("builtins", "numpy") else type(value).__name__
