"""Fit estimators on Dask collections that no worker can hold whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from featurewright.auto import AutoFeatures
from featurewright.auto.time_folds import row_times
from featurewright.distributed.drawn import MAX_ROWS, Drawn, Numbers, row_chances
from featurewright.distributed.groups import TrainingRows, pool_groups
from featurewright.distributed.linked import keep_histories
from featurewright.distributed.rows import (
    Columns,
    Partitions,
    group_chances,
    join_rows,
)
from featurewright.distributed.statistics import LevelCounts, count_levels, learn_statistics
from featurewright.distributed.units import compute_all
from featurewright.engine.forest import Forest
from featurewright.estimators.ensembles import GrownEnsemble
from featurewright.estimators.parameters import rows_or_share, whole_number
from featurewright.relations.links import LinkKind
from featurewright.tables import EncodedTable, encode, holds_numbers

_NOTE_ROWS = 10_000  # from which a forest's constants for undefined values are learned
_LEAST_OF_CLASS = 10  # rows drawn of a class that has as many
_MAX_CLASSES = 100  # that are drawn by their shares
_SPARE = 1.5  # rows looked at for each one that is drawn, so that there are enough
_TIME_ROWS = 100_000  # whose times say which rows are the latest
_N_RANGES = 20  # of row numbers; every fifth is held out of a search
_HELD_OUT_RANGES = 4
_BLOCKS = 32  # of trees, each drawn and grown in one task


def fit(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    max_rows: int = MAX_ROWS,
) -> Any:
    """Fit an estimator on a Dask DataFrame or Array.

    Forests, Extra-Trees and `ForestPathEncoder` draw `max_samples` rows for each tree, across all
    partitions and without replacement, and grow the trees where these rows are put together. All
    other estimators are fitted on a sample of `max_rows` rows. Which rows are drawn depends on
    their numbers in the collection and `random_state`, not on the partitions.

    Parameters
    ----------
    model : estimator
        Not fitted yet; `model.fit(X, y)` does the same with the usual `max_rows`.
    X : dask DataFrame or Array
        The table.
    y, sample_weight, groups : dask Series or Array, optional
        The target and what else `fit` takes, with the partitions of `X`. Groups are drawn whole.
    max_rows : int, default=100_000
        Rows of the sample, and of each tree where the forest's `max_samples` is None or a share.

    Returns
    -------
    estimator
        The fitted model; its attribute `drawn_` says which rows it saw.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from featurewright import ConstructiveBoostingRegressor
    >>> from featurewright.datasets import load_airfoil
    >>> from featurewright.distributed import fit
    >>> X, y = (
    ...     dd.from_pandas(own, npartitions=4)
    ...     for own in load_airfoil(as_frame=True, return_X_y=True)
    ... )
    >>> fit(ConstructiveBoostingRegressor(5), X, y, max_rows=300).drawn_.n_drawn
    300
    """
    fit_collection(model, X, y, sample_weight, groups, max_rows=max_rows)
    return model


def fit_collection(
    model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, max_rows: int
) -> tuple[Any, Partitions, TrainingRows | None]:
    """Fit an estimator; return it, its partitions, and what computes its training rows."""
    whole_number("max_rows", max_rows, 1)
    partitions = Partitions(X, y=y, sample_weight=sample_weight, groups=groups)
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
    if _grows_a_forest(model):
        return _fit_forest(model, partitions, seed, max_rows), partitions, None
    counts = count_levels(partitions)
    if isinstance(model, AutoFeatures):
        training = _fit_search(model, partitions, counts, seed, max_rows)
        keep_histories(model, X, y)
        return model, partitions, training
    side = Side(len(partitions), keys=history_keys(model))
    numbers, by = draw_rows(partitions, seed, max_rows, side)
    rows = partitions.rows(numbers)
    with _told(model, counts):
        model.fit(rows.X, rows.y, **rows.arguments())
    training = pool_groups(model, partitions, rows, seed, None)
    settled = learn_statistics(model, partitions, counts, training)
    whole = _whole(counts, settled, training)
    keep_histories(model, X, y)
    model.drawn_ = Drawn(len(partitions), len(numbers), by, **whole)
    return model, partitions, training


@contextmanager
def _told(model: Any, counts: LevelCounts) -> Iterator[None]:
    """Set for a fit that its rows are a sample, and the levels that these may not have."""
    model._known_levels, model._sampled = counts.levels(), True
    try:
        yield
    finally:
        del model._known_levels, model._sampled


def _whole(
    counts: LevelCounts, settled: bool, training: TrainingRows | None = None
) -> dict[str, Any]:
    """Return which statistics are those of all rows, for `Drawn`."""
    return {
        "groups": "sample" if training is None else "all rows",
        "levels": "all rows" if None not in counts.counts.values() else "sample",
        "medians": "all rows" if settled else "sample",
    }


def _grows_a_forest(model: Any) -> bool:
    """Whether the trees of an estimator are independent of each other, and many."""
    return isinstance(model, GrownEnsemble) and "n_estimators" in model.get_params()


# Samples ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """The rows of a collection that may be drawn: all, those of a search, or those held out of it.

    Parameters
    ----------
    n_rows : int
        Rows of the collection.
    held_out : bool or None
        Whether they are held out of a search; None for all rows.
    as_of, links
        Where a search has times, what says them.
    latest : float or None
        The latest time of a search: what is held out is later. Without one, ranges of row numbers
        are held out.
    keys : tuple of str
        Columns of a key whose rows are drawn together, because they are each other's history.
    """

    n_rows: int
    held_out: bool | None = None
    as_of: str | None = None
    links: Any = ()
    latest: float | None = None
    keys: tuple[str, ...] = ()

    def mask(self, columns: Columns, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Whether rows of a partition are on this side."""
        if self.held_out is None:
            return np.ones(len(numbers), bool)
        if self.latest is None:
            return _is_held_out(numbers, self.n_rows) == self.held_out
        times = row_times(columns.X, self.as_of, self.links)
        assert times is not None
        return np.asarray((times > self.latest) == self.held_out)


