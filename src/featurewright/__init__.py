"""Supervised feature construction for tabular data."""

from __future__ import annotations

import importlib
import typing

from featurewright import datasets, metrics
from featurewright.expressions import (
    Boolean,
    Category,
    Feature,
    Operator,
    Real,
    register_operator,
)

if typing.TYPE_CHECKING:
    from featurewright.auto import AutoFeatures
    from featurewright.constructive import (
        ConstructiveBoostingClassifier,
        ConstructiveBoostingRegressor,
        ConstructiveExtraTreesClassifier,
        ConstructiveExtraTreesRegressor,
        ConstructiveForestClassifier,
        ConstructiveForestRegressor,
        ConstructiveTreeClassifier,
        ConstructiveTreeRegressor,
    )
    from featurewright.export import load, save
    from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
    from featurewright.landmarks import (
        KernelFeatureEnsembleClassifier,
        KernelFeatureEnsembleRegressor,
        LandmarkKernelFeatures,
    )
    from featurewright.paths import ForestPathEncoder
    from featurewright.recursive import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer

__version__ = "0.1.0"

__all__ = [
    "AutoFeatures",
    "BatchConstructor",
    "Boolean",
    "Category",
    "ConstructiveBoostingClassifier",
    "ConstructiveBoostingRegressor",
    "ConstructiveExtraTreesClassifier",
    "ConstructiveExtraTreesRegressor",
    "ConstructiveForestClassifier",
    "ConstructiveForestRegressor",
    "ConstructiveTreeClassifier",
    "ConstructiveTreeRegressor",
    "FCTreeClassifier",
    "FCTreeRegressor",
    "Feature",
    "ForestPathEncoder",
    "KernelFeatureEnsembleClassifier",
    "KernelFeatureEnsembleRegressor",
    "LandmarkKernelFeatures",
    "Operator",
    "Real",
    "RecursiveSelectiveClassifier",
    "RecursiveSelectiveTransformer",
    "datasets",
    "load",
    "metrics",
    "register_operator",
    "save",
]

# Packages that need the compiler or much of scikit-learn are imported on first use.
_LATER = {
    "AutoFeatures": "auto",
    "BatchConstructor": "fctree",
    "ConstructiveBoostingClassifier": "constructive",
    "ConstructiveBoostingRegressor": "constructive",
    "ConstructiveExtraTreesClassifier": "constructive",
    "ConstructiveExtraTreesRegressor": "constructive",
    "ConstructiveForestClassifier": "constructive",
    "ConstructiveForestRegressor": "constructive",
    "ConstructiveTreeClassifier": "constructive",
    "ConstructiveTreeRegressor": "constructive",
    "FCTreeClassifier": "fctree",
    "FCTreeRegressor": "fctree",
    "ForestPathEncoder": "paths",
    "KernelFeatureEnsembleClassifier": "landmarks",
    "KernelFeatureEnsembleRegressor": "landmarks",
    "LandmarkKernelFeatures": "landmarks",
    "RecursiveSelectiveClassifier": "recursive",
    "RecursiveSelectiveTransformer": "recursive",
    "load": "export",
    "save": "export",
}


def __getattr__(name: str) -> typing.Any:
    """Import the room of a name that is used for the first time."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the names that are not imported yet too."""
    return sorted({*globals(), *__all__})
