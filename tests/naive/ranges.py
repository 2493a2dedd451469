"""Aggregate linked rows naively: one row at a time, with NumPy's own functions."""

from __future__ import annotations

from typing import Any

import numpy as np


def visible(
    linked: dict[str, Any], key: Any, until: float | None, span: float | None
) -> np.ndarray:
    """Return the places of the linked rows that a row sees, in order of time."""
    places = [i for i, other in enumerate(linked["key"]) if other == key]
    if until is not None:
        places = [i for i in places if linked["time"][i] < until]
        if span is not None:
            places = [i for i in places if linked["time"][i] >= until - span]
        places.sort(key=lambda i: (linked["time"][i], i))
    return np.array(places, dtype=int)


def aggregate(name: str, values: np.ndarray, times: np.ndarray, until: float) -> float:
    """Return an aggregate of values in order of time; missing ones are left out."""
    known = ~np.isnan(values)
    values, times = values[known], times[known]
    n = len(values)
    if name == "count":
        return float(n)
    if name == "sum":
        return float(values.sum())
    if name == "distinct":
        return float(len(set(values.tolist())))
    if name == "mode":
        return mode(values)
    if n == 0 or (n == 1 and name in ("std", "mean gap", "trend")):
        return np.nan
    if name == "trend":
        return np.nan if np.ptp(times) == 0 else float(np.polyfit(times, values, 1)[0])
    simple = {
        "mean": values.mean,
        "min": values.min,
        "max": values.max,
        "std": lambda: values.std(ddof=1),
        "median": lambda: np.median(values),
        "quantile 0.25": lambda: np.quantile(values, 0.25),
        "quantile 0.75": lambda: np.quantile(values, 0.75),
        "first": values[times == times[0]].max,
        "last": values[times == times[-1]].max,
        "time since last": lambda: until - times[-1],
        "mean gap": lambda: (times[-1] - times[0]) / (n - 1),
    }
    return float(simple[name]())


def mode(codes: np.ndarray) -> float:
    """Return the most frequent code, of several the smallest; missing for none."""
    found, counts = np.unique(codes, return_counts=True)
    return float(found[np.argmax(counts)]) if len(found) else np.nan


def extremes(values: np.ndarray, start: int, end: int, own: int) -> tuple[float, float]:
    """Return the minimum and the maximum of a range without one of its rows; infinite for none."""
    found = [values[i] for i in range(start, end) if i != own and not np.isnan(values[i])]
    return min(found, default=np.inf), max(found, default=-np.inf)
