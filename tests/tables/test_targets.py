"""Targets and weights."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from tests.cases import loop_over

from featurewright.tables import (
    ClassTarget,
    MultiTarget,
    apply_class_weight,
    check_weights,
    holds_numbers,
    read_classes,
    read_numbers,
)


@loop_over(
    ("y", "classes", "codes"),
    [
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        ([1.0, 2.0, 1.0], [1.0, 2.0], [0, 1, 0]),
        ([True, False], [False, True], [1, 0]),
        (["b", "a"], ["a", "b"], [1, 0]),
        (np.array(["b", "a"], dtype=object), ["a", "b"], [1, 0]),
        ([7, 7], [7], [0, 0]),
        (pd.Series(["b", "a"]), ["a", "b"], [1, 0]),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"], [1, 0]),
        (pd.Series([3, 1], dtype="Int64"), [1, 3], [1, 0]),
        (pd.Series([True, False], dtype="boolean"), [False, True], [1, 0]),
        (pl.Series(["b", "a"]), ["a", "b"], [1, 0]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"], [1, 0]),
        (pl.Series([3, 1]), [1, 3], [1, 0]),
    ],
)
def test_classes(y, classes, codes):
    target = read_classes(y, len(codes))
    assert isinstance(target, ClassTarget)
    assert target.classes.tolist() == classes
    assert target.codes.dtype == np.int32
    assert target.codes.tolist() == codes


@pytest.mark.parametrize("y", [np.array([[1], [2]]), pd.DataFrame({"y": [1, 2]})])
def test_column_vector_warns(y):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert read_classes(y).codes.shape == (2,)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert read_numbers(y).shape == (2, 1)


@pytest.mark.parametrize("wrap", [np.array, pd.DataFrame, pl.DataFrame, sparse.csr_array])
def test_label_indicator_matrix(wrap):
    labels = np.array([[0, 1], [1, 1], [0, 0]])
    target = read_classes(wrap(labels))
    assert isinstance(target, MultiTarget)
    assert target.multilabel
    assert_array_equal(target.codes, labels)


@pytest.mark.parametrize(
    "y",
    [
        np.array([["a", "x"], ["b", "y"], ["c", "x"]]),
        pd.DataFrame({"first": ["a", "b", "c"], "second": ["x", "y", "x"]}),
        pl.DataFrame({"first": ["a", "b", "c"], "second": ["x", "y", "x"]}),
    ],
)
def test_several_columns_of_classes(y):
    target = read_classes(y)
    assert not target.multilabel
    assert [classes.tolist() for classes in target.classes] == [["a", "b", "c"], ["x", "y"]]
    assert target.codes.tolist() == [[0, 0], [1, 1], [2, 0]]


@loop_over(
    ("y", "message"),
    [
        ([0.5, 1.5], "Unknown label type"),
        ([0.0, np.nan], "Input y contains NaN"),
        ([0.0, np.inf], "Input y contains infinity"),
        (["a", None], "Input y contains NaN"),
        (np.array(["a", np.nan], dtype=object), "Input y contains NaN"),
        (pd.Series(["a", None]), "Input y contains NaN"),
        (pd.Series([1, None], dtype="Int64"), "Input y contains NaN"),
        (pl.Series(["a", None]), "Input y contains NaN"),
        (pl.Series([1, None]), "Input y contains NaN"),
        (None, "requires y to be passed, but the target y is None"),
        ([], "y has no rows"),
        (np.ones((2, 2, 2)), "y should be a 1d array"),
        ([1j, 2], "Complex data not supported"),
    ],
)
def test_refused_classes(y, message):
    with pytest.raises(ValueError, match=message):
        read_classes(y)


def test_length_is_checked():
    for read in (read_classes, read_numbers, check_weights):
        with pytest.raises(ValueError, match="has 2 rows, but X has 3"):
            read([1, 2], 3)


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        np.array([1.0, 2.0, 3.0], dtype=np.float32),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
    ],
)
def test_numbers(y):
    values = read_numbers(y, 3)
    assert values.dtype == np.float64
    assert_array_equal(values, [[1], [2], [3]])


def test_several_columns_of_numbers():
    assert_array_equal(read_numbers([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    assert_array_equal(read_numbers(pl.DataFrame({"a": [1, 3], "b": [2.5, 4]})), [[1, 2.5], [3, 4]])


@loop_over(
    ("y", "message"),
    [
        (["a", "b"], "a regressor expects numbers"),
        (pd.Series(["a", "b"]), "a regressor expects numbers"),
        (np.array(["2020"], dtype="M8[Y]"), "a regressor expects numbers"),
        (pd.Series([datetime.date(2020, 1, 1)]), "days since some date"),
        ([1.0, np.nan], "Input y contains NaN"),
        ([1.0, np.inf], "Input y contains infinity"),
        ([1.0, None], "Input y contains NaN"),
        (None, "requires y to be passed"),
    ],
)
def test_refused_numbers(y, message):
    with pytest.raises(ValueError, match=message):
        read_numbers(y)


def test_weights():
    assert check_weights(None, 3) is None
    assert_array_equal(check_weights(2, 3), [2, 2, 2])
    for given in ([1, 0, 2], np.array([1, 0, 2]), pd.Series([1, 0, 2]), pl.Series([1, 0, 2])):
        weights = check_weights(given, 3)
        assert weights.dtype == np.float64
        assert_array_equal(weights, [1, 0, 2])


def test_weights_are_a_copy():
    given = np.ones(3)
    assert not np.shares_memory(check_weights(given, 3), given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, -2, 1], "the negative weight -2"),
        ([0, 0, 0], "zero for every row"),
        (0, "zero for every row"),
        ([1, np.nan, 1], "sample_weight contains NaN"),
        ([1, np.inf, 1], "sample_weight contains infinity"),
        ([[1], [1], [1]], "1D array or scalar"),
    ],
)
def test_refused_weights(given, message):
    with pytest.raises(ValueError, match=message):
        check_weights(given, 3)


def test_class_weight():
    target = read_classes(["a", "b", "b", "b"])
    assert apply_class_weight(None, target, None) is None
    assert_array_equal(apply_class_weight({"a": 3, "b": 1}, target, None), [3, 1, 1, 1])
    weights = apply_class_weight("balanced", target, np.array([1.0, 1.0, 2.0, 0.0]))
    np.testing.assert_allclose(weights, [2, 2 / 3, 4 / 3, 0])
    with pytest.raises(ValueError, match="class_weight is 'equal'"):
        apply_class_weight("equal", target, None)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_are_no_class(missing):
    for y in (["a", "b", missing], np.array(["a", "b", missing], dtype=object)):
        with pytest.raises(ValueError, match="contains NaN or None"):
            read_classes(y)


def test_decimals_are_numbers():
    values = [Decimal("1.5"), Decimal("-2")]
    for y in (values, pl.Series(values), np.array(values, dtype=object)):
        assert_array_equal(read_numbers(y).ravel(), [1.5, -2.0])
        assert holds_numbers(y)


def test_dates_are_refused_as_targets():
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    for y in (days, pl.Series(days), np.array(days, dtype="datetime64[D]"), pd.Series(days)):
        with pytest.raises(ValueError, match="such as days since some date"):
            read_classes(y)


@pytest.mark.parametrize("read", [read_classes, read_numbers, holds_numbers])
def test_what_is_missing_in_a_target_of_numbers_is_counted(read):
    with pytest.raises(ValueError, match=r"^Input y contains NaN in 2 of 3 rows, [^.]*\.$"):
        read([np.nan, 1.5, np.nan])
    with pytest.raises(ValueError, match=r"^Input y contains infinity in 1 of 2 rows, [^.]*\.$"):
        read(np.array([[1.0, np.inf], [2.0, 1.0]]))


@pytest.mark.parametrize("read", [read_classes, read_numbers, holds_numbers])
def test_the_name_of_a_column_is_no_target(read):
    with pytest.raises(ValueError, match=r"pass the column itself, such as y=X\['price'\]"):
        read("price")


def test_numbers_are_no_classes():
    with pytest.raises(ValueError, match=r"^Unknown label type: [^.]* use a regressor, [^.]*\.$"):
        read_classes([0.5, 1.5, 2.0])
