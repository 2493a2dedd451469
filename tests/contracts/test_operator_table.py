"""Every row of the operator table is complete, and each of its forms computes what NumPy does."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import onnxruntime
import polars as pl
import pytest
import sympy
from tests.cases import loop_over
from tests.export.engines import ENGINES, KEY, numbers, run

from featurewright.export.graph import Graph
from featurewright.export.layers import Layers
from featurewright.export.sql import write_table
from featurewright.export.tensors import Matrix, Sheet
from featurewright.expressions import (
    OPERATORS,
    Boolean,
    Call,
    Category,
    Column,
    Domain,
    Real,
    parse,
    simplify,
)
from featurewright.expressions.dialects import DIALECTS
from featurewright.expressions.numbers import number_code, number_text
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.expressions.operators import Brackets, Infix, Magnitude, Prefix
from featurewright.expressions.sql_form import sql_of
from featurewright.tables import Schema, encode, learn_schema

HOSTILE = [0.0, -0.0, 1.0, -2.5, 0.1, 3.7, 1e30, -1e30, 1e-30, 3.4e38, 1e-300, 81.0, -800.0, None]
LABELS = ["it's", "red"]
COLUMNS = {Real: ("a", "b"), Boolean: ("p", "q"), Category: ("c", "d")}


def frame() -> pl.DataFrame:
    """Return all pairs of hostile values: as numbers, truth values and labels."""
    pairs = [(x, y) for x in HOSTILE for y in HOSTILE]
    columns = {}
    for place in (0, 1):
        values = [pair[place] for pair in pairs]
        columns["ab"[place]] = values
        columns["pq"[place]] = [None if x is None else x > 0 for x in values]
        columns["cd"[place]] = [None if x is None else LABELS[bool(x)] for x in values]
    return pl.DataFrame(columns, schema_overrides={"a": pl.Float64, "b": pl.Float64})


FRAME = frame()
SCHEMA: Schema = learn_schema(FRAME)


def applied(name: str) -> Call:
    """Return an operator applied to columns of its domains."""
    operator = OPERATORS[name]
    used = [COLUMNS[domain][place] for place, domain in enumerate(operator.inputs)]
    columns = tuple(
        Column(k, column, Domain(int(SCHEMA.domains[k])))
        for column in used
        for k in [SCHEMA.names.index(column)]
    )
    if operator.has_number:
        code = number_code(-2.5)
        return Call(operator, columns, (code, number_text(code)))
    return Call(operator, columns, (0, LABELS[0]) if operator.has_level else None)


EVERY = {name: applied(name) for name in OPERATORS}
EXPECTED = {name: call.evaluate(encode(SCHEMA, FRAME)) for name, call in EVERY.items()}


@loop_over("name", OPERATORS)
def test_a_row_is_complete(name):
    row = OPERATORS[name]
    assert row.name == name.lower()
    assert row.arity in (1, 2)  # what compiled code applies
    assert row.rule.endswith(".")
    assert row.has_number == (row.number_of is not None)
    n_operands = row.arity + row.has_parameter
    for template in filter(None, (row.latex, row.mathml)):
        assert all(f"#{k + 1}" in template for k in range(n_operands))
    assert row.latex is not None
    assert isinstance(row.text, {1: Prefix, 2: Infix}[n_operands] | None)
    assert isinstance(row.brackets, Brackets | None)
    assert row.brackets is None or len(row.brackets.operands) == n_operands
    for other in filter(None, (row.number_of, row.mirrored, row.opposite)):
        assert OPERATORS[other].arity == 2


@loop_over("name", OPERATORS)
def test_formulas(name):
    call = EVERY[name]
    assert parse(str(call), SCHEMA.names, SCHEMA.domains, SCHEMA.levels) == call
    assert all(argument.name in call.latex() for argument in call.arguments)
    drawn = "".join(ElementTree.fromstring(call.mathml()).itertext())
    assert all(argument.name in drawn for argument in call.arguments)
    simpler = simplify(call).evaluate(encode(SCHEMA, FRAME))
    np.testing.assert_array_equal(simpler, EXPECTED[name])


@loop_over("name", OPERATORS)
def test_sympy_computes_what_numpy_does(name):
    call, made = EVERY[name], EVERY[name].sympy()
    for x, y in [(1.5, -0.25), (-3.0, 2.0), (2.0, 2.0)]:
        row = {"a": x, "b": y, "p": x > 0, "q": y > 0, "c": LABELS[x > 0], "d": LABELS[y > 0]}
        values = encode(SCHEMA, pl.DataFrame([row]).select(SCHEMA.names))
        given = {key: sympy.Symbol(repr(v)) if key in "cd" else v for key, v in row.items()}
        found = made.subs({s: given[s.name] for s in made.free_symbols if s.name in given})
        if call.operator.output == Boolean:  # SymPy leaves it open whether symbols are equal
            found = found is sympy.true
        assert float(found) == pytest.approx(call.evaluate(values)[0])


@loop_over("name", OPERATORS)
def test_declared_properties_hold(name):
    row, values = OPERATORS[name], EXPECTED[name]
    known = values[~np.isnan(values)]
    size = np.abs(FRAME["a"].to_numpy())
    if row.nonnegative:
        assert (known >= 0).all()
    if row.magnitude is Magnitude.OF_OPERAND:
        either = np.column_stack([size, np.abs(FRAME["b"].to_numpy()), np.full(len(size), 2.5)])
        assert (np.isnan(values) | (np.abs(values)[:, None] == either).any(axis=1)).all()
    if row.magnitude is Magnitude.WITHIN_FLOAT32:
        raw = np.array([-FLOAT_MAX, -1.0, 1e-45, 1.0, FLOAT_MAX])
        assert not np.isnan(row.reference(*np.meshgrid(*[raw] * row.arity))).any()
    x = np.array([-FLOAT_MAX, -2.5, 0.0, 1.0, FLOAT_MAX])
    if row.even:
        np.testing.assert_array_equal(row.reference(-x), row.reference(x))
    if row.keeps_truth:
        assert row.reference([0.0, 1.0]).tolist() == [0.0, 1.0]
    if row.idempotent:
        truths = x if row.inputs[0] == Real else (x != 0).astype(float)
        np.testing.assert_array_equal(row.reference(truths, truths), truths)
    pair = np.meshgrid(x, x)
    if row.antisymmetric:
        np.testing.assert_array_equal(row.reference(*pair), -row.reference(*pair[::-1]))
    if row.mirrored is not None:
        mirrored = OPERATORS[row.mirrored].reference(*pair[::-1])
        np.testing.assert_array_equal(row.reference(*pair), mirrored)
    if row.opposite is not None:
        opposite = OPERATORS[row.opposite].reference(*pair)
        np.testing.assert_array_equal(row.reference(*pair), 1.0 - opposite)


def assert_as_declared(name, column):
    """Compare values with those of NumPy: to the last bit, where the row says so."""
    if OPERATORS[name].exact:
        np.testing.assert_array_equal(column, EXPECTED[name], err_msg=f"exact=True of {name}")
    else:
        np.testing.assert_allclose(column, EXPECTED[name], rtol=1e-12, atol=1e-300, err_msg=name)


@pytest.mark.parametrize("engine", ENGINES)
def test_sql_computes_what_numpy_does(engine):
    graph = Graph(SCHEMA)
    graph.outputs = [(name, graph.expression(call)) for name, call in EVERY.items()]
    dialect = DIALECTS[engine]
    table = write_table("t", dialect)[0]
    query = Layers(graph, dialect).query(table, [KEY], list(EVERY), "fw")
    found = numbers(run(query.sql(dialect=engine), engine, FRAME)[1])
    for name, column in zip(EVERY, found.T, strict=True):
        assert_as_declared(name, column)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_is_written_in_every_dialect(dialect):
    for name, call in EVERY.items():
        assert sql_of(call, dialect), name


def test_onnx_computes_what_numpy_does():
    graph = Graph(SCHEMA)
    wanted = [graph.expression(call) for call in EVERY.values()]
    columns = {graph.column(k): k for k in range(SCHEMA.n_columns)}
    sheet = Sheet()
    matrix = Matrix(sheet, graph, "X", columns, np.float64)
    matrix.compute(wanted)
    helper, double = sheet.onnx.helper, sheet.onnx.TensorProto.DOUBLE
    name = matrix.take(wanted)
    inputs = [helper.make_tensor_value_info("X", double, [None, SCHEMA.n_columns])]
    outputs = [helper.make_tensor_value_info(name, double, [None, len(wanted)])]
    made = helper.make_graph(sheet.nodes, "rows", inputs, outputs, sheet.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"X": encode(SCHEMA, FRAME).astype(np.float64)})
    for name, column in zip(EVERY, found.T, strict=True):
        assert_as_declared(name, column)
