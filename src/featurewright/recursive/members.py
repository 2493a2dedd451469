"""One classifier for each class against the rest, and their joint probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from featurewright.recursive.steps import Matrix, Plane, Problem, Weights

CALIBRATIONS = ("cross_fit", "published")
_FOLDS = 3
_LEAST_PROBABILITY = 1e-15


class NeverMember(BaseEstimator):
    """Stands in for the member of a class that no training row has."""

    def predict_proba(self, X: Any) -> Matrix:
        """Return a probability of zero for the class."""
        return np.column_stack([np.ones(len(X)), np.zeros(len(X))])


class CalibratedMember(BaseEstimator):
    """A linear model whose decision values a sigmoid turns into probabilities.

    The sigmoid has been fitted to decision values of rows that neither the model nor the
    transformation before it had seen.
    """

    model_: Any
    slope_: float
    offset_: float

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probabilities of the rest and of the class."""
        own = expit(self.slope_ * self.model_.decision_function(X) + self.offset_)
        return np.column_stack([1.0 - own, own])


def calibrates(estimator: Any) -> bool:
    """Whether a member needs a sigmoid: it has decision values, and no probabilities."""
    if estimator is None:
        return True
    return not hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function")


def fit_member(
    estimator: Any, columns: Any, problem: Problem, weights: Weights, plane: Plane
) -> Any:
    """Fit one member as published, calibrated in folds of the transformed rows where it must be."""
    is_class = problem.target > 0
    rarest = _rarest(problem)
    if rarest == 0:
        return NeverMember()
    settings = {} if weights is None else {"sample_weight": weights}
    # Imported where it is used: a transform does not need it, and it loads slowly.
    from sklearn.calibration import CalibratedClassifierCV

    if estimator is None:
        if rarest == 1:
            return _uncalibrated(columns, problem, weights, plane)
        model = plane.model(columns, problem.seed)
        calibrated = CalibratedClassifierCV(model, cv=min(_FOLDS, rarest))
        return calibrated.fit(columns, is_class, **settings)
    own = _own_member(estimator, problem)
    if not hasattr(own, "predict_proba"):
        own = CalibratedClassifierCV(own, cv=min(_FOLDS, max(2, rarest)))
    return own.fit(columns, is_class, **settings)


def fit_model(estimator: Any, columns: Any, problem: Problem, weights: Weights) -> Any:
    """Fit a member of the user's that has decision values; None where a class has no row."""
    if _rarest(problem) == 0:
        return None
    settings = {} if weights is None else {"sample_weight": weights}
    return _own_member(estimator, problem).fit(columns, problem.target > 0, **settings)


def calibrate(
    model: Any, decisions: Matrix, columns: Any, problem: Problem, *, weights: Weights, plane: Plane
) -> Any:
    """Return a member made of a fitted model.

    Parameters
    ----------
    model : classifier or None
        Fitted on all rows; None where all are of one kind.
    decisions : ndarray of shape (n_rows,)
        Decision values of the rows by models that had not seen them; NaN where there is none.
    columns : ndarray of shape (n_rows, n_columns)
        The transformed rows.
    problem, weights, plane
        Their target, their weights, and the settings.

    Returns
    -------
    classifier
        The member.
    """
    rarest = _rarest(problem)
    if rarest == 0:
        return NeverMember()
    known = np.isfinite(decisions)
    if rarest == 1 or len(np.unique(problem.target[known])) < 2:
        return _uncalibrated(columns, problem, weights, plane)
    member = CalibratedMember()
    member.model_ = model
    member.slope_, member.offset_ = fit_sigmoid(
        decisions[known], problem.target[known] > 0, None if weights is None else weights[known]
    )
    return member


def fit_sigmoid(
    decisions: Matrix, is_class: npt.NDArray[np.bool_], weights: Weights
) -> tuple[float, float]:
    """Return slope and offset of Platt's sigmoid.

    Its targets are not 0 and 1, but what as many rows of each kind, and one more of either, say of
    a probability: separable classes would call for an infinite slope.

    Parameters
    ----------
    decisions : ndarray of shape (n_rows,)
        Decision values.
    is_class : ndarray of bool
        Which rows are of the class.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    slope, offset : float
        The probability is 1 / (1 + exp(-(slope * decision + offset))).

    Examples
    --------
    >>> slope, offset = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.arange(4) > 1, None)
    >>> slope > 0, abs(offset) < 1e-6
    (True, True)
    """
    weights = np.ones(len(decisions)) if weights is None else weights
    n_class, n_rest = weights[is_class].sum(), weights[~is_class].sum()
    target = np.where(is_class, (n_class + 1.0) / (n_class + 2.0), 1.0 / (n_rest + 2.0))
    size = float(np.abs(decisions).max()) or 1.0
    scaled = decisions / size
    total = n_class + n_rest

    def loss(parameters: Matrix) -> tuple[float, Matrix]:
        z = parameters[0] * scaled + parameters[1]
        wrong = weights * (expit(z) - target) / total
        value = np.sum(weights * (np.logaddexp(0.0, z) - target * z)) / total
        return float(value), np.array([wrong @ scaled, wrong.sum()])

    start = np.array([0.0, np.log((n_class + 1.0) / (n_rest + 1.0))])
    slope, offset = minimize(loss, start, jac=True, method="BFGS").x
    return float(slope) / size, float(offset)


def sigmoid_probabilities(decisions: Matrix, problem: Problem, weights: Weights) -> Matrix:
    """Return calibrated probabilities of rows; the share of the class where none is known."""
    known = np.isfinite(decisions)
    is_class = problem.target > 0
    probabilities = np.full(len(decisions), np.average(is_class, weights=weights))
    if len(np.unique(is_class[known])) == 2:
        slope, offset = fit_sigmoid(
            decisions[known], is_class[known], None if weights is None else weights[known]
        )
        probabilities[known] = expit(slope * decisions[known] + offset)
    return probabilities


def _rarest(problem: Problem) -> int:
    """Return the number of rows of the class or of the rest, whichever has fewer."""
    is_class = problem.target > 0
    return int(min(is_class.sum(), (~is_class).sum()))


def _uncalibrated(columns: Any, problem: Problem, weights: Weights, plane: Plane) -> Any:
    """Fit a linear model that has probabilities: one row cannot be in two folds."""
    from sklearn.linear_model import LogisticRegression  # where it is used: it loads slowly

    model = LogisticRegression(C=plane.C)
    return model.fit(columns, problem.target > 0, sample_weight=weights)


def _own_member(estimator: Any, problem: Problem) -> Any:
    """Return a copy of the user's estimator whose random states are set."""
    own = clone(estimator)
    return own.set_params(
        **{
            name: problem.seed
            for name, value in own.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"
        }
    )


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
