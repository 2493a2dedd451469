"""Single trees over constructed expressions."""

from __future__ import annotations

from typing import Any

from featurewright.estimators.documentation import GROWTH, OUTPUT, SEARCH, documented
from featurewright.estimators.ensembles import GrownClassifier, GrownEnsemble, GrownRegressor

CRITERION = """
criterion : str, optional
    How splits are scored. Classifiers: "normalized_gain" (the default), "entropy", "gain_ratio",
    "gini" or "kearns_mansour". Regressors: "squared_error".
min_weight_fraction_leaf : float, default=0.0
    Share of the total weight on each side of a split.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes; classifiers only.
"""


class TreeParameters(GrownEnsemble):
    """The parameters of a single tree."""

    _plain_columns = "all"
    _many_thresholds = 1
    _title = "growing a tree"

    def __init__(
        self,
        *,
        search: str | None = "look_ahead",
        budget: int | str = "100n",
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
        class_weight: Any = None,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
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
        self.class_weight = class_weight
        self.n_features_out = n_features_out
        self.include_original = include_original
        self.keep_missing = keep_missing
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose


@documented(
    SEARCH,
    CRITERION,
    GROWTH,
    OUTPUT,
    "verbose : int, default=0\n    Draw a progress bar.",
    min_samples_leaf="1",
)
class ConstructiveTreeClassifier(GrownClassifier, TreeParameters):
    """A decision tree whose nodes test expressions searched on their own rows.

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
    >>> import numpy as np
    >>> from featurewright import ConstructiveTreeClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> tree = ConstructiveTreeClassifier(operators=["sub", "mul"], max_size=3, random_state=0)
    >>> print(tree.fit(X, y).features_[0].name)
    x0 * x1
    """


@documented(
    SEARCH,
    CRITERION,
    GROWTH,
    OUTPUT,
    "verbose : int, default=0\n    Draw a progress bar.",
    min_samples_leaf="1",
)
class ConstructiveTreeRegressor(GrownRegressor, TreeParameters):
    """A regression tree whose nodes test expressions searched on their own rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveTreeRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(200, 3))
    >>> tree = ConstructiveTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0] / X[:, 2])
    >>> print(tree.features_[0].name)
    x0 / x2
    """
