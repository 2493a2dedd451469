"""Which method to keep, and what that is worth: choosing is optimistic, so it is corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]

# One-sided levels at which a gain must be above nothing.
SURE = 0.85
PROVED = 0.7  # on further folds, which have not chosen it
VERY_SURE = 0.9  # where rows are few and there was no time for further folds
_CLOSE = 0.25  # standard errors within which fewer columns are as good
_ENOUGH = 0.998  # share of the best gain that fewer columns must reach to be as good


@dataclass(frozen=True, eq=False)
class Choice:
    """What was kept.

    Parameters
    ----------
    key : object
        The kept choice; None keeps the original columns only.
    gains : ndarray of shape (n_folds - n_first,)
        Gain of what the other folds would have chosen, in each fold that proves something: what
        choosing the best of several flatters is not in it.
    """

    key: Any
    gains: Array


def corrected_error(gains: Array, test_share: float) -> float:
    """Give the standard error of a mean over folds whose training rows overlap.

    Nadeau and Bengio (2003): the variance of a fold is multiplied by 1/n + test/train.
    """
    if len(gains) < 2:
        return float("nan")
    return float(np.sqrt(gains.var(ddof=1) * (1.0 / len(gains) + test_share)))


def is_above(gains: Array, test_share: float, level: float) -> bool:
    """Tell whether the mean of some gains is above nothing, at a one-sided level."""
    needed = float(student.ppf(level, len(gains) - 1))  # 1.2 for five folds, more for fewer
    return bool(gains.mean() > needed * corrected_error(gains, test_share))


def best_keys(gains: Mapping[Any, Array], sizes: Mapping[Any, int]) -> list[Any]:
    """Give the choices that are about as good as the best one, those with few columns first."""
    best = max(gains, key=lambda key: (gains[key].mean(), -sizes[key]))
    little = (1.0 - _ENOUGH) * max(0.0, float(gains[best].mean()))
    close = [best]
    for key, found in gains.items():
        behind = gains[best] - found
        noise = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else 0.0
        if key != best and behind.mean() <= max(_CLOSE * noise, little):
            close.append(key)
    return sorted(close, key=lambda key: (sizes[key], -gains[key].mean()))


def choose(
    gains: Mapping[Any, Array],
    sizes: Mapping[Any, int],
    test_share: float,
    n_first: int = 0,
    *,
    sure: float = SURE,
    reported: Mapping[Any, Array] | None = None,
) -> Choice:
    """Choose by the gains of all folds; None where no gain is clearly above its noise.

    Parameters
    ----------
    gains : mapping
        Paired differences to the original columns, fold by fold, of each choice.
    sizes : mapping
        Number of constructed columns of each.
    test_share : float
        Test rows of a fold over its training rows.
    n_first : int
        The first so many folds have chosen these choices among others, so they prove nothing.
    sure : float
        One-sided level at which the gain must be above nothing.
    reported : mapping, optional
        The same differences in what is reported, where that is not what choices are compared by.

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
        found = gains[key][n_first:]
        if is_above(found, test_share, sure):
            return True
        # A few folds that agree with very sure ones before them are enough.
        agree = n_proofs < n_first and found.mean() > 0.0
        return agree and is_above(gains[key], test_share, VERY_SURE)

    # One that varies wildly from fold to fold is near the best by chance alone: it is passed over.
    key = next((key for key in best_keys(gains, sizes) if is_sure(key)), None)
    if key is None:
        return nothing
    reported = gains if reported is None else reported
    honest = np.empty(n_proofs)
    for proof in range(n_proofs):
        fold = n_first + proof
        others = {other: np.delete(values, fold) for other, values in gains.items()}
        honest[proof] = reported[best_keys(others, sizes)[0]][fold]
    if honest.mean() <= 0.0:
        return nothing
    return Choice(key, honest)
