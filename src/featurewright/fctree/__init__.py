"""Feature construction trees, and the two-step construction that they are compared with."""

from __future__ import annotations

from featurewright.fctree.batch import BatchConstructor
from featurewright.fctree.trees import FCTreeClassifier, FCTreeRegressor

__all__ = ["BatchConstructor", "FCTreeClassifier", "FCTreeRegressor"]
