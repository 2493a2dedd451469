"""What a model transforms or predicts, as steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from featurewright.auto import AutoFeatures
from featurewright.estimators.parameters import one_of
from featurewright.export.graph import Graph
from featurewright.export.models import auto_graph, transform_graph
from featurewright.export.trees import add_classes, add_numbers, of_two, softmax, tree_predictions

_NUMBERS = (LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV)
_LOGISTIC = (LogisticRegression, LogisticRegressionCV)

OUTPUTS = ("transform", "predict", "predict_proba")


def graph_of(model: Any, output: str) -> Graph:
    """Return the steps of what a fitted model transforms or predicts."""
    one_of("output", output, OUTPUTS)
    check_is_fitted(model)
    if output == "predict_proba" and not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} predicts no probabilities; use output='predict'.")
    if output == "transform":
        graph = transform_graph(model)
    elif isinstance(model, AutoFeatures):
        graph = _auto_predictions(model, output)
    else:
        graph = tree_predictions(model, output)
    _check_unicode(graph)
    return graph


def _check_unicode(graph: Graph) -> None:
    """Refuse names and labels that Python can hold and no other program."""
    labels = [label for levels in graph.schema.levels for label in levels or ()]
    labels += [label for step in graph.steps if step.op == "pick" for label in step.data]
    for text in (*graph.schema.names, *labels, *(name for name, _ in graph.outputs)):
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"The text {str(text)[:40]!a} has half of a surrogate pair, which is no valid "
                "Unicode and cannot be exported: replace it before the fit."
            ) from error


# Linear models that AutoFeatures fits on its columns ----------------------------------------------


def _auto_predictions(model: Any, output: str) -> Graph:
    """Return the steps of what the linear model of a fitted `AutoFeatures` predicts."""
    graph = auto_graph(model)
    columns = [step for _, step in graph.outputs]
    graph.outputs = []
    scaler, last = _parts(model.model_)
    if isinstance(last, _NUMBERS):
        add_numbers(graph, _scores(graph, columns, scaler, last))
        return graph
    if isinstance(last, OneVsRestClassifier):
        blocks = [
            of_two(graph, _scores(graph, columns, scaler, member)[0]) for member in last.estimators_
        ]
        add_classes(graph, [np.array([0, 1])] * len(blocks), blocks, output)
        return graph
    scores = _scores(graph, columns, scaler, last)
    shares = of_two(graph, scores[0]) if len(scores) == 1 else softmax(graph, scores)
    add_classes(graph, [last.classes_], [shares], output)
    return graph


def _parts(model: Any) -> tuple[StandardScaler | None, Any]:
    """Return the scaler and the linear model of a pipeline, or refuse it."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, last = steps
    scaled = all(isinstance(step, StandardScaler) for step in before) and len(before) <= 1
    known = isinstance(last, (*_NUMBERS, *_LOGISTIC)) or (
        isinstance(last, OneVsRestClassifier)
        and all(isinstance(member, _LOGISTIC) for member in last.estimators_)
    )
    logistic = isinstance(last, _LOGISTIC)
    if not scaled or not known or (logistic and last.solver == "liblinear"):
        raise TypeError(
            f"Predictions of {type(last).__name__} on constructed columns cannot be exported, only "
            "those of linear and logistic regression; export the columns with output='transform' "
            "and predict from them."
        )
    return (before[0] if before else None), last


def _scores(graph: Graph, columns: list[int], scaler: Any, model: Any) -> list[int]:
    """Return the scores of a linear model over columns that are scaled first."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    if scaler is not None:
        scale = np.ones(len(columns)) if scaler.scale_ is None else scaler.scale_
        mean = np.zeros(len(columns)) if scaler.mean_ is None else scaler.mean_
        weights = weights / scale
        constants = constants - weights @ mean
    return [
        graph.linear(columns, row, float(constant))
        for row, constant in zip(weights, constants, strict=True)
    ]
