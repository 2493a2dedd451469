"""What boosting decides by the rows: defaults where they are few, and how large trees should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

EARLY_ROWS = 10_000
"""From here on, early_stopping="auto" holds rows out, as scikit-learn does. Fewer are all needed to
learn from: then many small steps of small trees follow, until no test of the first node gains more
than chance would. benchmarks/small_tables.py measures these numbers."""

MOST_LEAVES = 31
_NUMBER_ROUNDS, _CLASS_ROUNDS = 600, 300

# Small trials on rows that are held out.
PILOT_ROUNDS, PILOT_RATE = 100, 0.1
_LEAVES = (8, 16, 31)  # of additive curves few are best, of tables with little noise many
_N_PARTS = 3  # of the rows: each in turn is held out
_FEW_ROWS, _LEAST_ROWS = 2_000, 60  # with more rows one part is enough, with fewer none


@dataclass(frozen=True)
class FewRows:
    """Defaults for fewer than `EARLY_ROWS` rows; labels are noisier than numbers."""

    n_rounds: int
    least_leaves: int
    rows_of_a_leaf: int  # rows for each leaf, of all trees of a round together
    leaf_rows: int  # rows on each side of a split
    f_per_log: float  # F to enter over the logarithm of the number of candidates, of very few rows

    def n_leaves(self, n_rows: int, n_trees: int) -> int:
        """Return the most leaves of each of the trees of a round."""
        return min(MOST_LEAVES, max(self.least_leaves, n_rows // self.rows_of_a_leaf // n_trees))

    def f_to_enter(self, n_rows: int, n_candidates: int) -> float:
        """Return the F statistic that a split needs; what it guards against shrinks with rows."""
        return self.f_per_log * log(n_candidates) * (1.0 - n_rows / EARLY_ROWS)


CLASSES = FewRows(_CLASS_ROUNDS, 8, 100, 20, 1.8)
NUMBERS = FewRows(_NUMBER_ROUNDS, 12, 40, 5, 0.35)


def choose_leaves(rows: Rows, seed: int, loss_of: Callable[[Rows, Rows, int], float]) -> int | None:
    """Return the number of leaves whose trees err least on held-out rows; None with few rows.

    Parameters
    ----------
    rows : ndarray of int
        The rows to learn from.
    seed : int
        Seed of the parts.
    loss_of : callable
        Takes rows to grow on, rows to hold out and a number of leaves; returns the held-out loss.
    """
    if len(rows) < _LEAST_ROWS:
        return None
    parts = np.array_split(np.random.default_rng(seed).permutation(rows), _N_PARTS)
    held_out = [np.sort(part) for part in parts[: 1 if len(rows) >= _FEW_ROWS else _N_PARTS]]
    losses = [
        np.mean([loss_of(np.setdiff1d(rows, held), held, leaves) for held in held_out])
        for leaves in _LEAVES
    ]
    return _LEAVES[int(np.argmin(losses))]
