"""Methods whose columns are read off ensembles of trees: scores, votes and leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.auto.parts import Part, learn_part, raw_scores
from featurewright.auto.requests import Request, node_budget, pick_class
from featurewright.constructive import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesClassifier,
    ConstructiveExtraTreesRegressor,
)
from featurewright.paths import ForestPathEncoder
from featurewright.tables import EncodedTable

# Where a round takes next to nothing, twice as many that go half as far err less.
_BOOSTED_ROUNDS, _PATIENT_ROUNDS, _PATIENT_RATE = 100, 200, 0.05
_PATIENT_CELLS = 3_000  # rows times scores up to which that is so
# Candidates of a node of boosted trees: a few suffice where every class has trees of its own.
_LEAST_BOOSTED, _MOST_BOOSTED = 100, 300
_VOTING_TREES = 100
# Trees that remember every row vote for its class without a doubt, and the estimator would learn
# that they never err. Formulas remember more easily. For numbers, remembering measures better.
_VOTING_LEAF, _FORMULA_VOTING_LEAF = 2, 3
_PATH_TREES = 60
_PATH_LEAVES = 24
_LEAST_ROWS = 4  # rows that a path column needs


def paths(asked: Request) -> Part:
    """Take the leaves of a forest of small trees."""
    return _leaves("paths", asked, None)


def formula_paths(asked: Request) -> Part:
    """Take the leaves of a forest of small trees that test formulas."""
    return _leaves("formula paths", asked, "random")


def _leaves(name: str, asked: Request, search: str | None) -> Part:
    """Grow small trees and take the leaves that hold some rows, tree after tree."""
    learner = ForestPathEncoder(
        _PATH_TREES,
        encode="leaf",
        search=search,
        budget=node_budget(asked),
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
    names = learner.get_feature_names_out() if asked.named else np.arange(len(counts))
    return learn_part(name, "path", asked.table, transformer=learner, names=names, keep=keep)


def scores(asked: Request) -> Part:
    """Take what boosted trees that test formulas add up to, a column for each class."""
    make = pick_class(asked.task, ConstructiveBoostingClassifier, ConstructiveBoostingRegressor)
    n_classes = len(np.unique(asked.y)) if asked.task.kind == "classification" else 1
    n_scores = n_classes if n_classes > 2 else 1
    budget = min(max(10 * asked.table.shape[1], _LEAST_BOOSTED), _MOST_BOOSTED)
    patient = len(asked.y) * n_scores <= _PATIENT_CELLS
    learner = make(
        _PATIENT_ROUNDS if patient else _BOOSTED_ROUNDS,
        learning_rate=_PATIENT_RATE if patient else None,
        budget=int(budget / np.sqrt(n_scores)),
        max_size=asked.task.max_size,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _ensemble_part("scores", "score", learner, asked)


def votes(asked: Request) -> Part:
    """Take the mean votes of Extra-Trees, a column for each class."""
    return _vote("votes", asked, search=None)


def formula_votes(asked: Request) -> Part:
    """Take the mean votes of Extra-Trees that test formulas, a column for each class."""
    return _vote("formula votes", asked, search="random")


def _vote(name: str, asked: Request, search: str | None) -> Part:
    """Grow Extra-Trees and take their mean votes.

    Of more than two classes, their logarithms: that is what a linear model of classes adds up.
    """
    make = pick_class(asked.task, ConstructiveExtraTreesClassifier, ConstructiveExtraTreesRegressor)
    leaf = _VOTING_LEAF if search is None else _FORMULA_VOTING_LEAF
    learner = make(
        _VOTING_TREES,
        search=search,
        budget=node_budget(asked),
        max_size=asked.task.max_size,
        min_samples_leaf=1 if asked.task.kind == "regression" else leaf,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _ensemble_part(name, "vote" if search is None else "formula vote", learner, asked)


def _ensemble_part(method: str, word: str, learner: Any, asked: Request) -> Part:
    """Fit an ensemble and take what its trees say together."""
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    few = EncodedTable(asked.table.matrix[:1], asked.table.schema)
    n_scores = raw_scores(learner, few).shape[1]
    names = [word] if n_scores == 1 else [f"{word} {k}" for k in range(n_scores)]
    kind = "score" if method == "scores" or n_scores == 1 else "vote"
    if kind == "vote":
        names = [f"log {name}" for name in names]
    return learn_part(method, kind, asked.table, transformer=learner, names=names)
