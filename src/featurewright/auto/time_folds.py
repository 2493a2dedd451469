"""Folds in the order of time: what is held out is later than all that is learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import TimeSeriesSplit

from featurewright.relations import Link
from featurewright.relations.linked import read_times

Times = NDArray[np.float64]

N_FOLDS = 5
"""Folds in the order of time, where none are asked for: periods differ more than random rows do."""
_FIRST_SHARE = 0.5  # of the rows, that every fold learns from


def are_later(cv: Any, given: Any) -> bool:
    """Whether folds are later than what they learn from; `given` is what the user asked for."""
    return isinstance(cv, TimeSeriesSplit) or (isinstance(cv, list) and cv is not given)


def check_as_of(value: Any) -> None:
    """Refuse what is no name of a column of times."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"as_of={value!r} must be the name of a column of X, or None.")


def row_times(X: Any, as_of: str | None, links: Sequence[Link]) -> Times | None:
    """Return the times of rows, by which folds are made; None where they have none.

    Without `as_of`, the time of the first link to earlier rows of the same table counts.
    """
    own = [link.time for link in links if link.kind.value == "history"]
    name = as_of if as_of is not None else next(iter(own), None)
    if name is None:
        return None
    if not nw.dependencies.is_into_dataframe(X):
        raise TypeError(
            f"X is an array, but as_of={name!r} is the name of a column: pass a data frame of "
            "pandas, polars or PyArrow."
        )
    times = read_times(nw.from_native(X, eager_only=True), name, "X").values
    n_missing = int(np.count_nonzero(~np.isfinite(times)))
    if n_missing:
        raise ValueError(
            f"Column {name!r} of X has {n_missing} missing times, but every row needs the time at "
            "which it is predicted: fill them, or leave these rows out."
        )
    return times


def longest_delay(links: Sequence[Link]) -> float:
    """Return how long after their times the targets of rows are known, as their links say it."""
    return max((link.target_delay or 0.0 for link in links), default=0.0)


def split_by_time(
    times: Times, n_folds: int, groups: NDArray[Any] | None, seed: int, delay: float = 0.0
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None:
    """Return folds whose held-out rows are later than their training rows.

    The later half of the rows is cut into as many parts as there are folds, never between equal
    times; each is held out once, with all earlier rows to learn from. Where there are groups, a
    random share of them is held out, and the others are learned from.

    Parameters
    ----------
    times : ndarray of shape (n_rows,)
        Times of the rows.
    n_folds : int
        Number of folds; where there are fewer distinct times, there are fewer.
    groups : ndarray of shape (n_rows,) or None
        Rows of one group are never on both sides.
    seed : int
        Seed of the choice of groups.
    delay : float, default=0.0
        How long after its time the target of a row is known: nothing is learned from rows whose
        target was not known before the first held-out row.

    Returns
    -------
    list of (train, test) or None
        Row numbers, the latest part first; None where all times are equal, and there is no order.

    Examples
    --------
    >>> times = np.array([3.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 3.0])
    >>> for train, test in split_by_time(times, 2, None, 0):
    ...     print(train, test)
    [0 1 2 4 5 7] [3 6]
    [1 2 4 5] [0 7]
    """
    moments, places, counts = np.unique(times, return_inverse=True, return_counts=True)
    if len(moments) < 2:
        return None
    middle = (np.cumsum(counts) - counts / 2.0) / len(times)
    late = np.maximum(0.0, middle - _FIRST_SHARE) / (1.0 - _FIRST_SHARE)
    _, parts = np.unique(np.where(late > 0, 1 + np.floor(late * n_folds), 0), return_inverse=True)
    if parts.max() == 0:  # nearly all rows have the first time, or the last one
        parts = (np.arange(len(moments)) > 0).astype(np.intp)
    part = parts[places]
    held_out = np.zeros(len(times), np.intp)
    n_shares = 1
    if groups is not None:
        named, codes = np.unique(groups, return_inverse=True)
        if len(named) < 2:
            raise ValueError(
                "groups has one group only, but two or more are needed: one is held out."
            )
        n_shares = max(2, min(int(part.max()), len(named)))
        held_out = (np.random.default_rng(seed).permutation(len(named)) % n_shares)[codes]
    folds = []
    for latest in range(int(part.max()), 0, -1):
        mine = held_out == latest % n_shares
        # Without groups all rows are in one share, which is on both sides.
        train = (part < latest) & (~mine if groups is not None else True)
        if delay:
            train &= times + delay <= times[part == latest].min()
        folds.append((np.flatnonzero(train), np.flatnonzero((part == latest) & mine)))
    if not any(len(train) for train, _ in folds):
        raise ValueError(
            f"target_delay={delay:g} of a link is as long as the rows' times last: no target is "
            "known before later rows, so none can be predicted."
        )
    return [fold for fold in folds if len(fold[0])]
