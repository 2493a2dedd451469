"""`AutoFeatures`: what it finds, what it refuses, and that it is honest."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from tests.auto.cases import PRODUCT, RATIO, TWO_FOLDS, N, X, quick, stopped

from featurewright import AutoFeatures
from featurewright.auto import standard_estimator
from featurewright.auto.methods import chosen_methods
from featurewright.auto.targets import read_target
from featurewright.auto.text import told
from featurewright.report import summarize


def mixed(n_rows=N):
    rng = np.random.default_rng(1)
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in range(n_rows)]
    lengths = rng.integers(1, 9, n_rows)
    return {
        "size": [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.normal(size=n_rows))],
        "open": [bool(v) for v in rng.integers(0, 2, n_rows)],
        "colour": [["red", "green", "blue", None][v] for v in rng.integers(0, 4, n_rows)],
        "town": [f"t{v}" for v in rng.integers(0, 60, n_rows)],
        "when": days,
        "until": [day + dt.timedelta(days=int(k)) for day, k in zip(days, lengths, strict=True)],
        "took": [dt.timedelta(minutes=int(k)) for k in rng.integers(1, 99, n_rows)],
        "stamp": [day.isoformat() for day in days],
        "id": list(range(1000, 1000 + n_rows)),
        "code": [f"row-{k}" for k in range(n_rows)],
        "same": [3] * n_rows,
        "empty": [None] * n_rows,
    }


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def test_finds_a_product():
    auto = quick().fit(X, PRODUCT)
    assert auto.best_method_ == "batch"
    assert auto.features_[0].name == "x0 * x1 > 0"
    assert auto.gain_ > 0.3
    assert auto.score_ == pytest.approx(auto.baseline_score_ + auto.gain_)
    assert auto.predict(X).tolist() != []
    assert (auto.predict(X) == PRODUCT).mean() > 0.9
    names = auto.get_feature_names_out()
    assert list(names[:4]) == ["x0", "x1", "x2", "x3"]
    assert len(names) == auto.transform(X).shape[1]


def test_numbers():
    auto = quick().fit(X, RATIO)
    assert auto.task_ == "regression"
    assert auto.scoring_ == "r2"
    assert auto.gain_ > 0.5
    assert "x0 * x2" in auto.get_feature_names_out()


def test_one_formula_that_says_all_is_kept_alone():
    auto = quick().fit(X, X[:, 0] * X[:, 1])
    assert [feature.name for feature in auto.features_] == ["x0 * x1"]
    assert auto.score_ > 0.95


def test_all_methods_are_tried_and_told(other_estimators):
    auto = quick(methods="all", cv=TWO_FOLDS, effort="standard").fit(X[:120], PRODUCT[:120])
    tried = [result["method"] for result in auto.results_]
    names = chosen_methods("all")
    assert tried[: len(names) + 1] == ["original", *names]
    for result in auto.results_:
        assert result["status"] in ("done", "stopped", "skipped", "failed")
        assert result["status"] != "failed", result
        assert len(result["fold_scores"]) <= 2
    others = [entry["estimator"] for entry in auto.estimator_scores_]
    assert others == ["linear", "knn", "boosting"]


@pytest.mark.parametrize("kind", FRAMES)
def test_mixed_tables(kind):
    frame = FRAMES[kind](mixed())
    y = np.array([v == "red" for v in mixed()["colour"]], dtype=int)
    auto = quick().fit(frame, np.where(y, "yes", "no"))
    assert set(auto.left_out_) == {"id", "code", "same", "empty"}
    out = auto.transform(frame)
    assert np.isfinite(out).all()
    names = list(auto.get_feature_names_out())
    for name in ("size is missing", "colour = red", "when: hour", "took: seconds", "until - when"):
        assert name in names
    assert "frequency of town" in names
    assert any(name.startswith("stamp: ") for name in names)
    assert auto.feature_names_in_.tolist() == list(mixed())
    assert auto.predict(frame)[0] in ("yes", "no")


def test_frames_agree():
    y = np.random.default_rng(2).integers(0, 2, N)
    outs = []
    for make in FRAMES.values():
        auto = stopped().fit(make(mixed()), y)
        outs.append(auto.transform(make(mixed())))
    assert np.array_equal(outs[0], outs[1])
    assert np.array_equal(outs[0], outs[2])


def test_one_method_of_trees_at_a_time():
    auto = quick(methods=["scores", "paths", "formula paths"], cv=TWO_FOLDS).fit(X, RATIO)
    assert sum(part.kind in ("score", "path") for part in auto.parts_) == 1
    labels = [result["method"] for result in auto.results_]
    assert not [label for label in labels if label.count("paths") + ("scores" in label) > 1]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_scores_are_those_of_boosting(n_classes):
    values = np.sin(3 * X[:, 0]) * X[:, 1]
    cuts = np.quantile(values, np.arange(1, n_classes) / max(1, n_classes))
    y = np.array(list("abc"))[np.searchsorted(cuts, values)] if n_classes else values
    auto = quick(methods="scores", cv=TWO_FOLDS).fit(X, y)
    assert auto.best_method_ == "scores"
    names = ["score"] if n_classes < 3 else ["score 0", "score 1", "score 2"]
    assert list(auto.get_feature_names_out())[-len(names) :] == names
    (part,) = auto.parts_
    boosted = part.transformer
    raw = boosted.decision_function(X) if n_classes else boosted.predict(X)
    expected = np.clip(raw.reshape(len(X), -1), part.low, part.high)
    assert np.array_equal(auto.transform(X)[:, -len(names) :], expected)


def test_rows_without_a_value_are_counted():
    """Divided by zero in some rows: the profile and what people read say so."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=400), np.arange(400.0) % 25
    y = np.divide(a, b, out=np.zeros(400), where=b > 0)
    auto = quick(methods="batch", n_features_out=2).fit(np.column_stack([a, b]), y)
    ratio = "x0 / x1"
    assert ratio in [feature.name for feature in auto.features_]
    shares = {column["name"]: column["undefined"] for column in auto.profile_["columns"]}
    assert shares[ratio] == 0.04
    assert shares["x0"] == 0.0
    told = {f["name"]: f["undefined_text"] for f in summarize(auto)["features"]}
    assert told[ratio] == "4%"


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_votes_are_those_of_extra_trees(n_classes):
    cuts = np.quantile(RATIO, np.arange(1, n_classes) / max(1, n_classes))
    y = np.array(list("abc"))[np.searchsorted(cuts, RATIO)] if n_classes else RATIO
    auto = quick(methods="votes").fit(X, y)
    assert auto.best_method_ == "votes"
    names = ["vote"] if n_classes < 3 else ["log vote 0", "log vote 1", "log vote 2"]
    assert list(auto.get_feature_names_out())[-len(names) :] == names
    (part,) = auto.parts_
    trees = part.transformer
    raw = trees.predict_proba(X) if n_classes else trees.predict(X)[:, np.newaxis]
    raw = np.log(np.maximum(raw, 0.01)) if n_classes == 3 else raw
    expected = np.clip(raw[:, 1:] if n_classes == 2 else raw, part.low, part.high)
    assert np.array_equal(auto.transform(X)[:, -len(names) :], expected)


