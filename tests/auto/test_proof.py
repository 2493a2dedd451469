"""A choice found on some rows is tried with all of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from featurewright import AutoFeatures
from featurewright.auto.board import ORIGINAL, Board
from featurewright.auto.proof import _finalists, check_on_all_rows, compare_parts
from featurewright.auto.search import Search
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
        largest=100,
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


def test_fewer_columns_that_are_as_good_are_the_first_finalist():
    board = Board(["batch", "forest"], 0.25)
    few, many = (Config((Piece("batch", RESIDUAL, size),)) for size in (1, 10))
    for fold in range(3):
        board.note("original", ORIGINAL, fold, alike(0.0))
        board.note("batch", many, fold, alike(0.99 + 0.0001 * fold))
        board.note("batch", few, fold, alike(0.989 + 0.0001 * fold))
    assert _finalists(SimpleNamespace(board=board)) == [few, many]


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


@pytest.mark.parametrize(
    ("gains", "kept"),
    [([0.5, 0.55, 0.45, 0.5], True), ([0.5, -0.4, 0.6, -0.3], False), ([np.nan] * 4, False)],
)
def test_one_fold_is_enough_where_all_parts_of_it_agree(gains, kept):
    board = Board(["batch"], 0.25)
    found = Config((Piece("batch", "gain", 5),))
    board.note("original", ORIGINAL, 0, alike(0.4))
    board.note("batch", found, 0, alike(0.9))
    assert board.decide()[0] == ORIGINAL  # one number has no spread
    board.of_parts = found, np.array(gains)
    config, honest = board.decide()
    assert config == (found if kept else ORIGINAL)
    np.testing.assert_allclose(honest, [0.5 if kept else 0.0])
    assert (board.error(honest) > 0.0) == kept


@pytest.mark.parametrize("n_rows", [160, 2000])
def test_a_search_that_ends_after_one_fold_keeps_what_is_plain_to_see(n_rows, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    monkeypatch.setattr(Search, "run", search_one_fold)
    auto = AutoFeatures(methods="batch", time_budget=30, random_state=0).fit(X, y)
    assert auto.best_method_ == ("batch" if n_rows == 2000 else "original")
    assert auto.gain_per_fold_.shape == (1,)
    assert (auto.gain_ > 0.2) == (n_rows == 2000)


def search_one_fold(search):
    """Search as one does that has time for a single fold."""
    search._open_fold(0)
    search._try_method("batch", 0)
    compare_parts(search)
