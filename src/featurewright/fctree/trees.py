"""Feature construction trees: operators drawn by weights that are learned on the way down."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.buffers import Target
from featurewright.engine.features import list_features, rank_programs, spell_level_tests
from featurewright.engine.forest import Forest
from featurewright.engine.grammar import user_operators
from featurewright.engine.growth import Job
from featurewright.engine.threads import Halt
from featurewright.engine.weighted import list_operators
from featurewright.estimators.base import some_rows
from featurewright.estimators.construction import Construction, Limits
from featurewright.estimators.ensembles import GrownClassifier, GrownEnsemble, GrownRegressor
from featurewright.estimators.parameters import (
    Parameter,
    documented,
    flag,
    keep_arguments,
    one_of,
    optional,
    real,
    rows_or_share,
    whole,
)
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import (
    FITTED,
    GROWTH,
    MAX_TIME,
    OPERATORS,
    OUTPUT,
    check_budget_or_auto,
    class_criterion,
    worded,
)
from featurewright.expressions import Feature, Operator, parse_budget
from featurewright.fctree.planning import MAX_ORDER, is_constant, plan, six_or_named, usual_budget

LEARNED = """
operator_weights_ : dict
    Weight of each operator after the root was searched; the mean of all trees.
node_operator_weights_ : ndarray of shape (n_nodes, n_operators)
    The same for every node of `forest_`, operators in the order of `operator_weights_`. Leaves have
    the weights of their parents.
n_candidates_ : int
    Features constructed at all nodes.
n_effective_leaves_ : float
    Effective number of leaves, the mean of all trees. For a tree with N leaves that hold shares
    Q_1, ..., Q_N of its rows it is N (1 - sum_i (Q_i - 1/N)^2): N where all leaves hold as many
    rows, close to 1 where one holds nearly all. The error bound of the method grows with its root.
""" + FITTED.replace(
    "Distinct constructed expressions by total gain, the best two hundred; each has",
    "Distinct features that nodes test, columns and constructed ones, by total gain; each has",
)


def check_reuse(name: str, value: Any) -> None:
    """Check whether columns are tested again."""
    if isinstance(value, str):
        one_of(name, value, ("auto",))
    else:
        flag(name, value)


class FCTree(GrownEnsemble):
    """How feature construction trees are grown."""

    _many_thresholds = 1
    _class_criterion = "entropy"
    _title = "growing feature construction trees"
    search = "weighted"  # no parameter: the method has one search

    _parameters: ClassVar = {
        "n_estimators": Parameter(
            "int",
            """
            Number of trees. All see all rows and differ in the operators and columns they draw. The
            features of several are merged; predictions are means.
            """,
            whole(1),
        ),
        "n_constructed": Parameter(
            "int or str",
            """
            Features constructed at each node; "3.5n" stands for three and a half times the number
            of columns. "auto" is the square of the number of columns, which finds most pairs that
            matter; at most 500, but not fewer than there are columns.
            """,
            check_budget_or_auto,
        ),
        "operators": worded(
            OPERATORS,
            """
            What features are constructed with, by name or as `Operator`. By default sqrt, square,
            add, sub, mul and gaussian. Operators that find no columns of their kind are left out;
            if that leaves none of the named operators, an error says so. The empty list, `[]`,
            makes the plain tree, in which a path may test a column again (see `reuse_columns`).
            """,
        ),
        "weighting": Parameter(
            "bool",
            """
            Whether nodes change the weights by which operators are drawn below them: those that
            gained more at a node are drawn more often in its subtree. If False, all operators are
            drawn with the same weight.
            """,
            flag,
        ),
        "weighting_strength": Parameter(
            "float",
            """
            How strongly nodes change the weights. The weight of an operator is multiplied by
            exp(strength * z), where z is the mean gain of its features at the node, as far as it is
            above that of chance (a feature's gain less log2(n - 1) bits for all n rows, at least
            0), standardised over the operators drawn there; an operator that was not drawn counts
            as average, z = 0. Then weights are normalised, and a tenth of them is shared equally,
            so that every operator comes up again.
            """,
            real(least=0.0),
        ),
        "reuse_columns": Parameter(
            '"auto" or bool',
            """
            Whether a path may test a column or a constructed feature more than once. "auto" allows
            it where nothing is constructed, which makes the plain tree; a published tree tests each
            once.
            """,
            check_reuse,
        ),
        "max_order": Parameter(
            "int",
            """
            How deep operators may be nested: with 2 or more, operands may be features that were
            chosen further up on the path. Expressions hold up to 127 symbols, which allows an order
            of 6 with operators of two operands, of 4 with three and of 126 with one.
            """,
            whole(1, most=MAX_ORDER),
        ),
        "min_samples": GROWTH["min_samples_split"],
        "n_features_out": Parameter(
            "int",
            """
            Features that `transform` computes, the best ones; all by default, which is as many as
            the trees have distinct tests. With `include_original`, only constructed features are
            counted.
            """,
            optional(whole(1)),
        ),
        "include_original": worded(
            OUTPUT["include_original"],
            """
            Whether `transform` returns all original columns, before the constructed ones. If False,
            it returns what nodes test: constructed features and the columns that were chosen.
            """,
        ),
        "max_time": worded(
            MAX_TIME,
            """
            Seconds after which growing stops; the trees grown by then are the result, with a
            warning if there is not even a first split.
            """,
        ),
    }

    def _wanted_operators(self) -> tuple[Operator, ...]:
        return six_or_named(self)

    def _plan(self, operators: Any) -> Construction:
        n_columns = self._schema.n_columns
        if isinstance(self.n_constructed, str) and self.n_constructed == "auto":
            budget = usual_budget(n_columns)
        else:
            budget = parse_budget(self.n_constructed, n_columns, "n_constructed")
        return plan(self, self._schema, operators, budget, int(self.max_order))

    def _limits(self, n_rows: int) -> Limits:
        least = rows_or_share("min_samples", self.min_samples, n_rows, 2)
        # All candidates see all rows of their node, so that weights follow gains on all rows.
        return Limits.of(self, min_samples_split=least, halving=None)

    def _make_job(
        self,
        matrix: npt.NDArray[np.float32],
        target: Target,
        scoring: Any,
        operators: Any,
        **leaves: Any,
    ) -> Job:
        job = super()._make_job(matrix, target, scoring, operators, **leaves)
        operators = self._construction.operators
        reuses = not operators if isinstance(self.reuse_columns, str) else bool(self.reuse_columns)
        operator_weights = list_operators(
            operators,
            self._schema.domains,
            strength=float(self.weighting_strength) if self.weighting else 0.0,
            max_order=int(self.max_order),
            reuses=reuses,
        )
        return replace(job, operator_weights=operator_weights)

    def _grow_trees(self, job: Job, seeds: list[int], on_done: Any, halt: Halt) -> list[Forest]:
        trees = super()._grow_trees(job, seeds, on_done, halt)
        nothing = len(trees) == 1 and trees[0].n_leaves == 1 and not is_constant(job.target)
        if halt.flag[0] and nothing:
            warnings.warn(
                f"max_time={self.max_time:g} was over before the root was split, so there are no "
                "features and all rows are predicted alike; allow more time.",
                stacklevel=5,
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

    @property
    def n_effective_leaves_(self) -> float:
        """Effective number of leaves; the mean of all trees."""
        check_is_fitted(self)
        forest = self.forest_
        leaves = np.flatnonzero(forest.left < 0)
        tree = np.searchsorted(forest.roots, leaves, side="right") - 1
        n_leaves = np.bincount(tree)
        shares = forest.n_rows[leaves] / forest.n_rows[forest.roots][tree]
        distances = np.bincount(tree, (shares - 1.0 / n_leaves[tree]) ** 2)
        return float(np.mean(n_leaves * (1.0 - distances)))

    def _find_features(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> tuple[Feature, ...]:
        """Return the features that nodes test, those of equal values merged, best first."""
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
            # Equal on a subsample: compare all rows.
            equal: dict[bytes, list[Feature]] = defaultdict(list)
            for feature in group:
                values = self._evaluate([feature], np.array(everyone, np.float64))
                equal[values.tobytes()].append(feature)
            for same in equal.values():
                gain, count = sum(f.gain for f in same), sum(f.count for f in same)
                merged.append(replace(same[0], gain=gain, count=count))
        return tuple(sorted(merged, key=lambda feature: -feature.gain))


@documented(
    attributes=LEARNED,
    publication=cited(
        "fctree",
        """
