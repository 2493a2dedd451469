"""The search: what is tried when time is short, and over which folds scores are means."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit
from sklearn.svm import LinearSVC
from tests.auto.cases import PRODUCT, N, X, quick
from tests.cases import loop_over

from featurewright.auto import AutoFeatures, standard_estimator
from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.estimators import choose_estimator, make_folds
from featurewright.auto.leaderboard import Leaderboard
from featurewright.auto.methods import Task, _warm_up, warm_up
from featurewright.auto.outcomes import Outcome, Reason, Status
from featurewright.auto.scoring import HeldOutScore
from featurewright.auto.search import Search
from featurewright.auto.timing import Costs
from featurewright.auto.workspace import Workspace
from featurewright.report.summary import summarize


def test_the_best_of_the_first_fold_is_tried_on_more(monkeypatch):
    """However long the first fold takes, what it finds has time to be proved."""
    search = Search.__new__(Search)
    search._alive, search._further, search._n_folds = ["votes", "batch"], [], 5
    search._n_fold_rows, search._largest = 100, 100
    search.clock = SimpleNamespace(budget=600.0)
    gains = {"votes": 0.1, "batch": -0.1}
    monkeypatch.setattr(Search, "_promise", lambda self, method: gains[method])
    search._costs = SimpleNamespace(base=1.0, method_seconds=lambda method, n_fits: 3.0)
    assert search._leader() == "votes"
    assert search._leader_seconds(2) == 2 * (1.0 + 3.0)
    assert search._proof_seconds() == 0.0
    search._n_fold_rows, search._costs.reserve = 50, 7.0
    assert search._proof_seconds() == 7.0
    search._further = [None] * 10
    assert search._proof_seconds() == 5 * (1.0 + 3.0)
    search.clock = SimpleNamespace(budget=40.0)
    assert search._proof_seconds() == 10.0
    gains["votes"] = 0.0
    assert search._leader() is None
    assert search._leader_seconds(2) == search._proof_seconds() == 0.0


def test_slow_methods_are_dropped_to_save_time(monkeypatch):
    """A method that takes next to no time stays, however little it promises."""
    gains = {"scores": 0.1, "boosting": 0.05, "votes": 0.01, "forest": 0.04}
    seconds = {"scores": 9.0, "boosting": 5.0, "votes": 0.2, "forest": 4.0}
    monkeypatch.setattr(Search, "_promise", lambda self, method: gains[method])
    monkeypatch.setattr(Search, "_method_seconds", lambda self, method: seconds[method])
    search = Search.__new__(Search)
    search.leaderboard, search._alive = Leaderboard(gains, 0.25), list(gains)
    search._further, search._rows = [], [(range(80), range(20))] * 5
    search._n_fold_rows, search._largest = 100, 80
    search._costs = SimpleNamespace(base=0.1, reserve=5.0)
    search.clock = SimpleNamespace(budget=60.0, left=45.0)
    search._drop_losers(0)
    assert search._alive == ["scores", "votes"]
    outcome = search.leaderboard.records["boosting"].outcome
    assert outcome == Outcome(Status.STOPPED, Reason.TIME_FOR_OTHERS)
    search.clock.left = 1.0  # too little even for the best, which is tried as far as it goes
    search._drop_losers(0)
    assert search._alive == ["scores", "votes"]


def test_the_best_choice_is_never_left_out(monkeypatch):
    """Where a later fold has time for one choice only, that is the best one so far."""
    folds = []

    def next_fit(costs, block, fold):
        folds.append(fold)
        return 0.0 if fold is folds[0] else np.inf

    monkeypatch.setattr(Costs, "next_fit", next_fit)
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]
    auto = quick(cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert len(auto.gain_per_fold_) == 3
    assert {"x0 * x1", "x2 * x3"} <= set(auto.get_feature_names_out())
    assert auto.score_ > 0.9


def test_the_best_few_are_tried_on_further_folds():
    auto = quick(methods=["batch", "recursive"], cv=3).fit(X, PRODUCT)
    by_method = {result["method"]: result for result in auto.results_}
    assert len(by_method["original"]["fold_scores"]) == 9
    assert len(by_method["batch"]["fold_scores"]) == 9
    assert len(auto.gain_per_fold_) == 6
    base = np.mean(by_method["original"]["fold_scores"][3:])
    assert auto.baseline_score_ == pytest.approx(base)
    assert auto.estimator_scores_[0]["before"] == by_method["original"]["fold_scores"][3:]
    fixed = quick(methods="batch", cv=GroupKFold(3)).fit(X, PRODUCT, groups=np.arange(N) // 4)
    assert len(fixed.gain_per_fold_) == 3


@loop_over("name", ["linear", "knn", "boosting"])
@loop_over("task", ["classification", "regression", "multilabel"])
def test_a_standard_estimator_keeps_its_name(name, task):
    asked = standard_estimator(name, task, random_state=3)
    assert choose_estimator(asked, task, 1, 0)[0] == name


def test_other_estimators_have_the_name_of_their_class():
    assert choose_estimator(Ridge(), "regression", 1, 0)[0] == "Ridge"
    asked = standard_estimator("knn", "regression").set_params(kneighborsregressor__n_neighbors=3)
    assert choose_estimator(asked, "regression", 1, 0)[0] == "KNeighborsRegressor"


def test_both_means_are_over_the_same_folds(monkeypatch):
    try_method = Search._try_method
    monkeypatch.setattr(
        Search, "_try_method", lambda *asked: None if asked[-1] == 2 else try_method(*asked)
    )
    folds = KFold(3, shuffle=True, random_state=0)
    auto = quick(methods="batch", cv=folds).fit(X, PRODUCT)
    by_method = {result["method"]: result["fold_scores"] for result in auto.results_}
    assert [len(by_method[method]) for method in ("original", "batch")] == [3, 2]
    assert auto.best_method_ == "batch"
    assert auto.baseline_score_ == pytest.approx(np.mean(by_method["original"][:2]))
    entry = auto.estimator_scores_[0]
    assert entry["before"] == by_method["original"][:2]
    assert len(entry["after"]) == 2


class Slow(Ridge):
    """A linear model that takes time by a clock of the test, and notes what it is fitted with."""

    def __init__(self, clock=None, seconds=0.0, seconds_of_a_cell=0.0, seen=None):
        super().__init__()
        self.clock, self.seconds, self.seconds_of_a_cell = clock, seconds, seconds_of_a_cell
        self.seen = [] if seen is None else seen

    def __sklearn_clone__(self):
        return Slow(self.clock, self.seconds, self.seconds_of_a_cell, self.seen)

    def fit(self, X, y, sample_weight=None):
        self.clock.advance(self.seconds + self.seconds_of_a_cell * X.size)
        self.seen.append((len(X), X.shape[1], float(X.sum())))
        return super().fit(X, y, sample_weight)


LARGE = np.random.default_rng(5).normal(size=(6000, 3))
LARGE_PRODUCT = LARGE[:, 0] * LARGE[:, 1]


def search_slowly(model, budget, **changes):
    """Search for a product in a large table. Budgets are such that no method is ever cut short."""
    settings = {"methods": ["batch"], "time_budget": budget, "random_state": 0}
    return AutoFeatures(model, **(settings | changes)).fit(LARGE, LARGE_PRODUCT)


def test_no_fit_more_than_needed_without_time(fake_clock):
    """A budget that one fit overdraws: original columns are scored once, and fitted once more."""
    model = Slow(fake_clock, 200.0)
    auto = search_slowly(model, 100.0, methods="all")
    assert auto.best_method_ == "original"
    assert [rows for rows, _, _ in model.seen] == [2000, 6000]
    assert {result["reason"] for result in auto.results_[1:]} == {
        "the time budget leaves no room for it"
    }
    assert {result["reason_code"] for result in auto.results_[1:]} == {"no_time"}


def test_no_choice_whose_last_fit_has_no_time(fake_clock):
    """After one fold: with the columns of it the last fit would take longer than all that is left.

    The same model with time for that fit keeps them.
    """
    fits = {}
    for budget in (1000.0, 6000.0):
        model = Slow(fake_clock, 0.0, 0.02)
        auto = search_slowly(model, budget)
        fits[auto.best_method_] = [shape for *shape, _ in model.seen]
    assert fits["batch"][-1] == [6000, 13]
    assert fits["original"][-1] == [6000, 3]
    assert len(fits["original"]) <= 3  # nothing is compared that could not be kept


def test_what_a_screen_measured_is_not_measured_again(fake_clock):
    """Where the folds have no more rows than the screen, it is the first fold."""
    model = Slow(fake_clock, 120.0)
    auto = search_slowly(model, 4000.0)
    assert auto.best_method_ == "batch"
    assert len(auto.gain_per_fold_) > 1
    searched = [fit for fit in model.seen if fit[0] == 2000]
    assert len(searched) == len(set(searched)) > 2


def test_a_whole_fold_that_was_looked_at_is_kept(fake_clock):
    model = Slow(fake_clock)
    search_slowly(model, 30_000.0)
    original = [fit for fit in model.seen if fit[:2] == (4800, 3)]
    assert len(original) == len(set(original)) >= 5


@pytest.mark.parametrize(
    ("budget", "found", "short"), [(30.0, False, True), (150.0, True, True), (1000.0, True, False)]
)
def test_the_budget_is_kept(fake_clock, monkeypatch, budget, found, short):
    """It may be overdrawn by a tenth and the time of one fold."""
    construct, fold_seconds = Workspace.construct, 2 * (20.0 + 9 * 10.0)

    def slow_construct(space, *asked):
        fake_clock.advance(20.0)
        return construct(space, *asked)

    monkeypatch.setattr(Workspace, "construct", slow_construct)
    model = Slow(fake_clock, 10.0)
    auto = quick(estimator=model, methods=["batch", "fctree"], time_budget=budget)
    auto.fit(X, X[:, 0] * X[:, 1])
    assert fake_clock.time <= 1.1 * budget + fold_seconds
    assert (auto.best_method_ != "original") == found
    reasons = {result["reason_code"] for result in auto.results_}
    assert bool({"no_time", "time_for_others"} & reasons) == short


def test_methods_are_warmed_up_once():
    task = Task("regression", 1, 5, 1)
    warm_up(task, ["batch"])
    before = _warm_up.cache_info()
    warm_up(task, ["batch"])
    assert _warm_up.cache_info().misses == before.misses
    assert _warm_up.cache_info().hits == before.hits + 1


def test_folds_without_a_score_are_left_out(caplog):
    """No row of a class in the first test rows: the other folds decide."""
    y = PRODUCT.copy()
    y[: N // 2] = y[: N // 2] & (np.arange(N // 2) < N // 6)
    auto = quick(cv=TimeSeriesSplit(5), scoring="roc_auc").fit(X, y)
    assert "Folds left out because the score is undefined in them: 2" in caplog.text
    assert auto.best_method_ == "batch"
    assert len(auto.gain_per_fold_) < 5
    assert auto.score_ > 0.9


def test_a_score_that_is_undefined_in_every_fold():
    auto = quick(cv=LeaveOneOut()).fit(X[:20], X[:20, 0])
    assert auto.best_method_ == "original"
    assert {result["reason"] for result in auto.results_[1:]} == {
        "the score is undefined in every fold"
    }
    assert "the score is undefined in every fold" in summarize(auto)["verdict"]["sentence"]


def test_a_tiny_class_that_is_missing_from_folds(caplog):
    """A scorer that wants all classes leaves folds without one of them out."""
    y = np.where(PRODUCT, "a", "b").astype(object)
    y[:3] = "c"
    auto = quick(scoring="neg_log_loss", cv=5).fit(X, y)
    assert caplog.text.count("Folds left out") == 1
    assert np.isfinite(auto.score_)
    y[1:3] = "a"
    with pytest.raises(ValueError, match=r"scoring='neg_log_loss' cannot score .* \d vs \d\)"):
        quick(scoring="neg_log_loss", cv=5).fit(X, y)


def test_a_score_that_does_not_fit_the_target():
    with pytest.raises(ValueError, match=r"scoring='roc_auc' cannot score what RidgeCV predicts"):
        quick(scoring="roc_auc").fit(X, X[:, 0] + X[:, 1])
    with pytest.raises(ValueError, match=r"scoring='neg_log_loss' cannot score what LinearSVC"):
        quick(estimator=LinearSVC(), scoring="neg_log_loss").fit(X, PRODUCT)


def test_growing_folds_have_the_rows_of_the_largest(monkeypatch):
    rows = []
    make_fold = Search._make_fold

    def noted(search, number, max_rows):
        found = make_fold(search, number, max_rows)
        rows.append(found[0].n_rows)
        return found

    monkeypatch.setattr(Search, "_make_fold", noted)
    big = np.tile(LARGE, (5, 1))
    quick(cv=TimeSeriesSplit(3)).fit(big, big[:, 0] * big[:, 1])
    assert 10_000 in rows
    assert max(rows) == 22_500  # the choice is checked with all rows at the end


def test_a_method_that_finds_nothing_says_so():
    auto = quick(methods=["batch"]).fit(np.repeat([[1.0]], 60, axis=0), np.arange(60.0))
    assert auto.results_[1]["reason"] == (
        "it constructs nothing here that the original columns do not say"
    )


def test_one_fold_that_was_asked_for_is_not_called_short_of_time():
    auto = quick(cv=ShuffleSplit(1, test_size=40, random_state=0)).fit(X, PRODUCT)
    summary = summarize(auto)
    assert "use more folds" in summary["verdict"]["sentence"]
    assert summary["measured"].startswith("One fold: ")


def test_folds_whose_training_rows_have_no_weight():
    weights = np.ones(N)
    weights[: N // 2] = 0.0
    folds = KFold(2)
    assert len(make_folds(folds, PRODUCT, None, "classification", 0, weights=weights)) == 1
    auto = quick(cv=folds).fit(X, PRODUCT, sample_weight=weights)
    assert np.isfinite(auto.baseline_score_)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_groups_that_are_missing(missing):
    groups = np.repeat(np.arange(N // 10), 10).astype(object)
    groups[3] = missing
    with pytest.raises(ValueError, match="groups is missing in 1 rows"):
        quick().fit(X, PRODUCT, groups=groups)


def test_probabilities_of_several_labels():
    y = np.column_stack([PRODUCT, X[:, 2] > 0, np.ones(N)]).astype(int)
    auto = quick(estimator="knn").fit(X, y)
    shares = auto.predict_proba(X)
    assert shares.shape == (N, 3)
    assert_array_equal(shares[:, :2] > 0.5, auto.predict(X)[:, :2])
    assert_array_equal(shares[:, 2], 1.0)


def test_a_second_fold_may_have_half_of_the_time():
    """Constructing once more ends with the time; fitting once more cannot be cut short."""
    search = Search.__new__(Search)
    search.clock = SimpleNamespace(left=12.0)
    search._costs = SimpleNamespace(reserve=10.0, fit_reserve=1.0)
    assert [search._last_fit_seconds(number) for number in range(3)] == [10.0, 6.0, 10.0]
    search._costs.fit_reserve = 9.0
    assert search._last_fit_seconds(1) == 9.0
    search._costs = SimpleNamespace(reserve=2.0, fit_reserve=1.0)
    assert search._last_fit_seconds(1) == 2.0


@pytest.mark.parametrize(
    ("close", "failed", "n_folds"), [(False, False, 1), (True, False, 3), (False, True, 3)]
)
def test_what_is_far_behind_does_not_win_by_having_time(monkeypatch, close, failed, n_folds):
    """Where the best method has no time for a second fold, others go on if they are as good."""
    tried = []

    def try_on_fold(search, method, number):
        tried.append((method, number))
        if method == "forest" and number:
            if failed:
                search._drop("forest", Status.FAILED, Reason.ERROR)
            return {}
        gain = 0.3 if method == "forest" else (0.25 if close else 0.05)
        base = search.leaderboard.scores[ORIGINAL][number]
        candidate = Candidate((Block(method, Order.RESIDUAL, 10),))
        return {candidate: HeldOutScore(base.score + gain, base.evidence + gain)}

    monkeypatch.setattr(Search, "_try_on_fold", try_on_fold)
    auto = quick(methods=["forest", "batch"], cv=KFold(3))
    auto.fit(X, PRODUCT)
    assert max(number for method, number in tried if method == "batch") == n_folds - 1
