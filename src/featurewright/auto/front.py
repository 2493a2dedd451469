"""Accuracy against the number of formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.choice import corrected_error

Array = NDArray[np.float64]


def front_points(
    scores: Mapping[int, Sequence[float]],
    base: Sequence[float],
    test_share: float,
    chosen: int | None,
) -> list[dict[str, Any]]:
    """Return a point for each number of formulas, none first.

    Parameters
    ----------
    scores : mapping of int to sequence of float
        Held-out scores by fold, by number of formulas.
    base : sequence of float
        Held-out scores of the original columns by fold.
    test_share : float
        Test rows of a fold over its training rows.
    chosen : int or None
        The number of formulas that was kept; None where something else was.

    Returns
    -------
    list of dict
        n_formulas, score, score_std, gain, gain_std, fold_gains, and whether it was chosen.
        Standard errors are corrected for folds whose training rows overlap; those of one fold are
        unknown, so NaN.

    Examples
    --------
    >>> points = front_points({1: [0.8, 0.9], 2: [0.9, 0.9]}, [0.5, 0.6], 0.25, chosen=2)
    >>> [(point["n_formulas"], round(point["gain"], 3)) for point in points]
    [(0, 0.0), (1, 0.3), (2, 0.35)]
    """
    points: list[dict[str, Any]] = []
    if not len(base):
        return points
    for n_formulas, found in [(0, base), *sorted(scores.items())]:
        values = np.asarray(found, np.float64)
        gains = values - np.asarray(base[: len(values)], np.float64)
        points.append(
            {
                "n_formulas": n_formulas,
                "score": float(values.mean()),
                "score_std": corrected_error(values, test_share),
                "gain": float(gains.mean()),
                "gain_std": corrected_error(gains, test_share),
                "fold_gains": gains.tolist(),
                "chosen": n_formulas == chosen,
            }
        )
    return points
