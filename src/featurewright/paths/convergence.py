"""How many trees are enough: grow on until the kernel matrix of held-out rows stands still."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.paths.trails import Trails

MAX_HELD_OUT = 1_000  # rows whose kernel matrix is watched
LEAST_ROWS = 4


def hold_out(
    weights: npt.NDArray[np.float32], share: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Draw the rows to watch; give them and the weights of the others, theirs being zero."""
    rows = np.flatnonzero(weights > 0)
    if len(rows) < LEAST_ROWS:
        raise ValueError(
            f'n_estimators="auto" holds rows out and needs at least {LEAST_ROWS}, but there are '
            f"{len(rows)}: pass a number of trees."
        )
    count = int(np.clip(round(share * len(rows)), 2, min(MAX_HELD_OUT, len(rows) - 2)))
    held = np.sort(np.random.RandomState(seed).permutation(rows)[:count])
    rest = weights.copy()
    rest[held] = 0.0
    return held, rest


class Convergence:
    """The kernel matrix of held-out rows, to which trees are added, and how much it moved."""

    def __init__(self, matrix: npt.NDArray[np.float32]) -> None:
        self.matrix = matrix
        self.shared: Any = 0.0
        self.n_trees = 0
        self.history: list[dict[str, float]] = []
        self._before: npt.NDArray[np.float64] | None = None

    def add(self, trails: Trails) -> float:
        """Add trees; give the mean change of an element, infinite for the first ones."""
        self.shared = self.shared + trails.share(self.matrix, None, "path", normalize=False)
        self.n_trees += trails.forest.n_trees
        own = np.diagonal(self.shared)
        now = self.shared / np.sqrt(own[:, None] * own[None, :])
        change = np.inf
        if self._before is not None:
            change = float(np.abs(now - self._before).mean())
            self.history.append({"n_trees": self.n_trees, "change": change})
        self._before = now
        return change