def test_classes_of_one_row():
    """Some folds have rows of one class only to be tested on."""
    y = np.zeros(N, dtype=int)
    y[:2] = 1, 2
    auto = quick().fit(X, y)
    assert auto.scoring_ == "balanced_accuracy"
    assert set(auto.predict(X)) <= {0, 1, 2}


def test_one_row_equals_the_batch():
    frame = pl.DataFrame(mixed())
    y = np.array([0.0 if v is None else v for v in mixed()["size"]]) ** 2
    auto = quick(methods=["batch", "landmarks", "paths", "recursive"]).fit(frame, y)
    assert auto.best_method_ != "original"
    batch = auto.transform(frame)
    for row in (0, 7, 100):
        assert np.array_equal(auto.transform(frame[row : row + 1])[0], batch[row])


def test_noise_keeps_the_original_columns():
    kept = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table, y = rng.normal(size=(150, 5)), rng.integers(0, 2, 150)
        auto = quick(cv=2, random_state=seed).fit(table, y)
        kept.append(auto.best_method_)
        if auto.best_method_ == "original":
            assert auto.gain_ == 0.0
            assert auto.transform(table).shape == (150, 5)
    assert kept.count("original") >= 3


def test_no_time():
    auto = stopped(methods="all").fit(X, PRODUCT)
    assert auto.stopped_by_time_
    assert auto.best_method_ == "original"
    assert auto.gain_ == 0.0
    assert {result["status"] for result in auto.results_[1:]} == {"skipped"}
    assert np.array_equal(auto.transform(X), X)


