"""Expressions as SymPy objects, for display and algebra."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `nodes` imports this module
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.domains import Boolean, Real
from featurewright.expressions.operators import BuiltInOperator

# A form is the SymPy object and whether it is a SymPy truth value rather than a number.
Form = tuple[Any, bool]


def sympy_of(expression: Expression) -> Any:
    """Convert an expression to SymPy.

    The result has neither bounds nor rules for missing values, and SymPy simplifies as it builds:
    use it to show and study a formula, not to compute a feature.

    Parameters
    ----------
    expression : Expression
        What to convert.

    Returns
    -------
    sympy.Basic
        A number for a Real, a truth value for a Boolean.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> sympy_of(parse("a * b / b + sqrt(a)", ["a", "b"]))
    a + sqrt(Abs(a))
    """
    sympy = _sympy()

    def column(node: Column) -> Form:
        """Convert a column to a symbol."""
        if node.domain == Real:
            return sympy.Symbol(node.name, real=True), False
        return sympy.Symbol(node.name), node.domain == Boolean

    def number(form: Form) -> Any:
        """Return a truth value as 0 or 1, a number as it is."""
        value, is_truth = form
        return sympy.Piecewise((1, value), (0, True)) if is_truth else value

    def call(node: Call, forms: list[Form]) -> Form:
        """Convert an operator applied to converted arguments."""
        operator = node.operator
        if not isinstance(operator, BuiltInOperator):
            value = sympy.Function(operator.name)(*map(number, forms))
            # A user operator returns 0 or 1, which SymPy does not take for a condition.
            return (sympy.Ne(value, 0), True) if operator.output == Boolean else (value, False)
        arguments = [
            number(form) if required == Real else form[0]
            for required, form in zip(operator.inputs, forms, strict=True)
        ]
        if operator.has_number:
            arguments.append(sympy.Rational(node.label))
        if operator.has_level:
            # Quotes distinguish a level from a column of the same name.
            arguments.append(sympy.Symbol(repr(node.label)))
        return operator.sympy(sympy, *arguments), operator.output == Boolean

    return expression.fold(column, call)[0]


def _sympy() -> Any:
    """Import SymPy when it is first needed: it is optional and slow to load."""
    try:
        return import_module("sympy")
    except ImportError:
        raise ImportError(
            "Converting an expression to SymPy needs the package sympy, which is not installed; "
            "run 'pip install sympy'."
        ) from None
