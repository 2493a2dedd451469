"""Random numbers inside kernels: a splitmix64 stream held in the tree's state record."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)


@kernel
def mix(value):
    """Scramble 64 bits so that neighbouring inputs give unrelated outputs."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_A
    value = (value ^ (value >> np.uint64(27))) * _MIX_B
    return value ^ (value >> np.uint64(31))


@kernel
def next_bits(state):
    """Advance the stream and return 64 random bits."""
    state.random += _GOLDEN
    return mix(state.random)


@kernel
def draw_below(state, bound):
    """Draw an integer in [0, bound) by multiply-and-shift; bound is below 2**32."""
    high = next_bits(state) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@kernel
def draw_unit(state):
    """Draw a float64 in [0, 1) with 53 random bits."""
    return np.float64(next_bits(state) >> np.uint64(11)) * 1.1102230246251565e-16
