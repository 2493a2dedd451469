"""Compiled structures of scikit-learn that look at no bounds: checked before they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from featurewright.export.stored.checks import demand

# skops asks before it loads these; what can go wrong with them is looked at here.
CHECKED = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
)
_LEAF = -1


def check_compiled(value: Any) -> None:
    """Refuse trees, inside an estimator of scikit-learn, whose nodes lead out of them."""
    for part, owners in _parts(value):
        kind = f"{type(part).__module__}.{type(part).__qualname__}"
        if kind not in CHECKED:
            continue
        if kind.endswith(".Tree"):
            _check_tree(part, owners)
        elif kind.endswith(".TreePredictor"):
            _check_predictor(part, owners)
        elif kind.endswith(".KDTree"):
            _check_neighbours(part)


def _parts(value: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """List all objects inside another, each with the ensembles of trees around it."""
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    seen = set()
    while waiting:
        part, owners = waiting.pop()
        # An object may be right in one ensemble and wrong in another one.
        key = (id(part), tuple(map(id, owners)))
        if key in seen:
            continue
        seen.add(key)
        yield part, owners
        inside = owners
        if hasattr(part, "fit"):
            # What other estimators hand on has other columns than they have.
            trees = type(part).__module__.startswith(("sklearn.ensemble", "sklearn.tree"))
            inside = (*owners, part) if trees else ()
        waiting += [(item, inside) for item in _contents(part)]


def _contents(part: Any) -> list[Any]:
    """List what an object holds."""
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, (list, tuple)):
        return list(part)
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype.kind == "O" else []
    return list(getattr(part, "__dict__", {}).values())


def _check_tree(tree: Any, owners: tuple[Any, ...]) -> None:
    """Check a tree of scikit-learn's forests and boosting."""
    state = tree.__getstate__()
    nodes, values = state["nodes"], state["values"]
    demand(len(nodes) == len(values) == state["node_count"] > 0, "a tree's nodes are not as many")
    inner = np.flatnonzero(nodes["left_child"] != _LEAF)
    _check_nodes(nodes[inner], inner, len(nodes), ("left_child", "right_child"))
    _check_columns(nodes["feature"][inner], owners)


def _check_predictor(predictor: Any, owners: tuple[Any, ...]) -> None:
    """Check a tree of histogram boosting."""
    nodes = predictor.nodes
    demand(
        isinstance(nodes, np.ndarray) and nodes.dtype.names and nodes.ndim == 1 and len(nodes),
        "a tree has no nodes",
    )
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    _check_nodes(nodes[inner], inner, len(nodes), ("left", "right"))
    _check_columns(nodes["feature_idx"][inner], owners)
    labels = nodes[inner][nodes["is_categorical"][inner] != 0]
    if len(labels):
        known = getattr(owners[-1], "is_categorical_", None)
        known = np.zeros(0, bool) if known is None else np.asarray(known)
        demand(
            np.all(labels["feature_idx"] < len(known))
            and np.all(known[labels["feature_idx"]])
            and np.all(labels["bitset_idx"] < len(predictor.raw_left_cat_bitsets)),
            "a node tests a category that there is not",
        )


def _check_nodes(nodes: Any, places: Any, n_nodes: int, sides: tuple[str, str]) -> None:
    """Check that children follow their parents: there is an end to every way."""
    for side in sides:
        children = nodes[side].astype(np.int64)
        demand(
            np.all((children > places) & (children < n_nodes)),
            "a node's children are not in its tree",
        )


def _check_columns(columns: Any, owners: tuple[Any, ...]) -> None:
    """Check that nodes test columns of the tables that their ensembles let in."""
    widths: list[Any] = [getattr(owner, "n_features_in_", None) for owner in owners]
    demand(
        widths
        and all(type(width) is int for width in widths)
        and np.all((columns >= 0) & (columns < min(widths))),
        "a node tests a column that there is not",
    )


def _check_neighbours(tree: Any) -> None:
    """Check a tree of neighbours: that of the same points must be the same."""
    from sklearn.neighbors import KDTree

    state = tree.__getstate__()
    points = np.array(state[0])
    demand(
        points.ndim == 2 and points.size and isinstance(state[4], int) and state[4] > 0,
        "a tree of neighbours has no points",
    )
    weights = state[-1]
    again = KDTree(points, leaf_size=state[4], metric="euclidean", sample_weight=weights)
    demand(
        all(map(_same, state[:7], again.__getstate__()[:7])),
        "a tree of neighbours does not fit its points",
    )


def _same(one: Any, other: Any) -> bool:
    """Compare arrays or numbers."""
    return np.array_equal(np.asarray(one), np.asarray(other))
