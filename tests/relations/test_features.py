"""Features over links: what is found, what cannot leak, and what is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from featurewright import Link, RelationalFeatures

START = dt.datetime(2024, 1, 1)


def days(numbers: Any) -> list[dt.datetime]:
    return [START + dt.timedelta(days=float(n)) for n in numbers]


def shop(seed: int = 0, n: int = 400) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return customers at a day, their orders before and after it, and whether they spent much."""
    rng = np.random.default_rng(seed)
    m = 12 * n
    orders = pl.DataFrame(
        {
            "customer": rng.integers(0, n, m),
            "date": days(rng.uniform(0, 200, m)),
            "amount": rng.exponential(10, m),
            "channel": rng.choice(["web", "shop"], m),
        }
    )
    now = rng.uniform(100, 150, n)
    customers = pl.DataFrame(
        {"customer": np.arange(n), "now": days(now), "age": rng.normal(size=n)}
    )
    joined = orders.join(customers, on="customer").filter(
        (pl.col("date") < pl.col("now")) & (pl.col("channel") == "web")
    )
    spent = joined.group_by("customer").agg(pl.col("amount").sum())
    total = customers.join(spent, on="customer", how="left")["amount"].fill_null(0.0).to_numpy()
    return customers, orders, total > np.median(total)


def shop_features(orders: pl.DataFrame, **settings: Any) -> RelationalFeatures:
    links = [Link(orders, on="customer", time="date", name="orders")]
    return RelationalFeatures(links, as_of="now", random_state=0, **settings)


def test_finds_the_conditional_sum() -> None:
    customers, orders, y = shop()
    features = shop_features(orders, n_features_out=5).fit(customers, y)
    assert str(features.features_[0]) == "sum(orders.amount, where channel = 'web')"
    assert features.n_candidates_ <= features.budget
    assert list(features.get_feature_names_out()[:1]) == ["age"]
    model = make_pipeline(clone(features), LogisticRegression(max_iter=5000))
    train, test = slice(0, 300), slice(300, None)
    assert model.fit(customers[train], y[train]).score(customers[test], y[test]) > 0.85


def test_which_row_is_meant_and_when_is_no_column() -> None:
    customers, orders, y = shop()
    city = np.where(np.arange(len(customers)) % 3 > 0, "north", "south")
    rows = customers.with_columns(city=pl.Series(city), code=pl.Series(np.arange(len(city)) % 7))
    links = [
        Link(orders, on="customer", time="date", name="orders"),
        Link.group(on="code"),
    ]
    model = RelationalFeatures(links, as_of="now", n_features_out=2, random_state=0).fit(rows, y)
    names = list(model.get_feature_names_out())
    # Text is a category, and the key of a group may be a quantity.
    assert names[:3] == ["age", "city", "code"]
    assert not {"customer", "now"} & set(names)
    assert model.transform(rows).shape[1] == len(names)
    # Where nothing is found there must be something in the result.
    keys = customers.select("customer", "now")
    shuffled = np.random.default_rng(1).permutation(y)
    nothing = shop_features(orders.head(3)).fit(keys, shuffled)
    assert list(nothing.get_feature_names_out()) == ["customer", "now"]


def test_labels_that_the_fit_did_not_see_are_counted() -> None:
    rng = np.random.default_rng(0)
    lines = pl.DataFrame({"who": rng.integers(0, 400, 3000), "invoice": rng.integers(0, 900, 3000)})
    lines = lines.with_columns(invoice="no " + pl.col("invoice").cast(pl.String))
    newer = lines.with_columns(invoice=pl.col("invoice") + rng.choice(["", " b"], 3000))
    rows = pl.DataFrame({"who": np.arange(400)})

    def truth(table: pl.DataFrame) -> np.ndarray:
        counted = table.group_by("who").agg(pl.col("invoice").n_unique())
        found = rows.join(counted, on="who", how="left", maintain_order="left")
        return found["invoice"].fill_null(0).to_numpy()

    features = RelationalFeatures(
        [Link(lines, on="who", name="lines")],
        aggregates=["distinct"],
        include_original=False,
        random_state=0,
    ).fit(rows, truth(lines).astype(float))
    assert str(features.features_[0]) == "distinct(lines.invoice)"
    np.testing.assert_array_equal(features.transform(rows)[:, 0], truth(lines))
    found = features.transform(rows, links={"lines": newer})[:, 0]
    np.testing.assert_array_equal(found, truth(newer))
    pandas = features.transform(rows, links={"lines": newer.to_pandas()})[:, 0]
    np.testing.assert_array_equal(pandas, found)


