"""Copy the trees of fitted models, of this library or others, into a forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.forest import Forest, join
from featurewright.estimators.construction import Construction
from featurewright.expressions import Domain
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.tables import Schema
from featurewright.tables.schema import generated_names

_ACCEPTED = (
    "a fitted tree or ensemble of trees of scikit-learn, LightGBM or featurewright is expected"
)


@dataclass(frozen=True, eq=False)
class CopiedTrees:
    """The trees of a model, and the columns that they test.

    Attributes
    ----------
    forest : Forest
        The trees; their leaves hold no values.
    schema : Schema
        The columns.
    construction : Construction or None
        What expressions at the nodes are made of; None if nodes test columns.
    """

    forest: Forest
    schema: Schema
    construction: Construction | None = None


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A tree as other libraries have it: by node, in any order, the root first.

    Attributes
    ----------
    left, right : ndarray of int
        Children of each node, negative at a leaf.
    column : ndarray of int
        The column that a node tests.
    threshold : ndarray of float64
        Values up to it go left.
    missing_left : ndarray of bool
        Whether missing values go left.
    gain : ndarray of float64
        What the split gains.
    n_rows : ndarray of int
        Rows of the fit that came by.
    """

    left: npt.NDArray[np.integer[Any]]
    right: npt.NDArray[np.integer[Any]]
    column: npt.NDArray[np.integer[Any]]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    gain: npt.NDArray[np.float64]
    n_rows: npt.NDArray[np.integer[Any]]


def copy_trees(model: Any, feature_names: Any = None) -> CopiedTrees:
    """Return the trees of a fitted model.

    Parameters
    ----------
    model : estimator
        Of scikit-learn, LightGBM or featurewright.
    feature_names : sequence of str, optional
        Names of its columns, in place of those that it knows.

    Returns
    -------
    CopiedTrees
        The trees, in the order of the model.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> copied = copy_trees(DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]))
    >>> copied.forest.left.tolist(), copied.forest.threshold[0], copied.schema.names
    ([1, -1, -2], np.float32(1.5), ('x0',))
    """
    if hasattr(model, "dump_model") or hasattr(type(model), "booster_"):
        names, trees = _lightgbm_trees(model)
        return _assemble(trees, names, len(names), feature_names)
    if not hasattr(model, "fit"):
        raise TypeError(f"forest is a {type(model).__name__}, but {_ACCEPTED}.")
    check_is_fitted(model)
    if isinstance(getattr(model, "forest_", None), Forest):
        return _own_trees(model, feature_names)
    return _assemble(
        [_sklearn_arrays(tree, columns) for tree, columns in _sklearn_trees(model)],
        getattr(model, "feature_names_in_", None),
        int(model.n_features_in_),
        feature_names,
    )


# This library ---------------------------------------------------------------------------------


def _own_trees(model: Any, feature_names: Any) -> CopiedTrees:
    """Return the trees of one of our learners."""
    if feature_names is not None:
        raise ValueError(
            f"feature_names is given, but {type(model).__name__} knows the names of its columns: "
            "leave it out."
        )
    forest: Forest = model.forest_
    bare = Forest(
        roots=forest.roots,
        left=forest.left,
        programs=forest.programs,
        threshold=forest.threshold,
        is_level=forest.is_level,
        missing_left=forest.missing_left,
        gain=forest.gain,
        n_rows=forest.n_rows,
        depth=forest.depth,
        values=np.zeros((forest.n_leaves, 0), np.float32),
        level_sets=forest.level_sets,
    )
    return CopiedTrees(bare, model._schema, model._construction)


# scikit-learn ---------------------------------------------------------------------------------


def _sklearn_trees(model: Any) -> list[tuple[Any, Any]]:
    """Return the trees of a model of scikit-learn, each with the columns it was given or None."""
    if hasattr(model, "tree_"):
        return [(model.tree_, None)]
    members = getattr(model, "estimators_", None)
    if members is None or not all(hasattr(member, "tree_") for member in np.ravel(members)):
        name = type(model).__name__
        why = ", whose trees cannot be read through its public interface" * ("Hist" in name)
        raise TypeError(f"forest is a {name}{why}, but {_ACCEPTED}.")
    trees = [member.tree_ for member in np.ravel(members)]
    columns = getattr(model, "estimators_features_", None)
    return list(zip(trees, [None] * len(trees) if columns is None else columns, strict=True))


def _sklearn_arrays(tree: Any, columns: Any) -> TreeArrays:
    """Return a tree of scikit-learn as arrays."""
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    column = np.where(inner, tree.feature, 0)
    mass = tree.weighted_n_node_samples * tree.impurity
    return TreeArrays(
        left=left,
        right=right,
        column=column if columns is None else np.asarray(columns)[column],
        threshold=tree.threshold,
        missing_left=tree.missing_go_to_left.astype(bool),
        gain=np.where(inner, np.maximum(mass - mass[left] - mass[right], 0.0), 0.0),
        n_rows=tree.n_node_samples,
    )


