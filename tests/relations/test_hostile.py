"""Odd keys, times, names, numbers and tables."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.relations.test_features import days, shop, shop_features

from featurewright import Link, RelationalFeatures
from featurewright.relations.sources import newer_tables


def count(here: Any, there: Any) -> list[float]:
    """Return how many linked rows the rows of a table see, for keys of any type."""
    rng = np.random.default_rng(0)
    shown = pl.Series(here) if not isinstance(here, pd.Series | pl.Series) else here
    repeat = 40
    table = pl.DataFrame({"key": shown})
    fit = pl.concat([table] * repeat)
    linked = pl.DataFrame({"key": there})
    model = RelationalFeatures(
        [Link(linked, on="key", name="rows")],
        aggregates=["count"],
        n_features_out=1,
        conditions=False,
        include_original=False,
        random_state=0,
    )
    y = np.tile([0.0, 9.0, 1.0], repeat) + 0.01 * rng.normal(size=len(fit))
    model.fit(fit, y)
    assert [str(feature) for feature in model.features_] == ["count(rows)"]
    return model.transform(table)[:, 0].tolist()


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([1, 2, 3], [2, 3, 3, 3]),
        ([1, 2, 3], [2.0, 3.0, 3.0, 3.0, 2.5, None]),
        ([1.0, 2.0, 3.0], [2, 3, 3, 3, None, None]),
        ([1, 2, None], [2, None, None, 5]),
        ([1, 2**60, 2**60 + 1], [2**60, 2**60 + 1, 2**60 + 1, 2**60 + 1, None]),
        (["a'b", 'c"d', ""], ['c"d', "", "", "", None]),
        (["\N{SNOWMAN}", "é", "e\u0301"], ["é", "e\u0301", "e\u0301", "e\u0301"]),
        ([Decimal("1.5"), Decimal("2.5"), Decimal("3.5")], [2.5, 3.5, 3.5, 3.5]),
        ([dt.date(2024, 1, k) for k in (1, 2, 3)], [dt.datetime(2024, 1, k) for k in (2, 3, 3, 3)]),
    ],
)
def test_keys_of_every_type(here: list[Any], there: list[Any]) -> None:
    expected = [float(sum(other == key for other in there if key is not None)) for key in here]
    if isinstance(here[0], dt.date):
        expected = [0.0, 1.0, 3.0]
    assert count(here, there) == expected


def test_large_unsigned_and_categorical_keys() -> None:
    large = pl.Series([2**64 - 1, 2**64 - 2, 5], dtype=pl.UInt64)
    there = pl.Series([2**64 - 2, 5, 5, 5], dtype=pl.UInt64)
    assert count(large, there) == [0.0, 1.0, 3.0]
    labels = pl.Series(["a", "b", "c"], dtype=pl.Categorical)
    assert count(labels, ["b", "c", "c", "c"]) == [0.0, 1.0, 3.0]
    assert count([True, False, None], [False, False, True, None]) == [1.0, 2.0, 0.0]


def test_several_keys_and_pairs_of_names() -> None:
    rng = np.random.default_rng(0)
    n, m = 300, 2000
    rows = pl.DataFrame({"a": rng.integers(0, 9, n), "b": rng.choice(["x", "y", None], n)})
    linked = pl.DataFrame({"first": rng.integers(0, 9, m), "b": rng.choice(["x", "y", None], m)})
    counts = linked.drop_nulls().group_by("first", "b").len()
    joined = rows.join(counts, left_on=["a", "b"], right_on=["first", "b"], how="left")
    y = joined["len"].fill_null(0).to_numpy().astype(float)
    link = Link(linked, on=[("a", "first"), "b"], name="rows")
    model = RelationalFeatures([link], n_features_out=1, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(model.transform(rows)[:, -1], y)


def test_keys_that_mix_types_are_refused() -> None:
    rows = pd.DataFrame({"key": pd.Series([1, "a", 2.5], dtype=object)})
    link = Link(pl.DataFrame({"key": [1, 2]}), on="key")
    with pytest.raises(TypeError, match="Key 'key' of X mixes numbers and text"):
        RelationalFeatures([link]).fit(rows, [0, 1, 0])
    link = Link(pl.DataFrame({"key": ["1", "2"]}), on="key")
    with pytest.raises(TypeError, match="holds numbers here, but text in the linked table"):
        RelationalFeatures([link]).fit(pl.DataFrame({"key": [1, 2, 3]}), [0, 1, 0])


def test_missing_keys_and_times() -> None:
    customers, orders, y = shop()
    hidden = orders.with_columns(
        customer=pl.when(pl.col("amount") > 30).then(None).otherwise(pl.col("customer")),
        date=pl.when(pl.col("amount") < 1).then(None).otherwise(pl.col("date")),
    )
    gone = orders.filter((pl.col("amount") <= 30) & (pl.col("amount") >= 1))
    model = shop_features(hidden, keep_missing=True).fit(customers, y)
    again = shop_features(gone, keep_missing=True).fit(customers, y)
    assert model.features_ == again.features_
    np.testing.assert_array_equal(model.transform(customers), again.transform(customers))
    nobody = customers.with_columns(customer=pl.lit(None, dtype=pl.Int64))
    never = customers.with_columns(now=pl.lit(None, dtype=pl.Datetime))
    stranger = customers.with_columns(customer=pl.col("customer") + 10**9)
    own = [str(f).startswith(("sum", "count")) for f in model.features_]
    with pytest.warns(UserWarning, match="Column 'now' of X has no time in 400 of 400 rows"):
        unseen = model.transform(never)
    for columns in (model.transform(nobody), unseen, model.transform(stranger)):
        values = columns[:, 1:]
        assert (values[:, own] == 0.0).all()
        assert np.isnan(values[:, np.logical_not(own)]).all()


def test_times_with_zones_are_instants() -> None:
    customers, orders, y = shop()
    utc = shop_features(orders.with_columns(pl.col("date").dt.replace_time_zone("UTC")))
    rows = customers.with_columns(pl.col("now").dt.replace_time_zone("UTC"))
    elsewhere = rows.with_columns(pl.col("now").dt.convert_time_zone("Asia/Tokyo"))
    names = [name for name in rows.columns if name != "now"]
    expected = shop_features(orders).fit(customers, y).transform(customers)
    model = utc.fit(rows, y)
    np.testing.assert_array_equal(model.transform(rows), expected)
    actual = model.transform(elsewhere)
    np.testing.assert_array_equal(actual, expected)
    assert len(names) == 2
    with pytest.raises(TypeError, match="'now' of X has no time zone"):
        model.transform(customers)


def test_times_as_text_and_numbers() -> None:
    customers, orders, y = shop()
    text = customers.with_columns(pl.col("now").dt.strftime("%Y-%m-%d %H:%M:%S%.6f"))
    model = shop_features(orders)
    expected = model.fit_transform(customers, y)
    np.testing.assert_array_equal(model.fit_transform(text, y), expected)
    np.testing.assert_array_equal(model.transform(text[:1])[0], expected[0])
    written = customers.with_columns(pl.col("now").dt.strftime("%d/%m/%Y"))
    with pytest.raises(TypeError, match="times are dates, text such as '2024-12-31', or numbers"):
        model.fit(written, y)


def test_empty_tables() -> None:
    customers, orders, y = shop()
    with pytest.warns(UserWarning, match="No row of X sees a row of link 'orders'"):
        empty = shop_features(orders[:0]).fit(customers, y)
    assert not empty.features_
    model = shop_features(orders, keep_missing=True).fit(customers, y)
    values = model.transform(customers, links={"orders": orders[:0]})
    shown = values[:, 1:]
    assert (np.isnan(shown) | (shown == 0.0)).all()
    assert model.transform(customers[:0]).shape == (0, values.shape[1])


def test_the_order_of_linked_rows_does_not_matter() -> None:
    customers, orders, y = shop()
    rounded = orders.with_columns(pl.col("date").dt.truncate("10d"))  # many equal times
    expected = shop_features(rounded).fit_transform(customers, y)
    for seed in range(3):
        shuffled = rounded.sample(fraction=1.0, shuffle=True, seed=seed)
        np.testing.assert_array_equal(shop_features(shuffled).fit_transform(customers, y), expected)


def test_rows_of_one_time_are_in_a_window_together() -> None:
    linked = pl.DataFrame({"key": [1] * 5, "time": [1.0, 2.0, 2.0, 2.0, 3.0], "value": range(5)})
    rows = pl.DataFrame({"key": [1, 2] * 100, "now": [9.0] * 200})
    link = Link(linked, on="key", time="time", name="rows")
    for window, expected in (("1 row", 4.0), ("2 rows", 10.0), ("4 rows", 10.0), ("5 rows", 10.0)):
        model = RelationalFeatures(
            [link], as_of="now", aggregates=["sum"], windows=[window], n_features_out=5
        ).fit(rows, [0, 1] * 100)
        found = [f for f in model.features_ if f.window is not None]
        if found:
            at = list(model.get_feature_names_out()).index(str(found[0]))
            assert model.transform(rows)[0, at] == expected


def test_frames_of_every_library_give_the_same() -> None:
    customers, orders, y = shop()
    expected = shop_features(orders).fit_transform(customers, y)
    for convert in (
        lambda f: f.to_arrow(),
        lambda f: f.to_pandas(use_pyarrow_extension_array=True),
    ):
        model = shop_features(convert(orders))
        np.testing.assert_array_equal(model.fit_transform(convert(customers), y), expected)
        np.testing.assert_array_equal(
            model.transform(customers, links={"orders": orders}),
            shop_features(orders).fit(customers, y).transform(customers),
        )


def test_odd_names() -> None:
    customers, orders, y = shop()
    orders = orders.rename({"amount": 'sum(`a`), "last"\n3 rows', "channel": "where x = 'y'"})
    orders = orders.with_columns(pl.col("where x = 'y'").alias("lookup.price"))
    prices = pl.DataFrame({"where x = 'y'": ["web", "shop"], "price": [1.0, 2.0]})
    link = Link(
        orders,
        on="customer",
        time="date",
        name="orders.x, last 3 rows",
        links=[Link(prices, on="where x = 'y'", name="lookup")],
    )
    model = RelationalFeatures([link], as_of="now", random_state=0).fit(customers, y)
    names = list(model.get_feature_names_out())
    assert len(set(names)) == len(names)
    model.set_output(transform="polars").transform(customers)
    same = customers.rename({"age": "count(orders)"})
    plain = shop_features(orders).fit(same, y)
    assert len(set(plain.get_feature_names_out())) == len(plain.get_feature_names_out())


def test_odd_numbers() -> None:
    customers, orders, y = shop()
    endless = orders.with_columns(amount=pl.when(pl.col("amount") > 50).then(np.inf).otherwise(1.0))
    with pytest.raises(ValueError, match="infinity"):
        shop_features(endless).fit(customers, y)
    large = orders.with_columns(pl.col("amount") * 1e36, constant=pl.lit(3.0), void=pl.lit(None))
    model = shop_features(large).fit(customers, y)
    assert any("amount" in str(feature) for feature in model.features_)
    assert np.isfinite(model.transform(customers)).all()
    assert not any("void" in str(feature) for feature in model.features_)


def test_look_up_keys_that_come_twice() -> None:
    rng = np.random.default_rng(0)
    products = pl.DataFrame({"product": np.arange(20), "price": rng.exponential(10, 20)})
    orders = pl.DataFrame({"customer": np.arange(3000) % 300, "product": np.arange(3000) % 20})
    orders = orders.with_columns(pl.col("product").shuffle(seed=0))
    nested = [Link(products, on="product", name="product")]
    link = Link(orders, on="customer", name="orders", links=nested)
    customers = pl.DataFrame({"customer": np.arange(300)})
    mean = orders.join(products, on="product").group_by("customer").agg(pl.col("price").mean())
    y = customers.join(mean, on="customer", how="left")["price"].to_numpy()
    model = RelationalFeatures([link], n_features_out=1, random_state=0).fit(customers, y)
    twice = pl.concat([products, products])
    with pytest.raises(ValueError, match="'product' looks up one row for each key"):
        model.transform(customers, links={"product": twice})
    dearer = products.with_columns(pl.col("price") * 2)
    doubled = model.transform(customers, links={"product": dearer})[:, -1]
    np.testing.assert_allclose(doubled, 2 * model.transform(customers)[:, -1], rtol=1e-12)
    lacking = products.drop("price")
    with pytest.raises(ValueError, match="'product' lacks the column 'price'"):
        model.transform(customers, links={"product": lacking})


def test_nested_times_like_those_above() -> None:
    rows = pl.DataFrame({"key": [1, 2] * 20, "now": [5.0] * 40})
    lines = pl.DataFrame({"order": [1, 1], "at": days([1, 2]), "units": [1.0, 2.0]})
    orders = pl.DataFrame({"key": [1, 2], "order": [1, 2], "time": [1.0, 2.0]})
    nested = [Link(lines, on="order", time="at", name="lines")]
    link = Link(orders, on="key", time="time", name="orders", links=nested)
    with pytest.raises(TypeError, match="'orders' holds numbers, but the times of link 'lines'"):
        RelationalFeatures([link], as_of="now").fit(rows, [0, 1] * 20)
    untimed = Link(orders, on="key", name="orders", links=nested)
    with pytest.raises(ValueError, match="'lines' has times, but link 'orders' above it has none"):
        RelationalFeatures([untimed]).fit(rows, [0, 1] * 20)


def test_refused_declarations() -> None:
    table = pl.DataFrame({"key": [1, 2]})
    for text, link in {
        "time=3 of link 'linked' must be a text": Link(table, on="key", time=3),
        "name='' of link '' must be a text that is not empty": Link(table, on="key", name=""),
        "is a history without a time": Link.history(on="key", time=None),
        "Link 'same key' has target_delay=3, but as_of is None": Link.group(
            on="key", target_delay=3
        ),
        "target_delay=3 of link 'linked' says when": Link(table, on="key", target_delay=3),
        "is a history, but only links to other tables nest": Link(
            table, on="key", links=[Link.history(on="key", time="t")]
        ),
        "target_delay of link 'history'=-1 must be": Link.history(
            on="key", time="key", target_delay=-1
        ),
        "Two links are called 'x'": Link(
            table, on="key", name="x", links=[Link(table, on="key", name="x")]
        ),
        "on=3 of a link must be": Link(table, on=3),
    }.items():
        with pytest.raises(ValueError, match=text):
            RelationalFeatures([link]).fit(table, [0, 1])


def test_jobs_do_not_matter() -> None:
    customers, orders, y = shop(n=200)
    one, two = (shop_features(orders, n_jobs=n).fit_transform(customers, y) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_whole_numbers_of_more_than_64_bits_and_odd_objects() -> None:
    customers, orders, y = shop(n=40)
    rows, linked = customers.to_pandas(), orders.to_pandas()
    for change, error, text in [
        (lambda key: key + 2**70, ValueError, "the table of link 'orders' holds 1180591620717411"),
        (
            lambda key: str(key).encode(),
            TypeError,
            "the table of link 'orders' holds bytes objects",
        ),
    ]:
        keys, theirs = (
            table.assign(customer=[change(int(key)) for key in table["customer"]])
            for table in (rows, linked)
        )
        with pytest.raises(error, match=text):
            shop_features(theirs).fit(keys, y)


def test_columns_that_are_not_there_are_told_with_those_that_are() -> None:
    customers, orders, y = shop(n=40)
    for here, there in ((customers.drop("now"), orders), (customers, orders.drop("date"))):
        lacking = here if "now" not in here.columns else there
        with pytest.raises(ValueError, match="to take times from; its columns are") as caught:
            shop_features(there).fit(here, y)
        assert all(repr(name) in str(caught.value) for name in lacking.columns)
    model = shop_features(orders).fit(customers, y)
    with pytest.raises(ValueError, match="The feature names should match") as caught:
        model.transform(customers.drop("age"))
    assert "feature_names_in_" in " ".join(caught.value.__notes__)


def test_errors_about_a_column_say_which_table_it_is_in() -> None:
    rows = pl.DataFrame({"key": [1, 2, 3, 4]})
    link = Link(rows.with_columns(size=pl.lit(float("inf"))), on="key", name="parts")
    with pytest.raises(ValueError, match="In the table of link 'parts', column 'size' contains"):
        RelationalFeatures([link]).fit(rows, [0, 1, 0, 1])
    link = Link(rows.with_columns(size=pl.concat_list("key")), on="key", name="parts")
    with pytest.raises(TypeError, match="In the table of link 'parts', column 'size' has"):
        RelationalFeatures([link]).fit(rows, [0, 1, 0, 1])


def test_columns_of_one_name() -> None:
    customers, orders, y = shop(n=40)
    rows, linked = customers.to_pandas(), orders.to_pandas()
    twice = linked.set_axis(["amount", *linked.columns[1:]], axis=1)
    assert list(twice.columns).count("amount") == 2
    with pytest.raises(
        ValueError, match=r"link 'orders' has several columns of one name \(.*amount"
    ):
        shop_features(twice).fit(rows, y)
    with pytest.raises(ValueError, match=r"X has several columns of one name \(.*age"):
        shop_features(linked).fit(rows.set_axis(["age", *rows.columns[1:]], axis=1), y)


@pytest.mark.parametrize("keys", [[], [None, None], [np.nan, np.inf]])
def test_no_linked_row_has_a_key(keys):
    linked = pd.DataFrame({"key": keys, "v": np.ones(len(keys))}, dtype=float)
    frame = pd.DataFrame({"key": np.arange(20), "a": np.arange(20) % 3})
    links = [Link(linked, on="key", name="rows")]
    with pytest.warns(UserWarning, match="No row of X sees a row of link 'rows'"):
        model = RelationalFeatures(links, random_state=0).fit(frame, frame["a"] > 1)
    assert np.isfinite(model.transform(frame)).all()


def test_names_of_columns_are_text():
    linked = pd.DataFrame({"key": [1, 2]})
    for table, frame, owner in (
        (linked, pd.DataFrame(np.ones((3, 2))), "X"),
        (linked.assign(**{"v": 1}).rename(columns={"v": 5}), linked, "The table of link"),
    ):
        with pytest.raises(TypeError, match=f"{owner}.* has a column named .*names that are text"):
            RelationalFeatures([Link(table, on="key")]).fit(frame, np.arange(len(frame)) % 2)


def test_columns_without_names_need_no_links():
    """They are called like those of an array, in whatever form the rows come."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    target = rows[:, 0] > 0
    expected = RelationalFeatures().fit(rows, target).transform(rows)
    for names in ([0, 1], [("a", 1), ("b", 2)], [b"a", b"b"], pd.date_range("2020", periods=2)):
        frame = pd.DataFrame(rows, columns=names)
        model = RelationalFeatures().fit(frame, target)
        assert model.get_feature_names_out().tolist() == ["x0", "x1"]
        np.testing.assert_array_equal(model.transform(frame), expected)
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            found = model.transform(frame.set_axis(["a", "b"], axis=1))
        np.testing.assert_array_equal(found, expected)


def test_newer_tables_have_names():
    with pytest.raises(TypeError, match="links is a list, but newer tables are expected by the"):
        newer_tables([pl.DataFrame({"key": [1]})])


def test_keys_are_no_dict():
    with pytest.raises(ValueError, match="of a link must be the name of a key column"):
        RelationalFeatures([Link(pd.DataFrame({"a": [1]}), on={"a": "b"})]).fit([[1]], [0])
