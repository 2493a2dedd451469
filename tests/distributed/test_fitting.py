"""Fits on Dask collections: who is drawn depends on the numbers of rows, not on partitions."""

from __future__ import annotations

import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from tests.distributed import models
from tests.distributed.conftest import QUIET

from featurewright import (
    AutoFeatures,
    BatchConstructor,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesRegressor,
    ConstructiveForestClassifier,
    ForestPathEncoder,
    Link,
    RecursiveSelectiveTransformer,
)
from featurewright.distributed import fit, units
from featurewright.distributed.drawn import row_chances
from featurewright.distributed.fitting import draw_rows, search_sides
from featurewright.distributed.rows import Partitions

N = 3_000


pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
    table["colour"] = rng.choice(["red", "green", "blue"], N)
    table.loc[1234, "colour"] = "rare"
    table["class"] = np.digitize(table["a"] * table["b"], [-1, 1.5])
    table["number"] = table["a"] * table["b"] + 0.1 * table["c"]
    table["group"] = rng.integers(0, 60, N)
    return table


def lazy(frame, n_partitions):
    return dd.from_pandas(frame, npartitions=n_partitions)


def columns(frame, target):
    return frame.drop(columns=["class", "number", "group"]), frame[target]


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda: ConstructiveForestClassifier(4, max_samples=300, random_state=0), "class"),
        (lambda: ConstructiveExtraTreesRegressor(4, max_samples=300, random_state=0), "number"),
        (lambda: ForestPathEncoder(4, max_samples=300, random_state=0), "class"),
        (lambda: ConstructiveBoostingRegressor(4, random_state=0), "number"),
        (lambda: BatchConstructor(random_state=0), "class"),
        (lambda: RecursiveSelectiveTransformer(n_recursions=1, random_state=0), "class"),
    ],
)
def test_partitions_do_not_matter(frame, make, target):
    rows = columns(frame, target)[0][:50]
    found = []
    for n_partitions in (1, 7):
        model = fit(make(), *columns(lazy(frame, n_partitions), target), max_rows=500)
        found.append(model.transform(rows))
        assert model.drawn_.n_rows == N
    np.testing.assert_array_equal(
        *(getattr(one, "toarray", lambda one=one: one)() for one in found)
    )


def test_a_cluster_fits_and_computes_the_same(frame, processes):
    X, y = columns(lazy(frame, 5), "class")
    model = ConstructiveForestClassifier(4, max_samples=300, random_state=0)
    expected = model.fit(X, y).predict_proba(X).compute()
    with processes.as_current(), dask.config.set(scheduler=processes):
        actual = model.fit(X, y).predict_proba(X).compute()
    pd.testing.assert_frame_equal(actual, expected)


def test_collections_do_not_wait_for_lost_workers(monkeypatch):
    monkeypatch.setattr(units, "LOST_SECONDS", 0.5)
    numbers = [dask.delayed(time.sleep)(0.05) for _ in range(400)]
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, **QUIET) as cluster,
        Client(cluster) as client,
        dask.config.set(scheduler=client),
        pytest.raises(RuntimeError, match=r"all workers .* lost after \d+ of 400 units"),
    ):
        units.compute_all(numbers, "nap", lambda done: cluster.scale(0))


def test_parts_that_dask_joins_when_it_reads_one_column(frame, tmp_path):
    # Of columns of text, the target is the smallest part, and Dask reads several files at once.
    wide = frame.assign(**{f"text {k}": frame["colour"] * 20 for k in range(30)})
    for k in range(6):
        wide[k * 500 : (k + 1) * 500].to_parquet(tmp_path / f"{k}.parquet")
    table = dd.read_parquet(tmp_path)
    X = table[["a", "b", "colour"]]
    partitions = Partitions(X, y=table["class"], groups=table["group"])
    assert len(partitions) == N
    numbers = np.array([3, 700, 2999])
    rows = partitions.rows(numbers)
    assert list(rows.X.columns) == ["a", "b", "colour"]
    np.testing.assert_array_equal(rows.y, frame["class"].to_numpy()[numbers])
    np.testing.assert_array_equal(rows.X["a"], frame["a"].to_numpy()[numbers])
    np.testing.assert_array_equal(rows.groups, frame["group"].to_numpy()[numbers])


