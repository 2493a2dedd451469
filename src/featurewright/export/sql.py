"""Fitted models as SQL queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from featurewright.auto import AutoFeatures
from featurewright.auto.links import LinkedColumns, needed_columns
from featurewright.export.cases import lower
from featurewright.export.graph import Graph
from featurewright.export.layers import Layers
from featurewright.export.predictions import graph_of
from featurewright.export.relational import LinkedQuery
from featurewright.expressions.dialects import Dialect, get_dialect
from featurewright.expressions.sql_pieces import Sql, quoted, sqlglot
from featurewright.relations import RelationalFeatures


def to_sql(
    model: Any,
    table: Any,
    dialect: str = "duckdb",
    *,
    output: str = "transform",
    key: Any = None,
    links: Mapping[str, Any] | None = None,
    pretty: bool = False,
) -> str:
    """Write what a fitted model computes as one SELECT.

    Parameters
    ----------
    model : estimator
        A fitted `AutoFeatures`, constructive learner, feature construction tree,
        `BatchConstructor`, `LandmarkKernelFeatures`, `RecursiveSelectiveTransformer`,
        `ForestPathEncoder` or `RelationalFeatures`.
    table : str or tuple of str
        The table, such as "sales" or "shop.sales"; a tuple where a name holds a dot. Names are
        quoted, so write them as the database holds them. Its columns have the names seen in `fit`:
        x0, x1, ... where there were none.
    dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"}
        Whose SQL. SQLite needs version 3.35 and its mathematical functions.
    output : {"transform", "predict", "predict_proba"}, default="transform"
        What to compute: the columns of `get_feature_names_out`; "prediction" ("prediction_0", ...
        for several targets); ``probability_`` and the label for each class.
    key : str or list of str, optional
        Columns of the table to carry along, as they are and first: a query has no order of rows.
    links : dict of str to str, optional
        The tables of the links of a model, by the names of the links: those of the database, such
        as "shop.orders". A history has its earlier rows there, and their targets in the column
        "target".
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
    throws a coin there, unless it has `missing="learned"`.

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
    database = get_dialect(dialect)
    keys = _read_keys(key)
    source, last = write_table(table, database)
    if isinstance(model, RelationalFeatures):
        query = _linked_query(model, table, database, output=output, keys=keys, links=links)
        made: str = query.sql(dialect=database.name, pretty=pretty, copy=False)
        return made
    graph = graph_of(model, output)
    graph = lower(graph, database)
    needed = needed_columns(model) if isinstance(model, AutoFeatures) else None
    if needed is not None:
        query = _auto_query(needed, graph, table, database, keys=keys, links=links)
        joined: str = query.sql(dialect=database.name, pretty=pretty, copy=False)
        return joined
    if links and not getattr(model, "links", ()):
        raise ValueError(
            f"links={links!r} are tables of links, but the {type(model).__name__} has none: leave "
            "them out."
        )
    _check_inputs([*_columns_used(graph), *keys], database)
    names = _output_names([name for name, _ in graph.outputs], keys, database)
    # Names of our own must not hide the table.
    prefix = "fw" if not last.casefold().startswith("fw") else "layer"
    query = Layers(graph, database).query(source, keys, names, prefix)
    text: str = query.sql(dialect=database.name, pretty=pretty, copy=False)
    return text


def _linked_query(
    model: RelationalFeatures,
    table: Any,
    database: Dialect,
    *,
    output: str,
    keys: list[str],
    links: Mapping[str, Any] | None,
) -> Sql:
    """Write the query of features over links."""
    if output != "transform":
        raise ValueError(
            f"output={output!r} is not known for RelationalFeatures, which predicts nothing; use "
            "output='transform'."
        )
    check_is_fitted(model)
    source, written, prefix = _write_tables(table, links, database)
    _check_inputs([*model._layout.schema.names, *keys], database)
    names = _output_names(list(model.get_feature_names_out()), keys, database)
    return LinkedQuery(model, database, written, prefix).query(source, keys, names)


def _write_tables(
    table: Any, links: Mapping[str, Any] | None, database: Dialect
) -> tuple[Sql, dict[str, Sql], str]:
    """Return a table and linked ones in SQL, and how names of our own begin: as no table's does."""
    tables = {title: write_table(name, database) for title, name in (links or {}).items()}
    source, last = write_table(table, database)
    names = (last, *(name for _, name in tables.values()))
    taken = any(name.casefold().startswith("fw") for name in names)
    written = {title: name for title, (name, _) in tables.items()}
    return source, written, "layer" if taken else "fw"


