"""Boosting: rounds, stopping, and both losses against the formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from tests.cases import loop_over
from tests.constructive.learners import check_outputs, check_same, check_sentence, make, table

from featurewright.datasets import make_ringnorm, make_waveform

CLASSIFIER, REGRESSOR = "BoostingClassifier", "BoostingRegressor"
LOSSES = [(CLASSIFIER, "log_loss"), (CLASSIFIER, "adaboost_mh"), (REGRESSOR, "squared_error")]
every_loss = pytest.mark.parametrize(("name", "loss"), LOSSES)


def three_classes(n_rows: int = 200, seed: int = 0):
    X = table(n_rows, 4, seed)
    return X, np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])


def leaves_of(model, X):
    users = model._construction.compiled.functions(np.float32)
    return model.forest_.find_leaves(np.ascontiguousarray(X, np.float32), users)


@every_loss
def test_the_last_stage_is_the_prediction(name, loss):
    X, y = three_classes()
    model = make(name, loss=loss, n_estimators=12).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_iter_ == 12
    if name == CLASSIFIER:
        shares = list(model.staged_predict_proba(X))
        np.testing.assert_allclose(shares[-1], model.predict_proba(X), rtol=1e-9)
        np.testing.assert_array_equal(stages[-1], model.predict(X))
    else:
        np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-9)


@every_loss
def test_a_stage_is_a_shorter_fit(name, loss):
    X, y = three_classes()
    model = make(name, loss=loss, n_estimators=9).fit(X, y)
    shorter = make(name, loss=loss, n_estimators=4).fit(X, y)
    stage = list(model.staged_predict(X))[3]
    np.testing.assert_allclose(stage, shorter.predict(X), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("search", ["random", None])
def test_the_log_loss_falls_every_round(n_classes, search):
    X, y = three_classes()
    y = np.minimum(y, n_classes - 1)
    model = make(CLASSIFIER, n_estimators=40, search=search, f_to_enter=0.0).fit(X, y)
    assert len(model.train_score_) == 41
    assert (np.diff(model.train_score_) < 0).all()
    shares = model.predict_proba(X)[np.arange(len(y)), y]
    assert model.train_score_[-1] == pytest.approx(-np.log(shares).mean(), rel=1e-4)


def test_the_squared_error_falls_every_round():
    X = table()
    model = make(REGRESSOR, n_estimators=40).fit(X, X[:, 0] * X[:, 1])
    assert (np.diff(model.train_score_) < 0).all()
    assert model.train_score_[0] == pytest.approx(1.0)


def test_the_votes_get_better():
    X, y = make_waveform(200, random_state=0)
    model = make(CLASSIFIER, loss="adaboost_mh", n_estimators=40).fit(X, y)
    assert model.train_score_[-1] < 0.3 * model.train_score_[1]
    assert model.score(X, y) > 0.95


@every_loss
def test_early_stopping_keeps_the_best_round(name, loss):
    X, y = make_ringnorm(500, random_state=1)
    y = y.astype(int) ^ (np.random.default_rng(0).random(500) < 0.25)
    settings = {"early_stopping": True, "n_iter_no_change": 5, "validation_fraction": 0.3}
    model = make(name, loss=loss, n_estimators=300, learning_rate=0.5, **settings).fit(X, y)
    best = int(np.argmin(model.validation_score_))
    assert model.n_iter_ == max(1, best) < 300
    assert len(model.validation_score_) - 1 - best == 5
    assert len(list(model.staged_predict(X[:5]))) == model.n_iter_
    check_outputs(model, X)


def test_early_stopping_starts_with_many_rows():
    X = table(10_000, 2)
    y = X[:, 0] > 0
    settings = {"n_estimators": 2, "search": None, "max_leaf_nodes": 3}
    assert len(make(CLASSIFIER, **settings).fit(X, y).validation_score_) == 3
    assert not len(make(CLASSIFIER, **settings).fit(X[:-1], y[:-1]).validation_score_)
    off = make(CLASSIFIER, early_stopping=False, **settings).fit(X, y)
    assert not len(off.validation_score_)
    # Its errors drop long after its loss has begun to rise.
    votes = {**settings, "loss": "adaboost_mh", "max_leaf_nodes": None}
    assert not len(make(CLASSIFIER, **votes).fit(X, y).validation_score_)


@pytest.mark.parametrize("n_rows", [2, 3, 10, 60])
def test_early_stopping_on_few_rows_of_many_classes(n_rows):
    X = table(n_rows)
    y = np.arange(n_rows) % max(2, n_rows // 2)
    model = make(CLASSIFIER, early_stopping=True)
    try:
        model.fit(X, y)
    except ValueError as error:
        check_sentence(error, "validation_fraction")
    else:
        check_outputs(model, X)


@every_loss
def test_early_stopping_with_weights(name, loss):
    X, y = three_classes(300)
    weights = np.zeros(300)
    weights[::30] = 1.0  # so that none may be among the rows held out
    model = make(name, loss=loss, early_stopping=True, validation_fraction=0.02)
    check_outputs(model.fit(X, y, weights), X)
    assert 1 <= model.n_iter_ <= model.n_estimators


@every_loss
def test_subsample(name, loss):
    X, y = three_classes(400)
    settings = {"loss": loss, "n_estimators": 30, "min_samples_leaf": 5}
    half, again, whole = (
        make(name, subsample=share, **settings).fit(X, y) for share in (0.5, 0.5, 1.0)
    )
    check_same(half, again, X)
    assert not np.array_equal(half.train_score_, whole.train_score_)
    assert half.score(X, y) > 0.8
    assert half.forest_.n_rows[half.forest_.roots].max() == 200


@pytest.mark.parametrize("search", ["random", "look_ahead", None])
def test_stumps_have_two_leaves(search):
    X, y = three_classes()
    model = make(CLASSIFIER, loss="adaboost_mh", max_depth=1, search=search).fit(X, y)
    assert model.forest_.n_leaves == 2 * model.forest_.n_trees
    assert model.forest_.depth.max() == 1
    values = model.forest_.values.reshape(-1, 2, 3)
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])


@every_loss
def test_limits_of_the_trees(name, loss):
    X, y = three_classes()
    deep = make(name, loss=loss, max_depth=2, min_samples_leaf=3).fit(X, y).forest_
    assert deep.depth.max() == 2
    few = make(name, loss=loss, max_leaf_nodes=5, min_samples_leaf=3).fit(X, y).forest_
    assert few.n_leaves <= 5 * few.n_trees
    assert few.n_rows[few.left < 0].min() >= 3


# Against the formulas --------------------------------------------------------------------------


def naive_stump(X, signed):
    """Try every threshold of every column; signed is W times y, of shape (rows, classes)."""
    best = (-1.0, 0, 0.0, np.zeros(signed.shape[1]))
    for column, values in enumerate(X.T):
        ordered = np.unique(values)
        for low, high in itertools.pairwise(ordered):
            phi = np.where(values <= low, 1.0, -1.0)
            gamma = phi @ signed
            if np.abs(gamma).sum() > best[0] + 1e-12:
                votes = np.where(gamma >= 0, 1.0, -1.0)
                best = (np.abs(gamma).sum(), column, (low + high) / 2, votes)
    return best


def naive_adaboost(X, y, weights, n_rounds):
    """Return each round's edge, column, threshold, votes and alpha."""
    n_classes = y.max() + 1
    sign = np.where(np.arange(n_classes) == y[:, None], 1.0, -1.0)
    W = np.where(sign > 0, 0.5, 0.5 / (n_classes - 1)) * (weights / weights.sum())[:, None]
    for _ in range(n_rounds):
        edge, column, threshold, votes = naive_stump(X, W * sign)
        alpha = 0.5 * np.log((1 + edge) / (1 - edge))
        yield edge, column, threshold, votes, alpha
        h = alpha * votes * np.where(X[:, column] <= threshold, 1.0, -1.0)[:, None]
        W = W * np.exp(-h * sign)
        W = W / W.sum()


