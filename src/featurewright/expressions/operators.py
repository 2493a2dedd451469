"""What an operator is: typed inputs, a typed output, a function; and how a name leads to one.

The built-in operators are the rows of the table in ``builtin``. Users make an `Operator` of their
own, and register it if it shall be usable by name.
"""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from enum import Enum, IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from featurewright.expressions.domains import Boolean, Category, Domain
from featurewright.expressions.numbers import code_number
from featurewright.expressions.opcodes import FLOAT_MAX

MAX_ARITY = 8

Array = np.ndarray[Any, np.dtype[Any]]

BUILT_IN: dict[str, BuiltInOperator] = {}
"""The built-in operators by name; ``builtin`` fills it when the package is imported."""

# The only process-wide state of the package. A name is all that a parameter grid, a command line
# or a model file can carry, so somewhere a name must lead to the function it stands for; and since
# a name can never be given a second meaning, the order of registrations cannot change a result.
_REGISTERED: dict[str, Operator] = {}


class Precedence(IntEnum):
    """How tightly what an operator writes binds; a larger number binds more tightly."""

    ANY = 0
    OR = 1
    XOR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    SUM = 6
    PRODUCT = 7
    POWER = 8
    ATOM = 9


class Infix(NamedTuple):
    """An operator written between its operands."""

    sign: str
    precedence: Precedence


class Prefix(NamedTuple):
    """An operator written before its operand; a sign that is a word ends with a space."""

    sign: str
    precedence: Precedence


class Brackets(NamedTuple):
    """Where formulas put brackets: the operator's precedence, and the least of each operand."""

    own: Precedence
    operands: tuple[Precedence, ...]


class Parameter(Enum):
    """What the parameter of an operator's symbol is the code of."""

    LEVEL = "level"
    NUMBER = "number"


class Magnitude(Enum):
    """How large a result can be, given operands within float32."""

    OF_OPERAND = "an operand up to its sign: it needs neither rounding nor a bound"
    WITHIN_FLOAT32 = "rounded like any result, but never too large"
    UNBOUNDED = "missing where it is larger than float32 holds"


@dataclass(frozen=True)
class Operator:
    r"""A constructor of expressions: typed inputs, a typed output and a function.

    Parameters
    ----------
    name : str
        The name in expressions; it must not be the name of a built-in operator.
    inputs : tuple of Domain
        One to eight of ``Real``, ``Boolean``, ``Category``. A Boolean may be given for a Real.
    output : Domain
        ``Real``, ``Boolean``, or ``Category``, which has `levels`.
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
    levels : tuple of str, optional
        Labels of a Category, whose codes the function returns: 0 is the first label; a number that
        is no code is a missing value. Expressions use such an operator through tests for one level,
        which are called ``name_is_label``.

    Attributes
    ----------
    opcode : int or None
        Number of a built-in operator; None for others, which are numbered within each fit.
    parameter : Parameter or None
        What a symbol of the operator carries besides its opcode; None for user operators.

    Examples
    --------
    >>> import math
    >>> from featurewright.expressions import Operator, Real
    >>> hypotenuse = Operator("hypotenuse", inputs=(Real, Real), output=Real, function=math.hypot)
    >>> hypotenuse.reference([3.0, float("nan")], [4.0, 1.0])
    array([ 5., nan])

    An operator that returns a Category:

    >>> from featurewright.expressions import Category, resolve_operators
    >>> def size(x):
    ...     return 0 if x < 10 else 1
    >>> size = Operator("size", (Real,), Category, size, levels=("small", "large"))
    >>> [test.name for test in resolve_operators([size])]
    ['size_is_small', 'size_is_large']
    """

    name: str
    inputs: tuple[Domain, ...]
    output: Domain
    function: Callable[..., Any] = field(hash=False, repr=False)
    _: KW_ONLY
    commutative: bool = False
    rule: str = field(default="", repr=False)
    latex: str | None = field(default=None, repr=False)
    levels: tuple[str, ...] | None = field(default=None, repr=False)
    opcode: int | None = field(default=None, init=False, repr=False)
    parameter: Parameter | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse at once an operator that would fail in the middle of a fit."""
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(
                f"An operator's name must be a non-empty string, got {self.name!r}; give it one."
            )
        if self.name in BUILT_IN:
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
        self._check_levels()
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

    def _check_levels(self) -> None:
        """Refuse a Category without labels, and labels of anything else."""
        if self.output != Category:
            if self.levels is not None:
                raise ValueError(
                    f"Operator {self.name!r} has levels, but does not output a Category; leave "
                    "them out, or give output=Category."
                )
            return
        labels = tuple(self.levels) if isinstance(self.levels, (tuple, list)) else ()
        words = all(isinstance(label, str) and label for label in labels)
        if len(labels) < 2 or not words or len(set(labels)) < len(labels):
            raise ValueError(
                f"Operator {self.name!r} outputs a Category, whose levels must be two or more "
                f"different strings, got {self.levels!r}; write for example "
                "levels=('low', 'high')."
            )
        object.__setattr__(self, "levels", labels)

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
    def given_name(self) -> str:
        """The name that its author gave it; tests for a level have longer ones of their own."""
        return self.name

    @property
    def has_level(self) -> bool:
        """Whether a symbol of this operator carries a level code."""
        return self.parameter is Parameter.LEVEL

    @property
    def has_number(self) -> bool:
        """Whether a symbol of this operator carries the code of a number."""
        return self.parameter is Parameter.NUMBER

    @property
    def has_parameter(self) -> bool:
        """Whether a symbol of this operator carries a level code or that of a number."""
        return self.parameter is not None

    def reference(self, *arrays: Any, parameter: int = 0) -> Array:
        """Compute the operator on arrays with NumPy, under its domain rule.

        Missing in, missing out. A result that is not finite, or whose magnitude exceeds the largest
        float32, is missing. No warning is emitted.

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
        operands = _as_floats(arrays)
        dtype = operands[0].dtype
        if self.has_parameter:
            value = code_number(parameter) if self.has_number else parameter
            operands.append(np.asarray(value, dtype))
        compute = partial(_elementwise, self.function) if self.opcode is None else self.function
        with np.errstate(all="ignore"):
            result = np.asarray(compute(*operands)).astype(dtype, copy=False)
            missing = ~(np.abs(result) <= FLOAT_MAX)
            if self.levels is not None:
                missing = ~np.isin(result, np.arange(len(self.levels)))
            if self.output == Boolean:  # comparisons with NaN are false, and not NaN
                result = result != 0
                for operand in operands:
                    missing = missing | np.isnan(operand)
            return np.where(missing, np.nan, result).astype(dtype)

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
        build = partial(
            Operator,
            commutative=self.commutative,
            rule=self.rule,
            latex=self.latex,
            levels=self.levels,
        )
        return build, (self.name, self.inputs, self.output, self.function)