def history_keys(model: Any) -> tuple[str, ...]:
    """Return the columns of the key whose rows are each other's history."""
    links = getattr(model, "links", ())
    histories = [link for link in links if link.kind is LinkKind.HISTORY]
    return tuple(here for link in histories[:1] for here, _ in link.keys)


def search_sides(model: AutoFeatures, partitions: Partitions, seed: int) -> tuple[Side, Side]:
    """Return the rows that a search may see, and those that are held out of it.

    Where rows have times, the latest fifth is held out, never a part of those with equal times.
    """
    # Without the tables of other links, which say nothing of times.
    histories = tuple(link for link in model.links if link.kind is LinkKind.HISTORY)
    keys = history_keys(model)
    latest = None
    if model.as_of is not None or histories:
        share = min(1.0, _TIME_ROWS / len(partitions))
        found = partitions.map(_some_times, (seed, share), model.as_of, histories)
        times = np.sort(np.concatenate(found))
        earlier = times[times < times[-1]] if len(times) else times
        if len(earlier):
            place = int((1.0 - _HELD_OUT_RANGES / _N_RANGES) * len(times))
            latest = float(min(times[max(0, place - 1)], earlier[-1]))
    given = (model.as_of, histories, latest, keys)
    return Side(len(partitions), False, *given), Side(len(partitions), True, *given)


def _some_times(
    columns: Columns, first: int, drawing: tuple[int, float], as_of: str | None, links: Any
) -> npt.NDArray[np.float64]:
    """Return the times of some rows of a partition, drawn by their numbers."""
    seed, share = drawing
    drawn = row_chances(np.arange(first, first + len(columns.X)), seed) < share
    times = row_times(columns.X, as_of, links)
    return np.empty(0) if times is None else times[drawn]


