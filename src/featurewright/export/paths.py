"""Forest path encodings, as steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.export.graph import Ensemble, Graph
from featurewright.export.trees import test_steps


def path_graph(model: Any) -> Graph:
    """Give an indicator for each node, or each leaf, that a row comes by."""
    if model.n_hash is not None:
        raise ValueError(
            "An encoding into buckets has no SQL or ONNX form; fit with n_hash=None to export it."
        )
    graph = Graph(model._schema, narrow=True)
    forest = model.forest_
    graph.ensemble = Ensemble(forest, test_steps(graph, model))
    names = model.get_feature_names_out()
    numbering = model._numbering
    tree_of = np.repeat(
        np.arange(forest.n_trees), np.diff(np.append(forest.roots, len(forest.left)))
    )
    nodes = numbering.nodes
    if model.encode == "leaf":
        nodes = nodes[np.sort(numbering.end)]
    for name, node in zip(names, nodes.tolist(), strict=True):
        place = graph.add("place", data=int(tree_of[node]))
        leaves = tuple(sorted(_leaves_below(forest.left, node)))
        graph.outputs.append((str(name), graph.add("member", place, data=leaves)))
    return graph


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
