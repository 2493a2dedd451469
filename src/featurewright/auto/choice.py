"""The choice among candidates by their gains, and its gain without the bias of choosing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]

# One-sided confidence levels at which a gain must be above zero.
SURE = 0.85
PROVED = 0.75  # on further folds, which have not chosen the candidate
OVERALL = 0.8  # on all folds, where some have chosen it and others have not
VERY_SURE = 0.9  # where rows are few and there was no time for further folds
BEYOND_LUCK = 0.995  # on the folds that have chosen it, among dozens of others
NO_DOUBT = 0.999  # on them too, above which no further folds are needed
_CLOSE_ERRORS = 0.25  # standard errors within which fewer columns of others are as good
# Standard errors within which fewer columns of the same methods, and readable ones, are as good.
_OWN_ERRORS = 1.0
_OWN_SHARE = 0.95  # of the best gain, below which they are not, however large the errors
_FEW_FOLDS = 2  # up to here, one fold alone says nothing of how sure a candidate is
_CLOSE_SHARE = 0.998  # of the best gain, above which fewer columns are as good


@dataclass(frozen=True, eq=False)
class Choice:
    """What was kept.

    Parameters
    ----------
    key : object
        The candidate that is kept; None keeps the original columns only.
    gains : ndarray of shape (n_folds - n_first,)
        In each fold that was not used to choose the candidates, the gain of what the other folds
        would have chosen: it is free of the bias of choosing the best of several.
    """

    key: Any
    gains: Array


def corrected_error(gains: Array, test_share: float) -> float:
    """Return the standard error of a mean over folds whose training rows overlap.

    Nadeau and Bengio (2003): the variance of a fold is multiplied by 1/n + test/train.
    """
    if len(gains) < 2:
        return float("nan")
    return float(np.sqrt(gains.var(ddof=1) * (1.0 / len(gains) + test_share)))


def is_above(gains: Array, test_share: float, level: float) -> bool:
    """Whether the mean of some gains is above zero, at a one-sided confidence level."""
    return bool(gains.mean() > _needed(level, len(gains)) * corrected_error(gains, test_share))


def holds(gains: Array, test_share: float, n_asked: int) -> bool:
    """Whether gains with more rows hold: one is enough where few folds were asked for."""
    if n_asked or len(gains) < 2:
        return bool(gains.mean() > 0.0)
    return is_above(gains, test_share, PROVED)


@cache
def _needed(level: float, n_folds: int) -> float:
    """Return the standard errors that a mean must be above: 1.2 for five folds, more for fewer."""
    return float(student.ppf(level, n_folds - 1))


def best_keys(
    gains: Mapping[Any, Array],
    sizes: Mapping[Any, int],
    kinds: Mapping[Any, Any] | None = None,
    readable: Collection[Any] = (),
) -> list[Any]:
    """Return the candidates that are about as good as the best: readable ones first, then short.

    Of the same kind as the best, a candidate may be behind by one standard error of the paired
    difference, and by a twentieth of the gain, and so may a readable one where the best is not; of
    other kinds, by a quarter of a standard error.
    """
    best = max(gains, key=lambda key: (gains[key].mean(), -sizes[key]))
    little = (1.0 - _CLOSE_SHARE) * max(0.0, float(gains[best].mean()))
    close = [best]
    for key, found in gains.items():
        behind = gains[best] - found
        noise = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else 0.0
        alike = kinds is not None and kinds[key] == kinds[best]
        allowed = _CLOSE_ERRORS * noise
        if alike or (key in readable and best not in readable):
            # One fold says nothing of noise: the share of the gain alone counts.
            errors = _OWN_ERRORS * noise if len(behind) > 1 else np.inf
            allowed = min(errors, (1.0 - _OWN_SHARE) * max(0.0, gains[best].mean()))
        if key != best and behind.mean() <= max(allowed, little):
            close.append(key)
    return sorted(close, key=lambda key: (key not in readable, sizes[key], -gains[key].mean()))


def choose(
    gains: Mapping[Any, Array],
    sizes: Mapping[Any, int],
    test_share: float,
    n_first: int = 0,
    *,
    sure: float = SURE,
    reported: Mapping[Any, Array] | None = None,
    kinds: Mapping[Any, Any] | None = None,
    readable: Collection[Any] = (),
    over_constant: Mapping[Any, Array] | None = None,
) -> Choice:
    """Choose a candidate by the gains of all folds; none where no gain is clearly above its noise.

    Parameters
    ----------
    gains : mapping
        Paired differences to the original columns by fold, of each candidate.
    sizes : mapping
        Number of constructed columns of each.
    test_share : float
        Test rows of a fold over its training rows.
    n_first : int
        Number of first folds that chose these candidates among others, and so prove nothing.
    sure : float
        One-sided confidence level at which the gain must be above zero.
    reported : mapping, optional
        The same differences in what is reported, where candidates are compared by something else.
    kinds : mapping, optional
        What makes candidates alike but for their number of columns.
    readable : collection
        Candidates of formulas alone. They are chosen among themselves where no other holds, so
        that offering further methods takes nothing away.
    over_constant : mapping, optional
        Differences to a model that predicts the same for every row. Where they are not above zero
        too, there is nothing to find: a model that was worse than a constant is less so.

    Returns
    -------
    Choice
        What is kept.

    Examples
    --------
    >>> gains = {"a": np.array([0.1, 0.12, 0.09]), "b": np.array([-0.1, 0.2, 0.0])}
    >>> choice = choose(gains, {"a": 5, "b": 5}, 0.5)
    >>> choice.key, choice.gains.round(2).tolist()
    ('a', [0.1, 0.12, 0.09])
    """
    n_folds = len(next(iter(gains.values()))) if gains else 0
    n_proofs = n_folds - n_first
    nothing = Choice(None, np.zeros(max(0, n_proofs)))
    if n_proofs < 2:
        return nothing

    def is_sure(key: Any) -> bool:
        if over_constant is not None and not is_above(
            over_constant[key][n_first:], test_share, sure
        ):
            return False
        if n_first and not is_above(gains[key], test_share, OVERALL):
            return False
        found = gains[key][n_first:]
        if is_above(found, test_share, sure):
            return True
        # A few folds that agree with very sure ones before them are enough.
        agree = n_proofs < n_first and found.mean() > 0.0
        return agree and is_above(gains[key], test_share, VERY_SURE)

    def first_sure(listed: list[Any], found: Mapping[Any, Array]) -> Any:
        """Return the first candidate that other folds would have kept, else the first."""
        enough = (key for key in listed if is_above(found[key], test_share, sure))
        return next(enough, listed[0]) if n_folds > _FEW_FOLDS else listed[0]

    reported = gains if reported is None else reported
    formulas = {key: found for key, found in gains.items() if key in readable}
    for pool in (gains, formulas):
        if not pool:
            continue
        # One that varies wildly from fold to fold is near the best by chance: it is passed over.
        listed = best_keys(pool, sizes, kinds, readable)
        key = next((key for key in listed if is_sure(key)), None)
        if key is None:
            continue
        honest, unbiased = np.empty((2, n_proofs))
        for proof in range(n_proofs):
            fold = n_first + proof
            others = {other: np.delete(values, fold) for other, values in pool.items()}
            best = first_sure(best_keys(others, sizes, kinds, readable), others)
            honest[proof], unbiased[proof] = reported[best][fold], gains[best][fold]
        # Where the same folds choose and prove, the best of many is above zero by luck.
        proved = (
            n_first > 0
            or is_above(unbiased, test_share, PROVED)
            or is_above(gains[key], test_share, BEYOND_LUCK)
        )
        if proved and honest.mean() > 0.0:
            return Choice(key, honest)
    return nothing