def _auto_query(
    needed: LinkedColumns,
    graph: Graph,
    table: Any,
    database: Dialect,
    *,
    keys: list[str],
    links: Mapping[str, Any] | None,
) -> Sql:
    """Write the query of a search whose formulas use columns over links.

    The first steps put these beside the columns of the table, under short names of their own; the
    others read both as one table.
    """
    exp = sqlglot()
    source, written, prefix = _write_tables(table, links, database)
    n_own = graph.schema.n_columns - len(needed.names)
    own = [name for name in _columns_used(graph) if name not in needed.names]
    carried = list(dict.fromkeys([*own, *keys]))
    _check_inputs([*needed.relational._layout.schema.names, *keys], database)
    short = f"{prefix}_link"
    while any(name.casefold().startswith(short) for name in carried):
        short += "_"
    places = [f"{short}{place}" for place in range(len(needed.names))]
    inner = LinkedQuery(needed.relational, database, written, f"{prefix}link").query(
        source, carried, [places[place] for place in needed.places]
    )
    graph.schema = replace(graph.schema, names=(*graph.schema.names[:n_own], *places))
    names = _output_names([name for name, _ in graph.outputs], keys, database)
    joined = exp.Table(this=exp.Identifier(this=f"{prefix}linked"))
    outer = Layers(graph, database).query(joined, keys, names, prefix)
    first = inner.args.pop("with_", None) or inner.args.pop("with", None)
    linked = exp.CTE(this=inner, alias=exp.TableAlias(this=exp.to_identifier(f"{prefix}linked")))
    if database.materializes_layers:
        linked.set("materialized", True)
    steps = [*(first.expressions if first is not None else ()), linked]
    last = outer.args.get("with_") or outer.args.get("with")
    if last is None:
        outer.set("with_", exp.With(expressions=steps))
    else:
        last.set("expressions", [*steps, *last.expressions])
    return outer


def _columns_used(graph: Graph) -> list[str]:
    """List the columns of the table that the steps read."""
    used = [graph.schema.names[step.data] for step in graph.steps if step.op == "column"]
    return used + [step.data[0] for step in graph.steps if step.op == "moment"]


# Names of tables and columns: always quoted, and as a database can hold them ---------------------


def write_table(table: Any, dialect: Dialect) -> tuple[Sql, str]:
    """Return the name of a table in SQL, and its last part."""
    parts = table.split(".") if isinstance(table, str) else table
    is_path = isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts)
    if not is_path or not 1 <= len(parts) <= 3 or not all(parts):
        raise ValueError(
            f"table={table!r} must be a name such as 'sales' or 'shop.sales', or a tuple of up to "
            "three names where a name holds a dot."
        )
    dialect.check_names(parts)
    exp = sqlglot()
    places = dict(zip(("this", "db", "catalog"), map(quoted, reversed(parts)), strict=False))
    return exp.Table(**places), parts[-1]


def _read_keys(key: Any) -> list[str]:
    """Return the columns to carry along."""
    keys = [key] if isinstance(key, str) else list(key or ())
    if not all(isinstance(name, str) for name in keys) or len(set(keys)) < len(keys):
        raise ValueError(f"key={key!r} must be the name of a column, or a list of different names.")
    return keys


def _check_inputs(names: Sequence[str], dialect: Dialect) -> None:
    """Refuse names that a database cannot have, and those that it takes for the same."""
    dialect.check_names(names)
    if dialect.case_sensitive_names:
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"Columns {other!r} and {name!r} differ in case alone, which {dialect.name} does "
                "not see; rename one of them before the fit."
            )


def _output_names(names: Sequence[str], keys: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the names of the columns of the result as a database can hold them."""
    for name in names:
        if name in keys:
            raise ValueError(
                f"key column {name!r} has the name of a column of the result; leave it out of key, "
                "or rename it."
            )
    longest = dialect.max_name_bytes
    if longest is None:
        return list(names)
    taken = {dialect.comparable_name(key) for key in keys}
    result = []
    for name in names:
        plain = _plain(name) if dialect.plain_outputs else name
        candidate, count = _cut(plain, longest), 1
        while dialect.comparable_name(candidate) in taken:
            count += 1
            candidate = _cut(plain, longest - len(str(count)) - 1) + f"_{count}"
        taken.add(dialect.comparable_name(candidate))
        result.append(candidate)
    return result


def _plain(name: str) -> str:
    """Return a name of letters, digits and underscores alone."""
    plain = re.sub(r"[^0-9A-Za-z_]+", "_", name)
    return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"


def _cut(name: str, longest: int) -> str:
    """Cut a name to a number of bytes, between characters."""
    return name.encode()[:longest].decode(errors="ignore")
