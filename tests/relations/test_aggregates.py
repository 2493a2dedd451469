"""Aggregates of linked rows agree with one row at a time."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import ranges as naive

from featurewright import Link
from featurewright.engine.ranges import range_extremes
from featurewright.expressions import Column, Domain
from featurewright.relations.aggregates import (
    AGGREGATES,
    Condition,
    Level,
    LinkFeature,
    LinkValues,
    SeenRows,
    Window,
)
from featurewright.relations.sources import learn_source

WEEKS = Window(21.0, None, False)
NUMBERS = [name for name in AGGREGATES if name not in ("share", "distinct", "mode")]


def make_linked(seed: int, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    value = np.round(rng.normal(size=n) * 10.0 ** rng.integers(-3, 6), 3)
    value[rng.random(n) < 0.2] = np.nan
    return {
        "key": rng.integers(0, 4, n),
        "time": rng.integers(0, 8, n).astype(float),  # many equal times
        "value": value,
        "kind": rng.integers(0, 3, n).astype(float),
    }


def link_of(linked: dict[str, np.ndarray]) -> Link:
    return Link(linked_frame(linked), on="key", time="time", name="rows")


def linked_frame(linked: dict[str, np.ndarray]) -> pl.DataFrame:
    return pl.DataFrame(linked, nan_to_null=True)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), name=st.sampled_from(NUMBERS))
@pytest.mark.parametrize("span", [None, 3.0])
def test_aggregates_of_ranges(span: float | None, seed: int, n: int, name: str) -> None:
    linked = make_linked(seed, n)
    keys, until = np.array([0, 1, 2, 3, 9, 0]), np.array([8.0, 4.0, 0.0, 5.0, 8.0, 5.0])
    source = learn_source(link_of(linked), as_nw(linked), 2)
    frame = as_nw({"key": keys, "now": until})
    values = LinkValues(source.linked, source.see(frame, "now", training=False))
    value = None if AGGREGATES[name].of == "rows" else Column(0, "value", Domain.REAL)
    window = None if span is None else Window(span, None, False)
    actual = values.compute(LinkFeature("rows", name, value, None, window))
    counted = linked["value"] if value is not None else np.ones(n)
    expected = []
    for key, now in zip(keys, until, strict=True):
        rows = naive.visible(linked, key, now, span)
        expected.append(naive.aggregate(name, counted[rows], linked["time"][rows], now))
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-7 * (1 + scale(linked)))


def scale(linked: dict[str, np.ndarray]) -> float:
    return float(np.nanmax(np.abs(linked["value"]), initial=0.0))


def as_nw(columns: dict[str, np.ndarray]):
    return nw.from_native(linked_frame(columns), eager_only=True)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "trend"])
def test_one_large_value_costs_later_windows_no_digits(name: str) -> None:
    rng = np.random.default_rng(0)
    times, value = np.arange(200.0), rng.normal(60.0, 1.0, 200)
    value[20] = 1e30
    linked = {"key": np.zeros(200), "time": times, "value": value}
    source = learn_source(link_of(linked), as_nw(linked), 2)
    until = np.arange(60.0, 200.0, 7.0)
    frame = as_nw({"key": np.zeros(len(until)), "now": until})
    values = LinkValues(source.linked, source.see(frame, "now", training=False))
    feature = LinkFeature("rows", name, Column(0, "value", Domain.REAL), None, WEEKS)
    expected = []
    for now in until:
        rows = naive.visible(linked, 0.0, now, WEEKS.span)
        expected.append(naive.aggregate(name, value[rows], times[rows], now))
    np.testing.assert_allclose(values.compute(feature), expected, rtol=1e-7)


@pytest.mark.parametrize("window", [None, WEEKS, Window(None, 30, False)])
def test_rows_that_are_seen_often_come_and_go(window: Window | None, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    n, n_rows = 400, 300
    amounts = rng.normal(size=n).round(1)
    amounts[rng.random(n) < 0.2] = np.nan
    linked = {
        "key": np.where(rng.random(n) < 0.7, 0, rng.integers(1, 4, n)),
        "time": rng.integers(0, 90, n).astype(float),
        "value": amounts,
        "kind": rng.choice(["a", "b", "c", "d", None], n),
    }
    source = learn_source(link_of(linked), as_nw(linked), 2)
    keys, now = rng.integers(0, 6, n_rows), rng.uniform(-5.0, 95.0, n_rows)
    seen = source.see(as_nw({"key": keys, "now": now}), "now", training=False)
    number, kind = Column(0, "value", Domain.REAL), Column(1, "kind", Domain.CATEGORY)
    features = [
        LinkFeature(
            "rows", name, kind if AGGREGATES[name].of == "category" else number, one, window
        )
        for name in ("median", "quantile 0.25", "quantile 0.75", "distinct", "mode")
        for one in (None, Condition(0, False, 0.3, "value > 0.3"))
    ]
    found = []
    for often in (0, n_rows + 1):
        monkeypatch.setattr("featurewright.relations.aggregates._OFTEN", often)
        values = LinkValues(source.linked, seen)
        found.append(np.column_stack([values.compute(feature) for feature in features]))
    np.testing.assert_array_equal(*found)


def test_condition_and_share() -> None:
    linked = make_linked(3, 60)
    source = learn_source(link_of(linked), as_nw(linked), 2)
    frame = as_nw({"key": np.arange(4), "now": np.full(4, 7.0)})
    values = LinkValues(source.linked, source.see(frame, "now", training=False))
    high = Condition(1, False, 0.5, "kind > 0.5")
    counts = values.compute(LinkFeature("rows", "count", None, high))
    shares = values.compute(LinkFeature("rows", "share", None, high))
    for key in range(4):
        rows = naive.visible(linked, key, 7.0, None)
        among = linked["kind"][rows] > 0.5
        assert counts[key] == among.sum()
        assert shares[key] == pytest.approx(among.mean())


def test_distinct_levels() -> None:
    table = pl.DataFrame({"key": [1, 1, 1, 2, 2], "colour": ["a", "b", "a", None, "c"]})
    link = Link(table, on="key", name="rows")
    source = learn_source(link, nw.from_native(table, eager_only=True), 2)
    frame = nw.from_native(pl.DataFrame({"key": [1, 2, 3]}), eager_only=True)
    values = LinkValues(source.linked, source.see(frame, None, training=False))
    colour = Column(0, "colour", Domain.REAL)
    assert values.compute(LinkFeature("rows", "distinct", colour)).tolist() == [2.0, 1.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40))
@pytest.mark.parametrize("name", ["mode", "first", "last"])
@pytest.mark.parametrize("span", [None, 3.0])
def test_levels_that_are_picked(span: float | None, name: str, seed: int, n: int) -> None:
    """Of equally frequent levels the first one counts, of several at one time the last one."""
    rng = np.random.default_rng(seed)
    linked = make_linked(seed, n)
    colours = np.array(["a", "b", "c", None])[rng.integers(0, 4, n)]
    table = linked_frame({"key": linked["key"], "time": linked["time"]})
    table = table.with_columns(colour=pl.Series(colours.tolist(), dtype=pl.String))
    link = Link(table, on="key", time="time", name="rows")
    source = learn_source(link, nw.from_native(table, eager_only=True), 2)
    keys, until = np.array([0, 1, 2, 3, 9, 0]), np.array([8.0, 4.0, 0.0, 5.0, 8.0, 5.0])
    frame = as_nw({"key": keys, "now": until})
    values = LinkValues(source.linked, source.see(frame, "now", training=False))
    window = None if span is None else Window(span, None, False)
    (levels,) = source.layout.schema.levels
    codes = {label: float(code) for code, label in enumerate(levels or ())}
    coded = np.array([codes.get(colour, np.nan) for colour in colours])
    for label, code in codes.items():
        column, level = Column(0, "colour", Domain.REAL), Level(code, repr(label))
        actual = values.compute(LinkFeature("rows", name, column, None, window, level))
        expected = []
        for key, now in zip(keys, until, strict=True):
            rows = naive.visible(linked, key, now, span)
            found = naive.aggregate(name, coded[rows], linked["time"][rows], now)
            expected.append(np.nan if np.isnan(found) else float(found == code))
        np.testing.assert_array_equal(actual, expected)
    column = Column(0, "colour", Domain.CATEGORY)
    actual = values.compute(LinkFeature("rows", name, column, None, window))
    seen = [naive.visible(linked, key, now, span) for key, now in zip(keys, until, strict=True)]
    expected = [
        naive.aggregate(name, coded[rows], linked["time"][rows], now)
        for rows, now in zip(seen, until, strict=True)
    ]
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", [name for name, one in AGGREGATES.items() if one.for_groups])
def test_a_row_is_left_out_of_its_group(name: str) -> None:
    if name == "share":
        return_shares()
        return
    linked = make_linked(5, 50)
    link = Link.group(on="key", name="rows")
    frame = as_nw({"key": linked["key"], "value": linked["value"]})
    source = learn_source(link, frame, 2)
    values = LinkValues(source.linked, source.see(frame, None, training=True))
    value = None if name == "count" else Column(0, "value", Domain.REAL)
    actual = values.compute(LinkFeature("rows", name, value))
    counted = np.ones(50) if value is None else linked["value"]
    for row in range(50):
        others = [i for i in range(50) if linked["key"][i] == linked["key"][row] and i != row]
        expected = naive.aggregate(name, counted[others], np.zeros(len(others)), 0.0)
        close = 1e-7 * (1 + scale(linked))
        np.testing.assert_allclose(actual[row], expected, rtol=1e-7, atol=close)


def return_shares() -> None:
    frame = as_nw({"key": np.array([1.0, 1.0, 1.0]), "value": np.array([0.0, 1.0, 1.0])})
    link = Link.group(on="key", name="rows")
    source = learn_source(link, frame, 2)
    seen = source.see(frame, None, training=True)
    assert isinstance(seen, SeenRows)
    ones = Condition(0, False, 0.5, "value > 0.5")
    shares = LinkValues(source.linked, seen).compute(LinkFeature("rows", "share", None, ones))
    assert shares.tolist() == [1.0, 0.5, 0.5]


def test_names() -> None:
    amount = Column(0, "amount", Domain.REAL)
    web = Condition(1, True, 0.0, "channel = 'web'")
    feature = LinkFeature("orders", "mean", amount, web, Window(90.0, None, True))
    assert str(feature) == "mean(orders.amount, last 90 days, where channel = 'web')"
    channel, web_is = Column(1, "channel", Domain.REAL), Level(0.0, "'web'")
    often = LinkFeature("orders", "mode", channel, None, Window(None, 3, True), web_is)
    assert str(often) == "mode(orders.channel, last 3 rows) = 'web'"
    label = LinkFeature("orders", "last", Column(1, "channel", Domain.CATEGORY))
    assert str(label) == "last(orders.channel)"
    assert label.latex() == r"\operatorname{last}_{\text{orders}}\left(\text{channel}\right)"
    assert often.latex().endswith(r"\left(\text{channel}\right) = \text{'web'}")
    assert str(Window(0.25, None, True)) == "last 6 hours"
    assert str(Window(1.0, None, True)) == "last 1 day"
    assert str(Window(2.5, None, False)) == "last 2.5"


@pytest.mark.parametrize("own", [False, True])
def test_extremes_of_long_ranges(own: bool) -> None:
    """Ranges that overlap are put together of blocks."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=500)
    values[rng.random(500) < 0.3] = np.nan
    offsets, keys = np.array([0, 100, 500]), np.repeat([1, 0, -1], 100)
    places = offsets[np.maximum(keys, 0)], offsets[np.maximum(keys, 0) + 1]
    starts, ends = np.sort(rng.integers(*places, (2, 300)), axis=0)
    starts[keys < 0], ends[keys < 0] = 0, 0
    mine = np.where(own & (ends > starts), (starts + ends) // 2, -1)
    actual = np.empty((2, 300))
    blocks = np.empty((4, 400))
    range_extremes(values, offsets, keys, np.arange(300), starts, ends, mine, blocks, actual)
    expected = [naive.extremes(values, *one) for one in zip(starts, ends, mine, strict=True)]
    np.testing.assert_array_equal(actual, np.transpose(expected))


def test_threads_change_nothing() -> None:
    linked = make_linked(7, 200)
    source = learn_source(link_of(linked), as_nw(linked), 2)
    frame = as_nw({"key": np.arange(4), "now": np.full(4, 7.0)})
    values = LinkValues(source.linked, source.see(frame, "now", training=False))
    features = [
        LinkFeature("rows", name, Column(at, "column", Domain.REAL), None, window)
        for at in (0, 1)
        for window in (None, Window(3.0, None, False))
        for name, one in AGGREGATES.items()
        if not one.needs_condition
    ]
    alone = [values.compute(feature) for feature in features]
    for n_threads in (1, 3):
        together = values.each(features, lambda place, found: (place, found), n_threads)
        assert [place for place, _ in together] == list(range(len(features)))
        np.testing.assert_array_equal([found for _, found in together], alone)
