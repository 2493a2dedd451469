"""The rule for rows whose tested value is missing, shared by all scoring functions.

While candidates are compared, rows with a missing value are left out of the score. Then they join
the side on which the whole split scores better, or, if that scores better still, they are separated
from all known rows by a split of its own, whose threshold is `criteria.MISSING_ALONE`.
"""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import kernel
from featurewright.engine.criteria import score_boundaries

_ONE = np.float32(1.0)


@kernel(inline=True)
def missing_goes_left(score_right, score_left):
    """Whether missing rows join the left side, given the scores with them on each side."""
    return score_left > score_right


@kernel(inline=True)
def missing_stands_alone(score_alone, score_right, score_left):
    """Whether separating missing from known rows scores higher than joining either side."""
    return score_alone > max(score_right, score_left)


@kernel(inline=True)
def score_with_missing(rows, n_stats, criterion, l2, left, total, scores):
    """Score a split of the known rows on all rows, with the missing ones on either side.

    Column 0 of `left` has the sums left of the split and `total` those of all known rows. The
    result is scores[0] for missing rows on the right and scores[1] for missing rows on the left.
    """
    for p in range(n_stats + 1):
        left[p, 1] = left[p, 0] + (rows.totals[p] - total[p])
        total[p] = rows.totals[p]
    score_boundaries(left, total, n_stats, np.int64(2), criterion, l2, _ONE, scores)