`featurewright.published("fctree")` has the settings of the publication: as many constructed
features at a node as there are columns (`n_constructed="1n"`), and no column tested twice on a path
(`reuse_columns=False`, which is the default where features are constructed).
`published("fctree_unweighted")` is the same without weights. Remaining difference: the formula of
the weights is ours. It has the properties that the publication states: operators that built more
informative features at a node are drawn more often below it.
""",
    ),
)
class FCTreeClassifier(GrownClassifier, FCTree):
    """A decision tree that constructs features at its nodes and learns which operators pay.

    Each node tests the best of the original columns and of a number of features, each made by one
    operator from random columns. Operators are drawn by weights: one that built more informative
    features at a node is drawn more often below it. A column or feature is tested at most once on
    each path.

    The features that nodes test are also a result: `transform` returns the original columns and
    computes the constructed features, for another model.

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
    >>> from featurewright import FCTreeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> product = X[:, 0] * X[:, 1]
    >>> X, y = X[abs(product) > 0.05], product[abs(product) > 0.05] > 0
    >>> tree = FCTreeClassifier(n_constructed="10n", random_state=0).fit(X, y)
    >>> print(tree.get_feature_names_out())
    ['x0' 'x1' 'x0 * x1']
    >>> tree.operator_weights_["mul"] > tree.operator_weights_["add"]
    True
    """

    _parameters: ClassVar = {
        "criterion": class_criterion("entropy"),
    }

    def __init__(
        self,
        n_estimators: int = 1,
        *,
        n_constructed: int | str = "auto",
        operators: Any = None,
        weighting: bool = True,
        weighting_strength: float = 1.0,
        reuse_columns: bool | str = "auto",
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
        include_original: bool = True,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())


@documented(
    attributes=LEARNED,
    publication=cited(
        "fctree",
        """
The publication treats only two classes. `n_constructed="1n"` is the setting that differs from the
defaults.
""",
    ),
)
class FCTreeRegressor(GrownRegressor, FCTree):
    """A regression tree that constructs features at its nodes and learns which operators pay.

    As `FCTreeClassifier`, for numbers: gains are shares of the sum of squares of a node.

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
    >>> from featurewright import FCTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> tree = FCTreeRegressor(n_constructed="10n", max_depth=3, random_state=0)
    >>> print(tree.fit(X, X[:, 0] * X[:, 2]).features_[0].name)
    x0 * x2
    """

    def __init__(
        self,
        n_estimators: int = 1,
        *,
        n_constructed: int | str = "auto",
        operators: Any = None,
        weighting: bool = True,
        weighting_strength: float = 1.0,
        reuse_columns: bool | str = "auto",
        max_order: int = 1,
        criterion: str | None = None,
        min_samples: int | float = 3,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        n_features_out: int | None = None,
        include_original: bool = True,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())
