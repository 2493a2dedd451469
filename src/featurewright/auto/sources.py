"""The methods that construct: how each is run, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.parts import Part, learn_part
from featurewright.constructive import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
)
from featurewright.estimators.parameters import one_of
from featurewright.expressions import Column
from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer
from featurewright.tables import EncodedTable

POOL = 200  # formulas of a method that selection looks at
_FOREST_TREES = 40
_FOREST_DEPTH = 4  # formulas near the roots say most to other models
_ROUNDS = 60
_FC_TREES = 5
_OPERATORS = ("add", "sub", "mul", "div", "log", "sqrt", "square", "abs", "min", "max")
_PATH_TREES = 60
_PATH_LEAVES = 24
_LEAST_ROWS = 4  # rows that a path column needs
_MAX_COMPONENTS = 100


@dataclass(frozen=True)
class Task:
    """What a method is asked to do.

    Parameters
    ----------
    kind : {"classification", "regression", "multilabel"}
        What the target is.
    n_outputs : int
        Columns of the target.
    max_size : int
        Largest number of symbols in a formula.
    n_jobs : int or None
        Threads.
    """

    kind: str
    n_outputs: int
    max_size: int
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Request:
    """Training rows for a method.

    Parameters
    ----------
    table : EncodedTable
        The rows.
    y : ndarray
        Class codes, or numbers.
    weights : ndarray or None
        Weights of the rows.
    task : Task
        What to do.
    seed : int
        Seed.
    seconds : float
        Time after which trees stop growing.
    """

    table: EncodedTable
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: Task
    seed: int
    seconds: float


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
        Numbers of columns that are tried.
    make : callable
        Takes a `Request` and gives a `Part`, the best columns first.
    several : bool
        Whether it takes a target of several columns.
    """

    name: str
    readable: bool
    sizes: tuple[int, ...]
    make: Callable[[Request], Part]
    several: bool = True


def _pick(task: Task, classifier: Any, regressor: Any) -> Any:
    """Choose the class for a task."""
    return regressor if task.kind == "regression" else classifier


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
    make = _pick(asked.task, ConstructiveForestClassifier, ConstructiveForestRegressor)
    learner = make(
        _FOREST_TREES,
        max_depth=_FOREST_DEPTH,
        operators=_operators(asked),
        max_size=asked.task.max_size,
        n_features_out=POOL,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas("forest", learner, asked)


def _boosting(asked: Request) -> Part:
    """Take the formulas of shallow boosting, which looks at what is left unexplained."""
    make = _pick(asked.task, ConstructiveBoostingClassifier, ConstructiveBoostingRegressor)
    learner = make(
        _ROUNDS,
        max_depth=2,
        learning_rate=0.2,
        operators=_operators(asked),
        max_size=asked.task.max_size,
        n_features_out=POOL,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas("boosting", learner, asked)


def _fctree(asked: Request) -> Part:
    """Take the formulas of feature construction trees."""
    make = _pick(asked.task, FCTreeClassifier, FCTreeRegressor)
    learner = make(
        _FC_TREES, max_time=asked.seconds, random_state=asked.seed, n_jobs=asked.task.n_jobs
    )
    return _formulas("fctree", learner, asked)


def _batch(asked: Request) -> Part:
    """Take the best of every operator on every column and pair."""
    learner = BatchConstructor(
        operators=_operators(asked),
        criterion="squared_error" if asked.task.kind == "regression" else None,
        n_features_out=POOL,
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


def _paths(asked: Request) -> Part:
    """Take the leaves of a forest of small trees."""
    return _leaves("paths", asked, None)


def _formula_paths(asked: Request) -> Part:
    """Take the leaves of a forest of small trees that test formulas."""
    return _leaves("formula paths", asked, "random")


def _leaves(name: str, asked: Request, search: str | None) -> Part:
    """Grow small trees and take the leaves that hold some rows, tree after tree."""
    learner = ForestPathEncoder(
        _PATH_TREES,
        encode="leaf",
        search=search,
        max_size=asked.task.max_size,
        max_leaf_nodes=_PATH_LEAVES,
        criterion="squared_error" if asked.task.kind == "regression" else None,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    counts = np.asarray(learner.transform(asked.table).sum(axis=0)).ravel()
    n_rows = len(asked.table.matrix)
    keep = np.flatnonzero((counts >= _LEAST_ROWS) & (counts <= n_rows - _LEAST_ROWS))
    names = learner.get_feature_names_out()
    return learn_part(name, "path", asked.table, transformer=learner, names=names, keep=keep)


_FORMULA_SIZES = (5, 10, 20, 50)
SOURCES = {
    source.name: source
    for source in (
        Source("forest", True, _FORMULA_SIZES, _forest),
        Source("batch", True, _FORMULA_SIZES, _batch),
        Source("fctree", True, _FORMULA_SIZES, _fctree),
        Source("boosting", True, _FORMULA_SIZES, _boosting, several=False),
        Source("landmarks", False, (30, 100, 300), _landmarks),
        Source("paths", False, (200, 1000), _paths),
        Source("formula paths", False, (200, 1000), _formula_paths),
        Source("recursive", False, (_MAX_COMPONENTS,), _recursive, several=False),
    )
}


def refusal(source: Source, task: Task, n_rows: int, n_classes: int) -> str:
    """Say why a method cannot be used here; "" where it can."""
    if task.n_outputs > 1 and not source.several:
        return "takes one target only"
    if source.name == "recursive" and n_classes > 100:
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
