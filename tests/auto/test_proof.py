"""A choice found on some rows is tried with all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from featurewright.auto.board import ORIGINAL, Board
from featurewright.auto.proof import _finalists, check_on_all_rows
from featurewright.auto.workspace import RESIDUAL, Config, Piece

CHOICE = Config((Piece("batch", RESIDUAL, 5),))


def searched(score: float, *, left: float = 10.0, most_rows: int = 50) -> SimpleNamespace:
    """Make a search that has chosen; with all rows the choice scores so much, the columns 0.5."""
    board = Board(["batch"], 0.25)
    for fold, gain in enumerate((0.10, 0.12, 0.11)):
        board.note("original", ORIGINAL, fold, 0.5)
        board.note("batch", CHOICE, fold, 0.5 + gain)
    fold = SimpleNamespace(space=SimpleNamespace(construct=lambda *_: []), score=lambda *_: score)
    return SimpleNamespace(
        board=board,
        rows=[(range(100), range(25))] * 3,
        most_rows=most_rows,
        n_folds=3,
        costs=SimpleNamespace(reserve=1.0),
        clock=SimpleNamespace(left=left),
        make_fold=lambda number, most: (fold, 0.5),
        estimator=None,
        scorer=None,
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
        board.note("original", ORIGINAL, fold, 0.5)
        for config, found in gains.items():
            board.note(config.label, config, fold, 0.5 + found[fold])
    found = _finalists(SimpleNamespace(board=board))
    labels = [config.label for config in found]
    assert labels == ["batch + fctree", "batch", "batch", "votes", "paths"]
