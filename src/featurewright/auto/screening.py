"""Very wide tables: the columns that say most about the target by themselves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from featurewright.auto.reading import TableReader, keep_plain
from featurewright.estimators.selection import normalized
from featurewright.expressions import Domain
from featurewright.tables import EncodedTable

_logger = logging.getLogger("featurewright")

Rows = NDArray[np.intp]
FoldRows = tuple[Rows, Rows]

MAX_COLUMNS = 500
"""Columns that a search takes; of more, those that say most by themselves."""

_MAX_ROWS = 1_000  # rows on which columns are compared
_ROW_SHARE = 3  # one in this many rows, where there are few
_MIN_ROWS = 30  # rows that no fold tests on, from which these alone are taken
_CELLS_AT_ONCE = 2_000_000


def screening_rows(folds: Sequence[FoldRows], n_rows: int, groups: Any, seed: int) -> Rows:
    """Return the rows on which columns are compared: no fold may test on them afterwards.

    Rows that no fold tests on come first, such as the first ones of folds in time. Else rows are
    drawn, whole groups of them where there are groups.
    """
    random = np.random.default_rng(seed)
    is_tested = np.zeros(n_rows, dtype=bool)
    for _, test in folds:
        is_tested[test] = True
    free = np.flatnonzero(~is_tested)
    if len(free) >= _MIN_ROWS:
        return np.sort(random.permutation(free)[:_MAX_ROWS])
    wanted = max(1, min(_MAX_ROWS, n_rows // _ROW_SHARE))
    if groups is None:
        return np.sort(random.permutation(n_rows)[:wanted])
    labels, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = random.permutation(len(labels))
    n_groups = max(1, int(np.searchsorted(np.cumsum(counts[order]), wanted, side="right")))
    return np.flatnonzero(np.isin(codes, order[:n_groups]))


def without_rows(folds: Sequence[FoldRows], rows: Rows) -> list[FoldRows]:
    """Return folds that do not test on some rows; without those that would test on none."""
    kept = [(train, np.setdiff1d(test, rows)) for train, test in folds]
    return [(train, test) for train, test in kept if len(test)]


def screen(
    reader: TableReader, table: EncodedTable, target: NDArray[np.float64], rows: Rows
) -> tuple[TableReader, EncodedTable, dict[str, str]]:
    """Return a reader and a table with the best columns, and why the others are left out."""
    n_plain = len(reader.places)
    sample = EncodedTable(table.matrix[rows], table.schema)
    kept = best_columns(sample, target[rows], n_plain, MAX_COLUMNS)
    reason = f"says less about the target by itself than the {len(kept)} columns that are used"
    others = np.delete(np.array(reader.plain.names, dtype=object), kept)
    _logger.warning(
        "The table has %d columns: the %d that say most about the target by themselves are used, "
        "found on %d rows that no score is measured on.",
        n_plain,
        len(kept),
        len(rows),
    )
    return *keep_plain(reader, table, kept), dict.fromkeys(others.tolist(), reason)


def best_columns(
    table: EncodedTable, target: NDArray[np.float64], n_columns: int, n_best: int
) -> NDArray[np.intp]:
    """Return the columns that say most about a target by themselves, in increasing order.

    Of numbers, the larger of two squared rank correlations counts: that of the values, and that of
    their distance from the middle. Of categories, the share of the target that the level explains,
    adjusted for the number of levels.

    Parameters
    ----------
    table : EncodedTable
        Some rows.
    target : ndarray of shape (n_rows, n_outputs)
        Their target as numbers.
    n_columns : int
        The columns before this one are compared.
    n_best : int
        How many to return.

    Examples
    --------
    >>> from featurewright.tables import learn_schema
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> table = EncodedTable(X, learn_schema(X))
    >>> best_columns(table, X[:, [2]] + X[:, [3]] ** 2, 4, 2)
    array([2, 3])
    """
    ranked = normalized(rankdata(target, axis=0))
    shares = np.zeros(n_columns)
    is_label = table.schema.domains[:n_columns] == Domain.CATEGORY
    for at in np.flatnonzero(is_label):
        shares[at] = _explained(table.matrix[:, at], ranked)
    numbers = np.flatnonzero(~is_label)
    step = max(1, _CELLS_AT_ONCE // max(1, len(ranked)))
    for start in range(0, len(numbers), step):
        places = numbers[start : start + step]
        values = table.matrix[:, places]
        ranks = rankdata(np.nan_to_num(values, nan=0.0), axis=0)
        # Missing rows are in the middle: they neither add nor take away.
        ranks[np.isnan(values)] = (len(values) + 1) / 2.0
        shares[places] = np.maximum(
            _correlations(ranks, ranked), _correlations(np.abs(ranks - ranks.mean(axis=0)), ranked)
        )
    # Of equal ones, those that come first.
    return np.sort(np.argsort(-shares, kind="stable")[:n_best])


def _correlations(columns: NDArray[np.float64], target: NDArray[np.float64]) -> Any:
    """Return the largest squared correlation of each column with a column of the target."""
    return np.max((normalized(columns).T @ target) ** 2, axis=1)


def _explained(codes: NDArray[np.floating[Any]], target: NDArray[np.float64]) -> float:
    """Return the share of a standardised target that the levels explain, adjusted for chance."""
    known = np.where(np.isnan(codes), -1.0, codes)
    _, places, counts = np.unique(known, return_inverse=True, return_counts=True)
    n_rows, n_levels = len(known), len(counts)
    if n_levels < 2 or n_levels >= n_rows:
        return 0.0
    sums = np.stack([np.bincount(places, weights=own) for own in target.T])
    share = float(np.max(np.sum(sums**2 / counts, axis=1)))
    return 1.0 - (1.0 - share) * (n_rows - 1) / (n_rows - n_levels)
