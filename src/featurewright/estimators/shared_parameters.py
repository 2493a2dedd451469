"""The parameters and fitted attributes that several estimators have."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from textwrap import fill
from typing import Any

from featurewright.engine.buffers import STRATEGIES
from featurewright.engine.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from featurewright.engine.grammar import SAMPLINGS
from featurewright.estimators.construction import named_operators
from featurewright.estimators.parameters import (
    Parameter,
    check_class_weight,
    check_columns,
    check_seed,
    check_threads,
    check_verbose,
    choice,
    flag,
    one_of,
    optional,
    real,
    rows,
    whole,
    within,
)
from featurewright.expressions import parse_budget
from featurewright.expressions.automaton import MAX_SIZE


def check_search(name: str, value: Any) -> None:
    """Check how expressions are searched."""
    if isinstance(value, str) and value == "adaptive":
        raise ValueError(
            f"{name}='adaptive' is gone: it was slower than 'random' and no better; use 'random'."
        )
    one_of(name, value, (*STRATEGIES, None))


def check_operators(name: str, value: Any) -> None:
    """Check that operators are known and can be drawn."""
    named_operators(value)


def check_budget(name: str, value: Any) -> None:
    """Check a number of candidates, which may depend on the number of columns."""
    parse_budget(value, 1, name)


def check_budget_or_auto(name: str, value: Any) -> None:
    """Check a number of candidates that may be left to the method."""
    if not (isinstance(value, str) and value == "auto"):
        check_budget(name, value)


def check_halving(name: str, value: Any) -> None:
    """Check the rows of the first round of halving."""
    if isinstance(value, str):
        one_of(name, value, ("auto",))
    elif value is not None:
        whole(32)(name, value)


_TEXT_WIDTH = 92
_NUMBER_CRITERIA = " or ".join(f'"{name}"' for name in NUMBER_CRITERIA)


def class_criterion(default: str) -> Parameter:
    """Return the parameter for the criterion of a learner of classes."""
    text = f"How splits are scored: {_class_criteria(default)}."
    return Parameter("str", fill(text, _TEXT_WIDTH), choice(*CLASS_CRITERIA, None))


def any_criterion(default: str, what: str = "How splits are scored.") -> Parameter:
    """Return the parameter for the criterion of a learner of classes or of numbers."""
    text = (
        f"{what} Classes: {_class_criteria(default)}. Numbers: {_NUMBER_CRITERIA}, which also "
        "makes numbers of classes that are whole numbers."
    )
    check = choice(*CLASS_CRITERIA, *NUMBER_CRITERIA, None)
    return Parameter("str", fill(text, _TEXT_WIDTH), check)


def _class_criteria(default: str) -> str:
    """Return the criteria for classes as text, the default first."""
    *others, last = (f'"{name}"' for name in sorted(CLASS_CRITERIA) if name != default)
    return f'"{default}" (the default), {", ".join(others)} or {last}'


NUMBER_CRITERION = Parameter(
    "str", f"How splits are scored: {_NUMBER_CRITERIA}.", choice(*NUMBER_CRITERIA, None)
)
CLASS_WEIGHT = Parameter('dict, "balanced" or None', "Weights of the classes.", check_class_weight)
MIN_WEIGHT = Parameter(
    "float", "Share of the total weight on each side of a split.", within("[0, 0.5]")
)
MIN_SIDE_SHARE = Parameter(
    "float",
    """
    Share of a node's weight, divided by the number of classes, that each side of a split needs, up
    to 25 rows. C4.5 uses 0.1.
    """,
    within("[0, 0.5]"),
)
CUT_COST = Parameter(
    "bool",
    """
    Whether naming a threshold has a cost, as in C4.5: the binary logarithm of the number of
    thresholds that are compared is subtracted from the gain in bits, and a split whose gain is used
    up is not made. For one column of classes and `criterion="entropy"`.
    """,
    flag,
)
BUDGET = Parameter(
    "int or str",
    """Score calls at each node; "10n" stands for ten times the number of columns.""",
    check_budget,
)
OPERATORS = Parameter(
    "sequence of str or Operator",
    """
    What expressions are built with, by name or as `Operator`. By default add, sub, mul and div,
    and "is" tests where the table has categories.
    """,
    check_operators,
)
MAX_FEATURES = Parameter(
    'int, float, {"sqrt", "log2", "all"} or None',
    """
    Raw columns that a node tries besides expressions. With a search, None means no raw columns;
    without one, it means the usual number of the plain learner.
    """,
    check_columns,
)
SEARCH = {
    "search": Parameter(
        '{"random", "step", "look_ahead"} or None',
        """
        How expressions are searched at each node: `random` scores complete random expressions;
        `step` and `look_ahead` build them symbol by symbol after the best completion so far. None
        tests raw columns only: the plain learner.
        """,
        check_search,
    ),
    "budget": BUDGET,
    "max_size": Parameter(
        "int",
        f"Largest number of symbols (columns and operators) of an expression, up to {MAX_SIZE}.",
        whole(1, most=MAX_SIZE),
    ),
    "operators": OPERATORS,
    "sampling": Parameter(
        '{"symbol", "kind"}',
        """
        Whether the next symbol is uniform over all valid ones, or first over the kinds column,
        operator, end.
        """,
        choice(*SAMPLINGS),
    ),
    "max_features": MAX_FEATURES,
}
MAX_DEPTH = Parameter("int", "Largest depth of a tree.", optional(whole(1)))
MIN_SAMPLES_LEAF = Parameter(
    "int or float", "Rows, or share of rows, on each side of a split.", rows(1)
)
GROWTH = {
    "max_depth": MAX_DEPTH,
    "min_samples_split": Parameter(
        "int or float", "Rows, or share of rows, that a node needs to be split.", rows(2)
    ),
    "min_samples_leaf": MIN_SAMPLES_LEAF,
    "max_leaf_nodes": Parameter(
        "int", "Most leaves of a tree; the best nodes are split first.", optional(whole(2))
    ),
    "min_gain": Parameter(
        "float", "Gain, in units of weight, that a split needs.", real(least=0.0)
    ),
    "halving": Parameter(
        '"auto", int or None',
        """
        Rows of the sample on which a large node scores its candidates first; only the better ones
        are scored on more. None scores all candidates on all rows.
        """,
        check_halving,
    ),
}
SAMPLES = {
    "bootstrap": Parameter(
        "bool",
        """
        Whether each tree grows on rows drawn with replacement; by default forests do and
        Extra-Trees do not.
        """,
        optional(flag),
    ),
    "max_samples": Parameter(
        "int, float or None",
        "Rows, or share of rows, drawn for each tree; all by default.",
        optional(rows(1)),
    ),
}
N_FEATURES_OUT = Parameter("int", "Constructed features that `transform` computes.", whole(1))
OUTPUT = {
    "n_features_out": N_FEATURES_OUT,
    "include_original": Parameter(
        "bool",
        """
        Whether `transform` also returns the original columns, before the constructed ones. A
        category comes as the number of its level.
        """,
        flag,
    ),
    "keep_missing": Parameter(
        "bool",
        """
        Whether `transform` leaves undefined values missing instead of filling in the median of
        `fit`.
        """,
        flag,
    ),
}
MAX_TIME = Parameter(
    "float",
    "Seconds after which growing stops; the trees grown by then are the result.",
    optional(real(above=0.0)),
)
RANDOM_STATE = Parameter(
    "int, RandomState or None", "Seed; the result is the same for any `n_jobs`.", check_seed
)
RUNNING = {
    "max_time": MAX_TIME,
    "random_state": RANDOM_STATE,
    "n_jobs": Parameter("int", "Threads of this process.", check_threads),
    "verbose": Parameter("int", "Draw a progress bar.", check_verbose),
}


def check_raw_columns(learner: Any) -> None:
    """Refuse a learner without expressions and without raw columns."""
    columns = learner.max_features
    if learner.search is None and isinstance(columns, Integral) and columns == 0:
        raise ValueError(
            "max_features=0 with search=None leaves nothing to split on; use at least 1."
        )


def worded(parameter: Parameter, text: str, **changes: Any) -> Parameter:
    """Return a parameter with another description."""
    return replace(parameter, text=text, **changes)


FITTED = """
features_ : tuple of Feature
    Distinct constructed expressions by total gain, the best two hundred; each has `name`,
    `expression`, `gain` (share of the gain of all splits) and `count` (nodes that test it).
    `transform` computes the first `n_features_out` of them.
feature_importances_ : ndarray of shape (n_features,)
    Share of the gain of all splits of each input column; a split's gain is divided among the
    columns that its expression names.
interactions_ : tuple of (str, str, float)
    Pairs of columns that splits join in one expression, with their share of the gain of all splits,
    largest first; a split's gain is divided among the pairs of columns that its expression names.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""
