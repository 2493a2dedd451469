"""Products with a matrix equal sums in the order of the columns, to the last bit."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.caching import NullCache
from tests.naive import products

from featurewright.engine.compiler import Kernel
from featurewright.engine.products import _INNER, _OUTER, _ROWS_AT_ONCE, add_products, affine


def example(n_rows: int, n_inner: int, n_outer: int, seed: int = 0):
    """Return a table, a matrix and an offset."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n_rows, n_inner)) * 10.0 ** rng.integers(-8, 8, n_inner),
        rng.normal(size=(n_inner, n_outer)),
        rng.normal(size=n_outer),
    )


@given(st.integers(0, 5), st.integers(0, 11), st.integers(0, 5), st.integers(0, 10**6))
def test_order_of_the_columns(n_rows, n_inner, n_outer, seed):
    table, matrix, offset = example(n_rows, n_inner, n_outer, seed)
    expected = products.affine(table, matrix, offset)
    np.testing.assert_array_equal(affine(table, matrix, offset), expected)


@pytest.mark.parametrize("n_rows", [1, _ROWS_AT_ONCE, _ROWS_AT_ONCE + 1])
@pytest.mark.parametrize("n_inner", [_INNER - 1, _INNER + 6])
@pytest.mark.parametrize("n_outer", [3, _OUTER + 1])
def test_edges_of_tiles(n_rows, n_inner, n_outer):
    table, matrix, offset = example(n_rows, n_inner, n_outer)
    found = affine(table, matrix, offset)
    some = [0, -1]
    expected = products.affine(table[some], matrix[:, some], offset[some])
    np.testing.assert_array_equal(found[np.ix_(some, some)], expected)
    np.testing.assert_allclose(found, table @ matrix + offset, rtol=1e-6, atol=1e-6)


def test_a_row_alone_and_threads_change_nothing():
    table, matrix, offset = example(600, 70, 300)
    found = affine(table, matrix, offset, n_jobs=1)
    np.testing.assert_array_equal(affine(table, matrix, offset, n_jobs=3), found)
    np.testing.assert_array_equal(affine(np.asfortranarray(table), matrix, offset), found)
    for i in (0, 299, 599):
        np.testing.assert_array_equal(affine(table[i : i + 1], matrix, offset), found[i : i + 1])


def test_missing_numbers_stay_in_their_row():
    table, matrix, offset = example(9, 5, 4)
    table[3, 2] = np.nan
    found = affine(table, matrix, offset)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_no_step_is_fused():
    """A fused multiplication and addition rounds once instead of twice, where there is one."""
    known = add_products.function
    copy = FunctionType(known.__code__, known.__globals__, "copy")
    alone = Kernel(copy, inline=None).whole
    alone._cache = NullCache()  # what is loaded from the disk cannot be looked at
    table, matrix, offset = example(3, 5, 4)
    alone(table, matrix, 0, 3, np.tile(offset, (3, 1)))
    (code,) = alone.inspect_asm().values()
    assert "mul" in code
    assert "fma" not in code
    assert "fmadd" not in code
    assert "fmla" not in code
