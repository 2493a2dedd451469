"""Boosting over constructed expressions: AdaBoost.MH, and second-order gradient boosting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from featurewright.constructive.boosted import BoostedTrees
from featurewright.constructive.losses import AdaBoostMH, LogLoss, Loss, SquaredError
from featurewright.estimators.base import center_and_scale, from_units, in_units, plain_weights
from featurewright.estimators.documentation import (
    BOOSTED,
    BOOSTED_SEARCH,
    BOOSTING,
    LIMITS,
    OUTPUT,
    THREADS,
    documented,
)
from featurewright.estimators.parameters import one_of
from featurewright.tables import (
    MultiTarget,
    apply_class_weight,
    check_weights,
    read_classes,
    read_numbers,
)

_STUMP = 1

_PARAMETERS = (BOOSTING, BOOSTED_SEARCH, LIMITS, OUTPUT, THREADS)


@documented(*_PARAMETERS, attributes=BOOSTED)
class ConstructiveBoostingClassifier(ClassifierMixin, BoostedTrees):
    """Boosted trees whose nodes test raw columns and expressions searched on their own rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    {attributes}

    Examples
    --------
    >>> from featurewright import ConstructiveBoostingClassifier
    >>> from featurewright.datasets import make_ringnorm
    >>> X, y = make_ringnorm(300, random_state=0)
    >>> model = ConstructiveBoostingClassifier(50, random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.85
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the rounds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check()
        one_of("loss", self.loss, ("log_loss", "adaboost_mh", None))
        matrix, operators = self._read_table(X)
        n_rows = len(matrix)
        target = read_classes(y, n_rows)
        if isinstance(target, MultiTarget):
            raise ValueError(
                f"y has {target.codes.shape[1]} columns, but boosting takes one; use a forest, or "
                "scikit-learn's MultiOutputClassifier."
            )
        self.classes_ = target.classes
        if len(target.classes) < 2:
            raise ValueError(
                "y has one class only, but boosting needs two or more to tell apart: "
                f"{target.classes[0]!r} is the only label."
            )
        weights = apply_class_weight(
            self.class_weight, target, check_weights(sample_weight, n_rows)
        )
        row_weights = plain_weights(weights, n_rows)

        def make_loss(rows: npt.NDArray[np.int64]) -> Loss:
            codes, n_classes = target.codes[rows], len(target.classes)
            if self._votes:
                stumps = self._limits().max_depth == _STUMP
                return AdaBoostMH(codes, n_classes, row_weights[rows], stumps=stumps)
            return LogLoss(codes, n_classes, row_weights[rows])

        return self._boost(matrix, operators, make_loss, row_weights, target.codes)

    def _shares(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn raw scores into class probabilities."""
        if self._votes:
            shares = expit(2 * raw)
            return shares / shares.sum(axis=1, keepdims=True)
        if self.n_scores_ == 1:
            second = expit(raw)
            return np.hstack([1 - second, second])
        return softmax(raw, axis=1)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Give the raw scores.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the score of the second one.
        """
        raw = self._raw(X)
        if len(self.classes_) == 2:
            return raw[:, 0] if self.n_scores_ == 1 else raw[:, 1] - raw[:, 0]
        return raw

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._shares(self._raw(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict probabilities after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        for raw in self._staged_raw(X):
            yield self._shares(raw)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples,)
            The classes.
        """
        for shares in self.staged_predict_proba(X):
            yield self.classes_[np.argmax(shares, axis=1)]


@documented(*_PARAMETERS, attributes=BOOSTED)
class ConstructiveBoostingRegressor(RegressorMixin, BoostedTrees):
    """Boosted regression trees whose nodes test raw columns and searched expressions.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveBoostingRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] / X[:, 2]
    >>> model = ConstructiveBoostingRegressor(50, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the rounds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check()
        one_of("loss", self.loss, ("squared_error", None))
        if self.class_weight is not None:
            raise ValueError("class_weight is for classifiers; weigh rows with sample_weight.")
        matrix, operators = self._read_table(X)
        n_rows = len(matrix)
        values = read_numbers(y, n_rows)
        if values.shape[1] > 1:
            raise ValueError(
                f"y has {values.shape[1]} columns, but boosting takes one; use a forest, or "
                "scikit-learn's MultiOutputRegressor."
            )
        weights = plain_weights(check_weights(sample_weight, n_rows), n_rows)
        values, self._unit = in_units(values)
        self._center, self._scale = center_and_scale(values, weights)
        scaled = ((values - self._center) / self._scale)[:, 0]

        def make_loss(rows: npt.NDArray[np.int64]) -> Loss:
            return SquaredError(scaled[rows], weights[rows])

        return self._boost(matrix, operators, make_loss, weights, None)

    def _unscale(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bring scores back to the target's own scale."""
        return from_units(raw[:, 0] * self._scale[0] + self._center[0], self._unit)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._unscale(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict the target after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples,)
            Predictions.
        """
        for raw in self._staged_raw(X):
            yield self._unscale(raw)
