"""Supervised feature construction for tabular data."""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from featurewright import datasets, distributed, metrics
    from featurewright.auto import AdditiveDisplay, AutoFeatures, FrontDisplay
    from featurewright.compilation import compile_all
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
    from featurewright.expressions import (
        Boolean,
        Category,
        Feature,
        Operator,
        Real,
        register_operator,
    )
    from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
    from featurewright.landmarks import (
        KernelFeatureEnsembleClassifier,
        KernelFeatureEnsembleRegressor,
        LandmarkKernelFeatures,
    )
    from featurewright.paths import ForestPathEncoder
    from featurewright.publications import published
    from featurewright.recursive import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer
    from featurewright.relations import Link, RelationalFeatures

__version__ = "0.1.0"

__all__ = [
    "AdditiveDisplay",
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
    "FrontDisplay",
    "KernelFeatureEnsembleClassifier",
    "KernelFeatureEnsembleRegressor",
    "LandmarkKernelFeatures",
    "Link",
    "Operator",
    "Real",
    "RecursiveSelectiveClassifier",
    "RecursiveSelectiveTransformer",
    "RelationalFeatures",
    "compile_all",
    "datasets",
    "distributed",
    "load",
    "metrics",
    "published",
    "register_operator",
    "save",
]

# Imported on first use, so that importing the package costs nothing. "" is a module itself.
_MODULES = {
    "AdditiveDisplay": "auto",
    "AutoFeatures": "auto",
    "BatchConstructor": "fctree",
    "Boolean": "expressions",
    "Category": "expressions",
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
    "Feature": "expressions",
    "ForestPathEncoder": "paths",
    "FrontDisplay": "auto",
    "KernelFeatureEnsembleClassifier": "landmarks",
    "KernelFeatureEnsembleRegressor": "landmarks",
    "LandmarkKernelFeatures": "landmarks",
    "Link": "relations",
    "Operator": "expressions",
    "Real": "expressions",
    "RecursiveSelectiveClassifier": "recursive",
    "RecursiveSelectiveTransformer": "recursive",
    "RelationalFeatures": "relations",
    "compile_all": "compilation",
    "datasets": "",
    "distributed": "",
    "load": "export",
    "metrics": "",
    "published": "publications",
    "register_operator": "expressions",
    "save": "export",
}


def __getattr__(name: str) -> _typing.Any:
    """Import the module of a name that is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _MODULES[name]:
        return _importlib.import_module(f"{__name__}.{name}")
    value = getattr(_importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return [*__all__, "__version__"]
