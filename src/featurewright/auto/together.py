"""What adds up: formulas of several methods in one order, and columns of several methods."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from featurewright.auto.board import Record
from featurewright.auto.pace import FAILURES, SAFETY
from featurewright.auto.workspace import JOINT, MAX_CELLS, Config, Piece, adds, readable

if TYPE_CHECKING:
    from featurewright.auto.search import Search

_MAX_TOGETHER = 3
NOT_FAR = 0.7  # share of the best mean gain from which formulas are put in one order


def combine(search: Search) -> None:
    """Join the formulas of several methods, and columns of several methods, greedily."""
    board = search.board
    if board.n_complete < 2:
        return
    able = [m for m in board.records if m != "original" and board.complete(m)]
    formulas = readable(able)
    leader = board.best(board.finished())
    best_formulas = max((board.best_gain(method) for method in formulas), default=0.0)
    worth = leader and best_formulas >= NOT_FAR * float(board.gains(leader).mean())
    if len(formulas) > 1 and worth:
        for size in search.sizes(formulas[0]):
            _try_together(search, Config(tuple(Piece(m, JOINT, size) for m in formulas)))
    best = board.best(board.finished())
    while best is not None and best.n_together < _MAX_TOGETHER:
        others = [
            found
            for method in able
            if adds(method, best) and (found := board.best(board.complete(method)))
        ]
        trials = []
        for other in sorted(others, key=lambda config: -board.gains(config).mean()):
            trial = Config((*best.pieces, *other.pieces))
            fits = trial.n_columns * len(search.problem.y) <= MAX_CELLS
            if fits and _try_together(search, trial, better_than=best):
                trials.append(trial)
        better = board.best([*trials, best])
        if better is None or better == best:
            break
        best = better


def _try_together(search: Search, config: Config, better_than: Config | None = None) -> bool:
    """Score a combination on all folds; give up early where it loses."""
    board, n_folds = search.board, search.board.n_complete
    need = n_folds * search.costs.fit_of(config, search.folds[0])
    if search.clock.left - search.costs.reserve - search.proof() < SAFETY * need:
        return False
    started = time.monotonic()
    record = board.records.setdefault(config.label, Record())
    done = 0
    try:
        for number in range(n_folds):
            score = search.folds[number].score(config, search.estimator, search.yardstick)
            board.note(config.label, config, number, score)
            search.costs.note_fit(config, search.folds[number])
            done += 1
            rival = None if better_than is None else board.gains(better_than)
            if rival is not None and number == 1 and np.all(board.gains(config) <= rival[:2]):
                break
            if search.clock.left < search.costs.reserve:
                break
    except FAILURES as error:
        record.status, record.reason = "failed", f"{type(error).__name__}: {error}"
    record.seconds += time.monotonic() - started
    if done == n_folds:
        record.status, record.reason = "done", ""
    elif record.status == "done" and not board.complete(config.label):
        record.status, record.reason = "stopped", "no better than without, or out of time"
    search.tell(config.label, "combination")
    return done == n_folds
