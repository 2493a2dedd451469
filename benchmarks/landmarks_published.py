"""Published figures of ensembles over kernel features, and the settings that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np

SETS = (
    *("banana", "breast_cancer", "diabetis", "flare_solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
# Widths of the Gaussian kernel that go with these sets since Rätsch, Onoda and Müller (2001); the
# publication points there and prints none.
WIDTHS = dict(zip(SETS, (1, 50, 20, 30, 55, 120, 30, 10, 70, 3, 2, 40, 20), strict=True))
# Published errors in % (Ahmad, tables 3 to 7), in the order of SETS.
NONE = np.nan
PUBLISHED = {
    "kernel only": (11.2, 29.4, 25.3, 35.8, 28.3, 18.1, 6.3, 1.5, 22.1, 5.1, 22.6, 2.5, 10.0),
    "subspace + K": (11.2, 27.2, 24.4, 35.7, 24.1, 17.6, 1.6, 1.5, 3.2, 5.1, 22.5, 2.5, 10.2),
    "subspace": (NONE, 25.0, 25.9, 35.3, 25.1, 17.2, 2.0, 5.4, 2.8, 5.8, 25.8, 5.1, 12.0),
    "bagging + K": (11.5, 28.1, 24.2, 35.3, 22.9, 18.5, 2.1, 1.6, 4.7, 6.4, 22.4, 2.8, 11.1),
    "bagging": (13.2, 28.8, 24.3, 34.6, 23.9, 19.5, 2.2, 9.2, 4.5, 7.9, 22.5, 7.2, 12.9),
    "AdaBoost.M1 + K": (11.9, 27.7, 24.9, 36.0, 22.9, 18.6, 1.3, 1.6, 3.2, 4.8, 22.5, 2.8, 10.5),
    "AdaBoost.M1": (13.3, 30.3, 25.6, 36.1, 23.6, 19.8, 1.4, 3.5, 3.5, 5.2, 22.6, 3.6, 11.1),
    "forest + K": (12.1, 29.9, 24.7, 35.3, 23.1, 17.8, 1.5, 1.6, 3.9, 5.5, 22.3, 2.7, 10.5),
    "forest": (13.4, 26.5, 24.1, 35.7, 22.2, 17.9, 1.6, 6.9, 3.6, 5.3, 22.4, 4.8, 11.5),
}
# Names of the ensembles in `featurewright.publications`, which has their settings.
METHODS = {
    "kernel only": "kernel_only",
    "subspace": "kernel_subspace",
    "bagging": "kernel_bagging",
    "AdaBoost.M1": "kernel_adaboost",
    "forest": "kernel_forest",
}
PAIRS = tuple(label for label in METHODS if label in PUBLISHED and f"{label} + K" in PUBLISHED)
# Boundary: concept, whether x is turned into 1 - x, kernel; published errors with and without K of
# bagging, AdaBoost.M1 and forests (table 1).
BOUNDARIES: dict[str, tuple[str, bool, dict[str, Any], tuple[float, ...]]] = {
    "+": ("plus", False, {"kernel": "linear"}, (0, 0, 0, 0, 0, 0)),
    "y > 2x": ("2x", False, {"kernel": "linear"}, (3.1, 2.9, 2.7, 2.7, 2.6, 2.5)),
    "y = x": ("diagonal", False, {"kernel": "linear"}, (0.5, 3.1, 0.6, 3.4, 0.7, 3.3)),
    "x + y = 1": ("diagonal", True, {"kernel": "linear"}, (NONE,) * 6),
    "circle": ("circle", False, {"width": 1.0}, (0.9, 2.4, 1.0, 2.5, 0.9, 2.6)),
}
IN_SQUARE = ("bagging + K", "bagging", "AdaBoost.M1 + K", "AdaBoost.M1", "forest + K", "forest")
# Published errors of kernel features alone with 10, 50 and 100 landmarks (table 9).
STUDY = {
    "image": (6.3, 5.4, 5.1),
    "splice": (22.1, 17.1, 16.6),
    "twonorm": (2.5, 2.6, 2.8),
    "waveform": (10.0, 10.1, 10.4),
}
SIZES = (10, 50, 100)


def published_splits(name: str) -> int:
    """Return the number of splits that the published errors of a set are means of."""
    return 20 if name in ("image", "splice") else 100
