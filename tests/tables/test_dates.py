"""Dates as people write them."""

from __future__ import annotations

import datetime as dt

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.auto.cases import TWO_FOLDS
from tests.cases import loop_over

from featurewright import AutoFeatures, load, save
from featurewright.export import to_sql
from featurewright.tables.dates import TimeKind, date_parts, read_seconds, time_kind

DAYS = [dt.datetime(2023, 1, 5, 14, 30) + dt.timedelta(days=9 * k) for k in range(40)]
WRITTEN = {
    "%Y-%m-%d": TimeKind.DATE,
    "%Y-%m-%dT%H:%M": TimeKind.DATE,
    "%Y/%m/%d": TimeKind.YEAR_FIRST,
    "%d.%m.%Y": TimeKind.DAY_FIRST,
    "%d/%m/%Y %H:%M": TimeKind.DAY_FIRST,
    "%m/%d/%Y": TimeKind.MONTH_FIRST,
    "%m/%d/%Y %I:%M %p": TimeKind.MONTH_FIRST,
    "%m-%d-%Y %H:%M:%S": TimeKind.MONTH_FIRST,
    "%d %b %Y": TimeKind.NAMED_MONTH,
    "%d-%B-%Y": TimeKind.NAMED_MONTH,
    "%B %d, %Y %I:%M%p": TimeKind.NAMED_MONTH,
}


def series(labels):
    return nw.from_native(pl.Series("when", labels), series_only=True)


@loop_over("form", WRITTEN)
def test_ways_to_write_dates(form):
    column = series([None, *(day.strftime(form) for day in DAYS)])
    kind = time_kind(column)
    assert kind is WRITTEN[form]
    read = read_seconds("when", column, kind)
    expected = [dt.datetime.strptime(day.strftime(form), form) for day in DAYS]
    assert np.isnan(read[0])
    epoch = dt.datetime(1970, 1, 1)
    np.testing.assert_array_equal(read[1:], [(day - epoch).total_seconds() for day in expected])
    assert date_parts(read)["month"][1:].tolist() == [day.month for day in expected]
    # What was learned holds for later rows, alone too: this one could be the fourth of March.
    alone = read_seconds("when", series([dt.datetime(2024, 4, 3).strftime(form)]), kind)
    assert date_parts(alone)["month"].tolist() == [4]
    real = nw.from_native(pl.Series("when", DAYS), series_only=True)
    assert date_parts(read_seconds("when", real, kind))["day"].tolist() == [d.day for d in DAYS]


@loop_over(
    ("labels", "kind"),
    [
        (["01/02/2024", "03/04/2024"], TimeKind.MONTH_FIRST),
        (["01.02.2024", "03.04.2024"], TimeKind.DAY_FIRST),
        (["01/02/2024", "13/04/2024"], TimeKind.DAY_FIRST),
        (["12:30", "13:30"], None),
        (["1.2.3", "1.2.4"], None),
        (["10/20/30", "10/20/31"], None),
        (["31/31/2024", "30/30/2024"], None),
        (["13/01/2024", "01/13/2024"], None),  # not in one way
        (["Maybe 5, 2024", "5 Octember 2024"], None),
        (["01/02/2024 13:00 pm", "01/02/2024 25:00"], None),
        (["red", "green"], None),
        ([""], None),
    ],
)
def test_what_is_a_date(labels, kind):
    assert time_kind(series(labels)) is kind


