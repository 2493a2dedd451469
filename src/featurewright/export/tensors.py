"""Steps as ONNX nodes: all steps of one kind and depth are one operation on a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from featurewright.export.graph import Graph
from featurewright.expressions import OPERATORS
from featurewright.expressions.opcodes import FLOAT_MAX


def onnx_package() -> Any:
    """Import ONNX when it is first needed: it is optional."""
    try:
        return import_module("onnx")
    except ImportError:
        raise ImportError(
            "Writing ONNX needs the package onnx, which is not installed; run 'pip install "
            "featurewright[onnx]'."
        ) from None


class Sheet:
    """ONNX nodes as they are written, and the constants that they use."""

    def __init__(self) -> None:
        self.onnx = onnx_package()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[Any, str] = {}

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node of one output; give the name of that."""
        name = f"n{len(self.nodes)}"
        make = self.onnx.helper.make_node
        self.nodes.append(make(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, value: Any, dtype: Any) -> str:
        """Return the name of a constant."""
        array = np.asarray(value, dtype=dtype)
        key = (array.tobytes(), array.shape, str(array.dtype)) if array.dtype != object else None
        if key is not None and key in self._known:
            return self._known[key]
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        if key is not None:
            self._known[key] = name
        return name

    def cast(self, name: str, dtype: Any) -> str:
        """Add a cast."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", name, to=kind)

    def gather(self, name: str, places: Sequence[int]) -> str:
        """Add a choice of columns."""
        return self.add("Gather", name, self.constant(list(places), np.int64), axis=1)


class Matrix:
    """The values of steps as columns of a matrix that grows level by level."""

    def __init__(self, sheet: Sheet, graph: Graph, name: str, columns: dict[int, int], dtype: Any):
        self.sheet, self.graph, self.name, self.dtype = sheet, graph, name, dtype
        self.columns = dict(columns)
        self.width = len(columns)

    def compute(self, wanted: Sequence[int]) -> None:
        """Add columns for steps and what they need."""
        for group in self._levels(wanted):
            made = [self._apply(op, steps) for op, steps in group]
            for _, steps in group:
                for step in steps:
                    self.columns[step] = self.width
                    self.width += 1
            self.name = self.sheet.add("Concat", self.name, *made, axis=1)

    def take(self, wanted: Sequence[int]) -> str:
        """Return the name of a matrix of some steps."""
        return self.sheet.gather(self.name, [self.columns[step] for step in wanted])

    def _levels(self, wanted: Sequence[int]) -> list[list[tuple[str, list[int]]]]:
        """Group the steps to be computed by depth, and those by what they do."""
        level: dict[int, int] = {}
        needed: set[int] = set()
        open_steps = list(wanted)
        while open_steps:
            step = open_steps.pop()
            if step not in needed and step not in self.columns:
                needed.add(step)
                open_steps += self.graph.steps[step].args
        groups: dict[int, dict[Any, tuple[str, list[int]]]] = {}
        for step in sorted(needed):
            node = self.graph.steps[step]
            level[step] = 1 + max((level.get(arg, 0) for arg in node.args), default=0)
            # Operands of distances and of largest values are the same for all of a group.
            alike = node.args if node.op in ("distance", "largest", "root") else ()
            power = node.data[0] if node.op == "distance" else None
            key = (node.op, alike, power)
            groups.setdefault(level[step], {}).setdefault(key, (node.op, []))[1].append(step)
        return [list(groups[k].values()) for k in sorted(groups)]

    # Operations ---------------------------------------------------------------------------------

    def _apply(self, op: str, steps: list[int]) -> str:
        """Write one operation for a group of steps."""
        special = _SPECIAL.get(op)
        if special is not None:
            return special(self, steps)
        arity = len(self.graph.steps[steps[0]].args)
        parts = [
            self.take([self.graph.steps[step].args[k] for step in steps]) for k in range(arity)
        ]
        data = [self.graph.steps[step].data for step in steps]
        if op in _PLAIN:
            return _PLAIN[op](self, data, *parts)
        operator = OPERATORS["gaussian" if op == "bump" else op]  # a bump knows its square
        return operator.onnx(self, *parts, *([self.number(data)] if operator.has_level else ()))

    # What the rows of the operator table write with ---------------------------------------------

    def add(self, op: str, *inputs: str) -> str:
        """Add a node; return the name of its output."""
        return self.sheet.add(op, *inputs)

    def is_true(self, part: str) -> str:
        """Write the condition that a truth value is not 0."""
        return self.add("Not", self.add("Equal", part, self.number(0.0)))

    def number(self, value: Any) -> str:
        """Return the name of a constant of the matrix's type."""
        return self.sheet.constant(value, self.dtype)

    def precisely(self, op: str, value: str) -> str:
        """Compute a logarithm or exponential in float64: in float32 runtimes only come near it."""
        if self.dtype is np.float64:
            return self.sheet.add(op, value)
        wide = self.sheet.add(op, self.sheet.cast(value, np.float64))
        return self.sheet.cast(wide, self.dtype)

    def missing_where(self, condition: str, value: str) -> str:
        """Make a value missing where a condition holds."""
        return self.sheet.add("Where", condition, self.number(np.nan), value)

    def settle(self, value: str) -> str:
        """Make missing what is not finite or too large."""
        size = self.sheet.add("Abs", value)
        fits = self.sheet.add("LessOrEqual", size, self.number(FLOAT_MAX))
        return self.sheet.add("Where", fits, value, self.number(np.nan))

    def truth(self, holds: str, *parts: str) -> str:
        """Return a condition as 0 or 1, missing where an operand is."""
        gaps = [self.sheet.add("IsNaN", part) for part in parts]
        gap = gaps[0] if len(gaps) == 1 else self.sheet.add("Or", *gaps)
        return self.missing_where(gap, self.sheet.cast(holds, self.dtype))


def _linear(matrix: Matrix, steps: list[int]) -> str:
    """Multiply the operands of a group by a matrix of weights."""
    nodes = [matrix.graph.steps[step] for step in steps]
    operands = sorted({arg for node in nodes for arg in node.args})
    if not operands:
        return _numbers(matrix, steps, [node.data[1] for node in nodes])
    weights = np.zeros((len(operands), len(nodes)))
    place = {operand: k for k, operand in enumerate(operands)}
    for column, node in enumerate(nodes):
        for arg, weight in zip(node.args, node.data[0], strict=True):
            weights[place[arg], column] += weight
    sums = matrix.sheet.add("MatMul", matrix.take(operands), matrix.number(weights))
    return matrix.sheet.add("Add", sums, matrix.number([node.data[1] for node in nodes]))


def _numbers(matrix: Matrix, steps: list[int], values: Any = None) -> str:
    """Repeat constants for each row."""
    data = values or [matrix.graph.steps[step].data for step in steps]
    sheet = matrix.sheet
    rows = sheet.add("Shape", matrix.name, start=0, end=1)
    shape = sheet.add("Concat", rows, sheet.constant([len(data)], np.int64), axis=0)
    return sheet.add("Expand", matrix.number(data), shape)


def _distance(matrix: Matrix, steps: list[int]) -> str:
    """Compare all rows with all points."""
    sheet = matrix.sheet
    nodes = [matrix.graph.steps[step] for step in steps]
    points = matrix.number([node.data[1] for node in nodes])
    rows = sheet.add("Unsqueeze", matrix.take(nodes[0].args), sheet.constant([1], np.int64))
    difference = sheet.add("Sub", rows, points)
    if nodes[0].data[0] == 1:
        terms = sheet.add("Abs", difference)
    else:
        terms = sheet.add("Mul", difference, difference)
    return sheet.add("ReduceSum", terms, sheet.constant([2], np.int64), keepdims=0)


def _shares(matrix: Matrix, steps: list[int]) -> str:
    """Look up a number for each code, 0 where it is missing."""
    sheet, found = matrix.sheet, []
    for step in steps:
        node = matrix.graph.steps[step]
        codes = _fill(matrix, len(node.data), matrix.take(node.args))
        numbers = matrix.number([*node.data, 0.0])
        found.append(sheet.add("Gather", numbers, sheet.cast(codes, np.int64)))
    return sheet.add("Concat", *found, axis=1)


def _reduce(op: str) -> Callable[[Matrix, list[int]], str]:
    """Reduce the operands of a step to one value."""

    def reduce(matrix: Matrix, steps: list[int]) -> str:
        operands = matrix.take(matrix.graph.steps[steps[0]].args)
        return matrix.sheet.add(op, operands, matrix.sheet.constant([1], np.int64), keepdims=1)

    return reduce


def _simple(op: str) -> Callable[..., str]:
    """Write an operation that ONNX has."""
    return lambda matrix, data, *parts: matrix.sheet.add(op, *parts)


def _fill(matrix: Matrix, data: Any, x: str) -> str:
    """Write constants in place of what is missing."""
    return matrix.sheet.add("Where", matrix.sheet.add("IsNaN", x), matrix.number(data), x)


def _clip(matrix: Matrix, data: Any, x: str) -> str:
    """Write values within bounds."""
    low, high = (matrix.number([bounds[k] for bounds in data]) for k in (0, 1))
    return matrix.sheet.add("Min", matrix.sheet.add("Max", x, low), high)


def _quotient(matrix: Matrix, data: Any, x: str, y: str) -> str:
    """Write a quotient that is 0 for a zero divisor."""
    sheet = matrix.sheet
    zero = sheet.add("Equal", y, matrix.number(0.0))
    divisor = sheet.add("Where", zero, matrix.number(1.0), y)
    return sheet.add("Where", zero, matrix.number(0.0), sheet.add("Div", x, divisor))


_SPECIAL: dict[str, Callable[[Matrix, list[int]], str]] = {
    "linear": _linear,
    "number": _numbers,
    "shares": _shares,
    "distance": _distance,
    "largest": _reduce("ReduceMax"),
    "root": _reduce("ReduceL2"),
}
_PLAIN: dict[str, Callable[..., str]] = {
    "fill": _fill,
    "gap": lambda m, data, x: m.sheet.cast(m.sheet.add("IsNaN", x), m.dtype),
    "expit": _simple("Sigmoid"),
    "exponential": _simple("Exp"),
    "power": lambda m, data, x: m.sheet.add("Pow", x, m.number(data)),
    "clip": _clip,
    "ratio": _simple("Div"),
    "quotient": _quotient,
}
