"""Random forests and Extra-Trees over constructed expressions."""

from __future__ import annotations

from typing import Any

from featurewright.constructive.trees import CRITERION
from featurewright.estimators.documentation import (
    FITTED,
    GROWTH,
    OUTPUT,
    SEARCH,
    THREADS,
    documented,
)
from featurewright.estimators.ensembles import GrownClassifier, GrownEnsemble, GrownRegressor
from featurewright.estimators.parameters import flag

NUMBER = """
n_estimators : int, default=100
    Number of trees.
"""
SAMPLES = """
bootstrap : bool, optional
    Whether each tree grows on rows drawn with replacement; by default forests do and Extra-Trees
    do not.
max_samples : int, float or None, default=None
    Rows, or share of rows, drawn for each tree; all by default.
oob_score : bool, default=False
    Whether to score every row by the trees that did not see it (`oob_score_`).
warm_start : bool, default=False
    Whether `fit` adds trees to those of the last fit.
"""
GROWN = (
    """
n_estimators_ : int
    Trees grown; fewer than asked for if `max_time` ran out.
oob_score_ : float
    Accuracy, or R2, of the rows out of the bag.
"""
    + FITTED
)


class ForestParameters(GrownEnsemble):
    """The parameters of an ensemble of independent trees."""

    _bootstraps = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        search: str | None = "random",
        budget: int | str = "10n",
        max_size: int = 5,
        operators: Any = None,
        sampling: str = "symbol",
        max_features: Any = None,
        criterion: str | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        halving: int | str | None = "auto",
        bootstrap: bool | None = None,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        class_weight: Any = None,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.search = search
        self.budget = budget
        self.max_size = max_size
        self.operators = operators
        self.sampling = sampling
        self.max_features = max_features
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.halving = halving
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.n_features_out = n_features_out
        self.include_original = include_original
        self.keep_missing = keep_missing
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _draws_with_replacement(self) -> bool:
        return self._bootstraps if self.bootstrap is None else flag("bootstrap", self.bootstrap)


class ExtraTreesParameters(ForestParameters):
    """Extra-Trees: all rows, and one random threshold for each candidate."""

    _bootstraps = False
    _random_threshold = 1


_PARAMETERS = (NUMBER, SEARCH, CRITERION, GROWTH, SAMPLES, OUTPUT, THREADS)


@documented(*_PARAMETERS, attributes=GROWN, min_samples_leaf="1")
class ConstructiveForestClassifier(GrownClassifier, ForestParameters):
    """A random forest whose nodes test expressions searched on their own rows.

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
    >>> from featurewright import ConstructiveForestClassifier
    >>> from featurewright.datasets import make_ringnorm
    >>> X, y = make_ringnorm(300, random_state=0)
    >>> forest = ConstructiveForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.85
    True
    >>> forest.transform(X).shape
    (300, 50)
    """


@documented(*_PARAMETERS, attributes=GROWN, min_samples_leaf="1")
class ConstructiveForestRegressor(GrownRegressor, ForestParameters):
    """A random forest for numbers whose nodes test expressions searched on their own rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveForestRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] / X[:, 2]
    >>> forest = ConstructiveForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.score(X, y) > 0.98
    True
    """


@documented(*_PARAMETERS, attributes=GROWN, min_samples_leaf="1")
class ConstructiveExtraTreesClassifier(GrownClassifier, ExtraTreesParameters):
    """Extra-Trees whose nodes test expressions at one random threshold each.

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
    >>> from featurewright import ConstructiveExtraTreesClassifier
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = ConstructiveExtraTreesClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.7
    True
    """


@documented(*_PARAMETERS, attributes=GROWN, min_samples_leaf="1")
class ConstructiveExtraTreesRegressor(GrownRegressor, ExtraTreesParameters):
    """Extra-Trees for numbers whose nodes test expressions at one random threshold each.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = ConstructiveExtraTreesRegressor(20, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """
