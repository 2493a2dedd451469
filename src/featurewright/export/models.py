"""What `transform` of each model computes, as steps."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from featurewright.estimators.base import ConstructiveLearner
from featurewright.estimators.points import Points
from featurewright.export.graph import Graph
from featurewright.export.kernels import kernel_steps
from featurewright.export.paths import path_graph
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer


def transform_graph(model: Any) -> Graph:
    """Give the steps of a fitted model's transform."""
    check_is_fitted(model)
    if isinstance(model, ForestPathEncoder):
        return path_graph(model)
    if isinstance(model, ConstructiveLearner):
        return _formulas(model)
    if isinstance(model, LandmarkKernelFeatures):
        return _landmarks(model)
    if isinstance(model, RecursiveSelectiveTransformer):
        return _components(model)
    raise TypeError(
        f"{type(model).__name__} has no columns that can be exported; pass a fitted constructive "
        "learner, FCTree, BatchConstructor, LandmarkKernelFeatures, ForestPathEncoder or "
        "RecursiveSelectiveTransformer."
    )


def _formulas(model: Any) -> Graph:
    """Give constructed features, undefined values filled."""
    graph = Graph(model._schema)
    features, fills = model._output()
    names = model.get_feature_names_out()
    for name, feature, fill in zip(names, features, fills, strict=True):
        step = graph.expression(feature.expression)
        if not model.keep_missing:
            step = graph.add("fill", step, data=float(fill))
        graph.outputs.append((str(name), step))
    return graph


def coordinates(graph: Graph, points: Points) -> list[int]:
    """Give numbers with their gaps filled, and an indicator for each level of a category."""
    steps = [_filled(graph, points, int(column)) for column in points.numbers]
    for column, n_levels in points.labels:
        code = graph.add("column", data=int(column))
        for level in range(n_levels):
            test = graph.add("is", code, data=level)
            steps.append(graph.add("fill", test, data=0.0))
    return steps


def _filled(graph: Graph, points: Points, column: int) -> int:
    """Give a column with its gaps filled."""
    return graph.add("fill", graph.add("column", data=column), data=float(points.fill[column]))


def _landmarks(model: Any) -> Graph:
    """Give similarities to landmarks, after the original columns where they are kept."""
    graph = Graph(model._schema)
    mapping = model._map
    places = mapping.places
    names = [str(name) for name in model.get_feature_names_out()]
    steps: list[int] = []
    if model.append:
        steps += [_filled(graph, places, column) for column in range(model._schema.n_columns)]
    steps += kernel_steps(graph, coordinates(graph, places), mapping)
    graph.outputs = list(zip(names, steps, strict=True))
    return graph


def _components(model: Any) -> Graph:
    """Give weighted sums of filled columns and indicators."""
    graph = Graph(model._schema)
    steps = coordinates(graph, model._inputs)
    first, last = model._shown_blocks()
    width = model._joined.shape[1] // len(model._seeds)
    part = slice(first * width, last * width)
    names = model.get_feature_names_out()
    weights, offsets = model._joined[:, part], model._offset[part]
    for name, column, offset in zip(names, weights.T, offsets, strict=True):
        graph.outputs.append((str(name), graph.linear(steps, column, float(offset))))
    return graph
