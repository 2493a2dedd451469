"""The language of constructed features: domains, operators, expressions, programs."""

from __future__ import annotations

from featurewright.expressions.automaton import Automaton, build_automaton
from featurewright.expressions.budget import parse_budget
from featurewright.expressions.builtin import ARITHMETIC, OPERATORS
from featurewright.expressions.domains import Boolean, Category, Domain, Real, accepts
from featurewright.expressions.feature import Feature
from featurewright.expressions.nodes import Call, Column, Expression
from featurewright.expressions.operators import (
    Operator,
    get_operator,
    register_operator,
    resolve_operators,
)
from featurewright.expressions.parser import ParseError, parse
from featurewright.expressions.programs import from_program, operator_opcode, to_program
from featurewright.expressions.simplify import simplify

__all__ = [
    "ARITHMETIC",
    "OPERATORS",
    "Automaton",
    "Boolean",
    "Call",
    "Category",
    "Column",
    "Domain",
    "Expression",
    "Feature",
    "Operator",
    "ParseError",
    "Real",
    "accepts",
    "build_automaton",
    "from_program",
    "get_operator",
    "operator_opcode",
    "parse",
    "parse_budget",
    "register_operator",
    "resolve_operators",
    "simplify",
    "to_program",
]
