"""What a model computes, as steps: the small language between models and SQL or ONNX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from featurewright.engine.forest import Forest
from featurewright.export.moments import date_part
from featurewright.expressions import OPERATORS, Call, Expression
from featurewright.expressions.sql_form import check_operator
from featurewright.tables import Schema


@dataclass(frozen=True)
class Step:
    """One value of each row: an operation on the values of earlier steps.

    The operations are those of the operator table, by their names, under their domain rules
    (`narrow` ones round to float32), and:

    - ``column``: an input column by its position, missing where it is (data: its position);
    - ``moment``: a date, time or duration in seconds, dates since 1970 (data: column and kind);
    - ``round``: a number rounded to float32;
    - ``floor``: the largest whole number that is not larger;
    - ``gap``: 1 where its operand is missing, else 0;
    - ``shares``: a number for each code, 0 where it is missing (data: the numbers);
    - ``bump``: the Gaussian bump of two operands whose squared difference is the third;
    - ``fill``: its operand, or a constant where that is missing (data: the constant);
    - ``linear``: a weighted sum (data: the weights and a constant);
    - ``distance``: squared or absolute differences to a point, added up (data: the power 1 or 2,
      the point);
    - ``expit``, ``power`` (data: the exponent), ``exponential``, ``clip`` (data: lower and upper
      bound), ``ratio``, ``largest``: plain arithmetic on values that are never missing;
    - ``quotient``: a ratio that is 0 for a zero divisor;
    - ``root``: the square root of the sum of squares;
    - ``score``: one of the sums of an ensemble of trees (data: the ensemble, which sum);
    - ``place``: the leaf that a row reaches, as -1 - its number (data: the ensemble, the tree);
    - ``member``: whether a place lies in a range (data: that), missing where it is;
    - ``pick``: the label of the first operand that equals the last one (data: the labels);
    - ``number``: a constant (data: it).
    """

    op: str
    args: tuple[int, ...] = ()
    data: Any = None
    narrow: bool = False


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaves add to scores; the tests of inner nodes are steps.

    Attributes
    ----------
    forest : Forest
        The trees.
    tests : tuple of int
        For each node the step of the value that it tests; -1 at leaves.
    groups : int
        Number of groups that trees take turns in; each group adds to scores of its own.
    drops_missing : bool
        Whether a row whose value is missing reaches no leaf; else it goes to the node's side for
        it.
    """

    forest: Forest
    tests: tuple[int, ...]
    groups: int = 1
    drops_missing: bool = False

    @property
    def n_scores(self) -> int:
        """Number of scores of a row."""
        return int(self.forest.values.shape[1]) + self.groups - 1


@dataclass(eq=False)
class Graph:
    """The steps of a model over the columns of one table.

    Parameters
    ----------
    schema : Schema
        The columns, as the model knows them.
    narrow : bool, default=False
        Whether operators that are added round to float32, as they do where trees are descended;
        else they are computed in float64, as `transform` does.
    derived : tuple of DerivedColumn
        What the columns are made from, where some of them are parts of dates.
    """

    schema: Schema
    narrow: bool = False
    derived: tuple[Any, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    ensembles: list[Ensemble] = field(default_factory=list)
    _places: dict[Step, int] = field(default_factory=dict)

    def add(self, op: str, *args: int, data: Any = None) -> int:
        """Return the number of a step, which is made where it is new."""
        return self.put(Step(op, args, data, self.narrow and op in _ROUNDED))

    def put(self, step: Step) -> int:
        """Return the number of a step that is made already."""
        if step not in self._places:
            self._places[step] = len(self.steps)
            self.steps.append(step)
        return self._places[step]

    def column(self, index: int) -> int:
        """Add a column of the table, or what it is made from."""
        if not self.derived or self.derived[index].part == "value":
            return self.add("column", data=int(index))
        if self.derived[index].source not in self.kinds:
            raise ValueError(
                f"Column {self.derived[index].source!r} holds free text, whose numbers have no SQL "
                "or ONNX form; fit with free_text=False, or use transform and predict."
            )
        part = date_part(self, self.derived[index], self.kinds)
        return self.add("round", part) if self.narrow else part

    def expression(self, expression: Expression) -> int:
        """Add the steps of an expression."""
        return expression.fold(lambda node: self.column(node.index), self._call)

    def _call(self, node: Call, parts: list[int]) -> int:
        """Add an operator."""
        check_operator(node)
        if self.narrow and node.operator.name == "gaussian":
            # The difference and its square are rounded too.
            square = self.add("square", self.add("sub", *parts))
            return self.add("bump", *parts, square)
        if node.operator.has_number:
            return self.add(node.name, *parts, self.add("number", data=node.number))
        return self.add(node.operator.name, *parts, data=node.code if node.parameter else None)

    def linear(self, parts: Sequence[int], weights: Iterable[float], constant: float = 0.0) -> int:
        """Add a weighted sum, without terms of no weight."""
        kept = [
            (part, float(weight)) for part, weight in zip(parts, weights, strict=True) if weight
        ]
        data = tuple(weight for _, weight in kept), float(constant)
        return self.add("linear", *(part for part, _ in kept), data=data)


_ROUNDED = {*OPERATORS, "column", "bump", "round"}
