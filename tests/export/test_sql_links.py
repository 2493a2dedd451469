"""Features over links as SQL, executed and compared with `transform`."""

from __future__ import annotations

import datetime as dt
import sqlite3
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot
from tests.export.engines import ENGINES, KEY, numbers, quote
from tests.relations.test_features import shop, shop_features

from featurewright import Link, RelationalFeatures
from featurewright.export import to_onnx, to_sql
from featurewright.expressions import Column, Domain
from featurewright.expressions.dialects import DIALECTS
from featurewright.relations.aggregates import AGGREGATES, Condition, Level, LinkFeature, Window
from featurewright.relations.search import refined

# Rows without a time are among those that are compared.
pytestmark = pytest.mark.filterwarnings("ignore:Column .* of X has no time:UserWarning")

START = dt.datetime(2024, 1, 1)
NASTY = ["red", "it's", "", 'a"b', "größe", "'; --", "a\nb", "RED"]


def days(numbers: Any) -> list[dt.datetime | None]:
    return [None if n is None else START + dt.timedelta(days=float(n)) for n in numbers]


def run(query: str, engine: str, tables: dict[str, pl.DataFrame]) -> np.ndarray:
    """Return the result of a query in the order of the rows."""
    ordered = f"SELECT * FROM ({query}) ORDER BY {quote(KEY)}"
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            connection.execute("SET TimeZone = 'America/New_York'")
            for name, frame in tables.items():
                connection.register("given", frame.to_arrow())
                connection.execute(f"CREATE TABLE {quote(name)} AS SELECT * FROM given")
                connection.unregister("given")
            return numbers([row[1:] for row in connection.execute(ordered).fetchall()])
    connection = sqlite3.connect(":memory:")
    for name, frame in tables.items():
        columns = ", ".join(map(quote, frame.columns))
        connection.execute(f"CREATE TABLE {quote(name)} ({columns})")
        places = ", ".join("?" * frame.width)
        rows = [
            [v.isoformat(" ") if isinstance(v, dt.date) else v for v in row] for row in frame.rows()
        ]
        connection.executemany(f"INSERT INTO {quote(name)} VALUES ({places})", rows)
    found = numbers([row[1:] for row in connection.execute(ordered).fetchall()])
    connection.close()
    return found


def check(model: Any, rows: pl.DataFrame, links: dict[str, pl.DataFrame]) -> None:
    """Compare the query with `transform` in every engine."""
    expected = np.asarray(model.transform(rows, links=links), dtype=float)
    names = {title: f"table of {title}" for title in links}
    tables = {"rows": rows.with_row_index(KEY)}
    tables |= {names[title]: frame for title, frame in links.items()}
    for engine in ENGINES:
        query = to_sql(model, "rows", engine, key=KEY, links=names)
        np.testing.assert_allclose(run(query, engine, tables), expected, rtol=1e-9, atol=1e-9)


def check_dialects(model: Any, links: dict[str, pl.DataFrame]) -> None:
    """Write the query for every database, and read it as that database would."""
    for dialect in DIALECTS:
        query = to_sql(model, "rows", dialect, key=KEY, links={title: title for title in links})
        assert sqlglot.parse_one(query, dialect=dialect).sql(dialect=dialect)


def with_features(model: Any, features: list[tuple[int, LinkFeature]], X: Any, y: Any) -> Any:
    """Return a fitted model with given features instead of those that it found."""
    model.fit(X, y)
    model.features_ = tuple(feature for _, feature in features)
    model.worth_ = np.zeros(len(features))
    model._feature_sources = np.array([at for at, _ in features], dtype=np.int64)
    model._n_columns = len(features) + len(model._group_names)
    model._fill = np.arange(len(model._shown) + model._n_columns, dtype=float) + 0.5
    return model


