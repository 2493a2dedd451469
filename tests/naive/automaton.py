"""All valid programs over a small alphabet, by enumerating all sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

REAL, BOOLEAN = 0, 1

Signature = tuple[tuple[int, ...], int]


def is_program(
    sequence: Sequence[int], domains: Sequence[int], signatures: Mapping[int, Signature]
) -> bool:
    """Whether a sequence of symbols gives every operator its operands and leaves one value."""
    stack: list[int] = []
    for symbol in sequence:
        if symbol >= 0:
            stack.append(domains[symbol])
            continue
        inputs, output = signatures[symbol]
        if len(stack) < len(inputs):
            return False
        operands = stack[len(stack) - len(inputs) :]
        for required, given in zip(inputs, operands, strict=True):
            if required != given and (required, given) != (REAL, BOOLEAN):
                return False
        stack[len(stack) - len(inputs) :] = [output]
    return len(stack) == 1


def all_programs(
    domains: Sequence[int], signatures: Mapping[int, Signature], max_size: int
) -> set[tuple[int, ...]]:
    """Return all the valid programs of at most ``max_size`` symbols."""
    alphabet = [*range(len(domains)), *signatures]
    return {
        sequence
        for size in range(1, max_size + 1)
        for sequence in product(alphabet, repeat=size)
        if is_program(sequence, domains, signatures)
    }