def test_trees_see_rows_of_all_partitions(frame):
    model = ConstructiveForestClassifier(12, max_samples=400, random_state=0)
    model.fit(*columns(lazy(frame, 6), "class"))
    assert model.drawn_.n_drawn == 400
    assert model.drawn_.by == "trees"
    assert model.n_estimators_ == 12
    roots = model.forest_.roots
    assert set(model.forest_.n_rows[roots]) == {400}
    assert len({tuple(model.forest_.threshold[root : root + 3]) for root in roots}) > 6
    X, y = columns(frame, "class")
    assert model.score(X, y) > 0.75
    # A level that a single row has is known, though no tree may have drawn that row.
    assert "rare" in model._schema.levels[4]


def test_samples_keep_the_shares_of_classes(frame):
    X, y = columns(lazy(frame, 5), "class")
    numbers, by = draw_rows(Partitions(X, y=y), 0, 300)
    assert by == "classes"
    drawn = frame["class"].to_numpy()[numbers]
    counts = np.bincount(frame["class"]) / N * 300
    np.testing.assert_allclose(np.bincount(drawn), counts, atol=1)
    assert (np.diff(numbers) > 0).all()


def test_groups_are_drawn_whole(frame):
    X, y = columns(lazy(frame, 5), "class")
    numbers, by = draw_rows(Partitions(X, y=y, groups=lazy(frame, 5)["group"]), 0, 1_000)
    assert by == "groups"
    drawn = set(frame["group"].to_numpy()[numbers])
    assert 5 < len(drawn) < 40
    assert len(numbers) == frame["group"].isin(drawn).sum()


def test_a_search_is_proved_on_rows_it_has_not_seen(frame):
    model = AutoFeatures(effort="quick", methods="batch", random_state=0)
    fit(model, *columns(lazy(frame, 5), "number"), max_rows=400)
    assert model.drawn_.n_drawn == 400
    proof = model.drawn_.held_out
    assert proof["n_rows"] == 400
    assert proof["score"] > proof["baseline"] + 0.1


def test_search_and_proof_share_no_row(frame):
    X, y = columns(lazy(frame, 5), "class")
    for others in ({}, {"groups": lazy(frame, 5)["group"]}):
        partitions = Partitions(X, y=y, **others)
        sides = search_sides(AutoFeatures(), partitions, 0)
        seen, unseen = (draw_rows(partitions, 0, 2_000, side)[0] for side in sides)
        assert len(seen)
        assert len(unseen)
        assert not set(seen) & set(unseen)


def with_days(frame):
    """Add a day to the rows, in no order, of which each is many rows'."""
    days = np.random.default_rng(1).integers(0, 200, N)
    return frame.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"))


@pytest.mark.parametrize("grouped", [False, True])
def test_a_search_with_times_holds_out_later_rows(frame, grouped):
    table = with_days(frame)
    drawn = []
    for n_partitions in (1, 6):
        parts = lazy(table, n_partitions)
        others = {"groups": parts["group"]} if grouped else {}
        partitions = Partitions(parts[["a", "day"]], y=parts["class"], **others)
        sides = search_sides(AutoFeatures(as_of="day"), partitions, 0)
        drawn.append([draw_rows(partitions, 0, 900, side)[0] for side in sides])
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(one, other)
    seen, unseen = drawn[0]
    assert len(seen) > 400
    assert len(unseen) > 40
    assert table["day"].iloc[seen].max() < table["day"].iloc[unseen].min()
    if grouped:
        assert not set(table["group"].iloc[seen]) & set(table["group"].iloc[unseen])