@pytest.mark.parametrize(
    ("aggregates", "expected"),
    [
        ("all", "share(events, last 30 days, where kind = 'failed')"),
        (["share"], "share(events, last 30 days, where kind = 'failed')"),
        (["time since last", "mean"], "time since last(events, where kind = 'failed')"),
    ],
)
def test_events_of_one_kind_are_found_where_their_number_says_nothing(
    aggregates: Any, expected: str
) -> None:
    rng = np.random.default_rng(0)
    n, n_events = 800, 12_000
    kinds = rng.choice(["ok", "failed", "reset", "login"], n_events)
    values = {f"noise {k}": rng.normal(size=n_events) for k in range(6)}
    times = days(rng.uniform(0, 200, n_events))
    events = pl.DataFrame(
        {"machine": rng.integers(0, 80, n_events), "at": times, "kind": kinds, **values}
    )
    rows = pl.DataFrame(
        {"machine": rng.integers(0, 80, n), "now": days(rng.uniform(60, 200, n))}
    ).with_row_index("row")
    seen = rows.join(events, on="machine").filter(pl.col("at") < pl.col("now"))
    failed = pl.col("kind") == "failed"
    if aggregates == ["time since last", "mean"]:
        said = seen.filter(failed).group_by("row").agg((pl.col("now") - pl.col("at")).min())
    else:
        recent = seen.filter(pl.col("at") >= pl.col("now") - pl.duration(days=30))
        said = recent.group_by("row").agg(failed.mean().alias("now"))
    signal = rows.join(said, on="row", how="left", suffix=" of it")["now of it"]
    y = signal.to_physical().cast(pl.Float64).fill_null(strategy="mean").to_numpy()
    links = [Link(events, on="machine", time="at", name="events")]
    model = RelationalFeatures(links, as_of="now", aggregates=aggregates, random_state=0)
    model.fit(rows.drop("row"), y / y.std())
    assert str(model.features_[0]) == expected


def test_the_most_frequent_and_the_last_label_are_found() -> None:
    """No number of rows with a label says it, since each key has as many as it likes."""
    rng = np.random.default_rng(0)
    n, m = 400, 4000
    who, habit = rng.integers(0, n, m), rng.choice(["web", "shop", "phone"], n)
    own = rng.random(m) < 0.6
    channel = np.where(own, habit[who], rng.choice(["web", "shop", "phone"], m))
    orders = pl.DataFrame({"customer": who, "date": days(rng.uniform(0, 100, m))})
    orders = orders.with_columns(channel=pl.Series(channel.tolist()))
    rows = pl.DataFrame({"customer": np.arange(n), "now": days([100] * n)})
    latest = orders.sort("date").group_by("customer").agg(pl.col("channel").last())
    latest = rows.join(latest, on="customer", how="left", maintain_order="left")["channel"]
    counts = orders.group_by("customer", "channel").len()
    counts = counts.sort("channel").sort("len", descending=True, maintain_order=True)
    often = counts.group_by("customer").agg(pl.col("channel").first())
    often = rows.join(often, on="customer", how="left", maintain_order="left")["channel"]
    for name, truth in (("last", latest), ("mode", often)):
        y = (truth == "web").fill_null(False).to_numpy()
        features = shop_features(orders, n_features_out=1, conditions=False, windows=None)
        features.fit(rows, y)
        assert str(features.features_[0]) == f"{name}(orders.channel) = 'web'"
        known = ~truth.is_null().to_numpy()
        assert known.sum() > n * 0.9
        np.testing.assert_array_equal(features.transform(rows)[known, -1], y[known])


