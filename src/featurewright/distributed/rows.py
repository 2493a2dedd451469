"""Rows of a collection by their number, whatever its partitions are.

The number of a row is its place in the whole collection. Who is drawn depends on that number and
the seed alone, so another partitioning of the same rows draws the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
import pandas as pd

from featurewright.distributed.drawn import Numbers, row_chances
from featurewright.distributed.units import compute_all

_FAN_IN = 8  # results that are merged at a time
_PREFIX = "featurewright: "  # of columns that are joined to a table for a while


@dataclass(frozen=True, eq=False)
class Columns:
    """Some rows: the table, and what goes with it where it was given."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    groups: Any = None

    def take(self, places: Any) -> Columns:
        """Return some of the rows."""
        return Columns(*(_take(part, places) for part in vars(self).values()))

    def arguments(self) -> dict[str, Any]:
        """Return what `fit` takes beside the table and the target."""
        named = {"sample_weight": self.sample_weight, "groups": self.groups}
        return {name: values for name, values in named.items() if values is not None}


class Partitions:
    """The partitions of a table and of what goes with it, not computed yet.

    Parameters
    ----------
    X : dask DataFrame or Array
        The table.
    **others : dask Series or Array, or None
        The target, weights and groups, with the same partitions.
    """

    def __init__(self, X: Any, **others: Any) -> None:
        given = {"X": X} | {name: own for name, own in others.items() if own is not None}
        for name, values in given.items():
            _check_collection(name, values, _n_partitions(X))
        self.has_groups = "groups" in given
        self.columns = _joint_parts(given)
        n_rows = dask.delayed(_n_rows, traverse=False)
        self.lengths = np.array(_computed([n_rows(part) for part in self.columns]), np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.lengths)])
        if not len(self):
            raise ValueError("X has no row, but at least 1 is needed: pass a collection with rows.")

    def __len__(self) -> int:
        return int(self.first[-1])

    def map(self, function: Any, *settings: Any) -> list[Any]:
        """Return what a function of a partition, its first row's number and settings computes."""
        return _computed(self._calls(function, settings))

    def reduce(self, function: Any, merge: Any, *settings: Any) -> Any:
        """Return what is merged from a function's results for all partitions, in a tree.

        `merge` takes a list of results and returns one.
        """
        join = dask.delayed(merge, traverse=False)
        parts = self._calls(function, settings)
        while True:
            parts = [join(parts[k : k + _FAN_IN]) for k in range(0, len(parts), _FAN_IN)]
            if len(parts) == 1:
                return _computed(parts)[0]

    def _calls(self, function: Any, settings: tuple[Any, ...]) -> list[Any]:
        """Return the calls of a function for all partitions, not computed yet."""
        call = dask.delayed(function, traverse=False)
        return [
            call(columns, int(first), *settings)
            for columns, first in zip(self.columns, self.first[:-1], strict=True)
        ]

    def pieces(self, numbers: Numbers) -> list[Any]:
        """Return the partitions' shares of some rows, by sorted numbers; not computed yet."""
        take = dask.delayed(_checked_take)
        edges = np.searchsorted(numbers, self.first)
        return [
            take(self.columns[k], int(self.lengths[k]), numbers[a:b] - self.first[k])
            for k, (a, b) in enumerate(pairwise(edges))
            if b > a
        ]

    def rows(self, numbers: Numbers) -> Columns:
        """Return some rows, by sorted numbers."""
        return join_rows(_computed(self.pieces(numbers)))


def _computed(calls: list[Any]) -> list[Any]:
    """Compute calls for partitions, where Dask is set to."""
    return compute_all(calls, "partition", lambda done: None)


def _check_collection(name: str, values: Any, n_partitions: int) -> None:
    """Refuse what is no collection, or has other partitions than the table."""
    if not isinstance(values, da.Array | dd.DataFrame | dd.Series):
        raise TypeError(
            f"{name} is a {type(values).__name__}, but X is a Dask collection: pass {name} as a "
            "Dask Series or Array with the partitions of X, such as a column of the same frame."
        )
    if _n_partitions(values) != n_partitions:
        raise ValueError(
            f"{name} has {_n_partitions(values)} partitions, but X has {n_partitions}: take both "
            "from one collection, or repartition one of them."
        )


def _n_partitions(values: Any) -> int:
    """Return the number of partitions of a collection, or of blocks of rows."""
    return int(values.numblocks[0] if isinstance(values, da.Array) else values.npartitions)


def _joint_parts(given: dict[str, Any]) -> list[Any]:
    """Return the partitions of a table together with what belongs to it, as delayed values."""
    others = [name for name in given if name != "X"]
    build = dask.delayed(Columns)
    series = all(isinstance(given[name], dd.Series) for name in others)
    if isinstance(given["X"], dd.DataFrame) and series:
        # As one frame: Dask may join the partitions of a few columns when it reads them.
        frame = given["X"].assign(**{f"{_PREFIX}{name}": given[name] for name in others})
        split = dask.delayed(_split)
        return [split(part, others) for part in frame.to_delayed()]
    parts = {name: _plain_parts(values) for name, values in given.items()}
    return [
        build(**dict(zip(parts, own, strict=True))) for own in zip(*parts.values(), strict=True)
    ]


def _plain_parts(values: Any) -> list[Any]:
    """Return the partitions of a collection as they are."""
    if isinstance(values, da.Array):
        whole = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
        return list(whole.to_delayed().ravel())
    return list(values.to_delayed(optimize_graph=False))


def _split(frame: pd.DataFrame, others: list[str]) -> Columns:
    """Take a table and what belongs to it apart."""
    names = {name: f"{_PREFIX}{name}" for name in others}
    table = frame.drop(columns=list(names.values()))
    return Columns(table, **{name: frame[column] for name, column in names.items()})


def delayed_parts(values: Any) -> list[Any]:
    """Return the partitions of a data frame, not computed yet.

    They may be fewer than the frame says: Dask joins small ones when it reads files.
    """
    return list(values.to_delayed())


def join_rows(parts: Iterable[Columns]) -> Columns:
    """Return the rows of several parts, one after the other."""
    fields = zip(*(vars(part).values() for part in parts), strict=True)
    return Columns(*(_join(field) for field in fields))


def group_chances(groups: Any, seed: int) -> npt.NDArray[np.float64]:
    """Return a number in [0, 1) for each row that depends on its group and the seed alone."""
    labels = pd.Series(np.asarray(groups)).astype(str)
    hashed = pd.util.hash_pandas_object(labels, index=False).to_numpy()
    return row_chances(hashed.view(np.int64), seed)


def _take(values: Any, places: Any) -> Any:
    """Return some rows of a table, of values or of nothing."""
    if values is None:
        return None
    return values.iloc[places] if isinstance(values, pd.DataFrame | pd.Series) else values[places]


def _join(values: tuple[Any, ...]) -> Any:
    """Join tables or values of several parts."""
    if values[0] is None:
        return None
    if isinstance(values[0], pd.DataFrame | pd.Series):
        return pd.concat(values, ignore_index=True)
    return np.concatenate(values)


def _n_rows(columns: Columns) -> int:
    """Return the number of rows of a partition."""
    return len(columns.X)


def _checked_take(columns: Columns, n_rows: int, places: Numbers) -> Columns:
    """Return rows of a partition whose parts belong together."""
    for name, values in vars(columns).items():
        if values is not None and len(values) != n_rows:
            raise ValueError(
                f"a partition of {name} has {len(values)} rows, but that of X has {n_rows}: take "
                "both from one collection."
            )
    return columns.take(places)
