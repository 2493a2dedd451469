"""Formulas with a threshold: hinges, as in ``max(a * b, 2.5)``, and steps, as in ``a > 3``.

Sums of them follow any curve, which sums of smooth formulas do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.selection import pursue
from featurewright.expressions import Boolean, Call, Feature, get_operator
from featurewright.expressions.numbers import DIGITS, number_code, number_text

Matrix = NDArray[np.float64]

_SMALL, _LARGE = 1e-9, 1e12  # thresholds outside of these are unreadable
_MIN_DEFINED_SHARE = 0.5  # of the rows, for a formula to be considered
_MAX_ROWS = 2_000  # rows on which formulas are compared, about
_WORTH_PER_SYMBOL = 0.98  # factor by which each symbol lowers the worth of a formula
_QUANTILES = np.arange(1, 16) / 16  # near which thresholds lie


def choose_thresholds(values: Matrix) -> list[float]:
    """Choose thresholds near quantiles, each with as few digits as separate the same values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Values of a formula, NaN where it is undefined.

    Returns
    -------
    list of float
        Numbers between two values, in increasing order.

    Examples
    --------
    >>> choose_thresholds(np.arange(1000.0))[:4]
    [62.0, 124.0, 187.5, 249.5]
    >>> choose_thresholds(np.array([0.0, 1.0, 1.0]))
    [0.5]
    """
    known = np.unique(values[np.isfinite(values)])
    if len(known) < 2:
        return []
    middles = np.nanquantile(values[np.isfinite(values)], _QUANTILES)
    found = set()
    for middle in middles:
        at = min(int(np.searchsorted(known, middle, side="right")), len(known) - 1)
        below, above = known[max(at - 1, 0)], known[at]
        for digits in range(1, DIGITS + 1):
            number = float(f"{(below + above) / 2:.{digits - 1}e}")
            if below <= number < above:
                break
        if known[0] <= number < known[-1] and (number == 0.0 or _SMALL <= abs(number) <= _LARGE):
            found.add(number)
    return sorted(found)


def select_thresholded(
    features: Sequence[Feature],
    values: Matrix,
    known: Matrix,
    target: Matrix,
    *,
    n_hinges: int,
    n_steps: int,
) -> list[Feature]:
    """Select formulas and hinges, and then steps, by what they explain beyond known columns.

    Parameters
    ----------
    features : sequence of Feature
        Formulas.
    values : ndarray of shape (n_rows, n_features)
        Their values, NaN where undefined.
    known : ndarray of shape (n_rows, n_columns)
        Columns whose explanation comes first.
    target : ndarray of shape (n_rows, n_targets)
        What is to be explained.
    n_hinges, n_steps : int
        Largest number of formulas and hinges, and of steps.

    Returns
    -------
    list of Feature
        The best first, hinges before steps; the gain is the share of the target that each explains
        beyond those before.
    """
    rows = slice(None, None, max(1, len(values) // _MAX_ROWS))
    values = values[rows]
    sound = [
        (k, feature)
        for k, feature in enumerate(features)
        if np.isfinite(values[:, k]).mean() >= _MIN_DEFINED_SHARE
    ]
    hinges = [*sound, *_with_thresholds("at_least", sound, values)]
    steps = list(_with_thresholds("over", sound, values))
    chosen = []
    for pool, wanted in ((hinges, n_hinges), (steps, n_steps)):
        if pool and wanted:
            columns = np.column_stack([_values(feature, values[:, k]) for k, feature in pool])
            worth = _WORTH_PER_SYMBOL ** np.array([feature.expression.size for _, feature in pool])
            places, shares = pursue(known[rows], columns, target[rows], wanted, worth)
            chosen += [
                replace(pool[k][1], gain=float(share))
                for k, share in zip(places, shares, strict=True)
            ]
    return chosen


def _with_thresholds(
    name: str, features: Sequence[tuple[int, Feature]], values: Matrix
) -> Iterator[tuple[int, Feature]]:
    """Yield formulas with a threshold, each with the position of the formula it is made from."""
    operator = get_operator(name)
    for k, feature in features:
        if feature.expression.domain == Boolean:
            continue
        for number in choose_thresholds(values[:, k]):
            code = number_code(number)
            call = Call(operator, (feature.expression,), (code, number_text(code)))
            yield k, Feature.of(call, count=feature.count)


def _values(feature: Feature, values: Matrix) -> Matrix:
    """Return the values of a formula from those without its threshold; undefined is the median."""
    expression = feature.expression
    if isinstance(expression, Call) and expression.operator.has_number:
        values = expression.operator.reference(values, parameter=expression.code)
    holes = ~np.isfinite(values)
    return np.where(holes, np.median(values[~holes]), values) if holes.any() else values
