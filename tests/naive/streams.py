"""The random stream of a tree, in Python integers."""

from __future__ import annotations

_MASK = 2**64 - 1


class Stream:
    """PCG32 in its XSH-RS form, one 64-bit state."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def bits(self) -> int:
        """Draw 32 bits."""
        old = self.state
        self.state = (old * 6364136223846793005 + 1442695040888963407) & _MASK
        return ((old ^ (old >> 22)) >> (22 + (old >> 61))) & 0xFFFFFFFF

    def below(self, bound: int) -> int:
        """Draw an integer below a bound."""
        return self.bits() * bound // 2**32

    def unit(self) -> float:
        """Draw a number in [0, 1)."""
        return self.bits() / 2**32
