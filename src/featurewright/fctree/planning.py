"""What trees and the batch constructor build features with."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from featurewright.engine.buffers import WEIGHTED, Target
from featurewright.engine.grammar import build_grammar, compile_operators
from featurewright.engine.weighted import usable_operators
from featurewright.estimators.construction import Construction, count_levels, named_operators
from featurewright.expressions import Domain, Operator, resolve_operators
from featurewright.tables import Schema

SIX = ("sqrt", "square", "add", "sub", "mul", "gaussian")
_MAX_USUAL_BUDGET = 500
_MAX_WIDTH = 127  # symbols; six binary operators on top of one another
MAX_ORDER = _MAX_WIDTH - 1  # operators of one operand add a symbol each
_KINDS = {Domain.REAL: "numbers", Domain.BOOLEAN: "booleans", Domain.CATEGORY: "categories"}


def six_or_named(learner: Any) -> tuple[Operator, ...]:
    """Return the operators a learner names; the six of the paper by default."""
    named = named_operators(learner.operators)
    return resolve_operators(SIX) if named is None else named


def usual_budget(n_columns: int) -> int:
    """Return the features constructed at a node by default: half of those that there are, at most.

    Operators of two operands make about n² / 2 features of n columns each, so that n² draws of the
    six operators find a given pair often enough (`benchmarks/fctree_search.py` measures it). On
    wide tables they would take too long.
    """
    return max(n_columns, min(n_columns**2, _MAX_USUAL_BUDGET))


def is_constant(target: Target) -> bool:
    """Whether all rows of positive weight have the same target; gains are rounding errors then."""
    rows = target.weights > 0
    if len(target.codes):
        return not np.ptp(target.codes[rows])
    return not np.ptp(target.sums[:, rows] / target.weights[rows], axis=1).any()


def no_operands(operators: tuple[Operator, ...], schema: Schema) -> ValueError:
    """Return the error where none of the named operators finds columns to work on."""
    counts = Counter(Domain(int(domain)) for domain in schema.domains)
    names = list(dict.fromkeys(operator.given_name for operator in operators))
    return ValueError(
        f"operators={names} find no operands among columns of these kinds: "
        f"{', '.join(f'{_KINDS[kind]} ({counts[kind]})' for kind in counts)}; "
        "name operators that take such columns, or leave operators out."
    )


def plan(
    learner: Any,
    schema: Schema,
    operators: tuple[Operator, ...],
    budget: int,
    max_order: int = 1,
) -> Construction:
    """Return what a fit constructs features from: the operators that find operands."""
    used = usable_operators(operators, schema.domains, max_order)
    if operators and not used and learner.operators is not None:
        raise no_operands(operators, schema)
    widest = max((operator.arity for operator in used), default=1)
    width = 1
    for _ in range(max_order):
        width = 1 + widest * width
        if width > _MAX_WIDTH:
            raise ValueError(
                f"max_order={max_order} with operators of up to {widest} operands makes "
                f"expressions of more than {_MAX_WIDTH} symbols; use a smaller max_order."
            )
    n_levels = count_levels(schema)
    return Construction(
        operators=used,
        compiled=compile_operators(used),
        grammar=build_grammar(schema.domains, n_levels, (), 1),
        width=max(2, width),  # a test for a level is two symbols
        strategy=WEIGHTED,
        budget=budget,
        n_raw=0,
    )
