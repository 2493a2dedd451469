"""Fitted models as SQL queries."""

from __future__ import annotations

from typing import Any

from featurewright.export.cases import lower
from featurewright.export.graph import Graph
from featurewright.export.layers import Layers
from featurewright.export.names import check_inputs, output_names, read_keys, write_table
from featurewright.export.predictions import graph_of
from featurewright.expressions.sql_form import check_dialect


def to_sql(
    model: Any,
    table: Any,
    dialect: str = "duckdb",
    *,
    output: str = "transform",
    key: Any = None,
    pretty: bool = False,
) -> str:
    """Write what a fitted model computes as one SELECT."""
    dialect = check_dialect(dialect)
    keys = read_keys(key)
    source, last = write_table(table)
    graph = graph_of(model, output)
    graph = lower(graph, dialect)
    check_inputs([*_columns_used(graph), *keys], dialect)
    names = output_names([name for name, _ in graph.outputs], keys, dialect)
    # Names of our own must not hide the table.
    prefix = "fw" if not last.casefold().startswith("fw") else "layer"
    query = Layers(graph, dialect).query(source, keys, names, prefix)
    text: str = query.sql(dialect=dialect, pretty=pretty, copy=False)
    return text


def _columns_used(graph: Graph) -> list[str]:
    """List the columns of the table that the steps read."""
    used = [graph.schema.names[step.data] for step in graph.steps if step.op == "column"]
    return used + [step.data[0] for step in graph.steps if step.op == "moment"]
