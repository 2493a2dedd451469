"""Runs of an ensemble: each has landmarks of its own, a table of its own, and what it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from featurewright.constructive import (
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    ConstructiveTreeRegressor,
)
from featurewright.engine.threads import local_threads, one_blas_thread, run_in_threads
from featurewright.estimators.points import Matrix
from featurewright.expressions import Domain
from featurewright.landmarks.inputs import n_rows_of
from featurewright.landmarks.selection import Rows
from featurewright.landmarks.similarity import BLOCK, LandmarkMap, PointMap
from featurewright.tables import EncodedTable, Schema, is_sparse

# Kernel features alone, or beside a random half of the columns: a learner for each run. The other
# methods train a whole ensemble in each run, beside all columns.
ONE_BY_ONE = ("random_subspace", "kernel_only")
WHOLE = ("bagging", "adaboost", "random_forest", "constructive_forest")
METHODS = (*ONE_BY_ONE, *WHOLE)
Values = NDArray[np.float64]
NClasses = int | tuple[int, ...]
_MAX_SIMILARITIES = 2**22  # that are held at once
_MAX_SEED = np.iinfo(np.int32).max
# A learner that comes back unchanged has an error of exactly a half; rounding must not decide.
_CLOSE = 1e-9
_LEAF_ROWS = 2  # of trees that are not random forests: the least of C4.5, where boosting has work
_LIMITS = (
    *("criterion", "max_features", "max_depth"),
    *("min_samples_leaf", "min_weight_fraction_leaf"),
)


@dataclass(frozen=True, eq=False)
class TrainingTarget:
    """What members learn: codes of classes or numbers, and the weights of the rows.

    Attributes
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        The codes or numbers.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    n_classes : int or tuple of int
        Number of classes, of each target where there are several; 0 for numbers.
    """

    y: NDArray[Any]
    weights: Values | None
    n_classes: NClasses

    def of(self, rows: NDArray[np.int64]) -> TrainingTarget:
        """Return the target of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, y=self.y[rows], weights=weights)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of positive weight."""
        if self.weights is None:
            return np.arange(len(self.y))
        return np.flatnonzero(self.weights > 0)


class Member(Protocol):
    """Something trained that predicts rows: shares of classes, or columns of numbers."""

    @property
    def learners(self) -> tuple[Any, ...]:
        """The fitted learners."""

    def values(self, X: Any) -> Values:
        """Return the predictions for the rows of a table."""


@dataclass(frozen=True, eq=False)
class One:
    """A single learner, which may be an ensemble of its own; with no classes, a regressor.

    The shares of several targets stand side by side.
    """

    learner: Any
    n_classes: NClasses

    @property
    def learners(self) -> tuple[Any, ...]:
        """The learner alone."""
        return (self.learner,)

    def values(self, X: Any) -> Values:
        """Return its probabilities, its votes if it has none, or its predictions."""
        if self.n_classes == 0:
            found = np.asarray(self.learner.predict(X), dtype=np.float64)
            return found.reshape(-1, 1) if found.ndim == 1 else found
        if isinstance(self.n_classes, tuple):
            return self._several(X, self.n_classes)
        if not hasattr(self.learner, "predict_proba"):
            return np.eye(self.n_classes)[self.learner.predict(X)]
        return _of_all(self.learner.predict_proba(X), self.learner.classes_, self.n_classes)

    def _several(self, X: Any, n_classes: tuple[int, ...]) -> Values:
        """Return the shares of the classes of several targets side by side."""
        if not hasattr(self.learner, "predict_proba"):
            codes = np.asarray(self.learner.predict(X))
            blocks = [np.eye(n)[column] for n, column in zip(n_classes, codes.T, strict=True)]
            return np.hstack(blocks)
        shares = self.learner.predict_proba(X)
        if isinstance(shares, np.ndarray):  # of each label, the share of rows that have it
            return np.stack([1.0 - shares, shares], axis=2).reshape(len(shares), -1)
        parts = zip(shares, self.learner.classes_, n_classes, strict=True)
        return np.hstack([_of_all(*part) for part in parts])


def _of_all(shares: Any, codes: NDArray[Any], n_classes: int) -> Values:
    """Return the shares of all classes; a learner may not have seen every one."""
    if len(codes) == n_classes:
        return np.asarray(shares, dtype=np.float64)
    values = np.zeros((len(shares), n_classes))
    values[:, codes] = shares
    return values


@dataclass(frozen=True, eq=False)
class Several:
    """Learners whose predictions are combined."""

    members: tuple[One, ...]

    @property
    def learners(self) -> tuple[Any, ...]:
        """The learners in the order in which they were trained."""
        return tuple(member.learner for member in self.members)


@dataclass(frozen=True, eq=False)
class Bag(Several):
    """Learners that saw rows drawn with replacement; their predictions are averaged."""

    def values(self, X: Any) -> Values:
        """Return the mean prediction."""
        total = self.members[0].values(X) / len(self.members)
        for member in self.members[1:]:
            total += member.values(X) / len(self.members)
        return total


@dataclass(frozen=True, eq=False)
class Boosted(Several):
    """AdaBoost.M1: each learner votes with the weight of its accuracy."""

    weights: tuple[float, ...]

    def values(self, X: Any) -> Values:
        """Return each class's share of the votes; a single learner predicts alone."""
        if len(self.members) == 1:
            return self.members[0].values(X)
        total = sum(self.weights)
        (n_classes,) = np.atleast_1d(self.members[0].n_classes)
        values = np.zeros((X.shape[0], n_classes))
        for member, weight in zip(self.members, self.weights, strict=True):
            choice = np.argmax(member.values(X), axis=1)
            values[np.arange(len(values)), choice] += weight / total
        return values


