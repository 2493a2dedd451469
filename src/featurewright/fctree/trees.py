"""Feature construction trees: operators drawn by weights that are learned on the way down."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import Target
from featurewright.engine.compiled_grammar import user_operators
from featurewright.engine.features import list_features, rank_programs, spell_level_tests
from featurewright.engine.forest import Forest
from featurewright.engine.growth import Job
from featurewright.engine.operator_lists import list_operators
from featurewright.engine.threads import Halt
from featurewright.estimators.base import some_rows
from featurewright.estimators.construction import Construction, Limits
from featurewright.estimators.documentation import FITTED, THREADS, documented
from featurewright.estimators.ensembles import GrownClassifier, GrownEnsemble, GrownRegressor
from featurewright.estimators.parameters import flag, rows_or_share, whole_number
from featurewright.expressions import Feature, Operator, parse_budget
from featurewright.fctree.planning import MAX_ORDER, check_output, is_constant, plan, six_or_named

CONSTRUCTION = """
n_estimators : int, default=1
    Number of trees. All see all rows and differ in the operators and columns they draw. The
    features of several are merged; predictions are means.
n_constructed : int or str, default="1n"
    Features constructed at each node; "3.5n" stands for three and a half times the number of
    columns.
operators : sequence of str or Operator, optional
    What features are constructed with, by name or as `Operator`. By default sqrt, square, add,
    sub, mul and gaussian. Operators that find no columns of their kind are left out; where that
    leaves none of those named, they are refused. None at all, `[]`, makes the plain tree.
weighting : bool, default=True
    Whether nodes change the weights by which operators are drawn below them: that of each operator
    drawn is multiplied by exp(-1 / (1 + mean gain)). Of two that were drawn, the weight of the
    one that gained more rises against the other's; that of one not drawn rises against both.
    Without it all are drawn alike.
max_order : int, default=1
    Operators on top of one another: with 2 or more, operands may be features that were chosen
    further up on the path. Expressions hold up to 127 symbols, which allows 6 with operators of
    two operands, 4 with three and 126 with one.
criterion : str, optional
    How splits are scored. Classifiers: "entropy" (the default), "gain_ratio", "gini",
    "kearns_mansour" or "normalized_gain". Regressors: "squared_error".
min_samples : int or float, default=3
    Rows, or share of rows, that a node needs to be split.
max_depth : int, optional
    Largest depth of a tree.
min_samples_leaf : int or float, default=1
    Rows, or share of rows, on each side of a split.
min_weight_fraction_leaf : float, default=0.0
    Share of the total weight on each side of a split.
max_leaf_nodes : int, optional
    Grow the best nodes first, up to so many leaves.
min_gain : float, default=0.0
    Gain, in units of weight, that a split needs.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes; classifiers only.
n_features_out : int, optional
    Features that `transform` computes, the best ones; all by default, which is as many as the trees
    have distinct tests. With `include_original` constructed ones alone are counted.
include_original : bool, default=False
    Whether `transform` gives all original columns, before the constructed ones, and not only those
    that were chosen.
keep_missing : bool, default=False
    Whether `transform` leaves undefined values missing instead of filling in the median of `fit`.
max_time : float, optional
    Seconds after which growing stops; what was grown by then is the result, with a warning where
    that is not even a first split.
random_state : int, RandomState or None, default=None
    Seed; the result is the same for any `n_jobs`.
"""
LEARNED = """
operator_weights_ : dict
    Weight of each operator after the root was searched; the mean of all trees.
node_operator_weights_ : ndarray of shape (n_nodes, n_operators)
    The same for every node of `forest_`, operators in the order of `operator_weights_`. Leaves have
    the weights of their parents.
n_candidates_ : int
    Features constructed at all nodes.
