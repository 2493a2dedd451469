"""A choice found on some rows is tried with all of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from featurewright import AutoFeatures
from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.choice import holds
from featurewright.auto.leaderboard import Leaderboard
from featurewright.auto.plan import EFFORTS
from featurewright.auto.scoring import HeldOutScore
from featurewright.auto.search import Search

CHOICE = Candidate((Block("batch", Order.RESIDUAL, 5),))


def alike(score: float) -> HeldOutScore:
    """Make a score that candidates are compared by too."""
    return HeldOutScore(score, score)


def searched(score: float, *, left: float = 10.0, fold_rows: int = 50) -> Search:
    """Make a search that has chosen; with all rows the choice has a score, the originals 0.5."""
    search = Search.__new__(Search)
    board = search.leaderboard = Leaderboard(["batch"], 0.25)
    for number, gain in enumerate((0.10, 0.12, 0.11)):
        board.add("original", ORIGINAL, number, alike(0.5))
        board.add("batch", CHOICE, number, alike(0.5 + gain))
    fold = SimpleNamespace(space=None, score=lambda *_: alike(score))
    search._rows, search._n_folds = [(range(100), range(25))] * 3, 3
    search._n_fold_rows, search._largest = fold_rows, 100
    search._costs = SimpleNamespace(reserve=1.0, has_time=lambda seconds: left > 2.0 * seconds)
    search._make_fold = lambda number, max_rows: (fold, alike(0.5))
    search.construct = lambda space, candidates: None
    search.effort, search.stopped_by_time = EFFORTS["thorough"], False
    search.estimator = search.scorer = None
    return search


def finalists(board: Leaderboard) -> list[Candidate]:
    """Return the finalists of a thorough search with these scores."""
    return board.finalists(EFFORTS["thorough"].n_finalists)


def test_what_does_not_help_with_all_rows_is_dropped():
    search = searched(0.45)
    assert search.leaderboard.decide()[0] == CHOICE
    search._check_with_more_rows()
    config, gains = search.leaderboard.decide()
    assert config == ORIGINAL
    assert gains.tolist() == [0.0, 0.0, 0.0]
    assert search.leaderboard.results()[1]["reason"] == "no better with all rows"


@pytest.mark.parametrize(("score", "kept"), [(0.6, CHOICE), (0.45, ORIGINAL)])
def test_a_quick_search_for_boosting_is_checked_with_the_columns_it_found(score, kept):
    taken, search = [], searched(score)
    spaces = [f"columns {number}" for number in range(3)]
    space = SimpleNamespace(take_columns=taken.append)
    fold = SimpleNamespace(space=space, score=lambda *_: alike(score))
    search._make_fold = lambda number, max_rows: (fold, alike(0.5))
    search.folds = [SimpleNamespace(space=space) for space in spaces]
    search.effort, search.construct = EFFORTS["quick"], pytest.fail
    for corrects, expected in ((None, CHOICE), ("boosting", kept)):
        search.problem = SimpleNamespace(task=SimpleNamespace(corrects=corrects))
        search._check_with_more_rows()
        assert search.leaderboard.decide()[0] == expected
    assert taken == spaces


def test_gains_with_more_rows_hold_by_their_mean_or_by_their_error():
    gains = np.array([0.1, -0.09, 0.01])
    assert holds(gains, 0.25, n_asked=2)
    assert not holds(gains, 0.25, n_asked=0)
    assert holds(gains[:1], 0.25, n_asked=0)
    assert holds(np.array([0.1, 0.09, 0.08]), 0.25, n_asked=0)


@pytest.mark.parametrize(
    "search",
    [searched(0.6), searched(0.45, left=1.5), searched(0.45, fold_rows=100)],
    ids=["it helps", "no time", "had all rows"],
)
def test_else_it_is_kept(search):
    search._check_with_more_rows()
    assert search.leaderboard.decide()[0] == CHOICE


def test_a_choice_beyond_doubt_needs_no_further_folds():
    search = searched(0.6)
    board = search.leaderboard
    # Gains of 0.10 to 0.12 are kept, but may be luck in three folds.
    assert board.decide()[0] == CHOICE
    assert not board.is_beyond_doubt()
    for number, score in enumerate((0.110, 0.112, 0.111)):
        board.add("batch", CHOICE, number, alike(0.5 + score))
    assert board.is_beyond_doubt()
    search._further, search._make_fold = [(range(100), range(25))], pytest.fail
    search._confirm()
    assert board.n_choosing_folds == 0
    for number, score in enumerate((0.110, 0.112, 0.111)):
        board.add("batch", CHOICE, number, alike(0.5 - score))
    assert not board.is_beyond_doubt()


def test_finalists_are_steady_and_of_several_methods():
    """One method with this and that does not fill all places; a lucky fold does not help."""
    board = Leaderboard(["batch", "votes", "paths"], 0.25)

    def piece(method, size=5):
        return Block(method, Order.RESIDUAL, size)

    gains = {
        Candidate((piece("batch"),)): (0.10, 0.11, 0.10),
        Candidate((piece("batch", 10),)): (0.09, 0.09, 0.09),
        Candidate((piece("batch"), piece("fctree"))): (0.12, 0.11, 0.12),
        Candidate((piece("votes"),)): (0.02, 0.03, 0.02),
        Candidate((piece("paths"),)): (0.00, 0.00, 0.40),  # the best by its mean
        Candidate((piece("forest"),)): (-0.01, -0.01, -0.01),
    }
    for fold in range(3):
        board.add("original", ORIGINAL, fold, alike(0.5))
        for config, found in gains.items():
            board.add(config.label, config, fold, alike(0.5 + found[fold]))
    found = finalists(board)
    labels = [config.label for config in found]
    assert labels == ["batch + fctree", "batch", "batch", "votes", "paths"]


def test_formulas_are_always_among_the_finalists():
    """A search of all methods proves what a search of formulas alone would prove."""
    board = Leaderboard(["votes", "scores", "paths"], 0.25)
    formulas = [Candidate((Block("formulas", Order.JOINT, size),)) for size in (1, 10)]
    others = [Candidate((Block(method, Order.OWN, 1),)) for method in ("votes", "scores", "paths")]
    for fold in range(3):
        board.add("original", ORIGINAL, fold, alike(0.5))
        for candidate, gain in zip([*formulas, *others], (0.02, 0.03, 0.2, 0.3, 0.4), strict=True):
            board.add(candidate.label, candidate, fold, alike(0.5 + gain + 0.001 * fold))
    found = board.finalists(EFFORTS["quick"].n_finalists)
    assert found == [others[2], others[1], formulas[1]]


@pytest.mark.parametrize(("gain", "n_tried"), [(-0.01, 2), (0.01, 4)])
def test_further_folds_end_when_all_finalists_lose_on_two(gain, n_tried):
    search = searched(0.6)
    search._further = [(range(100), range(25))] * 4
    search._ahead = SimpleNamespace(pays=False, has_fold=lambda *_: True)
    search.joined, search._report, search.clock = (), lambda *_: None, SimpleNamespace(now=float)
    fold = SimpleNamespace(space=None, score=lambda *_: alike(0.5 + gain))
    search._make_fold = lambda number, max_rows: (fold, alike(0.5))
    search._keep_fold = lambda number, fold, score: search.leaderboard.add(
        "original", ORIGINAL, number, score
    )
    search._confirm()
    board = search.leaderboard
    assert board.n_scores(CHOICE) == board.n_folds == 3 + n_tried
    assert board.n_choosing_folds == 3
    assert board.decide()[0] == (ORIGINAL if gain < 0.0 else CHOICE)


def test_where_the_choice_is_disproved_the_next_one_is_checked():
    search = searched(0.45)
    board = search.leaderboard
    better = Candidate((Block("votes", Order.OWN, 1),))
    for number in range(3):
        board.add("votes", better, number, alike(0.9 + 0.01 * number))
    scores = {CHOICE: 0.6, better: 0.4}
    fold = SimpleNamespace(space=None, score=lambda candidate, *_: alike(scores[candidate]))
    search._make_fold = lambda number, max_rows: (fold, alike(0.5))
    assert board.decide()[0] == better
    search._check_with_more_rows()
    assert board.decide()[0] == CHOICE


def test_a_constant_prediction_must_be_beaten():
    for constant, kept in ((0.4, CHOICE), (0.7, ORIGINAL)):
        board = searched(0.6).leaderboard
        board.constants = {number: alike(constant + 0.01 * number) for number in range(3)}
        assert board.decide()[0] == kept


def test_fewer_columns_that_are_as_good_are_the_first_finalist():
    board = Leaderboard(["batch", "forest"], 0.25)
    few, many = (Candidate((Block("batch", Order.RESIDUAL, size),)) for size in (1, 10))
    for fold in range(3):
        board.add("original", ORIGINAL, fold, alike(0.0))
        board.add("batch", many, fold, alike(0.99 + 0.0001 * fold))
        board.add("batch", few, fold, alike(0.989 + 0.0001 * fold))
    assert finalists(board) == [few, many]


def test_candidates_are_compared_by_evidence_and_reported_by_score():
    board = Leaderboard(["batch", "votes"], 0.25)
    lucky, sound = (
        Candidate((Block("batch", Order.RESIDUAL, 5),)),
        Candidate((Block("votes", Order.RESIDUAL, 1),)),
    )
    for fold in range(5):
        board.add("original", ORIGINAL, fold, HeldOutScore(0.5, 0.4))
        board.add("batch", lucky, fold, HeldOutScore(0.6 + 0.01 * fold, 0.4))
        board.add("votes", sound, fold, HeldOutScore(0.55 + 0.01 * fold, 0.5 + 0.01 * fold))
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
    board = Leaderboard(["batch"], 0.25)
    found = Candidate((Block("batch", Order.RESIDUAL, 5),))
    board.add("original", ORIGINAL, 0, alike(0.4))
    board.add("batch", found, 0, alike(0.9))
    assert board.decide()[0] == ORIGINAL  # one number has no spread
    board.part_gains = found, np.array(gains)
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
    auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
    assert auto.best_method_ == ("batch" if n_rows == 2000 else "original")
    assert auto.gain_per_fold_.shape == (1,)
    assert (auto.gain_ > 0.2) == (n_rows == 2000)


def search_one_fold(search):
    """Search as one does that has time for a single fold."""
    search._open_fold()
    search._try_method("batch", 0, is_last=True)
    search._compare_on_parts()
