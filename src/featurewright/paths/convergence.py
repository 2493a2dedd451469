"""Find the number of trees after which the kernel of held-out rows hardly changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.paths.kernel import ForestPaths

MAX_HELD_OUT = 1_000  # rows whose kernel matrix is compared
_LEAST_ROWS = 4


def hold_out(
    weights: npt.NDArray[np.float32],
    share: float,
    seed: int,
    groups: npt.NDArray[Any] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return rows drawn to be held out, and the weights with zeros for them.

    The rows of a group are held out together: all of them have no weight, and of more than can be
    compared some are returned.
    """
    rows = np.flatnonzero(weights > 0)
    if len(rows) < _LEAST_ROWS:
        raise ValueError(
            f'n_estimators="auto" holds rows out and needs at least {_LEAST_ROWS}, but there are '
            f"{len(rows)}: pass a number of trees."
        )
    count = int(np.clip(round(share * len(rows)), 2, min(MAX_HELD_OUT, len(rows) - 2)))
    random = np.random.RandomState(seed)
    if groups is None:
        out = held = np.sort(random.permutation(rows)[:count])
    else:
        _, codes, sizes = np.unique(groups[rows], return_inverse=True, return_counts=True)
        if len(sizes) < 2:
            raise ValueError(
                'n_estimators="auto" holds out the rows of whole groups, but all rows are of one '
                "group: pass a number of trees."
            )
        order = random.permutation(len(sizes))
        n_groups = int(np.searchsorted(np.cumsum(sizes[order]), count)) + 1
        chosen = order[: min(n_groups, len(sizes) - 1)]
        out = rows[np.isin(codes, chosen)]
        held = np.sort(random.permutation(out)[:MAX_HELD_OUT])
    rest = weights.copy()
    rest[out] = 0.0
    return held, rest


class Convergence:
    """The kernel matrix of held-out rows as trees are added, and how much it changes."""

    def __init__(self, matrix: npt.NDArray[np.float32]) -> None:
        self.matrix = matrix
        self.shared: Any = 0.0
        self.n_trees = 0
        self.history: list[dict[str, float]] = []
        self._before: npt.NDArray[np.float64] | None = None

    def add(self, paths: ForestPaths) -> float:
        """Add trees; return the mean change of an element, infinite for the first trees."""
        self.shared = self.shared + paths.share(self.matrix, None, "path", normalize=False)
        self.n_trees += paths.forest.n_trees
        own = np.diagonal(self.shared)
        now = self.shared / np.sqrt(own[:, None] * own[None, :])
        change = np.inf
        if self._before is not None:
            change = float(np.abs(now - self._before).mean())
            self.history.append({"n_trees": self.n_trees, "change": change})
        self._before = now
        return change
