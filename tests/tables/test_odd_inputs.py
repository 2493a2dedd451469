"""Targets, weights and tables of odd types: read as what they hold, or refused in one sentence."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tests.export.cases import make

from featurewright.auto.targets import read_target
from featurewright.tables import (
    apply_class_weight,
    as_array,
    check_groups,
    check_weights,
    encode,
    learn_schema,
    read_classes,
)
from featurewright.tables.number_texts import find_amounts


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 0, 1], "i", [1, 0, 1]),
        ([1, np.int64(2), True], "i", [1, 2, 1]),
        ([True, np.bool_(False)], "b", [True, False]),
        ([1.5, 2, Decimal("0.5")], "f", [1.5, 2.0, 0.5]),
        ([1, None, 3.0], "f", [1.0, np.nan, 3.0]),
        ([True, None], "O", [True, None]),
        (["a", None], "O", ["a", None]),
    ],
)
def test_objects_that_are_numbers_are_read_as_such(values, kind, expected):
    found = as_array(np.array(values, dtype=object))
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "a", 2.5], r"y mixes 'a' \(str\) with 1 \(int\)"),
        ([1, [2]], r"y mixes \[2\] \(list\) with 1 \(int\)"),
        ([1, 10**400], "y holds an integer of more than 18 digits"),
        ([1, 2 + 1j], "y mixes"),
        ([1j, 2j], "Complex data not supported"),
    ],
)
def test_objects_of_several_kinds_are_refused(values, message):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    with pytest.raises(ValueError, match=message):
        as_array(array)


def test_a_list_of_text_and_numbers_is_refused():
    """As an array of objects is: NumPy would make text of the numbers."""
    with pytest.raises(ValueError, match=r"y mixes 'a' \(str\) with 1 \(int\)"):
        as_array(["a", 1, "a"])


NUMBERS = [f"{k / 8}" for k in range(100)]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (NUMBERS, "holds numbers as text: convert it to numbers"),
        ([*NUMBERS, "n/a"], "holds numbers as text but for the cell 'n/a': convert it"),
        ([f"{k}%" for k in range(50)] * 2, "holds numbers with signs as text, such as '0%':"),
        ([f"${k * 997:,}" for k in range(100)], "holds numbers with signs as text"),
        ([f"name {k}" for k in range(100)], "has 100 different values in 100 rows, like names"),
        (np.array([1.0, 1e300, 2.5]), "holds 1e[+]300, whose square is too large"),
        (np.arange(30) * 1e-300, "differ by at most 2.9e-299, whose square is too small"),
    ],
)
def test_targets_that_nothing_can_be_learned_of_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        read_target(y, len(y), None)


def test_long_texts_are_no_amounts():
    """A pattern that tries all ways to share out blanks would take hours."""
    labels = [" " * 20_000 + f"x{k}" for k in range(20)]
    assert find_amounts(labels, np.arange(20.0)) is None
    assert find_amounts([f"{'1' * 60}{k} kg" for k in range(20)], np.arange(20.0)) is None


def test_numbers_as_text_are_classes_where_that_is_said():
    assert read_target(NUMBERS[:20] * 5, 100, None, "classification").task == "classification"
    rates = [f"{k}%" for k in range(20)] * 5
    assert read_target(rates, 100, None, "classification").task == "classification"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1.0, 2.0]}, "X is a dict, but a table is expected"),
        (np.ones((3, 2)) + 1j, "Complex data not supported: X holds complex numbers"),
        (np.zeros(3, dtype=[("a", float)]), "X is an array of records"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=3)}), r"has the dtype period\[D\]"),
        (np.array([[1.0], [-np.inf]]), r"contains infinity \(-inf\)"),
    ],
)
def test_tables_that_are_none_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        learn_schema(X)


def test_what_a_mask_hides_is_missing():
    hidden = np.ma.masked_greater(np.array([[1.0], [2.0], [9.0]]), 5.0)
    found = encode(learn_schema(hidden), hidden)
    np.testing.assert_array_equal(found.ravel(), [1.0, 2.0, np.nan])


def test_weights_and_groups_of_wrong_kinds_are_refused():
    with pytest.raises(ValueError, match="sample_weight holds values that are not numbers"):
        check_weights(["a", "b"], 2)
    with pytest.raises(ValueError, match="groups has 2 columns, but one group for each row"):
        check_groups(np.ones((3, 2)), 3)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "X is None, but a table is expected"),
        ({1, 2}, "X is a set, but a table is expected"),
        (iter([[1.0], [2.0]]), "X is a list_iterator, but a table is expected"),
        ([[1, 2], [3]], "X has rows of different lengths"),
        ([1.0, 2.0], r"Expected 2D array, got 1D array instead: X has the shape \(2,\)"),
        (3.0, "Expected 2D array, got scalar array instead"),
    ],
)
def test_what_has_no_rows_and_columns_is_refused_in_one_line(X, message):
    with pytest.raises(ValueError, match=message) as caught:
        learn_schema(X)
    assert "\n" not in str(caught.value)


def test_markers_of_missing_values_in_arrays_of_objects():
    values = np.array([[1.0, pd.NA], [pd.NaT, 4.0]], dtype=object)
    found = encode(learn_schema(values), values)
    np.testing.assert_array_equal(found, [[1.0, np.nan], [np.nan, 4.0]])


def test_columns_of_pandas_in_other_forms_are_read():
    numbers = np.array([1.5, 0.0, 2.0])
    frame = pd.DataFrame(
        {"swapped": numbers.astype(">f8"), "sparse": pd.arrays.SparseArray(numbers)}
    )
    found = encode(learn_schema(frame), frame)
    np.testing.assert_array_equal(found, np.column_stack([numbers, numbers]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ({0: 1}, "y is a dict, but an entry for each row"),
        (iter([1, 0]), "y is a list_iterator, but an entry for each row"),
        ([[1], [1, 2]], "y has entries of different lengths"),
        (np.empty((2, 0)), "y has no columns"),
        (pd.Series(pd.period_range("2020", periods=2)), "Unknown label type: y holds Period"),
        (np.ma.masked_greater([1.0, 2.0], 1.0), "Input y contains NaN in 1 of 2 rows"),
    ],
)
def test_targets_that_are_no_column_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        read_classes(y, 2)


def test_weights_that_a_mask_hides_are_missing():
    with pytest.raises(ValueError, match="sample_weight contains NaN in 1 of 2 rows"):
        check_weights(np.ma.masked_array([1.0, 2.0], mask=[False, True]), 2)


@pytest.mark.parametrize("scale", [5e-324, 1e308])
def test_weights_at_the_ends_of_floats_are_scaled(scale):
    np.testing.assert_array_equal(check_weights([scale, 0.0, scale], 3), [1.0, 0.0, 1.0])


def test_weights_of_classes_that_are_none():
    with pytest.raises(ValueError, match="class_weight has the label 'c', but the classes are"):
        apply_class_weight({"a": 1, "c": 2}, read_classes(["a", "b"]), None)


@pytest.mark.parametrize("columns", [["b", "a"], ["a"], ["a", "b", "c"]])
@pytest.mark.parametrize("name", ["ConstructiveTreeClassifier", "AutoFeatures"])
def test_other_columns_than_those_of_the_fit_come_with_advice(name, columns):
    frame = pd.DataFrame(np.arange(120.0).reshape(40, 3) % 7, columns=["a", "b", "c"])
    model = make(name).fit(frame[["a", "b"]], frame["c"] > 3)
    with pytest.raises(ValueError, match="The feature names should match") as caught:
        model.predict(frame[columns])
    assert "feature_names_in_" in " ".join(caught.value.__notes__)


def test_a_list_of_dicts_is_no_table():
    with pytest.raises(TypeError, match="X is a list of dicts, but a table is expected: pass a"):
        make("ConstructiveTreeClassifier").fit([{"a": 1.0}, {"a": 2.0}], [0, 1])
