"""Name nodes by the conditions under which rows reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from featurewright.engine.forest import Forest
from featurewright.expressions import Domain, Operator, from_program
from featurewright.expressions.opcodes import END
from featurewright.paths.encoding import Numbering
from featurewright.tables import Schema

EVERYONE = "all rows"


@dataclass(frozen=True)
class Bounds:
    """What is known of one tested value on the way to a node: the tightest bounds alone."""

    above: np.float32 | None = None
    at_most: np.float32 | None = None

    def texts(self, name: str) -> list[str]:
        """Return the bounds as conditions."""
        texts = []
        if self.above is not None:
            texts.append(f"{name} > {self.above!s}")
        if self.at_most is not None:
            texts.append(f"{name} <= {self.at_most!s}")
        return texts


# What is known of each tested value: bounds, or the conditions of tests for a level.
Known = dict[str, Bounds | tuple[str, ...]]


class Namer:
    """Names the nodes of a forest with the columns of its table."""

    def __init__(self, forest: Forest, schema: Schema, operators: Sequence[Operator]) -> None:
        self.forest, self.schema, self.operators = forest, schema, operators
        self._texts: dict[bytes, str] = {}

    def names(self, numbering: Numbering) -> npt.NDArray[np.object_]:
        """Return the conditions of all nodes, in the order of their numbers."""
        known: list[Known] = []
        names: list[str] = []
        forest, tree = self.forest, 0
        for number, node in enumerate(numbering.nodes):
            parent = int(numbering.parent[number])
            if parent < 0:
                tree += 1
                known.append({})
            else:
                above = int(numbering.nodes[parent])
                goes_left = int(node) == int(forest.left[above])
                known.append(self._narrow(known[parent], above, goes_left=goes_left))
            names.append(f"tree {tree}: {self._say(known[-1])}")
        return _distinct(names)

    def _text(self, node: int) -> str:
        """Return what a node tests."""
        program = self.forest.programs[node]
        if len(program) == 1 or program[1] == END:
            return self.schema.names[program[0]]
        key = program.tobytes()
        if key not in self._texts:
            schema = self.schema
            expression = from_program(
                program, schema.names, schema.domains, schema.levels, self.operators
            )
            self._texts[key] = str(expression)
        return self._texts[key]

    def _narrow(self, known: Known, node: int, *, goes_left: bool) -> Known:
        """Return what is known after a node's test."""
        text, threshold = self._text(node), self.forest.threshold[node]
        program = self.forest.programs[node]
        column = int(program[0]) if len(program) == 1 or program[1] == END else None
        if self.forest.tests_set[node] and column is not None:
            labels = self.schema.levels[column] or ()
            listed = ", ".join(str(labels[level]) for level in self.forest.levels_in_set(node))
            before = known.get(text, ())
            said = before if isinstance(before, tuple) else ()
            words = f"{text} in {{{listed}}}" if goes_left else f"{text} not in {{{listed}}}"
            return {**known, text: (*said, words)}
        if self.forest.is_level[node] and column is not None:
            level = (self.schema.levels[column] or ())[int(threshold)]
            before = known.get(text, ())
            said = before if isinstance(before, tuple) else ()
            words = f"{text} = {level}" if goes_left else f"{text} != {level}"
            # Being one level implies not being the others.
            return {**known, text: (words,) if goes_left else (*said, words)}
        if column is not None and self.schema.domains[column] == Domain.BOOLEAN:
            return {**known, text: (f"{text} = {'false' if goes_left else 'true'}",)}
        before = known.get(text, Bounds())
        bounds = before if isinstance(before, Bounds) else Bounds()
        if goes_left:
            least = threshold if bounds.at_most is None else min(bounds.at_most, threshold)
            return {**known, text: Bounds(bounds.above, least)}
        most = threshold if bounds.above is None else max(bounds.above, threshold)
        return {**known, text: Bounds(most, bounds.at_most)}

    @staticmethod
    def _say(known: Known) -> str:
        """Return all that is known as one condition."""
        words: list[str] = []
        for text, facts in known.items():
            words += facts.texts(text) if isinstance(facts, Bounds) else facts
        return " & ".join(words) if words else EVERYONE


def _distinct(names: list[str]) -> npt.NDArray[np.object_]:
    """Return the names, numbered where a column is named like a condition."""
    counts: dict[str, int] = {}
    taken = set(names)
    for k, name in enumerate(names):
        counts[name] = counts.get(name, 0) + 1
        other = name
        while counts[name] > 1 and other in taken:
            other = f"{name} ({counts[name]})"
            counts[name] += 1
        names[k] = other
        taken.add(other)
    return np.array(names, dtype=object)
