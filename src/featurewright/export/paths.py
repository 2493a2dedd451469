"""Forest path encodings, as steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from featurewright.engine.forest import Forest
from featurewright.export.graph import Ensemble, Graph
from featurewright.export.trees import test_steps


def path_steps(graph: Graph, model: Any) -> list[int]:
    """Give an indicator for each node, or each leaf, that a row comes by.

    A row that misses a value which a tree tests has no way in that tree, and its columns are
    missing: the model throws a coin that databases do not have.
    """
    if model.n_hash is not None:
        raise ValueError(
            "An encoding into buckets has no SQL or ONNX form; fit with n_hash=None to export it."
        )
    numbering = model._numbering
    # Leaves from left to right: those below a node then have places that follow each other.
    forest = _relabelled(model.forest_, numbering.place)
    wide, graph.narrow = graph.narrow, True
    graph.ensemble = Ensemble(forest, test_steps(graph, model), drops_missing=True)
    graph.narrow = wide
    first, last = _ranges(forest)
    sizes = np.diff(np.append(forest.roots, len(forest.left)))
    tree_of = np.repeat(np.arange(forest.n_trees), sizes)
    nodes = numbering.nodes
    if model.encode == "leaf":
        nodes = nodes[np.sort(numbering.end)]
    steps = []
    for node in nodes.tolist():
        place = graph.add("place", data=int(tree_of[node]))
        steps.append(graph.add("member", place, data=(int(first[node]), int(last[node]))))
    return steps


def _relabelled(forest: Forest, place: Any) -> Forest:
    """Give the leaves of a forest other numbers."""
    leaf = forest.left < 0
    left = forest.left.copy()
    left[leaf] = -1 - place[-1 - left[leaf]]
    return replace(forest, left=left, values=forest.values[np.argsort(place)])


def _ranges(forest: Forest) -> tuple[Any, Any]:
    """Give the smallest and the largest place, -1 - number, of the leaves below each node."""
    first, last = forest.left.copy(), forest.left.copy()
    inner = np.flatnonzero(forest.left >= 0)
    for node in inner[np.argsort(-forest.depth[inner], kind="stable")]:
        left = forest.left[node]
        first[node], last[node] = first[left + 1], last[left]
    return first, last
