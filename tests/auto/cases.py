"""A small table, targets that formulas explain, and a search that is over soon."""

from __future__ import annotations

import numpy as np

from featurewright import AutoFeatures

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4))
PRODUCT = X[:, 0] * X[:, 1] > 0
RATIO = X[:, 0] * X[:, 2] + 0.1 * RNG.normal(size=N)


def quick(**changes):
    settings = {"methods": "batch", "time_budget": 30, "random_state": 0, "cv": 3}
    return AutoFeatures(**(settings | changes))
