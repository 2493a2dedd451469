"""Linked tables that are Dask DataFrames: each partition of a table gets the linked rows it sees.

Rows are joined by a hash of their keys, so that equal keys of different types meet; what meets by
chance is left out by the model, which compares the keys themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
import pandas as pd

from featurewright.auto import AutoFeatures
from featurewright.auto.links import needed_columns
from featurewright.distributed.rows import delayed_parts
from featurewright.distributed.units import compute_all
from featurewright.relations import Link, RelationalFeatures
from featurewright.relations.copies import with_links
from featurewright.relations.keys import KeyColumn, read_keys
from featurewright.relations.links import LinkKind, all_links

MAX_CELLS = 64_000_000
"""Of the linked rows that the rows of one table in memory see."""

_HASH = "featurewright: hash"
_PART = "featurewright: part"
_EXACT = 2.0**53  # whole numbers up to here are exact as floats

Tables = Mapping[str, Any]
Hashes = npt.NDArray[np.uint64]


# Which tables are collections --------------------------------------------------------------------


def is_lazy(table: Any) -> bool:
    """Whether a linked table is a Dask collection."""
    return isinstance(table, dd.DataFrame)


def used_links(model: Any) -> list[Link]:
    """Return the links whose rows a fitted model reads."""
    if isinstance(model, AutoFeatures):
        needed = needed_columns(model)
        model = None if needed is None else needed.relational
    if not isinstance(model, RelationalFeatures):
        return []
    sources = [model._sources[at] for at in model._sources_used() if at not in model._statistics]
    return list({source.link.title: source.link for source in sources}.values())


def lazy_titles(links: Sequence[Link], tables: Tables) -> list[str]:
    """Return the names of the links, nested ones too, whose rows are a collection."""
    return [link.title for link in all_links(links) if is_lazy(tables.get(link.title, link.table))]


def without_collections(model: Any) -> Any:
    """Return a copy of a fitted model that holds no collection, to be sent to workers."""
    if isinstance(model, RelationalFeatures):
        return with_links(model, [_emptied(link) for link in model.links], _emptied)
    if isinstance(model, AutoFeatures) and len(model.links):
        made = copy(model)
        made.links = [_emptied(link) for link in model.links]
        linked = getattr(model, "linked_", None)
        if linked is not None:
            made.linked_ = replace(linked, relational=without_collections(linked.relational))
        return made
    return model


def keep_histories(model: Any, X: Any, y: Any) -> None:
    """Have a model see the earlier rows of the whole collection, not of the sample alone."""
    relational: Any = model
    if isinstance(model, AutoFeatures):
        relational = getattr(getattr(model, "linked_", None), "relational", None)
    if not isinstance(relational, RelationalFeatures) or not isinstance(X, dd.DataFrame):
        return
    sources = list(relational._sources)
    for at, source in enumerate(sources):
        if source.link.kind is not LinkKind.HISTORY:
            continue
        own = [one for one in sources if one.link.title == source.link.title]
        names = next((one.target.names for one in own if one.target is not None), ())
        if len(names) > 1:
            continue  # targets of several columns are no column of a table
        table = X.assign(**dict.fromkeys(names, y))
        sources[at] = replace(source, link=replace(source.link, table=table), linked=None)
    relational._sources = sources


def _emptied(link: Link) -> Link:
    """Return a link without collections, nested ones too."""
    table = None if is_lazy(link.table) else link.table
    return replace(link, table=table, links=tuple(map(_emptied, link.links)))


# A table in memory -------------------------------------------------------------------------------


def bring(links: Sequence[Link], X: Any, tables: Tables) -> dict[str, Any]:
    """Return linked tables by name; of collections the rows that the rows of a table see.

    Parameters
    ----------
    links : sequence of Link
        The links.
    X : data frame
        The table, in memory.
    tables : dict of str to data frame
        Newer linked tables.
    """
    found = dict(tables)
    for link in links:
        table = tables.get(link.title, link.table)
        here, there = _columns(link)
        if is_lazy(table):
            hashes, _ = _hashes(X, here, "X")
            found[link.title] = table = _rows_of(link, table, there, np.unique(hashes))
        if lazy_titles(link.links, tables):
            found |= bring(link.links, table, tables)
    return found


def _columns(link: Link) -> tuple[list[str], list[str]]:
    """Return the key columns of a link: of the table, and of the linked one."""
    return [here for here, _ in link.keys], [there for _, there in link.keys]


def _rows_of(link: Link, table: Any, names: list[str], wanted: Hashes) -> pd.DataFrame:
    """Return the rows of a collection whose keys have one of some hashes."""
    sent = dask.delayed(wanted, traverse=False)
    what = f"partition of link {link.title!r}"
    parts = delayed_parts(table)
    count = dask.delayed(_count_seen, traverse=False)
    n_rows = sum(compute_all([count(part, names, sent) for part in parts], what, _ignore))
    if n_rows * len(table.columns) > MAX_CELLS:
        raise ValueError(
            f"The rows of X see {n_rows:,} rows of link {link.title!r} with {len(table.columns)} "
            f"columns, but {MAX_CELLS:,} cells is the most that is held in one place: fit with "
            "fewer rows (featurewright.distributed.fit(…, max_rows=…)), or with fewer columns in "
            "the linked table."
        )
    take = dask.delayed(_seen, traverse=False)
    found = compute_all([take(part, names, sent) for part in parts], what, _ignore)
    return pd.concat(found, ignore_index=True)


def _ignore(n_done: int) -> None:
    """Take no notice of what is done."""


def _seen(part: pd.DataFrame, names: list[str], wanted: Hashes) -> pd.DataFrame:
    """Return the rows of a partition whose keys have one of some hashes."""
    hashes, known = _hashes(part, names, "A partition of the linked table")
    places = np.flatnonzero(known)
    return part.iloc[places[np.isin(hashes, wanted)]]


def _count_seen(part: pd.DataFrame, names: list[str], wanted: Hashes) -> int:
    """Return how many rows of a partition have one of some hashes."""
    return len(_seen(part, names, wanted))


# A table in partitions ---------------------------------------------------------------------------


def beside(links: Sequence[Link], parts: Sequence[Any], tables: Tables) -> dict[str, list[Any]]:
    """Return for each link whose rows are a collection those that each part of a table sees.

    Parameters
    ----------
    links : sequence of Link
        The links.
    parts : sequence of Delayed
        The parts of the table.
    tables : dict of str to data frame
        Newer linked tables.

    Returns
    -------
    dict of str to list of Delayed
        A data frame for each part, by the name of the link, nested ones too.
    """
    found: dict[str, list[Any]] = {}
    for link in links:
        table = tables.get(link.title, link.table)
        here, there = _columns(link)
        if is_lazy(table):
            found[link.title] = own = _joined(parts, here, table, there)
            found |= beside(link.links, own, tables)
        elif lazy_titles(link.links, tables):
            # What is below a table in memory is as much as that sees.
            brought = bring(link.links, table, tables)
            for title in lazy_titles(link.links, tables):
                found[title] = [dask.delayed(brought[title], traverse=False)] * len(parts)
    return found


def _joined(parts: Sequence[Any], here: list[str], table: Any, there: list[str]) -> list[Any]:
    """Return for each part of a table the rows of a collection that have one of its keys."""
    pair = dask.delayed(_pairs, traverse=False)
    meta = pd.DataFrame({_HASH: np.empty(0, np.uint64), _PART: np.empty(0, np.int64)})
    pairs = dd.from_delayed(
        [pair(part, number, here) for number, part in enumerate(parts)],
        meta=meta,
        verify_meta=False,
    )
    example = _with_hashes(table._meta_nonempty, there).iloc[:0]
    hashed = table.map_partitions(_with_hashes, there, meta=example)
    joined = hashed.merge(pairs, on=_HASH, how="inner")
    numbered = joined.set_index(_PART, divisions=list(range(len(parts) + 1)))
    drop = dask.delayed(_without_hashes, traverse=False)
    return [drop(part) for part in numbered.to_delayed()]


def _pairs(part: pd.DataFrame, number: int, names: list[str]) -> pd.DataFrame:
    """Return the hashes of the keys of a part, and its number."""
    found = np.unique(_hashes(part, names, "X")[0])
    return pd.DataFrame({_HASH: found, _PART: np.full(len(found), number, np.int64)})


def _with_hashes(part: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the rows of a partition that have a key, and the hash of that."""
    hashes, known = _hashes(part, names, "A partition of the linked table")
    return part[known].reset_index(drop=True).assign(**{_HASH: hashes})


def _without_hashes(part: pd.DataFrame) -> pd.DataFrame:
    """Return rows as they were."""
    return part.drop(columns=_HASH).reset_index(drop=True)


# Hashes of keys ----------------------------------------------------------------------------------


def _hashes(frame: Any, names: list[str], owner: str) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Return a hash of the key of each row that has one, and which rows these are."""
    columns = read_keys(frame, names, owner)
    known = np.ones(len(columns[0]), bool)
    mixed = np.zeros(len(known), np.uint64)
    for column in columns:
        known &= column.known
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) ^ _hash_column(column)
    return mixed[known], known


def _hash_column(column: KeyColumn) -> Hashes:
    """Return a hash of each value; equal numbers have the same one, whatever their type."""
    if isinstance(column.values, list):
        texts = np.array(["" if value is None else value for value in column.values], object)
        return np.asarray(pd.util.hash_array(texts), np.uint64)
    values = column.values
    floats = values.astype(np.float64) + 0.0  # -0 is 0
    bits = floats.view(np.uint64)
    if values.dtype.kind == "i":
        bits = np.where(np.abs(floats) <= _EXACT, bits, values.view(np.uint64))
    return np.asarray(pd.util.hash_array(np.ascontiguousarray(bits)), np.uint64)