def draw_rows(
    partitions: Partitions, seed: int, max_rows: int, side: Side | None = None
) -> tuple[Numbers, str]:
    """Return the sorted numbers of the rows of a sample, and what was drawn.

    Parameters
    ----------
    partitions : Partitions
        The collection.
    seed : int
        Decides who is drawn.
    max_rows : int
        Size of the sample; about that where whole groups are drawn.
    side : Side, optional
        The rows that may be drawn; all if not given.
    """
    side = side or Side(len(partitions))
    share = min(1.0, max_rows / _n_side(side))
    if partitions.has_groups or side.keys:
        found = partitions.map(_drawn_groups, seed, share, side)
        return np.concatenate(found), "groups" if partitions.has_groups else "keys"
    counts = _add_counts(partitions.map(_count_classes, side))
    quotas = {
        label: min(n, max(round(share * n), _LEAST_OF_CLASS if len(counts) > 1 else 1))
        for label, n in counts.items()
    }
    limits = {label: min(1.0, _SPARE * quotas[label] / n + 50.0 / n) for label, n in counts.items()}
    found = partitions.map(_candidates, seed, limits, side)
    numbers = np.concatenate([own[0] for own in found])
    labels = np.concatenate([own[1] for own in found])
    order = np.argsort(row_chances(numbers, seed), kind="stable")
    numbers, labels = numbers[order], labels[order]
    kept = [numbers[labels == label][:quota] for label, quota in quotas.items()]
    return np.sort(np.concatenate(kept)), "classes" if len(counts) > 1 else "rows"


def _n_side(side: Side) -> int:
    """Return about how many rows may be drawn."""
    if side.held_out is None:
        return side.n_rows
    share = _HELD_OUT_RANGES / _N_RANGES
    return max(1, round(side.n_rows * (share if side.held_out else 1.0 - share)))


