"""What models are measured with: the score, and what choices are compared by."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.pipeline import Pipeline

from featurewright.auto.estimators import FEW_ROWS, MANY_CLASSES

_SKEWED = 0.25  # a class smaller than this makes two classes skewed
_ONE_LARGE = 0.8  # a class larger than this makes several classes skewed


class ScoringError(ValueError):
    """Held-out rows that a scorer cannot score."""


class Measured(NamedTuple):
    """How well a model did on held-out rows."""

    score: float  # what is reported
    evidence: float  # what choices are compared by


@dataclass(frozen=True)
class Yardstick:
    """What models are measured with.

    Parameters
    ----------
    scorer : callable
        Gives the score.
    balance : bool or None
        Whether evidence is the mean of the score and of a Brier score, each class counted alike if
        True and each row if False; None where the score is the evidence. On a hundred held-out
        rows, right or wrong is mostly luck; how sure of the right answer a model is, is less so.
    name : str
        Name of the scorer, for what it says if it cannot score.
    """

    scorer: Any
    balance: bool | None = None
    name: str = "scorer"

    def measure(self, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> Measured:
        """Measure a fitted model on held-out rows."""
        try:
            score = measure(self.scorer, model, X, y, weights)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
            raise ScoringError(
                f"scoring={self.name!r} cannot score what {_named(model)} predicts for this "
                f"target ({reason.rstrip('.')}): choose a score for such a model and target."
            ) from error
        if self.balance is None:
            return Measured(score, score)
        return Measured(score, 0.5 * (score + certainty(model, X, y, weights, self.balance)))


def choose_yardstick(
    scoring: Any, estimator: Any, task: str, y: NDArray[Any]
) -> tuple[str, Yardstick]:
    """Give the scorer's name and the yardstick; without a scorer, one that suits the target."""
    if scoring is None:
        scoring = _usual_scorer(estimator, task, y)
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(
                f"scoring={scoring!r} is not known; use a name that "
                "sklearn.metrics.get_scorer_names() lists, or a callable."
            )
        counts = scoring in ("accuracy", "balanced_accuracy") and task == "classification"
        smooth = counts and len(y) <= FEW_ROWS and hasattr(estimator, "predict_proba")
        scorer = check_scoring(estimator, scoring=scoring)
        balance = scoring == "balanced_accuracy" if smooth else None
        return scoring, Yardstick(scorer, balance, scoring)
    if not callable(scoring):
        raise TypeError(f"scoring={scoring!r} must be the name of a scorer, a callable or None.")
    name = getattr(scoring, "__name__", type(scoring).__name__)
    return name, Yardstick(scoring, name=name)


def _named(model: Any) -> str:
    """Name the model that predicts, the last one of a pipeline."""
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__


def _usual_scorer(estimator: Any, task: str, y: NDArray[Any]) -> str:
    """Accuracy; where a class is rare, a measure that a constant answer does not win."""
    if task == "regression":
        return "r2"
    if task == "multilabel":
        return "f1_micro"
    shares = np.unique(y, return_counts=True)[1] / len(y)
    if len(shares) == 2 and shares.min() < _SKEWED:
        ranks = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
        return "roc_auc" if ranks else "balanced_accuracy"
    return "balanced_accuracy" if shares.max() > _ONE_LARGE else "accuracy"


def certainty(
    model: Any, X: Any, y: NDArray[Any], weights: Any = None, balance: bool = False
) -> float:
    """Give one minus half the Brier score of a classifier: 1 where it is sure and right.

    Parameters
    ----------
    balance : bool
        Whether every class counts alike, however many rows it has.
    """
    shares = np.asarray(model.predict_proba(X), np.float64)
    is_class = y[:, None] == np.asarray(model.classes_)[None, :]
    # A class that the model has never seen has no column, and its rows no right answer.
    unseen = 1.0 - is_class.any(axis=1)
    errors = ((shares - is_class) ** 2).sum(axis=1) + unseen
    counted = np.ones(len(y)) if weights is None or not weights.sum() > 0 else weights
    if balance:
        _, codes = np.unique(y, return_inverse=True)
        counted = counted / np.bincount(codes, counted)[codes].clip(min=1e-300)
    return float(1.0 - 0.5 * np.average(errors, weights=counted))


def measure(scorer: Any, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> float:
    """Score a fitted model on held-out rows, with their weights where the scorer takes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        warnings.filterwarnings("ignore", message=MANY_CLASSES)
        warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", message="A single label was found")
        if weights is not None and weights.sum() > 0:
            try:
                return float(scorer(model, X, y, sample_weight=weights))
            except TypeError:  # a scorer without weights
                pass
        return float(scorer(model, X, y))
