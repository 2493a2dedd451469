"""Coordinates of the drawings, for the template, which writes the SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

WIDTH, RIDGE, LINE = 200.0, 16.0, 72.0
"""Width of a small drawing, height of one class in it, height of a curve of means."""

FRONT = 220.0
"""Height of the drawing of scores by number of formulas."""

_FEW_FORMULAS = 5  # that are listed at first, where something else was chosen

Scale = tuple[float, float]


def scale_of(values: Iterable[float | None]) -> Scale:
    """Return the range of an axis, with a margin on both sides.

    Parameters
    ----------
    values : iterable of float or None
        What must be visible; None is left out.

    Returns
    -------
    (float, float)
        The two ends.

    Examples
    --------
    >>> scale_of([0.0, 1.0, None])
    (-0.05, 1.05)
    """
    known = [value for value in values if value is not None and np.isfinite(value)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def place(value: float, scale: Scale, length: float = 100.0) -> float:
    """Return the position of a value on an axis."""
    low, high = scale
    return round(float(np.clip((value - low) / (high - low), 0.0, 1.0)) * length, 2)


def interval(mean: float | None, spread: float | None, scale: Scale) -> dict[str, float] | None:
    """Return the positions of a dot and the ends of its interval, in per cent of the axis."""
    if mean is None:
        return None
    half = spread or 0.0
    return {
        "from": place(mean - half, scale),
        "dot": place(mean, scale),
        "to": place(mean + half, scale),
    }


def draw_estimators(
    estimators: Sequence[dict[str, Any]], *, shares: bool = False
) -> dict[str, Any]:
    """Return the positions of the scores of each estimator, before and after, on one axis."""
    amounts = [entry[when] for entry in estimators for when in ("before", "after")]
    ends = [a["value"] + sign * a["spread"] for a in amounts for sign in (-1, 1)]
    scale = scale_of(ends)
    return {
        "ticks": [
            {
                "at": place(value, scale),
                "text": f"{100 * value:.3g}%" if shares else f"{value:.4g}",
            }
            for value in _ticks(scale)
        ],
        "rows": [
            {
                "name": entry["name"],
                "before": interval(entry["before"]["value"], entry["before"]["spread"], scale),
                "after": interval(entry["after"]["value"], entry["after"]["spread"], scale),
            }
            for entry in estimators
        ],
    }


def draw_front(points: Sequence[dict[str, Any]], *, shares: bool = False) -> dict[str, Any] | None:
    """Return the positions of the scores by number of formulas; None with nothing to compare.

    Numbers of formulas are at equal distances, in per cent of the width; heights are in pixels.
    """
    known = [point for point in points if point["value"] is not None]
    if len(known) < 2:
        return None
    ends = [point["value"] + sign * point["spread"] for point in known for sign in (-1, 1)]
    scale = scale_of(ends)

    def height(value: float) -> float:
        return round(FRONT - place(value, scale, FRONT), 1)

    step = 100.0 / len(known)
    dots = [
        {
            "x": round((number + 0.5) * step, 2),
            "y": height(point["value"]),
            "top": height(point["value"] + point["spread"]),
            "bottom": height(point["value"] - point["spread"]),
            "n_formulas": point["n_formulas"],
        }
        for number, point in enumerate(known)
    ]
    chosen = next((number for number, point in enumerate(known) if point["chosen"]), None)
    few = sum(point["n_formulas"] <= _FEW_FORMULAS for point in known) - 1
    return {
        "height": FRONT,
        "dots": dots,
        "lines": list(pairwise(dots[1:])),
        "chosen": chosen,
        "shown": max(few, 1) if chosen is None else chosen,
        "points": known,
        "ticks": [
            {"y": height(value), "text": f"{100 * value:.3g}%" if shares else f"{value:.4g}"}
            for value in _ticks(scale)
        ],
    }


def draw_gains(methods: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Return the positions of the gain of each method and its error around zero."""
    ends = [
        method["gain"] + sign * (method["gain_error"] or 0.0)
        for method in methods
        if method["gain"] is not None
        for sign in (-1, 1)
    ]
    scale = scale_of([0.0, *ends])
    zero = place(0.0, scale)
    drawn: list[dict[str, Any] | None] = []
    for method in methods:
        bar = interval(method["gain"], method["gain_error"], scale)
        drawn.append(None if bar is None or method["is_original"] else {**bar, "zero": zero})
    return drawn


def draw_profile(profile: dict[str, Any] | None, classes: Sequence[str]) -> dict[str, Any] | None:
    """Return the drawing of a column: its distribution by class, or means of the target."""
    if not profile or not profile["edges"]:
        return None
    drawn = _means(profile) if profile["means"] is not None else _ridges(profile, classes)
    if profile["discrete"]:
        ends = profile["quantiles"][0], profile["quantiles"][-1]
    else:
        ends = profile["edges"][0], profile["edges"][-1]
    return {**drawn, "low": f"{ends[0]:.4g}", "high": f"{ends[1]:.4g}"}


def _ridges(profile: dict[str, Any], classes: Sequence[str]) -> dict[str, Any]:
    """Return one outline for each class: the share of its rows in each bin."""
    counts = np.asarray(profile["counts"], dtype=np.float64)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    shares = counts / totals
    highest = max(float(shares.max()), 1e-12)
    step = WIDTH / max(counts.shape[1], 1)
    rows = []
    for number, (name, share) in enumerate(zip(classes, shares, strict=True)):
        floor = (number + 1) * RIDGE
        points = [(0.0, floor)]
        for position, value in enumerate(share):
            top = floor - (RIDGE - 2) * value / highest
            points += [(position * step, top), ((position + 1) * step, top)]
        points.append((WIDTH, floor))
        rows.append({"name": name, "floor": floor, "points": _points(points)})
    return {"kind": "ridges", "width": WIDTH, "height": RIDGE * len(rows) + 1, "rows": rows}


def _means(profile: dict[str, Any]) -> dict[str, Any]:
    """Return a curve: the mean of the target in each of the bins."""
    means = profile["means"]
    scale = scale_of(means)
    step = WIDTH / len(means)
    dots = [
        ((position + 0.5) * step, LINE - place(mean, scale, LINE))
        for position, mean in enumerate(means)
        if mean is not None
    ]
    known = [mean for mean in means if mean is not None]
    return {
        "kind": "means",
        "width": WIDTH,
        "height": LINE,
        "dots": [(round(x, 1), round(y, 1)) for x, y in dots],
        "points": _points(dots),
        "bottom": f"{min(known):.4g}",
        "top": f"{max(known):.4g}",
    }


def _points(points: Iterable[tuple[float, float]]) -> str:
    """Return points as SVG writes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _ticks(scale: Scale) -> list[float]:
    """Return four or five round numbers on an axis."""
    low, high = scale
    rough = (high - low) / 4
    power = 10.0 ** np.floor(np.log10(rough))
    step = min((power * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
    first = np.ceil(low / step)
    return [float(k * step) for k in np.arange(first, np.floor(high / step) + 1)]
