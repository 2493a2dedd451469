"""Methods of estimators on polars LazyFrames: part of the query, computed batch by batch."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from featurewright.distributed.output_names import output_names

MAX_COLUMNS = 100_000  # of a result that is not sparse


def apply(model: Any, method: str, X: pl.LazyFrame, **named: Any) -> pl.LazyFrame:
    """Return what a method of a fitted estimator computes for a LazyFrame, as a LazyFrame.

    Nothing is collected; polars computes batches of rows as the query is run.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its name.
    X : polars LazyFrame
        The rows.
    **named
        Further arguments of the method.
    """
    check_is_fitted(model)
    schema = X.collect_schema()
    names = getattr(model, "feature_names_in_", None)
    wanted = list(schema) if names is None else [str(name) for name in names if name in schema]
    example = pl.DataFrame({name: [None] for name in wanted}, {n: schema[n] for n in wanted})
    shape = _compute(model, method, example, named).schema
    return X.select(wanted).map_batches(
        lambda rows: (
            _compute(model, method, rows, named) if rows.height else pl.DataFrame(schema=shape)
        ),
        schema=shape,
        streamable=True,
    )


def fit(model: Any, X: pl.LazyFrame, *_: Any, **__: Any) -> NoReturn:
    """Refuse to fit on a LazyFrame."""
    raise TypeError(
        "X is a lazy frame, but its values are needed: pass an eager data frame, such as the one "
        "its collect or compute method returns."
    )


def _compute(model: Any, method: str, rows: pl.DataFrame, named: Any) -> pl.DataFrame:
    """Compute a method for a batch of rows."""
    found = getattr(model, method)(rows, **named)
    if isinstance(found, pl.DataFrame):
        return found
    if hasattr(found, "to_numpy"):
        found = found.to_numpy()
    if hasattr(found, "toarray"):
        if found.shape[1] > MAX_COLUMNS:
            raise ValueError(
                f"{method} has {found.shape[1]:,} sparse columns, too many for a frame: call it on "
                "data in memory, such as the frame that collect returns."
            )
        found = found.toarray()
    if isinstance(found, list):
        raise TypeError(
            f"{method} of several targets is a list of arrays, which is no frame: fit one model "
            "for each target, or call it on data in memory."
        )
    if found.ndim == 1:
        return pl.DataFrame({method: found})
    names = output_names(model, method, found.shape[1])
    return pl.DataFrame(np.ascontiguousarray(found), schema=names, orient="row")