# LightGBM -------------------------------------------------------------------------------------


def _lightgbm_trees(model: Any) -> tuple[list[str], list[TreeArrays]]:
    """Return the names of the columns and the trees of a model of LightGBM."""
    booster = model if hasattr(model, "dump_model") else model.booster_
    dump = booster.dump_model()
    trees = [_lightgbm_arrays(tree["tree_structure"]) for tree in dump["tree_info"]]
    return list(dump["feature_names"]), trees


def _lightgbm_arrays(root: dict[str, Any]) -> TreeArrays:
    """Return a tree of LightGBM's dump as arrays."""
    nodes = [root]
    children: list[tuple[int, int]] = []
    for node in nodes:  # grows while it is read
        if "split_feature" in node:
            _check_lightgbm(node)
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left_child"], node["right_child"]]
        else:
            children.append((-1, -1))
    left, right = np.array(children).T
    threshold = np.array([float(node.get("threshold", 0.0)) for node in nodes])
    # A missing value is 0 where the fit saw none in the column.
    is_zero = np.array([node.get("missing_type") == "None" for node in nodes])
    default = np.array([bool(node.get("default_left", False)) for node in nodes])
    return TreeArrays(
        left=left,
        right=right,
        column=np.array([node.get("split_feature", 0) for node in nodes]),
        threshold=threshold,
        missing_left=np.where(is_zero, threshold >= 0.0, default),
        gain=np.maximum([float(node.get("split_gain", 0.0)) for node in nodes], 0.0),
        n_rows=np.array(
            [node.get("internal_count", node.get("leaf_count", 0)) for node in nodes], np.int64
        ),
    )


def _check_lightgbm(node: dict[str, Any]) -> None:
    """Refuse tests that are not a comparison of a number with a threshold."""
    if node["decision_type"] != "<=":
        raise ValueError(
            "forest tests categories of LightGBM, but only tests of numbers can be copied: fit it "
            "on one-hot encoded columns."
        )
    if node["missing_type"] == "Zero":
        raise ValueError(
            "forest was fitted with zero_as_missing=True, but zeros are numbers here: fit it "
            "without."
        )


# Both -----------------------------------------------------------------------------------------


def _assemble(
    trees: Sequence[TreeArrays], names: Any, n_columns: int, feature_names: Any
) -> CopiedTrees:
    """Join trees of another library over columns of numbers."""
    return CopiedTrees(
        join([_as_forest(tree) for tree in trees]), _make_schema(names, n_columns, feature_names)
    )


def _make_schema(names: Any, n_columns: int, feature_names: Any) -> Schema:
    """Return columns of numbers with their names."""
    if feature_names is not None:
        names = [*feature_names] if isinstance(feature_names, Iterable) else []
        if (
            isinstance(feature_names, str)
            or len(names) != n_columns
            or not all(isinstance(name, str) for name in names)
            or len(set(names)) != n_columns
        ):
            raise ValueError(
                f"feature_names={feature_names!r} must be {n_columns} different strings: one for "
                "each column of the model, in their order."
            )
    made_up = [f"Column_{k}" for k in range(n_columns)]  # LightGBM's names of an array's columns
    given = names is not None and list(names) != made_up
    return Schema(
        names=tuple(map(str, names)) if given else generated_names(n_columns),
        given_names=given,
        domains=np.full(n_columns, Domain.REAL, np.int8),
        levels=(None,) * n_columns,
    )


def _as_forest(tree: TreeArrays) -> Forest:
    """Return one tree in our order: breadth first, the right child after the left one."""
    level, levels = np.zeros(1, np.int64), []
    while len(level):
        levels.append(level)
        tested = level[tree.left[level] >= 0]
        level = np.column_stack([tree.left[tested], tree.right[tested]]).ravel().astype(np.int64)
    order = np.concatenate(levels)
    inner = tree.left[order] >= 0
    left = np.empty(len(order), np.int32)
    left[inner] = 1 + 2 * np.arange(inner.sum())  # children follow in the order of their parents
    left[~inner] = -1 - np.arange((~inner).sum())
    threshold = np.where(inner, _round_down(tree.threshold[order]), np.float32(0.0))
    depth = np.repeat(np.arange(len(levels), dtype=np.int32), [len(level) for level in levels])
    return Forest(
        roots=np.zeros(1, np.int64),
        left=left,
        programs=np.where(inner, tree.column[order], 0).astype(np.int32)[:, None],
        threshold=threshold,
        is_level=np.zeros(len(order), np.uint8),
        missing_left=(tree.missing_left[order] & inner).astype(np.uint8),
        gain=tree.gain[order].astype(np.float32),
        n_rows=tree.n_rows[order].astype(np.int32),
        depth=depth,
        values=np.zeros((int((~inner).sum()), 0), np.float32),
    )


def _round_down(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the largest float32 that is not above each value: no float32 lies between them."""
    near = np.clip(values, -FLOAT_MAX, FLOAT_MAX).astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > values, below, near).astype(np.float32)
