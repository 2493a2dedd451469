"""Predictions of trees, forests and boosting, as steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.constructive import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
)
from featurewright.constructive.boosting import BoostedTrees
from featurewright.engine.grammar import user_operators
from featurewright.estimators.ensembles import GrownClassifier, GrownRegressor
from featurewright.export.graph import Ensemble, Graph
from featurewright.expressions import from_program


def test_steps(graph: Graph, model: Any) -> tuple[int, ...]:
    """Return for each node the step of the value that it tests, -1 at leaves."""
    schema, forest = model._schema, model.forest_
    operators = user_operators(model._construction.operators)
    known: dict[bytes, int] = {}
    found = []
    for left, program in zip(forest.left.tolist(), forest.programs, strict=True):
        if left < 0:
            found.append(-1)
            continue
        key = program.tobytes()
        if key not in known:
            expression = from_program(
                program, schema.names, schema.domains, schema.levels, operators
            )
            known[key] = graph.expression(expression)
        found.append(known[key])
    return tuple(found)


def tree_predictions(model: Any, output: str) -> Graph:
    """Return the steps of the predictions of trees, or of their probabilities."""
    if output == "predict_proba" and not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} predicts no probabilities; use output='predict'.")
    if not isinstance(model, (GrownClassifier, GrownRegressor, BoostedTrees)):
        raise TypeError(
            f"Predictions of {type(model).__name__} cannot be exported; trees, forests and "
            "boosting of this library can."
        )
    graph = Graph(model._schema, narrow=True)
    scores = _sums(graph, model)
    if isinstance(model, (GrownRegressor, ConstructiveBoostingRegressor)):
        add_numbers(graph, _numbers(graph, model, scores))
    elif isinstance(model, ConstructiveBoostingClassifier):
        add_classes(graph, [model.classes_], [_boosted_shares(graph, model, scores)], output)
    else:
        shares = _means(graph, model, scores)
        classes = [model.classes_] if model._outputs is None else model.classes_
        ends = np.cumsum([len(labels) for labels in classes])
        blocks = [
            shares[end - len(labels) : end] for end, labels in zip(ends, classes, strict=True)
        ]
        add_classes(graph, classes, blocks, output)
    return graph


def _sums(graph: Graph, model: Any) -> list[int]:
    """Return the sums over trees."""
    groups = model._groups if isinstance(model, BoostedTrees) else 1
    ensemble = Ensemble(model.forest_, test_steps(graph, model), groups)
    graph.ensembles.append(ensemble)
    number = len(graph.ensembles) - 1
    return [graph.add("score", data=(number, k)) for k in range(ensemble.n_scores)]


def _means(graph: Graph, model: Any, scores: list[int]) -> list[int]:
    """Divide sums over trees by their number."""
    n_trees = model.forest_.n_trees
    if n_trees == 1:
        return scores
    count = graph.add("number", data=float(n_trees))
    return [graph.add("ratio", score, count) for score in scores]


def score_steps(graph: Graph, model: Any) -> list[int]:
    """Return the joint result of trees: numbers, the score of the second of two classes, or all.

    The rest of the graph may be computed in float64; the trees test what is rounded to float32.
    """
    wide, graph.narrow = graph.narrow, True
    scores = _sums(graph, model)
    graph.narrow = wide
    if isinstance(model, (GrownRegressor, ConstructiveBoostingRegressor)):
        return _numbers(graph, model, scores)
    if isinstance(model, GrownClassifier):
        shares = _means(graph, model, scores)
        return shares[1:] if len(shares) == 2 else shares
    raw = _started(graph, model, scores)
    return [graph.linear(raw, [-1.0, 1.0])] if len(raw) == 2 else raw


def _started(graph: Graph, model: Any, scores: list[int]) -> list[int]:
    """Add the scores that boosting started from."""
    return [
        graph.linear([score], [1.0], float(start))
        for score, start in zip(scores, model._start, strict=True)
    ]


def _numbers(graph: Graph, model: Any, scores: list[int]) -> list[int]:
    """Return predicted numbers, in the unit of the target."""
    if isinstance(model, ConstructiveBoostingRegressor):
        started = graph.linear(scores, [1.0], float(model._start[0]))
        made = [graph.linear([started], [float(model._scale[0])], float(model._center[0]))]
    else:
        made = _means(graph, model, scores)
    if model._unit != 1.0:
        bounded = [graph.add("clip", step, data=(-1.0, 1.0)) for step in made]
        made = [graph.linear([step], [model._unit]) for step in bounded]
    return made


def add_numbers(graph: Graph, steps: list[int]) -> None:
    """Name predicted numbers."""
    names = ["prediction"] if len(steps) == 1 else [f"prediction_{k}" for k in range(len(steps))]
    graph.outputs = list(zip(names, steps, strict=True))


def _boosted_shares(graph: Graph, model: Any, scores: list[int]) -> list[int]:
    """Return probabilities from the raw scores of boosting."""
    raw = _started(graph, model, scores)
    if model._votes:
        parts = [graph.add("expit", graph.linear([step], [2.0])) for step in raw]
    elif model.n_scores_ == 1:
        return of_two(graph, raw[0])
    else:
        return softmax(graph, raw)
    return _shared(graph, parts)


def softmax(graph: Graph, scores: list[int]) -> list[int]:
    """Return the probabilities of several classes from their scores."""
    top = graph.add("largest", *scores)
    parts = [graph.add("exponential", graph.linear([step, top], [1.0, -1.0])) for step in scores]
    return _shared(graph, parts)


def of_two(graph: Graph, score: int) -> list[int]:
    """Return the probabilities of two classes from the score of the second."""
    second = graph.add("expit", score)
    return [graph.linear([second], [-1.0], 1.0), second]


def _shared(graph: Graph, parts: list[int]) -> list[int]:
    """Divide positive numbers by their sum."""
    whole = graph.linear(parts, [1.0] * len(parts))
    return [graph.add("ratio", part, whole) for part in parts]


def add_classes(graph: Graph, classes: Any, blocks: list[list[int]], output: str) -> None:
    """Return probabilities, or the labels of the largest ones, for each output."""
    for k, (labels, shares) in enumerate(zip(classes, blocks, strict=True)):
        ending = "" if len(classes) == 1 else f"_{k}"
        known = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        if output == "predict":
            top = graph.add("largest", *shares)
            picked = graph.add("pick", *shares, top, data=known)
            graph.outputs.append((f"prediction{ending}", picked))
            continue
        for label, share in zip(known, shares, strict=True):
            graph.outputs.append((f"probability{ending}_{label}", share))
