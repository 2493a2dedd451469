"""Defaults of boosting for few rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

EARLY_ROWS = 10_000
"""From here on, early_stopping="auto" holds rows out, as scikit-learn does. Fewer are all needed to
learn from: then many small steps of small trees follow, until no test of the first node gains more
than chance would. benchmarks/small_tables.py measures these numbers."""

MOST_LEAVES = 31
_NUMBER_ROUNDS, _CLASS_ROUNDS = 600, 300


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
