"""Bins, ranges and sums, one NumPy line each."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.bins import SAMPLE


def value_range(x: np.ndarray) -> tuple[float, float, bool]:
    """Give the smallest and largest known value, and whether any is missing."""
    known = x[~np.isnan(x)]
    if not len(known):
        return np.inf, -np.inf, True
    return known.min(), known.max(), len(known) < len(x)


def rank_codes(x: np.ndarray, missing: int) -> np.ndarray:
    """Count the smaller values of each."""
    return np.array([missing if np.isnan(v) else np.sum(x < v) for v in x])


def clipped_range(x: np.ndarray) -> tuple[float, float]:
    """Give the second smallest and second largest of a sample, or the range of all values."""
    sample = x[np.arange(SAMPLE) * (len(x) // SAMPLE)]
    sample = np.sort(sample[~np.isnan(sample)])
    if len(sample) > 3 and sample[1] < sample[-2]:
        return sample[1], sample[-2]
    return value_range(x)[:2]


def range_codes(x: np.ndarray, low: float, high: float, n_bins: int) -> np.ndarray:
    """Cut a range into equal parts, in float64; the code after the last bin is missing."""
    wide = x.astype(np.float64)
    width = float(high) - float(low)
    places = np.zeros(len(x)) if width <= 0 else np.floor((wide - float(low)) / width * n_bins)
    codes = np.clip(np.where(np.isnan(wide), 0, places), 0, n_bins - 1)
    return np.where(np.isnan(wide), n_bins, codes).astype(np.int64)


def level_codes(x: np.ndarray, first: int, n_bins: int) -> np.ndarray:
    """Give the levels from `first` on a bin each, others the last bin, missing ones none."""
    codes = []
    for level in x:
        if np.isnan(level):
            codes.append(n_bins)
        else:
            place = int(level) - first
            codes.append(place if 0 <= place < n_bins - 1 else n_bins - 1)
    return np.array(codes)
