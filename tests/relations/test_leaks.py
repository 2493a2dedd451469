"""What must not leak into a row, tried."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.relations.test_features import days, shop, shop_features

from featurewright import Link, RelationalFeatures
from featurewright.relations.keys import read_keys
from featurewright.relations.sources import as_frame, target_rows
from featurewright.relations.targets import TargetColumns


def column(model: RelationalFeatures, values: np.ndarray, name: str) -> np.ndarray:
    """Return a column of the result by its name."""
    return values[:, list(model.get_feature_names_out()).index(name)]


def test_a_column_that_is_the_future() -> None:
    rng = np.random.default_rng(0)
    n = 500
    y = rng.normal(size=n)
    rows = pl.DataFrame({"key": np.arange(n), "now": days(np.full(n, 10))})
    # The target itself, known at the time of the row, and later.
    for when in (10.0, 10.001, 50.0):
        known = pl.DataFrame({"key": np.arange(n), "date": days(np.full(n, when)), "value": y})
        link = Link(known, on="key", time="date")
        with pytest.warns(UserWarning, match="No row of X sees a row"):
            model = RelationalFeatures([link], as_of="now", random_state=0).fit(rows, y)
        assert not model.features_
    known = known.with_columns(date=pl.Series(days(np.full(n, 9.999))))
    link = Link(known, on="key", time="date")
    assert RelationalFeatures([link], as_of="now", random_state=0).fit(rows, y).features_


@pytest.mark.parametrize("delay", [0.0, 1e-300, 1.0])
def test_the_target_of_a_row_and_of_rows_at_its_time(delay: float) -> None:
    rng = np.random.default_rng(0)
    n = 400
    key, time = rng.integers(0, 3, n), rng.integers(0, 60, n).astype(float)
    y = rng.normal(size=n)
    rows = pl.DataFrame({"key": key, "time": time})
    links = [Link.history(on="key", time="time", target_delay=delay)]
    columns = TargetColumns(("target",), ("target",), None)
    linked = target_rows(links[0], as_frame(rows, "X"), y[:, np.newaxis], columns)
    keys = linked.index.find(read_keys(rows, ["key"], "X"), ["key"])
    starts, ends = linked.spans(keys, np.nextafter(time, np.inf))
    for row in range(n):
        seen = linked.matrix[starts[row] : ends[row], 0]
        expected = y[(key == key[row]) & (time < time[row]) & (time + delay <= time[row])]
        assert sorted(seen) == sorted(expected)


def test_group_targets_of_earlier_rows_alone() -> None:
    rng = np.random.default_rng(0)
    n = 600
    key, time = rng.integers(0, 6, n), rng.integers(0, 90, n).astype(float)
    y = (key % 2) * 2.0 + rng.normal(size=n) * 0.3
    rows = pl.DataFrame({"key": key.astype(str), "now": time})
    for delay in (0.0, 5.0):
        links = [Link.group(on="key", target_delay=delay)]
        model = RelationalFeatures(links, as_of="now", keep_missing=True, random_state=0)
        values = model.fit_transform(rows, y)
        mean = column(model, values, "mean(target, same key)")
        for row in range(n):
            known = (time < time[row]) & (time + delay <= time[row])
            mine = y[known & (key == key[row])]
            expected = np.nan
            if known.any():
                expected = (mine.sum() + 10.0 * y[known].mean()) / (len(mine) + 10.0)
            np.testing.assert_allclose(mean[row], expected, rtol=1e-10)
        np.testing.assert_array_equal(model.transform(rows), values)


def test_folds_of_group_targets_keep_groups_together() -> None:
    rng = np.random.default_rng(0)
    # Rows of one label have one target, and each label one district: its own rows tell it.
    label = np.repeat(np.arange(100), 5)
    y = rng.normal(size=100)[label]
    rows = pl.DataFrame({"district": label.astype(str)})
    links = [Link.group(on="district")]
    leaky = RelationalFeatures(links, random_state=0).fit(rows, y)
    assert "mean(target, same district)" in leaky.get_feature_names_out()
    model = RelationalFeatures(links, random_state=0).fit(rows, y, groups=label)
    assert list(model.get_feature_names_out()) == ["district"]
    with pytest.raises(ValueError, match="groups has 3 entries"):
        model.fit(rows, y, groups=[1, 2, 3])


def test_keys_with_one_row_each() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 300
        rows = pl.DataFrame({"key": np.arange(n).astype(str), "size": rng.normal(size=n)})
        y = rng.integers(0, 2, n)
        model = RelationalFeatures([Link.group(on="key")], random_state=0).fit(rows, y)
        assert list(model.get_feature_names_out()) == ["key", "size"]


def test_noise() -> None:
    """Random keys and shuffled targets: nothing, or hardly anything, is kept."""
    kept = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        customers, orders, y = shop(seed, 200)
        y = rng.permutation(y)
        customers = customers.with_columns(district=rng.integers(0, 20, 200).astype(str))
        links = [
            Link(orders, on="customer", time="date", name="orders"),
            Link.group(on="district"),
            Link.history(on="district", time="now", name="before", target_delay=0.0),
        ]
        model = RelationalFeatures(links, as_of="now", budget=300, random_state=seed)
        kept.append(model.fit(customers, y)._n_columns)
    assert sum(number > 0 for number in kept) <= 3
    assert sum(kept) <= 6


def test_values_that_nobody_sees_change_nothing() -> None:
    customers, orders, y = shop()
    unseen = pl.DataFrame(
        {"customer": [77_777], "date": days([1]), "amount": [1e30], "channel": ["web"]}
    )
    alone = shop_features(orders).fit_transform(customers, y)
    more = shop_features(pl.concat([orders, unseen])).fit_transform(customers, y)
    np.testing.assert_array_equal(more, alone)


def future(hours: float) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return rows, and their targets in a table that is dated so many hours after them."""
    rng = np.random.default_rng(0)
    n = 300
    now = [dt.datetime(2024, 3, 9, 10) + dt.timedelta(days=float(d)) for d in rng.integers(0, 9, n)]
    y = rng.normal(size=n)
    rows = pl.DataFrame({"key": np.arange(n), "now": now})
    known = rows.select("key", date=pl.col("now") + pl.duration(hours=hours), value=pl.Series(y))
    return rows, known, y


