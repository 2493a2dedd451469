"""From the parameters of an estimator and its training table to sets of landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from featurewright.estimators.parameters import check_jobs, flag, one_of, whole_number
from featurewright.estimators.points import Matrix
from featurewright.landmarks.choice import CHOICES, LandmarkChoice, Rows, draw_rows
from featurewright.landmarks.points import PointMap, learn_map
from featurewright.landmarks.similarity import (
    WIDTH_ROWS,
    LandmarkMap,
    Similarity,
    check_similarity,
    make_similarity,
)
from featurewright.tables import Schema


@dataclass(frozen=True, eq=False)
class LandmarkPlan:
    """What all sets of landmarks of a fit share."""

    places: PointMap
    similarity: Similarity
    choice: LandmarkChoice

    def draw(self, matrix: Matrix, random: RandomState) -> tuple[Rows, LandmarkMap]:
        """Draw a set of landmarks: their row numbers, and what computes their columns."""
        rows = self.choice.draw(random)
        return rows, LandmarkMap(self.places, self.similarity, self.places.points(matrix[rows]))


def check_landmarks(learner: Any, *, least: int) -> None:
    """Refuse parameters that make no sense, before any work."""
    whole_number("n_landmarks", learner.n_landmarks, least)
    flag("scale", learner.scale)
    flag("batched", learner.batched)
    one_of("landmarks", learner.landmarks, CHOICES)
    check_similarity(learner)
    check_jobs(learner.n_jobs)


def plan_landmarks(
    learner: Any,
    matrix: Matrix,
    schema: Schema,
    rows: Rows,
    codes: NDArray[np.integer] | None,
    *,
    random: RandomState,
) -> LandmarkPlan:
    """Learn from the rows that have weight what does not change from set to set."""
    used = matrix if len(rows) == len(matrix) else matrix[rows]
    places = learn_map(used, schema, scale=bool(learner.scale))
    sample = draw_rows(rows, min(WIDTH_ROWS, len(rows)), random)
    similarity = make_similarity(learner, places.points(matrix[sample]))
    choice = LandmarkChoice(
        learner.landmarks,
        learner.n_landmarks,
        rows,
        codes,
        lambda some: places.points(matrix[some]),
    )
    return LandmarkPlan(places, similarity, choice)
