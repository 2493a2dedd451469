"""Immutable expression trees: columns at the leaves, operators above."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from featurewright.expressions.domains import Domain, accepts
from featurewright.expressions.latex import latex_of
from featurewright.expressions.mathml import mathml_of
from featurewright.expressions.numbers import code_number, is_number_code
from featurewright.expressions.opcodes import MAX_PARAMETER
from featurewright.expressions.operators import BuiltInOperator, Operator
from featurewright.expressions.sympy_form import sympy_of
from featurewright.expressions.text import text_of
from featurewright.expressions.words import words_of

T = TypeVar("T")


class Expression(ABC):
    """A column, or an operator applied to expressions.

    Two expressions are equal when their trees are. Printing one gives text that ``parse`` reads
    back into the same tree.
    """

    domain: Domain

    @abstractmethod
    def fold(self, column: Callable[[Column], T], call: Callable[[Call, list[T]], T]) -> T:
        """Compute a result from the leaves to the root.

        Parameters
        ----------
        column : callable
            Result for a column.
        call : callable
            Result for an operator applied, from the node and the results of its arguments.

        Returns
        -------
        object
            Result for the whole expression.
        """

    @property
    def size(self) -> int:
        """Number of symbols: columns and operators, each as often as it occurs."""
        return self.fold(lambda _: 1, lambda _, sizes: 1 + sum(sizes))

    def columns(self) -> tuple[int, ...]:
        """Return the indices of the columns used, sorted, each once."""
        used: set[int] = set()
        self.fold(lambda node: used.add(node.index), lambda _, __: None)
        return tuple(sorted(used))

    def evaluate(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Compute the values on a table with the NumPy references, in float64.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Encoded values: 0/1 for a Boolean, level codes for a Category, NaN for missing.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values, NaN where undefined.
        """
        values = np.asarray(X, dtype=np.float64)
        needed = max(self.columns()) + 1
        if values.ndim != 2 or values.shape[1] < needed:
            raise ValueError(
                f"The expression {self} needs a 2-D array with at least {needed} columns, got the "
                f"shape {values.shape}; pass the columns it was built on."
            )
        return self.fold(
            lambda node: values[:, node.index].copy(),
            lambda node, arguments: node.operator.reference(*arguments, parameter=node.code),
        )

    def latex(self) -> str:
        """Return the expression as LaTeX, without dollar signs."""
        return latex_of(self)

    def mathml(self) -> str:
        """Return the expression as MathML, which browsers draw; names are escaped."""
        return mathml_of(self)

    def words(self) -> str:
        """Return the expression in plain words, such as "price divided by area"."""
        return words_of(self)

    def sympy(self) -> Any:
        """Return the expression as a SymPy object, for display and algebra.

        It has neither bounds nor rules for missing values.
        """
        return sympy_of(self)

    def __str__(self) -> str:
        """Return text that `parse` reads back into the same tree."""
        return text_of(self)


@dataclass(frozen=True)
class Column(Expression):
    """An input column.

    Parameters
    ----------
    index : int
        Position in the table.
    name : str
        Any string.
    domain : Domain
        Domain of its values.

    Examples
    --------
    >>> from featurewright.expressions import Column, Real
    >>> print(Column(0, "petal length (cm)", Real))
    `petal length (cm)`
    """

    index: int
    name: str
    domain: Domain

    def __post_init__(self) -> None:
        """Refuse a negative index, which NumPy would count from the end."""
        if self.index < 0:
            raise ValueError(
                f"The index of column {self.name!r} must be 0 or more, got {self.index}; give its "
                "position in the table."
            )

    def fold(self, column: Callable[[Column], T], call: Callable[[Call, list[T]], T]) -> T:
        """Return the result for this column."""
        return column(self)


@dataclass(frozen=True)
class Call(Expression):
    """An operator applied to arguments.

    Parameters
    ----------
    operator : Operator
        What is applied.
    arguments : tuple of Expression
        One per input of the operator, of domains it accepts.
    parameter : (int, str), optional
        Code and label of the level an ``is`` test compares with, or code and text of the number
        of ``at_least``, ``at_most``, ``over``, ``scaled`` or ``shifted``; None for other operators.

    Examples
    --------
    >>> from featurewright.expressions import Call, Column, Real, get_operator
    >>> a, b = Column(0, "a", Real), Column(1, "b", Real)
    >>> ratio = Call(get_operator("div"), (a, b))
    >>> print(ratio), ratio.size, ratio.columns()
    a / b
    (None, 3, (0, 1))
    >>> ratio.evaluate([[1.0, 4.0], [1.0, 0.0]])
    array([0.25,  nan])
    """

    operator: Operator
    arguments: tuple[Expression, ...]
    parameter: tuple[int, str] | None = None
    domain: Domain = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse arguments that do not fit the operator."""
        operator = self.operator
        object.__setattr__(self, "arguments", tuple(self.arguments))
        object.__setattr__(self, "domain", operator.output)
        if len(self.arguments) != operator.arity:
            raise ValueError(
                f"Operator {operator.name!r} got {len(self.arguments)} arguments, expected "
                f"{operator.arity}; give one per input."
            )
        for required, argument in zip(operator.inputs, self.arguments, strict=True):
            if not accepts(required, argument.domain):
                raise ValueError(
                    f"Operator {operator.name!r} expects a {required.name.capitalize()} and got "
                    f"{argument}, a {argument.domain.name.capitalize()}; use a column or operator "
                    "of the right domain."
                )
        if operator.has_parameter != (self.parameter is not None):
            kinds = {True: "a level (code, label)", False: "a number (code, text)"}
            wanted = kinds[operator.has_level] if operator.has_parameter else "no parameter"
            raise ValueError(
                f"Operator {operator.name!r} takes {wanted}, got {self.parameter!r}; change it."
            )
        if not 0 <= self.code <= MAX_PARAMETER:
            raise ValueError(
                f"The level code must be between 0 and {MAX_PARAMETER}, got {self.code}; use the "
                "code of a known level."
            )
        if operator.has_number and not is_number_code(self.code):
            raise ValueError(
                f"Operator {operator.name!r} got {self.code}, which is the code of no number; use "
                "number_code to make one."
            )

    def __hash__(self) -> int:
        """Return a hash of the tree, computed once: searches look up the same trees often."""
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = hash((self.operator, self.arguments, self.parameter))
            object.__setattr__(self, "_hash", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hash: those of texts differ from process to process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def size(self) -> int:
        """Number of symbols: columns and operators, each as often as it occurs."""
        return 1 + sum(argument.size for argument in self.arguments)

    @property
    def code(self) -> int:
        """Code of the level or number of the parameter, 0 where there is none."""
        return 0 if self.parameter is None else self.parameter[0]

    @property
    def name(self) -> str:
        """Name of the operator as it is written: that of two operands where one is a number."""
        operator = self.operator
        other = operator.number_of if isinstance(operator, BuiltInOperator) else None
        return operator.name if other is None else other

    @property
    def label(self) -> str:
        """Text of the level or number of the parameter, "" where there is none."""
        return "" if self.parameter is None else self.parameter[1]

    @property
    def number(self) -> float:
        """The number of an operator that has one."""
        return code_number(self.code)

    def fold(self, column: Callable[[Column], T], call: Callable[[Call, list[T]], T]) -> T:
        """Return the result for this node from the results of its arguments."""
        return call(self, [argument.fold(column, call) for argument in self.arguments])
