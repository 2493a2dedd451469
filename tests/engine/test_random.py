"""The random stream is the one written down, uniform and within its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.engine.arguments import make_state
from tests.naive.streams import Stream

from featurewright.engine.random import draw_below, draw_unit


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31 - 1))
def test_draws_equal_the_written_stream(seed, bound):
    stream, state = Stream(seed), make_state(seed)
    expected = [stream.below(bound) for _ in range(5)] + [stream.unit() for _ in range(5)]
    actual = [draw_below(state, bound) for _ in range(5)]
    actual += [draw_unit(state) for _ in range(5)]
    assert actual == expected
    assert all(0 <= draw < bound for draw in actual[:5])
    assert all(0 <= draw < 1 for draw in actual[5:])


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 100])
def test_integers_are_uniform(bound):
    state = make_state(2024)
    counts = np.bincount([draw_below(state, bound) for _ in range(20_000)], minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > 1e-3


def test_units_are_uniform_and_unrelated_to_the_one_before():
    state = make_state(7)
    draws = np.array([draw_unit(state) for _ in range(20_000)])
    assert chisquare(np.histogram(draws, 50, (0, 1))[0]).pvalue > 1e-3
    pairs = np.histogram2d(draws[:-1], draws[1:], 8, [(0, 1), (0, 1)])[0]
    assert chisquare(pairs.ravel()).pvalue > 1e-3


def test_the_largest_bits_stay_below_one():
    seed = 0
    for place in range(53, 21, -1):  # bits that come out as ones, whatever was folded into them
        seed |= (1 ^ (seed >> (place + 22) & 1)) << place
    assert Stream(seed).bits() == 2**32 - 1
    assert draw_unit(make_state(seed)) < 1
    assert draw_below(make_state(seed), 10) == 9
