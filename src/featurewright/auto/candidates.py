"""Candidates of the search: which constructed columns join the original ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """The order in which the columns of a method are taken."""

    GAIN = "gain"  # of the method
    RESIDUAL = "residual"  # by what each explains beyond those before
    JOINT = "joint"  # the same, over the formulas of several methods
    OWN = "own"  # as the method lists them


@dataclass(frozen=True)
class Block:
    """The first columns of one method in some order.

    Parameters
    ----------
    method : str
        The method.
    order : Order
        Their order.
    size : int
        How many, at most.
    """

    method: str
    order: Order
    size: int


@dataclass(frozen=True)
class Candidate:
    """A choice of constructed columns; without any, the original columns alone.

    Parameters
    ----------
    blocks : tuple of Block
        The columns, by method.

    Examples
    --------
    >>> both = Candidate((Block("batch", Order.GAIN, 10), Block("votes", Order.OWN, 3)))
    >>> both.label, both.n_columns
    ('batch + votes', 13)
    >>> Candidate().label
    'original'
    """

    blocks: tuple[Block, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods used."""
        return tuple(block.method for block in self.blocks)

    @property
    def label(self) -> str:
        """The methods in words."""
        return " + ".join(self.methods) or "original"

    @property
    def joint(self) -> tuple[Block, ...]:
        """Blocks whose formulas are taken in one common order."""
        return tuple(block for block in self.blocks if block.order is Order.JOINT)

    @property
    def single(self) -> tuple[Block, ...]:
        """Blocks whose columns are taken in an order of their own."""
        return tuple(block for block in self.blocks if block.order is not Order.JOINT)

    @property
    def n_orders(self) -> int:
        """Number of orders that columns are taken from."""
        return len(self.single) + bool(self.joint)

    @property
    def n_columns(self) -> int:
        """Largest number of constructed columns."""
        return sum(block.size for block in (*self.joint[:1], *self.single))


ORIGINAL = Candidate()