def train_one(template: Any, X: Any, target: TrainingTarget, seed: int) -> One:
    """Train a copy of a learner, with its own seed."""
    learner = clone(template)
    names = [
        name
        for name in learner.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    learner.set_params(**dict.fromkeys(names, int(seed)))
    if target.weights is None:
        learner.fit(X, target.y)
    else:
        learner.fit(X, target.y, sample_weight=target.weights)
    return One(learner, target.n_classes)


def train_bag(
    template: Any, X: NDArray[Any], target: TrainingTarget, seed: int, n_members: int
) -> Bag:
    """Train copies of a learner on rows drawn with replacement."""
    members = [
        train_one(template, X[drawn], target.of(drawn), own)
        for drawn, own in _bootstraps(target, seed, n_members)
    ]
    return Bag(tuple(members))


def _bootstraps(
    target: TrainingTarget, seed: int, n_members: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Return the rows and the seed of each learner of a bag."""
    random = RandomState(seed)
    rows = target.rows
    for _ in range(n_members):
        drawn = rows[random.randint(len(rows), size=len(rows))]
        yield drawn, random.randint(_MAX_SEED)


def predict_out_of_bag(member: Member, X: Any, target: TrainingTarget, seed: int) -> Values:
    """Return each row's mean prediction of the learners that did not see it; NaN without any.

    Parameters
    ----------
    member : Member
        A `Bag`, or a forest that was trained with `oob_score`.
    X : ndarray or EncodedTable
        The table that it was trained on.
    target : TrainingTarget
        What it was trained to predict.
    seed : int
        The seed of the training.
    """
    if not isinstance(member, Bag):
        (forest,) = member.learners
        name = "oob_decision_function_" if target.n_classes else "oob_prediction_"
        found = np.asarray(vars(forest).pop(name), dtype=np.float64)
        return found.reshape(-1, 1) if found.ndim == 1 else found
    total: Any = 0.0
    counts = np.zeros(len(target.y))
    draws = _bootstraps(target, seed, len(member.members))
    for one, (drawn, _) in zip(member.members, draws, strict=True):
        out = np.ones(len(target.y), bool)
        out[drawn] = False
        counts += out
        total = total + one.values(X) * out[:, None]
    with np.errstate(invalid="ignore"):
        return np.asarray(total / counts[:, None])


def train_boosted(
    template: Any, X: Any, target: TrainingTarget, seed: int, n_members: int
) -> Boosted:
    """Train by AdaBoost.M1 (Freund and Schapire).

    A learner with the weighted error e multiplies the weights of the rows it has wrong by
    (1 - e) / e and votes with the logarithm of that. Boosting ends at a learner that has nothing
    wrong, or half and more; such a one counts only where it is the first.
    """
    random = RandomState(seed)
    weights = np.ones(len(target.y)) if target.weights is None else target.weights
    weights = _of_mean_one(weights)
    members: list[One] = []
    votes: list[float] = []
    for _ in range(n_members):
        member = train_one(template, X, replace(target, weights=weights), random.randint(_MAX_SEED))
        wrong = np.argmax(member.values(X), axis=1) != target.y
        error = float(weights[wrong].sum() / weights.sum())
        if error <= _CLOSE or error >= 0.5 - _CLOSE:
            if not members:
                members, votes = [member], [1.0]
            break
        members.append(member)
        factor = (1.0 - error) / error
        votes.append(float(np.log(factor)))
        weights = _of_mean_one(np.where(wrong, weights * factor, weights))
    return Boosted(tuple(members), tuple(votes))


def _of_mean_one(weights: Values) -> Values:
    """Return weights scaled so that those of rows which have any are one on average."""
    return weights / weights.max() * (np.count_nonzero(weights) / (weights / weights.max()).sum())


def check_weighable(template: Any, why: str) -> None:
    """Refuse a learner that takes no weights where they are needed."""
    if not has_fit_parameter(template, "sample_weight"):
        raise ValueError(
            f"{type(template).__name__} takes no sample_weight, but {why}; choose another learner."
        )


def make_learner(ensemble: Any, method: str | None, n_members: int, n_rows: int) -> Any:
    """Return the learner that runs train copies of: the ensemble's own estimator, or trees."""
    if ensemble.estimator is not None:
        return ensemble.estimator
    classifies = is_classifier(ensemble)
    limits: dict[str, Any] = {name: getattr(ensemble, name) for name in _LIMITS}
    forest = method in ("random_forest", "constructive_forest")
    if ensemble.min_samples_leaf is None:
        limits["min_samples_leaf"] = 1 if forest else _LEAF_ROWS
        if method == "adaboost" and not ensemble.min_weight_fraction_leaf:
            # As in C4.5, two rows by their weight: leaves of rows that count for little would
            # remember them, and the votes of such trees err more.
            limits["min_samples_leaf"] = 1
            limits["min_weight_fraction_leaf"] = min(_LEAF_ROWS / n_rows, 0.5)
    if ensemble.criterion is None and classifies:
        limits["criterion"] = "entropy"
    limits["search"] = "random" if method == "constructive_forest" else None
    if forest or method == "bagging":
        if method == "bagging" and ensemble.max_features is None:
            limits["max_features"] = "all"
        family = ConstructiveForestClassifier if classifies else ConstructiveForestRegressor
        return family(n_members, oob_score=bool(ensemble.oob_score), **limits)
    return (ConstructiveTreeClassifier if classifies else ConstructiveTreeRegressor)(**limits)


@dataclass(frozen=True, eq=False)
class Base:
    """The columns that kernel features are put beside.

    For our own learners they are the table as it came, labels and missing values included; for
    others the points that the kernel sees, which have neither.
    """

    schema: Schema
    places: PointMap | None

    def read(self, matrix: Any) -> Any:
        """Return the columns of encoded rows; sparse rows stay sparse."""
        if self.n_columns == 0:  # objects, or similarities alone
            return np.empty((n_rows_of(matrix), 0), np.float32)
        return matrix.astype(np.float32) if self.places is None else self.places.points(matrix)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.schema.n_columns if self.places is None else self.places.n_coordinates

    def sources(self) -> Rows:
        """Return the column of the table that each column comes from."""
        if self.places is None:
            return np.arange(self.schema.n_columns)
        labels = [np.full(n_levels, column) for column, n_levels in self.places.labels]
        return np.concatenate([self.places.numbers, *labels]).astype(np.int64)

    def table(self, columns: Any, chosen: Rows, features: Matrix) -> Any:
        """Return some columns and the kernel features side by side, as members take them."""
        width = len(chosen)
        joint = np.empty((len(features), width + features.shape[1]), columns.dtype)
        picked = columns if width == columns.shape[1] else columns[:, chosen]
        joint[:, :width] = picked.toarray() if is_sparse(picked) else picked
        joint[:, width:] = features
        if self.places is not None:
            return joint
        schema = self.schema
        names = [f"landmark {k}" for k in range(features.shape[1])]
        extended = replace(
            schema,
            names=(*(schema.names[k] for k in chosen), *names),
            domains=np.append(schema.domains[chosen], [Domain.REAL] * len(names)),
            levels=(*(schema.levels[k] for k in chosen), *(None for _ in names)),
        )
        return EncodedTable(joint, extended)


@dataclass(frozen=True, eq=False)
class Run:
    """One trained run: the columns it sees besides its kernel features, and what it trained."""

    columns: Rows
    member: Member


@dataclass(frozen=True, eq=False)
class Trainer:
    """What the runs of an ensemble have in common.

    Attributes
    ----------
    base : Base
        The columns beside the kernel features.
    matrix : ndarray, CSR matrix or sequence of objects
        The encoded rows.
    columns : ndarray or CSR matrix
        `base.read(matrix)`; made anew in other processes.
    learner : estimator
        What a run trains copies of.
    target : TrainingTarget
        What they learn.
    method : str or None
        One of `METHODS`.
    n_members : int
        Learners of a run.
    oob_score : bool
        Whether rows are predicted by the learners that did not see them.
    own_trees : bool
        Whether members are our own trees rather than the user's estimator. Matrix products then
        keep to one thread, and a forest is a bag by itself.
    """

    base: Base
    matrix: Any
    columns: Any
    learner: Any
    target: TrainingTarget
    method: str | None
    n_members: int
    oob_score: bool
    own_trees: bool

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "columns": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["columns"] = self.base.read(self.matrix)

    def train(self, features: LandmarkMap, picked: Rows, seed: int) -> tuple[Run, Values | None]:
        """Train a run; return it and the predictions of rows that its learners did not see."""
        table = self.base.table(self.columns, picked, features.columns(self.matrix))
        member: Member
        if self.method == "adaboost":
            member = train_boosted(self.learner, table, self.target, seed, self.n_members)
        elif self.method == "bagging" and not self.own_trees:
            member = train_bag(self.learner, table, self.target, seed, self.n_members)
        else:
            member = train_one(self.learner, table, self.target, seed)
        if not self.oob_score:
            return Run(picked, member), None
        return Run(picked, member), predict_out_of_bag(member, table, self.target, seed)

    def train_apart(
        self, run: tuple[LandmarkMap, Rows, int], seconds: float | None
    ) -> tuple[Run, Values | None]:
        """Train a run in another process; there is no deadline."""
        with one_blas_thread() if self.own_trees else nullcontext():
            return self.train(*run)


def n_runs_and_members(method: str | None, n_estimators: int, n_runs: int | None) -> list[int]:
    """Return the number of runs and of learners in each: about as many runs as learners."""
    if method in ONE_BY_ONE:
        return [n_estimators, 1]
    # The whole number next to the square root.
    runs = isqrt(n_estimators + isqrt(n_estimators)) if n_runs is None else n_runs
    return [runs, max(1, n_estimators // runs)]


def average_runs(
    runs: tuple[Run, ...], features: LandmarkMap, base: Base, matrix: Any, n_jobs: int | None
) -> Values:
    """Return the mean prediction of all runs, computed some rows at a time.

    Parameters
    ----------
    runs : tuple of Run
        The trained runs.
    features : LandmarkMap
        The landmarks of all runs, those of the first run first.
    base : Base
        The columns beside them.
    matrix : ndarray or CSR matrix of n_rows rows
        The encoded rows.
    n_jobs : int or None
        Threads.
    """
    n_rows, n_landmarks = n_rows_of(matrix), features.n_landmarks // len(runs)
    chunk = int(np.clip(_MAX_SIMILARITIES // max(1, features.n_landmarks), BLOCK, 8 * BLOCK))
    known = features.columns(matrix) if features.sees_all_rows else None

    def predict(first: int, last: int) -> Values:
        rows = matrix[first:last]
        columns = base.read(rows)
        similarities = features.columns(rows) if known is None else known[first:last]
        total: Any = 0.0
        for k, run in enumerate(runs):
            own = similarities[:, k * n_landmarks : (k + 1) * n_landmarks]
            values = run.member.values(base.table(columns, run.columns, own)) / len(runs)
            total = values if k == 0 else total + values
        return total

    def work(first: int, last: int) -> list[Values]:
        return [predict(k, min(k + chunk, last)) for k in range(first, last, chunk)]

    threads = min(local_threads(n_jobs), -(-n_rows // BLOCK))
    edges = np.linspace(0, n_rows, threads + 1).astype(np.int64)
    parts = run_in_threads([partial(work, int(a), int(b)) for a, b in pairwise(edges)], threads)
    return np.concatenate([values for part in parts for values in part or ()])


def share_importances(runs: tuple[Run, ...], base: Base) -> Values | None:
    """Return the mean importance of each column of the table, and that of all kernel features last.

    None where a learner does not tell the importance of its columns.
    """
    total = np.zeros(base.schema.n_columns + 1)
    sources = base.sources()
    for run in runs:
        learners = run.member.learners
        if not all(hasattr(learner, "feature_importances_") for learner in learners):
            return None
        own = np.mean([learner.feature_importances_ for learner in learners], axis=0)
        n_columns = len(run.columns)
        np.add.at(total, sources[run.columns], own[:n_columns] / len(runs))
        total[-1] += own[n_columns:].sum() / len(runs)
    return total
