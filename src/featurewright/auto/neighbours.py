"""Formulas that differ from a formula in one symbol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from featurewright.expressions import (
    Call,
    Column,
    Expression,
    Operator,
    accepts,
    get_operator,
    simplify,
)
from featurewright.expressions.simplify import simplify_call, unscaled


def neighbours(
    expression: Expression,
    columns: Sequence[Column],
    operators: Sequence[str],
    max_size: int,
) -> list[Expression]:
    """Return the formulas that are one change away from a formula.

    A change replaces a column or an operator by another, leaves an operator out, or applies one
    more to the whole. Levels and numbers inside a formula stay as they are.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : sequence of Column
        Columns that may take the place of others.
    operators : sequence of str
        Operators that may take the place of others.
    max_size : int
        Largest number of symbols.

    Returns
    -------
    list of Expression
        Simplified, each once, without lone columns and the formula itself.

    Examples
    --------
    >>> from featurewright.expressions import Real, parse
    >>> columns = [Column(0, "a", Real), Column(1, "b", Real)]
    >>> [str(found) for found in neighbours(parse("a * b", "ab"), columns, ["mul", "sub"], 3)]
    ['a - b', 'b - a', 'square(b)', 'square(a)']
    """
    known = [get_operator(name) for name in operators]
    plain = [operator for operator in known if not operator.has_parameter]
    simple = simplify(expression)
    variants = (*_inside(simple, columns, plain), *_around(simple, columns, plain, max_size))
    found = dict.fromkeys(
        variant
        for variant in map(_without_scale, variants)
        if not isinstance(variant, Column) and variant.size <= max_size and variant != expression
    )
    return list(found)


def _without_scale(formula: Expression) -> Expression:
    """Return a formula without a scale or shift of the whole, which is nothing to a model."""
    is_scaled = isinstance(formula, Call) and formula.operator.name in ("scaled", "shifted")
    return unscaled(formula) if is_scaled else formula


def shorter(expression: Expression) -> list[Expression]:
    """Return the formulas that leave out one operator of a formula, with all but one operand.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> [str(found) for found in shorter(parse("abs(a) - b", "ab"))]
    ['abs(a)', 'a - b']
    """
    return neighbours(expression, (), (), expression.size - 1)


def _inside(
    node: Expression, columns: Sequence[Column], operators: Sequence[Operator]
) -> Iterator[Expression]:
    """Yield a simplified expression with one of its symbols replaced or left out, simplified.

    What is not changed is simplified already: only the nodes above a change are looked at again.
    """
    if not isinstance(node, Call):
        yield from (other for other in columns if other != node and other.domain == node.domain)
        return
    yield from (argument for argument in node.arguments)
    if not node.operator.has_parameter:
        for operator in operators:
            if operator.arity == node.operator.arity and operator != node.operator:
                yield from _applied(operator, node.arguments)
                if operator.arity == 2 and not operator.commutative:
                    yield from _applied(operator, node.arguments[::-1])
        if node.operator.arity == 2 and not node.operator.commutative:
            yield from _applied(node.operator, node.arguments[::-1])
    for place, argument in enumerate(node.arguments):
        before, after = node.arguments[:place], node.arguments[place + 1 :]
        for variant in _inside(argument, columns, operators):
            yield from _applied(node.operator, (*before, variant, *after), node.parameter)


def _around(
    node: Expression, columns: Sequence[Column], operators: Sequence[Operator], max_size: int
) -> Iterator[Expression]:
    """Yield a simplified expression with one more operator applied to the whole, simplified."""
    room = max_size - node.size
    for operator in operators:
        if operator.arity == 1 and room > 0:
            yield from _applied(operator, (node,))
        elif operator.arity == 2 and room > 1:
            for column in columns:
                yield from _applied(operator, (node, column))
                if not operator.commutative:
                    yield from _applied(operator, (column, node))


def _applied(
    operator: Operator,
    arguments: tuple[Expression, ...],
    parameter: tuple[int, str] | None = None,
) -> Iterator[Expression]:
    """Yield an operator applied to arguments, where it accepts their domains.

    Of two equal arguments, nothing but a square is left.
    """
    if operator.arity == 2 and arguments[0] == arguments[1] and operator.name != "mul":
        return
    pairs = zip(operator.inputs, arguments, strict=True)
    if all(accepts(wanted, argument.domain) for wanted, argument in pairs):
        yield simplify_call(operator, arguments, parameter)
