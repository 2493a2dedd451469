"""Statistics of groups and of their targets from all partitions, and training rows without a leak.

A search on a sample chooses the columns; what they are is then summed up over all partitions, in a
tree. A training row is left out of the statistics of its own group, and mean targets are those of
other folds; the number of a row, or the label in `groups`, says its fold.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask
import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from featurewright.auto import AutoFeatures
from featurewright.auto.links import beside
from featurewright.auto.parts import RANGE_LEVELS
from featurewright.auto.targets import read_target
from featurewright.distributed.drawn import Numbers, row_chances
from featurewright.distributed.rows import Columns, Partitions, group_chances
from featurewright.estimators.collections import is_collection
from featurewright.relations import RelationalFeatures
from featurewright.relations.aggregates import raw_values
from featurewright.relations.keys import KeyTable, learn_keys, read_keys
from featurewright.relations.linked import encode_columns
from featurewright.relations.links import LinkKind, all_links
from featurewright.relations.sources import Source
from featurewright.relations.sums import (
    KeySums,
    Summed,
    TargetSums,
    ValueSums,
    group_means,
    group_values,
    join_key_sums,
)
from featurewright.relations.targets import TargetColumns
from featurewright.tables import EncodedTable, as_array

Matrix = npt.NDArray[np.float64]

_N_FOLDS = 5  # of mean targets
_FOLDS_SEED = 2  # added to the seed of the fit, which draws rows too


@dataclass(frozen=True, eq=False)
class Group:
    """What is summed up for one link.

    Parameters
    ----------
    source : Source
        The link, and how its rows are read.
    at : int
        Its place among the sources.
    features : tuple of int
        The places of the features over it.
    what : tuple of (value, condition)
        The values that these are made of.
    centres : tuple of float
        About the means of these.
    ranked : frozenset of (value, condition)
        Those of which minima or maxima are asked for.
    means : int or None
        The place of its mean targets among those of all groups.
    """

    source: Source
    at: int
    features: tuple[int, ...]
    what: tuple[Summed, ...]
    centres: tuple[float, ...]
    ranked: frozenset[Summed]
    means: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """The key columns."""
        return tuple(name for name, _ in self.source.link.keys)

    def matrix(self, X: Any) -> Matrix:
        """Return the columns of rows as numbers."""
        return encode_columns(_framed(X), self.source.layout.table, "X", number_unseen=True)


@dataclass(frozen=True, eq=False)
class Pooling:
    """How the rows of a partition are summed up.

    Parameters
    ----------
    groups : tuple of Group
        The links.
    target : TargetColumns
        How targets become numbers.
    centres : ndarray
        About the means of these.
    seed : int
        Decides which fold a row is in.
    side : object or None
        The rows that count; None for all.
    """

    groups: tuple[Group, ...]
    target: TargetColumns
    centres: Matrix
    seed: int
    side: Any = None

    def read(self, y: Any) -> Matrix:
        """Return targets as numbers without their centres; NaN where a target is missing."""
        values = as_array(y)
        frame = pd.DataFrame(
            values.reshape(len(values), len(self.target.names)), columns=list(self.target.names)
        )
        return self.target.read(_framed(frame)) - self.centres

    def folds(self, columns: Columns, numbers: Numbers) -> npt.NDArray[np.int64]:
        """Return the fold of each row."""
        seed = self.seed + _FOLDS_SEED
        if columns.groups is not None:
            chances = group_chances(columns.groups, seed)
        else:
            chances = row_chances(numbers, seed)
        return (chances * _N_FOLDS).astype(np.int64)


def _framed(X: Any) -> nw.DataFrame[Any]:
    """Return a data frame wrapped by narwhals."""
    return nw.from_native(X, eager_only=True)


def _sum_partition(columns: Columns, first: int, pooling: Pooling) -> list[KeySums]:
    """Sum up the rows of a partition for each link."""
    numbers = np.arange(first, first + len(columns.X))
    target = pooling.read(columns.y)
    counted = np.isfinite(target).all(axis=1)
    if pooling.side is not None:
        counted &= pooling.side.mask(columns, numbers)
    places = np.flatnonzero(counted)
    target, rows = target[places], columns.take(places)
    folds = pooling.folds(rows, numbers[places])
    found = []
    for group in pooling.groups:
        names = list(group.names)
        index, codes = learn_keys(read_keys(_framed(rows.X), names, "X"), names)
        keyed = codes >= 0
        matrix = group.matrix(rows.X)
        n_rows = np.bincount(codes[keyed], minlength=index.n_keys).astype(np.int64)
        values = [
            ValueSums.of(
                _raw(matrix, what)[keyed],
                codes[keyed],
                index.n_keys,
                centre,
                extremes=what in group.ranked,
            )
            for what, centre in zip(group.what, group.centres, strict=True)
        ]
        targets = [
            TargetSums.of(target[folds == fold], codes[folds == fold], index.n_keys)
            for fold in range(_N_FOLDS if group.means is not None else 0)
        ]
        found.append(KeySums(index, n_rows, values, targets))
    return found


def _join_partitions(parts: list[list[KeySums]], titles: list[str]) -> list[KeySums]:
    """Join what was summed up of several partitions."""
    return [join_key_sums([part[at] for part in parts], title) for at, title in enumerate(titles)]


def pool_groups(
    model: Any, partitions: Partitions, sample: Columns, seed: int, side: Any
) -> TrainingRows | None:
    """Have a fitted model take statistics of groups from all partitions.

    Parameters
    ----------
    model : estimator
        Fitted on the sample.
    partitions : Partitions
        The collection.
    sample : Columns
        The rows that the model was fitted on.
    seed : int
        Decides which fold a row is in.
    side : Side or None
        The rows that count; None for all.

    Returns
    -------
    TrainingRows or None
        What computes columns of training rows; None where the model has no such statistics.
    """
    relational = _relational(model)
    if relational is None or relational.as_of is not None:
        return None
    groups = _groups(relational, sample)
    if not groups:
        return None
    target, columns = _read_target(model, relational, sample.y)
    pooling = Pooling(tuple(groups), columns, target.mean(axis=0), seed, side)
    titles = [group.source.link.title for group in groups]
    sent = dask.delayed(pooling, traverse=False)
    sums = partitions.reduce(_sum_partition, partial(_join_partitions, titles=titles), sent)
    made = copy(relational)
    made._statistics, made._groups = dict(relational._statistics), list(relational._groups)
    others: list[list[KeyTable]] = []
    for group, own in zip(groups, sums, strict=True):
        if group.features:
            features = [relational.features_[at] for at in group.features]
            keys = np.append(np.arange(own.index.n_keys), -1)
            table = group_values(own, features, group.what, keys)
            made._statistics[group.at] = KeyTable(group.names, own.index, table[:-1], table[-1])
        others.append([])
        if group.means is not None:
            made._groups[group.means], others[-1] = group_means(group.names, own, pooling.centres)
    _install(model, made)
    return TrainingRows(model, made, pooling, sums, others)


def _relational(model: Any) -> RelationalFeatures | None:
    """Return what computes the columns over links of a fitted model."""
    if isinstance(model, AutoFeatures):
        linked = getattr(model, "linked_", None)
        return None if linked is None else linked.relational
    return model if isinstance(model, RelationalFeatures) else None


def _install(model: Any, relational: RelationalFeatures) -> None:
    """Have a model compute columns over links by other statistics."""
    if isinstance(model, AutoFeatures):
        assert model.linked_ is not None
        model.linked_ = replace(model.linked_, relational=relational)
    else:
        model._statistics, model._groups = relational._statistics, relational._groups


def _groups(relational: RelationalFeatures, sample: Columns) -> list[Group]:
    """Return what is summed up, for each link that has statistics."""
    found = []
    free = list(range(len(relational._groups)))
    for at, source in enumerate(relational._sources):
        if source.link.kind is not LinkKind.GROUP:
            continue
        names = tuple(name for name, _ in source.link.keys)
        means = next((k for k in free if relational._groups[k].names == names), None)
        if means is not None:
            free.remove(means)
        features = tuple(np.flatnonzero(relational._feature_sources == at).tolist())
        if means is None and not features:
            continue
        chosen = [relational.features_[k] for k in features]
        what = tuple(dict.fromkeys((one.value, one.condition) for one in chosen))
        extremes = [one for one in chosen if one.aggregate in ("min", "max")]
        ranked = frozenset((one.value, one.condition) for one in extremes)
        group = Group(source, at, features, what, (0.0,) * len(what), ranked, means)
        matrix = group.matrix(sample.X)
        centres = tuple(_centre(_raw(matrix, own)) for own in what)
        found.append(replace(group, centres=centres))
    return found


def _raw(matrix: Matrix, what: Summed) -> Matrix:
    """Return a value of rows under a condition."""
    return raw_values(matrix, None, *what)


def _centre(values: Matrix) -> float:
    """Return about the mean of values."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def _read_target(
    model: Any, relational: RelationalFeatures, y: Any
) -> tuple[Matrix, TargetColumns]:
    """Return the target of the sample as numbers, and how it is read."""
    values = as_array(y)
    known = pd.notna(values.reshape(len(values), -1)).all(axis=1)
    labels: Any = values[known]
    if isinstance(model, AutoFeatures):
        task = "regression" if model.task_ == "regression" else "classification"
        labels = read_target(labels, len(labels), model.estimator, task).labels
    return relational._read_target(labels, len(labels))


