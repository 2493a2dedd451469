"""The methods that construct: how each is run, and what it gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from featurewright.auto.bends import bend
from featurewright.auto.ensembles import formula_paths, formula_votes, paths, scores, votes
from featurewright.auto.originals import learn_originals
from featurewright.auto.parts import Part, evaluate_formulas, learn_part
from featurewright.auto.requests import Request, Task, node_budget, pick_class
from featurewright.auto.selection import by_residual, indicator_target, left_over
from featurewright.constructive import (
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
)
from featurewright.estimators.parameters import one_of
from featurewright.expressions import Column, Feature, Real
from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.recursive import RecursiveSelectiveTransformer
from featurewright.tables import EncodedTable

POOL = 200  # formulas of a method that selection looks at
_FOREST_TREES = 60
_FOREST_DEPTH = 3  # formulas near the roots say most to other models
_ROUNDS = 8
_ROUND_TREES = 15
_LONE_COLUMNS = 50  # up to so many, each column by itself may bend
_ROUND_STEPS = 8  # for numbers; classes are told apart no better by steps
_ROUND_COLUMNS = 10  # formulas of each round that the next one's linear model has
_MAX_OUTPUTS = 10  # columns of a target that forests grow on
_MAX_SEED = 2**31 - 1
_FC_TREES = 5
_OPERATORS = (
    *("add", "sub", "mul", "div", "log", "sqrt", "square", "abs", "min", "max"),
    *("gaussian", "less"),  # bumps and steps, which products cannot make
)
_ENSEMBLE_ROWS = 20_000
_MAX_SCORES = 100
_MAX_COMPONENTS = 100


@dataclass(frozen=True)
class Source:
    """A method.

    Parameters
    ----------
    name : str
        Its name.
    readable : bool
        Whether it gives formulas.
    sizes : tuple of int
        Numbers of columns that are tried; none for a column for each class.
    make : callable
        Takes a `Request` and gives a `Part`, the best columns first.
    several : bool
        Whether it takes a target of several columns.
    max_rows : int
        Rows it learns from at most.
    trees : bool
        Whether its columns are read off whole trees, which make a query or graph long: one such
        method is enough, but for those with few columns.
    """

    name: str
    readable: bool
    sizes: tuple[int, ...]
    make: Callable[[Request], Part]
    several: bool = True
    max_rows: int = 10_000
    trees: bool = False

    @property
    def by_class(self) -> bool:
        """Whether it gives a column for each class and no more."""
        return not self.sizes


def _formulas(name: str, learner: Any, asked: Request) -> Part:
    """Fit a learner and take its formulas, without lone columns."""
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    features = [f for f in learner.features_ if not isinstance(f.expression, Column)]
    return learn_part(name, "formula", asked.table, features=features[:POOL])


def _operators(asked: Request) -> tuple[str, ...]:
    """Give the operators of formulas; tests for a level where there are categories."""
    return _OPERATORS if asked.table.schema.is_numeric else (*_OPERATORS, "is")


def _forest(asked: Request) -> Part:
    """Take the formulas of a constructive forest."""
    make = pick_class(asked.task, ConstructiveForestClassifier, ConstructiveForestRegressor)
    learner = make(
        _FOREST_TREES,
        max_depth=_FOREST_DEPTH,
        budget=node_budget(asked),
        operators=_operators(asked),
        max_size=asked.task.max_size,
        n_features_out=POOL,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas("forest", learner, asked)


def _boosting(asked: Request) -> Part:
    """Take the formulas of small forests, each grown on what a linear model leaves over.

    The linear model has the original columns and the best formulas of the forests before. Formulas
    may bend at a number, or be steps there.
    """
    table = asked.table
    base = learn_originals(table.matrix, table.schema).compute(np.asarray(table.matrix, float))
    target = indicator_target(asked.y, asked.task.kind)
    if target.shape[1] > _MAX_OUTPUTS:
        mixing = np.random.default_rng(asked.seed).normal(size=(target.shape[1], _MAX_OUTPUTS))
        target = target @ mixing
    n_steps = _ROUND_STEPS if asked.task.kind == "regression" else 0
    lone = _numbers(table) if table.shape[1] <= _LONE_COLUMNS else []
    part: Part | None = None
    known, end = base, time.monotonic() + asked.seconds
    for turn in range(_ROUNDS):
        forest = ConstructiveForestRegressor(
            _ROUND_TREES,
            max_depth=_FOREST_DEPTH,
            budget=node_budget(asked),
            operators=_operators(asked),
            max_size=asked.task.max_size,
            n_features_out=POOL // _ROUNDS,
            max_time=max(0.01, end - time.monotonic()),
            random_state=(asked.seed + turn) % _MAX_SEED,
            n_jobs=asked.task.n_jobs,
        )
        rest = left_over(known, target)
        forest.fit(table, rest if rest.shape[1] > 1 else rest[:, 0], sample_weight=asked.weights)
        grown = list(dict.fromkeys([*lone, *forest.features_[: POOL // _ROUNDS]]))
        values = evaluate_formulas(grown, table)
        found = bend(grown, values, known, target, n_bends=POOL // _ROUNDS, n_steps=n_steps)
        if part is not None:
            seen = {feature.expression for feature in part.features}
            found = [*part.features, *(f for f in found if f.expression not in seen)]
        part = learn_part("boosting", "formula", table, features=found)
        if turn + 1 == _ROUNDS or time.monotonic() > end:
            break
        values = part.compute(table)
        best = by_residual(base, values, target, _ROUND_COLUMNS * (turn + 1))
        known = np.hstack([base, values[:, best]])
    assert part is not None
    return part


def _numbers(table: EncodedTable) -> list[Feature]:
    """Give the columns of numbers as formulas."""
    schema = table.schema
    return [
        Feature.of(Column(int(k), schema.names[k], Real))
        for k in np.flatnonzero(schema.domains == Real)
    ]


def _fctree(asked: Request) -> Part:
    """Take the formulas of feature construction trees."""
    make = pick_class(asked.task, FCTreeClassifier, FCTreeRegressor)
    learner = make(
        _FC_TREES, max_time=asked.seconds, random_state=asked.seed, n_jobs=asked.task.n_jobs
    )
    return _formulas("fctree", learner, asked)


def _batch(asked: Request) -> Part:
    """Take the best of every operator on every column and pair."""
    learner = BatchConstructor(
        operators=_operators(asked),
        criterion="squared_error" if asked.task.kind == "regression" else None,
        n_features_out=POOL // 2,
        max_correlation=0.98,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas("batch", learner, asked)


def _landmarks(asked: Request) -> Part:
    """Take similarities to training rows."""
    learner = LandmarkKernelFeatures(
        min(300, max(1, len(asked.table.matrix) // 3)),
        append=False,
        scale=True,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    learner.fit(asked.table, sample_weight=asked.weights)
    names = learner.get_feature_names_out()
    return learn_part("landmarks", "landmark", asked.table, transformer=learner, names=names)


def _recursive(asked: Request) -> Part:
    """Take the components of one recursive selective transformation."""
    learner = RecursiveSelectiveTransformer(
        1, task=asked.task.kind, random_state=asked.seed, n_jobs=asked.task.n_jobs
    )
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    names = learner.get_feature_names_out()
    keep = np.arange(min(len(names), _MAX_COMPONENTS))
    return learn_part(
        "recursive", "component", asked.table, transformer=learner, names=names, keep=keep
    )


_FORMULA_SIZES = (1, 2, 5, 10, 20, 50, 100)
SOURCES = {
    source.name: source
    for source in (
        Source("forest", True, _FORMULA_SIZES, _forest),
        Source(
            "scores",
            False,
            (),
            scores,
            several=False,
            max_rows=_ENSEMBLE_ROWS,
            trees=True,
        ),
        Source(
            "votes",
            False,
            (),
            votes,
            several=False,
            max_rows=_ENSEMBLE_ROWS,
            trees=True,
        ),
        Source(
            "formula votes",
            False,
            (),
            formula_votes,
            several=False,
            max_rows=_ENSEMBLE_ROWS,
            trees=True,
        ),
        Source("batch", True, _FORMULA_SIZES, _batch),
        Source("fctree", True, _FORMULA_SIZES, _fctree),
        Source("boosting", True, _FORMULA_SIZES, _boosting),
        Source("landmarks", False, (30, 100, 300), _landmarks),
        Source("paths", False, (200, 1000), paths, trees=True),
        Source("formula paths", False, (200, 1000), formula_paths, trees=True),
        Source("recursive", False, (_MAX_COMPONENTS,), _recursive, several=False),
    )
}


def refusal(source: Source, task: Task, n_rows: int, n_classes: int) -> str:
    """Say why a method cannot be used here; "" where it can."""
    if task.n_outputs > 1 and not source.several:
        return "takes one target only"
    if (source.by_class or source.name == "recursive") and n_classes > _MAX_SCORES:
        return "makes columns for each of the classes, which are too many here"
    return ""


def chosen_methods(methods: Any) -> list[str]:
    """Read the parameter `methods`: all, those with formulas, one or several by name."""
    if isinstance(methods, str):
        one_of("methods", methods, ("all", "readable", *SOURCES))
        if methods == "all":
            return list(SOURCES)
        if methods == "readable":
            return [name for name, source in SOURCES.items() if source.readable]
        return [methods]
    if not isinstance(methods, Iterable):
        raise ValueError(f"methods={methods!r} must be a name or a list of names.")
    return list(dict.fromkeys(one_of("methods", name, tuple(SOURCES)) for name in methods))
