"""Histograms of raw columns, row by row."""

from __future__ import annotations

import numpy as np


def codes(x: np.ndarray, edges: np.ndarray, missing: int) -> np.ndarray:
    """Return the bin of each value: the number of edges that it exceeds."""
    return np.array([missing if np.isnan(v) else np.sum(edges < v) for v in x])


def sums(values: np.ndarray, codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Return the sum of the values in each bin."""
    out = np.zeros(n_codes)
    for value, code in zip(values, codes, strict=True):
        out[code] += value
    return out
