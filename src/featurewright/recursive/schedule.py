"""How many columns each recursion leaves."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from numbers import Real
from typing import Any

import numpy as np

from featurewright.estimators.parameters import whole_number

MOST_RECURSIONS = 20  # tried when the number is chosen by a validation part
LEAST_COLUMNS = 2  # the published schedules end here
_MOST_BYTES = 2**31  # that all matrices together may take
STRONG_SHARE = 6 / 7  # of the columns left, those that come from the first step


def plan_sizes(n_columns: int, keep: Any, n_recursions: Any) -> list[int]:
    """Give the number of columns after each recursion.

    Parameters
    ----------
    n_columns : int
        Columns to begin with.
    keep : "auto", float or sequence of int
        The published sizes, a share of the columns, or the sizes themselves.
    n_recursions : int or "auto"
        How many at most.

    Returns
    -------
    list of int
        One size for each recursion; it may be shorter than asked for.

    Examples
    --------
    >>> plan_sizes(93, "auto", 6)
    [80, 68, 58, 49, 41, 34]
    >>> plan_sizes(10, 0.5, 6)
    [5, 2]
    """
    most = MOST_RECURSIONS
    if not (isinstance(n_recursions, str) and n_recursions == "auto"):
        most = whole_number("n_recursions", n_recursions, 0, other="'auto'")
    if isinstance(keep, Sequence | np.ndarray) and not isinstance(keep, str):
        return _check_sizes(keep, n_columns)[:most]
    sizes: list[int] = []
    size = n_columns
    # A table that begins with so few columns still gets one recursion, which keeps them all.
    while len(sizes) < most and (size > LEAST_COLUMNS or not sizes):
        size = max(_next_size(size, keep), min(size, LEAST_COLUMNS))
        sizes.append(size)
    return sizes


def check_memory(n_columns: int, sizes: Sequence[int], n_problems: int, n_parts: int) -> None:
    """Refuse tables whose matrices would fill the memory.

    Parameters
    ----------
    n_columns : int
        Columns of the scaled table.
    sizes : sequence of int
        Columns after each recursion.
    n_problems : int
        Matrices learned side by side.
    n_parts : int
        Training parts that each have such matrices while the number of recursions is chosen; 0
        where it is given.
    """
    # A choice may fall on no recursion, whose matrix has all columns.
    n_kept = sizes[0] * max(1, n_parts) if sizes else n_columns
    if n_parts:
        n_kept = max(n_kept, n_columns)
    n_bytes = n_problems * n_columns * n_kept * np.dtype(np.float64).itemsize
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"X has {n_columns} columns (a category has one for each level), for which the "
            f"matrices of {n_problems} problems need {n_bytes / 2**30:.1f} GB, but at most "
            f"{_MOST_BYTES / 2**30:.0f} GB are used: keep fewer columns, as in "
            "n_recursions=1, keep=(50,), or select some first."
        )


def split_size(size: int) -> tuple[int, int]:
    """Part the columns of a recursion into those of the first and of the second step."""
    strong = ceil(STRONG_SHARE * size)
    return strong, size - strong


def _next_size(size: int, keep: Any) -> int:
    """Give the number of columns after one recursion."""
    if isinstance(keep, str) and keep == "auto":
        # Each of the two steps gives up one column besides its share, as published.
        return ceil(0.875 * size) - 2
    if isinstance(keep, Real) and not isinstance(keep, bool) and 0.0 < float(keep) <= 1.0:
        return floor(float(keep) * size)
    raise ValueError(
        f"keep={keep!r} must be 'auto', a share in (0, 1], or a sequence of sizes such as (30, 10)."
    )


def _check_sizes(keep: Any, n_columns: int) -> list[int]:
    """Check the sizes of an explicit schedule."""
    sizes = [whole_number("a size in keep", size, 1) for size in keep]
    if not sizes:
        raise ValueError("keep is empty: give a size for each recursion, a share, or 'auto'.")
    for before, after in zip([n_columns, *sizes], sizes, strict=False):
        if after > before:
            raise ValueError(
                f"keep={list(sizes)!r} asks for {after} columns where only {before} are left; "
                "give sizes that do not grow."
            )
    return sizes
