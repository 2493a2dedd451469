"""Turn a learner's parameters into what the engine works with, refusing what makes no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine import criteria
from featurewright.engine.buffers import (
    LOOK_AHEAD,
    RANDOM_SEARCH,
    SETTINGS,
    STEP,
    Grammar,
    make_record,
)
from featurewright.engine.compiled_grammar import SAMPLINGS, build_grammar, compile_operators
from featurewright.engine.user_functions import CompiledOperators
from featurewright.estimators.parameters import (
    number,
    one_of,
    raw_columns,
    rows_or_share,
    whole_number,
)
from featurewright.expressions import (
    ARITHMETIC,
    Domain,
    Operator,
    parse_budget,
    resolve_operators,
)
from featurewright.expressions.operators import BuiltInOperator
from featurewright.tables import Schema

STRATEGIES = {
    "random": RANDOM_SEARCH,
    "step": STEP,
    "look_ahead": LOOK_AHEAD,
}
CLASS_CRITERIA = {
    "normalized_gain": criteria.NORMALIZED,
    "entropy": criteria.INFORMATION,
    "gain_ratio": criteria.RATIO,
    "gini": criteria.GINI,
    "kearns_mansour": criteria.KEARNS_MANSOUR,
}
NUMBER_CRITERIA = {"squared_error": criteria.SQUARES}

_NO_LIMIT = 2**31 - 1
# Rows of the first round of halving and the share that goes on: benchmarks/halving.py measures
# both. Below one and a half times the first number a node is scored whole.
HALVING_ROWS = 256
VOTE_HALVING_ROWS = 4096  # of AdaBoost.MH, whose weights leave few rows that count
HALVING_KEEP = 4


@dataclass(frozen=True)
class Construction:
    """What a fit constructs expressions from."""

    operators: tuple[Operator, ...]
    compiled: CompiledOperators
    grammar: Grammar
    width: int
    strategy: int
    budget: int
    n_raw: int


def wanted_operators(learner: Any) -> tuple[Operator, ...] | None:
    """Check how a learner searches and look up the operators it names."""
    if isinstance(learner.search, str) and learner.search == "adaptive":
        raise ValueError(
            "search='adaptive' is gone: it was slower than 'random' and no better; use 'random'."
        )
    one_of("search", learner.search, (*STRATEGIES, None))
    one_of("sampling", learner.sampling, SAMPLINGS)
    whole_number("max_size", learner.max_size, 1)
    return named_operators(learner)


def named_operators(learner: Any) -> tuple[Operator, ...] | None:
    """Look up the operators a learner names; None stands for the default set."""
    if learner.operators is None:
        return None
    named = (learner.operators,) if isinstance(learner.operators, str) else learner.operators
    if not isinstance(named, Iterable):
        raise ValueError(
            f"operators={named!r} must be a sequence of operator names or Operator objects."
        )
    resolved = resolve_operators(tuple(named))
    for operator in resolved:
        if isinstance(operator, BuiltInOperator) and operator.number_of is not None:
            raise ValueError(
                f"operators has {operator.name!r}, which compares with a number that no search "
                f"draws; use {operator.number_of!r}, which compares two columns."
            )
    return resolved


def count_levels(schema: Schema) -> npt.NDArray[np.int64]:
    """Give the number of levels of each Category column, 0 for the others."""
    n_levels = np.array([len(levels or ()) for levels in schema.levels], np.int64)
    n_levels[schema.domains != Domain.CATEGORY] = 0
    return n_levels


def plan_construction(
    learner: Any,
    schema: Schema,
    operators: tuple[Operator, ...] | None,
    plain_columns: str,
    rounding: Callable[[float], int] = round,
    *,
    budget: int | str | None = None,
) -> Construction:
    """Work out budget, grammar and raw columns of a fit.

    Parameters
    ----------
    learner : estimator
        Has search, operators, max_size, budget, sampling and max_features.
    schema : Schema
        The table's columns.
    operators : tuple of Operator or None
        What `wanted_operators` gave.
    plain_columns : str
        Raw columns tried at a node when `max_features` is None and nothing is searched.
    rounding : callable
        How a root, a logarithm or a share of the columns becomes a whole number.
    budget : int or str, optional
        In place of the learner's own, which may be a word.
    """
    n_columns = schema.n_columns
    n_levels = count_levels(schema)
    if operators is None:
        # Without tests for a level, constructed expressions could not use a Category at all.
        tests = () if schema.is_numeric else ("is",)
        operators = resolve_operators((*ARITHMETIC, *tests))
    searched = learner.search is not None
    wanted = learner.budget if budget is None else budget
    width = learner.max_size if searched else 1
    max_features = learner.max_features
    if max_features is None:
        max_features = 0 if searched else plain_columns
    n_raw = raw_columns(max_features, n_columns, rounding)
    if n_raw == 0 and not searched:
        raise ValueError(
            "max_features=0 with search=None leaves nothing to split on; use at least 1."
        )
    used = operators if searched else ()
    return Construction(
        operators=used,
        compiled=compile_operators(used),
        grammar=build_grammar(schema.domains, n_levels, used, width, sampling=learner.sampling),
        width=width,
        strategy=STRATEGIES[learner.search] if searched else RANDOM_SEARCH,
        budget=parse_budget(wanted, n_columns) if searched else 0,
        n_raw=n_raw,
    )


def halving_rows(halving: Any) -> int:
    """Read the rows of the first round of halving; 0 turns it off."""
    if halving is None:
        return 0
    if isinstance(halving, str):
        one_of("halving", halving, ("auto",))
        return HALVING_ROWS
    return whole_number("halving", halving, 32)


@dataclass(frozen=True)
class Limits:
    """When trees stop growing, as a user says it."""

    max_depth: Any
    max_leaf_nodes: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_gain: Any
    halving: Any


def make_settings(limits: Limits, construction: Construction, n_rows: int, **scoring: Any) -> Any:
    """Make the engine's settings record from limits and the way splits are scored."""
    depth, leaves = limits.max_depth, limits.max_leaf_nodes
    return make_record(
        SETTINGS,
        min_rows=rows_or_share("min_samples_leaf", limits.min_samples_leaf, n_rows, 1),
        strategy=construction.strategy,
        budget=construction.budget,
        n_raw=construction.n_raw,
        sample=halving_rows(limits.halving),
        keep=HALVING_KEEP,
        max_depth=_NO_LIMIT if depth is None else whole_number("max_depth", depth, 1),
        max_leaves=0 if leaves is None else whole_number("max_leaf_nodes", leaves, 2),
        min_split=rows_or_share("min_samples_split", limits.min_samples_split, n_rows, 2),
        min_gain=number("min_gain", limits.min_gain, least=0.0),
        **scoring,
    )