def test_same_seed_same_result_for_any_threads():
    outs = []
    for n_jobs in (1, 2):
        auto = quick(methods=["forest", "paths"], cv=TWO_FOLDS, n_jobs=n_jobs).fit(X, PRODUCT)
        outs.append((auto.best_method_, auto.gain_, auto.transform(X)))
    assert outs[0][:2] == outs[1][:2]
    assert np.array_equal(outs[0][2], outs[1][2])


def test_several_labels():
    Y = np.column_stack([PRODUCT, X[:, 2] > 0]).astype(int)
    unable = {"recursive", "scores", "votes", "formula votes"}
    auto = quick(methods=[*unable, "batch", "paths"], cv=TWO_FOLDS).fit(X, Y)
    assert auto.task_ == "multilabel"
    assert auto.scoring_ == "f1_micro"
    assert auto.predict(X).shape == Y.shape
    skipped = {r["method"] for r in auto.results_ if r["status"] == "skipped"}
    assert skipped == unable


def test_skewed_classes_are_ranked():
    rare = X[:, 0] > 1.5
    assert quick().fit(X, rare).scoring_ == "roc_auc"
    assert quick(estimator=RandomForestClassifier(5)).fit(X, rare).scoring_ == "roc_auc"


def test_what_a_target_is_taken_for():
    """A count, an age or a rating is a number, unless there are few values."""

    def task_of(y, **settings):
        return read_target(y, N, settings.get("estimator"), settings.get("task", "auto")).task

    few, many = np.arange(N) % 7, np.arange(N) % 28
    assert task_of(few) == task_of(few.astype(float)) == "classification"
    assert task_of(many) == task_of(many.astype(float)) == "regression"
    assert task_of(many, task="classification") == "classification"
    assert task_of(few, task="regression") == "regression"
    assert task_of(few, estimator=Ridge()) == "regression"
    assert task_of(few, estimator=standard_estimator("linear", "regression")) == "regression"
    with pytest.raises(ValueError, match="task='classification' does not go with the estimator"):
        task_of(few, estimator=Ridge(), task="classification")
    with pytest.raises(ValueError, match="task='regression' needs numbers, but y holds labels"):
        task_of(np.where(PRODUCT, "a", "b"), task="regression")
    assert quick(task="regression").fit(X, few).task_ == "regression"


@pytest.mark.parametrize("estimator", ["linear", "knn", "boosting"])
def test_standard_estimators(estimator):
    auto = quick(estimator=estimator, cv=TWO_FOLDS).fit(X, PRODUCT)
    assert auto.predict_proba(X[:3]).shape == (3, 2)


