"""Proof of a choice: on further folds of a small table, with all rows of a large one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from featurewright.auto.board import ORIGINAL
from featurewright.auto.pace import FAILURES, SAFETY
from featurewright.auto.sources import SOURCES
from featurewright.auto.workspace import Config

if TYPE_CHECKING:
    from featurewright.auto.search import Search

_FINALISTS = 3  # choices that are tried on further folds
_MORE_FINALISTS = 6  # with the best ones of other methods alone, where there is time
_PARTS = 4  # of the held-out rows, where there was time for one fold only
_PART_ROWS = 50
_LATE = 0.1  # of the budget, by which a search may be late besides the time of one fold
_FULL_FOLDS = 2  # folds, the largest, of all rows on which a choice found on some of them is tried


def confirm(search: Search) -> None:
    """Try the best few choices on further folds.

    The best of many choices on few rows owes much to luck, which other folds do not share.
    """
    board, n_first = search.board, search.n_folds
    if not search.further or board.n_complete < max(2, n_first):
        return
    finalists = _finalists(search)
    if not finalists:
        return
    # Rather fewer choices than fewer folds than there were.
    while (n_more := _affordable(search, finalists)) < n_first and len(finalists) > 1:
        finalists.pop()
    methods = _methods_of(finalists)
    for rows in search.further[: n_more if n_more > 1 else 0]:
        number = len(search.rows)
        search.rows.append(rows)
        started = time.monotonic()
        try:
            fold, base = search.make_fold(number, search.most_rows)
            for method in methods:
                fold.space.construct(SOURCES[method], search.sizes(method), search.clock.left)
            scores = [fold.score(c, search.estimator, search.yardstick) for c in finalists]
        except FAILURES:
            break
        if not np.isfinite(base).all():
            search.rows.pop()
            continue
        search.keep_fold(number, fold, base)
        for config, score in zip(finalists, scores, strict=True):
            board.note(config.label, config, number, score)
        board.records[finalists[0].label].seconds += time.monotonic() - started
        search.tell(finalists[0].label, f"further fold {number + 1 - n_first}")
        if search.clock.left < search.costs.reserve:
            break
    if board.n_complete >= n_first + 2:
        board.n_first = n_first


def compare_parts(search: Search) -> None:
    """Where there was time for one fold only, compare the best choice by parts of its rows.

    A gain that is plain to see on every part should not be lost because there is one fold.
    """
    board = search.board
    best = board.best(board.finished())
    if board.n_complete != 1 or best is None or len(search.folds[0].test.y) < _PARTS * _PART_ROWS:
        return
    search.costs.foresee(best)
    if not _can_be_kept(search, best):
        return
    try:
        scores = [
            search.folds[0].score_parts(config, search.estimator, search.yardstick, _PARTS)
            for config in (best, ORIGINAL)
        ]
    except FAILURES:
        return
    board.of_parts = best, np.array([a.score - b.score for a, b in zip(*scores, strict=True)])


def _can_be_kept(search: Search, config: Config) -> bool:
    """Tell whether there is time to compare a choice by parts and to fit it on all rows."""
    costs, clock = search.costs, search.clock
    comparing = costs.fit_of(config, search.folds[0]) + costs.fit_of(ORIGINAL, search.folds[0])
    a_fold = costs.base + sum(costs.of(method, 1) for method in config.methods)
    return comparing + costs.reserve <= clock.left + a_fold + _LATE * clock.budget


def _finalists(search: Search) -> list[Config]:
    """Give the best few choices, then the best ones of other methods by themselves.

    The best few are often one method with this or that besides, and lucky or not together. A gain
    that varies much from fold to fold is luck more often than one that does not.
    """
    board = search.board

    def at_least(config: Config) -> float:
        gains = board.gains(config)
        return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains)))

    ranked = [c for c in board.finished() if board.gains(c).mean() > 0.0]
    ranked.sort(key=at_least, reverse=True)
    if ranked:
        # First fewer columns that are as good: where time is short, the first one alone is tried.
        most = board.gains(ranked[0]).mean()
        no_better = [c for c in ranked if board.gains(c).mean() <= most]
        ranked = list(dict.fromkeys([board.smallest(no_better), *ranked]))
    best = ranked[:_FINALISTS]
    alone: dict[str, Config] = {}
    for config in ranked[_FINALISTS:]:
        if len(config.pieces) == 1 and config.methods not in [c.methods for c in best]:
            alone.setdefault(config.label, config)
    return [*best, *alone.values()][:_MORE_FINALISTS]


def check_on_all_rows(search: Search) -> None:
    """See whether a choice that was found on some of the rows helps with all of them too.

    What helps a model that has few rows may hinder one that has many.
    """
    board = search.board
    config, _ = board.decide()
    if config == ORIGINAL or search.largest <= search.most_rows:
        return
    need = search.costs.reserve  # constructing and fitting once more on all rows
    gains: list[float] = []
    by_rows = sorted(range(search.n_folds), key=lambda number: -len(search.rows[number][0]))
    for number in by_rows[:_FULL_FOLDS]:
        if search.clock.left < 2.0 * need:
            break
        try:
            fold, base = search.make_fold(number, len(search.rows[number][0]))
            for method in config.methods:
                fold.space.construct(SOURCES[method], (), search.clock.left)
            found = fold.score(config, search.estimator, search.yardstick)
            gains.append(found.evidence - base.evidence)
        except FAILURES:
            break
    if gains and not np.mean(gains) > 0.0:
        board.disproved.add(config)
        record = board.records[config.label]
        record.status, record.reason = "stopped", "no better with all rows"


def _affordable(search: Search, configs: Sequence[Config]) -> int:
    """Give the number of further folds that there is time for."""
    need = search.costs.base + sum(search.costs.of(method, 0) for method in _methods_of(configs))
    need += sum(search.costs.fit_of(config, search.folds[0]) for config in configs)
    return int((search.clock.left - search.costs.reserve) / (SAFETY * need))


def _methods_of(configs: Sequence[Config]) -> list[str]:
    """Name the methods of some choices, each once."""
    return list(dict.fromkeys(method for config in configs for method in config.methods))