@loop_over("n_classes", [2, 3, 4])
@loop_over("seed", [0, 1, 2])
def test_votes_against_naive_adaboost(n_classes, seed):
    rng = np.random.default_rng(seed)
    X = table(30, 3, seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 30 - n_classes)])
    weights = rng.uniform(0.5, 2.0, 30)
    settings = {"loss": "adaboost_mh", "max_depth": 1, "search": None, "n_estimators": 6}
    model = make(CLASSIFIER, **settings).fit(X, y, weights)
    forest = model.forest_
    for k, (_, column, threshold, votes, alpha) in enumerate(naive_adaboost(X, y, weights, 6)):
        tree = forest.trees(k, k + 1)
        assert tree.programs[0, 0] == column
        sides = X[:, column] <= tree.threshold[0]
        np.testing.assert_array_equal(sides, X[:, column] <= threshold)
        np.testing.assert_allclose(tree.values[0], alpha * votes, rtol=1e-4)
        np.testing.assert_allclose(tree.values[1], -alpha * votes, rtol=1e-4)


@pytest.mark.parametrize("l2", [0.0, 1.0, 10.0])
def test_leaves_of_the_log_loss_of_two_classes(l2):
    X, y = three_classes()
    y, weights = y > 0, np.random.default_rng(0).uniform(0.5, 2, 200)
    model = make(CLASSIFIER, n_estimators=1, l2=l2, learning_rate=0.3).fit(X, y, weights)
    share = np.average(y, weights=weights)
    start = np.log(share / (1 - share))
    leaves = leaves_of(model, X)[:, 0]
    assert len(np.unique(leaves)) > 2
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        G = (weights * (share - y))[rows].sum()
        H = (weights * share * (1 - share))[rows].sum()
        expected = start - 0.3 * G / (H + l2)
        np.testing.assert_allclose(model.decision_function(X)[rows], expected, rtol=1e-4)