def levels_of(levels: tuple[Any, ...]) -> list[Level]:
    """Return the first level, one in the middle and the last."""
    places = sorted({0, len(levels) // 2, len(levels) - 1})
    return [Level(float(at), repr(levels[at])) for at in places]


def every_feature(model: Any, at: int) -> list[tuple[int, LinkFeature]]:
    """Return every aggregate of a source, with windows, conditions and values of two columns."""
    source = model._sources[at]
    schema = source.layout.schema
    timed = source.link.time is not None
    dates = source.layout.has_dates
    windows = [None, Window(7.0, None, dates), Window(None, 2, dates)] if timed else [None]
    numbers_of = [k for k, domain in enumerate(schema.domains) if domain != Domain.CATEGORY]
    labels = [k for k, domain in enumerate(schema.domains) if domain == Domain.CATEGORY]
    conditions: list[Condition | None] = [None]
    conditions += [Condition(k, True, 1.0, f"{k} = 1") for k in labels[:1]]
    conditions += [Condition(k, False, 0.25, f"{k} > 0.25") for k in numbers_of[:1]]
    found = []
    for name, aggregate in AGGREGATES.items():
        if aggregate.needs_time and not timed:
            continue
        of = {"rows": [None], "number": numbers_of, "category": labels}[aggregate.of]
        for k in of:
            value = None if k is None else Column(k, schema.names[k], Domain.REAL)
            if source.target is not None and value is None:
                continue
            for place, window in enumerate(windows):
                condition = conditions[(place + (k or 0)) % len(conditions)]
                if aggregate.needs_condition and condition is None:
                    condition = conditions[-1]
                    if condition is None:
                        continue
                if aggregate.of != "category" or not aggregate.gives_level:
                    found.append(LinkFeature(source.link.title, name, value, condition, window))
        if aggregate.gives_level:
            found += [
                LinkFeature(source.link.title, name, value, conditions[place % 2], window, level)
                for value in (Column(k, schema.names[k], Domain.REAL) for k in labels)
                for place, level in enumerate(levels_of(schema.levels[value.index]))
                for window in windows
            ]
            found += [
                LinkFeature(source.link.title, name, value, conditions[place % 2], window)
                for value in (Column(k, schema.names[k], Domain.CATEGORY) for k in labels)
                for place, window in enumerate(windows)
            ]
    joined = [
        variant
        for feature in found
        if feature.aggregate == "mean" and feature.window is None
        for variant in refined(feature, source, [], shares=False)
    ]
    step = -(-len(found) // 40)  # queries of hundreds of features take long to write
    counted = [feature for feature in found if feature.aggregate == "distinct"][:1]
    some = [*found[at % step :: step], *joined[:3], *counted]
    some += [f for f in found if f.domain is Domain.CATEGORY and f not in some][:4]
    return [(at, feature) for feature in some]


def orders_and_rows(dates: bool, zone: str | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(0)
    n, m = 60, 300
    when = rng.integers(0, 30, m).astype(float)  # many equal times
    times: list[Any] = [None if k % 17 == 0 else t for k, t in enumerate(when)]
    now: list[Any] = [None if k % 13 == 0 else t for k, t in enumerate(rng.integers(0, 35, n))]
    orders = pl.DataFrame(
        {
            "cust'omer": rng.choice([*NASTY, None], m).tolist(),
            "line": rng.choice([1, 2, 2**60, 2**60 + 1, None], m).tolist(),
            "at": days(times) if dates else [None if t is None else float(t) for t in times],
            'am"ount': np.where(rng.random(m) < 0.1, np.nan, rng.normal(size=m)),
            "units": rng.integers(0, 5, m).astype(float),
            "paid": rng.choice([True, False, None], m).tolist(),
            "colour": rng.choice([*NASTY, None], m).tolist(),
        },
        schema_overrides={
            "line": pl.Int64,
            "paid": pl.Boolean,
            "at": pl.Datetime if dates else pl.Float64,
        },
    )
    rows = pl.DataFrame(
        {
            "who": rng.choice([*NASTY, "never seen", None], n).tolist(),
            "line": rng.choice([1, 2, 2**60, 2**60 + 1, None], n).tolist(),
            "now": days(now) if dates else [None if t is None else float(t) for t in now],
            "size": rng.normal(size=n),
        },
        schema_overrides={"line": pl.Int64, "now": pl.Datetime if dates else pl.Float64},
    )
    if zone is not None:
        orders = orders.with_columns(pl.col("at").dt.replace_time_zone("UTC"))
        rows = rows.with_columns(
            pl.col("now").dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        )
    return orders, rows


@pytest.mark.parametrize("dates", [pytest.param(False, marks=pytest.mark.slow), True])
def test_every_aggregate(dates: bool) -> None:
    keep_missing = dates
    orders, rows = orders_and_rows(dates)
    on: Any = [("who", "cust'omer"), "line"]
    if not keep_missing:
        on, orders = on[0], orders.drop("line")
    link = Link(orders, on=on, time="at", name="orders")
    y = np.random.default_rng(0).normal(size=len(rows))
    model = RelationalFeatures([link], as_of="now", keep_missing=keep_missing).fit(rows, y)
    model = with_features(model, every_feature(model, 0), rows, y)
    assert any(feature.aggregate == "distinct" for feature in model.features_)
    assert any(feature.level is not None for feature in model.features_)
    assert any(feature.domain is Domain.CATEGORY for feature in model.features_)
    check(model, rows, {"orders": orders})
    label = pl.when(pl.col("units") > 2).then(pl.lit("un'seen")).otherwise(pl.col("colour"))
    check(model, rows, {"orders": orders.with_columns(colour=label)})


@pytest.mark.parametrize("timed", [False, True])
def test_levels_of_few_labels_that_tie(timed: bool) -> None:
    """Each level, window and condition where ties are frequent; labels of a look-up too."""
    rng = np.random.default_rng(1)
    n, m = 80, 240
    goods = pl.DataFrame({"good": np.arange(12), "kind": [*(NASTY[:6] * 2)[:11], None]})
    orders = pl.DataFrame(
        {
            "who": rng.integers(0, 40, m),
            "at": rng.integers(0, 12, m).astype(float),
            "good": rng.integers(0, 14, m),
            "colour": rng.choice([*NASTY[:3], None], m).tolist(),
            "shop_id": rng.choice([7, 30, 4, None], m).tolist(),
        },
        schema_overrides={"shop_id": pl.Int64},
    )
    rows = pl.DataFrame({"who": rng.integers(0, 45, n), "now": rng.integers(0, 14, n) * 1.0})
    look_up = [Link(goods, on="good", name="goods")]
    time = "at" if timed else None
    orders = orders if timed else orders.drop("at")
    link = Link(orders, on="who", time=time, name="orders", links=look_up)
    y = rng.normal(size=n)
    model = RelationalFeatures([link], as_of="now", keep_missing=True, include_original=False)
    schema = model.fit(rows, y)._sources[0].layout.schema
    windows = [None, Window(5.0, None, False), Window(None, 3, False)] if timed else [None]
    features = [
        (0, LinkFeature("orders", name, Column(at, schema.names[at], Domain.REAL), None, w, level))
        for at in np.flatnonzero(schema.domains == Domain.CATEGORY).tolist()
        for name in (["mode", "first", "last"] if timed else ["mode"])
        for w in windows
        for level in levels_of(schema.levels[at])
    ]
    assert {feature.value.name for _, feature in features} == {"colour", "shop_id", "goods.kind"}
    labels = [
        (0, replace(f, value=replace(f.value, domain=Domain.CATEGORY), level=None))
        for _, f in features
        if f.level is not None and f.level.code == 0
    ]
    chosen = features[:: 2 if timed else 1]
    model = with_features(model, [*chosen, *labels], rows, y)
    found = np.asarray(model.transform(rows))
    tests, codes = found[:, : len(chosen)], found[:, len(chosen) :]
    assert set(np.unique(tests[~np.isnan(tests)])) == {0.0, 1.0}
    assert all(
        len(levels) > np.nanmax(c) > 0
        for c, levels in zip(codes.T, model.levels_[len(chosen) :], strict=True)
    )
    assert np.isnan(tests).any()
    assert np.isnan(codes).any()
    check(model, rows, {"orders": orders, "goods": goods})
    newer = goods.with_columns(kind=pl.col("kind").replace("red", "new"))
    more = pl.when(pl.col("good") > 9).then(pl.lit("un'seen")).otherwise(pl.col("colour"))
    check(model, rows, {"orders": orders.with_columns(colour=more), "goods": newer})
    check_dialects(model, {"orders": orders, "goods": goods})


def test_an_empty_table() -> None:
    orders, rows = orders_and_rows(False)
    link = Link(orders, on="line", time="at", name="orders")
    y = np.random.default_rng(0).normal(size=len(rows))
    model = RelationalFeatures([link], as_of="now").fit(rows, y)
    model = with_features(model, every_feature(model, 0), rows, y)
    check(model, rows, {"orders": orders.clear()})


def test_dates_without_a_time_of_day() -> None:
    rng = np.random.default_rng(0)
    start = dt.datetime(2024, 2, 25)
    orders = pl.DataFrame(
        {
            "who": rng.integers(0, 20, 200),
            "at": [start + dt.timedelta(days=int(d)) for d in rng.integers(0, 9, 200)],
            "size": rng.normal(size=200),
        }
    )
    hours = rng.integers(0, 9 * 24, 50).tolist()
    rows = pl.DataFrame(
        {
            "who": rng.integers(0, 22, 50),
            "now": [start + dt.timedelta(hours=hour) for hour in hours],
        }
    )
    link = Link(orders, on="who", time="at", name="orders")
    y = rng.normal(size=50)
    model = RelationalFeatures([link], as_of="now", include_original=False, keep_missing=True)
    model = with_features(model.fit(rows, y), every_feature(model, 0), rows, y)
    check(model, rows, {"orders": orders})


def test_links_without_times() -> None:
    orders, rows = orders_and_rows(False)
    link = Link(orders.drop("at"), on="line", name="orders")
    y = np.random.default_rng(0).normal(size=len(rows))
    model = RelationalFeatures([link], keep_missing=True, include_original=False).fit(rows, y)
    model = with_features(model, every_feature(model, 0), rows, y)
    check(model, rows, {"orders": orders})


def test_times_with_zones() -> None:
    orders, rows = orders_and_rows(True, "Asia/Tokyo")
    orders = orders.drop("line")
    link = Link(orders, on=("who", "cust'omer"), time="at", name="orders")
    y = np.random.default_rng(0).normal(size=len(rows))
    model = RelationalFeatures([link], as_of="now", include_original=False, keep_missing=True)
    model = model.fit(rows, y)
    model = with_features(model, every_feature(model, 0), rows, y)
    check(model, rows, {"orders": orders})


def test_nested_links_and_look_ups() -> None:
    rng = np.random.default_rng(0)
    orders, rows = orders_and_rows(False)
    orders = orders.drop("line")
    products = pl.DataFrame({"colour": [*NASTY[:-1]], "price": rng.normal(size=len(NASTY) - 1)})
    lines = pl.DataFrame(
        {
            "units": rng.integers(0, 6, 80).astype(float),
            "sent": rng.integers(0, 30, 80).astype(float),
            "weight": rng.normal(size=80),
        }
    )
    nested = [
        Link(products, on="colour", name="product"),
        Link(lines, on="units", time="sent", name="lines"),
    ]
    link = Link(orders, on=("who", "cust'omer"), time="at", name="orders", links=nested)
    y = rng.normal(size=len(rows))
    model = RelationalFeatures([link], as_of="now", keep_missing=True).fit(rows, y)
    model = with_features(model, every_feature(model, 0), rows, y)
    tables = {"orders": orders, "product": products, "lines": lines}
    assert any("lines" in str(feature) for feature in model.features_)
    check(model, rows, tables)
    check_dialects(model, tables)


def test_histories_and_their_targets() -> None:
    rows = orders_and_rows(False)[1].drop("line")
    rng = np.random.default_rng(0)
    history = [Link.history(on="who", time="now", target_delay=delay) for delay in (0.0, 3.0)]
    for link, y in zip(
        history, (rng.normal(size=60), rng.choice(["a'", "b", "c"], 60)), strict=True
    ):
        model = RelationalFeatures([link], keep_missing=True).fit(rows, y)
        found = [*every_feature(model, 0), *every_feature(model, 1)]
        model = with_features(model, found, rows, y)
        check(model, rows, {"history": rows.with_columns(target=pl.Series(y))})


def test_groups() -> None:
    rng = np.random.default_rng(0)
    n = 1200
    group = rng.integers(0, 200, n)
    means = rng.normal(size=200)[group]
    rows = pl.DataFrame(
        {
            "group": group,
            "label": [NASTY[k % len(NASTY)] for k in group],
            "size": means + rng.normal(size=n),
        }
    )
    y = means + 2.0 * rng.normal(size=n) + 4.0 * (group % len(NASTY) == 2)
    other = pl.DataFrame(
        {
            "group": [3, 10_000, None, 7],
            "label": ["red", "it's", None, "new"],
            "size": [0.0] * 4,
        }
    )
    shown = pl.concat([rows[:50], other])
    both = Link.group(on=["group", "label"], name="both")
    for links in ([Link.group(on="group")], [Link.group(on="label"), both]):
        model = RelationalFeatures(links, random_state=0, n_features_out=4).fit(rows, y)
        assert len(model._groups) == len(links)
        check(model, shown, {})
    check_dialects(model, {})


def test_what_is_found_in_a_shop() -> None:
    customers, orders, y = shop(n=150)
    model = shop_features(orders, n_features_out=20).fit(customers, y)
    check(model, customers, {"orders": orders})
    check_dialects(model, {"orders": orders})


def test_what_is_refused() -> None:
    orders, rows = orders_and_rows(False)
    y = np.arange(60) % 2
    link = Link(orders, on=("who", "cust'omer"), time="at", name="orders")
    model = RelationalFeatures([link], as_of="now").fit(rows, y)
    model = with_features(model, every_feature(model, 0)[:3], rows, y)
    with pytest.raises(ValueError, match="needs the tables of the links 'orders'"):
        to_sql(model, "rows")
    with pytest.raises(ValueError, match="features are of the links: 'orders'"):
        to_sql(model, "rows", links={"orders": "o", "lines": "l"})
    with pytest.raises(ValueError, match="predicts nothing"):
        to_sql(model, "rows", output="predict", links={"orders": "o"})
    with pytest.raises(ValueError, match="ONNX has no joins"):
        to_onnx(model)
    key = rows["who"].fill_null("x")
    timed = RelationalFeatures([Link.group(on="who")], as_of="now")
    timed.fit(rows.with_columns(who=key), (key == "red").to_numpy() * 9.0 + y * 0.01)
    if timed._groups:
        with pytest.raises(ValueError, match="Mean targets of earlier rows"):
            to_sql(timed, "rows", links={"same who": "rows"})
