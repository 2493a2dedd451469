"""What a model computes, of whatever kind it is and whatever is asked for."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from featurewright.auto import AutoFeatures
from featurewright.estimators.parameters import one_of
from featurewright.export.graph import Graph
from featurewright.export.linear import auto_predictions
from featurewright.export.models import transform_graph
from featurewright.export.trees import tree_predictions

OUTPUTS = ("transform", "predict", "predict_proba")


def graph_of(model: Any, output: str) -> Graph:
    """Give the steps of what a fitted model transforms or predicts."""
    one_of("output", output, OUTPUTS)
    check_is_fitted(model)
    if output == "transform":
        return transform_graph(model)
    if output == "predict_proba" and not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} predicts no probabilities; use output='predict'.")
    if isinstance(model, AutoFeatures):
        return auto_predictions(model, output)
    return tree_predictions(model, output)