@dataclass(frozen=True, repr=False)
class LevelTest(Operator):
    """Whether an operator that returns a Category returns one of its levels.

    Its function is that of the Category, and returns codes.

    Parameters
    ----------
    category : Operator
        Returns the Category.
    level : int
        The code that is tested for.
    """

    category: Operator = field(kw_only=True)
    level: int = field(kw_only=True)

    @property
    def given_name(self) -> str:
        """The name of the operator that returns the Category."""
        return self.category.name

    def reference(self, *arrays: Any, parameter: int = 0) -> Array:
        """Compute the test on arrays with NumPy: 1, 0, or missing where the Category is."""
        codes = self.category.reference(*arrays, parameter=parameter)
        return np.where(np.isnan(codes), np.nan, codes == self.level).astype(codes.dtype)

    def __reduce__(self) -> tuple[Callable[..., Operator], tuple[Any, ...]]:
        """Pickle the Category and the code."""
        return _level_test, (self.category, self.level)


def _level_test(category: Operator, level: int) -> LevelTest:
    """Return the test for one level of an operator that returns a Category."""
    label = (category.levels or ())[level]
    return LevelTest(
        f"{category.name}_is_{label}",
        category.inputs,
        Boolean,
        category.function,
        commutative=category.commutative,
        rule=category.rule,
        category=category,
        level=level,
    )