def test_leaves_of_the_log_loss_of_three_classes():
    X, y = three_classes()
    model = make(CLASSIFIER, n_estimators=1, l2=2.0, learning_rate=0.1).fit(X, y)
    shares = np.bincount(y) / len(y)
    leaves = leaves_of(model, X)
    assert leaves.shape[1] == 3
    for c in range(3):
        for leaf in np.unique(leaves[:, c]):
            rows = leaves[:, c] == leaf
            G = (shares[c] - (y[rows] == c)).sum()
            H = rows.sum() * shares[c] * (1 - shares[c])
            expected = np.log(shares[c]) - 0.1 * G / (H + 2.0)
            np.testing.assert_allclose(model.decision_function(X)[rows, c], expected, rtol=1e-4)


def test_leaves_of_the_squared_error():
    X = table()
    y = 5 + 3 * X[:, 0]
    model = make(REGRESSOR, n_estimators=1, l2=4.0, learning_rate=0.2).fit(X, y)
    leaves = leaves_of(model, X)[:, 0]
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        step = (y[rows] - y.mean()).sum() / (rows.sum() + 4.0)
        np.testing.assert_allclose(model.predict(X[rows]), y.mean() + 0.2 * step, rtol=1e-4)


def test_plain_boosting_keeps_up():
    X, y = make_waveform(2000, random_state=0)
    ours = make(CLASSIFIER, search=None, n_estimators=50).fit(X[:600], y[:600])
    peer = GradientBoostingClassifier(n_estimators=50, random_state=0).fit(X[:600], y[:600])
    assert ours.score(X[600:], y[600:]) > peer.score(X[600:], y[600:]) - 0.02


def test_several_targets_are_refused():
    X, y = three_classes()
    with pytest.raises(ValueError, match="2 columns, but boosting takes one") as caught:
        make(REGRESSOR).fit(X, np.column_stack([y, y]).astype(float))
    check_sentence(caught.value)
    with pytest.raises(ValueError, match="2 columns, but boosting takes one"):
        make(CLASSIFIER).fit(X, np.column_stack([y > 0, y > 1]).astype(int))


def test_separable_classes_stay_finite():
    X = np.linspace(-1, 1, 80)[:, None]
    for loss in ("log_loss", "adaboost_mh"):
        model = make(CLASSIFIER, loss=loss, n_estimators=200, learning_rate=1.0, min_samples_leaf=1)
        model.fit(X, X[:, 0] > 0)
        check_outputs(model, X)
        assert model.score(X, X[:, 0] > 0) == 1.0


@pytest.mark.parametrize(
    ("name", "loss", "n_columns", "same_as"),
    [
        (CLASSIFIER, "log_loss", 3, "10n"),
        (CLASSIFIER, "log_loss", 9, 60),
        (REGRESSOR, "squared_error", 9, 60),
        (CLASSIFIER, "adaboost_mh", 9, "10n"),
    ],
)
def test_the_automatic_budget_grows_with_the_root_of_the_columns(name, loss, n_columns, same_as):
    X = table(120, n_columns)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    automatic, given = (
        make(name, n_estimators=3, loss=loss, budget=budget, random_state=0).fit(X, y)
        for budget in ("auto", same_as)
    )
    check_same(automatic, given, X)


