"""Ensembles whose members see similarities to landmarks beside the columns of the table."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.threads import Halt, one_blas_thread, run_in_threads
from featurewright.estimators.base import from_units, in_units
from featurewright.estimators.documentation import documented
from featurewright.estimators.parameters import one_of, whole_number
from featurewright.estimators.points import Matrix
from featurewright.estimators.progress import progress
from featurewright.landmarks.choice import Rows, slices_of
from featurewright.landmarks.documentation import ENSEMBLE, FITTED, KERNEL, SEEDS
from featurewright.landmarks.learners import make_learner
from featurewright.landmarks.members import (
    Lesson,
    Member,
    Values,
    check_weighable,
    train_bag,
    train_boosted,
    train_one,
)
from featurewright.landmarks.plan import check_landmarks, plan_landmarks
from featurewright.landmarks.runs import (
    METHODS,
    Base,
    Run,
    average_runs,
    n_runs_and_members,
)
from featurewright.landmarks.similarity import LandmarkMap
from featurewright.tables import (
    ClassTarget,
    Schema,
    apply_class_weight,
    apply_table,
    check_weights,
    fit_table,
    read_classes,
    read_numbers,
)


class KernelFeatureEnsemble(BaseEstimator):
    """Parameters, training and averaging of both kinds."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str | None = None,
        n_estimators: int = 200,
        n_runs: int | None = None,
        n_landmarks: int = 10,
        kernel: Any = "gaussian",
        width: float | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        batched: bool = False,
        landmarks: str = "random",
        scale: bool = False,
        criterion: str | None = None,
        max_features: Any = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.n_estimators = n_estimators
        self.n_runs = n_runs
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.width = width
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.batched = batched
        self.landmarks = landmarks
        self.scale = scale
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Reading ------------------------------------------------------------------------------------

    def _check(self, sample_weight: Any) -> str | None:
        """Refuse parameters that make no sense; give the method."""
        classifies = is_classifier(self)
        method = one_of("method", self.method, (*METHODS, None))
        if self.estimator is None:
            method = method or "random_forest"
        elif isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            kind = "classifier" if classifies else "regressor"
            raise TypeError(
                f"estimator={self.estimator!r} is not a scikit-learn {kind}; pass an object that "
                "has fit, or None, and the name of a method as method=."
            )
        elif method in ("random_forest", "constructive_forest"):
            raise ValueError(
                f"method={method!r} has its own trees and takes no estimator; leave one of the "
                "two out."
            )
        elif is_classifier(self.estimator) != classifies:
            wanted = "classifier" if classifies else "regressor"
            raise ValueError(
                f"estimator={self.estimator!r} is not a {wanted}, but a member of this ensemble "
                "must be one."
            )
        if method == "adaboost" and not classifies:
            raise ValueError('method="adaboost" is for classes; use another method for numbers.')
        whole_number("n_estimators", self.n_estimators, 1)
        if self.n_runs is not None:
            whole_number("n_runs", self.n_runs, 1)
            if self.estimator is None and self.n_runs > self.n_estimators:
                raise ValueError(
                    f"n_runs={self.n_runs} is more than n_estimators={self.n_estimators}, the "
                    "members of all runs together: raise n_estimators."
                )
        check_landmarks(self, least=0)
        if method == "kernel_only" and self.n_landmarks == 0:
            raise ValueError(
                'n_landmarks=0 leaves method="kernel_only" without any column, since its members '
                "see kernel features alone; use at least 1."
            )
        if self.estimator is not None:
            if method == "adaboost":
                check_weighable(self.estimator, "boosting gives rows weights")
            if sample_weight is not None or self.class_weight is not None:
                check_weighable(self.estimator, "rows have weights")
        return method

    # Training -----------------------------------------------------------------------------------

    def _train(
        self,
        method: str | None,
        matrix: Matrix,
        schema: Schema,
        lesson: Lesson,
        codes: NDArray[np.integer],
    ) -> Self:
        """Draw the landmarks of all runs one after the other, then train the runs in threads."""
        random = check_random_state(self.random_state)
        plan = plan_landmarks(self, matrix, schema, lesson.rows, codes, random=random)
        n_runs, n_members = n_runs_and_members(method, self.n_estimators, self.n_runs)
        base = Base(schema, None if self.estimator is None else plan.places)
        drawn = [plan.draw(matrix, random) for _ in range(n_runs)]
        chosen = [self._choose_columns(method, base.n_columns, random) for _ in range(n_runs)]
        seeds = random.randint(np.iinfo(np.int32).max, size=n_runs)
        columns = base.read(matrix)
        learner = make_learner(self, method, n_members, len(lesson.rows))

        def train(features: LandmarkMap, picked: Rows, seed: int) -> Run:
            table = base.table(columns, picked, features.columns(matrix))
            member: Member
            if method == "adaboost":
                member = train_boosted(learner, table, lesson, seed, n_members)
            elif method == "bagging" and self.estimator is not None:
                member = train_bag(learner, table, lesson, seed, n_members)
            else:
                member = train_one(learner, table, lesson, seed)
            return Run(picked, member)

        tasks = [
            partial(train, features, picked, int(seed))
            for (_, features), picked, seed in zip(drawn, chosen, seeds, strict=True)
        ]
        with (
            self._quiet_blas(),
            progress(n_runs, "training", verbose=self.verbose) as on_done,
        ):
            threads = min(effective_n_jobs(self.n_jobs), n_runs)
            trained = run_in_threads(tasks, threads, halt=Halt(), on_done=on_done)
        self._runs: tuple[Run, ...] = tuple(run for run in trained if run is not None)
        landmarks = np.concatenate([features.landmarks for _, features in drawn])
        self._features = LandmarkMap(plan.places, plan.similarity, landmarks)
        self._base = base
        self._schema = schema
        self.landmark_rows_ = [own for own, _ in drawn]
        self.width_ = plan.similarity.width
        self.estimators_ = [run.member.learners for run in self._runs]
        self.n_runs_ = n_runs
        return self

    def _choose_columns(self, method: str | None, n_columns: int, random: Any) -> Rows:
        """Choose the columns that a run sees beside its kernel features."""
        if method == "kernel_only":
            return np.arange(0)
        if method == "random_subspace":
            return np.sort(random.permutation(n_columns)[: (n_columns + 1) // 2])
        return np.arange(n_columns)

    def _quiet_blas(self) -> AbstractContextManager[Any]:
        """Spare matrix products their threads, unless another estimator may want them."""
        return one_blas_thread() if self.estimator is None else nullcontext()

    def _average(self, X: Any) -> Values:
        """Average what the runs say."""
        check_is_fitted(self)
        matrix = apply_table(self, self._schema, X, dtype=np.float64, order="C")
        with self._quiet_blas():
            return average_runs(self._runs, self._features, self._base, matrix, self.n_jobs)


@documented(
    ENSEMBLE,
    KERNEL,
    SEEDS,
    "verbose : int, default=0\n    Draw a progress bar.",
    attributes=FITTED,
    slices="",
    boosting='"adaboost" (AdaBoost.M1), ',
    boosted_leaf=", by their\n    weight in boosting",
)
class KernelFeatureEnsembleClassifier(ClassifierMixin, KernelFeatureEnsemble):
    """An ensemble whose members see similarities to landmarks beside the columns.

    Each run draws landmarks of its own from the training rows, puts the similarities to them
    beside the columns, and trains on that; the probabilities of all runs are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    {attributes}

    References
    ----------
    A. Ahmad, Decision tree ensembles based on kernel features, 2014.

    Examples
    --------
    >>> from featurewright import KernelFeatureEnsembleClassifier
    >>> from featurewright.datasets import make_unit_square
    >>> X, y = make_unit_square(400, concept="circle", random_state=0)
    >>> model = KernelFeatureEnsembleClassifier(n_estimators=50, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all runs.

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
            The fitted ensemble.
        """
        method = self._check(sample_weight)
        matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        target = read_classes(y, len(matrix))
        if not isinstance(target, ClassTarget):
            raise ValueError("y has several columns, but one column of classes is expected.")
        weights = check_weights(sample_weight, len(matrix))
        weights = apply_class_weight(self.class_weight, target, weights)
        self.classes_ = target.classes
        self.n_classes_ = len(target.classes)
        lesson = Lesson(target.codes, weights, self.n_classes_)
        return self._train(method, matrix, schema, lesson, target.codes)

    def predict_proba(self, X: Any) -> Values:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The mean of all runs.
        """
        return self._average(X)

    def predict(self, X: Any) -> NDArray[Any]:
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


@documented(
    ENSEMBLE,
    KERNEL,
    SEEDS,
    "verbose : int, default=0\n    Draw a progress bar.",
    attributes=FITTED,
    slices='For numbers, "class" is one of ten slices by rank.',
    boosting="",
    boosted_leaf="",
)
class KernelFeatureEnsembleRegressor(RegressorMixin, KernelFeatureEnsemble):
    """An ensemble for numbers whose members see similarities to landmarks beside the columns.

    Each run draws landmarks of its own from the training rows, puts the similarities to them
    beside the columns, and trains on that; the predictions of all runs are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    A. Ahmad, Decision tree ensembles based on kernel features, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import KernelFeatureEnsembleRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1])
    >>> model = KernelFeatureEnsembleRegressor(n_estimators=50, random_state=0)
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all runs.

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
            The fitted ensemble.
        """
        if self.class_weight is not None:
            raise ValueError("class_weight is for classifiers; weigh rows with sample_weight.")
        method = self._check(sample_weight)
        matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        values = read_numbers(y, len(matrix))
        if values.shape[1] != 1:
            raise ValueError(
                f"y has {values.shape[1]} columns, but one column of numbers is expected."
            )
        weights = check_weights(sample_weight, len(matrix))
        measured, self._unit = in_units(values[:, 0])
        lesson = Lesson(measured, weights, 0)
        return self._train(method, matrix, schema, lesson, slices_of(measured))

    def predict(self, X: Any) -> Values:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The mean of all runs.
        """
        return from_units(self._average(X)[:, 0], self._unit)
