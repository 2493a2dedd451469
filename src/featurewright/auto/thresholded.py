"""Formulas with a threshold: hinges, as in ``max(a * b, 2.5)``, and steps, as in ``a > 3``.

Sums of them follow any curve, which sums of smooth formulas do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featurewright.estimators.selection import pursue
from featurewright.expressions import (
    Boolean,
    Call,
    Expression,
    Feature,
    Operator,
    get_operator,
)
from featurewright.expressions.numbers import DIGITS, number_code, number_text
from featurewright.tables import EncodedTable

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
    defined = values[np.isfinite(values)]
    known = np.unique(defined)
    if len(known) < 2:
        return []
    middles = np.quantile(defined, _QUANTILES)
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
    defined = np.isfinite(values).mean(axis=0) >= _MIN_DEFINED_SHARE
    plain = [_Option(int(place)) for place in np.flatnonzero(defined)]
    codes = {
        option.place: [number_code(number) for number in choose_thresholds(values[:, option.place])]
        for option in plain
        if features[option.place].expression.domain != Boolean
    }
    hinges, steps = (
        [_Option(place, operator, code) for place, own in codes.items() for code in own]
        for operator in (get_operator("at_least"), get_operator("over"))
    )
    sizes = {option.place: features[option.place].expression.size for option in plain}
    chosen = []
    for pool, wanted in (([*plain, *hinges], n_hinges), (steps, n_steps)):
        if pool and wanted:
            columns = np.column_stack([option.values(values) for option in pool])
            n_symbols = [sizes[option.place] + (option.operator is not None) for option in pool]
            worth = _WORTH_PER_SYMBOL ** np.array(n_symbols)
            places, shares = pursue(known[rows], columns, target[rows], wanted, worth)
            chosen += [
                replace(pool[k].feature(features), gain=float(share))
                for k, share in zip(places, shares, strict=True)
            ]
    return chosen


class _Option(NamedTuple):
    """A formula, with a threshold or without; the formula is written only if it is selected."""

    place: int
    operator: Operator | None = None
    code: int = 0

    def values(self, values: Matrix) -> Matrix:
        """Return its values from those of all formulas; undefined is the median."""
        column = values[:, self.place]
        if self.operator is not None:
            column = self.operator.reference(column, parameter=self.code)
        holes = ~np.isfinite(column)
        return np.where(holes, np.median(column[~holes]), column) if holes.any() else column

    def feature(self, features: Sequence[Feature]) -> Feature:
        """Return it as a feature."""
        feature = features[self.place]
        if self.operator is None:
            return feature
        parameter = self.code, number_text(self.code)
        call = Call(self.operator, (feature.expression,), parameter)
        return Feature.of(call, count=feature.count)


def with_thresholds(formula: Expression, rows: EncodedTable) -> list[Expression]:
    """Return a formula bent at numbers from both sides, and its steps there.

    Parameters
    ----------
    formula : Expression
        The formula.
    rows : EncodedTable
        Rows, near quantiles of which the numbers lie.

    Returns
    -------
    list of Expression
        None for a formula that is true or false, or has a threshold already.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> from featurewright.tables import learn_schema
    >>> X = np.arange(100.0)[:, np.newaxis]
    >>> found = with_thresholds(parse("square(x0)", ["x0"]), EncodedTable(X, learn_schema(X)))
    >>> [str(bent) for bent in found[:3]]
    ['max(square(x0), 40)', 'min(square(x0), 40)', 'square(x0) > 40']
    """
    if formula.domain == Boolean or (isinstance(formula, Call) and formula.parameter is not None):
        return []
    values = formula.evaluate(rows.matrix)
    numbers = choose_thresholds(values)[::2]
    if np.nanmin(values, initial=np.inf) < 0.0 < np.nanmax(values, initial=-np.inf):
        numbers.append(0.0)  # the sign
    codes = [number_code(number) for number in numbers]
    return [
        Call(get_operator(name), (formula,), (code, number_text(code)))
        for code in codes
        for name in ("at_least", "at_most", "over")
    ]
