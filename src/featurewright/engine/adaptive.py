"""Learn from the trees grown so far which columns and sub-expressions to draw more often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from featurewright.engine.compiled_grammar import build_grammar, empty_library, walk
from featurewright.engine.features import Ranking, column_importances, rank_programs
from featurewright.engine.forest import Forest
from featurewright.engine.grammar import Grammar
from featurewright.engine.growth import Job
from featurewright.engine.operators import takes_one
from featurewright.engine.programs import UserFunctions
from featurewright.engine.search import Library
from featurewright.expressions import Operator
from featurewright.expressions.opcodes import END, FIRST_USER, symbol_opcode
from featurewright.tables import Schema

BATCH = 10  # trees, or rounds, between two looks at what earned gain
LIBRARY_SHARE = 64  # of 256 candidates, so many begin with a sub-expression that earned gain
_ENTRIES = 64
_DRAWS = 1024
_REPEAT = 8  # an average column is listed so many times


def column_weights(importances: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Mix a uniform draw of columns with one by importance, half and half."""
    mixed = 0.5 + 0.5 * importances * len(importances)
    return np.maximum(1, np.round(_REPEAT * mixed)).astype(np.int64)


def adapt(
    job: Job, forest: Forest, schema: Schema, operators: Sequence[Operator], sampling: str
) -> Job:
    """Make the next trees draw more often what earned gain in the trees so far."""
    grammar = build_grammar(
        schema.domains,
        job.grammar.n_levels,
        operators,
        job.width,
        sampling=sampling,
        column_weights=column_weights(column_importances(forest, schema.n_columns)),
    )
    library = build_library(rank_programs(forest, job.users), grammar, job.users)
    settings = job.settings.copy()
    settings["library_share"] = LIBRARY_SHARE if len(library.draws) else 0
    return replace(job, settings=settings, grammar=grammar, library=library)


def build_library(ranking: Ranking, grammar: Grammar, users: UserFunctions) -> Library:
    """Collect sub-expressions by the gain of the expressions they are part of.

    Only sub-expressions that an expression of full size still has room to extend by an operator
    and a column are of use.
    """
    width = ranking.programs.shape[1]
    gains: dict[tuple[int, ...], float] = {}
    for program, gain in zip(ranking.programs[:2000], ranking.gains[:2000], strict=True):
        for part in _constructed_parts(program, users):
            if len(part) <= width - 2:
                gains[part] = gains.get(part, 0.0) + float(gain)
    best = sorted(gains.items(), key=lambda item: (-item[1], item[0]))[:_ENTRIES]
    if not best:
        return empty_library(width)
    programs = np.full((len(best), width), END, np.int32)
    for k, (part, _) in enumerate(best):
        programs[k, : len(part)] = part
    shares = np.array([gain for _, gain in best])
    whole = max(float(shares.sum()), np.finfo(float).tiny)
    times = np.maximum(1, np.round(_DRAWS * shares / whole)).astype(np.int64)
    return Library(
        programs,
        np.array([walk(grammar, part) for part, _ in best], np.int32),
        np.repeat(np.arange(len(best), dtype=np.int32), times),
    )


def _constructed_parts(
    program: npt.NDArray[np.int32], users: UserFunctions
) -> list[tuple[int, ...]]:
    """List the sub-programs of a program that apply an operator, itself included."""
    stack: list[tuple[int, ...]] = []
    parts: list[tuple[int, ...]] = []
    for symbol in program.tolist():
        if symbol == END:
            break
        if symbol >= 0:
            stack.append((symbol,))
            continue
        opcode = symbol_opcode(symbol)
        if opcode >= FIRST_USER:
            arity = int(users.arities[opcode - FIRST_USER])
        else:
            arity = 1 if takes_one(opcode) else 2
        operands = stack[-arity:]
        del stack[-arity:]
        part = (*(s for operand in operands for s in operand), symbol)
        stack.append(part)
        parts.append(part)
    return parts
