"""Links in a search: an honest proof, operands of all methods, newer tables, order of time."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.export.test_sql_links import check, check_dialects
from tests.relations.test_categories import COLOURS, boxes
from tests.relations.test_features import days, shop
from tests.relations.test_files import reload

from featurewright import AutoFeatures, Link
from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.leaderboard import Leaderboard
from featurewright.auto.link_words import describe
from featurewright.auto.links import with_links
from featurewright.auto.reading import learn_reader
from featurewright.auto.scoring import HeldOutScore
from featurewright.auto.search import Search
from featurewright.auto.summary import summarize
from featurewright.auto.time_folds import row_times, split_by_time
from featurewright.export import to_onnx, to_sql
from featurewright.expressions import Column, Real, parse
from featurewright.relations.aggregates import Condition, Level, LinkFeature, Window
from featurewright.report import render


def with_orders(orders: Any, **changes: Any) -> AutoFeatures:
    links = [Link(orders, on="customer", time="date", name="orders")]
    settings = {"as_of": "now", "methods": "batch", "effort": "quick", "random_state": 0}
    return AutoFeatures(**{**settings, "links": links, **changes})


@cache
def fitted() -> tuple[AutoFeatures, pl.DataFrame, pl.DataFrame, np.ndarray]:
    customers, orders, y = shop()
    return with_orders(orders).fit(customers, y), customers, orders, y


def test_features_over_links_are_kept_and_named() -> None:
    auto, _, _, _ = fitted()
    assert auto.gain_ > 0.3
    names = [feature.name for feature in auto.features_]
    assert any("sum(orders.amount, where channel = 'web')" in name for name in names)
    assert auto.front_[0]["n_formulas"] == 0
    assert len(auto.stability_) == len(names)
    assert list(auto.get_feature_names_out()[-len(names) :]) == [
        column.name for column in auto.columns_ if column.kind == "formula"
    ]
    told = " ".join(auto.summary().split())
    assert "sum of amount over the rows of orders with the same customer, before now" in told
    assert "come after theirs in time" in told


def test_the_baseline_is_the_table_without_links() -> None:
    auto, customers, _, y = fitted()
    alone = with_orders(None, links=()).fit(customers.drop("customer"), y)
    assert alone.baseline_score_ == auto.baseline_score_
    assert [column.name for column in alone.originals_.columns] == [
        column.name for column in auto.originals_.columns
    ]
    # Numbers of customers, and times that no later row has, say nothing of them.
    assert "customer" in auto.left_out_
    assert not {"customer", "now: days", "now: year"} & {c.name for c in auto.columns_}


def test_which_row_is_meant_and_when_is_no_column() -> None:
    n = 300
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "shop": np.arange(n) % 12,
            "city": rng.choice(["north", "south"], n),
            "day": days(np.arange(n)),
            "opened": days(np.arange(n) - rng.integers(1, 900, n)),
        }
    )
    of_rows = {"keys": {"shop", "city"}, "times": {"day"}}
    owner = BaseEstimator()
    reader, table, left_out = learn_reader(owner, rows, **of_rows)
    names = [column.name for column in reader.columns]
    assert left_out == {"shop": "is a key: its numbers say which row is meant, not what it is like"}
    assert {"city", "day: month", "opened - day", "opened: days"} <= set(names)
    assert not {"shop", "day: year", "day: days"} & set(names)
    np.testing.assert_array_equal(reader.read(owner, rows).matrix, table.matrix)
    # Where nothing else is left, there must be something to learn from.
    alone = learn_reader(BaseEstimator(), rows.select("shop"), **of_rows)[0]
    assert [column.name for column in alone.columns] == ["shop"]
    numbers = rows.select("city", day=pl.Series(np.arange(n) % 50))
    assert learn_reader(BaseEstimator(), numbers, **of_rows)[2]["day"].startswith("is the time")


def test_two_searches_hold_one_store_and_the_columns_of_one(monkeypatch: Any, caplog: Any) -> None:
    """While a table is searched without its links, the other search gives up what it can."""
    customers, orders, y = shop()
    run, searches, resting = Search.run, [], []

    def noted(search: Search) -> None:
        resting.extend(fold for other in searches for fold in other.folds)
        assert all(fold.space._base is None and not fold._held_out_base for fold in resting)
        searches.append(search)
        run(search)

    monkeypatch.setattr(Search, "run", noted)
    auto = with_orders(orders, cv=2, verbose=1).fit(customers, y)
    assert len(resting) >= 2
    assert "batch, fold 1 of 2; best" in caplog.text
    assert "batch, fold 1 of 2, without links; best" in caplog.text
    assert searches[0].store is searches[1].store
    assert auto.gain_ > 0.3


def test_links_that_say_nothing_change_nothing() -> None:
    rng = np.random.default_rng(5)
    rows = pl.DataFrame(rng.normal(size=(240, 3)), schema=["a", "b", "c"])
    y = (rows["a"] * rows["b"]).to_numpy() > 0
    code = pl.Series("code", rng.choice([f"code {k}" for k in range(12)], len(rows)))
    table = rows.with_columns(code)
    settings: dict[str, Any] = {"methods": "batch", "effort": "quick", "random_state": 0}
    flat = AutoFeatures(**settings).fit(table, y)
    grouped = AutoFeatures(links=[Link.group(on="code")], **settings).fit(table, y)
    assert len(flat.features_)
    assert list(grouped.get_feature_names_out()) == list(flat.get_feature_names_out())
    np.testing.assert_array_equal(grouped.transform(table), flat.transform(table))
    assert (grouped.gain_, grouped.gain_std_) == (flat.gain_, flat.gain_std_)
    assert grouped.linked_ is None
    (tried,) = [result for result in grouped.results_ if result["method"] == "links"]
    assert tried["status"] != "done"


def test_a_choice_over_links_must_beat_the_one_without() -> None:
    ours, flat = Leaderboard(["links"], 0.5), Leaderboard(["batch"], 0.5)
    linked = Candidate((Block("links", Order.RESIDUAL, 1),))
    rival = Candidate((Block("batch", Order.RESIDUAL, 1),))
    for fold, (mine, theirs) in enumerate([(0.8, 0.7), (0.9, 0.8), (0.85, 0.76)]):
        for board in (ours, flat):
            board.add(ORIGINAL.label, ORIGINAL, fold, HeldOutScore(0.5, 0.5))
        ours.add("links", linked, fold, HeldOutScore(mine, mine))
        flat.add("batch", rival, fold, HeldOutScore(theirs, theirs))
    assert ours.beats(linked, flat, rival)
    assert not flat.beats(rival, ours, linked)
    assert ours.beats(linked, flat, ORIGINAL)
    assert not ours.beats(ORIGINAL, flat, rival)
    assert not ours.beats(ORIGINAL, flat, ORIGINAL)
    ours.add("links", linked, 0, HeldOutScore(0.6, 0.6))  # better in two folds, far worse in one
    assert not ours.beats(linked, flat, rival)
    assert ours.mean_gain(linked) > flat.mean_gain(rival)
    longer = Candidate((Block("batch", Order.RESIDUAL, 2),))
    for fold, score in enumerate((0.7, 0.8, 0.76)):
        flat.add("batch", longer, fold, HeldOutScore(score, score))
    assert ours.beats(linked, flat, longer)  # ahead, with fewer columns
    flat.note_beaten("links", ours)
    assert flat.results()[-1]["reason_code"] == "no_better_joined"
    assert flat.results()[-1]["fold_scores"] == [0.6, 0.9, 0.85]


def test_a_choice_over_links_is_proved_on_further_folds_where_rows_are_many(
    monkeypatch: Any,
) -> None:
    """The search without them has none: it is that of a table that has no links."""
    monkeypatch.setattr("featurewright.auto.estimators.FEW_ROWS", 100)
    monkeypatch.setattr("featurewright.auto.links.FEW_ROWS", 100)
    given: list[int] = []
    start = Search.__init__

    def note(self: Any, *args: Any, further: Any, **settings: Any) -> None:
        given.append(len(further))
        start(self, *args, further=further, **settings)

    monkeypatch.setattr(Search, "__init__", note)
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.normal(size=150), "code": rng.choice(list("pqrs"), 150)})
    y = X["a"].to_numpy() + rng.normal(size=150)
    settings: dict[str, Any] = {"methods": "batch", "effort": "quick", "random_state": 0}
    AutoFeatures(links=[Link.group(on="code")], **settings).fit(X, y)
    AutoFeatures(**settings).fit(X, y)
    assert given == [3, 0, 0]


def test_one_row_equals_the_batch_and_newer_tables_are_read() -> None:
    auto, customers, orders, _ = fitted()
    batch = auto.transform(customers)
    np.testing.assert_array_equal(auto.transform(customers[7:8])[0], batch[7])
    np.testing.assert_array_equal(auto.transform(customers, links={"orders": orders}), batch)
    newer, their_orders, their_y = shop(seed=3)
    assert auto.score(newer, their_y, links={"orders": their_orders}) > 0.85
    assert auto.score(newer, their_y) < 0.7
    assert auto.predict(newer, links={"orders": their_orders}).shape == their_y.shape
    assert auto.predict_proba(newer, links={"orders": their_orders}).shape == (len(their_y), 2)
    with pytest.warns(UserWarning, match="has no time in 1 of 2 rows: these see no rows of link"):
        auto.predict(customers[:2].with_columns(now=pl.col("now").shift(1)))
    with pytest.raises(ValueError, match="the links are: 'orders'"):
        auto.transform(newer, links={"lines": their_orders})


def test_the_page_says_what_columns_over_links_are() -> None:
    auto, _, _, _ = fitted()
    page = render(summarize(auto))
    assert "Columns over links" in page
    assert "over the rows of orders with the same customer, before now" in page
    assert "links={&#34;orders&#34;: …}" in page or 'links={"orders": …}' in page
    assert "--link &#34;orders=FILE&#34;" in page or '--link "orders=FILE"' in page


def test_words_for_features_over_links() -> None:
    amount = Column(0, "amount", Real)
    orders = Link(None, on=("customer", "id"), time="date", name="orders")
    window, condition = Window(None, 3, True), Condition(1, False, 2.0, "price > 2")
    expected = {
        ("count", None): "number of the rows of orders with the same customer (there id)",
        ("time since last", None): "time since the last of the rows of orders",
        ("max", amount): "largest amount over the rows of orders with the same customer (there id)",
        ("median", amount): "median of amount over",
    }
    for (aggregate, value), said in expected.items():
        feature = LinkFeature("orders", aggregate, value, condition, window)
        told = describe(feature, orders, "day")
        assert told.startswith(said)
        assert told.endswith(", before day, last 3 rows, where price > 2")
    channel, web = Column(2, "channel", Real), Level(1.0, "'web'")
    told = describe(LinkFeature("orders", "mode", channel, None, window, web), orders, None)
    assert told == (
        "whether it is 'web': most frequent channel over the rows of orders with the same "
        "customer (there id), last 3 rows"
    )
    product = parse("amount * price", ["amount", "price"])
    history = Link.history(on=["store", "shelf"], time="day")
    told = describe(LinkFeature("history", "sum", product), history, None)
    assert told == "sum of amount * price over the earlier rows with the same store and shelf"


def test_model_files_hold_no_linked_rows_unless_asked() -> None:
    auto, customers, orders, y = fitted()
    loaded = reload(auto)
    expected = auto.transform(customers)
    with pytest.raises(ValueError, match=r"does not hold the linked rows of 'orders'"):
        loaded.transform(customers)
    tables = {"orders": orders}
    np.testing.assert_array_equal(loaded.transform(customers, links=tables), expected)
    np.testing.assert_array_equal(with_links(loaded, tables).transform(customers), expected)
    limited = loaded.limit(1, customers, y, links=tables)
    np.testing.assert_array_equal(
        limited.transform(customers, links=tables), auto.limit(1).transform(customers)
    )
    assert summarize(loaded)["links"] == summarize(auto)["links"]
    whole = reload(with_orders(orders, store_links=True).fit(customers, y))
    np.testing.assert_array_equal(whole.transform(customers), expected)


def test_sql_is_one_query_and_onnx_is_refused() -> None:
    auto, customers, orders, _ = fitted()
    check(auto, customers[:50], {"orders": orders})
    check_dialects(auto, {"orders": orders})
    query = to_sql(auto, "rows", "duckdb", output="predict", key="customer", links={"orders": "o"})
    with duckdb.connect() as connection:
        connection.register("rows", customers.to_arrow())
        connection.register("o", orders.to_arrow())
        found = connection.execute(f"SELECT * FROM ({query}) ORDER BY customer").fetchall()
    assert [bool(row[1]) for row in found] == auto.predict(customers).tolist()
    with pytest.raises(ValueError, match="needs the tables of the links 'orders'"):
        to_sql(auto, "rows")
    assert "SELECT" in to_sql(auto.limit(0), "rows", links={"orders": "o"})
    with pytest.raises(ValueError, match="ONNX has no joins"):
        to_onnx(auto)


def test_limit_and_a_short_sum() -> None:
    auto, customers, _, y = fitted()
    limited = auto.limit(1)
    assert len(limited.features_) == 1
    np.testing.assert_allclose(
        auto.limit(1, customers, y).transform(customers), limited.transform(customers)
    )
    with pytest.raises(ValueError, match="other features over links than those of the fit"):
        auto.limit(1, customers, np.random.default_rng(0).permutation(y))
    assert auto.limit(0).transform(customers).shape[1] == len(auto.originals_.columns)
    short = auto.to_additive(max_terms=2)
    assert short.score(customers, y) > 0.85


def test_pickle_clone_and_pipeline() -> None:
    auto, customers, orders, y = fitted()
    again = pickle.loads(pickle.dumps(auto))
    np.testing.assert_array_equal(again.predict(customers), auto.predict(customers))
    unfitted = clone(auto)
    assert unfitted.links[0] is auto.links[0]
    model = make_pipeline(with_orders(orders), StandardScaler(), LogisticRegression())
    assert model.fit(customers[:300], y[:300]).score(customers[300:], y[300:]) > 0.85
    short = with_orders(orders, feature_names="short", cv=2).fit(customers, y)
    assert any("orders.amount" in name for name in short.feature_mapping_.values())
    assert "fw_01" in short.get_feature_names_out()


def test_threads_and_frames_change_nothing() -> None:
    auto, customers, orders, y = fitted()
    other = with_orders(orders.to_pandas(), n_jobs=2).fit(customers.to_pandas(), y)
    assert [f.name for f in other.features_] == [f.name for f in auto.features_]
    np.testing.assert_array_equal(other.gain_per_fold_, auto.gain_per_fold_)


def test_ratios_of_aggregates_are_found() -> None:
    rng = np.random.default_rng(0)
    customers, orders, _ = shop(n=500)
    two = orders.with_columns(refund=pl.Series(rng.exponential(1, len(orders))))
    seen = two.join(customers, on="customer").filter(pl.col("date") < pl.col("now"))
    sums = seen.group_by("customer").agg(ratio=pl.col("refund").sum() / pl.col("amount").sum())
    ratio = customers.join(sums, on="customer", how="left", maintain_order="left")["ratio"]
    y = ratio.fill_null(ratio.median()).log().to_numpy()
    auto = with_orders(two).fit(customers, y)
    assert auto.gain_ > 0.5
    assert any(
        name.count("orders.refund") and name.count("orders.amount")
        for name in (feature.name for feature in auto.features_)
    )


def test_random_keys_and_shuffled_targets_keep_nothing() -> None:
    rng = np.random.default_rng(1)
    customers, orders, y = shop(n=300)
    shuffled = with_orders(orders).fit(customers, rng.permutation(y))
    assert shuffled.best_method_ == "original"
    n_columns = len(shuffled.originals_.columns)
    assert shuffled.transform(customers, links={"orders": orders}).shape == (300, n_columns)
    random = orders.with_columns(pl.Series("customer", rng.integers(0, 300, len(orders))))
    assert with_orders(random).fit(customers, y).gain_ < 0.05


def test_the_future_a_row_cannot_see_is_of_no_use() -> None:
    customers, _, y = shop(n=300)
    told = pl.DataFrame(
        {
            "customer": np.arange(300),
            "date": customers["now"],
            "amount": y.astype(float),
            "channel": ["web"] * 300,
        }
    )
    assert with_orders(told).fit(customers, y).best_method_ == "original"
    with pytest.raises(ValueError, match=r"has the time 'date', but as_of is None"):
        with_orders(told, as_of=None).fit(customers, y)


def test_means_of_targets_are_proved_on_rows_they_did_not_see() -> None:
    rng = np.random.default_rng(0)
    n = 600
    # Every label has two rows: its mean target is one other row's, or the row's own.
    X = pl.DataFrame(
        {"label": [f"k{k}" for k in rng.integers(0, n // 2, n)], "size": rng.normal(size=n)}
    )
    y = rng.integers(0, 2, n)
    auto = AutoFeatures(
        links=[Link.group(on="label")], methods="batch", effort="quick", random_state=0
    ).fit(X, y)
    assert auto.best_method_ == "original"
    assert abs(auto.gain_) < 1e-12


def test_mean_targets_of_groups_help_and_training_rows_are_out_of_fold() -> None:
    rng = np.random.default_rng(0)
    n = 900
    district = rng.integers(0, 60, n)
    price = rng.normal(size=60)[district] + 0.3 * rng.normal(size=n)
    X = pl.DataFrame({"district": [f"d{k}" for k in district], "size": rng.normal(size=n)})
    auto = AutoFeatures(
        links=[Link.group(on="district", name="district rows")],
        methods="batch",
        effort="quick",
        random_state=0,
    )
    training = auto.fit_transform(X, price)
    assert auto.gain_ > 0.2
    assert auto.features_[0].name == "mean(target, district rows)"
    later = auto.transform(X)
    place = list(auto.get_feature_names_out()).index("mean(target, district rows)")
    assert not np.array_equal(training[:, place], later[:, place])
    assert np.corrcoef(training[:, place], later[:, place])[0, 1] > 0.9
    np.testing.assert_array_equal(training[:, 0], later[:, 0])


def test_history_of_the_table_itself() -> None:
    rng = np.random.default_rng(0)
    n = 200
    X = pl.DataFrame(
        {
            "store": np.repeat(["a", "b", "c", "d"], n),
            "day": days(np.tile(np.arange(n), 4)),
            "stock": rng.normal(size=4 * n),
        }
    ).sample(fraction=1.0, shuffle=True, seed=0)
    before = X.select(pl.col("stock").shift(1).over("store", order_by="day"))
    y = before["stock"].fill_null(0.0).to_numpy() + 0.1 * rng.normal(size=4 * n)
    auto = AutoFeatures(
        links=[Link.history(on="store", time="day")],
        methods="batch",
        effort="quick",
        random_state=0,
    ).fit(X, y)
    assert auto.gain_ > 0.5
    later = X.filter(pl.col("day") == X["day"].max()).with_columns(
        pl.col("day") + pl.duration(days=1)
    )
    fresh = auto.transform(later, links={"history": X})
    np.testing.assert_array_equal(fresh, auto.transform(later))


# Order of time ----------------------------------------------------------------------------------


def test_folds_hold_out_later_rows_and_never_split_equal_times() -> None:
    rng = np.random.default_rng(0)
    times = rng.integers(0, 40, 300).astype(float)
    for n_folds in (2, 3, 5):
        folds = split_by_time(times, n_folds, None, 0)
        assert len(folds) == n_folds
        for train, test in folds:
            assert times[train].max() < times[test].min()
    assert split_by_time(np.ones(10), 3, None, 0) is None
    (only,) = split_by_time(np.array([1.0, 2.0, 2.0, 2.0]), 3, None, 0)
    assert [rows.tolist() for rows in only] == [[0], [1, 2, 3]]


def test_folds_in_time_obey_groups() -> None:
    rng = np.random.default_rng(0)
    times, groups = rng.uniform(size=300), rng.integers(0, 20, 300)
    for train, test in split_by_time(times, 3, groups, 0):
        assert len(train)
        assert len(test)
        assert times[train].max() < times[test].min()
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="one group only"):
        split_by_time(times, 3, np.zeros(300), 0)


def test_search_learns_from_earlier_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    customers, orders, y = shop(n=200)
    now = customers["now"].to_numpy()
    seen = []

    def note(*asked: Any) -> Any:
        folds = split_by_time(*asked)
        seen.extend(folds)
        return folds

    monkeypatch.setattr("featurewright.auto.features.split_by_time", note)
    with_orders(orders, links=()).fit(customers, y)
    assert len(seen) == 5
    assert all(now[train].max() < now[test].min() for train, test in seen)


def test_times_that_make_no_sense_are_refused() -> None:
    customers, orders, y = shop(n=60)
    with pytest.raises(ValueError, match="has no column 'then'"):
        with_orders(orders, as_of="then").fit(customers, y)
    with pytest.raises(ValueError, match="must be the name of a column"):
        with_orders(orders, as_of=3).fit(customers, y)
    holes = customers.with_columns(pl.when(pl.col("age") > 0).then("now").alias("now"))
    with pytest.raises(ValueError, match="missing times, but every row needs the time"):
        with_orders(orders).fit(holes, y)
    with pytest.raises(TypeError, match="X is an array"):
        row_times(np.zeros((3, 2)), "now", ())
    with pytest.raises(TypeError, match="links need columns with names"):
        AutoFeatures(links=[Link.group(on="a")]).fit(np.zeros((20, 2)), y[:20])


@pytest.mark.parametrize(
    ("links", "said"),
    [
        (3, "must be a list of Link"),
        (["orders"], "every entry must be a Link"),
        ([Link.group(on="age"), Link.group(on="age")], "Two links are called 'same age'"),
        ([Link.group(on="colour")], "has no column 'colour'"),
    ],
)
def test_bad_links_are_refused_before_any_work(links: Any, said: str) -> None:
    customers, _, y = shop(n=60)
    with pytest.raises(ValueError, match=said):
        with_orders(None, links=links).fit(customers, y)


def test_links_of_a_model_without_any_are_refused() -> None:
    customers, orders, y = shop(n=60)
    auto = with_orders(orders, links=()).fit(customers, y)
    with pytest.raises(ValueError, match="the model was fitted without links"):
        auto.predict(customers, links={"orders": orders})
    with pytest.raises(ValueError, match="there are no links"):
        with_orders(orders, links=(), methods="links").fit(customers, y)


@pytest.mark.parametrize("estimator", ["boosting", "linear"])
def test_labels_over_links_are_categories_where_the_estimator_takes_them(estimator):
    rows, balls, y = boxes(400, n_shades=1 if estimator == "linear" else 4)
    boosting = HistGradientBoostingRegressor(
        max_iter=30, min_samples_leaf=5, categorical_features="from_dtype"
    )
    auto = AutoFeatures(
        boosting if estimator == "boosting" else "linear",
        links=[Link(balls, on="box", name="balls")],
        methods="links" if estimator == "linear" else "labels",
        effort="quick",
        random_state=0,
    ).fit(rows, y)
    tried = {result["method"] for result in auto.results_}
    kinds = {column.kind for column in auto.columns_}
    assert auto.score(rows, y) > 0.7
    if estimator == "linear":
        assert "labels" not in tried
        assert "label" not in kinds
        assert any("mode(balls.colour)" in feature.name for feature in auto.features_)
    else:
        assert "label" in kinds
        (at,) = [k for k, column in enumerate(auto.columns_) if column.kind == "label"]
        codes = auto.transform(rows)[:, at]
        assert set(np.unique(codes)) <= set(range(1, 4 * len(COLOURS) + 1))
        assert auto.model_.is_categorical_[at]
        newer = {"balls": balls.with_columns(colour=pl.lit("violet"))}
        assert (auto.transform(rows, links=newer)[:, at] == 0).all()
    loaded = reload(auto)
    np.testing.assert_array_equal(
        loaded.transform(rows, links={"balls": balls}), auto.transform(rows)
    )
    check(auto, rows, {"balls": balls})
    check_dialects(auto, {"balls": balls})
    assert render(summarize(auto))
    assert auto.summary()


def test_nothing_is_learned_from_targets_that_are_not_known_yet():
    times = np.random.default_rng(0).integers(0, 100, 300).astype(float)
    for train, test in split_by_time(times, 4, None, 0, delay=10.0):
        assert times[train].max() <= times[test].min() - 10.0
    with pytest.raises(ValueError, match="no target is known"):
        split_by_time(times, 4, None, 0, delay=1000.0)