def test_a_column_of_text_becomes_parts_of_dates(tmp_path):
    rng = np.random.default_rng(0)
    labels = [day.strftime("%m/%d/%Y") for day in DAYS] * 3
    frame = pd.DataFrame({"when": labels, "size": rng.normal(size=len(labels))})
    month = np.array([int(label[:2]) for label in labels])
    auto = AutoFeatures(methods="batch", effort="quick", cv=TWO_FOLDS, random_state=0)
    auto.fit(frame, (month > 6).astype(int))
    names = list(auto.get_feature_names_out())
    np.testing.assert_array_equal(auto.transform(frame)[:, names.index("when: month")], month)
    save(auto, tmp_path / "auto.fw")
    again = load(tmp_path / "auto.fw")
    np.testing.assert_array_equal(again.transform(frame.iloc[5:6]), auto.transform(frame)[5:6])
    with pytest.raises(ValueError, match=r"date written like 12/31/2024.*before the fit"):
        to_sql(auto, "rows", "sqlite")


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int32"])
def test_whole_numbers_are_dates(dtype, tmp_path):
    days = pd.Series(pd.date_range("2023-01-01", periods=90, freq="5D"))
    numbers = days.dt.strftime("%Y%m%d").astype("int64").astype(dtype)
    frame = pd.DataFrame({"when": numbers, "size": np.arange(90) % 7 / 3})
    auto = AutoFeatures(methods="batch", effort="quick", cv=TWO_FOLDS, random_state=0)
    auto.fit(frame, (days.dt.month > 6).astype(int))
    names = list(auto.get_feature_names_out())
    found = auto.transform(frame)
    np.testing.assert_array_equal(found[:, names.index("when: month")], days.dt.month)
    save(auto, tmp_path / "auto.fw")
    np.testing.assert_array_equal(load(tmp_path / "auto.fw").transform(frame), found)
    for later in (numbers.astype(str), days):
        np.testing.assert_array_equal(auto.transform(frame.assign(when=later)), found)
    with pytest.raises(ValueError, match="whole numbers such as 20241231"):
        to_sql(auto, "rows", "duckdb")


@pytest.mark.parametrize(
    "numbers",
    [
        [20230001, 20230100],
        [20230229, 20230431],
        [20230101.5, 20230102.5],
        [18990101, 18990102],
        list(range(20230000, 20230400)),
        [1, 2],
        [np.nan, np.nan],
    ],
)
def test_other_numbers_are_no_dates(numbers):
    assert time_kind(nw.from_native(pl.Series(numbers), series_only=True)) is None


def test_a_number_that_is_no_day_is_missing():
    numbers = nw.from_native(pl.Series([20240229, 20230229, 7]), series_only=True)
    found = read_seconds("when", numbers, TimeKind.WHOLE_NUMBER)
    np.testing.assert_array_equal(found, [19782 * 86400.0, np.nan, np.nan])


def test_dates_of_another_type_are_read_too():
    labels = [day.strftime("%m/%d/%Y") for day in DAYS]
    auto = AutoFeatures(methods="batch", effort="quick", cv=TWO_FOLDS, random_state=0)
    auto.fit(pl.DataFrame({"when": labels}), np.arange(len(DAYS)) % 3 == 0)
    expected = auto.transform(pl.DataFrame({"when": labels}))
    days = pl.Series("when", [day.date() for day in DAYS])
    iso = pl.Series("when", [day.date().isoformat() for day in DAYS])
    for column in (days, iso):
        rows = column.to_frame()
        np.testing.assert_array_equal(auto.transform(rows), expected)
        connection = duckdb.connect()
        connection.register("rows", rows)
        found = connection.sql(to_sql(auto, "rows", "duckdb")).pl()
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-9)


HOSTILE = {
    TimeKind.DAY_FIRST: [
        "1/2/2024",
        "01.02.2024 5:30 pm",
        "3-4-2024 14:05:09",
        "01/02/24",
        "x",
        "",
    ],
    TimeKind.MONTH_FIRST: ["2/30/2024", "2/1/2024 12:00AM", "1/2.2024", "31/12/2024", "' OR 1=1"],
    TimeKind.YEAR_FIRST: ["2024/1/2", "2024.12.31 23:59", "24/1/2", "2024/1/2T10:00", "1e30"],
    TimeKind.NAMED_MONTH: ["5-MAR-2024", "May 5, 2024 1:02:03 pm", "5 Mai 2024", "5 mar 24"],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_database_reads_the_same(kind):
    form = next(form for form, found in WRITTEN.items() if found is kind)
    labels = [*(day.strftime(form) for day in DAYS), *HOSTILE[kind], None]
    rows = pl.DataFrame({"when": labels})
    learned = pl.DataFrame({"when": labels[: len(DAYS)]})
    auto = AutoFeatures(methods="batch", effort="quick", cv=TWO_FOLDS, random_state=0)
    auto.fit(learned, np.arange(len(DAYS)) % 3 == 0)
    assert auto.reader_.times[0][2] is kind
    connection = duckdb.connect()
    connection.register("rows", rows)
    found = connection.sql(to_sql(auto, "rows", "duckdb")).pl()
    np.testing.assert_allclose(found.to_numpy(), auto.transform(rows), rtol=1e-9)
