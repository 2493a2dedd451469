"""Descriptions of columns: quantiles, distribution beside the target, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.utils import check_random_state

MAX_CLASSES = 8
"""Classes counted one by one; the rarer ones are counted together."""

OTHER = "other"
"""Name of the rarer classes taken together."""

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles that are stored."""

N_BINS = 20
N_TARGET_BINS = 10
N_OVERLAPS = 3
MAX_NUMBER = 1e300
MAX_CELLS = 4_000_000
"""Largest number of ranks in memory; more columns are compared on fewer rows."""


def profile_columns(
    values: ArrayLike,
    names: Sequence[str],
    y: ArrayLike,
    task: str,
    *,
    class_labels: Sequence[object] | None = None,
    undefined: ArrayLike | None = None,
    max_rows: int = 10_000,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Describe columns and their relation to the target, as plain values for JSON.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_columns)
        The columns; what is not finite is left out.
    names : sequence of str
        One name per column.
    y : array-like of shape (n_rows,) or (n_rows, n_labels)
        The target: class codes or labels, numbers, or 0 and 1 for each of several labels.
    task : {"classification", "regression", "multilabel"}
        What `y` is.
    class_labels : sequence or None
        What the class codes 0, 1, ... (or the columns of a multi-label target) stand for. Without
        it, `y` itself holds the labels.
    undefined : array-like of shape (n_columns,) or None
        Share of rows in which each column is undefined, and was filled; none by default.
    max_rows : int, default=10_000
        A larger table is described by that many of its rows.
    random_state : int, RandomState or None
        Which rows.

    Returns
    -------
    dict
        ``rows``, ``task``, ``classes`` (names of what is counted; empty for regression) and
        ``columns``, a dict for each column: ``name``, ``quantiles`` (at `QUANTILES`),
        ``distinct``, ``discrete`` (each bin is one value), ``edges`` of the bins, ``counts`` (for
        each of the classes, for each bin; one row of counts for regression), ``means`` (of the
        target for each bin; None for classes and in empty bins), ``undefined`` (share of rows)
        and ``overlap`` (the three columns most alike by absolute rank correlation: ``name`` and
        ``rho``).

    Examples
    --------
    >>> profile = profile_columns([[0.0], [1.0], [1.0]], ["a"], ["no", "yes", "yes"],
    ...                           "classification")
    >>> profile["classes"], profile["columns"][0]["counts"]
    (['no', 'yes'], [[1, 0], [0, 2]])
    """
    given, target = np.asarray(values), np.asarray(y)
    if len(given) > max_rows:
        kept = check_random_state(random_state).permutation(len(given))[:max_rows]
        given, target = given[np.sort(kept)], target[np.sort(kept)]
    matrix = np.asarray(given, dtype=np.float64)
    # Differences of larger numbers would overflow.
    matrix = np.where(np.isinf(matrix), np.nan, np.clip(matrix, -MAX_NUMBER, MAX_NUMBER))
    if task == "regression":
        target = target.astype(np.float64).reshape(len(matrix), -1)[:, 0]
        members = np.ones((len(matrix), 1), dtype=bool)
        classes: list[str] = []
    elif task == "multilabel":
        members, classes = _several_labels(target, class_labels)
    else:
        members, classes = _one_class_each(target, class_labels)
    overlaps = _overlaps(matrix, names)
    shares = np.zeros(len(names)) if undefined is None else np.asarray(undefined)
    return {
        "rows": len(matrix),
        "task": task,
        "classes": classes,
        "columns": [
            {
                "name": str(name),
                **_column(column, members, target if task == "regression" else None),
                "undefined": float(share),
                "overlap": overlap,
            }
            for name, column, share, overlap in zip(names, matrix.T, shares, overlaps, strict=True)
        ],
    }


def _one_class_each(
    target: NDArray[Any], class_labels: Sequence[object] | None
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows are of each class, and their names; rarer ones of many are put together."""
    present, codes = np.unique(target, return_inverse=True)
    labels = [str(label if class_labels is None else class_labels[int(label)]) for label in present]
    counts = np.bincount(codes)
    if len(present) <= MAX_CLASSES:
        shown, others = np.arange(len(present)), np.empty(0, dtype=np.int64)
    else:
        order = np.argsort(-counts, kind="stable")
        shown, others = np.sort(order[: MAX_CLASSES - 1]), order[MAX_CLASSES - 1 :]
    members = codes[:, np.newaxis] == shown
    names = [labels[code] for code in shown]
    if others.size:
        members = np.column_stack([members, np.isin(codes, others)])
        names.append(OTHER)
    return members, names


