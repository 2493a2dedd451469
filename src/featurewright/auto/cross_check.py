"""Scores of the other standard estimators with the columns that were kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.auto.candidates import ORIGINAL, Candidate
from featurewright.auto.choice import corrected_error
from featurewright.auto.estimators import STANDARD, standard_estimator
from featurewright.auto.failures import Attempt, ScoringError
from featurewright.auto.search import Search

_MAX_FOLDS = 5  # that other estimators are scored on: they decide nothing
_MAX_CELLS = 500_000  # rows times columns times scores of a fold, above which it would take long


def score_estimators(search: Search, kept: Candidate, name: str) -> list[dict[str, Any]]:
    """Return the held-out scores of estimators before and after, fold by fold.

    The first is the one that was searched with. The other standard ones follow where the effort
    includes them and the table is not too large.

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
    if kept != ORIGINAL and search.effort.checks_others and not search.stopped_by_time:
        others = (_score(search, kept, other, len(after)) for other in STANDARD if other != name)
        found += [entry for entry in others if entry]
    for entry in found:
        gains = np.subtract(entry["after"], entry["before"])
        entry["gain_std"] = corrected_error(gains, leaderboard.test_share)
    return found


def _score(search: Search, kept: Candidate, name: str, n_folds: int) -> dict[str, Any] | None:
    """Score one estimator before and after on all folds; None where that would take long."""
    model = standard_estimator(name, search.problem.task.kind, random_state=0)
    before: list[float] = []
    after: list[float] = []
    first = search.leaderboard.n_choosing_folds
    with Attempt(f"The cross-check with the {name} estimator") as attempt:
        for fold in search.folds[first : first + min(n_folds, _MAX_FOLDS)]:
            cells = fold.n_rows * (fold.space.base.shape[1] + kept.n_columns)
            if cells * search.n_scores > _MAX_CELLS or search.clock.left < 0.0:
                return None
            try:
                before.append(fold.score(ORIGINAL, model, search.scorer).score)
            except ScoringError:  # a scorer that this estimator does not serve
                return None
            after.append(fold.score(kept, model, search.scorer).score)
    return None if attempt.error else {"estimator": name, "before": before, "after": after}
