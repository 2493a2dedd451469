"""What trees and the batch constructor build features with."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from featurewright.engine.buffers import WEIGHTED, Target
from featurewright.engine.compiled_grammar import build_grammar, compile_operators
from featurewright.engine.operator_lists import usable_operators
from featurewright.estimators.construction import Construction, count_levels, named_operators
from featurewright.estimators.parameters import flag, whole_number
from featurewright.expressions import Domain, Operator, resolve_operators
from featurewright.tables import Schema

SIX = ("sqrt", "square", "add", "sub", "mul", "gaussian")
_MAX_WIDTH = 127  # symbols; six binary operators on top of one another
MAX_ORDER = _MAX_WIDTH - 1  # operators of one operand add a symbol each
_KINDS = {Domain.REAL: "numbers", Domain.BOOLEAN: "booleans", Domain.CATEGORY: "categories"}


def six_or_named(learner: Any) -> tuple[Operator, ...]:
    """Look up the operators a learner names; the six of the paper by default."""
    named = named_operators(learner)
    return resolve_operators(SIX) if named is None else named


def check_output(learner: Any) -> None:
    """Refuse an output that makes no sense; None stands for the usual number of features."""
    flag("include_original", learner.include_original)
    flag("keep_missing", learner.keep_missing)
    if learner.n_features_out is not None:
        whole_number("n_features_out", learner.n_features_out, 1)


def is_constant(target: Target) -> bool:
    """Tell whether all rows that count have the same target; gains are rounding errors then."""
    rows = target.weights > 0
    if len(target.codes):
        return not np.ptp(target.codes[rows])
    return not np.ptp(target.sums[:, rows] / target.weights[rows], axis=1).any()


def plan(
    learner: Any,
    schema: Schema,
    operators: tuple[Operator, ...],
    budget: int,
    max_order: int = 1,
) -> Construction:
    """Work out what a fit constructs features from: operators that find operands."""
    used = usable_operators(operators, schema.domains, max_order)
    if operators and not used and learner.operators is not None:
        counts = Counter(Domain(int(domain)) for domain in schema.domains)
        raise ValueError(
            f"operators={[operator.name for operator in operators]} find no operands among columns "
            f"of these kinds: {', '.join(f'{_KINDS[kind]} ({counts[kind]})' for kind in counts)}; "
            "name operators that take such columns, or leave operators out."
        )
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
