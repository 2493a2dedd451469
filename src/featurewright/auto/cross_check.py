"""Scores of the other standard estimators with the columns that were kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.auto.candidates import ORIGINAL, Candidate
from featurewright.auto.choice import corrected_error
from featurewright.auto.estimators import STANDARD, standard_estimator
from featurewright.auto.failures import Attempt, ScoringError
from featurewright.auto.search import Search

_BOOSTING_SECONDS = 0.3  # for each class at least, on few rows and columns


def score_estimators(search: Search, kept: Candidate, name: str) -> list[dict[str, Any]]:
    """Return the held-out scores of estimators before and after, fold by fold.

    The first is the one that was searched with. The other standard ones follow, as far as there is
    time for all of their folds.

    Parameters
    ----------
    search : Search
        A search that is over.
    kept : Candidate
        What was kept.
    name : str
        Name of the estimator that was searched with.

    Returns
    -------
    list of dict
        Estimator, before, after, and the standard error of the mean gain.
    """
    leaderboard = search.leaderboard
    after = leaderboard.proofs(kept)
    before = leaderboard.proofs(ORIGINAL)[: len(after)]
    found: list[dict[str, Any]] = [{"estimator": name, "before": before, "after": after}]
    if kept != ORIGINAL:
        others = (_score(search, kept, other, len(after)) for other in STANDARD if other != name)
        found += [entry for entry in others if entry]
    for entry in found:
        gains = np.subtract(entry["after"], entry["before"])
        entry["gain_std"] = corrected_error(gains, leaderboard.test_share)
    return found


def _score(search: Search, kept: Candidate, name: str, n_folds: int) -> dict[str, Any] | None:
    """Score one estimator before and after on all folds; None where there is no time for them."""
    model = standard_estimator(name, search.problem.task.kind, random_state=0)
    before: list[float] = []
    after: list[float] = []
    clock, first = search.clock, search.leaderboard.n_choosing_folds
    if name == "boosting" and 2 * n_folds * search.n_scores * _BOOSTING_SECONDS > clock.left:
        return None
    with Attempt(f"The cross-check with the {name} estimator") as attempt:
        for number, fold in enumerate(search.folds[first : first + n_folds]):
            started = clock.now()
            try:
                before.append(fold.score(ORIGINAL, model, search.scorer).score)
            except ScoringError:  # a scorer that this estimator does not serve
                return None
            seconds = clock.now() - started
            more = 2.0 + kept.n_columns / fold.space.base.shape[1]
            if (n_folds - number) * seconds * more > clock.left:
                return None
            after.append(fold.score(kept, model, search.scorer).score)
    return None if attempt.error else {"estimator": name, "before": before, "after": after}
