"""From a table to training rows: the order of rows in time."""

from __future__ import annotations

import polars as pl
import pytest

from featurewright.cli.errors import UserError
from featurewright.cli.fitting import (
    later_folds,
    notices_of_time,
    training_table,
    unlike_classes,
)


def test_written_dates_are_put_in_the_order_they_mean():
    days = ["02/11/2024", "31/12/2023", "15/01/2024", "01/02/2024"]
    frame = pl.DataFrame({"day": days, "a": [3, 0, 1, 2], "y": [0, 1, 0, 1]})
    table = training_table(frame, ["y"], order="day")
    assert table.X["a"].to_list() == [0, 1, 2, 3]
    assert table.X["day"].to_list() == [days[1], days[2], days[3], days[0]]
    assert not [*notices_of_time(frame, table, "day")]
    many = [f"{1 + n % 28:02d}/{1 + n % 12:02d}/2024" for n in range(84)]
    frame = pl.DataFrame({"day": [*many, "soon"], "a": range(85), "y": [0] * 80 + [1] * 5})
    with pytest.raises(UserError, match=r"Column 'day' holds 'soon' among its dates, .* in 1 rows"):
        training_table(frame, ["y"], order="day")


def test_notices_of_time():
    """Dates that are not used as an order are pointed at; an order by letters is told."""
    frame = pl.DataFrame(
        {"the day": ["2024-01-02", "2024-01-01"], "quarter": ["2024Q1", "2023Q4"], "y": [0, 1]}
    )
    (notice,) = notices_of_time(frame, training_table(frame, ["y"]), None)
    assert "Column 'the day' holds dates" in notice
    assert "add --order-by 'the day'" in notice
    table = training_table(frame, ["y"], order="quarter")
    assert table.X["quarter"].to_list() == ["2023Q4", "2024Q1"]
    (notice,) = notices_of_time(frame, table, "quarter")
    assert "Column 'quarter' holds text such as '2024Q1'" in notice
    assert not [*notices_of_time(frame, training_table(frame, ["y"], drop=["the day"]), None)]
    assert not [*notices_of_time(frame, training_table(frame, ["y"], groups="quarter"), None)]


def test_folds_in_time_never_share_a_time():
    frame = pl.DataFrame({"day": [k // 12 for k in range(240)], "a": range(240), "y": [0, 1] * 120})
    table = training_table(frame, ["y"], order="day")
    assert table.most_at_once == 12
    days = table.X["day"].to_numpy()
    folds = [*later_folds(5, 240, table.most_at_once).split(days)]
    assert len(folds) == 5
    for train, test in folds:
        assert days[train].max() < days[test].min()
    with pytest.raises(UserError, match="60 of 240 rows have the same value"):
        later_folds(5, 240, 60)
    assert later_folds(2, 240, 60).gap == 59
    assert later_folds(3, 4).gap == 0


def test_a_target_of_prices_with_their_currency_is_told_of():
    prices = pl.Series("y", [f"{price},000 USD" for price in range(10)])
    (notice,) = unlike_classes(prices)
    assert "10 different texts in 10 rows, such as '0,000 USD'" in notice
    assert not unlike_classes(pl.Series("y", ["yes", "no", "no", "yes"]))
    assert not unlike_classes(pl.Series("y", [1.5, 2.5, 3.5]))
