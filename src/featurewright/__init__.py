"""Supervised feature construction for tabular data."""

from __future__ import annotations

from featurewright import datasets, metrics
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
from featurewright.recursive import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer

__version__ = "0.1.0"

__all__ = [
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
    "metrics",
    "register_operator",
]
