"""The search by weighted operators on Python lists and NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.naive.criteria import entropy
from tests.naive.programs import run
from tests.naive.streams import Stream

from featurewright.expressions import Operator, resolve_operators
from featurewright.expressions.opcodes import operator_symbol


def learn(weights: Any, gains: Any, counts: Any, strength: float = 0.5) -> np.ndarray:
    """Return weights times exp(strength * z), normalised, a tenth of them shared equally.

    z is the mean gain of an operator, standardised over the operators with candidates; 0 for the
    others.
    """
    weights, gains, drawn = np.asarray(weights), np.asarray(gains), np.asarray(counts) > 0
    if not drawn.any() or gains[drawn].std() <= 1e-6 * gains[drawn].mean() or strength == 0:
        return weights
    z = np.where(drawn, (gains - gains[drawn].mean()) / gains[drawn].std(), 0.0)
    new = weights * np.exp(strength * (z - z.max()))
    return 0.9 * new / new.sum() + 0.1 / len(new)


def best_gain(values: np.ndarray, codes: np.ndarray) -> float:
    """Return the information gain per row, in bits, of the best threshold; 0 if there is none."""
    best = 0.0
    for threshold in np.unique(values)[:-1]:
        left, right = codes[values <= threshold], codes[values > threshold]
        within = len(left) * entropy(np.bincount(left)) + len(right) * entropy(np.bincount(right))
        best = max(best, entropy(np.bincount(codes)) - within / len(codes))
    return best


def naming_cost(n_rows: int) -> float:
    """Return the bits per row that tell one of n - 1 thresholds."""
    return np.log2(n_rows - 1) / n_rows


def separates(values: np.ndarray, codes: np.ndarray) -> bool:
    """Whether some threshold separates two classes."""
    first = codes == codes[0]
    a, b = values[first], values[~first]
    return len(np.unique(codes)) == 2 and (a.max() < b.min() or b.max() < a.min())


class Node:
    """The candidates and weights of one node."""

    def __init__(
        self,
        columns: np.ndarray,
        codes: np.ndarray,
        *,
        operators: tuple[str, ...],
        weights: np.ndarray,
        chosen: list[list[int]],
        stream: Stream,
        budget: int,
    ) -> None:
        self.columns, self.codes, self.stream = columns, codes, stream
        self.operators: tuple[Operator, ...] = resolve_operators(operators)
        self.weights = np.asarray(weights, float)
        self.chosen = chosen  # programs of ancestors
        self.tried: list[list[int]] = []
        self.gains: dict[tuple[int, ...], float] = {}
        self.sums = np.zeros(len(self.operators))
        self.counts = np.zeros(len(self.operators), int)
        self.search(budget)

    def consider(self, program: list[int]) -> tuple[float, bool]:
        """Return the gain of a program and whether none can be higher."""
        values = run(program, self.columns)
        gain = best_gain(values, self.codes)
        self.gains[tuple(program)] = gain
        return gain, separates(values, self.codes)

    def draw_operator(self) -> int:
        """Draw an operator with probability proportional to its weight."""
        rest = self.stream.unit() * self.weights.sum()
        for k in range(len(self.weights) - 1):
            rest -= self.weights[k]
            if rest < 0:
                return k
        return len(self.weights) - 1

    def draw_program(self, k: int) -> list[int]:
        """Draw different columns for an operator."""
        operator, n_columns = self.operators[k], len(self.columns)
        first = self.stream.below(n_columns)
        operands = [first]
        if operator.arity == 2:
            second = self.stream.below(n_columns - 1)
            operands.append(second + (second >= first))
            if operator.commutative or operator.name == "sub":
                operands.sort()
        return [*operands, operator_symbol(operator.opcode)]

    def search(self, budget: int) -> None:
        """Score the columns that no ancestor chose, then `budget` expressions; then learn."""
        over = False
        for column in range(len(self.columns)):
            if [column] not in self.chosen and not over:
                over = self.consider([column])[1]
        tries = 0
        while len(self.tried) < budget and tries < 64 * budget + 64 and not over:
            k = self.draw_operator()
            for _ in range(8):
                tries += 1
                program = self.draw_program(k)
                if program in self.chosen or program in self.tried:
                    continue
                gain, over = self.consider(program)
                self.tried.append(program)
                self.sums[k] += max(0.0, gain - naming_cost(len(self.codes)))
                self.counts[k] += 1
                break
        self.means = self.sums / np.maximum(1, self.counts)
