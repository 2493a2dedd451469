"""Expressions as SymPy objects, for display and algebra."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the trees import this module to convert themselves
    from featurewright.expressions.nodes import Call, Column, Expression

from featurewright.expressions.domains import Boolean, Real

# A form is the SymPy object and whether it is a SymPy truth value rather than a number.
Form = tuple[Any, bool]


def sympy_of(expression: Expression) -> Any:
    """Convert an expression to SymPy.

    The bounds and the rules for missing values are not part of the result, and SymPy simplifies as
    it builds: use it to show and study a formula, not to compute a feature.

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
        if operator.opcode is None:
            value = sympy.Function(operator.name)(*map(number, forms))
            # A user operator gives 0 or 1, which a condition must ask about.
            return (sympy.Ne(value, 0), True) if operator.output == Boolean else (value, False)
        arguments = [
            number(form) if required == Real else form[0]
            for required, form in zip(operator.inputs, forms, strict=True)
        ]
        if operator.has_number:
            arguments.append(sympy.Rational(node.label))
        if operator.has_level:
            # Quotes keep a level apart from a column of the same name.
            arguments.append(sympy.Symbol(repr(node.label)))
        return _BUILTIN[node.name](sympy, *arguments), operator.output == Boolean

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


_BUILTIN: dict[str, Callable[..., Any]] = {
    "add": lambda sympy, x, y: x + y,
    "sub": lambda sympy, x, y: x - y,
    "mul": lambda sympy, x, y: x * y,
    "div": lambda sympy, x, y: x / y,
    "neg": lambda sympy, x: -x,
    "abs": lambda sympy, x: sympy.Abs(x),
    "square": lambda sympy, x: x**2,
    "sqrt": lambda sympy, x: sympy.sqrt(sympy.Abs(x)),
    "log": lambda sympy, x: sympy.log(sympy.Abs(x)),
    "exp": lambda sympy, x: sympy.exp(x),
    "reciprocal": lambda sympy, x: 1 / x,
    "min": lambda sympy, x, y: sympy.Min(x, y),
    "max": lambda sympy, x, y: sympy.Max(x, y),
    "gaussian": lambda sympy, x, y: sympy.exp(-((x - y) ** 2)),
    "and": lambda sympy, x, y: sympy.And(x, y),
    "or": lambda sympy, x, y: sympy.Or(x, y),
    "xor": lambda sympy, x, y: sympy.Xor(x, y),
    "not": lambda sympy, x: sympy.Not(x),
    "less": lambda sympy, x, y: sympy.Lt(x, y),
    "less_equal": lambda sympy, x, y: sympy.Le(x, y),
    "greater": lambda sympy, x, y: sympy.Gt(x, y),
    "greater_equal": lambda sympy, x, y: sympy.Ge(x, y),
    "equal": lambda sympy, x, y: sympy.Eq(x, y),
    "is": lambda sympy, x, level: sympy.Eq(x, level),
}
