"""Fitted models as SQL queries."""

from __future__ import annotations

from typing import Any

from featurewright.estimators.parameters import one_of
from featurewright.export.cases import lower
from featurewright.export.layers import Layers
from featurewright.export.models import transform_graph
from featurewright.export.names import check_inputs, output_names, read_keys, write_table
from featurewright.export.trees import prediction_graph
from featurewright.expressions.sql_form import check_dialect
from featurewright.paths import ForestPathEncoder

OUTPUTS = ("transform", "predict", "predict_proba")


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
    one_of("output", output, OUTPUTS)
    keys = read_keys(key)
    source, last = write_table(table)
    graph = transform_graph(model) if output == "transform" else prediction_graph(model, output)
    graph = lower(graph, dialect, drops_missing=isinstance(model, ForestPathEncoder))
    used = [graph.schema.names[step.data] for step in graph.steps if step.op == "column"]
    check_inputs([*used, *keys], dialect)
    names = output_names([name for name, _ in graph.outputs], keys, dialect)
    # Names of our own must not hide the table.
    prefix = "fw" if not last.casefold().startswith("fw") else "layer"
    query = Layers(graph, dialect).query(source, keys, names, prefix)
    text: str = query.sql(dialect=dialect, pretty=pretty, copy=False)
    return text
