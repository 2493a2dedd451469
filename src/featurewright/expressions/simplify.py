"""Rewrites that make an expression shorter or canonical without changing a single value.

Each rule holds bit for bit in floating point, missing values included, for columns whose values
are within the range of float32 (Booleans being 0 or 1), up to the sign of a zero that ``min`` or
``max`` returns. Rules of algebra that only hold for exact numbers, such as regrouping sums, are
absent on purpose.
"""

from __future__ import annotations

from typing import Any

from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.domains import Boolean
from featurewright.expressions.nodes import Call, Column, Expression
from featurewright.expressions.operators import BuiltInOperator, Operator


def simplify(expression: Expression) -> Expression:
    """Return an equal-valued expression, as short and canonical as safe rewrites make it.

    Parameters
    ----------
    expression : Expression
        What to simplify.

    Returns
    -------
    Expression
        An expression with the same values on every table, missing ones included.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> print(simplify(parse("abs(-b) - -(a * a)", ["a", "b"])))
    abs(b) + square(a)
    """
    while True:
        simpler: Expression = expression.fold(_keep, _rebuild)
        if simpler == expression:
            return simpler
        expression = simpler


def simplify_call(
    operator: Operator,
    arguments: tuple[Expression, ...],
    parameter: tuple[int, str] | None = None,
) -> Expression:
    """Apply an operator to arguments that are simplified already, and simplify the result.

    Parameters
    ----------
    operator : Operator
        What is applied.
    arguments : tuple of Expression
        Results of `simplify`.
    parameter : (int, str), optional
        The level or number, where the operator has one.

    Returns
    -------
    Expression
        What `simplify` would return, without looking at every node of the arguments again.

    Examples
    --------
    >>> from featurewright.expressions import get_operator, parse
    >>> print(simplify_call(get_operator("sub"), (parse("a", "ab"), parse("-b", "ab"))))
    a + b
    """
    if operator.commutative:
        arguments = tuple(sorted(arguments, key=_order))
    node = Call(operator, arguments, parameter)
    rewritten = _rewrite(node)
    return node if rewritten is None else simplify(rewritten)


def _keep(node: Column) -> Expression:
    """Return a column as it is."""
    return node


def _rebuild(node: Call, arguments: list[Expression]) -> Expression:
    """Rewrite one node whose arguments are already rewritten."""
    if node.operator.commutative:
        arguments = sorted(arguments, key=_order)
    node = Call(node.operator, tuple(arguments), node.parameter)
    rewritten = _rewrite(node)
    return node if rewritten is None else rewritten


def _rewrite(node: Call) -> Expression | None:
    """Rewrite one node whose arguments are rewritten and in order; None where no rule applies."""
    operator = node.operator
    if not isinstance(operator, BuiltInOperator):
        return None  # nothing but its symmetry is known of a user operator
    if operator.arity == 1:
        return _unary(operator, *node.arguments)
    return _binary(operator, *node.arguments)


def _order(expression: Expression) -> tuple[Any, ...]:
    """Return a key that sorts operands: short before long, then columns by their position."""
    return expression.fold(_column_key, _call_key)


def _column_key(node: Column) -> tuple[Any, ...]:
    """Return the key of a column; only columns have size 1, so kinds are never compared."""
    return 1, node.index, node.name


def _call_key(node: Call, keys: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the key of an operator applied."""
    return 1 + sum(key[0] for key in keys), node.operator.name, node.code, tuple(keys)


def _made_by(expression: Expression, *names: str) -> tuple[Expression, ...] | None:
    """Return the arguments of an expression made by one of these operators, else None."""
    if isinstance(expression, Call) and expression.operator.name in names:
        return expression.arguments
    return None


def _call(name: str, *arguments: Expression) -> Call:
    """Apply a built-in operator."""
    return Call(OPERATORS[name], arguments)


def _row_of(expression: Expression) -> BuiltInOperator | None:
    """Return the built-in operator that makes an expression, None if there is none."""
    operator = expression.operator if isinstance(expression, Call) else None
    return operator if isinstance(operator, BuiltInOperator) else None


def _unary(operator: BuiltInOperator, x: Expression) -> Expression | None:
    """Rewrite an operator of one operand, or return None."""
    name, inside = operator.name, _row_of(x)
    if operator.even and (inner := _made_by(x, "neg", "abs")):
        return _call(name, inner[0])
    if name == "abs" and inside is not None and inside.nonnegative:
        return x
    if operator.keeps_truth and x.domain == Boolean:
        return x
    if name in ("neg", "not") and (inner := _made_by(x, name)):
        return inner[0]
    # A comparison is missing exactly when its opposite is, so it can absorb the negation.
    if name == "not" and isinstance(x, Call) and inside is not None and inside.opposite:
        return _call(inside.opposite, *x.arguments)
    return None


def _binary(operator: BuiltInOperator, x: Expression, y: Expression) -> Expression | None:
    """Rewrite an operator of two operands, or return None."""
    if operator.mirrored is not None:
        return _call(operator.mirrored, y, x)
    if x == y and operator.idempotent:
        return x
    if x == y and operator.name == "mul":
        return _call("square", x)
    return _signs(operator.name, x, y)


def _signs(name: str, x: Expression, y: Expression) -> Expression | None:
    """Rewrite arithmetic on operands that carry a minus sign, or return None."""
    minus_x, minus_y = _made_by(x, "neg"), _made_by(y, "neg")
    if minus_x and minus_y and name in ("mul", "div"):
        return _call(name, minus_x[0], minus_y[0])
    if minus_y and name in ("add", "sub"):
        return _call("sub" if name == "add" else "add", x, minus_y[0])
    if minus_x and name == "add":
        return _call("sub", y, minus_x[0])
    return None
