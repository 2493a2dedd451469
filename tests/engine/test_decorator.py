"""Tuples that kernels pass on by reference, and the ways to paste one kernel into another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from featurewright.engine.compiler.decorator import call_kernel, kernel, kernel_address, share


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
    outer = context.outer  # a tuple of tuples: a reference to where it lies
    inner = outer.inner
    for i in range(inner.table.shape[0]):
        for j in range(inner.table.shape[1]):
            inner.numbers[i] += factor * inner.table[i, j] * outer.count + outer.names[j]


@kernel
def call_it(content, factor):
    context = share(content)
    call_kernel(context.address, (context, factor))
    call_kernel(context.address, (share(context), factor))  # a reference stays what it is


@kernel(inline=True)
def twice(x):
    return x + x


@kernel(inline=True)
def thrice(x):
    return x + x + x


@kernel
def pasted(x):
    return twice(thrice(x))


def test_fields_of_shared_tuples_are_read_where_they_lie():
    table = np.arange(6.0).reshape(2, 3)
    names = np.array([10, 20, 30], np.int32)
    outer = Outer(4, Inner(np.zeros(2), table), names)
    address = kernel_address(add_table, Nest(outer, 0), (0.5,))
    call_it(Nest(outer, address), 0.5)
    expected = 2 * (0.5 * table * 4 + names).sum(axis=1)
    np.testing.assert_array_equal(outer.inner.numbers, expected)


def test_pasted_kernels_give_what_they_give_alone():
    assert pasted(7) == twice(thrice(7)) == 42


def test_what_python_calls_is_kept_and_what_kernels_call_cannot_be_called():
    assert pasted(8) == 48
    assert pasted.is_ready
    assert pasted.is_kept
    parts = list(twice.part.overloads.values())
    assert parts
    for part in parts:
        with pytest.raises(TypeError):
            part.entry_point(8)
