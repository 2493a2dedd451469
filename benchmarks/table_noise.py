"""How much an error on an artificial set varies with the one table that all splits part.

However many splits there are, they test on the same rows. A row that is hard, whatever a learner
is trained on, is counted in every one of them, so the mean over splits keeps the luck of the draw
of the table, and all learners share it. An error published for one table and ours for another
differ by that much even if the learners are the same.

With p the chance that a row is mistaken when a learner is trained on rows of its own, the mean
error on a table of n rows varies by the spread of p over rows divided by the root of n. The mean of
p times p over rows is how often two models of unlike training rows both mistake a row.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
from data import FRESH, SMALL_TRAINING, load
from runner import Learner, Settings, Values, make_model

MODELS = 4
TEST_SAMPLE = 1000  # its number; those that models are trained on come next, no split has these
TREES = 200  # the spread is that of 1000 trees, in a fifth of the time


def settings_of(learner: Learner, name: str) -> Settings:
    """Describe the job that measures the spread of a learner's mistakes on a kind of table."""
    params = learner.params
    if "n_estimators" in params:
        params = params | {"n_estimators": min(TREES, params["n_estimators"])}
    few = Learner(learner.label, learner.family, params)
    return few.settings(f"{name.removesuffix(FRESH)}{FRESH} {TEST_SAMPLE}", 0, "all", 1)


def measure(settings: Settings) -> Values:
    """Train models on rows of their own and compare their mistakes on one table."""
    started = time.perf_counter()
    table = load(settings["set"])
    wrong = []
    for i in range(MODELS):
        sample = load(f"{table.name}{FRESH} {TEST_SAMPLE + 1 + i}")
        rows = slice(SMALL_TRAINING[table.name])
        model = make_model(settings["family"], settings["params"], table.task, i, 1)
        model.fit(sample.X[rows], sample.y[rows])
        wrong.append(model.predict(table.X) != table.y)
    return {
        "error": float(np.mean(wrong)),
        "spread": spread(np.array(wrong)),
        "fit_seconds": time.perf_counter() - started,
    }


def spread(wrong: np.ndarray) -> float:
    """Return the standard deviation over rows of the chance that a model mistakes a row.

    Parameters
    ----------
    wrong : ndarray of shape (n_models, n_rows)
        Whether a model mistakes a row; models are trained on unlike rows.
    """
    pairs = itertools.combinations(wrong, 2)
    together = [np.mean(a & b) - a.mean() * b.mean() for a, b in pairs]
    return float(np.sqrt(max(0.0, np.mean(together))))
