"""Weighted sums of a few columns, such as ``2 * a - b``: a linear boundary as one formula.

A model that splits columns one by one, or compares rows by all of them, needs many columns for what
one sum says. For a model that adds up its columns a sum is nothing new, but its bends, steps and
square are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.thresholded import with_thresholds
from featurewright.estimators.selection import normalized, pursue
from featurewright.expressions import Call, Column, Expression, Real, get_operator
from featurewright.expressions.numbers import number_code, number_text
from featurewright.expressions.simplify import simplify_call
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

MAX_TERMS = 5  # columns of a sum
_N_SUMS = 3  # of one target, one after the other
_MAX_SUMS = 10
_DIGITS = 2  # of a weight
_MIN_LIKENESS = 0.9999  # correlation with a sum of exact weights, for one digit to be enough
_MIN_SHARE = 0.02  # of what a sum explains, that each of its columns adds
_MAX_MISSING = 0.2  # share of rows in which a column of a sum may be missing
_LINEAR = ("add", "sub", "neg", "scaled", "shifted")
_SMALL, _LARGE = 1e-9, 1e12  # weights outside of these are unreadable


def find_sums(rows: EncodedTable, target: Matrix, max_terms: int = MAX_TERMS) -> list[Expression]:
    """Find sums of columns that explain a target by themselves, by forward selection.

    The column that explains most of what is left over joins the sum, and the weights are those of
    least squares, in units of the strongest column and rounded. Of two classes, one has sums; where
    there are no more, further sums explain the residuals of the first.

    Parameters
    ----------
    rows : EncodedTable
        Training rows.
    target : ndarray of shape (n_rows, n_targets)
        What is to be explained: numbers, or an indicator of each class.
    max_terms : int, default=5
        Largest number of columns of a sum.

    Returns
    -------
    list of Expression
        None where no sum of two columns or more is better than one column.

    Examples
    --------
    >>> from featurewright.tables import learn_schema
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = 2 * X[:, 1] - X[:, 3]
    >>> [str(found) for found in find_sums(EncodedTable(X, learn_schema(X)), y[:, np.newaxis])]
    ['x1 - 0.5 * x3']
    """
    columns, values = _usable_columns(rows)
    if len(columns) < 2 or max_terms < 2:
        return []
    targets = target[:, :1] if target.shape[1] == 2 else target[:, :_MAX_SUMS]
    n_each = _N_SUMS if targets.shape[1] == 1 else 1
    found: dict[Expression, None] = {}
    for number in range(targets.shape[1]):
        known = np.empty((len(values), 0))
        for _ in range(n_each):
            weights = _weigh(values, known, targets[:, [number]], min(max_terms, MAX_TERMS))
            if np.count_nonzero(weights) < 2:
                break
            found[_sum(columns, weights)] = None
            known = np.column_stack([known, values @ weights])
    return list(found)


def bent_sums(sums: Sequence[Expression], rows: EncodedTable) -> list[Expression]:
    """Return sums with thresholds and squared, which sums of columns do not say.

    Parameters
    ----------
    sums : sequence of Expression
        Results of `find_sums`.
    rows : EncodedTable
        Rows, near quantiles of which thresholds lie.

    Returns
    -------
    list of Expression
        Formulas.
    """
    found: list[Expression] = []
    for formula in sums:
        found.append(simplify_call(get_operator("square"), (formula,)))
        found += with_thresholds(formula, rows)
    return found


def is_sum(formula: Expression) -> bool:
    """Whether a formula adds up weighted columns, and does nothing else.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> is_sum(parse("2 * a - b + 1", "ab")), is_sum(parse("2 * a > b", "ab"))
    (True, False)
    """
    return formula.fold(
        lambda node: node.domain == Real,
        lambda node, found: node.operator.name in _LINEAR and all(found),
    )


def scaled(factor: float, formula: Expression) -> Expression:
    """Return a number times a formula, simplified."""
    code = number_code(factor)
    return simplify_call(get_operator("scaled"), (formula,), (code, number_text(code)))


def rounded(value: float, digits: int = _DIGITS) -> float:
    """Return a number with few digits."""
    return float(f"{value:.{digits - 1}e}")


def _usable_columns(rows: EncodedTable) -> tuple[list[Column], Matrix]:
    """Return the columns of numbers that are mostly known and vary, and their values, filled."""
    schema = rows.schema
    columns, values = [], []
    for place in np.flatnonzero(schema.domains == Real):
        own = np.asarray(rows.matrix[:, place], np.float64)
        known = np.isfinite(own)
        if known.mean() < 1.0 - _MAX_MISSING:
            continue
        own = np.where(known, own, np.median(own[known]))
        spread = float(np.std(own / max(1.0, np.abs(own).max()))) * max(1.0, np.abs(own).max())
        if spread > 0.0 and np.isfinite(spread):
            columns.append(Column(int(place), schema.names[place], Real))
            values.append(own)
    return columns, np.column_stack(values) if values else np.empty((len(rows.matrix), 0))


def _weigh(values: Matrix, known: Matrix, target: Matrix, wanted: int) -> Matrix:
    """Return the weights of columns in one sum, 0 for most, beside sums that are known."""
    weights = np.zeros(values.shape[1])
    chosen, shares = pursue(known, values, target, wanted)
    by_chance = 2.0 * np.log(values.shape[1] + 1.0) / len(values)  # the best of columns of noise
    chosen = chosen[shares >= max(_MIN_SHARE * shares.sum(), by_chance)]
    if len(chosen) < 2:
        return weights
    centre, spread = values[:, chosen].mean(axis=0), values[:, chosen].std(axis=0)
    if not (np.isfinite(spread) & (spread > 0.0)).all():
        return weights
    both = np.column_stack([(values[:, chosen] - centre) / spread, normalized(known)])
    solved = np.linalg.lstsq(both, target - target.mean(axis=0), rcond=None)[0][: len(chosen), 0]
    own = solved / spread
    own = own / own[np.argmax(np.abs(solved))]
    if (np.abs(own) < _SMALL).any() or (np.abs(own) > _LARGE).any():
        return weights
    few = np.array([rounded(weight, 1) for weight in own])
    # Fewer digits are easier to read, and the same for more samples of rows.
    alike = normalized(values[:, chosen] @ np.column_stack([few, own]))
    enough = alike[:, 0] @ alike[:, 1] >= _MIN_LIKENESS
    weights[chosen] = few if enough else [rounded(weight) for weight in own]
    return weights


def _sum(columns: Sequence[Column], weights: Matrix) -> Expression:
    """Return a sum of columns: the ones with a weight of one first, those with a minus later."""
    terms = [(float(weights[k]), columns[k]) for k in np.flatnonzero(weights).tolist()]
    terms.sort(key=lambda term: (term[0] < 0.0, term[0] != 1.0))
    made = scaled(*terms[0])
    for weight, column in terms[1:]:
        name = "add" if weight > 0.0 else "sub"
        made = Call(get_operator(name), (made, scaled(abs(weight), column)))
    return made
