"""Types found in text, and types kept when a model is applied."""

from __future__ import annotations

import polars as pl
import pytest
from tests.cases import loop_over

from featurewright import BatchConstructor
from featurewright.cli.errors import UserError
from featurewright.cli.kinds import (
    Kind,
    commas_in_numbers,
    find_types,
    keep_types,
    kinds_of,
)


@loop_over(
    ("texts", "expected"),
    [
        (["1", "-2", ""], [1, -2, None]),
        (["1.5", "2", "NA"], [1.5, 2.0, None]),
        (["1e3", "?"], [1000.0, None]),
        (["1,5", "2"], [1.5, 2.0]),
        (["1,5", "2,125"], [1.5, 2.125]),
        (["0,125", "1,250"], [0.125, 1.25]),
        (["1,234", "999", "-12,500"], [1234.0, 999.0, -12500.0]),
        (["1,234,567.5", "3"], [1234567.5, 3.0]),
        (["1,234", "x"], ["1,234", "x"]),
        (["True", "false", "null"], [True, False, None]),
        (["007", "010"], ["007", "010"]),
        (["0.5", "0"], [0.5, 0.0]),
        (["1", "x"], ["1", "x"]),
        (["2024-01-01", "2024-02-30"], ["2024-01-01", "2024-02-30"]),
        (["", "NaN"], [None, None]),
        (["99999999999999999999"], [1e20]),
    ],
)
def test_types_are_found_in_text(texts, expected):
    assert find_types(pl.DataFrame({"a": texts}))["a"].to_list() == expected


def test_missing_values_are_what_they_are_told_to_be():
    frame = pl.DataFrame({"a": ["1", "-", "NA"]})
    assert find_types(frame, ["-"])["a"].to_list() == ["1", None, "NA"]
    assert find_types(frame, ["-", "NA"])["a"].to_list() == [1, None, None]


KINDS = {"n": Kind.NUMBERS, "b": Kind.BOOLEANS, "l": Kind.LABELS}


def test_types_of_the_fit_are_kept():
    frame = pl.DataFrame(
        {"l": ["1", "2"], "more": ["x", "y"], "b": ["1", "FALSE"], "n": ["NA", "3"]}
    )
    kept = keep_types(frame, KINDS)
    assert kept.columns == ["n", "b", "l"]
    assert kept.rows() == [(None, True, "1"), (3.0, False, "2")]


def test_typed_columns_are_taken_as_they_are():
    frame = pl.DataFrame({"n": [1, None], "b": [True, None], "l": [7, None]})
    assert keep_types(frame, KINDS).rows() == [(1, True, "7"), (None, None, None)]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [("n", "twelve", "held numbers"), ("b", "maybe", "held booleans")],
)
def test_values_of_another_kind_are_named(column, value, words):
    frame = pl.DataFrame({"n": ["1"], "b": ["1"], "l": ["x"]}).with_columns(
        pl.lit(value).alias(column)
    )
    with pytest.raises(UserError, match=f"{column!r} holds {value!r}, but it {words}"):
        keep_types(frame, KINDS)


def test_missing_columns_are_named_unless_unused():
    frame = pl.DataFrame({"n": [1.0]})
    with pytest.raises(UserError, match="lacks 'b', 'l'"):
        keep_types(frame, KINDS)
    kept = keep_types(frame, KINDS, unused=["b", "l"])
    assert kept.columns == ["n", "b", "l"]


def test_kinds_of_a_model_of_ours():
    frame = pl.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "m": [2.0, 1.0, 4.0, 3.0]})
    model = BatchConstructor(operators=["add"]).fit(frame, [0, 1, 0, 1])
    assert set(kinds_of(model)) == {"n", "m"}
    with pytest.raises(UserError, match="without column names"):
        kinds_of(BatchConstructor(operators=["add"]).fit(frame.to_numpy(), [0, 1, 0, 1]))


def test_a_comma_before_three_digits():
    """It groups thousands where commas separate cells, and begins decimals elsewhere."""
    texts = pl.DataFrame({"a": ["1,234", "12"], "b": ["1,234,567", "1,000"], "c": ["x", "y"]})
    found = find_types(texts, delimiter=";")
    assert found["a"].to_list() == [1.234, 12.0]
    assert found["b"].to_list() == [1234567.0, 1000.0]
    assert [*commas_in_numbers(texts, found)] == [
        "Column 'a': '1,234' is read as the number 1.234.",
        "Column 'b': '1,000' is read as the number 1000.",
    ]
    kinds = {"a": Kind.NUMBERS}
    assert keep_types(texts, kinds)["a"].to_list() == [1234.0, 12.0]
    assert keep_types(texts, kinds, delimiter="\t")["a"].to_list() == [1.234, 12.0]
