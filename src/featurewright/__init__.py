"""Supervised feature construction for tabular data."""

from __future__ import annotations

from featurewright import datasets
from featurewright.constructive import (
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

__version__ = "0.1.0"
