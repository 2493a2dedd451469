"""What `transform` of each model computes, as steps."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from featurewright.auto import AutoFeatures
from featurewright.auto.parts import KINDS, LEAST_VOTE
from featurewright.estimators.base import ConstructiveLearner
from featurewright.estimators.points import Points
from featurewright.export.graph import Graph
from featurewright.export.kernels import kernel_steps
from featurewright.export.paths import path_steps
from featurewright.export.trees import score_steps
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer


def transform_graph(model: Any) -> Graph:
    """Give the steps of a fitted model's transform."""
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
    """Give the original columns as numbers, then the columns of the parts."""
    reader, originals = model.reader_, model.originals_
    kinds = {name: kind.value for name, _, kind in reader.times}
    graph = Graph(reader.schema, derived=reader.columns, kinds=kinds)
    steps = []
    for kind, at, value in originals.steps:
        column = graph.column(at)
        if kind == "number":
            steps.append(graph.add("fill", column, data=float(value)))
        elif kind == "missing":
            steps.append(graph.add("gap", column))
        elif kind == "level":
            steps.append(graph.add("fill", graph.add("is", column, data=int(value)), data=0.0))
        else:
            shares = tuple(float(share) for share in originals.frequencies[at])
            steps.append(graph.add("shares", column, data=shares))
    for part in model.parts_:
        steps += _part_steps(graph, part)
    names = [str(name) for name in model.get_feature_names_out()]
    graph.outputs = list(zip(names, steps, strict=True))
    return graph


def _part_steps(graph: Graph, part: Any) -> list[int]:
    """Give the columns of one part: undefined values filled, far ones cut."""
    if part.transformer is None:
        made = [graph.expression(feature.expression) for feature in part.features]
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
        return path_steps(graph, model)
    if isinstance(model, LandmarkKernelFeatures):
        return _landmarks(graph, model)
    if isinstance(model, RecursiveSelectiveTransformer):
        return _components(graph, model)
    return _formulas(graph, model)


def _formulas(graph: Graph, model: Any) -> list[int]:
    """Give constructed features, undefined values filled."""
    features, fills = model._output()
    steps = [graph.expression(feature.expression) for feature in features]
    if model.keep_missing:
        return steps
    return [
        graph.add("fill", step, data=float(fill)) for step, fill in zip(steps, fills, strict=True)
    ]


def coordinates(graph: Graph, points: Points) -> list[int]:
    """Give numbers with their gaps filled, and an indicator for each level of a category."""
    steps = [_filled(graph, points, int(column)) for column in points.numbers]
    for column, n_levels in points.labels:
        code = graph.column(int(column))
        for level in range(n_levels):
            test = graph.add("is", code, data=level)
            steps.append(graph.add("fill", test, data=0.0))
    return steps


def _filled(graph: Graph, points: Points, column: int) -> int:
    """Give a column with its gaps filled."""
    return graph.add("fill", graph.column(column), data=float(points.fill[column]))


def _landmarks(graph: Graph, model: Any) -> list[int]:
    """Give similarities to landmarks, after the original columns where they are kept."""
    places = model._map.places
    steps: list[int] = []
    if model.append:
        steps += [_filled(graph, places, column) for column in range(model._schema.n_columns)]
    return steps + kernel_steps(graph, coordinates(graph, places), model._map)


def _components(graph: Graph, model: Any) -> list[int]:
    """Give weighted sums of filled columns and indicators."""
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