def sees_nothing(rows: Any, known: Any, y: np.ndarray) -> bool:
    link = Link(known, on="key", time="date")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = RelationalFeatures([link], as_of="now", random_state=0).fit(rows, y)
    return bool(told) and not model.features_


def test_texts_with_offsets_are_instants() -> None:
    rows, known, y = future(-1.0)  # an hour before by the clock on the wall, seven after in truth
    rows = rows.with_columns(now=pl.col("now").dt.to_string("%Y-%m-%dT%H:%M:%S") + "+00:00")
    written = pl.col("date").dt.to_string("%Y-%m-%d %H:%M:%S")
    assert sees_nothing(rows, known.with_columns(date=written + "-08:00"), y)
    assert not sees_nothing(rows, known.with_columns(date=written + "Z"), y)
    with pytest.raises(TypeError, match="time zone"):
        sees_nothing(rows, known.with_columns(date=written), y)
    mixed = pl.when(pl.col("key") > 9).then(written + "Z").otherwise(written)
    with pytest.raises(TypeError, match="others have none"):
        sees_nothing(rows, known.with_columns(date=mixed), y)


def test_objects_with_zones_are_instants() -> None:
    rows, known, y = future(-1.0)
    west = dt.timezone(dt.timedelta(hours=-8))
    objects = known.to_pandas()
    objects["date"] = pd.Series([d.replace(tzinfo=west) for d in known["date"]], dtype=object)
    frame = rows.with_columns(pl.col("now").dt.replace_time_zone("UTC")).to_pandas()
    assert sees_nothing(frame, objects, y)


def test_what_is_dated_to_a_day_is_known_when_it_is_over() -> None:
    rows, known, y = future(0.0)
    days_alone = known.with_columns(pl.col("date").dt.date())
    assert sees_nothing(rows, days_alone, y)
    assert sees_nothing(rows, days_alone.with_columns(pl.col("date").cast(pl.Datetime)), y)
    assert sees_nothing(rows, days_alone.with_columns(pl.col("date").cast(pl.String)), y)
    before = days_alone.with_columns(pl.col("date") - pl.duration(days=1))
    assert not sees_nothing(rows, before, y)
