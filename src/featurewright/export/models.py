"""What `transform` of each model computes, as steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featurewright.auto import AutoFeatures
from featurewright.auto.links import wider
from featurewright.auto.parts import KINDS, LEAST_VOTE
from featurewright.auto.reading import DerivedColumn
from featurewright.engine.forest import Forest
from featurewright.estimators.base import ConstructiveLearner
from featurewright.estimators.points import Points
from featurewright.export.graph import Ensemble, Graph
from featurewright.export.trees import score_steps, test_steps
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer

_KERNELS = ("rbf", "laplacian", "polynomial", "poly", "linear", "sigmoid", "cosine")


def transform_graph(model: Any) -> Graph:
    """Return the steps of a fitted model's transform."""
    check_is_fitted(model)
    if isinstance(model, AutoFeatures):
        return auto_graph(model)
    if not isinstance(model, _KNOWN):
        raise TypeError(
            f"{type(model).__name__} has no columns that can be exported; pass a fitted "
            "AutoFeatures, constructive learner, FCTree, BatchConstructor, "
            "LandmarkKernelFeatures, ForestPathEncoder or RecursiveSelectiveTransformer."
        )
    graph = Graph(model._schema)
    names = [str(name) for name in model.get_feature_names_out()]
    graph.outputs = list(zip(names, output_steps(graph, model), strict=True))
    return graph


def auto_graph(model: Any) -> Graph:
    """Return the original columns as numbers, then the columns of the parts."""
    reader, originals = model.reader_, model.originals_
    kinds = {name: kind.value for name, _, kind in reader.times}
    linked = getattr(model, "linked_", None)
    names = () if linked is None else linked.names
    # Columns over links follow those of the table, and are read as they are.
    schema = wider(reader.schema, names)
    own = tuple(DerivedColumn(name, name, "value") for name in names)
    graph = Graph(schema, derived=(*reader.columns, *own), kinds=kinds)
    steps = []
    for kind, at, value in originals.steps:
        column = graph.column(at)
        if kind == "number":
            step = graph.add("fill", column, data=float(value))
            if model.parts_ and at in originals.ranges:
                step = graph.add("clip", step, data=originals.ranges[at])
            steps.append(step)
        elif kind == "missing":
            steps.append(graph.add("gap", column))
        elif kind == "level":
            steps.append(graph.add("fill", graph.add("is", column, data=int(value)), data=0.0))
        elif kind == "code":
            numbers = tuple(float(code) for code in range(1, int(value) + 1))
            steps.append(graph.add("shares", column, data=numbers))
        else:
            shares = tuple(float(share) for share in originals.frequencies[at])
            steps.append(graph.add("shares", column, data=shares))
    for part in model.parts_:
        steps += _part_steps(graph, part)
    names = [str(name) for name in model.get_feature_names_out()]
    graph.outputs = list(zip(names, steps, strict=True))
    return graph


def _part_steps(graph: Graph, part: Any) -> list[int]:
    """Return the columns of one part: undefined values filled, far ones cut."""
    if part.transformer is None:
        made = [graph.expression(feature.expression) for feature in part.features]
        if KINDS[part.kind].is_category:
            numbers = [tuple(range(1, int(high) + 1)) for high in part.high]
            return [
                graph.add("shares", step, data=tuple(map(float, own)))
                for step, own in zip(made, numbers, strict=True)
            ]
    else:
        kind = KINDS[part.kind]
        every = (score_steps if kind.from_scores else output_steps)(graph, part.transformer)
        made = [every[k] for k in part.keep]
        if kind.is_logarithm:
            shares = [graph.add("clip", step, data=(LEAST_VOTE, 1.0)) for step in made]
            made = [graph.add("log", step) for step in shares]
    steps = []
    for step, fill, low, high in zip(made, part.fill, part.low, part.high, strict=True):
        filled = graph.add("fill", step, data=float(fill))
        steps.append(graph.add("clip", filled, data=(float(low), float(high))))
    return steps


def output_steps(graph: Graph, model: Any) -> list[int]:
    """Add the steps of a transformer's output columns."""
    if isinstance(model, ForestPathEncoder):
        return _path_steps(graph, model)
    if isinstance(model, LandmarkKernelFeatures):
        return _landmarks(graph, model)
    if isinstance(model, RecursiveSelectiveTransformer):
        return _components(graph, model)
    return _formulas(graph, model)


def _formulas(graph: Graph, model: Any) -> list[int]:
    """Return constructed features, undefined values filled."""
    features, fills = model._output()
    steps = [graph.expression(feature.expression) for feature in features]
    if model.keep_missing:
        return steps
    return [
        graph.add("fill", step, data=float(fill)) for step, fill in zip(steps, fills, strict=True)
    ]


def coordinates(graph: Graph, points: Points) -> list[int]:
    """Return numbers with their gaps filled, and an indicator for each level of a category."""
    steps = [_filled(graph, points, int(column)) for column in points.numbers]
    for column, n_levels in points.labels:
        code = graph.column(int(column))
        for level in range(n_levels):
            test = graph.add("is", code, data=level)
            steps.append(graph.add("fill", test, data=0.0))
    return steps


def _filled(graph: Graph, points: Points, column: int) -> int:
    """Return a column with its gaps filled."""
    return graph.add("fill", graph.column(column), data=float(points.fill[column]))


