"""Random numbers inside kernels: a PCG32 stream held in the tree's state record."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel

_MULTIPLIER = np.uint64(6364136223846793005)
_INCREMENT = np.uint64(1442695040888963407)


@kernel
def next_bits(state):
    """Advance the stream and return 32 random bits in a uint64 (PCG XSH-RS)."""
    old = state.random
    state.random = old * _MULTIPLIER + _INCREMENT
    folded = (old ^ (old >> np.uint64(22))) >> (np.uint64(22) + (old >> np.uint64(61)))
    return folded & np.uint64(0xFFFFFFFF)


@kernel
def draw_below(state, bound):
    """Draw an integer in [0, bound) by multiply-and-shift; bound is below 2**32."""
    return np.int64((next_bits(state) * np.uint64(bound)) >> np.uint64(32))


@kernel(inline=True)
def as_unit(bits):
    """Return 32 random bits as a float64 in [0, 1)."""
    return np.float64(bits) * 2.3283064365386963e-10


@kernel
def draw_unit(state):
    """Draw a float64 in [0, 1) with 32 random bits."""
    return as_unit(next_bits(state))
