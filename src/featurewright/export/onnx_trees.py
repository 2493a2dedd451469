"""Trees in the form of ONNX: lists of nodes and of leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featurewright.export.graph import Ensemble
from featurewright.export.tensors import Sheet

_UP_TO, _EQUAL = 0, 4  # modes of a node: value <= split, value == split
_SUM, _NONE = 1, 0


class TreeNodes:
    """The nodes and leaves of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        The trees.
    place : mapping
        For each step that is tested its column in the matrix of values.
    weights : array of shape (n_leaves,)
        What each leaf adds.
    targets : array of shape (n_trees,)
        To which sum each tree adds.
    """

    def __init__(
        self, ensemble: Ensemble, place: Mapping[int, int], weights: Any, targets: Any
    ) -> None:
        self.forest, self.weights, self.targets = ensemble.forest, weights, targets
        forest = ensemble.forest
        self.features: list[int] = []
        self.splits: list[float] = []
        self.modes: list[int] = []
        self.missing: list[int] = []
        self.below: tuple[list[int], list[int]] = ([], [])  # number of the child on each side
        self.are_leaves: tuple[list[int], list[int]] = ([], [])
        self.leaves: list[tuple[int, float]] = []
        every = np.arange(len(forest.left))
        self.tree = np.searchsorted(forest.roots, every, side="right") - 1
        inner = np.flatnonzero(forest.left >= 0)
        self.number = np.full(len(forest.left), -1)
        self.number[inner] = np.arange(len(inner))
        for node in inner.tolist():
            left = int(forest.left[node])
            self.features.append(place[ensemble.tests[node]])
            self.splits.append(float(forest.threshold[node]))
            self.modes.append(_EQUAL if forest.is_level[node] else _UP_TO)
            self.missing.append(int(forest.missing_left[node]))
            self._add_children(left, left + 1)
        self.roots = [self._root(root) for root in forest.roots.tolist()]

    def _root(self, node: int) -> int:
        """Give the number of a root; a leaf becomes a node both of whose sides are that leaf."""
        if self.forest.left[node] >= 0:
            return int(self.number[node])
        self.features.append(0)
        self.splits.append(0.0)
        self.modes.append(_UP_TO)
        self.missing.append(0)
        self._add_children(node, node)
        return len(self.features) - 1

    def _add_children(self, *children: int) -> None:
        """Note the children of a node: nodes, or leaves of their own."""
        for side, child in enumerate(children):
            left = int(self.forest.left[child])
            self.are_leaves[side].append(int(left < 0))
            if left >= 0:
                self.below[side].append(int(self.number[child]))
                continue
            self.below[side].append(len(self.leaves))
            target = int(self.targets[self.tree[child]])
            self.leaves.append((target, float(self.weights[-1 - left])))

    def write(self, sheet: Sheet, values: str) -> str:
        """Add the ensemble over a matrix of values; give the name of its sums."""
        tensor = sheet.onnx.numpy_helper.from_array
        return sheet.add(
            "TreeEnsemble",
            values,
            domain="ai.onnx.ml",
            n_targets=int(max(self.targets)) + 1,
            aggregate_function=_SUM,
            post_transform=_NONE,
            tree_roots=self.roots,
            nodes_featureids=self.features,
            nodes_modes=tensor(np.array(self.modes, np.uint8)),
            nodes_splits=tensor(np.array(self.splits)),
            nodes_missing_value_tracks_true=self.missing,
            nodes_truenodeids=self.below[0],
            nodes_trueleafs=self.are_leaves[0],
            nodes_falsenodeids=self.below[1],
            nodes_falseleafs=self.are_leaves[1],
            leaf_targetids=[target for target, _ in self.leaves],
            leaf_weights=tensor(np.array([weight for _, weight in self.leaves])),
        )
