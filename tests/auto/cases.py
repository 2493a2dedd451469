"""A small table, targets that formulas explain, a search that is over soon, and a clock."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from featurewright import AutoFeatures

RNG = np.random.default_rng(0)
NONE = 1e-9  # seconds: a budget that no machine is fast enough for
# Splitters rather than numbers of folds: these are not followed by further folds.
THREE_FOLDS = KFold(3, shuffle=True, random_state=0)
TWO_FOLDS = KFold(2, shuffle=True, random_state=0)
N = 240
X = RNG.normal(size=(N, 4))
PRODUCT = X[:, 0] * X[:, 1] > 0
RATIO = X[:, 0] * X[:, 2] + 0.1 * RNG.normal(size=N)


def quick(**changes):
    settings = {"methods": "batch", "effort": "quick", "random_state": 0, "cv": THREE_FOLDS}
    return AutoFeatures(**(settings | changes))


def stopped(**changes):
    """Make a search that has no time for anything, and do not be told so."""
    auto = quick(time_budget=NONE, **changes)

    def fit(*asked, **more):
        with pytest.warns(UserWarning, match="cut short by time_budget=1e-09"):
            return type(auto).fit(auto, *asked, **more)

    return SimpleNamespace(fit=fit)


class FakeClock:
    """A clock whose time passes only when it is told to."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time

    def advance(self, seconds):
        self.time += seconds
