"""Search budgets, absolute or as a multiple of the number of columns."""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Integral

_MULTIPLE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*n\s*")
_MOST = 2**31 - 1


def parse_budget(budget: int | str, n_columns: int, name: str = "budget") -> int:
    """Return the number of candidates a budget stands for.

    Parameters
    ----------
    budget : int or str
        A number of candidates, or a multiple of the number of columns such as ``"10n"``.
    n_columns : int
        Number of columns.
    name : str, default="budget"
        What errors call it.

    Returns
    -------
    int
        At least 1; a fraction of a candidate is dropped.

    Examples
    --------
    >>> parse_budget(200, 7), parse_budget("10n", 7), parse_budget("3.5n", 7)
    (200, 70, 24)
    """
    expected = "an integer of at least 1 or a multiple of the number of columns such as '10n'"
    if isinstance(budget, Integral) and not isinstance(budget, bool):
        if budget < 1:
            raise ValueError(f"{name} must be {expected}, got {budget}; give a larger one.")
        return _within_reach(int(budget), name)
    if not isinstance(budget, str):
        raise TypeError(f"{name} must be {expected}, got {budget!r}; change it.")
    match = _MULTIPLE.fullmatch(budget)
    if match is None:
        raise ValueError(f"{name} must be {expected}, got {budget!r}; change it.")
    factor = Decimal(match[1])  # in binary, "0.29n" of 100 columns would fall short of 29
    if factor == 0:
        raise ValueError(f"{name} must be {expected}, got {budget!r}; give a larger one.")
    return _within_reach(max(1, int(factor * n_columns)), name)


def _within_reach(budget: int, name: str) -> int:
    """Return a budget that is not too large to count."""
    if budget > _MOST:
        raise ValueError(f"{name} is {budget:,} candidates, but at most {_MOST:,} can be counted.")
    return budget
