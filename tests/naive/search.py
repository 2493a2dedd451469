"""The three search strategies on Python lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.naive.streams import Stream

from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, operator_symbol, symbol_opcode

# Scores a program, given the best score so far and the stream that thresholds are drawn from.
# Missing values are separated only to beat that score.
Score = Callable[[list[int], np.float32, Stream], tuple[float, bool]]


def shape_of(program: list[int]) -> int:
    """Hash the operators of a program and their positions into 256 values."""
    shape = 0
    for symbol in program:
        kind = 0 if symbol >= 0 else 1 + symbol_opcode(int(symbol))
        shape = (shape * 37 + kind) % 2**64
    return ((shape + 1) * 0x9E3779B97F4A7C15 % 2**64) >> 56


class Search:
    """Candidates drawn and scored at one node."""

    def __init__(
        self,
        grammar: Any,
        max_size: int,
        budget: int,
        seed: int,
        score: Score,
    ) -> None:
        self.grammar, self.max_size, self.budget, self.score = grammar, max_size, budget, score
        self.stream = Stream(seed)
        self.tries = 0
        self.candidates: list[list[int]] = []
        self.scores: list[float] = []
        self.best = -1
        self.perfect = False

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent, nothing new turns up or no split can be better."""
        tired = self.tries >= 64 * self.budget + 64
        return len(self.candidates) >= self.budget or tired or self.perfect

    def choices(self, prefix: list[int]) -> np.ndarray:
        """List the symbols to draw from after a prefix, END as a symbol among them."""
        state = self.state_after(prefix)
        return self.grammar.symbol[self.grammar.start[state] : self.grammar.start[state + 1]]

    def successors(self, prefix: list[int]) -> list[int]:
        """List every valid symbol after a prefix once, in the order of the choices."""
        return list(dict.fromkeys(self.choices(prefix).tolist()))

    def state_after(self, prefix: list[int]) -> int:
        """Walk the automaton."""
        state = 0
        for symbol in prefix:
            plain = symbol if symbol >= 0 else operator_symbol(symbol_opcode(symbol))
            first, last = self.grammar.start[state], self.grammar.start[state + 1]
            place = list(self.grammar.symbol[first:last]).index(plain)
            state = self.grammar.following[first + place]
        return state

    def settle_level(self, prefix: list[int], symbol: int) -> int:
        """Return a symbol, a level test with a random level of the column before it."""
        if symbol != operator_symbol(IS):
            return symbol
        return operator_symbol(IS, self.stream.below(max(1, self.grammar.n_levels[prefix[-1]])))

    def complete(self, prefix: list[int]) -> list[int]:
        """Add valid random symbols until the program ends."""
        program = list(prefix)
        while len(program) < self.max_size:
            choices = self.choices(program)
            symbol = int(choices[self.stream.below(len(choices))])
            if symbol == END:
                break
            program.append(self.settle_level(program, symbol))
        return program

    def try_out(self, program: list[int]) -> float | None:
        """Score a program; None if it was scored before."""
        self.tries += 1
        if program in self.candidates:
            return None
        score, is_perfect = self.score(program, self.best_score, self.stream)
        self.candidates.append(program)
        self.scores.append(score)
        if score > -np.inf and (self.best < 0 or score > self.least_improvement()):
            self.best, self.perfect = len(self.scores) - 1, is_perfect
        return score

    @property
    def best_score(self) -> np.float32:
        """The highest score so far."""
        return np.float32(self.scores[self.best] if self.best >= 0 else -np.inf)

    def least_improvement(self) -> np.float32:
        """Return what a score must exceed to be better by more than rounding."""
        return self.best_score + np.float32(2e-6) * abs(self.best_score)

    def begin(self) -> list[int]:
        """Return an empty prefix; the engine draws a number here that it does not use."""
        self.stream.below(256)
        return []

    def random(self, pool_size: int) -> None:
        """Draw a pool of complete random programs, sort it by shape, and score some.

        Two passes score one program of each stratum of the pool, beginning with a random stratum;
        there are as many strata as the budget has candidates. Then all others are scored.
        """
        pool = [self.complete(self.begin()) for _ in range(pool_size)]
        pool.sort(key=shape_of)
        n_strata = min(self.budget, pool_size)
        first = self.stream.below(n_strata)
        for turn in range(2 * n_strata):
            if self.is_over:
                return
            stratum = (first + turn) % n_strata
            begin, end = stratum * pool_size // n_strata, (stratum + 1) * pool_size // n_strata
            self.try_out(pool[begin + self.stream.below(end - begin)])
        for program in pool:
            if self.is_over:
                return
            self.try_out(program)

    def guided(self, *, look_ahead: bool) -> None:
        """Append the next symbol of the best completion so far, one at a time; then start again."""
        while not self.is_over:
            best: list[int] | None = None
            best_score = -np.inf
            prefix: list[int] = []
            while len(prefix) < self.max_size and not self.is_over:
                successors = self.successors(prefix) if look_ahead else [None]
                for successor in successors:
                    if successor is None:
                        program = self.complete(prefix)
                    elif successor == END:
                        program = list(prefix)
                    else:
                        program = [*prefix, self.settle_level(prefix, successor)]
                        program = self.complete(program)
                    score = self.try_out(program)
                    if score is not None and (best is None or score > best_score):
                        best, best_score = program, score
                    if self.is_over:
                        break
                if best is None or len(best) == len(prefix):
                    break
                prefix = best[: len(prefix) + 1]