def test_later_rows_change_nothing() -> None:
    customers, orders, y = shop()
    future = orders.with_columns(pl.col("date") + dt.timedelta(days=400), pl.col("amount") * 1000)
    both = pl.concat([orders, future])
    alone = shop_features(orders).fit_transform(customers, y)
    np.testing.assert_array_equal(shop_features(both).fit_transform(customers, y), alone)


def test_an_order_at_the_time_of_the_row_is_not_seen() -> None:
    customers = pl.DataFrame({"customer": ["a", "b"] * 50, "now": days([5] * 100)})
    orders = pl.DataFrame({"customer": ["a", "b"], "date": days([5, 4]), "amount": [1.0, 1.0]})
    features = shop_features(orders, n_features_out=1, aggregates=["count"])
    features.fit(customers, [0, 1] * 50)
    assert features.features_
    assert features.transform(customers[:2])[:, -1].tolist() == [0.0, 1.0]


def test_one_row_equals_the_batch_and_order_does_not_matter() -> None:
    customers, orders, y = shop()
    features = shop_features(orders).fit(customers, y)
    batch = features.transform(customers)
    for row in (0, 17, 399):
        np.testing.assert_array_equal(features.transform(customers[row : row + 1])[0], batch[row])
    backwards = features.transform(customers[::-1])
    np.testing.assert_array_equal(backwards[::-1], batch)


def test_newer_tables_and_unknown_keys() -> None:
    customers, orders, y = shop()
    features = shop_features(orders, keep_missing=True).fit(customers, y)
    new = pl.DataFrame({"customer": [10_000], "now": days([120]), "age": [0.0]})
    names = list(features.get_feature_names_out())
    place = names.index("sum(orders.amount, where channel = 'web')")
    assert features.transform(new)[0, place] == 0.0
    newer = pl.DataFrame(
        {"customer": [10_000], "date": days([110]), "amount": [42.0], "channel": ["web"]}
    )
    assert features.transform(new, links={"orders": newer})[0, place] == pytest.approx(42.0)
    with pytest.raises(ValueError, match="the links are: 'orders'"):
        features.transform(new, links={"lines": newer})


def test_pandas_and_polars_give_the_same() -> None:
    customers, orders, y = shop()
    expected = shop_features(orders).fit_transform(customers, y)
    actual = shop_features(orders.to_pandas()).fit_transform(customers.to_pandas(), y)
    np.testing.assert_array_equal(actual, expected)


def test_history_sees_strictly_earlier_rows() -> None:
    rng = np.random.default_rng(0)
    n = 600
    walk = np.cumsum(rng.normal(size=(3, n)), axis=1)
    frame = pl.DataFrame(
        {
            "store": np.repeat(["a", "b", "c"], n),
            "day": days(np.tile(np.arange(n), 3)),
            "sales": walk.ravel(),
        }
    )
    before = np.roll(walk, 1, axis=1).ravel()
    link = Link.history(on="store", time="day")
    features = RelationalFeatures(
        [link],
        aggregates=["last"],
        windows=None,
        conditions=False,
        random_state=0,
        keep_missing=True,
    )
    values = features.fit_transform(frame, before)
    names = list(features.get_feature_names_out())
    last = values[:, names.index("last(history.sales)")].reshape(3, n)
    assert np.isnan(last[:, 0]).all()
    np.testing.assert_array_equal(last[:, 1:], walk[:, :-1])


