"""Random well-typed expressions and hostile tables, for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from featurewright.expressions import (
    OPERATORS,
    Boolean,
    Call,
    Category,
    Column,
    Domain,
    Expression,
    Operator,
    Real,
    accepts,
)
from featurewright.expressions.numbers import number_code, number_text


def middle(x: float, y: float, z: float) -> float:
    """Return the median of three."""
    return sorted((x, y, z))[1]


def at_odds(x: float, y: float) -> float:
    """Whether a truth value and a number disagree in being zero."""
    return float((x != 0) != (y != 0))


MIDDLE = Operator("middle", (Real, Real, Real), Real, middle, commutative=True)
AT_ODDS = Operator("at odds", (Boolean, Real), Boolean, at_odds)
USER_OPERATORS = (MIDDLE, AT_ODDS)
ALL_OPERATORS = (*OPERATORS.values(), *USER_OPERATORS)

NAMES = ["a", "b c", "min", "it`s", "p", "q", "colour", "shape of"]
DOMAINS = [Real, Real, Real, Real, Boolean, Boolean, Category, Category]
LEVELS = [None, None, None, None, None, None, ["red", "it's", ""], None]
COLUMNS = [Column(i, name, DOMAINS[i]) for i, name in enumerate(NAMES)]

HOSTILE = [0.0, -0.0, np.nan, 1.0, -1.0, 0.5, 3.0, 1e30, -1e30, 1e-30, -1e-30, 5e-324, -1e-310]
HOSTILE += [3.4028234663852886e38, -3.4028234663852886e38, 2.0**0.5, 80.0, 1e19]


@st.composite
def expressions(draw: st.DrawFn, required: Domain | None = None, depth: int = 4) -> Expression:
    """Draw a well-typed expression over COLUMNS, of a domain that a place accepts."""
    leaves = [c for c in COLUMNS if required is None or accepts(required, c.domain)]
    inner = [op for op in ALL_OPERATORS if required is None or accepts(required, op.output)]
    if depth == 0 or not inner or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(leaves))
    operator = draw(st.sampled_from(inner))
    if operator.arity == 2 and operator.inputs[0] == operator.inputs[1] and draw(st.booleans()):
        twin = draw(expressions(operator.inputs[0], depth - 1))  # equal operands are a special case
        return Call(operator, (twin, twin))
    arguments = tuple(draw(expressions(domain, depth - 1)) for domain in operator.inputs)
    if not operator.has_parameter:
        return Call(operator, arguments)
    if operator.has_number:
        code = number_code(draw(st.sampled_from([0.0, 1.0, -2.5, 0.1, 1e-30, -1e30, 12345.0])))
        return Call(operator, arguments, (code, number_text(code)))
    code = draw(st.integers(0, 2))
    labels = LEVELS[arguments[0].columns()[0]]
    return Call(operator, arguments, (code, str(code) if labels is None else labels[code]))


def hostile_table(seed: int, n_rows: int = 60) -> np.ndarray:
    """Return rows of hostile numbers, truth values and level codes, some missing."""
    rng = np.random.default_rng(seed)
    pools = {Real: HOSTILE, Boolean: [0.0, 1.0, np.nan], Category: [0.0, 1.0, 2.0, np.nan]}
    return np.column_stack([rng.choice(pools[domain], n_rows) for domain in DOMAINS])