def _several_labels(
    target: NDArray[Any], class_labels: Sequence[object] | None
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows have each of the most common labels, and their names."""
    members = np.asarray(target, dtype=np.float64) > 0
    labels = range(members.shape[1]) if class_labels is None else class_labels
    order = np.sort(np.argsort(-members.sum(axis=0), kind="stable")[:MAX_CLASSES])
    return members[:, order], [str(labels[column]) for column in order]


def _column(
    column: NDArray[np.float64], members: NDArray[np.bool_], target: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Describe one column."""
    there = np.isfinite(column)
    column, members = column[there], members[there]
    if not column.size:
        return {
            "quantiles": [],
            "distinct": 0,
            "discrete": True,
            "edges": [],
            "counts": [[] for _ in members.T],
            "means": None if target is None else [],
        }
    distinct = np.unique(column)
    discrete = len(distinct) <= N_TARGET_BINS
    edges = _edges(column, distinct, discrete, by_rank=target is not None)
    n_bins = len(edges) - 1
    # What lies beyond the outer edges belongs to the first and the last bin.
    bins = np.searchsorted(edges[1:-1], column, side="right")
    counts = [np.bincount(bins[member], minlength=n_bins).tolist() for member in members.T]
    means = None
    if target is not None:
        sums = np.bincount(bins, weights=target[there], minlength=n_bins)
        means = [
            float(total / count) if count else None
            for total, count in zip(sums, counts[0], strict=True)
        ]
    return {
        "quantiles": np.quantile(column, QUANTILES).tolist(),
        "distinct": len(distinct),
        "discrete": bool(discrete),
        "edges": edges.tolist(),
        "counts": counts,
        "means": means,
    }


def _edges(
    column: NDArray[np.float64], distinct: NDArray[np.float64], discrete: bool, by_rank: bool
) -> NDArray[np.float64]:
    """Return the edges of bins: one for each of a few values, of equal counts, or equal widths."""
    if discrete:
        middles = distinct[:-1] / 2 + distinct[1:] / 2
        return np.concatenate([distinct[:1], middles, distinct[-1:]])
    if by_rank:
        return np.unique(np.quantile(column, np.linspace(0, 1, N_TARGET_BINS + 1)))
    # A few far values would leave all others in one bin: they join the outer bins.
    low, high = np.quantile(column, [0.01, 0.99])
    if not low < high:
        low, high = distinct[0], distinct[-1]
    return np.linspace(low, high, N_BINS + 1)


def _overlaps(matrix: NDArray[np.float64], names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return for each column the others with the largest absolute rank correlation."""
    n_columns = matrix.shape[1]
    if n_columns == 0 or len(matrix) < 2:
        return [[] for _ in range(n_columns)]
    step = max(1, -(-len(matrix) * n_columns // MAX_CELLS))
    ranks = rankdata(np.nan_to_num(matrix[::step]), axis=0)
    ranks -= ranks.mean(axis=0)
    lengths = np.sqrt(np.sum(ranks**2, axis=0))
    ranks /= np.where(lengths > 0, lengths, 1.0)
    found = []
    for column in range(n_columns):
        rho = ranks.T @ ranks[:, column]
        rho[column] = 0.0
        order = np.argsort(-np.abs(rho), kind="stable")[:N_OVERLAPS]
        found.append(
            [
                {"name": str(names[other]), "rho": float(np.clip(rho[other], -1.0, 1.0))}
                for other in order
                if rho[other] != 0.0
            ]
        )
    return found
