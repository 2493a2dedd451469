"""Features of grown trees: distinct expressions, their gains, and column importances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import UserFunctions
from featurewright.engine.descend import run_programs
from featurewright.engine.forest import Forest, over_rows
from featurewright.engine.programs import order_operands
from featurewright.expressions import (
    Expression,
    Feature,
    Operator,
    from_program,
    simplify,
    to_program,
)
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol
from featurewright.tables import Schema

_TIE = 1e-6  # of all gains: what differs by less is a tie
MAX_FEATURES = 200  # expressions listed, best first: a forest may hold hundreds of thousands


@dataclass(frozen=True)
class Ranking:
    """Distinct programs of some trees, sorted by decreasing total gain."""

    programs: npt.NDArray[np.int32]
    gains: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


def rank_programs(forest: Forest, users: UserFunctions) -> Ranking:
    """Collect the distinct programs of inner nodes; gains are shares of the total gain."""
    inner = forest.left >= 0
    programs = forest.programs[inner].copy()
    gains = forest.gain[inner].astype(np.float64)
    if not len(programs):
        return Ranking(programs, gains, np.zeros(0, np.int64))
    width = programs.shape[1]
    order_operands(programs, users.arities, np.empty(width, np.int64), np.empty(width, np.int32))
    keys: npt.NDArray[Any] = programs[:, 0]
    if width > 1 and (programs[:, 1] != END).any():
        # Each row as one opaque value, because sorting rows is much slower.
        keys = np.ascontiguousarray(programs).view(np.dtype((np.void, 4 * width))).ravel()
    _, first, place, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    totals = np.bincount(place, gains, minlength=len(first)).astype(np.float64)
    whole = totals.sum()
    shares = totals / whole if whole > 0 else totals
    order = np.argsort(-shares, kind="stable")
    # float32 sums taken in another order must not swap ties: those stay in the order of np.unique,
    # which depends on the programs alone, and have one gain, their mean.
    tied = np.cumsum(np.append(True, -np.diff(shares[order]) > _TIE)) - 1
    gains = (np.bincount(tied, shares[order]) / np.bincount(tied))[tied]
    order = order[np.lexsort((order, tied))]
    return Ranking(programs[first[order]], gains, counts[order])


def spell_level_tests(forest: Forest) -> Forest:
    """Replace level tests of a category column by the equivalent expressions."""
    tests = (forest.left >= 0) & (forest.is_level == 1) & (forest.programs[:, 1] == END)
    programs = forest.programs.copy()
    levels = forest.threshold[tests].astype(np.int64)
    programs[tests, 1] = operator_symbol(IS, levels)
    return replace(forest, programs=programs)


def list_features(
    ranking: Ranking,
    schema: Schema,
    operators: Sequence[Operator],
    limit: int = MAX_FEATURES,
    *,
    columns: bool = False,
) -> tuple[Feature, ...]:
    """Return the constructed expressions of a ranking as features, equal ones merged.

    With `columns`, raw columns that were chosen are listed too.
    """
    width = ranking.programs.shape[1]
    if width == 1:
        return ()
    listed = np.ones(len(ranking.gains), bool) if columns else ranking.programs[:, 1] != END
    constructed = np.flatnonzero(listed)[:limit]
    merged: dict[Expression, list[float]] = {}
    for k in constructed:
        expression = simplify(
            from_program(
                ranking.programs[k], schema.names, schema.domains, schema.levels, operators
            )
        )
        if expression.size == 1 and not columns:
            continue
        entry = merged.setdefault(expression, [0.0, 0])
        entry[0] += float(ranking.gains[k])
        entry[1] += int(ranking.counts[k])
    ranked = sorted(merged.items(), key=lambda item: -item[1][0])
    return tuple(Feature.of(expression, gain, int(count)) for expression, (gain, count) in ranked)


def column_importances(forest: Forest, n_columns: int) -> npt.NDArray[np.float64]:
    """Return column importances: the gain of a split is divided equally among its columns."""
    inner = forest.left >= 0
    programs, gains = forest.programs[inner], forest.gain[inner].astype(np.float64)
    named = (programs >= 0) & (programs != END)
    each = gains / np.maximum(1, named.sum(axis=1))
    weights = np.broadcast_to(each[:, None], programs.shape)[named]
    totals = np.bincount(programs[named], weights, minlength=n_columns).astype(np.float64)
    whole = totals.sum()
    return totals / whole if whole > 0 else totals


def column_interactions(forest: Forest) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the pairs of columns that splits join, by decreasing share of all splits' gain.

    The gain of a split whose expression names several columns is divided equally among their pairs.
    """
    inner = forest.left >= 0
    programs, gains = forest.programs[inner], forest.gain[inner].astype(np.float64)
    whole = gains.sum()
    columns = np.sort(np.where((programs >= 0) & (programs != END), programs, END), axis=1)
    columns[:, 1:][columns[:, 1:] == columns[:, :-1]] = END  # a column that comes twice
    columns.sort(axis=1)
    n_columns = (columns != END).sum(axis=1)
    pairs, shares = [], []
    for n in range(2, columns.shape[1] + 1):
        joined = columns[n_columns == n]
        first, second = np.triu_indices(n, 1)
        pairs.append(np.stack([joined[:, first].ravel(), joined[:, second].ravel()], axis=1))
        shares.append(np.repeat(gains[n_columns == n] / len(first), len(first)))
    if not pairs or whole <= 0:
        return np.empty((0, 2), np.int64), np.empty(0)
    found, place = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    totals = np.bincount(place.ravel(), np.concatenate(shares), minlength=len(found)) / whole
    order = np.argsort(-totals, kind="stable")
    return found[order].astype(np.int64), totals[order]


def evaluate_expressions(
    expressions: Sequence[Expression],
    matrix: npt.NDArray[np.float64],
    operators: Sequence[Operator],
    users: UserFunctions,
    n_jobs: int | None = 1,
) -> npt.NDArray[np.float64]:
    """Evaluate expressions on an encoded float64 matrix; undefined values are NaN."""
    out = np.empty((len(matrix), len(expressions)))
    if not expressions:
        return out
    programs = _programs_of(tuple(expressions), tuple(operators))
    width = programs.shape[1]

    def run(begin: int, end: int) -> None:
        run_programs(matrix[begin:end], programs, users, np.empty(width + 1), out[begin:end])

    over_rows(run, len(matrix), n_jobs)
    return out


@lru_cache(maxsize=128)  # a model transforms repeatedly, often one row at a time
def _programs_of(
    expressions: tuple[Expression, ...], operators: tuple[Operator, ...]
) -> npt.NDArray[np.int32]:
    """Return the programs of expressions, padded to one width."""
    width = max(expression.size for expression in expressions)
    return np.stack([to_program(e, operators, width) for e in expressions])
