"""LaTeX, SymPy and the feature object."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from tests.cases import loop_over
from tests.expressions.strategies import expressions

from featurewright.expressions import Boolean, Column, Feature, Operator, Real, parse

NAMES = ["a", "b", "x_1", "p", "colour"]
KINDS = [0, 0, 0, 1, 2]
LEVELS = [None, None, None, None, ["red", "a#1"]]
OWN = Operator("own", (Real, Real), Real, max)
DRAWN = Operator("drawn", (Real, Boolean), Boolean, max, latex=r"#2 \triangleleft_{#1} \#1")


def read(text: str):
    """Parse over the columns of this module."""
    return parse(text, NAMES, KINDS, LEVELS, [OWN, DRAWN])


@loop_over(
    ("text", "expected"),
    [
        ("a", "a"),
        ("x_1", r"\text{x\_1}"),
        ("a * (a + b)", r"a \cdot \left(a + b\right)"),
        ("a / b", r"\frac{a}{b}"),
        ("a * (b / a)", r"a \cdot \frac{b}{a}"),
        ("square(a / b)", r"\left(\frac{a}{b}\right)^{2}"),
        ("square(square(a))", r"\left(a^{2}\right)^{2}"),
        ("-(a - b)", r"-\left(a - b\right)"),
        ("sqrt(a - b)", r"\sqrt{\left|a - b\right|}"),
        ("log(a)", r"\log\left|a\right|"),
        ("gaussian(a, a - b)", r"e^{-\left(a - \left(a - b\right)\right)^{2}}"),
        ("reciprocal(a + b)", r"\frac{1}{a + b}"),
        ("min(a, b) <= exp(a)", r"\min\left(a, b\right) \le \exp\left(a\right)"),
        ("not p and a < b", r"\neg p \wedge a < b"),
        ("not (p or p)", r"\neg \left(p \vee p\right)"),
        ("colour is 'red'", r"\text{colour} = \text{red}"),
        ("own(a, b)", r"\operatorname{\text{own}}\left(a, b\right)"),
        ("max(a + b, -0.5)", r"\max\left(a + b, -0.5\right)"),
        ("a - b > 3", "a - b > 3"),
        ("drawn(a, colour is 'a#1')", r"\text{colour} = \text{a\#1} \triangleleft_{a} \#1"),
    ],
)
def test_latex(text, expected) -> None:
    assert read(text).latex() == expected


@loop_over(
    ("text", "expected"),
    [
        ("x_1", "<mi>x_1</mi>"),
        ("square(a / b)", "<msup><mrow><mo>(</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>)</mo>"),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        ("sqrt(a)", "<msqrt><mrow><mo>|</mo><mi>a</mi><mo>|</mo></mrow></msqrt>"),
        ("own(a, b)", "<mi>own</mi><mrow><mo>(</mo><mrow><mi>a</mi><mo>,</mo><mi>b</mi>"),
        ("colour is 'red'", "<mi>colour</mi><mo>=</mo><mi>“red”</mi>"),
        ("not p", "<mo>¬</mo><mi>p</mi>"),
        ("min(a, -0.5)", "<mi>a</mi><mo>,</mo><mn>−0.5</mn>"),
        ("a > 3", "<mi>a</mi><mo>&gt;</mo><mn>3</mn>"),
    ],
)
def test_mathml(text, expected) -> None:
    assert expected in read(text).mathml()
    assert Feature.of(read(text)).mathml() == read(text).mathml()


@given(expressions())
def test_mathml_is_well_formed(expression) -> None:
    assert ElementTree.fromstring(expression.mathml()).tag == "math"


@pytest.mark.parametrize("name", ["</mi><script>", "\x00\x1b", "\ud800", "\u202egnp", "n" * 10_000])
def test_mathml_of_hostile_names(name) -> None:
    drawn = Column(0, name, Real).mathml()
    (leaf,) = ElementTree.fromstring(drawn)
    assert len(leaf.text) <= 48
    assert "<script" not in drawn
    drawn.encode()


@settings(deadline=None)
@given(expressions())
def test_latex_is_balanced(expression) -> None:
    drawn = expression.latex().replace(r"\{", "").replace(r"\}", "")
    assert drawn.count("{") == drawn.count("}")
    assert drawn.count(r"\left") == drawn.count(r"\right")


def test_latex_escapes_names() -> None:
    drawn = Column(0, r"50%_{x}\y~^&#$", Real).latex()
    assert drawn == (
        r"\text{50\%\_\{x\}\textbackslash{}y\textasciitilde{}\textasciicircum{}\&\#\$}"
    )


def test_sympy_forms() -> None:
    a, b = sympy.symbols("a b", real=True)
    p, colour = sympy.symbols("p colour")
    assert read("a * b / b").sympy() == a
    assert read("sqrt(a)").sympy() == sympy.sqrt(sympy.Abs(a))
    assert read("not (p and a < b)").sympy() == sympy.Not(sympy.And(p, a < b))
    assert read("a + p").sympy() == a + sympy.Piecewise((1, p), (0, True))
    assert read("colour is 'red'").sympy() == sympy.Eq(colour, sympy.Symbol("'red'"))
    assert read("max(a, 0.1)").sympy() == sympy.Max(a, sympy.Rational(1, 10))
    assert read("a > -3").sympy() == (a > -3)
    assert read("own(a, b)").sympy() == sympy.Function("own")(a, b)
    assert read("drawn(a, p) and p").sympy().has(sympy.Function("drawn"))


@settings(max_examples=40, deadline=None)
@given(expressions(depth=2))
def test_every_expression_converts(expression) -> None:
    assert isinstance(expression.sympy(), sympy.Basic)


def test_sympy_agrees_with_numpy() -> None:
    tree = read("gaussian(a, b) + max(a, b) * reciprocal(a) - square(-b) + log(b) + abs(a)")
    point = {sympy.Symbol("a", real=True): -1.5, sympy.Symbol("b", real=True): 0.25}
    expected = float(tree.sympy().subs(point))
    np.testing.assert_allclose(tree.evaluate([[-1.5, 0.25]]), [expected], rtol=1e-12)


def test_without_sympy_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match="pip install sympy"):
        read("a + b").sympy()


def test_feature() -> None:
    feature = Feature.of(read("a / (b + x_1)"), gain=0.123456, count=2)
    assert feature.name == "a / (b + x_1)"
    assert repr(feature) == "Feature('a / (b + x_1)', gain=0.1235, count=2)"
    assert feature._repr_latex_() == r"$\frac{a}{b + \text{x\_1}}$"
    assert feature.sympy() == feature.expression.sympy()
    assert Feature.of(Column(0, "petal length (cm)", Real)).name == "petal length (cm)"
