"""Single trees, random forests and Extra-Trees over constructed expressions."""

from __future__ import annotations

from typing import Any, ClassVar

from featurewright.estimators.ensembles import GrownClassifier, GrownEnsemble, GrownRegressor
from featurewright.estimators.parameters import Parameter, documented, flag, keep_arguments, whole
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import FITTED, SAMPLES

GROWN = (
    """
n_estimators_ : int
    Trees grown; fewer than asked for if `max_time` ran out.
oob_score_ : float
    Accuracy, or R2, of the rows out of the bag.
"""
    + FITTED
)


class SingleTree(GrownEnsemble):
    """How a single tree grows."""

    _plain_columns = "all"
    _many_thresholds = 1
    _level_sets = 1
    _title = "growing a tree"


@documented(
    attributes=FITTED,
    publication=cited(
        "monte_carlo",
        """
`featurewright.published("monte_carlo_tree")` has the settings of the publication. They are the
defaults except for `halving=None`: all candidates are scored on all rows of their node. Remaining
difference: nodes of more than 32 rows compare candidates by the boundaries of at most 128 bins and
refine the threshold of the best one, whereas the publication tries all thresholds.
""",
    ),
)
class ConstructiveTreeClassifier(GrownClassifier, SingleTree):
    """A decision tree whose nodes test expressions searched on their own rows.

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
    >>> import numpy as np
    >>> from featurewright import ConstructiveTreeClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> tree = ConstructiveTreeClassifier(operators=["sub", "mul"], max_size=3, random_state=0)
    >>> print(tree.fit(X, y).features_[0].name)
    x0 * x1
    """

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
        min_side_share: float = 0.0,
        cut_cost: bool = False,
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
        keep_arguments(self, locals())


@documented(
    attributes=FITTED,
    publication=cited(
        "monte_carlo",
        """
The publication treats only classes. `halving=None` is the setting of its trees that differs from
the defaults.
""",
    ),
)
class ConstructiveTreeRegressor(GrownRegressor, SingleTree):
    """A regression tree whose nodes test expressions searched on their own rows.

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
    >>> from featurewright import ConstructiveTreeRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(200, 3))
    >>> tree = ConstructiveTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0] / X[:, 2])
    >>> print(tree.features_[0].name)
    x0 / x2
    """

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
        min_side_share: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        halving: int | str | None = "auto",
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())


class IndependentTrees(GrownEnsemble):
    """Trees that each grow on rows of their own."""

    _bootstraps = True
    _level_sets = 1
    _parameters: ClassVar = {
        "n_estimators": Parameter("int", "Number of trees.", whole(1)),
        **SAMPLES,
        "oob_score": Parameter(
            "bool",
            "Whether to score every row by the trees that did not see it (`oob_score_`).",
            flag,
        ),
        "warm_start": Parameter("bool", "Whether `fit` adds trees to those of the last fit.", flag),
    }

    def _draws_with_replacement(self) -> bool:
        return self._bootstraps if self.bootstrap is None else bool(self.bootstrap)


class ForestClassifier(GrownClassifier, IndependentTrees):
    """The parameters of an ensemble of independent trees for classes."""

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
        min_side_share: float = 0.0,
        cut_cost: bool = False,
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
        keep_arguments(self, locals())


class ForestRegressor(GrownRegressor, IndependentTrees):
    """The parameters of an ensemble of independent trees for numbers."""

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
        min_side_share: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        halving: int | str | None = "auto",
        bootstrap: bool | None = None,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())


class RandomThresholds(IndependentTrees):
    """Extra-Trees: all rows, and one random threshold for each candidate."""

    _bootstraps = False
    _random_threshold = 1
    _level_sets = 0  # a random level is tested, as a random threshold is


@documented(
    attributes=GROWN,
    publication=cited(
        "monte_carlo",
        """
`featurewright.published("monte_carlo_forest")` has the settings of the publication: 1,000 trees,
and all candidates scored on all rows of their node (`halving=None`). Remaining difference: nodes
compare candidates by the thresholds of eight rows and refine the threshold of the best one, whereas
the publication tries all thresholds.
""",
    ),
)
class ConstructiveForestClassifier(ForestClassifier):
    """A random forest whose nodes test expressions searched on their own rows.

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
    >>> from featurewright import ConstructiveForestClassifier
    >>> from featurewright.datasets import make_ringnorm
    >>> X, y = make_ringnorm(300, random_state=0)
    >>> forest = ConstructiveForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.85
    True
    >>> forest.transform(X).shape
    (300, 50)
    """


@documented(
    attributes=GROWN,
    publication=cited(
        "monte_carlo",
        """
The publication treats only classes. `n_estimators=1000` and `halving=None` are the settings of its
forests that differ from the defaults.
""",
    ),
)
class ConstructiveForestRegressor(ForestRegressor):
    """A random forest for regression, whose nodes test expressions searched on their own rows.

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
    >>> from featurewright import ConstructiveForestRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] / X[:, 2]
    >>> forest = ConstructiveForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.score(X, y) > 0.98
    True
    """


@documented(
    attributes=GROWN,
    publication=cited(
        "monte_carlo",
        """
`featurewright.published("monte_carlo_extra_trees")` has the settings of the publication: 1,000
trees, and all candidates scored on all rows of their node (`halving=None`).
""",
    ),
)
class ConstructiveExtraTreesClassifier(RandomThresholds, ForestClassifier):
    """Extra-Trees whose nodes test expressions at one random threshold each.

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
    >>> from featurewright import ConstructiveExtraTreesClassifier
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = ConstructiveExtraTreesClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.7
    True
    """


@documented(
    attributes=GROWN,
    publication=cited(
        "monte_carlo",
        """
The publication treats only classes. `n_estimators=1000` and `halving=None` are the settings of its
Extra-Trees that differ from the defaults.
""",
    ),
)
class ConstructiveExtraTreesRegressor(RandomThresholds, ForestRegressor):
    """Extra-Trees regression whose nodes test expressions at one random threshold each.

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
    >>> from featurewright import ConstructiveExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = ConstructiveExtraTreesRegressor(20, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """
