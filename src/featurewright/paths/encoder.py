"""The encoder: rows become the sets of tree nodes they pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from featurewright._sklearn_compat import sparse_container
from featurewright.engine.buffers import Target
from featurewright.engine.compiled_grammar import user_operators
from featurewright.engine.growth import draw_sample, order_rows, tree_seeds
from featurewright.estimators.documentation import GROWTH, SEARCH, THREADS, documented
from featurewright.estimators.parameters import flag, one_of, whole_number
from featurewright.paths.affinity import KINDS
from featurewright.paths.encoding import Seen, all_trees, write_hashed, write_rows
from featurewright.paths.growing import GrownPaths
from featurewright.paths.naming import Namer
from featurewright.paths.trails import Trails
from featurewright.tables import check_input_names

ENCODING = """
n_estimators : int or "auto", default=100
    Number of trees. "auto" holds some rows out and grows `step` trees at a time until their
    normalised kernel matrix changes by less than `tol` from one time to the next; then that many
    trees are grown on all rows.
encode : {"path", "leaf"}, default="path"
    What becomes a column: every node, or the leaves alone.
n_hash : int, optional
    Number of buckets that columns are put into, up to 2**31 - 1; what falls into the same bucket
    adds up. By default every node has a column of its own.
hashing : {"modulo", "mix"}, default="modulo"
    How a node finds its bucket: the remainder of its number, or of its number with its bits
    scattered.
missing : {"random", "spread"}, default="random"
    Where a row goes at a node whose value it misses. "random": either way by chance, always the
    same for the same row and seed. "spread": both ways with half the weight each.
oob : bool, default=False
    Whether `fit_transform` encodes each row only through the trees that did not see it, scaled to
    the usual length, for a model fitted on the encoding of the same rows that would else trust
    memorised paths. A row that all trees saw is encoded through all of them, as usual: use enough
    trees. It helps some models on some tables: compare. Not for nearest neighbours.
"""
SAMPLES = """
criterion : str, optional
    How splits are scored. Classes: "gini" (the default), "entropy", "normalized_gain",
    "gain_ratio" or "kearns_mansour". Numbers: "squared_error", which also makes numbers of classes
    that are whole numbers.
bootstrap : bool, default=True
    Whether each tree grows on rows drawn with replacement.
max_samples : int, float or None, default=None
    Rows, or share of rows, drawn for each tree; all by default.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes of a single target.
tol : float, default=0.01
    Mean absolute change of the elements of the kernel matrix below which there are enough trees.
step : int, default=50
    Trees added at a time with "auto".
max_estimators : int, default=1000
    Most trees with "auto".
validation_fraction : float, default=0.25
    Share of the rows held out with "auto", up to a thousand.
max_time : float, optional
    Seconds after which growing stops; what was grown by then is the result.
random_state : int, RandomState or None, default=None
    Seed; the result is the same for any `n_jobs`.
