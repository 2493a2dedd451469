"""Encode rows by the nodes of the trees that they pass."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from featurewright._sklearn_compat import sparse_container
from featurewright.engine.buffers import Target
from featurewright.engine.criteria import CLASS_CRITERIA
from featurewright.engine.features import column_importances
from featurewright.engine.forest import Forest, join
from featurewright.engine.grammar import user_operators
from featurewright.engine.growth import Job, draw_sample, order_rows, tree_seeds
from featurewright.engine.threads import Halt
from featurewright.estimators.base import center_and_scale, plain_weights, sum_target
from featurewright.estimators.ensembles import GrownEnsemble
from featurewright.estimators.parameters import (
    Parameter,
    choice,
    documented,
    flag,
    keep_arguments,
    one_of,
    optional,
    real,
    whole,
    whole_or_auto,
    within,
)
from featurewright.estimators.progress import compilation_notice, progress
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import (
    CLASS_WEIGHT,
    SAMPLES,
    any_criterion,
    worded,
)
from featurewright.expressions import Domain
from featurewright.paths.convergence import Convergence, hold_out
from featurewright.paths.conversion import copy_trees
from featurewright.paths.encoding import (
    Numbering,
    Seen,
    all_trees,
    number_forest,
    write_hashed,
    write_rows,
)
from featurewright.paths.kernel import KINDS, ForestPaths
from featurewright.paths.naming import Namer
from featurewright.tables import (
    Schema,
    as_dense,
    check_groups,
    check_input_names,
    check_weights,
    is_sparse,
    read_sparse,
)

_NO_SALTS = np.empty(0, np.uint64)
_LARGEST_WEIGHT = 1e6  # of a level; its square is added up in kernels
_MAX_LEVELS = 20  # levels of a category that have a target of their own, the most frequent ones


def check_depth_weights(name: str, value: Any) -> None:
    """Check the weights of levels: a factor, or positive numbers."""
    if isinstance(value, Real):
        within("(0, 1]")(name, value)
        return
    try:
        weights = np.array(list(value), np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if not (weights.ndim == 1 and len(weights)) or not np.all(
        (weights > 0) & (weights <= _LARGEST_WEIGHT)
    ):
        raise ValueError(
            f"{name}={value!r} must be a number in (0, 1], or a sequence of positive numbers up to "
            f"{_LARGEST_WEIGHT:g}; to leave out roots use root=False."
        )


@documented(
    publication=cited(
        "paths",
        """
