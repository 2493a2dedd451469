"""The number of landmarks and the width of the kernel, chosen on rows that were held out."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone

from featurewright.landmarks.inputs import take
from featurewright.landmarks.runs import TrainingTarget, Values
from featurewright.landmarks.selection import draw_rows, plan_landmarks
from featurewright.tables import Schema

# The numbers of landmarks that the publication compares, and widths beside the median one. The
# first of each is what stands unless another one is better.
LANDMARK_GRID = (10, 50, 100)
WIDTH_GRID = (1.0, 0.25, 4.0, 0.0625, 16.0)
HELD_OUT = 3  # one row of this many is held out
MAX_ROWS = 3000  # rows that the choice looks at
MAX_MEMBERS = 49  # members of an ensemble that is compared


class Chosen(NamedTuple):
    """What was chosen, and whether columns are scaled where the width belongs to that."""

    n_landmarks: int
    width: float | None
    scale: bool | str


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the rows."""
    return isinstance(value, str) and value == "auto"


def choose(
    learner: Any,
    matrix: Any,
    schema: Schema,
    target: TrainingTarget,
    codes: NDArray[np.integer],
    *,
    random: RandomState,
) -> Chosen:
    """Compare the grid of what is "auto" on held-out rows.

    A third of the rows, of at most 3000, is held out; a small ensemble is trained on the others for
    each point of the grid. Another point than the first is chosen where its squared error is lower
    by more than the standard error of the difference, and then the best one.

    Parameters
    ----------
    learner : KernelFeatureEnsemble
        The ensemble, whose other parameters count.
    matrix, schema : ndarray or CSR matrix, Schema
        The training rows.
    target : TrainingTarget
        What is predicted.
    codes : ndarray of int
        Classes or slices of the rows, for landmarks by class.
    random : RandomState
        The seed's numbers.
    """
    rows = target.rows
    rows = draw_rows(rows, min(MAX_ROWS, len(rows)), random)
    held_out, kept = np.sort(rows[: len(rows) // HELD_OUT]), np.sort(rows[len(rows) // HELD_OUT :])
    seed = random.randint(np.iinfo(np.int32).max)
    small = clone(learner).set_params(
        n_estimators=min(MAX_MEMBERS, learner.n_estimators),
        n_runs=None,
        random_state=seed,
        oob_score=False,
        verbose=0,
    )
    own = take(matrix, kept, learner)
    widths: list[float | None] = [learner.width]
    if is_auto(learner.width):
        widths = _compared_widths(small, own, schema, len(kept))
    numbers = [learner.n_landmarks]
    if is_auto(learner.n_landmarks):
        numbers = [number for number in LANDMARK_GRID if number <= len(kept)] or [LANDMARK_GRID[0]]
    grid = list(product(numbers, widths))
    if len(grid) == 1 or len(held_out) < 2:
        return Chosen(*grid[0], small.scale)
    losses = []
    for n_landmarks, width in grid:
        small.set_params(n_landmarks=n_landmarks, width=width)
        small._train(own, schema, target.of(kept), codes[kept])
        found = small._predict_rows(take(matrix, held_out, learner, kept))
        losses.append(row_losses(found, target.of(held_out)))
    best = best_place(np.array(losses), target.of(held_out).weights)
    return Chosen(*grid[best], small.scale)


def _compared_widths(small: Any, rows: Any, schema: Schema, n_rows: int) -> list[float | None]:
    """Return multiples of the median squared distance, and settle the scale that they have."""
    median = clone(small).set_params(width=None, n_landmarks=0, landmarks="random")
    plan = plan_landmarks(
        median, rows, schema, np.arange(n_rows), None, random=RandomState(small.random_state)
    )
    scaled = plan.places is not None and bool(np.any(plan.places.scale != 1.0))
    small.set_params(scale=scaled)
    return [float(plan.similarity.width or 1.0) * factor for factor in WIDTH_GRID]


def row_losses(found: Values, target: TrainingTarget) -> Values:
    """Return each row's squared error: of probabilities, or of numbers on the scale of each."""
    if target.n_classes == 0:
        truth = target.y.reshape(len(found), -1)
        spread = np.where(truth.std(axis=0) > 0, truth.std(axis=0), 1.0)
        found, truth = found / spread, truth / spread
    elif isinstance(target.n_classes, tuple):
        columns = zip(target.n_classes, target.y.T, strict=True)
        truth = np.hstack([np.eye(n)[column] for n, column in columns])
    else:
        truth = np.eye(target.n_classes)[target.y]
    return np.asarray(((found - truth) ** 2).sum(axis=1))


def best_place(losses: Values, weights: Values | None) -> int:
    """Return the best of several rows of losses; the first unless another is clearly better.

    Examples
    --------
    >>> best_place(np.array([[1.0, 1.0, 2.0], [0.5, 1.4, 2.0], [0.0, 0.1, 0.9]]), None)
    2
    """
    means = np.average(losses, axis=1, weights=weights)
    best = int(np.argmin(means))
    gain = losses[0] - losses[best]
    mean = np.average(gain, weights=weights)
    error = np.sqrt(np.average((gain - mean) ** 2, weights=weights) / max(1, len(gain) - 1))
    return best if mean > error else 0
