"""Linked tables that are Dask DataFrames: the same values as in memory, whatever the partitions."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.relations.test_features import shop

from featurewright import AutoFeatures, Link, RelationalFeatures
from featurewright.distributed import fit, linked
from featurewright.export import load, save

pytestmark = pytest.mark.usefixtures("in_this_thread")

SETTINGS = {"n_features_out": 4, "random_state": 0}


@pytest.fixture(scope="module")
def tables():
    """Customers with lines of their orders, three tables that belong to each other."""
    customers, orders, y = shop()
    customers, orders = customers.to_pandas(), orders.to_pandas()
    rng = np.random.default_rng(1)
    orders["order"] = np.arange(len(orders))
    lines = pd.DataFrame({"order": rng.integers(0, len(orders), 2 * len(orders))})
    lines["price"] = rng.exponential(5.0, len(lines))
    return customers, orders, lines, y


def parts(frame, n):
    return dd.from_pandas(frame, npartitions=n)


def features(orders, lines=None, **settings):
    below = [] if lines is None else [Link(lines, on="order", name="lines")]
    link = Link(orders, on="customer", time="date", name="orders", links=below)
    return RelationalFeatures([link], as_of="now", **{**SETTINGS, **settings})


@pytest.mark.parametrize(("n_rows", "n_orders"), [(1, 1), (3, 5), (7, 2)])
def test_values_are_those_of_tables_in_memory(tables, n_rows, n_orders):
    customers, orders, _, y = tables
    known = features(orders).fit(customers, y)
    model = features(parts(orders, n_orders)).fit(customers, y)
    assert list(map(str, model.features_)) == list(map(str, known.features_))
    assert "sum(orders.amount, where channel = 'web')" in map(str, model.features_)
    expected = known.transform(customers)
    np.testing.assert_array_equal(model.transform(customers), expected)
    table = parts(customers, n_rows)
    found = model.transform(table)
    assert isinstance(found, dd.DataFrame)
    assert found.divisions == table.divisions
    pd.testing.assert_index_equal(found.compute().index, customers.index)
    np.testing.assert_array_equal(found.compute(), expected)
    newer = orders[orders["customer"] % 2 == 0]
    np.testing.assert_array_equal(
        model.transform(table, links={"orders": parts(newer, 2)}),
        known.transform(customers, links={"orders": newer}),
    )
    # Tables in memory go to all workers.
    np.testing.assert_array_equal(
        known.transform(table, {"orders": newer}), known.transform(customers, {"orders": newer})
    )


@pytest.mark.parametrize("above_in_memory", [False, True])
def test_links_of_linked_collections(tables, above_in_memory):
    customers, orders, lines, y = tables
    settings = {"aggregates": ["sum", "mean"], "windows": None}
    known = features(orders, lines, **settings).fit(customers, y)
    above = orders if above_in_memory else parts(orders, 3)
    model = features(above, parts(lines, 4), **settings).fit(customers, y)
    assert list(map(str, model.features_)) == list(map(str, known.features_))
    expected = known.transform(customers)
    np.testing.assert_array_equal(model.transform(customers), expected)
    np.testing.assert_array_equal(model.transform(parts(customers, 3)), expected)


def test_keys_of_several_types_and_missing_ones(tables):
    customers, orders, _, y = tables
    customers = customers.assign(customer=customers["customer"].astype(float))
    customers.loc[3:9, "customer"] = np.nan
    known = features(orders).fit(customers, y)
    model = features(parts(orders, 3)).fit(customers, y)
    np.testing.assert_array_equal(model.transform(parts(customers, 4)), known.transform(customers))
    texts = customers["customer"].map("customer {}".format)
    with pytest.raises(TypeError, match="Column 'customer' holds strings"):
        model.transform(parts(customers.assign(customer=texts), 2)).compute()


@pytest.mark.slow
def test_a_search_on_a_sample_sees_all_linked_rows(tables):
    customers, orders, _, y = tables
    y = pd.Series(y)
    found = []
    for n in (1, 4):
        model = AutoFeatures(
            links=[Link(parts(orders, n + 1), on="customer", time="date", name="orders")],
            as_of="now",
            effort="quick",
            methods="batch",
            random_state=0,
        )
        fit(model, parts(customers, n), parts(y, n), max_rows=250)
        table = parts(customers, n)
        found.append([model.predict(table).compute(), model.transform(table).compute()])
        np.testing.assert_array_equal(found[-1][1], model.transform(customers))
        assert model.drawn_.held_out["score"] > model.drawn_.held_out["baseline"] + 0.1
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.linked_ is not None
    assert model.limit(1).predict(table).compute().shape == (len(y),)


def test_on_a_cluster(tables, processes):
    customers, orders, _, y = tables
    known = features(orders).fit(customers, y)
    with processes.as_current(), dask.config.set(scheduler=processes):
        model = features(parts(orders, 3)).fit(customers, y)
        found = model.transform(parts(customers, 2)).compute()
    np.testing.assert_array_equal(found, known.transform(customers))


def test_files_hold_no_collection(tables, tmp_path):
    customers, orders, _, y = tables
    lazy = parts(orders, 3)
    model = features(lazy).fit(customers, y)
    assert "rows" not in repr(model.links[0])
    assert "number" not in model.links[0]._repr_html_()
    with pytest.raises(ValueError, match="store_links=True stores linked rows in the file, but"):
        save(features(lazy, store_links=True).fit(customers, y), tmp_path / "model.fw")
    save(model, tmp_path / "model.fw")
    loaded = load(tmp_path / "model.fw")
    with pytest.raises(ValueError, match="does not hold the linked rows of 'orders'"):
        loaded.transform(parts(customers, 2))
    np.testing.assert_array_equal(
        loaded.transform(parts(customers, 2), links={"orders": lazy}), model.transform(customers)
    )


def test_more_linked_rows_than_a_place_holds(tables, monkeypatch):
    customers, orders, _, y = tables
    monkeypatch.setattr(linked, "MAX_CELLS", 1_000)
    with pytest.raises(ValueError, match=r"see 4,800 rows of link 'orders' with 5 columns, but"):
        features(parts(orders, 3)).fit(customers, y)


def test_earlier_rows_are_those_of_the_whole_collection(tables):
    _, orders, _, _ = tables
    orders = orders.sort_values("order", ignore_index=True)
    table = orders.drop(columns=["order", "amount"])
    level = 20 * np.random.default_rng(2).normal(size=400)
    y = pd.Series(orders["amount"] + level[orders["customer"]])
    links = [Link.history(on="customer", time="date", target_delay=1.0)]
    found = []
    for n in (1, 4):
        model = RelationalFeatures(links, n_features_out=3, windows=None, random_state=0)
        fit(model, parts(table, n), parts(y, n), max_rows=2_000)
        assert model.drawn_.by == "keys"
        assert model.drawn_.n_drawn < len(orders)
        assert model.features_
        found.append(model.transform(parts(table, n)).compute())
        pd.testing.assert_frame_equal(found[-1], found[0])
    np.testing.assert_array_equal(model.transform(table), found[0])
    earlier = {"history": table.assign(target=y)}
    np.testing.assert_array_equal(model.transform(table, links=earlier), found[0])
    assert len(np.unique(found[0].to_numpy()[:, -1])) > 100
