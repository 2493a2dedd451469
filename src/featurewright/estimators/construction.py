"""Turn a learner's parameters into what the engine works with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import (
    RANDOM_SEARCH,
    SETTINGS,
    STRATEGIES,
    Grammar,
    make_record,
)
from featurewright.engine.grammar import build_grammar, compile_operators
from featurewright.engine.user_functions import CompiledOperators
from featurewright.estimators.parameters import raw_columns, rows_or_share
from featurewright.expressions import (
    ARITHMETIC,
    Domain,
    Operator,
    parse_budget,
    resolve_operators,
)
from featurewright.expressions.operators import BuiltInOperator
from featurewright.tables import Schema

_NO_LIMIT = 2**31 - 1
# Rows of the first round of halving, and the divisor of the candidates that are scored on more:
# benchmarks/halving.py measures both. A node of fewer than 1.5 times as many rows is scored whole.
HALVING_ROWS = 256
VOTE_HALVING_ROWS = 4096  # of AdaBoost.MH, in which few rows have most of the weight
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


def named_operators(operators: Any) -> tuple[Operator, ...] | None:
    """Return the operators that a parameter names; None stands for the default set."""
    if operators is None:
        return None
    named = (operators,) if isinstance(operators, str) else operators
    if not isinstance(named, Iterable):
        raise ValueError(
            f"operators={named!r} must be a sequence of operator names or Operator objects."
        )
    if isinstance(named, Set):  # whose order differs from process to process
        named = sorted(named, key=lambda given: str(getattr(given, "name", given)))
    resolved = resolve_operators(tuple(named))
    for operator in resolved:
        if isinstance(operator, BuiltInOperator) and operator.number_of is not None:
            raise ValueError(
                f"operators has {operator.name!r}, which takes a number that no search draws; "
                f"use {operator.number_of!r}, which takes two columns."
            )
    return resolved


def count_levels(schema: Schema) -> npt.NDArray[np.int64]:
    """Return the number of levels of each Category column, 0 for the others."""
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
    """Return the budget, the grammar and the raw columns of a fit.

    Parameters
    ----------
    learner : estimator
        Has search, operators, max_size, budget, sampling and max_features.
    schema : Schema
        The table's columns.
    operators : tuple of Operator or None
        What `named_operators` returned.
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
    elif learner.search is not None:
        _warn_of_long_operators(operators, learner.max_size)
    searched = learner.search is not None
    wanted = learner.budget if budget is None else budget
    width = learner.max_size if searched else 1
    max_features = learner.max_features
    if max_features is None:
        max_features = 0 if searched else plain_columns
    n_raw = raw_columns(max_features, n_columns, rounding)
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


def _warn_of_long_operators(operators: tuple[Operator, ...], max_size: int) -> None:
    """Warn of operators of many operands, whose shortest expressions are longer than `max_size`.

    Sizes of 1 and 2 leave out all operators of two operands too, which must be meant.
    """
    long = [operator for operator in operators if operator.arity >= max_size > 2]
    if long:
        names = list(dict.fromkeys(operator.given_name for operator in long))
        least = 1 + max(operator.arity for operator in long)
        warnings.warn(
            f"operators {names} are left out, because with their operands they need expressions of "
            f"up to {least} symbols, but max_size={max_size}: set max_size to at least {least}.",
            UserWarning,
            stacklevel=8,  # the call of `fit` of most learners
        )


@dataclass(frozen=True)
class Limits:
    """When trees stop growing, in the values of the parameters of these names."""

    max_depth: Any = None
    max_leaf_nodes: Any = None
    min_samples_split: Any = 2
    min_samples_leaf: Any = 1
    min_gain: Any = 0.0
    halving: Any = None

    @classmethod
    def of(cls, estimator: Any, **given: Any) -> Limits:
        """Return the values of an estimator's parameters but for those given; defaults for others.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> Limits.of(SimpleNamespace(max_depth=3, min_gain=0.1), min_gain=0.2).max_depth
        3
        """
        names = (field.name for field in fields(cls))
        own = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
        return cls(**own | given)


def make_settings(limits: Limits, construction: Construction, n_rows: int, **scoring: Any) -> Any:
    """Return the engine's settings: the limits of growing and how splits are scored."""
    depth, leaves, halving = limits.max_depth, limits.max_leaf_nodes, limits.halving
    min_rows = rows_or_share("min_samples_leaf", limits.min_samples_leaf, n_rows, 1)
    min_split = rows_or_share("min_samples_split", limits.min_samples_split, n_rows, 2)
    sample = HALVING_ROWS if isinstance(halving, str) else halving or 0
    return make_record(
        SETTINGS,
        min_rows=min(min_rows, _NO_LIMIT),
        strategy=construction.strategy,
        budget=construction.budget,
        n_raw=construction.n_raw,
        sample=min(sample, _NO_LIMIT),
        keep=HALVING_KEEP,
        max_depth=_NO_LIMIT if depth is None else min(depth, _NO_LIMIT),
        max_leaves=0 if leaves is None else min(leaves, _NO_LIMIT),
        min_split=min(min_split, _NO_LIMIT),
        min_gain=float(limits.min_gain),
        **scoring,
    )