def test_groups_are_held_out_together():
    groups = np.repeat(np.arange(N // 10), 10)
    assert quick(cv=3).fit(X, PRODUCT, groups=groups).best_method_ == "batch"
    assert quick(cv=GroupKFold(3)).fit(X, PRODUCT, groups=groups).best_method_ == "batch"
    in_order = quick(cv=TimeSeriesSplit(3)).fit(X, PRODUCT)
    assert in_order.best_method_ == "batch"
    assert in_order.later_folds_
    assert not quick(cv=3).fit(X, PRODUCT).later_folds_
    with pytest.raises(ValueError, match="groups has 3 entries"):
        quick(cv=3).fit(X, PRODUCT, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="one group only"):
        quick(cv=3).fit(X, PRODUCT, groups=np.ones(N))


def test_small_classes():
    y = np.zeros(N, dtype=int)
    y[:2], y[2:5] = 1, 2
    assert quick(cv=5).fit(X, y).transform(X).shape[0] == N
    many = np.arange(30) % 25
    assert quick(cv=3).fit(X[:30], many.astype(str)).best_method_ == "original"
    with pytest.raises(ValueError, match="30 different values in 30 rows, like names of the rows"):
        quick(cv=3).fit(X[:30], [f"row {k}" for k in range(30)])


@pytest.mark.parametrize("n_rows", [2, 5, 12])
def test_few_rows(n_rows):
    for y in (np.arange(n_rows) % 2, np.linspace(0.1, 1.3, n_rows)):
        auto = quick(cv=3).fit(X[:n_rows], y)
        assert np.isfinite(auto.transform(X)).all()
        assert len(auto.predict(X[:2])) == 2


def test_hostile_values():
    table = np.column_stack([X, 1e30 * X[:, 0], 1e-30 * X[:, 1], np.ones(N), np.full(N, np.nan)])
    table[::3, 2] = np.nan
    auto = quick(methods="all", cv=TWO_FOLDS).fit(table[:120], PRODUCT[:120])
    assert set(auto.left_out_) == {"x6", "x7"}
    assert np.isfinite(auto.transform(table)).all()
    assert quick().fit(np.ones((30, 1)), np.arange(30) % 2).transform(np.ones((2, 1))).shape == (
        2,
        1,
    )


def test_many_classes():
    y = np.repeat(np.arange(60), 4).astype(str)
    auto = quick(methods=["batch", "recursive"], cv=TWO_FOLDS).fit(X, y)
    assert len(auto.classes_) == 60


def test_refusals():
    for changes, words in (
        ({"methods": "magic"}, "methods='magic'"),
        ({"methods": ["batch", 3]}, "methods=3"),
        ({"time_budget": 0}, "time_budget=0"),
        ({"estimator": "svm"}, "estimator='svm'"),
        ({"scoring": "best"}, "scoring='best'"),
        ({"n_features_out": 0}, "n_features_out=0"),
        ({"cv": 1}, "cv=1"),
    ):
        with pytest.raises(ValueError, match=words):
            quick(**changes).fit(X, PRODUCT)
    with pytest.raises(TypeError, match="no fit and predict"):
        quick(estimator=3).fit(X, PRODUCT)
    with pytest.raises(ValueError, match="infinity in"):
        quick().fit(X, np.where(PRODUCT, np.inf, X[:, 0]))
    with pytest.raises(ValueError, match="inf"):
        quick().fit(np.where(X > 1, np.inf, X), PRODUCT)
    with pytest.raises(ValueError, match="more than two classes"):
        quick(estimator=RandomForestClassifier()).fit(X, np.column_stack([np.arange(N) % 3] * 2))


def test_later_tables_are_checked():
    frame = pd.DataFrame(mixed())
    auto = stopped().fit(frame, PRODUCT)
    with pytest.raises(TypeError, match="'when'"):
        auto.transform(frame.assign(when=1.0))
    with pytest.raises(ValueError, match="feature names"):
        auto.transform(frame.drop(columns="size"))
    with pytest.raises(TypeError, match="dates or times"):
        auto.transform(np.zeros((2, 12)))
    unseen = frame.assign(colour="mauve", stamp="not a date")
    with pytest.warns(UserWarning, match=r"'colour': 240 of 240 labels are none that the fit saw"):
        assert np.isfinite(auto.transform(unseen)).all()


def test_limit_of_columns():
    auto = quick(methods=["batch", "forest"], n_features_out=3).fit(X, PRODUCT)
    assert 0 < len(auto.columns_) - 4 <= 3


def test_clone_pickle_and_frames_out():
    auto = quick().fit(X, PRODUCT)
    again = pickle.loads(pickle.dumps(auto))
    assert np.array_equal(again.transform(X), auto.transform(X))
    assert clone(auto).get_params()["methods"] == "batch"
    frame = auto.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(auto.get_feature_names_out())


def test_weights():
    weights = np.where(X[:, 3] > 0, 1.0, 0.0)
    y = np.where(X[:, 3] > 0, PRODUCT, X[:, 2] > 0)
    auto = quick().fit(X, y, sample_weight=weights)
    assert auto.features_[0].name in ("x0 * x1 > 0", "x0 / x1 > 0")


def test_weights_are_passed_where_metadata_is_routed():
    weights = np.where(X[:, 3] > 0, 1.0, 2.0)
    expected = quick().fit(X, PRODUCT, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        found = quick().fit(X, PRODUCT, sample_weight=weights)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_scikit_learn_is_told_what_is_predicted():
    """It calls `predict_proba` of classifiers alone, as for probabilities that are calibrated."""
    auto = quick()
    assert not is_classifier(auto)
    assert not is_regressor(auto)
    assert is_classifier(quick(task="classification"))
    assert is_classifier(quick(estimator=RandomForestClassifier()))
    assert is_regressor(quick(estimator=Ridge()))
    assert is_classifier(auto.fit(X, PRODUCT))
    model = CalibratedClassifierCV(quick(), cv=2).fit(X, PRODUCT)
    assert model.predict_proba(X).shape == (len(X), 2)


def test_events_are_heard():
    class Listening(AutoFeatures):
        def _notify(self, event):
            EVENTS.append(event)

    EVENTS: list[dict] = []
    Listening(methods="batch", effort="quick", cv=2, random_state=0).fit(X, PRODUCT)
    assert {event["method"] for event in EVENTS} == {"original", "batch"}
    assert [event["stage"] for event in EVENTS[-2:]] == ["fitting on all rows", "done"]
    assert EVENTS[-1]["best_score"] > EVENTS[-1]["baseline"]
    first, last = told(EVENTS[0]), told(EVENTS[-1])
    assert first.endswith("; mean of 1 fold with up to 120 training rows)")
    assert last.startswith("finished; chosen: batch, accuracy 100.0%, original ")
    assert "% (means of 2 folds, corrected for choosing)" in last


def test_progress_ends_with_the_scores_of_the_verdict(caplog):
    """Folds that choose have other scores than those that prove the choice, which is said."""
    auto = AutoFeatures(methods="batch", effort="quick", random_state=0, verbose=1)
    auto.fit(X[:120], X[:120, 0] * X[:120, 1] + np.random.default_rng(0).normal(size=120))
    last = caplog.messages[-1].replace("\N{MINUS SIGN}", "-")
    scores = f"{auto.score_:.3f}, original {auto.baseline_score_:.3f}"
    assert f"{scores} (means of {len(auto.gain_per_fold_)} folds" in last
    further = [line for line in caplog.messages if "further fold 1;" in line]
    assert all("(mean of 1 fold " in line for line in further)


def test_score_is_that_of_the_model():
    auto = quick(scoring="balanced_accuracy").fit(X, PRODUCT)
    expected = balanced_accuracy_score(PRODUCT, auto.predict(X))
    assert auto.score(X, PRODUCT) == pytest.approx(expected)
    own = quick(scoring=lambda model, rows, y: 7.0).fit(X, PRODUCT)
    assert own.score(X, PRODUCT) == 7.0
