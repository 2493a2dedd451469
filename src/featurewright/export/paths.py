"""Forest path encodings, as steps."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    wide, graph.narrow = graph.narrow, True
    forest = model.forest_
    graph.ensemble = Ensemble(forest, test_steps(graph, model), drops_missing=True)
    graph.narrow = wide
    numbering = model._numbering
    sizes = np.diff(np.append(forest.roots, len(forest.left)))
    tree_of = np.repeat(np.arange(forest.n_trees), sizes)
    nodes = numbering.nodes
    if model.encode == "leaf":
        nodes = nodes[np.sort(numbering.end)]
    steps = []
    for node in nodes.tolist():
        place = graph.add("place", data=int(tree_of[node]))
        leaves = tuple(sorted(_leaves_below(forest.left, node)))
        steps.append(graph.add("member", place, data=leaves))
    return steps


def _leaves_below(left: Any, node: int) -> list[int]:
    """List the places of the leaves below a node."""
    found, open_nodes = [], [node]
    while open_nodes:
        below = int(left[open_nodes.pop()])
        if below < 0:
            found.append(below)
        else:
            open_nodes += [below, below + 1]
    return found
