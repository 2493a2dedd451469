"""The search: what is tried when time is short, and over which folds scores are means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit
from sklearn.svm import LinearSVC
from tests.auto.cases import PRODUCT, N, X, quick
from tests.cases import loop_over

from featurewright.auto import AutoFeatures, standard_estimator
from featurewright.auto.estimators import choose_estimator, make_folds
from featurewright.auto.methods import _warm_up, warm_up
from featurewright.auto.plan import EFFORTS
from featurewright.auto.scoring import HeldOutScore
from featurewright.auto.search import Search
from featurewright.auto.summary import summarize
from featurewright.auto.tasks import Task
from featurewright.auto.timing import Clock
from featurewright.auto.workspace import Fold, Problem, ValueStore, Workspace
from featurewright.tables import EncodedTable, learn_schema


def test_the_best_few_are_tried_on_further_folds():
    auto = quick(methods=["batch", "recursive"], cv=3, effort="standard").fit(X, PRODUCT)
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


class Slow(Ridge):
    """A linear model that takes time by a clock of the test, and notes what it is fitted with."""

    def __init__(self, clock=None, seconds=0.0, seen=None):
        super().__init__()
        self.clock, self.seconds = clock, seconds
        self.seen = [] if seen is None else seen

    def __sklearn_clone__(self):
        return Slow(self.clock, self.seconds, self.seen)

    def fit(self, X, y, sample_weight=None):
        self.clock.advance(self.seconds)
        self.seen.append((len(X), X.shape[1], float(X.sum())))
        return super().fit(X, y, sample_weight)


@pytest.fixture
def fold_rows(monkeypatch):
    """Numbers of training rows of the folds that a search makes."""
    rows = []
    make_fold = Search._make_fold

    def noted(search, number, max_rows):
        found = make_fold(search, number, max_rows)
        rows.append(found[0].n_rows)
        return found

    monkeypatch.setattr(Search, "_make_fold", noted)
    return rows


LARGE = np.random.default_rng(5).normal(size=(6000, 3))
LARGE_PRODUCT = LARGE[:, 0] * LARGE[:, 1]


def test_no_fit_more_than_needed_without_time(fake_clock):
    """A budget that one fit overdraws: original columns are scored once, and fitted once more."""
    model = Slow(fake_clock, 200.0)
    auto = AutoFeatures(model, time_budget=100.0, random_state=0)
    with pytest.warns(UserWarning, match="cut short by time_budget=100") as warned:
        auto.fit(LARGE, LARGE_PRODUCT)
    assert warned[0].filename == __file__
    assert auto.best_method_ == "original"
    assert auto.stopped_by_time_
    assert [rows for rows, _, _ in model.seen] == [1500, 6000]
    assert {r["reason_code"] for r in auto.results_[1:] if r["status"] == "skipped"} <= {
        "no_time",
        "too_slow",
    }


@pytest.mark.parametrize(
    ("budget", "found"), [(30.0, False), (250.0, True), (1000.0, True), (None, True)]
)
def test_the_budget_is_kept(fake_clock, monkeypatch, budget, found):
    """It may be overdrawn by a tenth and the time of one method on a fold."""
    construct = Workspace.construct

    def slow_construct(space, *asked):
        fake_clock.advance(20.0)
        return construct(space, *asked)

    monkeypatch.setattr(Workspace, "construct", slow_construct)
    auto = quick(estimator=Slow(fake_clock, 10.0), methods=["batch", "fctree"], time_budget=budget)
    y = X[:, 0] * X[:, 1]
    if budget in (None, 1000.0):
        auto.fit(X, y)
    else:
        with pytest.warns(UserWarning, match="cut short"):
            auto.fit(X, y)
    assert auto.stopped_by_time_ == (budget in (30.0, 250.0))
    assert fake_clock.time <= 1.1 * (budget or np.inf) + 20.0 + 2 * 10.0
    assert (auto.best_method_ != "original") == found


def test_the_clock_decides_nothing_without_a_budget(fake_clock):
    """A slow machine finds what a fast one finds."""
    found = []
    for seconds in (0.0, 1000.0):
        model = Slow(fake_clock, seconds)
        auto = quick(estimator=model, methods=["batch", "votes"]).fit(X, LARGE_PRODUCT[:N])
        found.append((auto.best_method_, auto.front_, auto.transform(X).tobytes()))
    assert found[0] == found[1]


def test_stages_have_more_rows_and_fewer_methods(fold_rows):
    """A method that is dropped keeps the scores of the stage in which it was dropped."""
    auto = quick(methods=["batch", "scores", "paths"]).fit(LARGE, LARGE_PRODUCT)
    assert fold_rows == [1000, 2500, 2500, 2500]
    by_method = {result["method"]: result for result in auto.results_}
    assert auto.best_method_ == "batch"
    dropped = [r for r in auto.results_ if r["reason_code"] == "screened_out"]
    assert [len(r["fold_scores"]) for r in dropped] == [1]
    assert len(by_method["batch"]["fold_scores"]) == 3


def test_formulas_wait_for_the_last_stage(monkeypatch):
    """They enter it whatever became of them before; each is constructed once in a fold."""
    constructed = []
    construct = Workspace.construct

    def noted(space, method, *asked):
        constructed.append((method.name, len(space.problem.y)))
        return construct(space, method, *asked)

    monkeypatch.setattr(Workspace, "construct", noted)
    quick(methods=["batch", "votes"]).fit(LARGE, LARGE_PRODUCT)
    assert constructed.count(("batch", 1000)) == 0
    assert constructed.count(("votes", 1000)) == 1
    assert constructed.count(("batch", 2500)) == 3


def planned(n_rows, effort):
    """Make a search of a table with two columns, which is not run."""
    matrix = np.random.default_rng(0).normal(size=(n_rows, 2))
    table = EncodedTable(matrix, learn_schema(matrix))
    y = (matrix[:, 0] > 0).astype(int)
    problem = Problem(table, y, y, None, Task("classification", 1, 5, None), None)
    rows = np.arange(n_rows)
    return Search(
        problem,
        [(rows, rows[:10])],
        [],
        estimator=Ridge(),
        scorer=None,
        methods=["paths"],
        seed=0,
        effort=effort,
        clock=Clock(None),
        listen=print,
        store=ValueStore(),
    )


@pytest.mark.parametrize(
    ("n_rows", "sizes"), [(500, [200, 500]), (2_000, [200, 447]), (12_000, [200])]
)
def test_many_rows_allow_fewer_columns(n_rows, sizes):
    """A linear model takes as long as rows times the square of columns."""
    search = planned(n_rows, replace(EFFORTS["quick"], max_rows=100_000))
    assert search._sizes("paths") == sizes


def test_methods_are_halved_from_stage_to_stage():
    search = planned(90_000, EFFORTS["standard"])
    assert [stage.n_rows for stage in search._stages] == [1_500, 5_625, 22_500, 90_000]
    costs = [search._stage_cost(stage) for stage in search._stages[1:]]
    assert costs == [14.0, 7.0, 3.5]


def test_where_time_ends_a_stage_early_the_one_before_decides(fake_clock, monkeypatch):
    opened = Search._open_fold

    def slowly(search):
        if search._n_fold_rows == 2500:
            fake_clock.advance(1000.0)
        return opened(search)

    monkeypatch.setattr(Search, "_open_fold", slowly)
    auto = quick(time_budget=900.0)
    with pytest.warns(UserWarning, match="cut short"):
        auto.fit(LARGE, LARGE_PRODUCT)
    assert auto.stopped_by_time_
    assert len(auto.gain_per_fold_) == 1


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


def test_a_score_that_does_not_fit_the_target(caplog):
    with pytest.raises(ValueError, match=r"scoring='roc_auc' cannot score what RidgeCV predicts"):
        quick(scoring="roc_auc").fit(X, X[:, 0] + X[:, 1])
    with pytest.raises(ValueError, match=r"scoring='neg_log_loss' cannot score what LinearSVC"):
        quick(estimator=LinearSVC(), scoring="neg_log_loss").fit(X, PRODUCT)
    assert "Folds left out" not in caplog.text  # the error says it all


@pytest.mark.slow
def test_growing_folds_have_the_rows_of_the_largest(fold_rows):
    big = np.tile(LARGE, (5, 1))
    quick(cv=TimeSeriesSplit(3), effort="standard").fit(big, big[:, 0] * big[:, 1])
    assert fold_rows[-3:] == [7_500, 15_000, 22_500]


def test_a_method_that_finds_nothing_says_so():
    auto = quick(methods=["batch"]).fit(np.repeat([[1.0]], 60, axis=0), np.arange(60.0))
    assert auto.results_[1]["reason"] == ("found nothing beyond the original columns")


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


def test_boosting_tries_little_that_it_seldom_gains_from():
    """Noise: no leaves, few similarities, formulas until they lose, and a path all the same."""
    noise = np.random.default_rng(1).integers(0, 2, N)
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    auto = quick(estimator=model, methods="all", cv=5).fit(X, noise)
    assert auto.best_method_ == "original"
    results = {result["method"]: result for result in auto.results_}
    assert results["paths"]["reason_code"] == "found_by_boosting"
    assert results["formula paths"]["reason_code"] == "found_by_boosting"
    assert results["landmarks"]["n_features"] <= 100
    assert len(results["forest"]["fold_scores"]) == 1  # the order of all formulas has the others
    assert len(auto.path_.features) > 0
    named = quick(estimator=model, methods="paths", cv=2).fit(X, noise)
    assert named.results_[1]["fold_scores"]


def test_formulas_that_lose_on_two_folds_are_tried_no_more(monkeypatch):
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    real = Fold.score

    def lost(fold, candidate, estimator, scorer):
        found = real(fold, candidate, estimator, scorer)
        less = 0.1 if candidate.blocks else 0.0
        return HeldOutScore(found.score - less, found.evidence - less)

    monkeypatch.setattr(Fold, "score", lost)
    auto = quick(estimator=model, methods=["batch", "forest"], cv=5).fit(X, PRODUCT)
    results = {result["method"]: result for result in auto.results_}
    assert auto.best_method_ == "original"
    assert len(results["formulas"]["fold_scores"]) == 2
    assert {results[name]["reason_code"] for name in ("batch", "forest", "formulas")} == {"worse"}
    assert len(auto.path_.features) > 0
    assert [point["n_formulas"] for point in auto.front_][:2] == [0, 1]
