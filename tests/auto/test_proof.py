"""A choice found on some rows is tried with all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from featurewright.auto.board import ORIGINAL, Board
from featurewright.auto.proof import _finalists, check_on_all_rows
from featurewright.auto.workspace import RESIDUAL, Config, Piece
from featurewright.auto.yardstick import Measured

CHOICE = Config((Piece("batch", RESIDUAL, 5),))


def alike(score: float) -> Measured:
    """Make a score that choices are compared by too."""
    return Measured(score, score)


def searched(score: float, *, left: float = 10.0, most_rows: int = 50) -> SimpleNamespace:
    """Make a search that has chosen; with all rows the choice scores so much, the columns 0.5."""
    board = Board(["batch"], 0.25)
    for fold, gain in enumerate((0.10, 0.12, 0.11)):
        board.note("original", ORIGINAL, fold, alike(0.5))
        board.note("batch", CHOICE, fold, alike(0.5 + gain))
    space = SimpleNamespace(construct=lambda *_: [])
    fold = SimpleNamespace(space=space, score=lambda *_: alike(score))
    return SimpleNamespace(
        board=board,
        rows=[(range(100), range(25))] * 3,
        most_rows=most_rows,
        n_folds=3,
        costs=SimpleNamespace(reserve=1.0),
        clock=SimpleNamespace(left=left),
        make_fold=lambda number, most: (fold, alike(0.5)),
        estimator=None,
        yardstick=None,
    )


def test_what_does_not_help_with_all_rows_is_dropped():
    search = searched(0.45)
    assert search.board.decide()[0] == CHOICE
    check_on_all_rows(search)
    config, gains = search.board.decide()
    assert config == ORIGINAL
    assert gains.tolist() == [0.0, 0.0, 0.0]
    assert search.board.results()[1]["reason"] == "no better with all rows"


@pytest.mark.parametrize(
    "search",
    [searched(0.6), searched(0.45, left=1.5), searched(0.45, most_rows=100)],
    ids=["it helps", "no time", "had all rows"],
)
def test_else_it_is_kept(search):
    check_on_all_rows(search)
    assert search.board.decide()[0] == CHOICE


def test_finalists_are_steady_and_of_several_methods():
    """One method with this and that does not fill all places; a lucky fold does not help."""
    board = Board(["batch", "votes", "paths"], 0.25)

    def piece(method, size=5):
        return Piece(method, RESIDUAL, size)

    gains = {
        Config((piece("batch"),)): (0.10, 0.11, 0.10),
        Config((piece("batch", 10),)): (0.09, 0.09, 0.09),
        Config((piece("batch"), piece("fctree"))): (0.12, 0.11, 0.12),
        Config((piece("votes"),)): (0.02, 0.03, 0.02),
        Config((piece("paths"),)): (0.00, 0.00, 0.40),  # the best by its mean
        Config((piece("forest"),)): (-0.01, -0.01, -0.01),
    }
    for fold in range(3):
        board.note("original", ORIGINAL, fold, alike(0.5))
        for config, found in gains.items():
            board.note(config.label, config, fold, alike(0.5 + found[fold]))
    found = _finalists(SimpleNamespace(board=board))
    labels = [config.label for config in found]
    assert labels == ["batch + fctree", "batch", "batch", "votes", "paths"]


def test_choices_are_compared_by_evidence_and_reported_by_score():
    board = Board(["batch", "votes"], 0.25)
    lucky, sound = Config((Piece("batch", RESIDUAL, 5),)), Config((Piece("votes", RESIDUAL, 1),))
    for fold in range(5):
        board.note("original", ORIGINAL, fold, Measured(0.5, 0.4))
        board.note("batch", lucky, fold, Measured(0.6 + 0.01 * fold, 0.4))
        board.note("votes", sound, fold, Measured(0.55 + 0.01 * fold, 0.5 + 0.01 * fold))
    assert board.best(board.finished()) == sound
    kept, gains = board.decide()
    assert kept == sound
    assert gains == pytest.approx([0.05, 0.06, 0.07, 0.08, 0.09])
    result = board.results()[2]
    assert result["mean"] == pytest.approx(0.57)
    assert result["gain"] == pytest.approx(0.07)
    assert board.event("votes", "fold 5", 1.0)["best_score"] == pytest.approx(0.57)
    assert board.proofs(sound) == pytest.approx([0.55, 0.56, 0.57, 0.58, 0.59])
