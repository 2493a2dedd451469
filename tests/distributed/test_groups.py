"""Statistics of groups and their targets from all partitions; training rows without a leak."""

from __future__ import annotations

import math

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from featurewright import AutoFeatures, Link, RelationalFeatures
from featurewright.distributed import fit
from featurewright.distributed.fitting import search_sides
from featurewright.distributed.groups import pool_groups
from featurewright.distributed.rows import Partitions
from featurewright.relations import sums
from featurewright.relations.keys import learn_keys, read_keys
from featurewright.relations.sums import ExactSums, KeySums, ValueSums

pytestmark = pytest.mark.usefixtures("in_this_thread")

N = 3_000


@pytest.fixture(scope="module")
def frame():
    """Flats whose price follows from their district, in ways that a table of it does not show."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"district": rng.integers(0, 60, N), "kind": rng.choice(["a", "b"], N)})
    level = rng.normal(size=60)[table["district"]]
    table["area"] = 50 + 10 * level + rng.normal(size=N)
    table["rent"] = rng.lognormal(size=N) * (1 + table["district"] % 3)
    table.loc[rng.random(N) < 0.1, "rent"] = np.nan
    table.loc[rng.random(N) < 0.02, "district"] = np.nan
    spread = table.groupby("district")["rent"].transform("std").fillna(0.0)
    table["price"] = level + spread + 0.3 * rng.normal(size=N)
    return table


def parts(frame, n, target="price"):
    table = dd.from_pandas(frame, npartitions=n)
    return table.drop(columns="price"), table[target]


def features(**settings):
    link = Link.group(on="district", name="same district")
    return RelationalFeatures([link], n_features_out=6, random_state=0, **settings)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
def test_sums_are_exact_in_any_order(scale):
    rng = np.random.default_rng(0)
    values = rng.normal(size=5_000) * np.exp(30 * rng.normal(size=5_000)) * scale
    values[::7] = -values[3]
    codes = rng.integers(0, 4, len(values))
    expected = [math.fsum(values[codes == k]) for k in range(4)]
    found = ExactSums.of(values, codes, 4).totals()
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    order = rng.permutation(len(values))
    np.testing.assert_array_equal(ExactSums.of(values[order], codes[order], 4).totals(), found)


def test_statistics_are_those_of_all_rows(frame):
    X, y = frame.drop(columns="price"), frame["price"]
    found = []
    for n in (1, 7):
        model = fit(features(), *parts(frame, n), max_rows=600)
        assert model.drawn_.groups == model.drawn_.medians == "all rows"
        assert model.drawn_.n_drawn == 600
        found.append(model.transform(X))
    np.testing.assert_array_equal(*found)
    names = list(model.get_feature_names_out())
    assert any("rent" in name for name in names)
    assert "mean(target, same district)" in names
    for feature in map(str, model.features_):
        column = found[0][:, names.index(feature)]
        aggregate, inside = feature.split("(", 1)
        what = inside.rstrip(")").removeprefix("same district.").removeprefix("same district: ")
        if "," in what or what not in frame or aggregate not in ("mean", "std", "min", "max"):
            continue
        expected = frame.groupby("district")[what].transform(aggregate)
        rows = expected.notna()
        np.testing.assert_allclose(column[rows], expected[rows], rtol=1e-9)
    target = found[0][:, names.index("mean(target, same district)")]
    np.testing.assert_allclose(target, features().fit(X, y).transform(X)[:, -1], rtol=1e-12)


def test_training_rows_do_not_see_themselves(frame):
    X, y = frame.drop(columns="price"), frame["price"]
    tables = []
    for n in (1, 6):
        lazy_rows, target = parts(frame, n)
        model = features(keep_missing=True)
        found = model.fit_transform(lazy_rows, target)
        assert isinstance(found, dd.DataFrame)
        pd.testing.assert_index_equal(found.compute().index, frame.index)
        tables.append(found.compute())
    pd.testing.assert_frame_equal(*tables)
    local = features(keep_missing=True)
    expected = pd.DataFrame(local.fit_transform(X, y), columns=local.get_feature_names_out())
    names = [str(feature) for feature in model.features_]
    assert names == [str(feature) for feature in local.features_]
    np.testing.assert_allclose(tables[0][names], expected[names], rtol=1e-9)
    mean = "mean(target, same district)"
    assert mean in tables[0]
    assert "mean(target, same district)" in tables[0]


def test_targets_are_out_of_fold():
    rng = np.random.default_rng(0)
    code, noise = np.arange(N) // 5, rng.normal(size=N)
    level = 3 * rng.normal(size=N // 5)[code]
    table = pd.DataFrame({"code": code, "other": rng.normal(size=N), "price": level + noise})
    model = RelationalFeatures([Link.group(on="code", name="same")], random_state=0)
    mean = "mean(target, same)"
    told = [
        model.fit_transform(*parts(table, 4)).compute()[mean] - level,
        model.transform(parts(table, 4)[0]).compute()[mean] - level,
    ]
    own, leaking = (np.corrcoef(column, noise)[0, 1] for column in told)
    assert abs(own) < 0.06
    assert leaking > 0.2


def test_rows_that_are_held_out_do_not_count(frame):
    X, y = parts(frame, 6)
    partitions = Partitions(X, y=y)
    side, _ = search_sides(AutoFeatures(), partitions, 0)
    counts = np.flatnonzero(side.mask(None, np.arange(N)))
    assert 0.7 * N < len(counts) < 0.9 * N
    model = fit(features(), X, y, max_rows=N)
    sample = partitions.rows(np.arange(N))
    assert pool_groups(model, partitions, sample, 0, side) is not None
    rows = frame.iloc[counts]
    known = features().fit(rows.drop(columns="price"), rows["price"])
    plain = frame.drop(columns="price")
    np.testing.assert_allclose(model.transform(plain)[:, -1], known.transform(plain)[:, -1])


def test_classes_and_keys_of_text(frame):
    level = frame.groupby("district")["price"].transform("mean")
    labels = np.where(level + 0.3 * frame["rent"].fillna(1.0) > 0.5, "dear", "cheap")
    table = frame.assign(price=labels, district=frame["district"].map("d {:g}".format))
    model = fit(features(), *parts(table, 5), max_rows=2_500)
    local = features().fit(table.drop(columns="price"), labels)
    name = "share(target = dear, same district)"
    assert name in model.get_feature_names_out()
    X = table.drop(columns="price")
    np.testing.assert_allclose(model.transform(X)[:, -1], local.transform(X)[:, -1], rtol=1e-12)


def test_too_many_keys(frame, monkeypatch):
    monkeypatch.setattr(sums, "MAX_KEYS", 20)
    with pytest.raises(ValueError, match="'same district' has more than 20 keys"):
        fit(features(), *parts(frame, 3), max_rows=800)


def test_keys_that_partitions_hold_differently():
    found = []
    for values in ([1, 2], [0.5, 2.0], ["a", "b"]):
        columns = read_keys(pd.DataFrame({"key": values}), ["key"], "X")
        index, codes = learn_keys(columns, ["key"])
        one = ValueSums.of(np.array([1.0, 3.0]), codes, 2, 0.0)
        found.append(KeySums(index, np.ones(2, np.int64), [one], []))
    joined = sums.join_key_sums(found[:2], "same")
    assert joined.index.values() == [[0.5, 1.0, 2.0]]
    assert joined.n_rows.tolist() == [1, 1, 2]
    assert joined.values[0].total.totals().tolist() == [1.0, 1.0, 6.0]
    with pytest.raises(TypeError, match="'same' holds numbers in one partition and text"):
        sums.join_key_sums(found, "same")


def test_a_search_is_proved_with_statistics_of_other_rows(frame):
    found = []
    for n in (1, 5):
        model = AutoFeatures(
            links=[Link.group(on="district", name="same district")],
            effort="quick",
            methods=["batch"],
            random_state=0,
        )
        fit(model, *parts(frame, n), max_rows=700)
        found.append(model.predict(frame.drop(columns="price")))
    np.testing.assert_array_equal(*found)
    assert model.drawn_.groups == model.drawn_.medians == "all rows"
    assert model.linked_ is not None
    names = [str(feature) for feature in model.linked_.relational.features_]
    assert not [name for name in names if name.startswith(("count", "sum"))]
    proof = model.drawn_.held_out
    assert proof["score"] > proof["baseline"]
    assert np.isfinite(model.transform(parts(frame, 3)[0]).compute()).all(axis=None)
    assert "_of_sample" not in vars(model.linked_.relational)
    assert len(model.limit(1).features_) == 1