# Training rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Computes the columns of training rows: without themselves, and out of fold.

    Parameters
    ----------
    model : estimator
        The fitted model.
    relational : RelationalFeatures
        What computes columns over links of other rows.
    pooling : Pooling
        What was summed up.
    sums : list of KeySums
        The sums of each link.
    others : list of list of KeyTable
        For each link the mean targets of the rows of other folds, by fold.
    """

    model: Any
    relational: RelationalFeatures
    pooling: Pooling
    sums: list[KeySums]
    others: list[list[KeyTable]]

    def links(self, columns: Columns, numbers: Numbers) -> Matrix:
        """Return what the links give for training rows; undefined values are NaN."""
        relational = copy(self.relational)
        relational.keep_missing = True
        out = np.array(relational.transform(columns.X), np.float64)
        n_features = len(relational.features_)
        before = out.shape[1] - n_features - len(relational._group_names)
        width = len(self.pooling.target.labels)
        folds = self.pooling.folds(columns, numbers)
        counted = np.ones(len(numbers), bool)
        if self.pooling.side is not None:
            counted = self.pooling.side.mask(columns, numbers)
        for group, sums, others in zip(self.pooling.groups, self.sums, self.others, strict=True):
            names = list(group.names)
            keys = sums.index.find(read_keys(_framed(columns.X), names, "X"), names)
            features = [relational.features_[at] for at in group.features]
            if features:
                found = group_values(sums, features, group.what, keys, group.matrix(columns.X))
                places = before + np.array(group.features)
                out[np.ix_(counted, places)] = found[counted]
            if group.means is not None:
                first = before + n_features + group.means * width
                for fold, table in enumerate(others):
                    mine = np.flatnonzero(counted & (folds == fold))
                    looked = table.values[np.maximum(keys[mine], 0)] if len(table.values) else 0.0
                    values = np.where((keys[mine] >= 0)[:, np.newaxis], looked, table.other)
                    out[mine, first : first + width] = values
        return out

    def table(self, columns: Columns, numbers: Numbers) -> EncodedTable:
        """Return the table that the columns of a search are made from, for training rows."""
        linked = self.model.linked_
        found = np.full((len(numbers), len(linked.names)), np.nan)
        found[:, linked.places] = self.links(columns, numbers)
        return beside(self.model.reader_.read(self.model, columns.X), found, linked.names)

    def transform(self, columns: Columns, numbers: Numbers) -> Matrix:
        """Return the output for training rows."""
        if isinstance(self.model, AutoFeatures):
            return self.model._output(self.table(columns, numbers))
        return self.model._finish(self.links(columns, numbers))

    def unfilled_rows(self, columns: Columns, numbers: Numbers) -> Matrix:
        """Return what fills and ranges are learned from, for training rows."""
        if isinstance(self.model, AutoFeatures):
            return self.model._unfilled_table(self.table(columns, numbers))
        return self.links(columns, numbers)

    def quantile_levels(self) -> tuple[float, ...]:
        """Return the quantiles of these that constants are learned from; none where rows see more.

        Rows of a history are those of the sample, and linked collections are in other places.
        """
        if any(
            link.kind is LinkKind.HISTORY or is_collection(link.table)
            for link in all_links(self.model.links)
        ):
            return ()
        return RANGE_LEVELS if isinstance(self.model, AutoFeatures) else (0.5,)

    def _take_quantiles(self, quantiles: Matrix, lowest: Matrix, highest: Matrix) -> None:
        """Have the model take its constants from quantiles and extremes of all rows."""
        if isinstance(self.model, AutoFeatures):
            self.model._take_quantiles(quantiles, lowest, highest)
        else:
            known = ~np.isnan(quantiles[0])
            self.model._fill = np.where(known, quantiles[0], self.model._fill)

    def refit(self, sample: Columns, numbers: Numbers) -> None:
        """Fit the estimator of a search on the sample once more, with these columns."""
        if not isinstance(self.model, AutoFeatures):
            return
        known = pd.notna(as_array(sample.y).reshape(len(numbers), -1)).all(axis=1)
        rows, own = sample.take(np.flatnonzero(known)), numbers[known]
        self.model._fit_on(self.table(rows, own), rows.y, rows.sample_weight)
