"""The operator table: one row per built-in operator, with everything there is to know about it.

A row becomes a constant of the operator's opcode, which compiled code compares with; the compiled
function itself is in ``engine/operators.py``. Everything else is derived from the rows: parsing
and printing, simplification, SQL and ONNX, arity and commutativity in compiled code.
``docs/adding_an_operator.md`` says how to add a row.

Rules that all operators share and that no row repeats: missing in, missing out; a result that is
not finite, or larger than float32 holds, is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from featurewright.expressions.domains import Boolean, Category, Domain, Real
from featurewright.expressions.opcodes import EXP_BOUND
from featurewright.expressions.operators import (
    BUILT_IN,
    Brackets,
    BuiltInOperator,
    Infix,
    Magnitude,
    Parameter,
    Precedence,
    Prefix,
)

OPERATORS: Mapping[str, BuiltInOperator] = MappingProxyType(BUILT_IN)
"""The built-in operators by name, in the order of their opcodes."""

ARITHMETIC = ("add", "sub", "mul", "div")

_EVERYWHERE = "Defined everywhere, up to overflow."
_R, _RR = (Real,), (Real, Real)
_B, _BB = (Boolean,), (Boolean, Boolean)
_C, _CC = (Category,), (Category, Category)
_ANY, _COMPARISON, _ATOM = Precedence.ANY, Precedence.COMPARISON, Precedence.ATOM
_SUM, _PRODUCT, _POWER = Precedence.SUM, Precedence.PRODUCT, Precedence.POWER

_LEAST_EXPONENT = -745.13  # the exponential of less is zero, which Postgres reports as an error
_WIDEST_GAUSSIAN = 27.0  # the Gaussian of a larger difference is zero


def _row(
    opcode: int,
    name: str,
    inputs: tuple[Domain, ...],
    output: Domain,
    numpy: Callable[..., Any],
    *,
    rule: str = _EVERYWHERE,
    **facts: Any,
) -> int:
    """Add a row to the table; return its opcode.

    The parameters are those of `BuiltInOperator`; `numpy` computes the result from arrays of one
    floating dtype, without regard to missing values and overflow.
    """
    BUILT_IN[name] = BuiltInOperator(name, inputs, output, numpy, opcode=opcode, rule=rule, **facts)
    return opcode


def _row_with_number(opcode: int, name: str, number_of: str, words: str, **facts: Any) -> int:
    """Add the row of an operator that is another one with a number as one of its operands."""
    other = BUILT_IN[number_of]
    return _row(
        opcode,
        name,
        other.inputs[:1],
        other.output,
        other.function,
        parameter=Parameter.NUMBER,
        number_of=number_of,
        rule=other.rule,
        words=words,
        text=other.text,
        latex=other.latex,
        mathml=other.mathml,
        brackets=other.brackets,
        magnitude=other.magnitude,
        sympy=other.sympy,
        sql=other.sql,
        onnx=other.onnx,
        **facts,
    )


def _between(sign: str) -> str:
    """Return the MathML template of a sign between two operands."""
    return f"<mrow>#1<mo>{sign}</mo>#2</mrow>"


# Arithmetic ---------------------------------------------------------------------------------------

ADD = _row(
    0,
    "add",
    _RR,
    Real,
    lambda x, y: x + y,
    commutative=True,
    words="#1 plus #2",
    text=Infix("+", _SUM),
    latex="#1 + #2",
    mathml=_between("+"),
    sympy=lambda sympy, x, y: x + y,
    sql=lambda sql, x, y: sql.infix("Add", x, y),
    onnx=lambda onnx, x, y: onnx.settle(onnx.add("Add", x, y)),
)
SUB = _row(
    1,
    "sub",
    _RR,
    Real,
    lambda x, y: x - y,
    antisymmetric=True,
    words="#1 minus #2",
    text=Infix("-", _SUM),
    latex="#1 - #2",
    mathml=_between("−"),
    sympy=lambda sympy, x, y: x - y,
    sql=lambda sql, x, y: sql.infix("Sub", x, y),
    onnx=lambda onnx, x, y: onnx.settle(onnx.add("Sub", x, y)),
)
MUL = _row(
    2,
    "mul",
    _RR,
    Real,
    lambda x, y: x * y,
    commutative=True,
    words="#1 times #2",
    text=Infix("*", _PRODUCT),
    latex=r"#1 \cdot #2",
    mathml=_between("·"),
    sympy=lambda sympy, x, y: x * y,
    sql=lambda sql, x, y: sql.infix("Mul", x, y),
    onnx=lambda onnx, x, y: onnx.settle(onnx.add("Mul", x, y)),
)
DIV = _row(
    3,
    "div",
    _RR,
    Real,
    lambda x, y: x / y,
    rule="Missing when the divisor is 0.",
    words="#1 divided by #2",
    text=Infix("/", _PRODUCT),
    latex=r"\frac{#1}{#2}",
    mathml="<mfrac>#1#2</mfrac>",
    brackets=Brackets(_POWER, (_ANY, _ANY)),
    sympy=lambda sympy, x, y: x / y,
    sql=lambda sql, x, y: sql.quotient(x, y),
    onnx=lambda onnx, x, y: onnx.settle(onnx.add("Div", x, y)),
)
NEG = _row(
    4,
    "neg",
    _R,
    Real,
    lambda x: -x,
    words="minus #1",
    text=Prefix("-", _POWER),
    latex="-#1",
    mathml="<mrow><mo>−</mo>#1</mrow>",
    magnitude=Magnitude.OF_OPERAND,
    sympy=lambda sympy, x: -x,
    sql=lambda sql, x: sql.apply("Neg", sql.operand(x)),
    onnx=lambda onnx, x: onnx.add("Neg", x),
)
ABS = _row(
    5,
    "abs",
    _R,
    Real,
    np.abs,
    words="#1 without its sign",
    latex=r"\left|#1\right|",
    mathml="<mrow><mo>|</mo>#1<mo>|</mo></mrow>",
    magnitude=Magnitude.OF_OPERAND,
    even=True,
    nonnegative=True,
    keeps_truth=True,
    sympy=lambda sympy, x: sympy.Abs(x),
    sql=lambda sql, x: sql.apply("Abs", sql.operand(x)),
    onnx=lambda onnx, x: onnx.add("Abs", x),
)
SQUARE = _row(
    6,
    "square",
    _R,
    Real,
    lambda x: x * x,
    words="#1 squared",
    latex="#1^{2}",
    mathml="<msup>#1<mn>2</mn></msup>",
    brackets=Brackets(_POWER, (_ATOM,)),
    even=True,
    nonnegative=True,
    keeps_truth=True,
    sympy=lambda sympy, x: x**2,
    sql=lambda sql, x: sql.infix("Mul", x, x),
    onnx=lambda onnx, x: onnx.settle(onnx.add("Mul", x, x)),
)
SQRT = _row(
    7,
    "sqrt",
    _R,
    Real,
    lambda x: np.sqrt(np.abs(x)),
    rule="The square root of |x|.",
    words="the square root of #1",
    latex=r"\sqrt{\left|#1\right|}",
    mathml="<msqrt><mrow><mo>|</mo>#1<mo>|</mo></mrow></msqrt>",
    magnitude=Magnitude.WITHIN_FLOAT32,
    even=True,
    nonnegative=True,
    keeps_truth=True,
    sympy=lambda sympy, x: sympy.sqrt(sympy.Abs(x)),
    sql=lambda sql, x: sql.apply("Sqrt", sql.apply("Abs", sql.operand(x))),
    onnx=lambda onnx, x: onnx.add("Sqrt", onnx.add("Abs", x)),
)
LOG = _row(
    8,
    "log",
    _R,
    Real,
    lambda x: np.log(np.abs(x)),
    rule="The logarithm of |x|; missing when x is 0.",
    words="the logarithm of #1",
    latex=r"\log\left|#1\right|",
    mathml="<mrow><mi>log</mi><mrow><mo>|</mo>#1<mo>|</mo></mrow></mrow>",
    magnitude=Magnitude.WITHIN_FLOAT32,
    exact=False,
    even=True,
    sympy=lambda sympy, x: sympy.log(sympy.Abs(x)),
    sql=lambda sql, x: sql.apply("Ln", sql.nonzero(sql.apply("Abs", sql.operand(x)))),
    onnx=lambda onnx, x: onnx.settle(onnx.precisely("Log", onnx.add("Abs", x))),
)


def _exp_sql(sql: Any, x: Any) -> Any:
    """Write the bounded exponential."""
    return sql.case(
        (sql.compare("GT", x, EXP_BOUND), sql.number(math.exp(EXP_BOUND))),
        (sql.compare("LT", x, _LEAST_EXPONENT), sql.number(0.0)),
        otherwise=sql.apply("Exp", x()),
    )


def _exp_onnx(onnx: Any, x: str) -> str:
    """Write the bounded exponential."""
    bound = onnx.number(EXP_BOUND)
    bounded: str = onnx.add("Where", onnx.add("Greater", x, bound), bound, x)
    made: str = onnx.precisely("Exp", bounded)
    return made


EXP = _row(
    9,
    "exp",
    _R,
    Real,
    lambda x: np.exp(np.minimum(x, EXP_BOUND)),
    rule="The argument is bounded from above by 80.",
    words="the exponential of #1",
    latex=r"\exp\left(#1\right)",
    magnitude=Magnitude.WITHIN_FLOAT32,
    exact=False,
    nonnegative=True,
    sympy=lambda sympy, x: sympy.exp(x),
    sql=_exp_sql,
    onnx=_exp_onnx,
)
RECIPROCAL = _row(
    10,
    "reciprocal",
    _R,
    Real,
    lambda x: 1.0 / x,
    rule="Missing when x is 0.",
    words="one divided by #1",
    latex=r"\frac{1}{#1}",
    mathml="<mfrac><mn>1</mn>#1</mfrac>",
    brackets=Brackets(_POWER, (_ANY,)),
    sympy=lambda sympy, x: 1 / x,
    sql=lambda sql, x: sql.quotient(lambda: sql.number(1.0), x),
    onnx=lambda onnx, x: onnx.settle(onnx.add("Div", onnx.number(1.0), x)),
)


def _extreme_sql(comparison: str) -> Callable[..., Any]:
    """Write the smaller or larger of two; LEAST and GREATEST ignore NULL in some dialects."""
    return lambda sql, x, y: sql.case(
        (sql.compare(comparison, x, y), x()), (sql.not_null(x, y), y())
    )


def _extreme_onnx(comparison: str) -> Callable[..., str]:
    """Write the smaller or larger of two; Min and Max of ONNX may ignore NaN."""

    def write(onnx: Any, x: str, y: str) -> str:
        chosen = onnx.add("Where", onnx.add(comparison, x, y), x, y)
        made: str = onnx.missing_where(onnx.add("IsNaN", x), chosen)
        return made

    return write


MIN = _row(
    11,
    "min",
    _RR,
    Real,
    np.minimum,
    commutative=True,
    words="the smaller of #1 and #2",
    latex=r"\min\left(#1, #2\right)",
    magnitude=Magnitude.OF_OPERAND,
    idempotent=True,
    sympy=lambda sympy, x, y: sympy.Min(x, y),
    sql=_extreme_sql("LT"),
    onnx=_extreme_onnx("Less"),
)
MAX = _row(
    12,
    "max",
    _RR,
    Real,
    np.maximum,
    commutative=True,
    words="the larger of #1 and #2",
    latex=r"\max\left(#1, #2\right)",
    magnitude=Magnitude.OF_OPERAND,
    idempotent=True,
    sympy=lambda sympy, x, y: sympy.Max(x, y),
    sql=_extreme_sql("GT"),
    onnx=_extreme_onnx("Greater"),
)


def _gaussian_sql(sql: Any, x: Any, y: Any, square: Any = None) -> Any:
    """Write exp(-(x - y)^2), zero where the difference is large.

    `square` is the squared difference where that has been computed and rounded already.
    """

    def difference() -> Any:
        return sql.infix("Sub", x, y)

    def own_square() -> Any:
        return sql.infix("Mul", difference, difference)

    large = sql.compare("GT", lambda: sql.apply("Abs", difference()), _WIDEST_GAUSSIAN)
    power = sql.operand(own_square if square is None else square)
    return sql.case((large, sql.number(0.0)), otherwise=sql.apply("Exp", sql.apply("Neg", power)))


def _gaussian_onnx(onnx: Any, x: str, y: str, square: str | None = None) -> str:
    """Write exp(-(x - y)^2); `square` is the squared difference where it is known already."""
    difference = onnx.add("Sub", x, y)
    power = onnx.add("Mul", difference, difference) if square is None else square
    bump = onnx.precisely("Exp", onnx.add("Neg", power))
    far = onnx.add("Greater", onnx.add("Abs", difference), onnx.number(_WIDEST_GAUSSIAN))
    made: str = onnx.add("Where", far, onnx.number(0.0), bump)
    return made


GAUSSIAN = _row(
    13,
    "gaussian",
    _RR,
    Real,
    lambda x, y: np.exp(-np.square(x - y)),
    commutative=True,
    words="how close #1 and #2 are",
    latex=r"e^{-\left(#1 - #2\right)^{2}}",
    mathml="<msup><mi>e</mi><mrow><mo>−</mo><msup>"
    "<mrow><mo>(</mo><mrow>#1<mo>−</mo>#2</mrow><mo>)</mo></mrow>"
    "<mn>2</mn></msup></mrow></msup>",
    brackets=Brackets(_POWER, (_SUM, _PRODUCT)),
    magnitude=Magnitude.WITHIN_FLOAT32,
    exact=False,
    nonnegative=True,
    sympy=lambda sympy, x, y: sympy.exp(-((x - y) ** 2)),
    sql=_gaussian_sql,
    onnx=_gaussian_onnx,
)

# Logic --------------------------------------------------------------------------------------------


def _logic_onnx(connective: str) -> Callable[..., str]:
    """Write a connective of two truth values."""
    return lambda onnx, x, y: onnx.truth(
        onnx.add(connective, onnx.is_true(x), onnx.is_true(y)), x, y
    )


AND = _row(
    14,
    "and",
    _BB,
    Boolean,
    lambda x, y: (x != 0) & (y != 0),
    commutative=True,
    words="#1 and #2",
    text=Infix("and", Precedence.AND),
    latex=r"#1 \wedge #2",
    mathml=_between("∧"),
    idempotent=True,
    sympy=lambda sympy, x, y: sympy.And(x, y),
    sql=lambda sql, x, y: sql.truth(sql.both(sql.is_true(x), sql.is_true(y)), x, y),
    onnx=_logic_onnx("And"),
)
OR = _row(
    15,
    "or",
    _BB,
    Boolean,
    lambda x, y: (x != 0) | (y != 0),
    commutative=True,
    words="#1 or #2",
    text=Infix("or", Precedence.OR),
    latex=r"#1 \vee #2",
    mathml=_between("∨"),
    idempotent=True,
    sympy=lambda sympy, x, y: sympy.Or(x, y),
    # Asked the other way round: one true operand is not enough if the other is missing.
    sql=lambda sql, x, y: sql.case(
        (sql.both(sql.is_false(x), sql.is_false(y)), sql.number(0.0)),
        (sql.not_null(x, y), sql.number(1.0)),
    ),
    onnx=_logic_onnx("Or"),
)
XOR = _row(
    16,
    "xor",
    _BB,
    Boolean,
    lambda x, y: (x != 0) ^ (y != 0),
    commutative=True,
    words="either #1 or #2 but not both",
    text=Infix("xor", Precedence.XOR),
    latex=r"#1 \oplus #2",
    mathml=_between("⊕"),
    sympy=lambda sympy, x, y: sympy.Xor(x, y),
    sql=lambda sql, x, y: sql.truth(
        sql.either(
            sql.both(sql.is_true(x), sql.is_false(y)), sql.both(sql.is_false(x), sql.is_true(y))
        ),
        x,
        y,
    ),
    onnx=_logic_onnx("Xor"),
)
NOT = _row(
    17,
    "not",
    _B,
    Boolean,
    lambda x: x == 0,
    words="not #1",
    text=Prefix("not ", Precedence.NOT),
    latex=r"\neg #1",
    mathml="<mrow><mo>¬</mo>#1</mrow>",
    sympy=lambda sympy, x: sympy.Not(x),
    sql=lambda sql, x: sql.truth(sql.is_false(x), x),
    onnx=lambda onnx, x: onnx.truth(onnx.add("Equal", x, onnx.number(0.0)), x),
)

# Comparisons --------------------------------------------------------------------------------------


def _comparison_sql(comparison: str) -> Callable[..., Any]:
    """Write a comparison of two operands."""
    return lambda sql, x, y: sql.truth(sql.compare(comparison, x, y), x, y)


def _comparison_onnx(comparison: str) -> Callable[..., str]:
    """Write a comparison of two operands."""
    return lambda onnx, x, y: onnx.truth(onnx.add(comparison, x, y), x, y)


LESS = _row(
    18,
    "less",
    _RR,
    Boolean,
    np.less,
    words="#1 is less than #2",
    text=Infix("<", _COMPARISON),
    latex="#1 < #2",
    mathml=_between("&lt;"),
    opposite="greater_equal",
    sympy=lambda sympy, x, y: sympy.Lt(x, y),
    sql=_comparison_sql("LT"),
    onnx=_comparison_onnx("Less"),
)
LESS_EQUAL = _row(
    19,
    "less_equal",
    _RR,
    Boolean,
    np.less_equal,
    words="#1 is at most #2",
    text=Infix("<=", _COMPARISON),
    latex=r"#1 \le #2",
    mathml=_between("≤"),
    opposite="greater",
    sympy=lambda sympy, x, y: sympy.Le(x, y),
    sql=_comparison_sql("LTE"),
    onnx=_comparison_onnx("LessOrEqual"),
)
GREATER = _row(
    20,
    "greater",
    _RR,
    Boolean,
    np.greater,
    words="#1 is greater than #2",
    text=Infix(">", _COMPARISON),
    latex="#1 > #2",
    mathml=_between("&gt;"),
    mirrored="less",
    opposite="less_equal",
    sympy=lambda sympy, x, y: sympy.Gt(x, y),
    sql=_comparison_sql("GT"),
    onnx=_comparison_onnx("Greater"),
)
GREATER_EQUAL = _row(
    21,
    "greater_equal",
    _RR,
    Boolean,
    np.greater_equal,
    words="#1 is at least #2",
    text=Infix(">=", _COMPARISON),
    latex=r"#1 \ge #2",
    mathml=_between("≥"),
    mirrored="less_equal",
    opposite="less",
    sympy=lambda sympy, x, y: sympy.Ge(x, y),
    sql=_comparison_sql("GTE"),
    onnx=_comparison_onnx("GreaterOrEqual"),
)
EQUAL = _row(
    22,
    "equal",
    _CC,
    Boolean,
    np.equal,
    commutative=True,
    words="#1 equals #2",
    text=Infix("==", _COMPARISON),
    latex="#1 = #2",
    mathml=_between("="),
    sympy=lambda sympy, x, y: sympy.Eq(x, y),
    sql=_comparison_sql("EQ"),
    onnx=_comparison_onnx("Equal"),
)

# Operators with a parameter -----------------------------------------------------------------------

IS = _row(
    23,
    "is",
    _C,
    Boolean,
    np.equal,
    parameter=Parameter.LEVEL,
    words="#1 is #2",
    text=Infix("is", _COMPARISON),
    latex="#1 = #2",
    mathml=_between("="),
    sympy=lambda sympy, x, level: sympy.Eq(x, level),
    sql=lambda sql, x, level: sql.truth(sql.compare("EQ", x, level), x),
    onnx=lambda onnx, x, level: onnx.truth(onnx.add("Equal", x, level), x),
)
AT_LEAST = _row_with_number(24, "at_least", number_of="max", words="#1 but at least #2")
AT_MOST = _row_with_number(25, "at_most", number_of="min", words="#1 but at most #2")
OVER = _row_with_number(26, "over", number_of="greater", words="#1 is greater than #2")
SCALED = _row_with_number(27, "scaled", number_of="mul", words="#1 times #2", number_first=True)
SHIFTED = _row_with_number(28, "shifted", number_of="add", words="#1 plus #2", if_negative="sub")