def test_histories_are_drawn_whole(frame):
    table = with_days(frame)
    parts = lazy(table, 5)
    model = AutoFeatures(links=[Link.history(on="group", time="day")])
    partitions = Partitions(parts[["a", "day", "group"]], y=parts["class"])
    sides = search_sides(model, partitions, 0)
    (seen, by), (unseen, _) = (draw_rows(partitions, 0, 900, side) for side in sides)
    assert by == "keys"
    keys, latest = set(table["group"].iloc[seen]), table["day"].iloc[seen].max()
    assert 5 < len(keys) < 55
    early = table["group"].isin(keys) & (table["day"] <= latest)
    assert len(seen) == early.sum()
    assert table["day"].iloc[unseen].min() > latest


def test_a_search_says_that_it_was_proved_on_later_rows(frame):
    table = with_days(frame)
    X = lazy(table, 4)[["a", "b", "c", "day"]]
    model = AutoFeatures(effort="quick", methods="batch", as_of="day", random_state=0)
    fit(model, X, lazy(table, 4)["number"], max_rows=400)
    assert model.drawn_.held_out_is_later
    assert model.drawn_.levels == model.drawn_.medians == "all rows"
    assert model.drawn_.held_out["score"] > model.drawn_.held_out["baseline"] + 0.1


def test_rows_of_one_time_have_no_order(frame):
    X = lazy(frame.assign(day=1.0), 3)[["a", "day"]]
    partitions = Partitions(X, y=lazy(frame, 3)["class"])
    seen, held_out = search_sides(AutoFeatures(as_of="day"), partitions, 0)
    assert seen.latest is held_out.latest is None
    with pytest.raises(ValueError, match="missing times"):
        search_sides(
            AutoFeatures(as_of="day"), Partitions(X.assign(day=X["day"].where(X["a"] > 0))), 0
        )


def test_arrays_with_weights(frame):
    X = da.from_array(frame[["a", "b"]].to_numpy(), chunks=(700, 1))
    y = da.from_array(frame["class"].to_numpy(), chunks=700)
    weight = da.from_array((frame["class"] < 2).to_numpy(float), chunks=700)
    model = ConstructiveForestClassifier(3, max_samples=500, random_state=0)
    model.fit(X, y, sample_weight=weight)
    # A class whose rows weigh nothing is known and never predicted.
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert not (model.predict(frame[["a", "b"]].to_numpy()) == 2).any()


def test_what_does_not_belong_together_is_refused(frame):
    X, y = columns(lazy(frame, 4), "class")
    model = ConstructiveForestClassifier(2, random_state=0)
    with pytest.raises(ValueError, match="y has 3 partitions, but X has 4"):
        model.fit(X, lazy(frame, 3)["class"])
    with pytest.raises(TypeError, match="y is a ndarray, but X is a Dask collection"):
        model.fit(X, frame["class"].to_numpy())
    with pytest.raises(ValueError, match="out-of-bag results need all rows"):
        model.set_params(oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="X has no row"):
        BatchConstructor().fit(X[X["a"] > 1e9], y[X["a"] > 1e9])


def test_chances_are_even():
    chances = row_chances(np.arange(100_000), 3)
    counts = np.histogram(chances, 10, (0, 1))[0]
    assert abs(counts - 10_000).max() < 500
    assert abs(np.corrcoef(chances[1:], chances[:-1])[0, 1]) < 0.02


def test_fit_transform_is_lazy(frame):
    X, y = columns(lazy(frame, 4), "class")
    found = ConstructiveForestClassifier(2, max_samples=200, random_state=0).fit_transform(X, y)
    assert isinstance(found, dd.DataFrame)


def test_the_model_of_a_collection_is_an_ordinary_one(frame):
    X, y = columns(lazy(frame, 4), "class")
    model = ConstructiveForestClassifier(2, max_samples=200, random_state=0).fit(X, y)
    assert "_grown_elsewhere" not in vars(model)
    table = models.make_table()
    assert model.fit(table[0], table[1]).n_features_in_ == 6
