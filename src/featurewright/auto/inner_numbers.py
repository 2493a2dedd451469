"""Numbers inside formulas: ``square(a - 3)``, ``b / (a + 1)``, ``a < 2 * b``.

A number is tried at few places of a scale that the rows give, and then nearby: a line search whose
steps are the changes of a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.sums import rounded, scaled
from featurewright.expressions import Boolean, Call, Column, Expression, get_operator
from featurewright.expressions.numbers import LARGEST, number_code, number_text
from featurewright.expressions.simplify import simplify_call
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

# Where a number changes more than the scale of a formula. The place of the operand that gets it: in
# a comparison one is enough.
_SHIFTED = {
    **dict.fromkeys(("log", "sqrt", "square", "abs", "reciprocal"), 0),
    **dict.fromkeys(("div", "less", "less_equal", "min", "max", "gaussian"), 1),
}
_WEIGHED = ("less", "less_equal", "min", "max", "gaussian")
_SUMS = ("add", "sub")  # weighed inside of something else
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
_WEIGHTS = (0.25, 0.5, 2.0, 4.0)  # in units of the operands' scales
_STEPS = (0.5, 0.7, 0.9, 1.1, 1.4, 2.0)  # from a number to those near it
_MIN_SHIFT = 0.1  # in units of the spread: less is no shift
_MAX_RATIO_COLUMNS = 8


def with_numbers(formula: Expression, rows: EncodedTable) -> list[Expression]:
    """Return a formula with one number more, or another number in the place of one.

    Parameters
    ----------
    formula : Expression
        The formula.
    rows : EncodedTable
        Rows that give the scale of numbers.

    Returns
    -------
    list of Expression
        Simplified, each once. Numbers have two digits at most.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> from featurewright.tables import learn_schema
    >>> X = np.arange(101.0)[:, np.newaxis]
    >>> found = with_numbers(parse("square(x0)", ["x0"]), EncodedTable(X, learn_schema(X)))
    >>> [str(other) for other in found]
    ['square(x0 - 10)', 'square(x0 - 30)', 'square(x0 - 50)', 'square(x0 - 70)', 'square(x0 - 90)']
    """
    found = dict.fromkeys(_variants(formula, rows, inside=False))
    return [other for other in found if other != formula]


def safe_ratios(columns: Sequence[Column], rows: EncodedTable) -> list[Expression]:
    """Return ratios whose divisor is never near 0, and logarithms of counts from 0 on.

    Parameters
    ----------
    columns : sequence of Column
        Columns of numbers, of which the first few are used.
    rows : EncodedTable
        Rows that give the scale of numbers.

    Returns
    -------
    list of Expression
        ``a / (square(b) + 2)``; ``a / (b + 2)`` and ``log(b + 2)`` where b is not negative.
    """
    found: list[Expression] = []
    for divisor in columns[:_MAX_RATIO_COLUMNS]:
        own = np.asarray(rows.matrix[:, divisor.index], np.float64)
        own = own[np.isfinite(own)]
        spread = _spread(own)
        if spread == 0.0:
            continue
        forms: list[Expression] = [
            _shifted(simplify_call(get_operator("square"), (divisor,)), rounded(spread**2, 1))
        ]
        if own.min() >= 0.0:
            forms.append(_shifted(divisor, rounded(spread, 1)))
            found.append(simplify_call(get_operator("log"), (forms[-1],)))
        for form in forms:
            found += [
                simplify_call(get_operator("div"), (column, form))
                for column in columns[:_MAX_RATIO_COLUMNS]
                if column != divisor
            ]
    return found


def _variants(node: Expression, rows: EncodedTable, *, inside: bool) -> Iterator[Expression]:
    """Yield an expression with one number more or another; inside of another operator or not."""
    if not isinstance(node, Call):
        return
    name = node.operator.name
    if name in _SHIFTED:
        place = _SHIFTED[name]
        for other in _shifts(node, rows, place):
            yield _replaced(node, place, other)
    if name in _WEIGHED or (name in _SUMS and inside):
        for place in (0, 1):  # the second one, unless the first has a number already
            if place == 1 or _number(node.arguments[0], "scaled") is not None:
                for other in _weights(node, rows, place):
                    yield _replaced(node, place, other)
    for place, argument in enumerate(node.arguments):
        for other in _variants(argument, rows, inside=inside or name not in _SUMS):
            yield _replaced(node, place, other)


def _shifts(node: Call, rows: EncodedTable, place: int) -> Iterator[Expression]:
    """Yield an operand of a node with another constant added."""
    operand = node.arguments[place]
    if operand.domain == Boolean:
        return
    number = _number(operand, "shifted")
    if number is not None and isinstance(operand, Call):
        for value in _near(number):
            yield _shifted(operand.arguments[0], value)
        return
    values = _values(operand, rows)
    if place == 1 and node.operator.name != "div":
        values = values - _values(node.arguments[0], rows)
    values = values[np.isfinite(values)]
    spread = _spread(values)
    if spread == 0.0:
        return
    for quantile in np.quantile(values, _QUANTILES):
        shift = rounded(-quantile, 1 if abs(quantile) < spread else 2)
        if abs(shift) > _MIN_SHIFT * spread:
            yield _shifted(operand, shift)
    if node.operator.name in ("div", "log", "reciprocal") and values.min() >= 0.0:
        for factor in (0.1, 0.5, 2.0):
            yield _shifted(operand, rounded(factor * spread, 1))


def _weights(node: Call, rows: EncodedTable, place: int) -> Iterator[Expression]:
    """Yield an operand of a node with another weight."""
    operand = node.arguments[place]
    if operand.domain == Boolean:
        return
    number = _number(operand, "scaled")
    if number is not None and isinstance(operand, Call):
        for value in _near(number):
            yield scaled(value, operand.arguments[0])
        return
    sizes = [_spread(_values(argument, rows)) for argument in node.arguments]
    if min(sizes) <= 0.0:
        return
    ratio = sizes[1 - place] / sizes[place]
    for value in dict.fromkeys(
        rounded(factor, 1) for factor in (*_WEIGHTS, *(ratio * weight for weight in (0.5, 1, 2)))
    ):
        if value != 1.0 and 1e-9 < value < 1e12:
            yield scaled(value, operand)


def _near(number: float) -> list[float]:
    """Return numbers near a number, its opposite not among them."""
    found = [rounded(step * number) for step in _STEPS]
    return [value for value in dict.fromkeys(found) if value != number and abs(value) <= LARGEST]


def _replaced(node: Call, place: int, other: Expression) -> Expression:
    """Return a node with another operand, simplified."""
    before, after = node.arguments[:place], node.arguments[place + 1 :]
    return simplify_call(node.operator, (*before, other, *after), node.parameter)


def _shifted(formula: Expression, constant: float) -> Expression:
    """Return a formula plus a number, simplified."""
    code = number_code(constant)
    return simplify_call(get_operator("shifted"), (formula,), (code, number_text(code)))


def _number(expression: Expression, name: str) -> float | None:
    """Return the number of an expression that an operator made, else None."""
    if isinstance(expression, Call) and expression.operator.name == name:
        return expression.number
    return None


def _values(expression: Expression, rows: EncodedTable) -> Matrix:
    """Return the values of an expression as numbers."""
    return np.asarray(expression.evaluate(rows.matrix), np.float64)


def _spread(values: Matrix) -> float:
    """Return the standard deviation of values, 0 where there is none within float32."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return 0.0
    spread = float(np.std(known))
    return spread if 1e-9 < spread < 1e12 else 0.0
