"""Candidates of the search: which constructed columns join the original ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """The order in which the columns of a method are taken."""

    RESIDUAL = "residual"  # by what each explains beyond those before
    JOINT = "joint"  # the same, over the formulas of several methods, each improved
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
    >>> both = Candidate((Block("batch", Order.RESIDUAL, 10), Block("votes", Order.OWN, 3)))
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
    def n_columns(self) -> int:
        """Largest number of constructed columns."""
        return sum(block.size for block in self.blocks)


ORIGINAL = Candidate()
