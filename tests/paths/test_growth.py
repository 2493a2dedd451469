"""Targets of every kind, the number of trees, limits, and input that is hard to take."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over
from tests.clock import Clock
from tests.paths.cases import make_classes, make_frame, make_table

from featurewright import ForestPathEncoder
from featurewright.engine import growth
from featurewright.engine.criteria import CLASS_CRITERIA
from featurewright.paths.convergence import MAX_HELD_OUT, hold_out

X = make_table(150)
PLANES = X[:, 0] + X[:, 1]


def correlation(y: np.ndarray, **params) -> float:
    """Correlate similarity with the nearness of a target."""
    K = ForestPathEncoder(30, random_state=0, **params).fit(X, y).kernel(X)
    target = np.asarray(y, float).reshape(len(X), -1)
    apart = ((target[:, None, :] - target[None, :, :]) ** 2).sum(axis=2)
    above = np.triu_indices(len(X), 1)
    return float(np.corrcoef(K[above], -apart[above])[0, 1])


@pytest.mark.parametrize(
    "y",
    [
        PLANES > 0,
        np.digitize(PLANES, [-1, 0, 1]),
        np.column_stack([PLANES > 0, X[:, 2] > 0]).astype(int),
        np.column_stack([np.digitize(PLANES, [-1, 1]), X[:, 2] > 0]).astype(int),
        PLANES,
        np.column_stack([PLANES, X[:, 2]]),
    ],
    ids=["binary", "classes", "labels", "several classes", "numbers", "several numbers"],
)
def test_every_kind_of_target_shapes_the_kernel(y):
    assert correlation(y) > 0.3


def test_text_classes_and_criteria():
    y = make_classes(X)
    nodes = {
        name: ForestPathEncoder(5, criterion=name, random_state=0).fit(X, y).n_nodes_
        for name in CLASS_CRITERIA
    }
    assert nodes["gini"] == ForestPathEncoder(5, random_state=0).fit(X, y).n_nodes_
    assert len(set(nodes.values())) > 1


def test_whole_numbers_can_be_numbers():
    y = np.round(4 * PLANES)
    by_class = ForestPathEncoder(5, random_state=0).fit(X, y)
    by_number = ForestPathEncoder(5, criterion="squared_error", random_state=0).fit(X, y)
    assert by_class.n_nodes_ != by_number.n_nodes_
    assert correlation(y, criterion="squared_error") > 0.2


def test_without_a_target_similar_rows_go_together():
    encoder = ForestPathEncoder(50, random_state=0).fit(X)
    above = np.triu_indices(len(X), 1)
    apart = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    assert np.corrcoef(encoder.kernel(X)[above], -apart[above])[0, 1] > 0.35
    frame = make_frame()
    similar = ForestPathEncoder(50, random_state=0).fit(frame).kernel(frame)
    same = frame["colour"].to_numpy()[:, None] == frame["colour"].to_numpy()[None, :]
    assert similar[same].mean() > similar[~same].mean() + 0.1


def test_weights_count():
    y = (X[:, 0] > 0).astype(int)
    flipped = np.concatenate([y, 1 - y])
    doubled = np.vstack([X, X])
    weights = np.r_[np.ones(150), np.zeros(150)]
    encoder = ForestPathEncoder(10, random_state=0).fit(doubled, flipped, sample_weight=weights)
    alone = ForestPathEncoder(10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(encoder.kernel(X), alone.kernel(X))
    heavy = ForestPathEncoder(10, class_weight={0: 1, 1: 50}, random_state=0).fit(X, y)
    assert heavy.n_nodes_ > 0


def test_auto_grows_until_the_kernel_stands_still():
    y = make_classes(X)
    encoder = ForestPathEncoder("auto", step=10, tol=0.02, random_state=0).fit(X, y)
    sizes = [record["n_trees"] for record in encoder.history_]
    changes = [record["change"] for record in encoder.history_]
    assert sizes == list(range(20, 10 * len(sizes) + 11, 10))
    assert encoder.n_estimators_ == encoder.forest_.n_trees == sizes[-1]
    assert changes[-1] < 0.02 <= min(changes[:-1], default=1.0)
    fixed = ForestPathEncoder(sizes[-1], random_state=0).fit(X, y)
    assert fixed.history_ == []
    np.testing.assert_array_equal(encoder.kernel(X), fixed.kernel(X))


@pytest.mark.parametrize("missing", ["random", "spread"])
def test_the_recorded_change_is_that_of_the_matrix(missing):

    table = make_table(150, 0.1)
    y = make_classes(table)
    params = {"missing": missing, "random_state": 0}
    encoder = ForestPathEncoder("auto", step=7, max_estimators=14, tol=1e-9, **params)
    encoder.fit(table, y)
    held, weights = hold_out(np.ones(150, np.float32), 0.25, encoder._seed)
    matrices = [
        ForestPathEncoder(n, **params).fit(table, y, sample_weight=weights).kernel(table[held])
        for n in (7, 14)
    ]
    change = np.abs(matrices[1] - matrices[0]).mean()
    assert encoder.history_ == [{"n_trees": 14, "change": pytest.approx(change)}]


def test_groups_are_held_out_whole():
    weights = np.ones(300, np.float32)
    weights[::7] = 0
    groups = np.random.default_rng(0).integers(0, 25, 300)
    for seed in range(5):
        held, rest = hold_out(weights, 0.25, seed, groups)
        assert set(groups[held]).isdisjoint(groups[rest > 0])
        np.testing.assert_array_equal(np.flatnonzero((weights > 0) & (rest == 0)), held)
        assert 60 <= len(held) < 64 + 20
    large = np.repeat([0, 1], 3000)  # more rows in a group than are compared
    held, rest = hold_out(np.ones(6000, np.float32), 0.25, 0, large)
    assert len(held) == MAX_HELD_OUT
    assert sorted(np.bincount(large[rest > 0], minlength=2)) == [0, 3000]


def test_groups_change_what_is_held_out_and_nothing_else():
    y = make_classes(X)
    groups = np.repeat(np.arange(15), 10)
    settings = {"step": 5, "max_estimators": 15, "tol": 1e-9, "random_state": 0}
    encoders = [ForestPathEncoder("auto", **settings) for _ in range(3)]
    encoders[0].fit(X, y)
    encoders[1].fit(X, y, groups=groups)
    encoders[2].fit_transform(X, y, groups=[f"g{k}" for k in groups + 10])
    assert encoders[0].history_ != encoders[1].history_ == encoders[2].history_
    np.testing.assert_array_equal(encoders[0].kernel(X), encoders[1].kernel(X))
    fixed = ForestPathEncoder(5, random_state=0)
    with pytest.raises(ValueError, match="groups has 3 entries"):
        fixed.fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="all rows are of one group"):
        ForestPathEncoder("auto").fit(X, y, groups=np.zeros(150))


def test_auto_stops_at_the_most_trees_and_watches_some_rows():
    table = make_table(5000)
    encoder = ForestPathEncoder(
        "auto", step=3, max_estimators=8, tol=1e-9, max_depth=4, random_state=0, n_jobs=2
    ).fit(table, make_classes(table))
    assert [record["n_trees"] for record in encoder.history_] == [6, 8]
    assert MAX_HELD_OUT == 1000


@pytest.mark.parametrize(("n_estimators", "n_whole", "n_grown"), [(500, 7, 7), ("auto", 7, 1)])
def test_time_limit_gives_what_was_grown(n_estimators, n_whole, n_grown, monkeypatch):
    table = make_table(300)
    clock = Clock(monkeypatch, "featurewright.paths.encoder")
    clock.cut_trees_after(monkeypatch, growth, n_whole)
    encoder = ForestPathEncoder(
        n_estimators, max_time=10.0, step=5, tol=1e-12, max_estimators=10**5, random_state=0
    )
    encoder.fit(table, make_classes(table))
    assert encoder.n_estimators_ == n_grown  # no time is left after the search for their number
    assert [record["n_trees"] for record in encoder.history_] == ([7] if n_grown == 1 else [])
    assert encoder.transform(table[:5]).shape == (5, encoder.n_nodes_)


def test_bad_targets_are_refused():
    with pytest.raises(ValueError, match="class_weight needs classes"):
        ForestPathEncoder(class_weight="balanced").fit(X, PLANES)
    with pytest.raises(ValueError, match="scores classes, but y is None"):
        ForestPathEncoder(criterion="gini").fit(X)
    with pytest.raises(ValueError, match="needs at least 4"):
        ForestPathEncoder("auto").fit(X[:3], [0, 1, 0])
    with pytest.raises(ValueError, match="NaN"):
        ForestPathEncoder().fit(X, np.where(PLANES > 0, np.nan, 1.0))


HARD = {
    "one row": X[:1],
    "one column": X[:, :1],
    "constant": np.ones((20, 3)),
    "all missing": np.full((20, 2), np.nan),
    "huge": X * np.float32(1e30),
    "tiny": X * np.float32(1e-30),
    "half missing": make_table(150, 0.5),
}


@loop_over("missing", ["random", "spread"])
@pytest.mark.parametrize("name", HARD)
def test_hard_tables(name, missing):
    table = HARD[name]
    n = len(table)
    targets = [None, np.zeros(n, int), np.arange(n) % 2, np.arange(n) + 0.5, np.arange(n) * 1e300]
    for y in targets:
        encoder = ForestPathEncoder(3, missing=missing, random_state=0).fit(table, y)
        encoding = encoder.transform(table)
        assert np.isfinite(encoding.data).all()
        assert np.isfinite(encoder.kernel(table)).all()
        assert len(encoder.get_feature_names_out()) == encoder.n_nodes_


def test_many_classes():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1100, 3))
    encoder = ForestPathEncoder(2, random_state=0).fit(table, np.arange(1100) % 500)
    assert encoder.transform(table).shape == (1100, encoder.n_nodes_)


def test_infinite_values_are_refused():
    with pytest.raises(ValueError, match="inf"):
        ForestPathEncoder(2).fit(np.array([[1.0], [np.inf]]), [0, 1])
