"""Supervised feature construction for tabular data."""

from __future__ import annotations

from featurewright import datasets
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
from featurewright.recursive import (
    RecursionDisplay,
    RecursiveSelectiveClassifier,
    RecursiveSelectiveTransformer,
)

__version__ = "0.1.0"

__all__ = [
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
    "Feature",
    "Operator",
    "Real",
    "RecursionDisplay",
    "RecursiveSelectiveClassifier",
    "RecursiveSelectiveTransformer",
    "datasets",
    "register_operator",
]