def test_targets_of_the_history_are_known_after_their_delay() -> None:
    rng = np.random.default_rng(1)
    n = 400
    y = np.cumsum(rng.normal(size=n))
    frame = pl.DataFrame({"store": ["a"] * n, "day": np.arange(n, dtype=float)})
    link = Link.history(on="store", time="day", target_delay=3.0)
    features = RelationalFeatures(
        [link],
        aggregates=["last"],
        windows=None,
        n_features_out=1,
        keep_missing=True,
        random_state=0,
    )
    values = features.fit_transform(frame, y)[:, -1]
    assert str(features.features_[0]) == "last(history.target)"
    assert np.isnan(values[:3]).all()
    np.testing.assert_array_equal(values[3:], y[:-3])


def test_group_targets_are_out_of_fold() -> None:
    rng = np.random.default_rng(0)
    n = 1000
    useful = rng.integers(0, 10, n)
    y = (useful % 2 + rng.normal(size=n) * 0.5 > 0.5).astype(int)
    frame = pd.DataFrame({"district": useful.astype(str), "alone": np.arange(n).astype(str)})
    links = [Link.group(on="district"), Link.group(on="alone")]
    features = RelationalFeatures(links, random_state=0, include_original=False)
    training = features.fit_transform(frame, y)
    names = list(features.get_feature_names_out())
    assert "share(target = 1, same district)" in names
    # A key with one row each knows nothing of another row: it would be the target itself.
    assert not any("same alone" in name for name in names)
    later = features.transform(frame)
    place = names.index("share(target = 1, same district)")
    assert np.corrcoef(training[:, place], later[:, place])[0, 1] > 0.95
    assert not np.array_equal(training[:, place], later[:, place])


def test_look_ups_and_nested_links() -> None:
    rng = np.random.default_rng(0)
    n, m = 300, 3000
    products = pl.DataFrame({"product": np.arange(20), "price": rng.exponential(10, 20)})
    orders = pl.DataFrame(
        {
            "customer": rng.integers(0, n, m),
            "order": np.arange(m),
            "product": rng.integers(0, 20, m),
        }
    )
    lines = pl.DataFrame({"order": rng.integers(0, m, 3 * m), "units": rng.exponential(1, 3 * m)})
    customers = pl.DataFrame({"customer": np.arange(n)})
    link = Link(
        orders,
        on="customer",
        name="orders",
        links=[Link(products, on="product", name="product"), Link(lines, on="order", name="lines")],
    )
    joined = orders.join(products, on="product")
    priced = joined.group_by("customer").agg(pl.col("price").mean())
    y = customers.join(priced, on="customer", how="left")["price"].fill_null(0.0).to_numpy()
    found = RelationalFeatures([link], n_features_out=1, random_state=0).fit(customers, y)
    assert str(found.features_[0]) == "mean(orders.product.price)"
    units = orders.join(lines, on="order").group_by("customer").agg(pl.col("units").sum())
    y = customers.join(units, on="customer", how="left")["units"].fill_null(0.0).to_numpy()
    found = RelationalFeatures([link], n_features_out=1, random_state=0).fit(customers, y)
    assert str(found.features_[0]) == "sum(orders.sum(lines.units))"


def test_several_labels_and_several_classes() -> None:
    customers, orders, y = shop()
    rng = np.random.default_rng(0)
    district = rng.integers(0, 5, len(y))
    customers = customers.with_columns(district=pl.Series(district).cast(str))
    labels = np.column_stack([y, district == 2, rng.integers(0, 2, len(y))])
    classes = np.where(y, "much", np.where(district == 2, "two", "other"))
    links = [
        Link(orders, on="customer", time="date", name="orders"),
        Link.history(on="district", time="now", target_delay=0.0),
    ]
    for target in (labels, classes):
        model = RelationalFeatures(links, as_of="now", random_state=0).fit(customers, target)
        found = list(map(str, model.features_))
        assert any("orders.amount" in name for name in found)
        assert any("history.target" in name for name in found)
    group = RelationalFeatures([Link.group(on="district")], random_state=0)
    group.fit(customers, labels)
    names = list(group.get_feature_names_out())
    assert names[-3:] == [f"mean(target {k}, same district)" for k in range(3)]
    assert group.transform(customers)[:, -2] == pytest.approx(
        (district == 2).astype(float), abs=0.1
    )


