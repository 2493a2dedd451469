"""Ranges, bins and sums in plain NumPy."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import SAMPLE_ROWS


def value_range(x: np.ndarray) -> tuple[float, float, bool]:
    """Return the smallest and largest known value, and whether any is missing."""
    known = x[~np.isnan(x)]
    if not len(known):
        return np.inf, -np.inf, True
    return known.min(), known.max(), len(known) < len(x)


def rank_codes(x: np.ndarray, missing: int) -> np.ndarray:
    """Return the number of smaller values of each."""
    return np.array([missing if np.isnan(v) else np.sum(x < v) for v in x])


def clipped_range(x: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return the range of all values, clipped 16 ranges beyond a sample without its extremes."""
    low, high, _ = value_range(x)
    sample = x[np.arange(SAMPLE_ROWS) * (len(x) // SAMPLE_ROWS)]
    sample = np.sort(sample[~np.isnan(sample)])
    if len(sample) > 3 and sample[1] < sample[-2]:
        with np.errstate(over="ignore"):
            reach = np.float32(16) * (sample[-2] - sample[1])
            low, high = max(low, sample[1] - reach), min(high, sample[-2] + reach)
    return np.float32(low), np.float32(high)


def range_codes(x: np.ndarray, low: float, high: float, n_bins: int) -> np.ndarray:
    """Return codes of bins of equal width, in float64; the code after the last bin is missing."""
    wide = x.astype(np.float64)
    width = float(high) - float(low)
    places = np.zeros(len(x)) if width <= 0 else np.floor((wide - float(low)) / width * n_bins)
    codes = np.clip(np.where(np.isnan(wide), 0, places), 0, n_bins - 1)
    return np.where(np.isnan(wide), n_bins, codes).astype(np.int64)


def level_codes(x: np.ndarray, first: int, n_bins: int) -> np.ndarray:
    """Return one code per level from `first` on, the last bin for others, `n_bins` if missing."""
    codes = []
    for level in x:
        if np.isnan(level):
            codes.append(n_bins)
        else:
            place = int(level) - first
            codes.append(place if 0 <= place < n_bins - 1 else n_bins - 1)
    return np.array(codes)


def tail_codes(
    x: np.ndarray, span: tuple[float, float], center: float, width: float, n_bins: int
) -> np.ndarray:
    """Return codes of bins of equal width after compressing far values, in float64."""
    wide = x.astype(np.float64)

    def squash(value: np.ndarray | float) -> np.ndarray:
        # The logarithm, with straight lines between the powers of two.
        part, exponent = np.frexp(1 + np.abs(value - center) / width)
        return np.sign(value - center) * (exponent + 2 * part - 2)

    first, last = squash(span[0]), squash(span[1])
    place = (squash(wide) - first) / (last - first) * n_bins
    known = ~np.isnan(x)
    codes = np.full(len(x), n_bins)
    codes[known] = np.clip(np.floor(place[known]), 0, n_bins - 1)
    return codes


def bin_edges(x: np.ndarray, codes: np.ndarray, boundary: int) -> tuple[float, float]:
    """Return the extremes of the values in the bins on both sides of a boundary."""
    known = ~np.isnan(x)
    x, codes = x[known], codes[known]
    left, right = codes[codes <= boundary].max(), codes[codes > boundary].min()
    return x[codes == left].min(), x[codes == right].max()


def key_codes(x: np.ndarray, low: np.float32, high: np.float32, n_bins: int) -> np.ndarray:
    """Return codes of bins with equal numbers of floats."""

    def key(value: np.ndarray) -> np.ndarray:
        bits = np.atleast_1d(np.asarray(value, np.float32)).view(np.int32).astype(np.int64)
        return np.where(bits >= 0, bits, -(2**31) - 1 - bits)

    first, last = key(low)[0], key(high)[0]
    place = ((key(x) - first) * (n_bins / (last - first + 1))).astype(np.int64)
    return np.where(np.isnan(x), n_bins, np.clip(place, 0, n_bins - 1))


def bin_sums(codes: np.ndarray, columns: np.ndarray, n_bins: int) -> np.ndarray:
    """Sum columns, one per row, by bin; rows with other codes are left out."""
    inside = np.array([codes == b for b in range(n_bins)], np.float64)
    return columns.astype(np.float64) @ inside.T


def best_boundary(
    scores: np.ndarray, weights: np.ndarray, counts: np.ndarray, least: float, fewest: int
) -> int:
    """Return the first boundary of the highest score with enough on both sides, -1 if none.

    The last of the running weights and counts are the totals.
    """
    allowed = (weights > least) & (weights[-1] - weights > least) & ~np.isnan(scores)
    allowed &= (counts >= fewest) & (counts[-1] - counts >= fewest) & (scores > -np.inf)
    return int(np.argmax(np.where(allowed, scores, -np.inf))) if allowed.any() else -1


def dense_marks(sample: np.ndarray, low: np.float32, high: np.float32) -> np.ndarray:
    """Return the sorted values of a sample that lies in a few of 32 cells of the range."""
    sample = sample[(sample >= low) & (sample <= high)]
    with np.errstate(over="ignore"):
        scale = np.float32(32) / np.float32(high - low)
    if not 0 < scale < np.inf:
        return sample[:0]
    cells = np.minimum((sample - low) * scale, np.float32(31)).astype(np.int64)
    marks, taken = np.unique(sample), len(np.unique(cells))
    return marks if taken <= 8 and len(marks) >= 2 * taken else marks[:0]


def adaptive_codes(
    x: np.ndarray, low: float, high: float, marks: np.ndarray, n_bins: int
) -> np.ndarray:
    """Return codes of as many bins in each interval between low, the marks and high."""
    known = ~np.isnan(x)
    edges = np.array([low, *marks, high], np.float64)
    which = np.searchsorted(marks, x[known], side="right")
    width = edges[which + 1] - edges[which]
    part = np.divide(
        x[known] - edges[which], width, out=np.zeros(len(width)), where=width > 0
    ).clip(0, 1)
    codes = np.full(len(x), n_bins)
    codes[known] = np.minimum((which + part) * n_bins / (len(marks) + 1), n_bins - 1)
    return codes
