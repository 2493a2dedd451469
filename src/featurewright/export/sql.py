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
    """Write what a fitted model computes as one SELECT.

    Parameters
    ----------
    model : estimator
        A fitted `AutoFeatures`, constructive learner, feature construction tree,
        `BatchConstructor`, `LandmarkKernelFeatures`, `RecursiveSelectiveTransformer` or
        `ForestPathEncoder`.
    table : str or tuple of str
        The table, such as "sales" or "shop.sales"; a tuple where a name holds a dot. Names are
        quoted, so write them as the database holds them. Its columns have the names seen in `fit`:
        x0, x1, ... where there were none.
    dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"}
        Whose SQL. SQLite needs version 3.35 and its mathematical functions.
    output : {"transform", "predict", "predict_proba"}, default="transform"
        What to compute: the columns of `get_feature_names_out`; "prediction" ("prediction_0", ...
        for several targets); "probability_" and the label for each class.
    key : str or list of str, optional
        Columns of the table to carry along, as they are and first: a query has no order of rows.
    pretty : bool, default=False
        Whether to break lines.

    Returns
    -------
    str
        The query. NULL is missing, as are NaN, labels the fit did not see, and numbers that the
        model would refuse. BigQuery and Postgres get shorter, plainer names where theirs cannot
        hold a formula.

    Raises
    ------
    ValueError, TypeError
        Where something has no SQL form: operators and kernels that are functions of your own,
        hashed paths, models of other libraries but linear ones.

    Notes
    -----
    Features are computed in float64, as `transform` does. Trees test values in float32; sums,
    products, quotients and roots are rounded in the same way in SQL, so that a row goes the same
    way even where its value is the threshold. Logarithms and exponentials may differ in the last
    digit of a float32 there. A row that misses a value which a tree of a `ForestPathEncoder`
    tests has NULL in the columns of that tree, the learned constants in `AutoFeatures`: the model
    throws a coin there.

    Examples
    --------
    >>> import polars as pl
    >>> from featurewright import BatchConstructor
    >>> from featurewright.export import to_sql
    >>> frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 1.0]})
    >>> model = BatchConstructor(operators=["sub"], n_features_out=1).fit(frame, [0, 1, 1, 1])
    >>> print(to_sql(model, "shop.sales", "postgres", key="id", pretty=True))
    WITH fw0 AS (
      SELECT
        "id" AS k0,
        CASE
          WHEN ABS(CAST("a" AS DOUBLE PRECISION)) <= 3.4028234663852886e+38
          THEN CAST("a" AS DOUBLE PRECISION)
        END AS v0,
        CASE
          WHEN ABS(CAST("b" AS DOUBLE PRECISION)) <= 3.4028234663852886e+38
          THEN CAST("b" AS DOUBLE PRECISION)
        END AS v1
      FROM "shop"."sales"
    )
    SELECT
      k0 AS "id",
      COALESCE(CASE WHEN ABS(v0 - v1) <= 3.4028234663852886e+38 THEN v0 - v1 END, 2.0e0) AS "a - b"
    FROM fw0
    """
    dialect = check_dialect(dialect)
    keys = read_keys(key)
    source, last = write_table(table, dialect)
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
