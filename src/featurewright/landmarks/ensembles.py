"""Ensembles whose members see similarities to landmarks beside the columns of the table."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.threads import Halt, one_blas_thread, run_in_threads
from featurewright.estimators.base import from_units, in_units
from featurewright.estimators.parameters import (
    Parameter,
    choice,
    documented,
    keep_arguments,
    one_of,
    optional,
    rows,
    whole,
)
from featurewright.estimators.points import Matrix
from featurewright.estimators.progress import progress
from featurewright.estimators.shared_parameters import (
    CLASS_CRITERION,
    CLASS_WEIGHT,
    MAX_DEPTH,
    MAX_FEATURES,
    MIN_WEIGHT,
    NUMBER_CRITERION,
    RUNNING,
    worded,
)
from featurewright.landmarks.runs import (
    METHODS,
    Base,
    Member,
    Run,
    TrainingTarget,
    Values,
    average_runs,
    check_weighable,
    make_learner,
    n_runs_and_members,
    train_bag,
    train_boosted,
    train_one,
)
from featurewright.landmarks.selection import (
    LandmarkParameters,
    Rows,
    plan_landmarks,
    slices_of,
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

FITTED = """
estimators_ : list of tuple
    The fitted learners of each run.
landmark_rows_ : list of ndarray
    Numbers of the training rows that are the landmarks of each run.
width_ : float or None
    Width of the Gaussian kernel.
n_runs_ : int
    Number of runs.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""


def check_estimator(name: str, value: Any) -> None:
    """Check that members can be copies of an object."""
    if value is not None and (isinstance(value, type) or not hasattr(value, "fit")):
        raise TypeError(
            f"{name}={value!r} is not a scikit-learn estimator; pass an object that has fit, or "
            "None, and the name of a method as method=."
        )


def check_number_method(name: str, value: Any) -> None:
    """Check the method of an ensemble for numbers."""
    if isinstance(value, str) and value == "adaboost":
        raise ValueError('method="adaboost" is for classes; use another method for numbers.')
    one_of(name, value, (*METHODS, None))


def _method_text(boosting: str) -> str:
    """Return the description of the methods, with boosting where there is one."""
    return f"""
How members differ besides their landmarks. "kernel_only": each sees kernel features alone;
"random_subspace": each sees a random half of the columns as well. With the others each run
trains a whole ensemble beside all columns: "bagging", {boosting}"random_forest" (the
default) or "constructive_forest" (`ConstructiveForest...`). An `estimator` without a method is
trained once in each run.
"""


def _leaf_rows(boosting: str) -> Parameter:
    """Return the parameter for the rows of a leaf, with boosting where there is one."""
    text = f"Rows, or share of rows, of a leaf: 1 in forests and 2 in other trees{boosting}."
    return Parameter("int or float", text, optional(rows(1)))


