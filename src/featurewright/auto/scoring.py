"""Scores of models on held-out rows: what is reported, and what candidates are compared by."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.pipeline import Pipeline

from featurewright.auto.estimators import FEW_ROWS, MANY_CLASSES
from featurewright.auto.failures import ScoringError

_RARE_SHARE = 0.25  # of rows: two classes are skewed where one has less
_LARGE_SHARE = 0.8  # of rows: several classes are skewed where one has more


class HeldOutScore(NamedTuple):
    """How well a model did on held-out rows."""

    score: float  # what is reported
    evidence: float  # what candidates are compared by


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores fitted models on held-out rows.

    Parameters
    ----------
    scorer : callable
        A scorer of scikit-learn.
    balance : bool or None
        Whether evidence is the mean of the score and of a Brier score, each class weighted equally
        if True and each row if False; None where the score is the evidence. On a hundred held-out
        rows accuracy is mostly luck; probabilities are less so.
    name : str
        Name of the scorer, for its error message.
    """

    scorer: Any
    balance: bool | None = None
    name: str = "scorer"

    def measure(self, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> HeldOutScore:
        """Return the score of a fitted model on held-out rows; `ScoringError` where it has none."""
        try:
            score = score_model(self.scorer, model, X, y, weights)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
            raise ScoringError(
                f"scoring={self.name!r} cannot score what {_named(model)} predicts for this "
                f"target ({reason.rstrip('.')}): choose a score for such a model and target."
            ) from error
        if self.balance is None:
            return HeldOutScore(score, score)
        return HeldOutScore(score, 0.5 * (score + certainty(model, X, y, weights, self.balance)))


def choose_scorer(
    scoring: Any, estimator: Any, task: str, y: NDArray[Any]
) -> tuple[str, HeldOutScorer]:
    """Return a scorer and its name; one that suits the target where none is asked for."""
    if scoring is None:
        scoring = _default_scoring(estimator, task, y)
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(
                f"scoring={scoring!r} is not known; use a name that "
                "sklearn.metrics.get_scorer_names() lists, or a callable."
            )
        counts_rows = scoring in ("accuracy", "balanced_accuracy") and task == "classification"
        smooth = counts_rows and len(y) <= FEW_ROWS and hasattr(estimator, "predict_proba")
        scorer = check_scoring(estimator, scoring=scoring)
        if task == "classification":
            _check_positive_class(scoring, scorer, np.unique(y))
        balance = scoring == "balanced_accuracy" if smooth else None
        return scoring, HeldOutScorer(scorer, balance, scoring)
    if not callable(scoring):
        raise TypeError(f"scoring={scoring!r} must be the name of a scorer, a callable or None.")
    name = getattr(scoring, "__name__", type(scoring).__name__)
    return name, HeldOutScorer(scoring, name=name)


def _check_positive_class(name: str, scorer: Any, classes: NDArray[Any]) -> None:
    """Refuse the score of one of two classes where scikit-learn cannot tell which one counts."""
    if len(classes) != 2:
        return
    X = np.zeros((2, 1))
    try:
        scorer(DummyClassifier().fit(X, classes), X, classes)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if "pos_label" in str(error):
            first, second = map(str, classes)
            raise ValueError(
                f"scoring={name!r} is about one of two classes, but nothing says whether "
                f"{first!r} or {second!r} is meant: give the target as 1 (that class) and 0, or "
                "take a score of both, such as 'roc_auc' or 'f1_macro'."
            ) from error


def _named(model: Any) -> str:
    """Return the class name of the model that predicts, the last one of a pipeline."""
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__


def _default_scoring(estimator: Any, task: str, y: NDArray[Any]) -> str:
    """Return the name of a scorer; where a class is rare, one that a constant does not win."""
    if task == "regression":
        return "r2"
    if task == "multilabel":
        return "f1_micro"
    shares = np.unique(y, return_counts=True)[1] / len(y)
    if len(shares) == 2 and shares.min() < _RARE_SHARE:
        ranks = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
        return "roc_auc" if ranks else "balanced_accuracy"
    return "balanced_accuracy" if shares.max() > _LARGE_SHARE else "accuracy"


def certainty(
    model: Any, X: Any, y: NDArray[Any], weights: Any = None, balance: bool = False
) -> float:
    """Return one minus half the Brier score of a classifier: 1 where it is sure and right.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`.
    X, y, weights : array-like
        Held-out rows, their classes, and their weights or None.
    balance : bool
        Whether each class has the same weight, however many rows it has.
    """
    shares = np.asarray(model.predict_proba(X), np.float64)
    is_class = y[:, None] == np.asarray(model.classes_)[None, :]
    # A class that the model has not seen has no column: its rows count as wrong.
    unseen = 1.0 - is_class.any(axis=1)
    errors = ((shares - is_class) ** 2).sum(axis=1) + unseen
    counted = np.ones(len(y)) if weights is None or not weights.sum() > 0 else weights
    if balance:
        _, codes = np.unique(y, return_inverse=True)
        counted = counted / np.bincount(codes, counted)[codes].clip(min=1e-300)
    return float(1.0 - 0.5 * np.average(errors, weights=counted))


def score_model(scorer: Any, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> float:
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
