"""Methods of estimators on Dask collections, lazily: one partition at a time, where it is."""

from __future__ import annotations

from typing import Any
from uuid import uuid4
from warnings import catch_warnings, simplefilter

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.utils import make_meta, meta_nonempty
from sklearn.utils.validation import check_is_fitted

from featurewright.distributed.drawn import MAX_ROWS
from featurewright.distributed.fitting import fit, fit_collection
from featurewright.distributed.groups import TrainingRows
from featurewright.distributed.linked import (
    beside,
    is_lazy,
    lazy_titles,
    used_links,
    without_collections,
)
from featurewright.distributed.output_names import output_names
from featurewright.distributed.rows import delayed_parts
from featurewright.relations import Link
from featurewright.relations.links import all_links
from featurewright.tables import is_sparse

__all__ = ["apply", "fit", "fit_transform"]


def apply(model: Any, method: str, X: Any, **named: Any) -> Any:
    """Return what a method of a fitted estimator computes for a Dask DataFrame or Array.

    A DataFrame becomes a DataFrame, or a Series where there is one value for each row, with the
    same index and divisions. An Array becomes an Array, and so does anything whose result is
    sparse.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its name.
    X : dask DataFrame or Array
        The rows.
    **named
        Further arguments of the method.
    """
    check_is_fitted(model)
    tables = named.get("links") or {}
    links = used_links(model) if isinstance(X, dd.DataFrame) else []
    if lazy_titles(links, tables):
        return _over_linked_partitions(model, method, X, links, tables)
    # One copy for each worker, not one for each partition.
    sent = dask.delayed(model, name=f"{type(model).__name__}-{uuid4().hex}", traverse=False)
    if isinstance(X, da.Array):
        return _over_blocks(model, sent, method, X, named)
    if isinstance(X, dd.DataFrame):
        return _over_partitions(model, sent, method, X, named)
    raise TypeError(
        f"X is a {type(X).__module__.partition('.')[0]} {type(X).__name__}, but a Dask DataFrame "
        "or a Dask Array of rows and columns is expected: convert it, or call its compute method."
    )


def fit_transform(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
) -> Any:
    """Fit an estimator on a collection; return the columns of its rows, not computed yet.

    Rows are left out of the statistics of their own groups, and mean targets are out of fold.
    """
    _, partitions, training = fit_collection(model, X, y, sample_weight, groups, max_rows=MAX_ROWS)
    if training is None:
        return model.transform(X)
    if lazy_titles(model.links, {}):
        raise ValueError(
            "fit_transform leaves each row out of the statistics of its groups, but not beside "
            "linked collections: use one model for the groups, and another one for the collections."
        )
    example = meta_nonempty(make_meta(X))
    meta = _framed(model, "transform", _values(model, "transform", example, {}), example).iloc[:0]
    sent = dask.delayed(training, traverse=False)
    compute = dask.delayed(_compute_training, traverse=False)
    computed = [
        compute(columns, int(first), sent, meta)
        for columns, first in zip(partitions.columns, partitions.first[:-1], strict=True)
    ]
    divisions = X.divisions if len(computed) == X.npartitions else None
    return dd.from_delayed(computed, meta=meta, divisions=divisions, verify_meta=False)


def _compute_training(columns: Any, first: int, training: TrainingRows, empty: Any) -> Any:
    """Compute the columns of the training rows of one partition."""
    rows = columns.X
    if not len(rows):
        return empty.set_axis(rows.index, axis=0)
    values = training.transform(columns, np.arange(first, first + len(rows)))
    return _framed(training.model, "transform", values, rows)


def _over_partitions(model: Any, sent: Any, method: str, X: dd.DataFrame, named: Any) -> Any:
    """Compute a method for each partition of a data frame."""
    example = meta_nonempty(make_meta(X))
    found = _values(model, method, example, named)
    if is_sparse(found):
        blocks = X.map_partitions(
            _compute, sent, method, named, found[:0], meta=np.empty((0, 0)), align_dataframes=False
        )
        return da.map_blocks(_same, blocks, dtype=found.dtype, meta=found[:0])
    meta = _framed(model, method, found, example).iloc[:0]
    return X.map_partitions(_compute_frame, sent, method, named, meta, meta=meta)


