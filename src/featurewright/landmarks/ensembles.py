"""Ensembles whose members see similarities to landmarks beside the columns of the table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.threads import Halt, local_threads, one_blas_thread, run_in_threads
from featurewright.estimators.base import from_units, in_units
from featurewright.estimators.parameters import (
    Parameter,
    choice,
    documented,
    flag,
    keep_arguments,
    number,
    one_of,
    optional,
    rows,
    whole,
    whole_or_auto,
)
from featurewright.estimators.progress import progress
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import (
    CLASS_WEIGHT,
    MAX_DEPTH,
    MAX_FEATURES,
    MIN_WEIGHT,
    NUMBER_CRITERION,
    RUNNING,
    class_criterion,
    worded,
)
from featurewright.estimators.units import chosen_backend, run_units
from featurewright.landmarks.inputs import NO_COLUMNS, apply_rows, fit_rows, n_rows_of, stack
from featurewright.landmarks.runs import (
    METHODS,
    Base,
    Run,
    Trainer,
    TrainingTarget,
    Values,
    average_runs,
    check_weighable,
    make_learner,
    n_runs_and_members,
    share_importances,
)
from featurewright.landmarks.selection import (
    LandmarkParameters,
    Rows,
    plan_landmarks,
    slices_of,
)
from featurewright.landmarks.similarity import NO_POINTS, LandmarkMap
from featurewright.landmarks.tuning import choose, is_auto
from featurewright.tables import (
    MultiTarget,
    Schema,
    apply_class_weight,
    check_weights,
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
n_landmarks_ : int
    Landmarks of each run.
feature_importances_ : ndarray of shape (n_features,)
    Mean importance of each column over the runs, for members that have importances, such as trees.
    Together with `kernel_importance_`, the importances add up to 1.
kernel_importance_ : float
    Share of the kernel features.
oob_score_ : float
    Accuracy or R² of the predictions for rows that a tree did not see, with `oob_score`. The
    predictions themselves are in {oob}.
n_runs_ : int
    Number of runs.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""


HAVE_BOOTSTRAPS = ("bagging", "random_forest", "constructive_forest")


def check_width(name: str, value: Any) -> None:
    """Check a width: a number, "auto" or None."""
    if value is not None and not is_auto(value):
        try:
            number(name, value, above=0.0)
        except ValueError:
            raise ValueError(
                f"{name}={value!r} must be a finite number above 0, 'auto' or None."
            ) from None


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
"random_subspace": each sees a random half of the columns as well. With the other methods, each run
trains a whole ensemble on all columns and the kernel features: "bagging", {boosting}"random_forest"
(the default) or "constructive_forest" (`ConstructiveForest...`). An `estimator` without a method is
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
            The estimator of which members are copies. By default unpruned trees of this library;
            any other estimator is trained on the points that the kernel sees: missing numbers
            filled in, a column for each label.
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
            Runs among which the members are divided; by default about the square root of
            `n_estimators` (14 runs of 14 members); "kernel_only" and "random_subspace" have one
            member in each run.
            """,
            optional(whole(1)),
        ),
        "n_landmarks": Parameter(
            'int or "auto"',
            """
            Landmarks of each run; with 0 the ensemble is the plain one. "auto" chooses among 10, 50
            and 100 on held-out rows: small ensembles are trained on two thirds of the rows, 3000 at
            most, and a number other than 10 is used if its squared error on the other rows is lower
            by more than a standard error.
            """,
            whole_or_auto(0),
        ),
        "width": Parameter(
            'float or "auto"',
            """
            Width of "gaussian" and of no other kernel; by default the median squared distance of
            two training rows. "auto" chooses among 1/16, 1/4, 1, 4 and 16 times that on held-out
            rows, as for `n_landmarks`. Trees see the order of similarities alone, which the width
            hardly changes; linear members and others depend on it.
            """,
            check_width,
        ),
        "oob_score": Parameter(
            "bool",
            """
            Whether to score each row by the members that did not see it: for "bagging",
            "random_forest" and "constructive_forest", whose members see rows drawn with
            replacement.
            """,
            flag,
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
        tags.target_tags.multi_output = self.method != "adaboost" and self.estimator is None
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
        if self.oob_score and self._used_method not in HAVE_BOOTSTRAPS:
            raise ValueError(
                f"oob_score=True needs members that see rows drawn with replacement, but "
                f"method={self._used_method!r} has none; use one of {HAVE_BOOTSTRAPS}."
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

    def _check_several(self) -> None:
        """Refuse several targets where members can learn but one."""
        if self.method == "adaboost":
            raise ValueError(
                'y has several columns, but method="adaboost" takes one column of classes: use '
                "another method, or one ensemble for each column."
            )
        if self.estimator is None:
            return
        tags = get_tags(self.estimator)
        several_labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
        if not (tags.target_tags.multi_output or several_labels):
            raise ValueError(
                f"y has several columns, but {type(self.estimator).__name__} takes one: choose "
                "another estimator, or one ensemble for each column."
            )

    # Training -----------------------------------------------------------------------------------

    def _train(
        self,
        matrix: Any,
        schema: Schema,
        target: TrainingTarget,
        codes: NDArray[np.integer],
    ) -> Self:
        """Draw the landmarks of all runs one after the other, then train the runs in threads."""
        method = self._used_method
        random = check_random_state(self.random_state)
        settings = self
        if is_auto(self.n_landmarks) or is_auto(self.width):
            chosen_by_rows = choose(self, matrix, schema, target, codes, random=random)
            settings = clone(self).set_params(**chosen_by_rows._asdict())
        if self.n_landmarks == 0 and schema.n_columns == 0:
            raise ValueError(
                "n_landmarks=0 leaves members without any column, since X holds objects; use at "
                "least 1."
            )
        plan = plan_landmarks(settings, matrix, schema, target.rows, codes, random=random)
        n_runs, n_members = n_runs_and_members(method, self.n_estimators, self.n_runs)
        beside = NO_COLUMNS if plan.places is None else schema
        base = Base(beside, None if self.estimator is None else plan.places or NO_POINTS)
        drawn = [plan.draw(matrix, random) for _ in range(n_runs)]
        chosen = [self._choose_columns(method, base.n_columns, random) for _ in range(n_runs)]
        seeds = random.randint(np.iinfo(np.int32).max, size=n_runs)
        columns = base.read(matrix)
        learner = make_learner(self, method, n_members, len(target.rows))

        trainer = Trainer(
            base,
            matrix,
            columns,
            learner,
            target,
            method,
            n_members,
            oob_score=bool(self.oob_score),
            own_trees=self.estimator is None,
        )
        runs = [
            (features, picked, int(seed))
            for (_, features), picked, seed in zip(drawn, chosen, seeds, strict=True)
        ]
        backend = chosen_backend()
        with (
            self._quiet_blas(),
            progress(n_runs, "training", verbose=self.verbose) as on_done,
        ):
            running: dict[str, Any] = {"halt": Halt(), "on_done": on_done}
            if backend is not None and n_runs > 1:
                running |= {"what": "run of the ensemble", "n_jobs": self.n_jobs}
                trained = run_units(backend, Trainer.train_apart, trainer, runs, **running)
            else:
                threads = min(local_threads(self.n_jobs), n_runs)
                tasks = [partial(trainer.train, *run) for run in runs]
                trained = run_in_threads(tasks, threads, **running)
        done = [pair for pair in trained if pair is not None]
        self._runs: tuple[Run, ...] = tuple(run for run, _ in done)
        if self.oob_score:
            self._score_out_of_bag(_mean_known([own for _, own in done]), target)
        landmarks = stack([features.landmarks for _, features in drawn])
        self._features = LandmarkMap(plan.places, plan.similarity, landmarks)
        self._base = base
        self._schema = schema
        self.landmark_rows_ = [own for own, _ in drawn]
        self.width_ = plan.similarity.width
        self.n_landmarks_ = self._features.n_landmarks // n_runs
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
        return self._predict_rows(apply_rows(self, self._schema, X))

    def _predict_rows(self, matrix: Any) -> Values:
        """Return the mean prediction of the runs for encoded rows."""
        with self._quiet_blas():
            return average_runs(self._runs, self._features, self._base, matrix, self.n_jobs)

    @property
    def feature_importances_(self) -> Values:
        """Mean importance of each column of the table over the runs."""
        return self._importances()[:-1]

    @property
    def kernel_importance_(self) -> float:
        """Mean importance of all kernel features together."""
        return float(self._importances()[-1])

    def _importances(self) -> Values:
        """Return the importance of each column and of the kernel features."""
        check_is_fitted(self)
        found = share_importances(self._runs, self._base)
        if found is None:
            raise AttributeError(
                f"{type(self.estimator).__name__} has no feature_importances_, so the ensemble has "
                "none: use trees as members."
            )
        return found


def _mean_known(parts: Sequence[Values | None]) -> Values:
    """Return the mean of several tables where they are known; NaN where none is."""
    stacked = np.array(parts)
    known = ~np.isnan(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=0))


def _warn_without_rows() -> None:
    """Warn that no row was left out."""
    warnings.warn(
        "every member saw every row, so oob_score_ is not defined; train more members.",
        stacklevel=6,
    )


@documented(
    attributes=FITTED.replace("{oob}", "`oob_decision_function_`"),
    publication=cited(
        "landmarks",
        """
`featurewright.published("kernel_forest")` has the settings of the publication, and so have
"kernel_bagging", "kernel_adaboost", "kernel_subspace" and "kernel_only": 200 trees, in 14 runs of
14 where each run is an ensemble, ten landmarks, the entropy, and columns as they are
(`scale=False`). Kernel and width depend on the table: the publication uses `kernel="linear"` for
straight boundaries, and a Gaussian width for each data set. Remaining difference: its trees are
those of Weka's J48 without pruning, whose rules on both sides of a cut are `min_side_share=0.1` and
`cut_cost=True` of `ConstructiveTreeClassifier`, to be passed as `estimator`.
""",
    ),
)
class KernelFeatureEnsembleClassifier(ClassifierMixin, KernelFeatureEnsemble):
    """An ensemble whose members see similarities to landmarks beside the columns.

    Each run draws landmarks of its own from the training rows, puts the similarities to them beside
    the columns, and trains on the result; the probabilities of all runs are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    {attributes}

    {publication}

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
        "criterion": class_criterion("entropy"),
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
        n_landmarks: int | str = 10,
        kernel: Any = "gaussian",
        width: float | str | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        batched: bool = False,
        landmarks: str = "random",
        scale: bool | str = "auto",
        criterion: str | None = None,
        max_features: Any = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: Any = None,
        oob_score: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all runs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome in
            dense ones. Members other than those of "kernel_only" see sparse columns as dense ones.
            Objects, or similarities, as the kernel has it; members then see kernel features alone.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes; a matrix of 0 and 1 for several labels at once.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted ensemble.
        """
        self._check_parameters()
        self._check_weights(sample_weight, self.class_weight)
        matrix, schema = fit_rows(self, X)
        n_rows = n_rows_of(matrix)
        target = read_classes(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        if isinstance(target, MultiTarget):
            self._check_several()
            if self.class_weight is not None:
                raise ValueError(
                    "class_weight is not supported for several targets; weigh rows with "
                    "sample_weight."
                )
            self.classes_: Any = list(target.classes)
            self.n_classes_: Any = [len(classes) for classes in target.classes]
            learned = TrainingTarget(target.codes, weights, tuple(self.n_classes_))
            together = np.unique(target.codes, axis=0, return_inverse=True)[1].reshape(-1)
            return self._train(matrix, schema, learned, together)
        weights = apply_class_weight(self.class_weight, target, weights)
        self.classes_ = target.classes
        self.n_classes_ = len(target.classes)
        learned = TrainingTarget(target.codes, weights, self.n_classes_)
        return self._train(matrix, schema, learned, target.codes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    def _score_out_of_bag(self, values: Values, target: TrainingTarget) -> None:
        """Score each row of weight by the members that did not see it."""
        self.oob_decision_function_ = values
        seen = target.rows[~np.isnan(values[target.rows, 0])]
        if len(seen) == 0:
            _warn_without_rows()
            self.oob_score_ = np.nan
            return
        codes = [np.argmax(block, axis=1) for block in self._blocks(values[seen])]
        truth = target.y[seen].reshape(len(seen), -1)
        self.oob_score_ = float(np.mean(np.column_stack(codes) == truth))

    def _blocks(self, values: Values) -> list[Values]:
        """Split the shares of several targets."""
        sizes = np.atleast_1d(self.n_classes_)
        return np.split(values, np.cumsum(sizes)[:-1], axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them for several targets
            The mean of all runs.
        """
        values = self._average(X)
        return self._blocks(values) if isinstance(self.classes_, list) else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The classes.
        """
        shares = self.predict_proba(X)
        if not isinstance(self.classes_, list):
            return np.asarray(self.classes_[np.argmax(shares, axis=1)])
        picked = [
            classes[np.argmax(block, axis=1)]
            for classes, block in zip(self.classes_, shares, strict=True)
        ]
        return np.column_stack(picked)


@documented(
    attributes=FITTED.replace("{oob}", "`oob_prediction_`"),
    publication=cited(
        "landmarks",
        """
The publication treats only classes. `scale=False` is the setting of its ensembles that differs from
the defaults.
""",
    ),
)
class KernelFeatureEnsembleRegressor(RegressorMixin, KernelFeatureEnsemble):
    """An ensemble for numbers whose members see similarities to landmarks beside the columns.

    Each run draws landmarks of its own from the training rows, puts the similarities to them beside
    the columns, and trains on the result; the predictions of all runs are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    {publication}

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
        "criterion": NUMBER_CRITERION,
        "landmarks": worded(
            LandmarkParameters._parameters["landmarks"],
            """
            Which training rows are landmarks: any; as many of each class, where there are enough;
            the rows next to the centers that k-means finds. For numbers, "class" is one of ten
            slices by rank, for several targets by their mean rank.
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
        n_landmarks: int | str = 10,
        kernel: Any = "gaussian",
        width: float | str | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        batched: bool = False,
        landmarks: str = "random",
        scale: bool | str = "auto",
        criterion: str | None = None,
        max_features: Any = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        oob_score: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all runs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome in
            dense ones. Members other than those of "kernel_only" see sparse columns as dense ones.
            Objects, or similarities, as the kernel has it; members then see kernel features alone.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
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
        matrix, schema = fit_rows(self, X)
        n_rows = n_rows_of(matrix)
        values = read_numbers(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        measured, self._unit = in_units(values)
        if measured.shape[1] == 1:
            measured = measured[:, 0]
        else:
            self._check_several()
        learned = TrainingTarget(measured, weights, 0)
        return self._train(matrix, schema, learned, slices_of(measured))

    def _score_out_of_bag(self, values: Values, target: TrainingTarget) -> None:
        """Score each row of weight by the members that did not see it."""
        self.oob_prediction_ = _one_or_more(from_units(values, self._unit))
        seen = target.rows[~np.isnan(values[target.rows, 0])]
        if len(seen) < 2:  # R2 needs two
            _warn_without_rows()
            self.oob_score_ = np.nan
            return
        # Imported where it is used: it takes a tenth of a second.
        from sklearn.metrics import r2_score

        truth = target.y.reshape(values.shape)
        self.oob_score_ = float(r2_score(truth[seen], values[seen]))

    def predict(self, X: Any) -> Values:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mean of all runs.
        """
        return _one_or_more(from_units(self._average(X), self._unit))


def _one_or_more(values: Values) -> Values:
    """Return one target as a vector and several as a matrix."""
    return values[:, 0] if values.shape[1] == 1 else values
