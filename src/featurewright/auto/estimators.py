"""The standard estimators, and the folds that candidates are scored on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.model_selection import check_cv as sklearn_check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from featurewright.engine.threads import local_threads, one_blas_thread
from featurewright.estimators.parameters import one_of, shown, whole_number

_HISTOGRAM_BOOSTING = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_BOOSTING_WORDS = ("Boost", "LGBM", "XGB")
_LINEAR_MODULE = "sklearn.linear_model"
_LINEAR_ELSEWHERE = ("LinearSVC", "LinearSVR", "LinearDiscriminantAnalysis")
STANDARD = ("linear", "knn", "boosting")
# A warning of scikit-learn about targets with many classes.
MANY_CLASSES = "The number of unique classes is greater than 50%"
_MIN_SHARED_CELLS = 1_000_000  # of a table, above which threads share the work of boosting
_MAX_CELLS_AT_ONCE = 5_000_000  # that are standardised at once
FEW_ROWS = 3_000  # up to here, a choice by five folds owes much to luck
_MAX_FOLDS = 10  # that may be more than the rows: there are fewer then
_VERY_FEW_ROWS = 1_500  # up to here, further folds are cheap and needed most


class EvenScaler(StandardScaler):
    """Standardise columns, but scale those with two values to a distance of one between them.

    Standardised, an indicator of few rows would have values far from 0: a linear model's penalty
    would affect it least, and neighbours would be compared by it most, although it is rare.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [6.0, 1.0], [3.0, 0.0]])
    >>> EvenScaler().fit(X).scale_
    array([1.87082869, 1.        ])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means and scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The columns.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted scaler.
        """
        values = np.asarray(X)
        if values.size <= _MAX_CELLS_AT_ONCE:
            super().fit(X, y, sample_weight)
        else:  # which would make two copies of all rows
            scaler = StandardScaler()
            step = max(1, _MAX_CELLS_AT_ONCE // values.shape[1])
            for start in range(0, len(values), step):
                rows = slice(start, start + step)
                weights = None if sample_weight is None else sample_weight[rows]
                scaler.partial_fit(values[rows], None, weights)
            self.__dict__.update({k: v for k, v in vars(scaler).items() if k.endswith("_")})
        low, high = values.min(axis=0), values.max(axis=0)
        two = np.array(
            [np.all((own == a) | (own == b)) for own, a, b in zip(values.T, low, high, strict=True)]
        ) & (high > low)
        self.scale_: NDArray[np.float64] = np.where(two, high - low, np.sqrt(self.var_))
        self.scale_[self.scale_ == 0] = 1.0
        return self


def standard_estimator(name: str, task: str, *, random_state: Any = None) -> Any:
    """Make a standard estimator for a task.

    Parameters
    ----------
    name : {"linear", "knn", "boosting"}
        Which.
    task : {"classification", "regression", "multilabel"}
        For what.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    estimator
        Not fitted. Columns are brought to one scale first where that matters.

    Examples
    --------
    >>> from featurewright.auto import standard_estimator
    >>> standard_estimator("knn", "regression").steps[-1][0]
    'kneighborsregressor'
    """
    one_of("estimator", name, STANDARD)
    one_of("task", task, ("classification", "regression", "multilabel"))
    numbers = task == "regression"
    # Imported here and below, since `transform` of a new process fits no estimator.
    if name == "linear":
        from sklearn.linear_model import LogisticRegression, RidgeCV

        if numbers:
            return make_pipeline(EvenScaler(), RidgeCV(np.logspace(-2, 4, 13)))
        logistic: Any = LogisticRegression(max_iter=150)
        if task == "multilabel":
            from sklearn.multiclass import OneVsRestClassifier

            logistic = OneVsRestClassifier(logistic)
        return make_pipeline(EvenScaler(), logistic)
    if name == "knn":
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        make = KNeighborsRegressor if numbers else KNeighborsClassifier
        return make_pipeline(EvenScaler(), make(10))
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if numbers:
        return HistGradientBoostingRegressor(random_state=random_state)
    trees = HistGradientBoostingClassifier(random_state=random_state)
    if task == "multilabel":
        from sklearn.multioutput import MultiOutputClassifier

        return MultiOutputClassifier(trees)
    return trees


def is_linear(estimator: Any) -> bool:
    """Whether an estimator of scikit-learn adds up weighted columns and does nothing else.

    Examples
    --------
    >>> is_linear(standard_estimator("linear", "regression"))
    True
    >>> is_linear(standard_estimator("boosting", "regression"))
    False
    """
    return any(
        base.__module__.startswith(_LINEAR_MODULE) or base.__name__ in _LINEAR_ELSEWHERE
        for base in type(_innermost(estimator)).__mro__  # also those that users derive
    )


def is_boosting(estimator: Any) -> bool:
    """Whether an estimator boosts trees, by the name of its class or of one that it derives from.

    Examples
    --------
    >>> is_boosting(standard_estimator("boosting", "regression"))
    True
    >>> is_boosting(standard_estimator("knn", "regression"))
    False
    """
    names = [base.__name__ for base in type(_innermost(estimator)).__mro__]
    return any(word in name for name in names for word in _BOOSTING_WORDS)


def _innermost(estimator: Any) -> Any:
    """Return the model that learns: the last step of a pipeline, what wrappers fit copies of."""
    while (inner := getattr(estimator, "estimator", None)) is not None and not callable(inner):
        estimator = inner  # of one model for each output, or of a search over settings
    if isinstance(estimator, Pipeline):
        return _innermost(estimator.steps[-1][1])
    return estimator


def check_estimator(estimator: Any) -> None:
    """Refuse what is neither the name of a standard estimator nor a model; None is allowed."""
    if estimator is None:
        return
    if isinstance(estimator, str):
        one_of("estimator", estimator, STANDARD)
        return
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator is the class {estimator.__name__}, but an instance is expected: pass "
            f"{estimator.__name__}()."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            f"estimator={shown(estimator)} has no fit and predict, but a classifier or regressor "
            "of scikit-learn is expected: pass one, or 'linear', 'knn' or 'boosting'."
        )


def choose_estimator(estimator: Any, task: str, n_outputs: int, seed: int) -> tuple[str, Any]:
    """Return the name of the estimator that candidates are scored with, and the estimator."""
    if estimator is None or isinstance(estimator, str):
        name = "linear" if estimator is None else estimator
        model = standard_estimator(name, task, random_state=seed)
        if task == "regression" and n_outputs > 1 and name == "boosting":
            from sklearn.multioutput import MultiOutputRegressor

            model = MultiOutputRegressor(model)
        return name, model
    return _name_of(estimator, task), clone(estimator)


def _name_of(estimator: Any, task: str) -> str:
    """Return the name of the standard estimator that one equals, else that of its class."""
    settings = estimator.get_params() if hasattr(estimator, "get_params") else {}
    seed = next((v for key, v in settings.items() if key.endswith("random_state")), None)
    for name in STANDARD:
        if repr(estimator) == repr(standard_estimator(name, task, random_state=seed)):
            return name
    return type(_last(estimator)).__name__


def _last(estimator: Any) -> Any:
    """Return the last step of a pipeline, else the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def refuses_formulas(estimator: Any) -> bool:
    """Whether an estimator refuses characters of formulas in names of columns."""
    return type(_last(estimator)).__module__.partition(".")[0] in ("lightgbm", "xgboost")


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator takes columns of codes as categories, and would if its user fitted it.

    scikit-learn's gradient boosting and LightGBM find them by the type of a column, XGBoost where
    it is told to.
    """
    if type(estimator).__name__ in _HISTOGRAM_BOOSTING:
        given = getattr(estimator, "categorical_features", None)
        return isinstance(given, str) and given == "from_dtype"
    package = type(estimator).__module__.partition(".")[0]
    if package == "xgboost":
        return bool(getattr(estimator, "enable_categorical", False))
    return package == "lightgbm"


def _tell_categories(model: Any, places: Sequence[int], n_columns: int) -> dict[str, Any]:
    """Set which columns are categories; return parameters of `fit` where these say it."""
    package = type(model).__module__.partition(".")[0]
    if package == "lightgbm":
        return {"categorical_feature": list(places)}
    if package == "xgboost":
        model.set_params(feature_types=["c" if k in places else "q" for k in range(n_columns)])
    else:
        model.set_params(categorical_features=list(places))
    return {}


def check_cv(name: str, value: Any) -> None:
    """Check how rows are held out, as far as that is known before the rows are read."""
    if value is None or (hasattr(value, "split") and not isinstance(value, str | bytes)):
        return
    if isinstance(value, Integral):
        whole_number(name, value, 2)
        return
    if isinstance(value, Iterator):  # read once, when the folds are made
        return
    folds = list(value) if isinstance(value, Iterable) and not np.isscalar(value) else []
    if not folds or not all(isinstance(f, Sequence | np.ndarray) and len(f) == 2 for f in folds):
        raise ValueError(
            f"{name}={shown(value)} must be a number of folds of at least 2, a splitter of "
            "scikit-learn, a list of pairs of training and test rows, or None."
        )


def make_folds(
    cv: Any, y: NDArray[Any], groups: Any, task: str, seed: int, *, weights: Any = None
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows of each fold that can be used.

    A fold needs two classes to learn from, rows to test on, and where there are weights a training
    row whose weight is not 0.
    """
    rows = np.zeros((len(y), 1))
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if whole_number("cv", cv, 2) > max(len(y), _MAX_FOLDS):
            raise ValueError(f"cv={cv} is more than the {len(y)} rows: use fewer folds.")
        cv = _usual_folds(int(cv), y, groups, task, seed)
        if cv is None:
            return []
    splitter = sklearn_check_cv(cv, y, classifier=task == "classification")
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing from some of them, which is acceptable.
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message=MANY_CLASSES)
        found = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(rows, y, groups)]
    for fold in found:
        _check_fold(fold, len(y))
    return [
        (train, test)
        for train, test in found
        if len(test)
        and len(train)
        and (task != "classification" or len(np.unique(y[train])) > 1)
        and (weights is None or weights[train].any())
    ]


