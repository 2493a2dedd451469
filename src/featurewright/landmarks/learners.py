"""The trees of an ensemble over kernel features, with their limits."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from featurewright.constructive import (
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    ConstructiveTreeRegressor,
)

_LEAF_ROWS = 2  # of trees that are not random forests: the least of C4.5, where boosting has work
_LIMITS = (
    *("criterion", "max_features", "max_depth"),
    *("min_samples_leaf", "min_weight_fraction_leaf"),
)


def make_learner(ensemble: Any, method: str | None, n_members: int, n_rows: int) -> Any:
    """Make the learner that runs train copies of: the ensemble's own estimator, or trees."""
    if ensemble.estimator is not None:
        return ensemble.estimator
    classifies = is_classifier(ensemble)
    limits: dict[str, Any] = {name: getattr(ensemble, name) for name in _LIMITS}
    forest = method in ("random_forest", "constructive_forest")
    if ensemble.min_samples_leaf is None:
        limits["min_samples_leaf"] = 1 if forest else _LEAF_ROWS
        if method == "adaboost" and not ensemble.min_weight_fraction_leaf:
            # As in C4.5, two rows by their weight: leaves of rows that count for little would
            # remember them, and the votes of such trees err more.
            limits["min_samples_leaf"] = 1
            limits["min_weight_fraction_leaf"] = min(_LEAF_ROWS / n_rows, 0.5)
    if ensemble.criterion is None and classifies:
        limits["criterion"] = "entropy"
    limits["search"] = "random" if method == "constructive_forest" else None
    if forest or method == "bagging":
        if method == "bagging" and ensemble.max_features is None:
            limits["max_features"] = "all"
        family = ConstructiveForestClassifier if classifies else ConstructiveForestRegressor
        return family(n_members, **limits)
    return (ConstructiveTreeClassifier if classifies else ConstructiveTreeRegressor)(**limits)