def _over_linked_partitions(
    model: Any, method: str, X: dd.DataFrame, links: list[Link], tables: Any
) -> Any:
    """Compute a method for each partition of a data frame, with the linked rows that it sees."""
    lazy = {link.title: tables.get(link.title, link.table) for link in all_links(links)}
    lazy = {title: table for title, table in lazy.items() if is_lazy(table)}
    told = without_collections(model)
    known = {title: table for title, table in tables.items() if title not in lazy}
    example = meta_nonempty(make_meta(X))
    linked = {title: meta_nonempty(make_meta(table)) for title, table in lazy.items()}
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # made-up rows have no links
        found = _values(told, method, example, {"links": {**known, **linked}})
    if is_sparse(found):
        raise TypeError(f"{method} with linked collections gives sparse rows, which is not done.")
    meta = _framed(model, method, found, example).iloc[:0]
    name = f"{type(model).__name__}-{uuid4().hex}"
    sent = dask.delayed((told, known), name=name, traverse=False)
    parts = delayed_parts(X)
    compute = dask.delayed(_compute_linked, traverse=False)
    seen = beside(links, parts, tables)
    computed = [
        compute(part, sent, method, list(seen), meta, *own)
        for part, *own in zip(parts, *seen.values(), strict=True)
    ]
    divisions = X.divisions if len(computed) == X.npartitions else None
    return dd.from_delayed(computed, meta=meta, divisions=divisions, verify_meta=False)


def _compute_linked(
    rows: Any, sent: Any, method: str, titles: list[str], empty: Any, *linked: Any
) -> Any:
    """Compute a method for one partition with its linked rows."""
    model, tables = sent
    if not len(rows):
        return empty.set_axis(rows.index, axis=0)
    named = {"links": {**tables, **dict(zip(titles, linked, strict=True))}}
    return _framed(model, method, _values(model, method, rows, named), rows)


def _over_blocks(model: Any, sent: Any, method: str, X: da.Array, named: Any) -> Any:
    """Compute a method for each block of rows of an array."""
    if X.ndim != 2:
        raise ValueError(
            f"X is a Dask Array of {X.ndim} dimensions, but rows and columns are expected: "
            "use X.reshape(-1, 1) for a single column."
        )
    X = X.rechunk({1: -1})
    example = np.zeros((2, X.shape[1]), X.dtype)
    found = _values(model, method, example, named)
    shape: dict[str, Any] = (
        {"drop_axis": 1} if found.ndim == 1 else {"chunks": (X.chunks[0], (found.shape[1],))}
    )
    return da.map_blocks(
        _compute,
        X,
        model=sent,
        method=method,
        named=named,
        empty=found[:0],
        dtype=found.dtype,
        meta=found[:0],
        **shape,
    )


def _values(model: Any, method: str, rows: Any, named: Any) -> Any:
    """Compute a method for some rows, and refuse results that are no table."""
    found = getattr(model, method)(rows, **named)
    if isinstance(found, list):
        raise TypeError(
            f"{method} of several targets is a list of arrays, which is no Dask collection: fit "
            "one model for each target, or call it on tables in memory."
        )
    return found.to_pandas() if type(found).__module__.startswith("polars") else found


def _compute(rows: Any, model: Any, method: str, named: Any, empty: Any) -> Any:
    """Compute a method for one partition, which may have no row."""
    return _values(model, method, rows, named) if len(rows) else empty


def _compute_frame(rows: Any, model: Any, method: str, named: Any, empty: Any) -> Any:
    """Compute a method for one partition of a data frame, as a frame with the same index."""
    if not len(rows):
        return empty.set_axis(rows.index, axis=0)
    return _framed(model, method, _values(model, method, rows, named), rows)


def _framed(model: Any, method: str, found: Any, rows: pd.DataFrame) -> Any:
    """Return results as a Series or a DataFrame with the index of the rows."""
    if isinstance(found, pd.DataFrame):
        return found.set_axis(rows.index, axis=0)
    if found.ndim == 1:
        return pd.Series(found, rows.index, name=method)
    return pd.DataFrame(found, rows.index, output_names(model, method, found.shape[1]))


def _same(block: Any) -> Any:
    """Return a block as it is."""
    return block