def _is_held_out(numbers: Numbers, n_rows: int) -> npt.NDArray[np.bool_]:
    """Whether rows lie in one of the ranges of the collection that are held out."""
    ranges = numbers * _N_RANGES // n_rows
    return ranges % (_N_RANGES // _HELD_OUT_RANGES) == _N_RANGES // _HELD_OUT_RANGES - 1


def _numbers(columns: Columns, first: int, side: Side) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """Return the numbers of a partition's rows that may be drawn, and their places."""
    numbers = np.arange(first, first + len(columns.X))
    places = np.flatnonzero(side.mask(columns, numbers))
    return numbers[places], places


def _labels(columns: Columns, places: npt.NDArray[np.intp]) -> npt.NDArray[np.str_]:
    """Return the class of rows as text; one and the same for numbers, and without a target."""
    y = columns.take(places).y
    if not len(places):
        return np.empty(0, str)
    if y is None or getattr(y, "ndim", 1) > 1 or holds_numbers(y):
        return np.full(len(places), "")
    return np.asarray(pd.Series(np.asarray(y)).astype(str), dtype=str)


def _count_classes(columns: Columns, first: int, side: Side) -> dict[str, int]:
    """Return the number of rows of each class in a partition."""
    labels = _labels(columns, _numbers(columns, first, side)[1])
    return dict(zip(*np.unique(labels, return_counts=True), strict=True))


def _add_counts(found: list[dict[str, int]]) -> dict[str, int]:
    """Add up counts; where some partitions hold numbers that are not whole, all are numbers.

    So are those of very many different ones.
    """
    total: dict[str, int] = {}
    for counts in found:
        for label, count in counts.items():
            total[str(label)] = total.get(str(label), 0) + int(count)
    if "" in total or len(total) > _MAX_CLASSES:
        return {"": sum(total.values())}
    return dict(sorted(total.items()))


def _candidates(
    columns: Columns, first: int, seed: int, limits: dict[str, float], side: Side
) -> tuple[Numbers, npt.NDArray[np.str_]]:
    """Return the numbers and classes of the rows of a partition that are likely to be drawn."""
    numbers, places = _numbers(columns, first, side)
    labels = np.full(len(places), "") if "" in limits else _labels(columns, places)
    limit = np.array([limits[label] for label in labels.tolist()])
    near = row_chances(numbers, seed) < limit
    return numbers[near], labels[near]


def _drawn_groups(columns: Columns, first: int, seed: int, share: float, side: Side) -> Numbers:
    """Return the numbers of a partition's rows whose group, or key, is drawn."""
    numbers = np.arange(first, first + len(columns.X))
    if columns.groups is None:
        named = columns.X[list(side.keys)].astype(str).agg("\x1f".join, axis=1)
        drawn = group_chances(named, seed) < share
    else:
        drawn = group_chances(columns.groups, seed) < share
        if side.held_out is not None:
            apart = group_chances(columns.groups, seed + 1) < _HELD_OUT_RANGES / _N_RANGES
            drawn &= apart == side.held_out
    if columns.groups is None or side.latest is not None:
        drawn &= side.mask(columns, numbers)
    return numbers[drawn]


# Forests ----------------------------------------------------------------------------------------


def _fit_forest(model: Any, partitions: Partitions, seed: int, max_rows: int) -> Any:
    """Draw the rows of each tree across all partitions, and grow trees where these are joined."""
    if getattr(model, "oob_score", False) or getattr(model, "oob", False):
        raise ValueError(
            "out-of-bag results need all rows in one place, but X is a collection: use "
            "oob_score=False (oob=False), and score other rows."
        )
    n_rows = len(partitions)
    n_draws = _rows_per_tree(model, n_rows, max_rows)
    # Rows that together have every level and every class; they count for nothing.
    witnesses = join_rows(partitions.map(_witnesses))
    witnesses = witnesses.take(_firsts(witnesses))
    drawn, _ = draw_rows(partitions, seed, _NOTE_ROWS)
    noted = partitions.rows(drawn)
    table = join_rows([witnesses, noted])
    weights = _weights(table)
    weights[: len(witnesses.X)] = 0.0
    grower = _Grower(model, partitions, witnesses, n_draws)
    model._grown_elsewhere = grower.grow
    try:
        model.fit(table.X, table.y, sample_weight=weights)
    finally:
        del model._grown_elsewhere
    all_levels = LevelCounts({})  # the witnesses have them
    settled = learn_statistics(model, partitions, all_levels)
    model.drawn_ = Drawn(n_rows, n_draws, "trees", **_whole(all_levels, settled))
    return model


def _rows_per_tree(model: Any, n_rows: int, max_rows: int) -> int:
    """Return the number of rows of a tree."""
    wanted = getattr(model, "max_samples", None)
    if wanted is None:
        return min(n_rows, max_rows)
    return min(n_rows, rows_or_share("max_samples", wanted, n_rows, 1))


def _weights(columns: Columns) -> npt.NDArray[np.float64]:
    """Return the weights of rows; ones where there are none."""
    given = columns.sample_weight
    return np.ones(len(columns.X)) if given is None else np.array(given, np.float64)


def _witnesses(columns: Columns, first: int) -> Columns:
    """Return the rows of a partition that have a level or a class for the first time."""
    return columns.take(_firsts(columns))


def _firsts(columns: Columns) -> npt.NDArray[np.intp]:
    """Return places of rows: the first of each level and class, and of each column's values."""
    kept = np.zeros(len(columns.X), bool)
    kept[:1] = True
    if isinstance(columns.X, pd.DataFrame):
        for name in columns.X.columns:
            values = columns.X[name]
            first = values.notna()
            if pd.api.types.is_numeric_dtype(values):
                kept[np.flatnonzero(first)[:1]] = True
            else:
                kept |= (first & ~values.duplicated()).to_numpy()
    else:
        for column in np.asarray(columns.X, np.float64).T:
            kept[np.flatnonzero(~np.isnan(column))[:1]] = True
    y = columns.y
    if y is not None and getattr(y, "ndim", 1) == 1 and len(y) and not holds_numbers(y):
        kept |= ~pd.Series(np.asarray(y)).duplicated().to_numpy()
    return np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class _Grower:
    """Grows the trees of a forest from rows of a collection."""

    model: Any
    partitions: Partitions
    witnesses: Columns
    n_draws: int

    def grow(self, seeds: list[int], on_done: Any) -> list[Forest]:
        """Grow one tree for each seed, some trees in each task."""
        size = -(-len(seeds) // _BLOCKS)
        model = clone(self.model)
        plain: dict[str, Any] = {"n_estimators": 1, "n_jobs": 1, "verbose": 0, "warm_start": False}
        plain |= {"max_samples": None, "bootstrap": False, "max_time": None}
        known = model.get_params(deep=False)
        model.set_params(**{name: value for name, value in plain.items() if name in known})
        sent = dask.delayed((model, self.model._schema, self.witnesses), traverse=False)
        grow = dask.delayed(_grow_block)
        blocks = []
        for first in range(0, len(seeds), size):
            own = seeds[first : first + size]
            drawn = [self._draw(seed) for seed in own]
            numbers = np.unique(np.concatenate(drawn))
            places = [np.searchsorted(numbers, rows) for rows in drawn]
            blocks.append(grow(sent, self.partitions.pieces(numbers), places, own))
        found = compute_all(
            blocks,
            f"block of {size} trees",
            lambda done: on_done(min(done * size, len(seeds))),
        )
        return [tree for block in found for tree in block]

    def _draw(self, seed: int) -> Numbers:
        """Draw a tree's rows by their numbers, without replacement."""
        generator = np.random.Generator(np.random.PCG64(seed))
        n_rows = len(self.partitions)
        drawn = generator.choice(n_rows, self.n_draws, replace=False, shuffle=False)
        return np.sort(drawn)


def _grow_block(
    sent: tuple[Any, ...], pieces: list[Columns], places: list[Numbers], seeds: list[int]
) -> list[Forest]:
    """Grow some trees on a worker, each as a forest of one tree on its own rows."""
    template, schema, witnesses = sent
    joined = join_rows(pieces)
    trees = []
    for own, seed in zip(places, seeds, strict=True):
        rows = join_rows([joined.take(own), witnesses])
        weights = _weights(rows)
        weights[len(own) :] = 0.0
        model = clone(template).set_params(random_state=seed % 2**32)
        matrix = encode(schema, rows.X, np.float32)
        model.fit(EncodedTable(matrix, schema), rows.y, sample_weight=weights)
        trees.append(model.forest_)
    return trees


# Searches ---------------------------------------------------------------------------------------


def _fit_search(
    model: Any, partitions: Partitions, counts: LevelCounts, seed: int, max_rows: int
) -> TrainingRows | None:
    """Search on a sample, and score the choice on parts of the collection it has not seen.

    Until that is done, statistics of groups and their targets are those of the other rows.
    """
    seen, held_out = search_sides(model, partitions, seed)
    numbers, by = draw_rows(partitions, seed, max_rows, seen)
    others, _ = draw_rows(partitions, seed, max_rows, held_out)
    rows, unseen = partitions.rows(numbers), partitions.rows(others)
    with _told(model, counts):
        model.fit(rows.X, rows.y, **rows.arguments())
        training = pool_groups(model, partitions, rows, seed, seen)
        settled = learn_statistics(model, partitions, counts, training)
        if training is not None:
            training.refit(rows, numbers)
        kept = getattr(model, "_training", None) is not None
        given = () if kept else (rows.X, rows.y, rows.sample_weight)
        plain = model.limit(0, *given) if hasattr(model, "model_") else None
    proof = None
    if plain is not None:
        proof = {
            "n_rows": float(len(others)),
            "score": model.score(unseen.X, unseen.y),
            "baseline": plain.score(unseen.X, unseen.y),
        }
    if training is not None:
        training = pool_groups(model, partitions, rows, seed, None)
        assert training is not None
        training.refit(rows, numbers)
    later = seen.latest is not None
    whole = _whole(counts, settled, training)
    model.drawn_ = Drawn(len(partitions), len(numbers), by, proof, held_out_is_later=later, **whole)
    return training
