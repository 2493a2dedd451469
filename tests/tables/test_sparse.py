"""Sparse tables come in as rows of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from featurewright.tables import is_sparse, read_sparse


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_any_form_becomes_rows_of_floats(make):
    table = np.array([[0, 2, 0], [1, 0, 0]])
    estimator = BaseEstimator()
    matrix, schema = read_sparse(estimator, make(table))
    assert matrix.format == "csr"
    assert matrix.dtype == np.float64
    assert_array_equal(matrix.toarray(), table)
    assert schema.names == ("x0", "x1", "x2")
    assert estimator.n_features_in_ == 3
    with pytest.raises(ValueError, match="2 features"):
        read_sparse(estimator, make(table[:, :2]), schema)


def test_telling_sparse_tables():
    assert is_sparse(sparse.csr_array((2, 2)))
    assert not is_sparse(np.zeros((2, 2)))
