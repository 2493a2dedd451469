"""What one run of an ensemble trains: one learner, a bag of them, or AdaBoost.M1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

Values = NDArray[np.float64]
_MAX_SEED = np.iinfo(np.int32).max
# A learner that comes back unchanged has an error of exactly a half; rounding must not decide.
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Lesson:
    """What members learn: codes of classes or numbers, and how much each row counts."""

    y: NDArray[Any]
    weights: Values | None
    n_classes: int  # 0 for numbers

    def of(self, rows: NDArray[np.int64]) -> Lesson:
        """Give the lesson of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, y=self.y[rows], weights=weights)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that count."""
        if self.weights is None:
            return np.arange(len(self.y))
        return np.flatnonzero(self.weights > 0)


class Member(Protocol):
    """Something trained that answers for rows: shares of classes, or one column of numbers."""

    @property
    def learners(self) -> tuple[Any, ...]:
        """The fitted learners."""

    def values(self, X: Any) -> Values:
        """Answer for the rows of a table."""


@dataclass(frozen=True, eq=False)
class One:
    """A single learner, which may be an ensemble of its own; with no classes, a regressor."""

    learner: Any
    n_classes: int

    @property
    def learners(self) -> tuple[Any, ...]:
        """The learner alone."""
        return (self.learner,)

    def values(self, X: Any) -> Values:
        """Give its probabilities, its votes if it has none, or its predictions."""
        if self.n_classes == 0:
            return np.asarray(self.learner.predict(X), dtype=np.float64).reshape(-1, 1)
        if not hasattr(self.learner, "predict_proba"):
            return np.eye(self.n_classes)[self.learner.predict(X)]
        shares = self.learner.predict_proba(X)
        if len(self.learner.classes_) == self.n_classes:
            return np.asarray(shares, dtype=np.float64)
        values = np.zeros((len(shares), self.n_classes))  # it may not have seen every class
        values[:, self.learner.classes_] = shares
        return values


@dataclass(frozen=True, eq=False)
class Several:
    """Learners that answer together."""

    members: tuple[One, ...]

    @property
    def learners(self) -> tuple[Any, ...]:
        """The learners in the order in which they were trained."""
        return tuple(member.learner for member in self.members)


@dataclass(frozen=True, eq=False)
class Bag(Several):
    """Learners that saw different rows; their answers are averaged."""

    def values(self, X: Any) -> Values:
        """Average the answers."""
        total = self.members[0].values(X) / len(self.members)
        for member in self.members[1:]:
            total += member.values(X) / len(self.members)
        return total


@dataclass(frozen=True, eq=False)
class Boosted(Several):
    """AdaBoost.M1: each learner votes with the weight of its accuracy."""

    weights: tuple[float, ...]

    def values(self, X: Any) -> Values:
        """Give each class its share of the votes; a single learner answers for itself."""
        if len(self.members) == 1:
            return self.members[0].values(X)
        total = sum(self.weights)
        n_classes = self.members[0].n_classes
        values = np.zeros((X.shape[0], n_classes))
        for member, weight in zip(self.members, self.weights, strict=True):
            choice = np.argmax(member.values(X), axis=1)
            values[np.arange(len(values)), choice] += weight / total
        return values


def train_one(template: Any, X: Any, lesson: Lesson, seed: int) -> One:
    """Train a copy of a learner, with its own seed."""
    learner = clone(template)
    names = [
        name
        for name in learner.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    learner.set_params(**dict.fromkeys(names, int(seed)))
    if lesson.weights is None:
        learner.fit(X, lesson.y)
    else:
        learner.fit(X, lesson.y, sample_weight=lesson.weights)
    return One(learner, lesson.n_classes)


def train_bag(template: Any, X: NDArray[Any], lesson: Lesson, seed: int, n_members: int) -> Bag:
    """Train copies of a learner on rows drawn with replacement."""
    random = RandomState(seed)
    rows = lesson.rows
    members = []
    for _ in range(n_members):
        drawn = rows[random.randint(len(rows), size=len(rows))]
        own = random.randint(_MAX_SEED)
        members.append(train_one(template, X[drawn], lesson.of(drawn), own))
    return Bag(tuple(members))


def train_boosted(template: Any, X: Any, lesson: Lesson, seed: int, n_members: int) -> Boosted:
    """Train by AdaBoost.M1 (Freund and Schapire).

    A learner with the weighted error e multiplies the weights of the rows it has wrong by
    (1 - e) / e and votes with the logarithm of that. Boosting ends at a learner that has nothing
    wrong, or half and more; such a one counts only where it is the first.
    """
    random = RandomState(seed)
    weights = np.ones(len(lesson.y)) if lesson.weights is None else lesson.weights
    weights = _of_mean_one(weights)
    members: list[One] = []
    votes: list[float] = []
    for _ in range(n_members):
        member = train_one(template, X, replace(lesson, weights=weights), random.randint(_MAX_SEED))
        wrong = np.argmax(member.values(X), axis=1) != lesson.y
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
    """Scale weights so that the rows which have any count as one on average."""
    return weights / weights.max() * (np.count_nonzero(weights) / (weights / weights.max()).sum())


def check_weighable(template: Any, why: str) -> None:
    """Refuse a learner that takes no weights where they are needed."""
    if not has_fit_parameter(template, "sample_weight"):
        raise ValueError(
            f"{type(template).__name__} takes no sample_weight, but {why}; choose another learner."
        )
