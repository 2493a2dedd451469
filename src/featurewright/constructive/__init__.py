"""Method E: learners that search expressions at every node while they grow."""

from featurewright.constructive.forests import (
    ConstructiveExtraTreesClassifier,
    ConstructiveExtraTreesRegressor,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
)
from featurewright.constructive.trees import ConstructiveTreeClassifier, ConstructiveTreeRegressor

__all__ = [
    "ConstructiveExtraTreesClassifier",
    "ConstructiveExtraTreesRegressor",
    "ConstructiveForestClassifier",
    "ConstructiveForestRegressor",
    "ConstructiveTreeClassifier",
    "ConstructiveTreeRegressor",
]