class KernelFeatureEnsemble(LandmarkParameters, BaseEstimator):
    """Parameters, training and averaging of both kinds."""

    _parameters: ClassVar = {
        "estimator": Parameter(
            "estimator",
            """
            What members are copies of. By default our own trees, unpruned; another one is trained
            on the points that the kernel sees: missing numbers filled in, a column for each label.
            """,
            check_estimator,
        ),
        "n_estimators": Parameter(
            "int",
            """
            Members of all runs together. An `estimator` without a method is trained once for each
            run, so that only the square root of this number, or `n_runs`, copies are trained.
            """,
            whole(1),
        ),
        "n_runs": Parameter(
            "int",
            """
            Runs that share them, by default about the square root (14 runs of 14 members);
            "kernel_only" and "random_subspace" have one member in each run.
            """,
            optional(whole(1)),
        ),
        "n_landmarks": Parameter(
            "int", "Landmarks of each run; with 0 the ensemble is the plain one.", whole(0)
        ),
        "max_features": worded(
            MAX_FEATURES,
            'Columns that a node of a tree tries: the square root in "random_forest", else all.',
        ),
        "max_depth": MAX_DEPTH,
        "min_samples_leaf": _leaf_rows(""),
        "min_weight_fraction_leaf": worded(MIN_WEIGHT, "Share of the total weight of a leaf."),
        "verbose": RUNNING["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Checking -----------------------------------------------------------------------------------

    @property
    def _used_method(self) -> str | None:
        """How members differ; None trains the estimator once in each run."""
        return self.method or ("random_forest" if self.estimator is None else None)

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.estimator is not None:
            self._check_estimator()
        elif self.n_runs is not None and self.n_runs > self.n_estimators:
            raise ValueError(
                f"n_runs={self.n_runs} is more than n_estimators={self.n_estimators}, the "
                "members of all runs together: raise n_estimators."
            )
        if self.method == "kernel_only" and self.n_landmarks == 0:
            raise ValueError(
                'n_landmarks=0 leaves method="kernel_only" without any column, since its members '
                "see kernel features alone; use at least 1."
            )

    def _check_estimator(self) -> None:
        """Refuse an estimator that does not fit the ensemble or its method."""
        if self.method in ("random_forest", "constructive_forest"):
            raise ValueError(
                f"method={self.method!r} has its own trees and takes no estimator; leave one of "
                "the two out."
            )
        wanted = "classifier" if is_classifier(self) else "regressor"
        if is_classifier(self.estimator) != is_classifier(self):
            raise ValueError(
                f"estimator={self.estimator!r} is not a {wanted}, but a member of this ensemble "
                "must be one."
            )
        if self.method == "adaboost":
            check_weighable(self.estimator, "boosting gives rows weights")

    def _check_weights(self, sample_weight: Any, class_weight: Any = None) -> None:
        """Refuse weights that the estimator cannot use."""
        weighted = sample_weight is not None or class_weight is not None
        if self.estimator is not None and weighted:
            check_weighable(self.estimator, "rows have weights")

    # Training -----------------------------------------------------------------------------------

    def _train(
        self,
        matrix: Matrix,
        schema: Schema,
        target: TrainingTarget,
        codes: NDArray[np.integer],
    ) -> Self:
        """Draw the landmarks of all runs one after the other, then train the runs in threads."""
        method = self._used_method
        random = check_random_state(self.random_state)
        plan = plan_landmarks(self, matrix, schema, target.rows, codes, random=random)
        n_runs, n_members = n_runs_and_members(method, self.n_estimators, self.n_runs)
        base = Base(schema, None if self.estimator is None else plan.places)
        drawn = [plan.draw(matrix, random) for _ in range(n_runs)]
        chosen = [self._choose_columns(method, base.n_columns, random) for _ in range(n_runs)]
        seeds = random.randint(np.iinfo(np.int32).max, size=n_runs)
        columns = base.read(matrix)
        learner = make_learner(self, method, n_members, len(target.rows))

        def train(features: LandmarkMap, picked: Rows, seed: int) -> Run:
            table = base.table(columns, picked, features.columns(matrix))
            member: Member
            if method == "adaboost":
                member = train_boosted(learner, table, target, seed, n_members)
            elif method == "bagging" and self.estimator is not None:
                member = train_bag(learner, table, target, seed, n_members)
            else:
                member = train_one(learner, table, target, seed)
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
        """Return the columns that a run sees beside its kernel features."""
        if method == "kernel_only":
            return np.arange(0)
        if method == "random_subspace":
            return np.sort(random.permutation(n_columns)[: (n_columns + 1) // 2])
        return np.arange(n_columns)

    def _quiet_blas(self) -> AbstractContextManager[Any]:
        """Keep matrix products to one thread, unless another estimator may want more."""
        return one_blas_thread() if self.estimator is None else nullcontext()

    def _average(self, X: Any) -> Values:
        """Return the mean prediction of the runs."""
        check_is_fitted(self)
        matrix = apply_table(self, self._schema, X, dtype=np.float64, order="C")
        with self._quiet_blas():
            return average_runs(self._runs, self._features, self._base, matrix, self.n_jobs)


@documented(attributes=FITTED)
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

    _parameters: ClassVar = {
        "method": Parameter(
            "str", _method_text('"adaboost" (AdaBoost.M1), '), choice(*METHODS, None)
        ),
        "criterion": worded(CLASS_CRITERION, 'How trees score splits: "entropy" by default.'),
        "min_samples_leaf": _leaf_rows(", by their weight in boosting"),
        "class_weight": CLASS_WEIGHT,
    }

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
        keep_arguments(self, locals())

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
        self._check_parameters()
        self._check_weights(sample_weight, self.class_weight)
        matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        target = read_classes(y, len(matrix))
        if not isinstance(target, ClassTarget):
            raise ValueError("y has several columns, but one column of classes is expected.")
        weights = check_weights(sample_weight, len(matrix))
        weights = apply_class_weight(self.class_weight, target, weights)
        self.classes_ = target.classes
        self.n_classes_ = len(target.classes)
        learned = TrainingTarget(target.codes, weights, self.n_classes_)
        return self._train(matrix, schema, learned, target.codes)

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


@documented(attributes=FITTED)
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

    _parameters: ClassVar = {
        "method": Parameter("str", _method_text(""), check_number_method),
        "criterion": worded(NUMBER_CRITERION, 'How trees score splits: "squared_error".'),
        "landmarks": worded(
            LandmarkParameters._parameters["landmarks"],
            """
            Which training rows are landmarks: any; as many of each class, where there are enough;
            the rows next to the centers that k-means finds. For numbers, "class" is one of ten
            slices by rank.
            """,
        ),
    }

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
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

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
        self._check_parameters()
        self._check_weights(sample_weight)
        matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        values = read_numbers(y, len(matrix))
        if values.shape[1] != 1:
            raise ValueError(
                f"y has {values.shape[1]} columns, but one column of numbers is expected."
            )
        weights = check_weights(sample_weight, len(matrix))
        measured, self._unit = in_units(values[:, 0])
        learned = TrainingTarget(measured, weights, 0)
        return self._train(matrix, schema, learned, slices_of(measured))

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
