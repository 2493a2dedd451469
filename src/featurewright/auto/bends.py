"""Formulas that change at a number: bends, as in ``max(a * b, 2.5)``, and steps, as in ``a > 3``.

Sums of them follow any curve, which a linear model of smooth formulas cannot.
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

_SMALL, _LARGE = 1e-9, 1e12  # numbers that people still read
_LEAST_KNOWN = 0.5  # share of the rows that a formula must be defined for
_ROWS = 2_000  # rows by which formulas are compared
_PER_SYMBOL = 0.98  # a longer formula must explain so much more
_PLACES = np.arange(1, 16) / 16  # quantiles near which formulas bend


def places_of(values: Matrix) -> list[float]:
    """Choose numbers near quantiles, each with as few digits as part the same values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Values of a formula, NaN where it is undefined.

    Returns
    -------
    list of float
        Numbers between two values, in order, each once.

    Examples
    --------
    >>> places_of(np.arange(1000.0))[:4]
    [62.0, 124.0, 187.5, 249.5]
    >>> places_of(np.array([0.0, 1.0, 1.0]))
    [0.5]
    """
    known = np.unique(values[np.isfinite(values)])
    if len(known) < 2:
        return []
    middles = np.nanquantile(values[np.isfinite(values)], _PLACES)
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


def bend(
    features: Sequence[Feature],
    values: Matrix,
    known: Matrix,
    target: Matrix,
    *,
    n_bends: int,
    n_steps: int,
) -> list[Feature]:
    """Give the formulas and bends, and then the steps, that explain most of what is left.

    Parameters
    ----------
    features : sequence of Feature
        Formulas.
    values : ndarray of shape (n_rows, n_features)
        Their values, NaN where undefined.
    known : ndarray of shape (n_rows, n_columns)
        Columns that explain first.
    target : ndarray of shape (n_rows, n_targets)
        What is to be explained.
    n_bends, n_steps : int
        The most formulas and bends, and the most steps.

    Returns
    -------
    list of Feature
        The best first, bends before steps; the gain is the share of the target that each explained
        beyond those before.
    """
    rows = slice(None, None, max(1, len(values) // _ROWS))
    values = values[rows]
    sound = [
        (k, feature)
        for k, feature in enumerate(features)
        if np.isfinite(values[:, k]).mean() >= _LEAST_KNOWN
    ]
    bends = [*sound, *_cut("at_least", sound, values)]
    steps = list(_cut("over", sound, values))
    chosen = []
    for pool, wanted in ((bends, n_bends), (steps, n_steps)):
        if pool and wanted:
            columns = np.column_stack([_values(feature, values[:, k]) for k, feature in pool])
            worth = _PER_SYMBOL ** np.array([feature.expression.size for _, feature in pool])
            places, shares = pursue(known[rows], columns, target[rows], wanted, worth)
            chosen += [
                replace(pool[k][1], gain=float(share))
                for k, share in zip(places, shares, strict=True)
            ]
    return chosen


def _cut(
    name: str, features: Sequence[tuple[int, Feature]], values: Matrix
) -> Iterator[tuple[int, Feature]]:
    """Cut formulas at numbers; give each with the place of what it is made from."""
    operator = get_operator(name)
    for k, feature in features:
        if feature.expression.domain == Boolean:
            continue
        for number in places_of(values[:, k]):
            code = number_code(number)
            call = Call(operator, (feature.expression,), (code, number_text(code)))
            yield k, Feature.of(call, count=feature.count)


def _values(feature: Feature, values: Matrix) -> Matrix:
    """Give the values of a formula, cut or not, from those before; the median where undefined."""
    expression = feature.expression
    if isinstance(expression, Call) and expression.operator.has_number:
        values = expression.operator.reference(values, parameter=expression.code)
    holes = ~np.isfinite(values)
    return np.where(holes, np.median(values[~holes]), values) if holes.any() else values