def _used_forms(operator: Operator) -> tuple[Operator, ...]:
    """Return what expressions apply for an operator: it, or a test for each of its levels."""
    if operator.output != Category:
        return (operator,)
    return tuple(_level_test(operator, level) for level in range(len(operator.levels or ())))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BuiltInOperator(Operator):
    """A row of the operator table: every fact about a built-in operator but its compiled kernel.

    An operator with a parameter takes it as one more operand, after the others, in ``function``
    and in every form.

    Parameters
    ----------
    opcode : int
        Number in programs and model files: never changed, never used again.
    parameter : Parameter, optional
        What its symbols carry.
    number_of : str, optional
        The operator of two operands that this one is when the second operand is a number. It is
        written like that one.
    number_first : bool, default=False
        Whether the number is written before the operand.
    if_negative : str, optional
        The operator of two operands by which it is written where its number is negative, with the
        number's opposite.
    sympy : callable
        Takes the module ``sympy`` and the operands as SymPy objects.
    sql : callable
        Takes a `sql_form.Rules`, whose methods write SQL, and the operands as functions that write
        them. Returns the result before it is rounded and bounded (see `magnitude`); a truth value
        as 0, 1 or NULL.
    onnx : callable
        Takes the matrix that ``export.tensors`` writes, and the names of the operands. Returns
        the name of the result, bounded where it needs to be.
    words : str, optional
        Template of plain words with ``#1``, ``#2``, ... in the place of the operands; without
        "whether", which comes before a truth value.
    text : Infix or Prefix, optional
        How it is written; None for ``name(x, y)``.
    mathml : str, optional
        Template with ``#1``, ``#2``, ... in the place of the operands; None for ``name(x, y)``.
    brackets : Brackets, optional
        Where formulas put brackets, if not where text does.
    magnitude : Magnitude, default=UNBOUNDED
        How large results can be.
    exact : bool, default=True
        Whether compiled code, NumPy, SQL and ONNX agree to the last bit; False for functions that
        each library rounds in its own way.
    even, nonnegative, idempotent, antisymmetric : bool, default=False
        Whether f(-x) = f(x); f(x) >= 0; f(x, x) = x; f(y, x) = -f(x, y). Each holds bit for bit.
    keeps_truth : bool, default=False
        Whether f(0) = 0 and f(1) = 1.
    mirrored, opposite : str, optional
        The operator g with g(y, x) = f(x, y); the comparison that is true where this one is false.
    """

    opcode: int
    parameter: Parameter | None = None
    number_of: str | None = None
    number_first: bool = False
    if_negative: str | None = None
    sympy: Callable[..., Any]
    sql: Callable[..., Any]
    onnx: Callable[..., str]
    words: str | None = None
    text: Infix | Prefix | None = None
    mathml: str | None = None
    brackets: Brackets | None = None
    magnitude: Magnitude = Magnitude.UNBOUNDED
    exact: bool = True
    even: bool = False
    nonnegative: bool = False
    idempotent: bool = False
    antisymmetric: bool = False
    keeps_truth: bool = False
    mirrored: str | None = None
    opposite: str | None = None

    def __post_init__(self) -> None:
        """Leave the checks to the tests of the table, which need not run in every process."""

    def __getstate__(self) -> dict[str, str]:
        """Return the name alone, for writers that know no `__reduce__`, such as skops."""
        return {"name": self.name}

    def __setstate__(self, state: dict[str, str]) -> None:
        """Take the fields of the row of that name."""
        vars(self).update(vars(BUILT_IN[state["name"]]))


def register_operator(operator: Operator) -> Operator:
    """Make a user operator usable by its name.

    Parameters
    ----------
    operator : Operator
        The operator of this name in this process, from now on.

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
    if operator.output == Category:  # expressions and model files name the tests
        for test in _used_forms(operator):
            register_operator(test)
    return operator


def get_operator(operator: str | Operator) -> Operator:
    """Return the operator of a name.

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
    found = BUILT_IN.get(operator) or _REGISTERED.get(operator)
    if found is None:
        known = (*BUILT_IN.values(), *_REGISTERED.values())
        names = [each.name for each in known if not each.has_number]
        near = get_close_matches(operator, names, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
        hint = hint or f"use one of {', '.join(names)}."
        raise ValueError(
            f"There is no operator named {operator!r}: register your own with register_operator "
            f"in this process, or {hint}"
        )
    return found


def resolve_operators(operators: Sequence[str | Operator]) -> tuple[Operator, ...]:
    """Return the operators of a selection of names and operators.

    Parameters
    ----------
    operators : sequence of str or Operator
        The selection; its order is kept.

    Returns
    -------
    tuple of Operator
        The operators, all of different names; one that returns a Category is replaced by the
        tests for its levels.

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
    resolved = tuple(used for given in operators for used in _used_forms(get_operator(given)))
    names = [operator.name for operator in resolved]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Each operator may be selected once, got {', '.join(map(repr, repeated))} more than "
            "once; remove the repetition."
        )
    return resolved


def _as_floats(arrays: tuple[Any, ...]) -> list[Array]:
    """Convert operands to one floating dtype: float32 if all of them are, float64 otherwise."""
    values = [np.asarray(array) for array in arrays]
    narrow = all(value.dtype == np.float32 for value in values)
    dtype = np.float32 if narrow else np.float64
    return [value.astype(dtype, copy=False) for value in values]


def _elementwise(function: Callable[..., Any], *operands: Array) -> Array:
    """Apply a scalar Python function row by row; a row with a missing operand is missing.

    A row for which the function raises an arithmetic or domain error is missing, as it would be
    had the same arithmetic been vectorised.
    """
    broadcast = np.broadcast_arrays(*operands)
    result = np.full(broadcast[0].shape, np.nan)
    present = ~np.any([np.isnan(value) for value in broadcast], axis=0)
    rows = zip(*(value[present].tolist() for value in broadcast), strict=True)
    result[present] = [_scalar_result(function, row) for row in rows]
    return result


def _scalar_result(function: Callable[..., Any], row: tuple[float, ...]) -> float:
    """Call a scalar function; return NaN for an arithmetic error or a complex result."""
    try:
        value = function(*row)
        return float("nan") if isinstance(value, complex) else float(value)
    except (ArithmeticError, ValueError):
        return float("nan")