def _landmarks(graph: Graph, model: Any) -> list[int]:
    """Return similarities to landmarks, after the original columns where they are kept."""
    _check_kernel(model._map.similarity)
    places = model._map.places
    steps: list[int] = []
    if model.append:
        steps += [_filled(graph, places, column) for column in range(model._schema.n_columns)]
    return steps + _kernel_steps(graph, coordinates(graph, places), model._map)


def _components(graph: Graph, model: Any) -> list[int]:
    """Return weighted sums of filled columns and indicators."""
    steps = coordinates(graph, model._inputs)
    first, last = model._shown_blocks()
    width = model._joined.shape[1] // len(model._seeds)
    part = slice(first * width, last * width)
    weights, offsets = model._joined[:, part], model._offset[part]
    return [
        graph.linear(steps, column, float(offset))
        for column, offset in zip(weights.T, offsets, strict=True)
    ]


_KNOWN = (ConstructiveLearner, LandmarkKernelFeatures, RecursiveSelectiveTransformer)


# Similarities to landmarks ------------------------------------------------------------------------


def _check_kernel(similarity: Any) -> None:
    """Refuse a kernel that cannot be exported."""
    if callable(similarity.metric) or similarity.metric not in _KERNELS:
        raise ValueError(
            f"kernel {similarity.name} has no SQL or ONNX form; use one of gaussian, "
            f"{', '.join(_KERNELS)}."
        )


def _kernel_steps(graph: Graph, coordinates: list[int], mapping: Any) -> list[int]:
    """Return the steps of the similarities to all landmarks of a `LandmarkMap`."""
    similarity = mapping.similarity
    metric, params = similarity.metric, dict(similarity.params)
    scale = np.asarray(mapping.places.scale, dtype=np.float64)
    gamma = params.get("gamma")
    gamma = 1.0 / len(scale) if gamma is None else float(gamma)
    points = [
        step if spread == 1.0 else graph.linear([step], [1.0 / spread])
        for step, spread in zip(coordinates, scale, strict=True)
    ]
    degree, constant = int(params.get("degree", 3)), float(params.get("coef0", 1.0))
    bounds = (-FLOAT_MAX, FLOAT_MAX)
    found = []
    for landmark in np.asarray(mapping.landmarks, dtype=np.float64):
        if metric in ("rbf", "laplacian"):
            power = 2 if metric == "rbf" else 1
            place = tuple(float(value) for value in landmark)
            distance = graph.add("distance", *points, data=(power, place))
            found.append(graph.add("exponential", graph.linear([distance], [-gamma])))
            continue
        if metric == "cosine":
            length = float(np.sqrt(landmark @ landmark)) or 1.0
            size = graph.add("root", *points)
            dot = graph.linear(points, landmark / length)
            found.append(graph.add("quotient", dot, size))
            continue
        if metric == "linear":
            found.append(graph.add("clip", graph.linear(points, landmark), data=bounds))
            continue
        inner = graph.linear(points, gamma * landmark, constant)
        if metric == "sigmoid":  # tanh(x) = 2 / (1 + exp(-2 x)) - 1
            share = graph.add("expit", graph.linear([inner], [2.0]))
            found.append(graph.linear([share], [2.0], -1.0))
        else:
            made = graph.add("power", inner, data=degree)
            found.append(graph.add("clip", made, data=bounds))
    return found


# Paths through forests ----------------------------------------------------------------------------


def _path_steps(graph: Graph, model: Any) -> list[int]:
    """Return an indicator for each node, or each leaf, that a row comes by.

    A row that misses a value which a tree tests has no way in that tree, and its columns are
    missing: the model throws a coin that databases do not have. Where the side of missing values
    is learned, it goes there.
    """
    if model.n_hash is not None:
        raise ValueError(
            "An encoding into buckets has no SQL or ONNX form; fit with n_hash=None to export it."
        )
    numbering = model._numbering
    # Leaves from left to right: those below a node then have places that follow each other.
    forest = _relabelled(model.forest_, numbering.place)
    wide, graph.narrow = graph.narrow, True
    drops_missing = model.missing != "learned"
    graph.ensembles.append(Ensemble(forest, test_steps(graph, model), drops_missing=drops_missing))
    graph.narrow = wide
    first, last = _ranges(forest)
    sizes = np.diff(np.append(forest.roots, len(forest.left)))
    tree_of = np.repeat(np.arange(forest.n_trees), sizes)
    layout = model._paths().layout(only_leaves=model.encode == "leaf")
    nodes = numbering.nodes[layout.number[numbering.nodes] >= 0]
    steps = []
    for node in nodes.tolist():
        place = graph.add("place", data=(len(graph.ensembles) - 1, int(tree_of[node])))
        step = graph.add("member", place, data=(int(first[node]), int(last[node])))
        value = float(layout.values[forest.depth[node]])
        steps.append(step if value == 1.0 else graph.linear([step], [value]))
    return steps


def _relabelled(forest: Forest, place: Any) -> Forest:
    """Renumber the leaves of a forest, which has no values then."""
    leaf = forest.left < 0
    left = forest.left.copy()
    left[leaf] = -1 - place[-1 - left[leaf]]
    return replace(forest, left=left, values=np.empty((forest.n_leaves, 0), np.float32))


def _ranges(forest: Forest) -> tuple[Any, Any]:
    """Return the smallest and the largest place, -1 - number, of the leaves below each node."""
    first, last = forest.left.copy(), forest.left.copy()
    inner = np.flatnonzero(forest.left >= 0)
    for node in inner[np.argsort(-forest.depth[inner], kind="stable")]:
        left = forest.left[node]
        first[node], last[node] = first[left + 1], last[left]
    return first, last
