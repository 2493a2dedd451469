"""A choice found on some rows is tried with all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from featurewright.auto.board import ORIGINAL, Board
from featurewright.auto.proof import check_on_all_rows
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
