"""One classifier for each class against the rest, and their joint probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from featurewright.recursive.steps import Matrix, Plane, Problem, Weights

_FOLDS = 3
_LEAST_PROBABILITY = 1e-15


class NeverMember(BaseEstimator):
    """Stands in for the member of a class that no training row has."""

    def predict_proba(self, X: Any) -> Matrix:
        """Return a probability of zero for the class."""
        return np.column_stack([np.ones(len(X)), np.zeros(len(X))])


def fit_member(
    estimator: Any, columns: Any, problem: Problem, weights: Weights, plane: Plane
) -> Any:
    """Fit one member; without an estimator, a linear SVM with calibrated probabilities."""
    is_class = problem.target > 0
    rarest = int(min(is_class.sum(), (~is_class).sum()))
    if rarest == 0:
        return NeverMember()
    settings = {} if weights is None else {"sample_weight": weights}
    if estimator is None:
        model = plane.model(columns, problem.seed)
        if rarest == 1:
            # One row cannot be in two folds: a linear model that needs none.
            model = LogisticRegression(C=plane.C)
            return model.fit(columns, is_class, **settings)
        calibrated = CalibratedClassifierCV(model, cv=min(_FOLDS, rarest))
        return calibrated.fit(columns, is_class, **settings)
    own = clone(estimator)
    own.set_params(
        **{
            name: problem.seed
            for name, value in own.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"
        }
    )
    if not hasattr(own, "predict_proba"):
        own = CalibratedClassifierCV(own, cv=min(_FOLDS, max(2, rarest)))
    return own.fit(columns, is_class, **settings)


def check_member(name: str, estimator: Any) -> None:
    """Refuse a member that is no classifier."""
    if estimator is None:
        return
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"{name}={estimator!r} is not a scikit-learn classifier; pass an object such as "
            "LogisticRegression(), or None."
        )
    if not is_classifier(estimator):
        raise ValueError(
            f"{name}={estimator!r} is not a classifier, but each member separates a class from the "
            "rest; pass one such as LogisticRegression(), or None."
        )


def check_weighable(estimator: Any, weights: Weights) -> None:
    """Refuse a member that cannot use the weights given."""
    if estimator is None or weights is None:
        return
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator={estimator!r} takes no sample_weight, but weights were given; leave them "
            "out or use another classifier."
        )


def join_probabilities(own: list[Matrix]) -> Matrix:
    """Return probabilities over all classes from each member's probability of its own class."""
    if len(own) == 1:  # two classes share one member
        return np.column_stack([1.0 - own[0], own[0]])
    joint = np.column_stack(own)
    total = joint.sum(axis=1, keepdims=True)
    even = np.full_like(joint, 1.0 / joint.shape[1])
    return np.divide(joint, total, out=even, where=total > 0)


def log_loss(probabilities: Matrix, codes: npt.NDArray[np.int32], weights: Weights) -> float:
    """Return the mean negative logarithm of the probability of the true class."""
    right = probabilities[np.arange(len(codes)), codes]
    return float(np.average(-np.log(np.maximum(right, _LEAST_PROBABILITY)), weights=weights))