def test_order_of_aggregates() -> None:
    rng = np.random.default_rng(0)
    lines = pl.DataFrame({"order": rng.integers(0, 900, 3000), "units": rng.exponential(1, 3000)})
    orders = pl.DataFrame({"customer": np.arange(900) % 90, "order": np.arange(900)})
    nested = [Link(lines, on="order", name="lines")]
    link = Link(orders, on="customer", name="orders", links=nested)
    customers = pl.DataFrame({"customer": np.arange(90)})
    units = orders.join(lines, on="order").group_by("customer").agg(pl.col("units").sum())
    y = customers.join(units, on="customer", how="left")["units"].to_numpy()
    found = {
        order: RelationalFeatures([link], max_order=order, random_state=0).fit(customers, y)
        for order in (1, 2)
    }
    assert not any("lines" in str(feature) for feature in found[1].features_)
    assert str(found[2].features_[0]) == "sum(orders.sum(lines.units))"


def test_nothing_is_kept_for_noise() -> None:
    kept = []
    for seed in range(10):
        customers, orders, y = shop(seed, 200)
        shuffled = np.random.default_rng(seed).permutation(y)
        kept.append(len(shop_features(orders, budget=300).fit(customers, shuffled).features_))
    assert sum(number > 0 for number in kept) <= 2


def test_the_same_seed_gives_the_same_features() -> None:
    customers, orders, y = shop()
    first, second = (shop_features(orders).fit(customers, y) for _ in range(2))
    assert first.features_ == second.features_
    assert clone(first).links[0] is first.links[0]  # tables are not copied


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"links": Link(None, on="a")}, ValueError, "must be a list of Link"),
        ({"links": ["orders"]}, ValueError, "every entry must be a Link"),
        ({"as_of": None}, ValueError, "as_of is None"),
        ({"as_of": "then"}, ValueError, "no column 'then'"),
        ({"as_of": "age"}, TypeError, "holds numbers, but the times of link 'orders' are dates"),
        ({"aggregates": ["avg"]}, ValueError, "'avg' is not known"),
        ({"windows": ["10 weeks"]}, ValueError, "such as '10 rows'"),
        ({"windows": [-3]}, ValueError, "above 0"),
        ({"windows": [f"{10**20} rows"]}, ValueError, "from 1 to 2147483647"),
    ],
)
def test_refused_parameters(change: dict[str, Any], error: type, text: str) -> None:
    customers, orders, y = shop(n=40)
    with pytest.raises(error, match=text):
        shop_features(orders).set_params(**change).fit(customers, y)


def test_refused_links() -> None:
    customers, orders, y = shop(n=40)
    named = {
        "no column 'client'": Link(orders, on="client"),
        "holds numbers here, but text": Link(
            orders.with_columns(pl.col("customer").cast(str)), on="customer"
        ),
        "no time zone, but the times of link": Link(
            orders.with_columns(pl.col("date").dt.replace_time_zone("UTC")),
            on="customer",
            time="date",
        ),
        "is a list, but a data frame is expected": Link([1, 2], on="customer"),
        "has the dtype String": Link(orders, on="customer", time="channel"),
    }
    for text, link in named.items():
        with pytest.raises((ValueError, TypeError), match=text):
            RelationalFeatures([link], as_of="now").fit(customers, y)
    twice = [Link(orders, on="customer"), Link(orders, on="customer")]
    with pytest.raises(ValueError, match="Two links are called 'linked'"):
        RelationalFeatures(twice).fit(customers, y)
    with pytest.raises(TypeError, match="X is an array"):
        RelationalFeatures([Link(orders, on="customer")]).fit(np.ones((40, 2)), y)


def test_keys_that_never_match_are_told_of() -> None:
    customers, orders, y = shop(n=60)
    others = orders.with_columns(pl.col("customer") + 1_000)
    with pytest.warns(UserWarning, match="No row of X sees a row of link 'orders': check"):
        assert shop_features(others, budget=8).fit(customers, y).features_ == ()
