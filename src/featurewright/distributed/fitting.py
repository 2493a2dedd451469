"""Fit estimators on Dask collections that no worker can hold whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from featurewright.auto import AutoFeatures
from featurewright.distributed.drawn import MAX_ROWS, Drawn, Numbers, row_chances
from featurewright.distributed.rows import (
    Columns,
    Partitions,
    group_chances,
    join_rows,
)
from featurewright.distributed.units import compute_all
from featurewright.engine.forest import Forest
from featurewright.estimators.ensembles import GrownEnsemble
from featurewright.estimators.parameters import rows_or_share, whole_number
from featurewright.tables import EncodedTable, encode, holds_numbers

_NOTE_ROWS = 10_000  # from which a forest's constants for undefined values are learned
_LEAST_OF_CLASS = 10  # rows drawn of a class that has as many
_MAX_CLASSES = 100  # that are drawn by their shares
_SPARE = 1.5  # rows looked at for each one that is drawn, so that there are enough
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
    whole_number("max_rows", max_rows, 1)
    partitions = Partitions(X, y=y, sample_weight=sample_weight, groups=groups)
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
    if _grows_a_forest(model):
        return _fit_forest(model, partitions, seed, max_rows)
    if isinstance(model, AutoFeatures):
        return _fit_search(model, partitions, seed, max_rows)
    numbers, by = draw_rows(partitions, seed, max_rows)
    rows = partitions.rows(numbers)
    model.fit(rows.X, rows.y, **rows.arguments())
    model.drawn_ = Drawn(len(partitions), len(numbers), by)
    return model


def _grows_a_forest(model: Any) -> bool:
    """Whether the trees of an estimator are independent of each other, and many."""
    return isinstance(model, GrownEnsemble) and "n_estimators" in model.get_params()


# Samples ----------------------------------------------------------------------------------------


def draw_rows(
    partitions: Partitions, seed: int, max_rows: int, held_out: bool | None = None
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
    held_out : bool, optional
        Whether to draw from the rows that are held out of a search, or from the others; from all
        if not given.
    """
    n_rows = len(partitions) if held_out is None else _n_side(partitions, held_out)
    share = min(1.0, max_rows / max(1, n_rows))
    if partitions.has_groups:
        found = partitions.map(_drawn_groups, seed, share, held_out)
        return np.concatenate(found), "groups"
    counts = _add_counts(partitions.map(_count_classes, len(partitions), held_out))
    quotas = {
        label: min(n, max(round(share * n), _LEAST_OF_CLASS if len(counts) > 1 else 1))
        for label, n in counts.items()
    }
    limits = {label: min(1.0, _SPARE * quotas[label] / n + 50.0 / n) for label, n in counts.items()}
    found = partitions.map(_candidates, seed, limits, (len(partitions), held_out))
    numbers = np.concatenate([own[0] for own in found])
    labels = np.concatenate([own[1] for own in found])
    order = np.argsort(row_chances(numbers, seed), kind="stable")
    numbers, labels = numbers[order], labels[order]
    kept = [numbers[labels == label][:quota] for label, quota in quotas.items()]
    return np.sort(np.concatenate(kept)), "classes" if len(counts) > 1 else "rows"


def _n_side(partitions: Partitions, held_out: bool) -> int:
    """Return about how many rows are held out of a search, or not."""
    share = _HELD_OUT_RANGES / _N_RANGES
    return max(1, round(len(partitions) * (share if held_out else 1.0 - share)))


def _is_held_out(numbers: Numbers, n_rows: int) -> npt.NDArray[np.bool_]:
    """Whether rows lie in one of the ranges of the collection that are held out."""
    ranges = numbers * _N_RANGES // n_rows
    return ranges % (_N_RANGES // _HELD_OUT_RANGES) == _N_RANGES // _HELD_OUT_RANGES - 1


def _numbers(
    columns: Columns, first: int, n_rows: int, held_out: bool | None
) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """Return the numbers of a partition's rows that may be drawn, and their places."""
    numbers = np.arange(first, first + len(columns.X))
    places = np.arange(len(numbers))
    if held_out is not None:
        places = np.flatnonzero(_is_held_out(numbers, n_rows) == held_out)
    return numbers[places], places


def _labels(columns: Columns, places: npt.NDArray[np.intp]) -> npt.NDArray[np.str_]:
    """Return the class of rows as text; one and the same for numbers, and without a target."""
    y = columns.take(places).y
    if not len(places):
        return np.empty(0, str)
    if y is None or getattr(y, "ndim", 1) > 1 or holds_numbers(y):
        return np.full(len(places), "")
    return np.asarray(pd.Series(np.asarray(y)).astype(str), dtype=str)


def _count_classes(
    columns: Columns, first: int, n_rows: int, held_out: bool | None
) -> dict[str, int]:
    """Return the number of rows of each class in a partition."""
    labels = _labels(columns, _numbers(columns, first, n_rows, held_out)[1])
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
    columns: Columns, first: int, seed: int, limits: dict[str, float], side: tuple[int, bool | None]
) -> tuple[Numbers, npt.NDArray[np.str_]]:
    """Return the numbers and classes of the rows of a partition that are likely to be drawn."""
    numbers, places = _numbers(columns, first, *side)
    labels = np.full(len(places), "") if "" in limits else _labels(columns, places)
    limit = np.array([limits[label] for label in labels.tolist()])
    near = row_chances(numbers, seed) < limit
    return numbers[near], labels[near]


def _drawn_groups(
    columns: Columns, first: int, seed: int, share: float, held_out: bool | None
) -> Numbers:
    """Return the numbers of a partition's rows whose group is drawn."""
    drawn = group_chances(columns.groups, seed) < share
    if held_out is not None:
        side = group_chances(columns.groups, seed + 1) < _HELD_OUT_RANGES / _N_RANGES
        drawn &= side == held_out
    return first + np.flatnonzero(drawn)


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
    model.drawn_ = Drawn(n_rows, n_draws, "trees")
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


def _fit_search(model: Any, partitions: Partitions, seed: int, max_rows: int) -> Any:
    """Search on a sample, and score the choice on parts of the collection it has not seen."""
    numbers, by = draw_rows(partitions, seed, max_rows, held_out=False)
    others, _ = draw_rows(partitions, seed, max_rows, held_out=True)
    rows, unseen = partitions.rows(numbers), partitions.rows(others)
    model.fit(rows.X, rows.y, **rows.arguments())
    proof = None
    if hasattr(model, "model_"):
        plain = model.limit(0, rows.X, rows.y, sample_weight=rows.sample_weight)
        proof = {
            "n_rows": float(len(others)),
            "score": model.score(unseen.X, unseen.y),
            "baseline": plain.score(unseen.X, unseen.y),
        }
    model.drawn_ = Drawn(len(partitions), len(numbers), by, proof)
    return model