`featurewright.published("forest_paths")` has the settings of the publication: as many trees as the
kernel needs (`n_estimators="auto"`), 50 more at a time until it changes by less than 0.01.
Remaining difference: the publication counts the root of a tree among the nodes of a path, as the
default does, but its alignments with the target are closer to those of ``kernel(X, root=False)``.
""",
    ),
)
class ForestPathEncoder(GrownEnsemble):
    """Encode rows by the nodes that they pass in the trees of a random forest.

    Every node of every tree is a column, and a row has a 1 at each node on its way from the root to
    a leaf. The result is sparse and depends on the task: rows that the trees separate late, or not
    at all, have many nodes in common. Linear models, nearest neighbours and support vector machines
    can work with it directly, or with its kernel.

    The target may be classes, several labels, numbers or several numbers. Without a target, trees
    group similar rows of the table itself.

    The output is always sparse, so `set_output` cannot turn it into a data frame. For a dense
    result, take few columns (`n_hash`, or `encode="leaf"` with `max_leaf_nodes`) and
    ``.toarray()``.

    Rows whose tested value is missing do not count for a split and go to both children; where that
    would make more than three copies of each row in a tree, to one child drawn at random.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_estimators_ : int
        Trees grown; fewer than asked for if `max_time` ran out.
    n_nodes_ : int
        Nodes of all trees.
    history_ : list of dict
        With "auto", the mean change of the kernel matrix (`change`) after a number of
        trees (`n_trees`).
    feature_importances_ : ndarray of shape (n_features,)
        Share of the gain of all splits of each input column.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

    {publication}

    Examples
    --------
    >>> from featurewright import ForestPathEncoder
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> encoder = ForestPathEncoder(20, random_state=0).fit(X, y)
    >>> encoder.transform(X).shape == (150, encoder.n_nodes_)
    True
    >>> encoder.kernel(X[:2], X[:3]).shape
    (2, 3)
    >>> encoder.get_feature_names_out()[0]
    'tree 1: all rows'
    """

    _round_columns = math.ceil
    _class_criterion = "gini"  # the variance of the classes, as it is for every other target
    _parameters: ClassVar = {
        "n_estimators": Parameter(
            'int or "auto"',
            """
            Number of trees. "auto" holds some rows out and grows `step` trees at a time until their
            normalised kernel matrix changes by less than `tol` from one time to the next; then that
            many trees are grown on all rows.
            """,
            whole_or_auto(1),
        ),
        "encode": Parameter(
            '{"path", "leaf"}',
            "What becomes a column: every node, or the leaves alone.",
            choice("path", "leaf"),
        ),
        "n_hash": Parameter(
            "int",
            """
            Number of buckets that columns are put into, up to 2**31 - 1; what falls into the same
            bucket adds up. By default every node has a column of its own.
            """,
            optional(whole(1, most=np.iinfo(np.int32).max)),  # SciPy's column numbers have 32 bits
        ),
        "hashing": Parameter(
            '{"modulo", "mix"}',
            """
            How a node finds its bucket: the remainder of its number, or of its number with its bits
            scattered.
            """,
            choice("modulo", "mix"),
        ),
        "root": Parameter(
            "bool",
            """
            Whether roots count among the nodes of a path, in the encoding and in the kernel. All
            rows share the roots; without them, a kernel that is not centered says more about the
            target.
            """,
            flag,
        ),
        "depth_weights": Parameter(
            "float or sequence of float",
            """
            Value of a row's entry at a node, by the depth of the node: a number in (0, 1] is a
            factor from one level to the next, a sequence has the values of the levels from the
            root on, the last of which is that of all deeper ones. A node counts in the kernel with
            the square of its value. Leaves alone (`encode="leaf"`) have the value 1.
            """,
            check_depth_weights,
        ),
        "missing": Parameter(
            '{"random", "spread", "learned"}',
            """
            Where a row goes at a node whose value it misses. "random": either way by chance, always
            the same for the same row and seed. "spread": both ways with half the weight each.
            "learned": to the side on which the split scores better while growing, as forests that
            predict do.
            """,
            choice("random", "spread", "learned"),
        ),
        "oob": Parameter(
            "bool",
            """
            Whether `fit_transform` encodes each row only through the trees that did not see it,
            scaled to the usual length. This is for models that are fitted on the encoding of the
            same rows and would otherwise trust memorised paths. A row that all trees saw is encoded
            through all of them, as usual: use enough trees. This helps some models on some tables,
            so compare. Not for nearest neighbours.
            """,
            flag,
        ),
        "criterion": any_criterion("gini"),
        "bootstrap": Parameter(
            "bool", "Whether each tree grows on rows drawn with replacement.", flag
        ),
        "max_samples": SAMPLES["max_samples"],
        "class_weight": worded(CLASS_WEIGHT, "Weights of the classes of a single target."),
        "tol": Parameter(
            "float",
            """
            Mean absolute change of the elements of the kernel matrix below which there are enough
            trees.
            """,
            real(above=0.0),
        ),
        "step": Parameter("int", 'Trees added at a time with "auto".', whole(1)),
        "max_estimators": Parameter("int", 'Most trees with "auto".', whole(1)),
        "validation_fraction": Parameter(
            "float", 'Share of the rows held out with "auto", up to a thousand.', within("(0, 1)")
        ),
    }

    # The learners have these parameters and encoders do not.
    n_features_out = 1
    min_weight_fraction_leaf = 0.0

    _numbering: Numbering

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        encode: str = "path",
        n_hash: int | None = None,
        hashing: str = "modulo",
        root: bool = True,
        depth_weights: Any = 1.0,
        missing: str = "random",
        oob: bool = False,
        search: str | None = None,
        budget: int | str = "10n",
        max_size: int = 5,
        operators: Any = None,
        sampling: str = "symbol",
        max_features: Any = "sqrt",
        criterion: str | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        halving: int | str | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        class_weight: Any = None,
        tol: float = 0.01,
        step: int = 50,
        max_estimators: int = 1000,
        validation_fraction: float = 0.25,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def _quantile_levels(self) -> tuple[float, ...]:
        """Return no quantile: columns are leaves and nodes, which are never undefined."""
        return ()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome. A
            sparse matrix has numbers alone; trees grow on it as on the dense matrix, which is made
            for the time of the fit.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Classes, numbers that are not all whole, or several columns of either; without it trees
            group similar rows of the table itself.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together. Where rows are held out to find the number of trees
            (`n_estimators="auto"`), those of a group are held out together.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._fit_rows(X, y, sample_weight, groups)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Grow the trees and encode the same rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The target, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together, as in `fit`.

        Returns
        -------
        CSR matrix or array of float32 of shape (n_samples, n_outputs)
            The encoding, as `transform` gives it. With `oob` each row goes only through trees that
            did not see it, and its entries are multiplied by the number of trees over the number of
            those; a row that all trees saw is encoded as `transform` does.
        """
        matrix, target = self._fit_rows(X, y, sample_weight, groups)
        seen = self._out_of_bag(target) if self.oob else all_trees(len(matrix))
        return self._encode(matrix, seen)

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Large tables can be encoded in parts, with the same result.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        CSR matrix or array of float32 of shape (n_samples, n_outputs)
            A column for each node (breadth first in each tree), leaf or bucket. An array where
            scikit-learn's `sparse_interface` says so.
        """
        table = self._read_rows(X)
        return self._encode(table, all_trees(table.shape[0]))

    def kernel(
        self,
        X: Any,
        Z: Any = None,
        normalize: bool = True,
        kind: str = "path",
        *,
        root: bool | None = None,
        depth_weights: Any = None,
    ) -> npt.NDArray[np.float64]:
        """Measure how much pairs of rows have in common.

        Computed from the leaves that rows reach, without the encoding: `encode` and `n_hash` do not
        matter. The method itself can be the kernel of a support vector machine; to validate
        one by folds, fit the encoder inside each fold (the page on forest paths has the recipe),
        since the kernel of an encoder that was fitted on all rows knows the held-out ones.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples_X, n_features)
            Rows.
        Z : array-like, data frame or sparse matrix of shape (n_samples_Z, n_features), optional
            Other rows; X itself if not given.
        normalize : bool, default=True
            Whether to divide by the root of the product of what both rows have in common with
            themselves. A row without any node that counts is similar to none.
        kind : {"path", "leaf", "torkkola"}, default="path"
            What two rows have in common, added up over trees. "path": the nodes on both ways, which
            is the product of their encodings. "leaf": 1 in trees where they reach the same leaf;
            normalised, Breiman's proximity. "torkkola": the nodes on both ways over the number of
            nodes on the longer way; normalised, its mean. With `missing="spread"` all are taken
            from the encodings, and the length of a way is the sum of its squared weights.
        root : bool, optional
            Whether roots count; by default, as the encoder's parameter of that name says. The
            published target alignments agree with those of a kernel without roots.
        depth_weights : float or sequence of float, optional
            Weights of levels; by default, as the encoder's parameter of that name says.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Z)
            The kernel matrix.

        Examples
        --------
        >>> from featurewright import ForestPathEncoder
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> X, y = load_iris(return_X_y=True)
        >>> encoder = ForestPathEncoder(20, random_state=0).fit(X[::2], y[::2])
        >>> SVC(kernel=encoder.kernel).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
        True
        """
        one_of("kind", kind, KINDS)
        flag("normalize", normalize)
        check_is_fitted(self)
        paths = self._paths()
        if root is not None:
            paths = replace(paths, root=flag("root", root))
        if depth_weights is not None:
            check_depth_weights("depth_weights", depth_weights)
            paths = replace(paths, depth_weights=depth_weights)
        rows = self._read_rows(X)
        others = None if Z is None or Z is X else self._read_rows(Z)
        return paths.share(rows, others, kind, normalize=normalize)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the number of the leaf each row reaches in each tree.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Leaf numbers, counted through all trees: the columns of `encode="leaf"`. A missing value
            goes either way by chance, with `missing="spread"` too, unless the side is learned.
        """
        table = self._read_rows(X)
        return self._numbering.rank[self._paths().find_leaves(table)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the condition under which a row reaches each node.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names seen in `fit`; the conditions use those.

        Returns
        -------
        ndarray of str
            Such as "tree 1: petal width (cm) <= 0.8". Only the tightest bounds of a value are
            named. Buckets are only numbered.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self._schema, input_features)
        if self.n_hash is not None:
            return np.array([f"bucket {k}" for k in range(self.n_hash)], dtype=object)
        operators = user_operators(self._construction.operators)
        names = Namer(self.forest_, self._schema, operators).names(self._numbering)
        if self.encode == "leaf":
            names = names[np.sort(self._numbering.end)]
        elif not self.root:
            names = names[self._numbering.parent >= 0]
        return names

    @classmethod
    def from_forest(
        cls,
        forest: Any,
        *,
        encode: str = "path",
        n_hash: int | None = None,
        hashing: str = "modulo",
        root: bool = True,
        depth_weights: Any = 1.0,
        missing: str = "learned",
        feature_names: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Return an encoder of the paths through the trees of a fitted model.

        The result is fitted: it encodes rows by the nodes that they pass in the trees of the model,
        which are copied. `fit` would grow trees of its own.

        Parameters
        ----------
        forest : fitted estimator
            A tree or an ensemble of trees: of scikit-learn, such as `RandomForestClassifier`,
            `ExtraTreesRegressor`, `GradientBoostingClassifier`, `IsolationForest` or
            `DecisionTreeClassifier`; of LightGBM, splits of numbers; or one of featurewright. Not
            scikit-learn's `HistGradientBoosting`, which has no public access to its trees.
        encode, n_hash, hashing, root, depth_weights, missing, n_jobs
            Parameters of the encoder. By default a missing value goes to the side that the model
            has learned for it, as it does in the model.
        feature_names : sequence of str, optional
            Names of the columns, in their order; by default those that the model knows.
        random_state : int, RandomState or None
            Decides where missing values go with `missing="random"`.

        Returns
        -------
        ForestPathEncoder
            The fitted encoder. Trees are in the order of the model (boosting of several classes:
            the classes of an iteration one after the other); the nodes of a tree are numbered
            breadth first.

        Notes
        -----
        Values are compared as float32, as scikit-learn's trees do. LightGBM compares in float64: a
        value that only float64 tells from a threshold may go the other way here.

        Examples
        --------
        >>> from featurewright import ForestPathEncoder
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> encoder = ForestPathEncoder.from_forest(forest)
        >>> paths, _ = forest.decision_path(X)
        >>> encoder.transform(X).shape == paths.shape
        True
        >>> bool((encoder.transform(X).sum(axis=1) == paths.sum(axis=1)).all())
        True
        """
        grown = copy_trees(forest, feature_names)
        self = cls(
            grown.forest.n_trees,
            encode=encode,
            n_hash=n_hash,
            hashing=hashing,
            root=root,
            depth_weights=depth_weights,
            missing=missing,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self._check_parameters()
        self._schema = grown.schema
        self.n_features_in_ = grown.schema.n_columns
        if grown.schema.given_names:
            self.feature_names_in_ = np.array(grown.schema.names, dtype=object)
        self._construction = self._plan(None) if grown.construction is None else grown.construction
        self._seed = self._draw_seed()
        self.history_ = []
        self._keep_forest(grown.forest, tree_seeds(self._seed, 0, grown.forest.n_trees))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    # Growing ------------------------------------------------------------------------------------

    def _draws_with_replacement(self) -> bool:
        return bool(self.bootstrap)

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.oob and not self.bootstrap:
            raise ValueError("oob=True needs bootstrap=True: else every tree sees every row.")

    def _read_table(self, X: Any) -> tuple[npt.NDArray[np.float32], Any]:
        if not is_sparse(X):
            return super()._read_table(X)
        table, self._schema = read_sparse(self, X)
        return as_dense(table), self._wanted_operators()

    def _read_rows(self, X: Any) -> Any:
        """Read rows to be encoded: a matrix of float32, or a sparse table."""
        if not is_sparse(X):
            return super()._read_rows(X)
        check_is_fitted(self)
        return read_sparse(self, X, self._schema)[0]

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[npt.NDArray[np.float32], Target]:
        """Grow the trees and number their nodes; return the table and the target as read."""
        self._check_parameters()
        matrix, operators = self._read_table(X)
        labels = check_groups(groups, len(matrix))
        target, scoring, n_values = self._read_target(y, sample_weight, matrix)
        scoring = {**scoring, "missing_both": int(self.missing != "learned")}
        job = self._make_job(matrix, target, scoring, operators, leaf="nothing", n_values=n_values)
        self._seed = self._draw_seed()
        started = time.monotonic()
        self.history_: list[dict[str, float]] = []
        with compilation_notice():
            n_trees = self.n_estimators
            if isinstance(n_trees, str):
                n_trees = self._enough_trees(job, labels)
            # At least one tree is grown, however little time is left.
            left = self.max_time and max(1e-3, self.max_time - (time.monotonic() - started))
            seeds = tree_seeds(self._seed, 0, n_trees)
            with progress(n_trees, self._title, verbose=self.verbose) as on_done:
                trees = self._grow_trees(job, seeds, on_done, Halt(left))
        self._keep_forest(join(trees), seeds)
        return matrix, target

    def _keep_forest(self, forest: Forest, seeds: list[int]) -> None:
        """Keep the trees, number their nodes, and keep what decides where missing values go."""
        self.forest_: Forest = forest
        self._numbering = number_forest(forest)
        self._salts = np.array(seeds[: forest.n_trees], np.uint64)
        self.n_estimators_ = forest.n_trees
        self.n_nodes_ = len(forest.left)
        self.feature_importances_ = column_importances(forest, self._schema.n_columns)

    def _read_target(
        self, y: Any, sample_weight: Any, matrix: npt.NDArray[np.float32]
    ) -> tuple[Target, dict[str, Any], int]:
        """Return a target of any kind, how it is scored, and how many values it has."""
        n_rows = len(matrix)
        if y is not None:
            target, scoring = self._any_target(y, sample_weight, n_rows)
            n_values = int(self.n_classes_) if scoring["by_class"] else len(target.sums)
            return target, scoring, n_values
        if self.class_weight is not None:
            raise ValueError("class_weight needs classes; weigh rows with sample_weight.")
        if self.criterion in CLASS_CRITERIA:
            raise ValueError(
                f"criterion={self.criterion!r} scores classes, but y is None: pass y, or no "
                "criterion."
            )
        weights = check_weights(sample_weight, n_rows)
        columns = table_as_target(matrix, self._schema, plain_weights(weights, n_rows))
        target, scoring = sum_target(columns.T, weights, n_rows)
        return target, scoring, len(target.sums)

    def _enough_trees(self, job: Job, groups: npt.NDArray[Any] | None) -> int:
        """Return the number of trees after which the kernel of held-out rows hardly changes."""
        share, seed = self.validation_fraction, self._seed
        held, weights = hold_out(job.target.weights, share, seed, groups)
        job = replace(job, target=job.target._replace(weights=weights))
        convergence = Convergence(np.ascontiguousarray(job.matrix[held]))
        halt = Halt(self.max_time and self.max_time / 2)  # the rest is for the final trees
        title = "finding the number of trees"
        with progress(self.max_estimators, title, verbose=self.verbose) as on_done:
            while convergence.n_trees < self.max_estimators and not halt.time_is_up:
                first = convergence.n_trees
                last = min(first + self.step, self.max_estimators)
                seeds = tree_seeds(self._seed, first, last)
                new = self._grow_trees(job, seeds, lambda done: None, halt)
                if not new:
                    break
                added = join(new)
                salts = np.array(seeds[: added.n_trees], np.uint64)
                change = convergence.add(self._make_paths(added, number_forest(added), salts))
                on_done(convergence.n_trees)
                if change < self.tol:
                    break
        self.history_ = convergence.history
        return convergence.n_trees

    def _make_paths(
        self, forest: Forest, numbering: Numbering, salts: npt.NDArray[np.uint64]
    ) -> ForestPaths:
        """Return the paths of rows through trees, with the parameters of the encoder."""
        return ForestPaths(
            forest,
            numbering,
            self._construction.compiled.functions(np.float32),
            salts if self.missing != "learned" else _NO_SALTS,
            spread=self.missing == "spread",
            root=self.root,
            depth_weights=self.depth_weights,
            n_jobs=self.n_jobs,
        )

    def _paths(self) -> ForestPaths:
        """Return the paths of rows through the fitted trees."""
        self._check_parameters()  # they may have been changed since
        return self._make_paths(self.forest_, self._numbering, self._salts)

    # Encoding -----------------------------------------------------------------------------------

    def _encode(self, table: Any, seen: Seen) -> Any:
        """Return the encoding of rows through the trees that are used for each."""
        paths, n_rows = self._paths(), table.shape[0]
        layout = paths.layout(only_leaves=self.encode == "leaf")
        source = paths.source(table, layout, seen)
        if self.n_hash is None:
            n_columns = layout.n_columns
            parts = write_rows(source, n_rows, n_columns, self.n_jobs)
        else:
            n_columns, mixes = int(self.n_hash), self.hashing == "mix"
            parts = write_hashed(source, n_rows, n_columns, self.n_jobs, mixes=mixes)
        starts, indices, data = parts
        encoding = sparse_container()((data, indices, starts), shape=(n_rows, n_columns))
        encoding.has_canonical_format = True
        return encoding

    def _out_of_bag(self, target: Target) -> Seen:
        """Return the trees that did not see each row."""
        order = order_rows(target)
        used = np.ones((len(target.weights), self.forest_.n_trees), np.bool_)
        for k, seed in enumerate(tree_seeds(self._seed, 0, self.forest_.n_trees)):
            sample = draw_sample(order, self._n_draws(order.size), seed, bootstrap=True)
            used[sample.rows, k] = False
        used[~used.any(axis=1)] = True
        scale = used.shape[1] / used.sum(axis=1)
        return Seen(used, scale.astype(np.float32))


def table_as_target(
    matrix: npt.NDArray[np.float32], schema: Schema, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the columns of a table as targets of variance one; missing cells are the mean.

    A category has a column for each of its most frequent levels, whose variances add up to one.
    """
    targets = []
    for column, domain in enumerate(schema.domains):
        values = matrix[:, column].astype(np.float64)
        if domain == Domain.CATEGORY:
            levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
            levels = levels[np.argsort(-counts, kind="stable")[:_MAX_LEVELS]]
            block = _standardise(
                np.where(np.isnan(values)[:, None], np.nan, values[:, None] == levels), weights
            )
            targets.append(block / np.sqrt(max(1, block.shape[1])))
        else:
            targets.append(_standardise(values[:, None], weights))
    return np.hstack(targets)


def _standardise(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return columns of mean zero and variance one; missing cells are zero."""
    out = np.zeros(values.shape)
    for k in range(values.shape[1]):
        known = ~np.isnan(values[:, k])
        if weights[known].sum() > 0:
            center, scale = center_and_scale(values[known, k : k + 1], weights[known])
            out[known, k] = (values[known, k] - center) / scale
    return out
