"""What the other standard estimators think of the columns that were kept."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from featurewright.auto.board import ORIGINAL
from featurewright.auto.choice import corrected_error
from featurewright.auto.estimators import STANDARD, standard_estimator
from featurewright.auto.pace import FAILURES
from featurewright.auto.search import Search
from featurewright.auto.workspace import Config

# Seconds that boosting takes for each class at least, on few rows and columns.
_BOOSTING_SECONDS = 0.3


def score_estimators(search: Search, kept: Config, name: str) -> list[dict[str, Any]]:
    """Give the held-out scores of estimators before and after, fold by fold.

    The first is the one that was searched with. The other standard ones follow, as far as there is
    time for all of their folds.

    Parameters
    ----------
    search : Search
        A search that is over.
    kept : Config
        What was kept.
    name : str
        Name of the estimator that was searched with.

    Returns
    -------
    list of dict
        Estimator, before, after, and the standard error of the mean gain.
    """
    after = search.board.proofs(kept)
    before = search.board.proofs(ORIGINAL)[: len(after)]
    found: list[dict[str, Any]] = [{"estimator": name, "before": before, "after": after}]
    if kept != ORIGINAL:
        entries = (_score(search, kept, other, len(after)) for other in STANDARD if other != name)
        found += [entry for entry in entries if entry]
    for entry in found:
        gains = np.subtract(entry["after"], entry["before"])
        entry["gain_std"] = corrected_error(gains, search.board.test_share)
    return found


def _score(search: Search, kept: Config, name: str, n_folds: int) -> dict[str, Any] | None:
    """Score one estimator before and after on all folds; None where there is no time for them."""
    model = standard_estimator(name, search.problem.task.kind, random_state=0)
    entry: dict[str, Any] = {"estimator": name, "before": [], "after": []}
    if name == "boosting" and 2 * n_folds * search.n_scores * _BOOSTING_SECONDS > search.clock.left:
        return None
    try:
        first = search.board.n_first
        for number, fold in enumerate(search.folds[first : first + n_folds]):
            started = time.monotonic()
            entry["before"].append(fold.score(ORIGINAL, model, search.yardstick).score)
            seconds = time.monotonic() - started
            more = 2.0 + kept.n_columns / fold.space.base.shape[1]
            if (n_folds - number) * seconds * more > search.clock.left:
                return None
            entry["after"].append(fold.score(kept, model, search.yardstick).score)
    except FAILURES:
        return None  # such as a scorer that this estimator cannot serve
    return entry
