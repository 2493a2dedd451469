"""Tuples that kernels pass on by address, and kernels that are inlined into others."""

from __future__ import annotations

import os
from typing import NamedTuple

import numba
import numpy as np
import pytest

from featurewright.engine.compiler import call_kernel, kernel, kernel_address
from featurewright.engine.compiler.decorator import RUNS_PYTHON, SWITCH


class Inner(NamedTuple):
    numbers: np.ndarray
    table: np.ndarray


class Outer(NamedTuple):
    count: int
    inner: Inner
    names: np.ndarray


class Nest(NamedTuple):
    outer: Outer
    address: int


@kernel
def add_table(context, factor):
    outer = context.outer
    inner = outer.inner
    for i in range(inner.table.shape[0]):
        for j in range(inner.table.shape[1]):
            inner.numbers[i] += factor * inner.table[i, j] * outer.count + outer.names[j]


@kernel
def call_it(context, factor):
    call_kernel(context.address, (context, factor))
    call_kernel(context.address, (context, factor))


@kernel(inline=True)
def twice(x):
    return x + x


@kernel(inline=True)
def thrice(x):
    return x + x + x


@kernel
def inlined(x):
    return twice(thrice(x))


def test_fields_of_shared_tuples_are_read_where_they_lie():
    table = np.arange(6.0).reshape(2, 3)
    names = np.array([10, 20, 30], np.int32)
    outer = Outer(4, Inner(np.zeros(2), table), names)
    address = kernel_address(add_table, Nest(outer, 0), 0.5)
    call_it(Nest(outer, address), 0.5)
    expected = 2 * (0.5 * table * 4 + names).sum(axis=1)
    np.testing.assert_array_equal(outer.inner.numbers, expected)


def test_inlined_kernels_give_what_they_give_alone():
    assert inlined(7) == twice(thrice(7)) == 42


@pytest.mark.skipif(os.environ.get(SWITCH) == "numba", reason="plain Numba compiles all the same")
def test_what_python_calls_is_kept_and_what_kernels_call_cannot_be_called():
    assert inlined(8) == 48
    assert inlined.is_ready
    assert inlined.is_cached
    twice.part.compile((numba.int64,))  # the one above may have been loaded whole
    parts = list(twice.part.overloads.values())
    assert parts
    for part in parts:
        with pytest.raises(TypeError):
            part.entry_point(8)


@kernel
def add_up(values, weights):
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * weights[i]
    return total


@pytest.mark.skipif(RUNS_PYTHON, reason="nothing is compiled")
def test_nothing_rounds_as_the_processor_likes():
    """Sums in another order, or fused with products, differ between processors."""
    values, weights = np.random.default_rng(0).normal(size=(2, 1000))
    expected = 0.0
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        expected += value * weight
    assert add_up(values, weights) == expected
    for compiled in (add_up.whole, add_up.part):
        assert compiled.targetoptions["fastmath"] == {"nsz"}