def _check_fold(fold: tuple[NDArray[Any], NDArray[Any]], n_rows: int) -> None:
    """Refuse a fold that names rows that are not there, or tests on rows that it learns from."""
    for rows in fold:
        if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_rows):
            raise ValueError(
                f"cv has a fold with other entries than the numbers of rows, 0 to {n_rows - 1}: "
                "list the numbers of the rows to learn from, and of those to test on."
            )
    train, test = fold
    if np.intersect1d(train, test).size:
        raise ValueError(
            "cv has a fold that learns from rows that it tests on, so its score would be too good: "
            "list each row on one side only."
        )


def further_folds(
    cv: Any,
    y: NDArray[Any],
    groups: Any,
    task: str,
    seed: int,
    *,
    n_repetitions: int,
    weights: Any = None,
    of_any_size: bool = False,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return further folds of a table with few rows; none where `cv` is a splitter of its own.

    With `of_any_size`, a table with more rows has some too.
    """
    drawn = isinstance(cv, int | np.integer) and groups is None
    if not drawn or (len(y) > FEW_ROWS and not of_any_size):
        return []
    n_repetitions = n_repetitions if len(y) <= _VERY_FEW_ROWS else (n_repetitions + 1) // 2
    repeated = (
        make_folds(cv, y, None, task, seed + 1 + k, weights=weights) for k in range(n_repetitions)
    )
    return [fold for folds in repeated for fold in folds]


def _usual_folds(n_folds: int, y: NDArray[Any], groups: Any, task: str, seed: int) -> Any:
    """Return the splitter that a number of folds stands for; None where there are too few rows."""
    by_class = task == "classification"
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError(
                "groups has one group only, but two or more are needed: one is held out."
            )
        n_folds = min(n_folds, n_groups)
        if by_class and np.unique(y, return_counts=True)[1].max() >= n_folds:
            return StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        return GroupKFold(n_folds)
    n_folds = min(n_folds, len(y))
    if n_folds < 2:
        return None
    if by_class and np.unique(y, return_counts=True)[1].max() >= n_folds:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return KFold(n_folds, shuffle=True, random_state=seed)


@contextmanager
def few_threads(n_jobs: int | None, n_cells: int) -> Iterator[None]:
    """Limit matrix products to one thread, and OpenMP, which boosting uses, to those asked for.

    Small products take ten times longer on a busy machine when threads share them, and sums that
    are taken in another order would make results depend on the number of threads. Boosting on few
    cells gains a quarter from a second thread, and on a busy machine takes minutes instead of
    seconds when its threads wait for each other.
    """
    threads = local_threads(n_jobs) if n_cells > _MIN_SHARED_CELLS else 1
    with one_blas_thread(), threadpool_limits(threads, user_api="openmp"):
        yield


def fit_estimator(
    estimator: Any, X: Any, y: NDArray[Any], weights: Any, categories: Sequence[int] = ()
) -> Any:
    """Return a fitted copy of an estimator; weights are passed where it takes them.

    Some columns may be codes of categories, which an estimator that takes them is told of.
    """
    model = clone(estimator)
    if y.ndim == 1 and len(np.unique(y)) == 1:
        # Most classifiers refuse a single class, and there is nothing to learn of numbers.
        from sklearn.dummy import DummyClassifier, DummyRegressor

        return (DummyRegressor() if is_regressor(model) else DummyClassifier()).fit(X, y)
    parameters = {} if weights is None else _weight_parameters(model, weights)
    if categories and takes_categories(model):
        parameters |= _tell_categories(model, categories, X.shape[1])
    # Weights are passed by the names of steps, which scikit-learn refuses where it routes metadata.
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        # A solver that has not quite converged is good enough to compare columns by.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Label .* is present in all")
        warnings.filterwarnings("ignore", message=MANY_CLASSES)
        return model.fit(X, y, **parameters)


def probabilities(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probability of each class, or of each of several labels."""
    found = model.predict_proba(X)
    if not isinstance(found, list):
        return np.asarray(found, np.float64)
    # A table for each label, with a column for 0, for 1 or for both, as it was seen.
    shares = [
        (table * (np.asarray(classes) == 1)).sum(axis=1)
        for table, classes in zip(found, model.classes_, strict=True)
    ]
    return np.column_stack(shares)


def _weight_parameters(model: Any, weights: Any) -> dict[str, Any]:
    """Return the weights as parameters of `fit`."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return {f"{name}__sample_weight": weights} if _takes_weights(last) else {}
    return {"sample_weight": weights} if _takes_weights(model) else {}


def _takes_weights(model: Any) -> bool:
    """Whether the `fit` of an estimator takes weights."""
    inner = getattr(model, "estimator", model)
    return has_fit_parameter(model, "sample_weight") and has_fit_parameter(inner, "sample_weight")