@pytest.mark.parametrize(
    ("loss", "rows", "other"), [("log_loss", 256, 4096), ("adaboost_mh", 4096, 256)]
)
def test_halving_begins_with_more_rows_where_weights_are_unlike(loss, rows, other):
    X, y = make_ringnorm(6500, random_state=0)
    automatic, given, more = (
        make(CLASSIFIER, loss=loss, halving=halving, n_estimators=5, random_state=0).fit(X, y)
        for halving in ("auto", rows, other)
    )
    check_same(automatic, given, X)
    assert not np.array_equal(automatic.predict_proba(X), more.predict_proba(X))


def same_bits(found, expected, X):
    if hasattr(found, "predict_proba"):
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        # 12 expressions and 3 columns are the candidates of a node.
        (
            CLASSIFIER,
            900,
            {"max_leaf_nodes": 9, "min_samples_leaf": 20, "f_to_enter": 0.91 * 1.8 * np.log(15)},
        ),
        (
            CLASSIFIER,
            4000,
            {"max_leaf_nodes": 31, "min_samples_leaf": 20, "f_to_enter": 0.6 * 1.8 * np.log(15)},
        ),
        (CLASSIFIER, 10_000, {"max_leaf_nodes": 31, "min_samples_leaf": 20, "f_to_enter": 0.0}),
        (
            REGRESSOR,
            900,
            {"max_leaf_nodes": 22, "min_samples_leaf": 5, "f_to_enter": 0.91 * 0.35 * np.log(15)},
        ),
        (REGRESSOR, 10_000, {"max_leaf_nodes": 31, "min_samples_leaf": 20, "f_to_enter": 0.0}),
    ],
)
def test_defaults_are_more_careful_with_few_rows(name, rows, said):
    X = table(rows, 3)
    y = np.sin(3 * X[:, 0]) + X[:, 1] > 0
    y = y if name == CLASSIFIER else y + X[:, 2]
    found, expected = (
        make(name, n_estimators=3, learning_rate=0.5, **settings).fit(X, y)
        for settings in ({}, said)
    )
    same_bits(found, expected, X)


@pytest.mark.parametrize(("rounds", "rate"), [(50, 0.1), (150, 0.1), (300, 0.05), (600, 0.025)])
def test_more_rounds_take_smaller_steps(rounds, rate):
    X, y = three_classes()
    settings = {"max_leaf_nodes": 2, "search": None, "f_to_enter": 0.0}
    found, expected = (
        make(REGRESSOR, n_estimators=rounds, learning_rate=given, **settings).fit(X, y)
        for given in (None, rate)
    )
    same_bits(found, expected, X)


@pytest.mark.parametrize(("rows", "rounds"), [(300, 600), (10_000, 100)])
def test_the_automatic_number_of_rounds(rows, rounds):
    X = table(rows, 2)
    settings = {"search": None, "max_leaf_nodes": 2, "f_to_enter": 0.0, "early_stopping": False}
    model = make(REGRESSOR, n_estimators="auto", **settings).fit(X, X[:, 0])
    assert model.n_iter_ == rounds


def test_rounds_end_when_no_test_says_more_than_chance():
    X = table(600, 4)
    noise = np.random.default_rng(0).permutation(X[:, 0] > 0)
    ended, not_ended = (
        make(CLASSIFIER, n_estimators=200, f_to_enter=f).fit(X, noise) for f in (12.0, 0.0)
    )
    assert ended.n_iter_ < not_ended.n_iter_ == 200
    told = make(CLASSIFIER, n_estimators=200, f_to_enter=12.0).fit(X, X[:, 0] + X[:, 1] > 0)
    assert told.n_iter_ > ended.n_iter_
    none = make(CLASSIFIER, n_estimators=200, f_to_enter=1e6).fit(X, noise)
    assert none.n_iter_ == none.forest_.n_leaves == 1
    check_outputs(none, X)


def test_votes_ask_for_no_f():
    X, y = three_classes()
    settings = {"loss": "adaboost_mh", "n_estimators": 5}
    found, expected = (make(CLASSIFIER, f_to_enter=f, **settings).fit(X, y) for f in (1e6, None))
    same_bits(found, expected, X)