""" + FITTED.replace(
    "Distinct constructed expressions by total gain, the best two hundred; each has",
    "Distinct features that nodes test, columns and constructed ones, by total gain; each has",
)


class FCTreeParameters(GrownEnsemble):
    """The parameters of feature construction trees, and how they are grown."""

    _many_thresholds = 1
    _class_criterion = "entropy"
    _title = "growing feature construction trees"
    search = "weighted"  # not a choice: it is the method

    def __init__(
        self,
        n_estimators: int = 1,
        *,
        n_constructed: int | str = "1n",
        operators: Any = None,
        weighting: bool = True,
        max_order: int = 1,
        criterion: str | None = None,
        min_samples: int | float = 3,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        class_weight: Any = None,
        n_features_out: int | None = None,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_constructed = n_constructed
        self.operators = operators
        self.weighting = weighting
        self.max_order = max_order
        self.criterion = criterion
        self.min_samples = min_samples
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.class_weight = class_weight
        self.n_features_out = n_features_out
        self.include_original = include_original
        self.keep_missing = keep_missing
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_output(self) -> None:
        check_output(self)
        whole_number("max_order", self.max_order, 1, most=MAX_ORDER)

    def _wanted_operators(self) -> tuple[Operator, ...]:
        flag("weighting", self.weighting)
        return six_or_named(self)

    def _plan(self, operators: Any) -> Construction:
        budget = parse_budget(self.n_constructed, self._schema.n_columns, "n_constructed")
        return plan(self, self._schema, operators, budget, int(self.max_order))

    def _limits(self, n_rows: int) -> Limits:
        least = rows_or_share("min_samples", self.min_samples, n_rows, 2)
        # All candidates see all rows of their node, so that weights follow gains on all rows.
        return Limits(
            self.max_depth, self.max_leaf_nodes, least, self.min_samples_leaf, self.min_gain, None
        )

    def _make_job(
        self,
        matrix: npt.NDArray[np.float32],
        target: Target,
        scoring: Any,
        operators: Any,
        **leaves: Any,
    ) -> Job:
        job = super()._make_job(matrix, target, scoring, operators, **leaves)
        operator_weights = list_operators(
            self._construction.operators,
            self._schema.domains,
            weighting=bool(self.weighting),
            max_order=int(self.max_order),
        )
        return replace(job, operator_weights=operator_weights)

    def _grow_trees(self, job: Job, seeds: list[int], on_done: Any, halt: Halt) -> list[Forest]:
        trees = super()._grow_trees(job, seeds, on_done, halt)
        nothing = len(trees) == 1 and trees[0].n_leaves == 1 and not is_constant(job.target)
        if halt.flag[0] and nothing:
            warnings.warn(
                f"max_time={self.max_time:g} was over before the root was split, so there are no "
                "features and all rows are predicted alike; allow more time.",
                stacklevel=4,
            )
        return trees

    def _note_features(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> None:
        super()._note_features(matrix, weights)
        self.node_operator_weights_ = self.forest_.operator_weights
        at_roots = self.node_operator_weights_[self.forest_.roots].mean(axis=0)
        names = [operator.name for operator in self._construction.operators]
        self.operator_weights_ = dict(zip(names, map(float, at_roots), strict=True))
        self.n_candidates_ = int(self.forest_.operator_counts.sum())

    def _find_features(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> tuple[Feature, ...]:
        """Give the features that nodes test, those of equal values merged, best first."""
        forest = spell_level_tests(self.forest_)
        ranking = rank_programs(forest, self._construction.compiled.functions(np.float32))
        operators = user_operators(self._construction.operators)
        everything = len(ranking.gains)
        listed = list_features(ranking, self._schema, operators, everything, columns=True)
        return self._merge_equal(listed, matrix, weights)

    def _merge_equal(
        self,
        features: tuple[Feature, ...],
        matrix: npt.NDArray[np.float32],
        weights: npt.NDArray[np.floating[Any]],
    ) -> tuple[Feature, ...]:
        """Merge features that have the same value in every row into the better one of them."""
        some = np.array(matrix[some_rows(weights)], np.float64)
        alike: dict[bytes, list[Feature]] = defaultdict(list)
        for feature, values in zip(features, self._evaluate(features, some).T, strict=True):
            alike[values.tobytes()].append(feature)
        merged: list[Feature] = []
        everyone = matrix[weights > 0]
        for group in alike.values():
            if len(group) == 1:
                merged += group
                continue
            # Equal on some rows: all of them decide.
            equal: dict[bytes, list[Feature]] = defaultdict(list)
            for feature in group:
                values = self._evaluate([feature], np.array(everyone, np.float64))
                equal[values.tobytes()].append(feature)
            for same in equal.values():
                gain, count = sum(f.gain for f in same), sum(f.count for f in same)
                merged.append(replace(same[0], gain=gain, count=count))
        return tuple(sorted(merged, key=lambda feature: -feature.gain))


@documented(CONSTRUCTION, THREADS, attributes=LEARNED)
class FCTreeClassifier(GrownClassifier, FCTreeParameters):
    """A decision tree that constructs features at its nodes and learns which operators pay.

    Each node tests the best of the original columns and of a number of features, each made by one
    operator from random columns. Operators are drawn by weights. Those drawn at a node weigh less
    below it, and the less their features gained the more so; those not drawn keep their weight. A
    column or feature is tested once on each path.

    The features that nodes test are the result as well: `transform` computes them for another
    model.

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
    >>> from featurewright import FCTreeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> product = X[:, 0] * X[:, 1]
    >>> X, y = X[abs(product) > 0.05], product[abs(product) > 0.05] > 0
    >>> tree = FCTreeClassifier(n_constructed="10n", random_state=0).fit(X, y)
    >>> print(tree.get_feature_names_out())
    ['x0 * x1']
    >>> tree.operator_weights_["mul"] > tree.operator_weights_["add"]
    True
    """


@documented(CONSTRUCTION, THREADS, attributes=LEARNED)
class FCTreeRegressor(GrownRegressor, FCTreeParameters):
    """A regression tree that constructs features at its nodes and learns which operators pay.

    As `FCTreeClassifier`, for numbers: gains are shares of the sum of squares of a node.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import FCTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> tree = FCTreeRegressor(n_constructed="10n", max_depth=3, random_state=0)
    >>> print(tree.fit(X, X[:, 0] * X[:, 2]).features_[0].name)
    x0 * x2
    """
