"""Arrays come in by scikit-learn's rules."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from tests.cases import loop_over

from featurewright.expressions.domains import Domain
from featurewright.tables import EncodedTable, apply_table, encode, fit_table, learn_schema


def test_names_and_domains_of_an_array():
    schema = learn_schema(np.ones((2, 3)))
    assert schema.names == ("x0", "x1", "x2")
    assert not schema.given_names
    assert schema.domains.tolist() == [Domain.REAL] * 3
    assert schema.levels == (None, None, None)
    assert schema.n_columns == 3
    assert schema.is_numeric


def test_schema_is_frozen_and_pickles():
    schema = learn_schema([[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        schema.domains[0] = 1
    copy = pickle.loads(pickle.dumps(schema))
    assert copy.names == schema.names
    assert_array_equal(copy.domains, schema.domains)


@pytest.mark.parametrize(
    "given",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1, 2], [3, 4]], dtype=object),
        np.array([["1", "2"], ["3", "4"]]),
    ],
)
def test_anything_numpy_reads_as_numbers(given):
    matrix, _ = fit_table(BaseEstimator(), given)
    assert matrix.dtype == np.float32
    assert_array_equal(matrix, [[1, 2], [3, 4]])


def test_missing_values():
    assert_array_equal(
        fit_table(BaseEstimator(), [[1, None], [np.nan, 2]])[0], [[1, np.nan], [np.nan, 2]]
    )


def test_array_of_booleans():
    estimator = BaseEstimator()
    matrix, schema = fit_table(estimator, np.array([[True], [False]]))
    assert schema.domains.tolist() == [Domain.BOOLEAN]
    assert_array_equal(matrix, [[1], [0]])
    assert_array_equal(apply_table(estimator, schema, [[0.0], [np.nan]]), [[0], [np.nan]])
    with pytest.raises(ValueError, match="'x0' holds 3, but it held booleans"):
        apply_table(estimator, schema, [[3.0]])


@loop_over("dtype", [np.float32, np.float64])
@loop_over(
    ("value", "text"),
    [
        (np.inf, "infinity"),
        (-np.inf, "infinity"),
        (1e39, r"1e\+39"),
        (-1e300, r"-1e\+300"),
    ],
)
def test_numbers_out_of_range_are_refused(value, text, dtype):
    given = np.full((5, 4), np.nan)
    given[3, 2] = given[1, 3] = value
    with pytest.raises(ValueError, match=f"Column 'x2' contains {text}"):
        fit_table(BaseEstimator(), given, dtype=dtype)
    with pytest.raises(ValueError, match=f"Column 'x2' contains {text}"):
        fit_table(BaseEstimator(), given.tolist(), dtype=dtype)


def test_large_and_small_numbers_pass():
    given = np.array([[1e30, 1e-30, 3.4e38, -3.4e38]])
    assert_array_equal(fit_table(BaseEstimator(), given)[0], given.astype(np.float32))


@loop_over(
    ("given", "error", "message"),
    [
        (np.ones(3), ValueError, "Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "dim 3"),
        (np.ones((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.ones((2, 0)), ValueError, r"0 feature\(s\)"),
        (np.ones((2, 2), dtype=complex), ValueError, "Complex data not supported"),
        (sparse.csr_array(np.ones((2, 2))), TypeError, "[Ss]parse"),
        ([["a", "b"]], ValueError, "holds the text 'a', but an array is of numbers"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "turn dates and durations into"),
    ],
)
def test_refused(given, error, message):
    for read in (learn_schema, lambda X: fit_table(BaseEstimator(), X)):
        with pytest.raises(error, match=message):
            read(given)


def test_number_of_columns_is_checked():
    estimator = BaseEstimator()
    _, schema = fit_table(estimator, np.ones((2, 3)))
    with pytest.raises(ValueError, match="expecting 3 features"):
        apply_table(estimator, schema, np.ones((2, 2)))
    with pytest.raises(ValueError, match="X has 2 columns, but 3 are expected"):
        encode(schema, np.ones((2, 2)))


def test_read_only_input_gives_a_writable_matrix():
    given = np.ones((3, 2), dtype=np.float32)
    given.flags.writeable = False
    assert fit_table(BaseEstimator(), given)[0].flags.writeable
    estimator = BaseEstimator()
    _, schema = fit_table(estimator, given)
    assert apply_table(estimator, schema, given).flags.writeable


def test_matrix_in_the_right_form_is_not_copied():
    given = np.ones((3, 2), dtype=np.float32, order="F")
    assert np.shares_memory(fit_table(BaseEstimator(), given)[0], given)


def test_an_encoded_table_passes_the_door():
    schema = learn_schema(pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}))
    table = EncodedTable(np.array([[1.5, 0.0], [2.5, np.nan]]), schema)
    estimator = BaseEstimator()
    matrix, same = fit_table(estimator, table)
    assert same is schema
    assert estimator.n_features_in_ == 2
    assert matrix.dtype == np.float32
    assert matrix.flags.f_contiguous
    assert_array_equal(apply_table(estimator, schema, table, order="C"), table.matrix)
    narrow = EncodedTable(np.zeros((1, 1)), learn_schema([[1.0]]))
    with pytest.raises(ValueError, match="X has 1 columns, but 2 are expected"):
        apply_table(estimator, schema, narrow)


@loop_over(
    "X",
    [
        np.array([["1", "two"], ["3", "4"]]),
        np.array([[1, "two"], [3, 4]], dtype=object),
        [["two", 1], [3, 4]],
    ],
)
def test_text_in_an_array_is_named(X):
    for read in (learn_schema, lambda X: fit_table(BaseEstimator(), X)):
        with pytest.raises(ValueError, match=r"^X is an array that holds the text 'two', [^.]*\.$"):
            read(X)
