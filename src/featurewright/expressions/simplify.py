"""Rewrites that make an expression shorter or canonical without changing a single value.

Each rule holds bit for bit in floating point, missing values included, for columns whose values
are within the range of float32 (Booleans being 0 or 1), up to the sign of a zero that ``min`` or
``max`` returns or a sum with 0 has. Rules of algebra that only hold for exact numbers, such as
regrouping sums, are absent on purpose; `unscaled` has those for numbers.
"""

from __future__ import annotations

from typing import Any

from featurewright.expressions.builtin import OPERATORS
from featurewright.expressions.domains import Boolean
from featurewright.expressions.nodes import Call, Column, Expression
from featurewright.expressions.numbers import LARGEST, code_number, number_code, number_text
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


def unscaled(expression: Expression) -> Expression:
    """Return a formula without the scale and shift of the whole, and with its numbers joined.

    A model that weighs its columns, splits them or brings them to one scale makes nothing else of
    ``-2 * x + 3`` than of ``x``. Numbers are joined where that is right up to rounding:
    ``2 * (3 * x)`` is ``6 * x``.

    Parameters
    ----------
    expression : Expression
        A formula.

    Returns
    -------
    Expression
        Simplified. It has the same values up to a factor, a constant and rounding.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> print(unscaled(parse("-2 * log(2 * (3 * a) - 1 - 1) + 4", ["a"])))
    log(6 * a - 2)
    """
    simple: Expression = simplify(expression.fold(_keep, _join_numbers))
    while isinstance(simple, Call) and simple.operator.name in ("scaled", "shifted", "neg"):
        if simple.operator.name == "scaled" and simple.number == 0.0:
            break
        simple = simple.arguments[0]
    return simple


def _join_numbers(node: Call, arguments: list[Expression]) -> Expression:
    """Join the numbers of an operator and of the same one inside, where none is lost.

    Numbers on both sides of one, or of both signs, are left: what is too large in between would not
    be missing, and small values would not be lost.
    """
    name, inside = node.operator.name, arguments[0]
    inner = _number_of(inside, name) if name in ("scaled", "shifted") else None
    if inner is not None and isinstance(inside, Call):
        outer = node.number
        if name == "scaled":
            joined, alike = inner * outer, (abs(inner) >= 1.0) == (abs(outer) >= 1.0)
        else:
            joined, alike = inner + outer, (inner >= 0.0) == (outer >= 0.0)
        if alike and abs(joined) <= LARGEST and _is_written(joined):
            return _number_call(name, inside.arguments[0], joined)
    return Call(node.operator, tuple(arguments), node.parameter)


def _is_written(value: float) -> bool:
    """Whether a number is that of its code, up to rounding."""
    return abs(code_number(number_code(value)) - value) <= 1e-12 * abs(value)


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
    if operator.has_number:
        return _with_number(node)
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


def _number_call(name: str, x: Expression, value: float) -> Call:
    """Apply a built-in operator with a number."""
    code = number_code(value)
    return Call(OPERATORS[name], (x,), (code, number_text(code)))


def _number_of(expression: Expression, name: str) -> float | None:
    """Return the number of an expression made by an operator with one, else None."""
    made = isinstance(expression, Call) and expression.operator.name == name
    return expression.number if made and isinstance(expression, Call) else None


def _opposite(expression: Expression) -> Expression | None:
    """Return an expression without its minus sign; None where it has none."""
    if inner := _made_by(expression, "neg"):
        return inner[0]
    factor = _number_of(expression, "scaled")
    if factor is None or factor >= 0.0 or not isinstance(expression, Call):
        return None
    return _number_call("scaled", expression.arguments[0], -factor)


def _with_number(node: Call) -> Expression | None:
    """Rewrite an operator with a number, or return None."""
    name, number, x = node.operator.name, node.number, node.arguments[0]
    if (name, number) in (("scaled", 1.0), ("shifted", 0.0)) and x.domain == node.domain:
        return x
    if name == "scaled" and number == -1.0:
        return _call("neg", x)
    if name == "scaled" and (inner := _made_by(x, "neg")):
        return _number_call(name, inner[0], -number)
    return None


def _row_of(expression: Expression) -> BuiltInOperator | None:
    """Return the built-in operator that makes an expression, None if there is none."""
    operator = expression.operator if isinstance(expression, Call) else None
    return operator if isinstance(operator, BuiltInOperator) else None


def _unary(operator: BuiltInOperator, x: Expression) -> Expression | None:
    """Rewrite an operator of one operand, or return None."""
    name, inside = operator.name, _row_of(x)
    if operator.even and (inner := _made_by(x, "neg", "abs")):
        return _call(name, inner[0])
    if (operator.even or name == "neg") and (positive := _opposite(x)) is not None:
        return positive if name == "neg" else _call(name, positive)
    if name == "abs" and inside is not None and inside.nonnegative:
        return x
    if operator.keeps_truth and x.domain == Boolean:
        return x
    if name == "neg" and (factor := _number_of(x, "scaled")) is not None:
        return _number_call("scaled", x.arguments[0], -factor) if isinstance(x, Call) else None
    if name == "not" and (inner := _made_by(x, name)):
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
    minus_x, minus_y = _opposite(x), _opposite(y)
    if minus_x is not None and minus_y is not None and name in ("mul", "div"):
        return _call(name, minus_x, minus_y)
    if minus_y is not None and name in ("add", "sub"):
        return _call("sub" if name == "add" else "add", x, minus_y)
    if minus_x is not None and name == "add":
        return _call("sub", y, minus_x)
    return None
