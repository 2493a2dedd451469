"""Model files of features over links: what is stored, and what has to be passed."""

from __future__ import annotations

import io
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.relations.test_features import days, shop, shop_features

import featurewright
from featurewright import Link, RelationalFeatures
from featurewright.export import ModelFileError


def reload(model: Any) -> Any:
    file = io.BytesIO()
    featurewright.save(model, file)
    return featurewright.load(file)


def test_linked_rows_are_stored_where_asked() -> None:
    customers, orders, y = shop()
    model = shop_features(orders, store_links=True).fit(customers, y)
    loaded = reload(model)
    np.testing.assert_array_equal(loaded.transform(customers), model.transform(customers))
    assert loaded.features_ == model.features_


def test_labels_that_are_compared_are_stored() -> None:
    customers, orders, _ = shop()
    latest = orders.filter(pl.col("date") < days([100])[0]).sort("date")
    latest = latest.group_by("customer").agg(pl.col("channel").last())
    y = customers.join(latest, on="customer", how="left")["channel"].fill_null("").to_numpy()
    customers = customers.with_columns(now=pl.Series(days([100] * len(customers))))
    model = shop_features(orders, aggregates=["last", "mode"]).fit(customers, y)
    (level,) = {f.level for f in model.features_ if f.aggregate == "last" and f.level is not None}
    loaded = reload(model)
    assert loaded.features_ == model.features_
    links = {"orders": orders}
    np.testing.assert_array_equal(
        loaded.transform(customers, links=links), model.transform(customers)
    )
    for changed in (
        {"level": replace(level, code=2.0)},
        {"level": replace(level, code=0.5)},
        {"aggregate": "sum"},
    ):
        wrong = copy(model)
        wrong.features_ = tuple(
            replace(f, **changed) if f.level == level else f for f in model.features_
        )
        with pytest.raises(ModelFileError):
            reload(wrong)


def test_linked_tables_are_passed_where_they_are_not_stored() -> None:
    customers, orders, y = shop()
    model = shop_features(orders).fit(customers, y)
    file = io.BytesIO()
    featurewright.save(model, file)
    assert len(file.getvalue()) < 20_000
    loaded = featurewright.load(file)
    with pytest.raises(ValueError, match=r"rows of 'orders': pass .* or fit with store_links"):
        loaded.transform(customers)
    expected = model.transform(customers)
    np.testing.assert_array_equal(loaded.transform(customers, links={"orders": orders}), expected)
    with pytest.raises(TypeError, match="is a NoneType, but a data frame"):
        loaded.fit(customers, y)


def test_statistics_of_groups_are_stored() -> None:
    rng = np.random.default_rng(0)
    n = 600
    frame = pl.DataFrame(
        {
            "district": rng.choice(["a'b", 'c"d', "", "é"], n),
            "size": rng.normal(size=n),
            "day": days(rng.integers(0, 90, n)),
        }
    )
    means = frame.select(pl.col("size").mean().over("district"))["size"].to_numpy()
    y = 30.0 * means + frame["district"].is_in([""]).to_numpy() * 3.0
    for as_of in (None, "day"):
        model = RelationalFeatures([Link.group(on="district")], as_of=as_of, random_state=0)
        model.fit(frame, y)
        assert "mean(target, same district)" in model.get_feature_names_out()
        loaded = reload(model)
        rows = {} if as_of is None else {"same district": frame}
        np.testing.assert_array_equal(loaded.transform(frame, links=rows), model.transform(frame))
        assert not any(source.linked for source in loaded._sources)


def test_nested_tables_and_earlier_targets() -> None:
    rng = np.random.default_rng(0)
    n, m = 300, 2000
    lines = pd.DataFrame({"order": rng.integers(0, m, 3 * m), "units": rng.exponential(1, 3 * m)})
    orders = pd.DataFrame(
        {"customer": rng.integers(0, 100, m), "order": np.arange(m), "day": rng.random(m) * 50}
    )
    nested = [Link(lines, on="order", name="lines")]
    rows = pd.DataFrame({"customer": np.arange(n) % 100, "now": 20.0 + rng.random(n) * 30})
    units = orders.merge(lines, on="order").groupby("customer")["units"].sum()
    y = rows["customer"].map(units).fillna(0.0).to_numpy()
    links = [
        Link(orders, on="customer", time="day", name="orders", links=nested),
        Link.history(on="customer", time="now", target_delay=1.0),
    ]
    model = RelationalFeatures(links, as_of="now", random_state=0).fit(rows, y)
    used = {feature.link for feature in model.features_}
    assert used == {"orders", "history"}
    loaded = reload(model)
    with pytest.raises(ValueError, match=r"'orders', 'lines', 'history'.*column 'target'"):
        loaded.transform(rows)
    tables = {"orders": orders, "lines": lines, "history": rows.assign(target=y)}
    np.testing.assert_array_equal(loaded.transform(rows, links=tables), model.transform(rows))
    twice = {**tables, "lines": pd.concat([lines, lines])}
    newer = loaded.transform(rows, links=twice)
    np.testing.assert_array_equal(newer, model.transform(rows, links={"lines": twice["lines"]}))
    assert not np.array_equal(newer, model.transform(rows))
