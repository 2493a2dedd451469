"""Models on Spark DataFrames: row by row through Arrow, or as SQL where a model has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, StructField, StructType
from sklearn.utils.validation import check_is_fitted

from featurewright.distributed.drawn import MAX_ROWS, Drawn
from featurewright.estimators.parameters import one_of, whole_number
from featurewright.export import to_sql

__all__ = ["fit", "predict", "predict_proba", "transform"]

BATCH_ROWS = 50_000  # that Python gets at a time, so that few rows are joined to one batch
_THROUGH = ("arrow", "sql")


def transform(model: Any, table: DataFrame, *, keep: Any = (), through: str = "arrow") -> DataFrame:
    """Compute the features of a model for the rows of a Spark DataFrame, lazily.

    Parameters
    ----------
    model : estimator
        A fitted transformer.
    table : pyspark.sql.DataFrame
        The rows, with the columns of the fit.
    keep : sequence of str
        Columns of the table to put before the features, such as a key.
    through : {"arrow", "sql"}, default="arrow"
        How: by Python workers, for every model, or as a query, where the model has SQL. A query
        needs no Python on the executors.

    Returns
    -------
    pyspark.sql.DataFrame
        A column for each feature. It has no order of rows other than the table's.
    """
    check_is_fitted(model)
    one_of("through", through, _THROUGH)
    if through == "sql":
        return _query(model, table, list(keep), "transform")
    names = [str(name) for name in model.get_feature_names_out()]

    def compute(rows: Any) -> dict[str, Any]:
        found = model.transform(rows)
        found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
        return dict(zip(names, np.asarray(found, np.float64).T, strict=True))

    types = [StructField(name, DoubleType()) for name in names]
    return _through_arrow(model, table, list(keep), compute, types)


def predict(model: Any, table: DataFrame, *, keep: Any = (), through: str = "arrow") -> DataFrame:
    """Predict the target for the rows of a Spark DataFrame, lazily.

    Parameters
    ----------
    model : estimator
        A fitted model.
    table : pyspark.sql.DataFrame
        The rows, with the columns of the fit.
    keep : sequence of str
        Columns of the table to put before the prediction, such as a key.
    through : {"arrow", "sql"}, default="arrow"
        How: by Python workers, or as a query, where the model has SQL.

    Returns
    -------
    pyspark.sql.DataFrame
        The column "prediction".
    """
    check_is_fitted(model)
    one_of("through", through, _THROUGH)
    if through == "sql":
        return _query(model, table, list(keep), "predict")
    example = _predictions(model, _example(model, table))
    return _through_arrow(
        model, table, list(keep), lambda rows: _predictions(model, rows), _types_of(example)
    )


def predict_proba(model: Any, table: DataFrame, *, keep: Any = ()) -> DataFrame:
    """Predict the probability of each class for the rows of a Spark DataFrame, lazily.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    table : pyspark.sql.DataFrame
        The rows, with the columns of the fit.
    keep : sequence of str
        Columns of the table to put before the probabilities.

    Returns
    -------
    pyspark.sql.DataFrame
        A column for each class.
    """
    check_is_fitted(model)
    names = [str(label) for label in model.classes_]

    def compute(rows: Any) -> dict[str, Any]:
        return dict(zip(names, np.asarray(model.predict_proba(rows)).T, strict=True))

    types = [StructField(name, DoubleType()) for name in names]
    return _through_arrow(model, table, list(keep), compute, types)


def fit(model: Any, table: DataFrame, target: str, *, max_rows: int = MAX_ROWS) -> Any:
    """Fit an estimator on a sample of the rows of a Spark DataFrame.

    Parameters
    ----------
    model : estimator
        Not fitted yet.
    table : pyspark.sql.DataFrame
        The rows and their target.
    target : str
        Column of the target.
    max_rows : int, default=100_000
        About as many rows are drawn, at random with the model's `random_state` where it is a
        number. Spark draws by partitions: another partitioning draws other rows.

    Returns
    -------
    estimator
        The fitted model; `drawn_` says how many rows it saw.
    """
    whole_number("max_rows", max_rows, 1)
    if target not in table.columns:
        raise ValueError(
            f"there is no column {target!r} for the target; the table has "
            f"{', '.join(table.columns)}."
        )
    n_rows = table.count()
    if n_rows > max_rows:
        seed = model.random_state if isinstance(model.random_state, int) else None
        table = table.sample(fraction=max_rows / n_rows, seed=seed)
    rows = table.toArrow()
    y = rows[target].to_numpy(zero_copy_only=False)
    model.fit(rows.drop_columns([target]), y)
    model.drawn_ = Drawn(n_rows, rows.num_rows, "rows")
    return model


def _through_arrow(
    model: Any,
    table: DataFrame,
    keep: list[str],
    compute: Callable[[Any], dict[str, Any]],
    types: list[StructField],
) -> DataFrame:
    """Return columns that Python workers compute for batches of rows."""
    _check_columns(table, keep)
    wanted = [name for name in _input_names(model) if name in table.columns]
    absent = [name for name in _input_names(model) if name not in table.columns]
    if absent:
        raise ValueError(
            f"the table has no column {absent[0]!r}, which the model was fitted with; it has "
            f"{', '.join(table.columns)}."
        )
    clash = [field.name for field in types if field.name in keep]
    if clash:
        raise ValueError(
            f"column {clash[0]!r} cannot be kept beside a result of that name; rename it first."
        )
    selected = table.select(list(dict.fromkeys([*keep, *wanted])))
    fields = {field.name: field for field in selected.schema.fields}
    schema = StructType([*(fields[name] for name in keep), *types])
    # By value: workers need no file of this session, and one copy serves all batches of a task.
    packed = cloudpickle.dumps(compute)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = cloudpickle.loads(packed)
        for batch in batches:
            if batch.num_rows:
                rows = pa.Table.from_batches([batch])
                found = own(rows.select(wanted))
                kept = [batch.column(name) for name in keep]
                arrays = [*kept, *(pa.array(column) for column in found.values())]
                yield pa.RecordBatch.from_arrays(arrays, [*keep, *found])

    return selected.mapInArrow(run, schema)


def _query(model: Any, table: DataFrame, keep: list[str], output: str) -> DataFrame:
    """Return the result of a query that Spark runs by itself."""
    _check_columns(table, keep)
    with _named(table) as name:
        return table.sparkSession.sql(to_sql(model, name, "spark", key=keep, output=output))


@contextmanager
def _named(table: DataFrame) -> Iterator[str]:
    """Register a table under a temporary name while a query is planned."""
    name = f"featurewright_{uuid4().hex}"
    table.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        table.sparkSession.catalog.dropTempView(name)


def _check_columns(table: DataFrame, keep: list[str]) -> None:
    """Refuse columns to keep that the table does not have."""
    for name in keep:
        if name not in table.columns:
            raise ValueError(
                f"there is no column {name!r} to keep; the table has {', '.join(table.columns)}."
            )


def _input_names(model: Any) -> list[str]:
    """Return the names of the columns that a model was fitted with."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "the model was fitted on an array without names, but a Spark DataFrame is read by "
            "names: fit it on a data frame."
        )
    return [str(name) for name in names]


def _example(model: Any, table: DataFrame) -> pa.Table:
    """Return a row of nothing, from which the type of a prediction is found."""
    arrow = table.select(_input_names(model)).limit(0).toArrow()
    return pa.table(
        {name: pa.nulls(1, arrow.schema.field(name).type) for name in arrow.column_names}
    )


def _predictions(model: Any, rows: Any) -> dict[str, Any]:
    """Return predictions by the names of their columns."""
    found = np.asarray(model.predict(rows))
    if found.ndim == 1:
        return {"prediction": found}
    return {f"prediction_{number}": column for number, column in enumerate(found.T)}


def _types_of(example: dict[str, Any]) -> list[StructField]:
    """Return the types of Spark for columns of an example."""
    from pyspark.sql.pandas.types import from_arrow_type

    return [
        StructField(name, from_arrow_type(pa.array(values).type))
        for name, values in example.items()
    ]
