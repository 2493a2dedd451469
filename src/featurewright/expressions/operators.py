"""The one table of operators: names, domains, rules, opcodes and NumPy references."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

from featurewright.expressions import opcodes, references
from featurewright.expressions.domains import Boolean, Category, Domain, Real

MAX_ARITY = 8
ARITHMETIC = ("add", "sub", "mul", "div")

_TABLE: dict[str, Operator] = {}

OPERATORS: Mapping[str, Operator] = MappingProxyType(_TABLE)
"""The built-in operators by name, in the order of their opcodes."""

# The only process-wide state of the package. A name is all that a parameter grid, a command line
# or a model file can carry, so somewhere a name must lead to the function it stands for; and since
# a name can never be given a second meaning, the order of registrations cannot change a result.
_REGISTERED: dict[str, Operator] = {}


WITH_NUMBER = {"at_least": "max", "at_most": "min", "over": "greater"}
"""Operators that compare with a number of their own, and those that do so with a second operand.

They are written like those: ``max(x, 2.5)``, ``min(x, 2.5)`` and ``x > 2.5``.
"""


@dataclass(frozen=True)
class Operator:
    r"""A constructor of expressions: typed inputs, a typed output and a function.

    Parameters
    ----------
    name : str
        How expressions call it; not the name of a built-in operator.
    inputs : tuple of Domain
        One to eight of ``Real``, ``Boolean``, ``Category``. A Boolean may be given for a Real.
    output : Domain
        ``Real`` or ``Boolean``.
    function : callable
        An element-wise function of as many floats. Missing values never reach it; a result that
        is not finite, or an arithmetic error, is a missing value. Define it at module level if
        models that use it are to be pickled.
    commutative : bool, default=False
        Whether any order of the operands gives the same value.
    rule : str, default=""
        One sentence about what is undefined.
    latex : str, optional
        Template with ``#1``, ``#2``, ... in the place of the operands.

    Attributes
    ----------
    opcode : int or None
        Number of a built-in operator; None for others, which are numbered within each fit.

    Examples
    --------
    >>> import math
    >>> from featurewright.expressions import Operator, Real
    >>> hypotenuse = Operator("hypotenuse", inputs=(Real, Real), output=Real, function=math.hypot)
    >>> hypotenuse.reference([3.0, float("nan")], [4.0, 1.0])
    array([ 5., nan])
    """

    name: str
    inputs: tuple[Domain, ...]
    output: Domain
    function: Callable[..., Any] = field(hash=False, repr=False)
    _: KW_ONLY
    commutative: bool = False
    rule: str = field(default="", repr=False)
    latex: str | None = field(default=None, repr=False)
    opcode: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse at once what could only fail in the middle of a fit."""
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(
                f"An operator's name must be a non-empty string, got {self.name!r}; give it one."
            )
        if self.name in _TABLE:
            raise ValueError(
                f"{self.name!r} is the name of a built-in operator; choose another name."
            )
        if not isinstance(self.inputs, (tuple, list)):
            raise TypeError(
                f"The inputs of operator {self.name!r} must be a tuple of domains, got "
                f"{self.inputs!r}; write for example inputs=(Real, Real)."
            )
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not 1 <= len(self.inputs) <= MAX_ARITY:
            raise ValueError(
                f"Operator {self.name!r} has {len(self.inputs)} inputs, expected 1 to {MAX_ARITY}; "
                "change its inputs."
            )
        for domain in (*self.inputs, self.output):
            if not isinstance(domain, Domain):
                raise TypeError(
                    f"Operator {self.name!r} has {domain!r} where a domain was expected; use Real, "
                    "Boolean or Category."
                )
        if self.output == Category:
            raise ValueError(
                f"Operator {self.name!r} outputs a Category, but only columns have levels; output "
                "Real or Boolean instead."
            )
        self._check_function()
        self._check_latex()

    def _check_function(self) -> None:
        """Refuse a function that cannot be called with one value per input."""
        if not callable(self.function):
            raise TypeError(
                f"The function of operator {self.name!r} must be callable, got {self.function!r}; "
                "give a Python function of floats."
            )
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            return  # some compiled functions do not tell their signature
        try:
            signature.bind(*self.inputs)
        except TypeError:
            raise TypeError(
                f"The function of operator {self.name!r} has the signature {signature}, which "
                f"cannot take {len(self.inputs)} positional arguments; give one parameter per "
                "input."
            ) from None

    def _check_latex(self) -> None:
        """Refuse a template that names an operand the operator does not have."""
        if self.latex is None:
            return
        slots = {int(digit) for digit in re.findall(r"(?<!\\)#(\d)", self.latex)}
        if not slots <= set(range(1, self.arity + 1)):
            raise ValueError(
                f"The latex template {self.latex!r} of operator {self.name!r} names operands that "
                f"do not exist; use #1 to #{self.arity}."
            )

    @property
    def arity(self) -> int:
        """Number of operands."""
        return len(self.inputs)

    @property
    def has_level(self) -> bool:
        """Whether a symbol of this operator carries a level code."""
        return self.opcode == opcodes.IS

    @property
    def has_number(self) -> bool:
        """Whether a symbol of this operator carries the code of a number."""
        return self.name in WITH_NUMBER and self.opcode is not None

    @property
    def has_parameter(self) -> bool:
        """Whether a symbol of this operator carries a level code or that of a number."""
        return self.has_level or self.has_number

    def reference(self, *arrays: Any, parameter: int = 0) -> references.Array:
        """Compute the operator on arrays with NumPy, under its domain rule.

        Parameters
        ----------
        *arrays : array-like
            One per input: numbers, 0/1 for a Boolean, level codes for a Category, NaN for missing.
        parameter : int, default=0
            Level code an ``is`` test compares with, or the code of a number; operators without a
            parameter ignore it.

        Returns
        -------
        ndarray
            float32 if all the inputs are, float64 otherwise.
        """
        if len(arrays) != self.arity:
            raise TypeError(
                f"Operator {self.name!r} got {len(arrays)} operands, expected {self.arity}; give "
                "one array per input."
            )
        if self.opcode is None:
            truth = self.output == Boolean
            return references.elementwise(self.function, arrays, truth=truth)
        known = {"parameter": parameter} if self.has_parameter else {}
        result: references.Array = self.function(*arrays, **known)
        return result

    def __copy__(self) -> Operator:
        """Return the operator itself: it cannot change."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        """Return the operator itself, so that estimators with unpicklable ones can be cloned."""
        return self

    def __reduce__(self) -> tuple[Callable[..., Operator], tuple[Any, ...]]:
        """Pickle a built-in by name, another by its fields."""
        if self.opcode is not None:
            return get_operator, (self.name,)
        try:
            pickle.dumps(self.function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise pickle.PicklingError(
                f"Operator {self.name!r} cannot be pickled because its function {self.function!r} "
                "cannot be imported by name; use a function defined at module level."
            ) from error
        build = partial(Operator, commutative=self.commutative, rule=self.rule, latex=self.latex)
        return build, (self.name, self.inputs, self.output, self.function)


def register_operator(operator: Operator) -> Operator:
    """Make a user operator usable by its name.

    Parameters
    ----------
    operator : Operator
        What the name shall stand for, in this process, from now on.

    Returns
    -------
    Operator
        The same operator.

    Examples
    --------
    >>> import math
    >>> from featurewright.expressions import Operator, Real, get_operator, register_operator
    >>> angle = Operator("angle_of", inputs=(Real, Real), output=Real, function=math.atan2)
    >>> register_operator(angle) is get_operator("angle_of")
    True
    """
    if not isinstance(operator, Operator):
        raise TypeError(f"Expected an Operator to register, got {operator!r}; build one first.")
    if operator.opcode is not None:
        return operator
    known = _REGISTERED.setdefault(operator.name, operator)
    if known != operator:
        raise ValueError(
            f"Another operator is already registered as {operator.name!r}; choose another name."
        )
    return operator


def get_operator(operator: str | Operator) -> Operator:
    """Return the operator a name stands for.

    Parameters
    ----------
    operator : str or Operator
        Name of a built-in or registered operator; an operator is returned as it is.

    Returns
    -------
    Operator
        The operator.

    Examples
    --------
    >>> from featurewright.expressions import get_operator
    >>> get_operator("div").rule
    'Missing when the divisor is 0.'
    """
    if isinstance(operator, Operator):
        return operator
    if not isinstance(operator, str):
        raise TypeError(
            f"Expected the name of an operator or an Operator, got {operator!r}; pass a string "
            "such as 'add'."
        )
    found = _TABLE.get(operator) or _REGISTERED.get(operator)
    if found is None:
        names = [*(name for name in _TABLE if name not in WITH_NUMBER), *_REGISTERED]
        near = get_close_matches(operator, names, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
        hint = hint or f"use one of {', '.join(names)}."
        raise ValueError(
            f"There is no operator named {operator!r}: register your own with register_operator "
            f"in this process, or {hint}"
        )
    return found


def resolve_operators(operators: Sequence[str | Operator]) -> tuple[Operator, ...]:
    """Turn a selection of names and operators into operators.

    Parameters
    ----------
    operators : sequence of str or Operator
        The selection; its order is kept.

    Returns
    -------
    tuple of Operator
        The operators, all of different names.

    Examples
    --------
    >>> from featurewright.expressions import resolve_operators
    >>> [operator.name for operator in resolve_operators(["mul", "sqrt"])]
    ['mul', 'sqrt']
    """
    if isinstance(operators, (str, Operator)):
        raise TypeError(
            f"Expected a sequence of operators, got {operators!r} alone; put it in a list."
        )
    resolved = tuple(get_operator(operator) for operator in operators)
    names = [operator.name for operator in resolved]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Each operator may be selected once, got {', '.join(map(repr, repeated))} more than "
            "once; remove the repetition."
        )
    return resolved


def _builtin(
    opcode: int,
    name: str,
    inputs: tuple[Domain, ...],
    output: Domain,
    function: references.Reference,
    *,
    latex: str,
    rule: str = "Defined everywhere, up to overflow.",
    commutative: bool = False,
) -> None:
    """Add one row to the table."""
    row = Operator(name, inputs, output, function, commutative=commutative, rule=rule, latex=latex)
    object.__setattr__(row, "opcode", opcode)
    _TABLE[name] = row


_R, _RR = (Real,), (Real, Real)
_B, _BB = (Boolean,), (Boolean, Boolean)
_C, _CC = (Category,), (Category, Category)
_op, _np = opcodes, references
_LOG_RULE = "The logarithm of |x|; missing when x is 0."
_EXP_RULE = "The argument is bounded from above by 80."
_DIV_RULE = "Missing when the divisor is 0."
_INV_RULE = "Missing when x is 0."
_GAUSSIAN = r"e^{-\left(#1 - #2\right)^{2}}"

# fmt: off
_builtin(_op.ADD, "add", _RR, Real, _np.add, latex="#1 + #2", commutative=True)
_builtin(_op.SUB, "sub", _RR, Real, _np.sub, latex="#1 - #2")
_builtin(_op.MUL, "mul", _RR, Real, _np.mul, latex=r"#1 \cdot #2", commutative=True)
_builtin(_op.DIV, "div", _RR, Real, _np.div, latex=r"\frac{#1}{#2}", rule=_DIV_RULE)
_builtin(_op.NEG, "neg", _R, Real, _np.neg, latex="-#1")
_builtin(_op.ABS, "abs", _R, Real, _np.absolute, latex=r"\left|#1\right|")
_builtin(_op.SQUARE, "square", _R, Real, _np.square, latex="#1^{2}")
_builtin(_op.SQRT, "sqrt", _R, Real, _np.sqrt, latex=r"\sqrt{\left|#1\right|}",
         rule="The square root of |x|.")
_builtin(_op.LOG, "log", _R, Real, _np.log, latex=r"\log\left|#1\right|", rule=_LOG_RULE)
_builtin(_op.EXP, "exp", _R, Real, _np.exp, latex=r"\exp\left(#1\right)", rule=_EXP_RULE)
_builtin(_op.RECIPROCAL, "reciprocal", _R, Real, _np.reciprocal, latex=r"\frac{1}{#1}",
         rule=_INV_RULE)
_builtin(_op.MIN, "min", _RR, Real, _np.minimum, latex=r"\min\left(#1, #2\right)",
         commutative=True)
_builtin(_op.MAX, "max", _RR, Real, _np.maximum, latex=r"\max\left(#1, #2\right)",
         commutative=True)
_builtin(_op.GAUSSIAN, "gaussian", _RR, Real, _np.gaussian, latex=_GAUSSIAN, commutative=True)
_builtin(_op.AND, "and", _BB, Boolean, _np.both, latex=r"#1 \wedge #2", commutative=True)
_builtin(_op.OR, "or", _BB, Boolean, _np.either, latex=r"#1 \vee #2", commutative=True)
_builtin(_op.XOR, "xor", _BB, Boolean, _np.one_of, latex=r"#1 \oplus #2", commutative=True)
_builtin(_op.NOT, "not", _B, Boolean, _np.negation, latex=r"\neg #1")
_builtin(_op.LESS, "less", _RR, Boolean, _np.less, latex="#1 < #2")
_builtin(_op.LESS_EQUAL, "less_equal", _RR, Boolean, _np.less_equal, latex=r"#1 \le #2")
_builtin(_op.GREATER, "greater", _RR, Boolean, _np.greater, latex="#1 > #2")
_builtin(_op.GREATER_EQUAL, "greater_equal", _RR, Boolean, _np.greater_equal,
         latex=r"#1 \ge #2")
_builtin(_op.EQUAL, "equal", _CC, Boolean, _np.equal, latex="#1 = #2", commutative=True)
_builtin(_op.IS, "is", _C, Boolean, _np.is_level, latex="#1 = ")
_builtin(_op.AT_LEAST, "at_least", _R, Real, _np.at_least,
         latex=r"\max\left(#1, \cdot\right)")
_builtin(_op.AT_MOST, "at_most", _R, Real, _np.at_most,
         latex=r"\min\left(#1, \cdot\right)")
_builtin(_op.OVER, "over", _R, Boolean, _np.over, latex="#1 > ")
# fmt: on
