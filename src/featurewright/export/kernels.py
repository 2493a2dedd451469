"""Similarities to landmarks, as steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.export.graph import Graph
from featurewright.expressions.opcodes import FLOAT_MAX

_KNOWN = ("rbf", "laplacian", "polynomial", "poly", "linear", "sigmoid", "cosine")


def kernel_steps(graph: Graph, coordinates: list[int], mapping: Any) -> list[int]:
    """Give the steps of the similarities to all landmarks of a `LandmarkMap`."""
    similarity = mapping.similarity
    metric, params = similarity.metric, dict(similarity.params)
    if callable(metric) or metric not in _KNOWN:
        raise ValueError(
            f"kernel {similarity.name} has no SQL or ONNX form; use one of gaussian, "
            f"{', '.join(_KNOWN)}."
        )
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