"""


_SEARCH = (
    SEARCH.replace('"look_ahead"} or None\n', '"look_ahead"} or None, default=None\n')
    .replace("budget : int or str\n", 'budget : int or str, default="10n"\n')
    .replace('"all"} or None, default=None\n', '"all"} or None, default="sqrt"\n')
)


@documented(ENCODING, _SEARCH, GROWTH, SAMPLES, THREADS, min_samples_leaf="1")
class ForestPathEncoder(GrownPaths):
    """Encode rows by the nodes that they pass in the trees of a random forest.

    Every node of every tree is a column, and a row has a 1 at each node on its way from the root to
    a leaf. The result is sparse, and made for the task: rows that the trees tell apart late, if at
    all, have much in common. Linear models, nearest neighbours and support vector machines can work
    with it directly, or with its kernel.

    The target may be classes, several labels, numbers, several numbers, or missing altogether: then
    trees part the table itself into similar rows.

    The output is always sparse, so that `set_output` cannot make a data frame of it. For a dense
    one take few columns (`n_hash`, or `encode="leaf"` with `max_leaf_nodes`) and ``.toarray()``.

    Rows whose tested value is missing do not count for a split and grow on in both children; where
    that would make more than three copies of each row in a tree, one child by chance.

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
        With "auto", the mean change of the kernel matrix (`change`) after so many trees
        (`n_trees`).
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the gain of all splits of each input column.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

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

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        encode: str = "path",
        n_hash: int | None = None,
        hashing: str = "modulo",
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
        self.n_estimators = n_estimators
        self.encode = encode
        self.n_hash = n_hash
        self.hashing = hashing
        self.missing = missing
        self.oob = oob
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
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.halving = halving
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.tol = tol
        self.step = step
        self.max_estimators = max_estimators
        self.validation_fraction = validation_fraction
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Classes, numbers that are not all whole, or several columns of either; without it trees
            part the table itself into similar rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._fit_rows(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees and encode the same rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            The target, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        CSR matrix or array of float32 of shape (n_samples, n_outputs)
            The encoding, as `transform` gives it. With `oob` each row goes only through trees that
            did not see it, and its entries are multiplied by the number of trees over the number of
            those; a row that all trees saw is encoded as `transform` does.
        """
        matrix, target = self._fit_rows(X, y, sample_weight)
        seen = self._out_of_bag(target) if self.oob else all_trees(len(matrix))
        return self._encode(matrix, seen)

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Large tables can be encoded in parts, with the same result.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        CSR matrix or array of float32 of shape (n_samples, n_outputs)
            A column for each node (breadth first in each tree), leaf or bucket. An array where
            scikit-learn's `sparse_interface` says so.
        """
        matrix = self._read_rows(X)
        return self._encode(matrix, all_trees(len(matrix)))

    def kernel(
        self, X: Any, Z: Any = None, normalize: bool = True, kind: str = "path"
    ) -> npt.NDArray[np.float64]:
        """Measure how much pairs of rows have in common.

        Worked out from the leaves that rows reach, without the encoding, and whatever `encode` and
        `n_hash` say. The method itself can be the kernel of a support vector machine; to validate
        one by folds, fit the encoder inside each fold (the guide has the recipe), since the kernel
        of an encoder that was fitted on all rows knows the held-out ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples_X, n_features)
            Rows.
        Z : array-like or data frame of shape (n_samples_Z, n_features), optional
            Other rows; X itself if not given.
        normalize : bool, default=True
            Whether to divide by the root of the product of what both rows have in common with
            themselves.
        kind : {"path", "leaf", "torkkola"}, default="path"
            What two rows have in common, added up over trees. "path": the nodes on both ways, which
            is the product of their encodings. "leaf": 1 in trees where they reach the same leaf;
            normalised, Breiman's proximity. "torkkola": the nodes on both ways over the number of
            nodes on the longer way; normalised, its mean. With `missing="spread"` all are taken
            from the encodings, and the length of a way is the sum of its squared weights.

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
        rows = self._read_rows(X)
        others = None if Z is None or Z is X else self._read_rows(Z)
        return self._trails().share(rows, others, kind, normalize=normalize)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Give the number of the leaf each row reaches in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Leaf numbers, counted through all trees: the columns of `encode="leaf"`. A missing value
            goes either way by chance, with `missing="spread"` too.
        """
        matrix = self._read_rows(X)
        return self._numbering.rank[self._trails().find_leaves(matrix)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Give the condition under which a row reaches each node.

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
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("encode", self.encode, ("path", "leaf"))
        one_of("hashing", self.hashing, ("modulo", "mix"))
        one_of("missing", self.missing, ("random", "spread"))
        if self.n_hash is not None:
            # Columns of sparse tables have numbers of 32 bits.
            whole_number("n_hash", self.n_hash, 1, most=np.iinfo(np.int32).max)
        if flag("oob", self.oob) and not self._draws_with_replacement():
            raise ValueError("oob=True needs bootstrap=True: else every tree sees every row.")

    def _trails(self) -> Trails:
        """Give the ways of rows through the fitted trees."""
        return self._make_trails(self.forest_, self._numbering, self._salts)

    def _encode(self, matrix: npt.NDArray[np.float32], seen: Seen) -> Any:
        """Write the encoding of rows through the trees that are used for each."""
        ForestPathEncoder._check_parameters(self)
        trails, only_leaves = self._trails(), self.encode == "leaf"
        source = trails.source(matrix, seen, only_leaves=only_leaves)
        if self.n_hash is None:
            n_columns = trails.n_columns(only_leaves=only_leaves)
            parts = write_rows(source, len(matrix), n_columns, self.n_jobs)
        else:
            n_columns, mixes = int(self.n_hash), self.hashing == "mix"
            parts = write_hashed(source, len(matrix), n_columns, self.n_jobs, mixes=mixes)
        starts, indices, data = parts
        encoding = sparse_container()((data, indices, starts), shape=(len(matrix), n_columns))
        encoding.has_canonical_format = True
        return encoding

    def _out_of_bag(self, target: Target) -> Seen:
        """Tell which trees did not see each row."""
        order = order_rows(target)
        used = np.ones((len(target.weights), self.forest_.n_trees), np.bool_)
        for k, seed in enumerate(tree_seeds(self._seed, 0, self.forest_.n_trees)):
            sample = draw_sample(order, self._n_draws(order.size), seed, bootstrap=True)
            used[sample.rows, k] = False
        used[~used.any(axis=1)] = True
        scale = used.shape[1] / used.sum(axis=1)
        return Seen(used, scale.astype(np.float32))
