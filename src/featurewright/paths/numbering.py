"""Numbers for the nodes and leaves of fitted trees, worked out once after growing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from featurewright.engine.forest import Forest
from featurewright.engine.path_kernel import number_depth_first
from featurewright.engine.paths import number_breadth_first


@dataclass(frozen=True, eq=False)
class Numbering:
    """Nodes breadth first within each tree, trees one after the other; leaves in two orders.

    Attributes
    ----------
    nodes : ndarray of int32
        The forest's node of each number.
    parent : ndarray of int32
        The number of the parent of each number, -1 at a root.
    number : ndarray of int32
        The number of each node of the forest.
    end, length : ndarray of int32
        By leaf of the forest: its number, and how many nodes its path has.
    rank : ndarray of int32
        By leaf of the forest: how many leaves have smaller numbers.
    place : ndarray of int32
        By leaf of the forest: its place from left to right, tree by tree.
    own, meet : ndarray of float32
        By place: the length of the path, and of what it shares with the leaf to its left.
    edges : ndarray of int64
        The first place of each tree, and the end.
    """

    nodes: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]
    own: npt.NDArray[np.float32]
    meet: npt.NDArray[np.float32]
    edges: npt.NDArray[np.int64]


def number_forest(forest: Forest) -> Numbering:
    """Give the nodes and leaves of trees their numbers."""
    n_nodes, n_leaves = len(forest.left), forest.n_leaves
    nodes, parent = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    number_breadth_first(forest.roots, forest.left, nodes, parent)
    number = np.empty(n_nodes, np.int32)
    number[nodes] = np.arange(n_nodes, dtype=np.int32)
    leaf_numbers = np.flatnonzero(forest.left[nodes] < 0).astype(np.int32)
    leaves = -1 - forest.left[nodes[leaf_numbers]]
    end, rank = np.empty(n_leaves, np.int32), np.empty(n_leaves, np.int32)
    end[leaves] = leaf_numbers
    rank[leaves] = np.arange(n_leaves, dtype=np.int32)
    place = np.empty(n_leaves, np.int32)
    own, meet = np.empty(n_leaves, np.float32), np.empty(n_leaves, np.float32)
    stack = np.empty(n_nodes + 1, np.int64)
    number_depth_first(forest.roots, forest.left, forest.depth, stack, place, own, meet)
    leaves_before = np.searchsorted(leaf_numbers, np.append(forest.roots, n_nodes))
    return Numbering(
        nodes=nodes,
        parent=parent,
        number=number,
        end=end,
        length=forest.depth[nodes[end]] + 1,
        rank=rank,
        place=place,
        own=own,
        meet=meet,
        edges=leaves_before.astype(np.int64),
    )
