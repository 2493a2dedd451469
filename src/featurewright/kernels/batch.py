"""Score many given programs on the same rows, as a root that has one candidate would."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.criteria import WORST
from featurewright.kernels.jit import call_kernel, kernel
from featurewright.kernels.search import FROM_VALUES


@kernel
def score_programs(
    programs, columns, row_ids, n, n_stats, settings, n_levels, users, shop, state, stop, scores
):
    """Score each program by itself; a non-zero `stop[0]` leaves the rest without a score.

    Only the columns that a program names are looked at, a part of the rows at a time: the rows
    must be prepared in the workshop, and no array is as wide as the table.
    """
    zero = np.int64(0)
    for k in range(programs.shape[0]):
        scores[k] = WORST
        if stop[0] != 0:
            continue
        state.best_score = WORST  # the score must not depend on other candidates
        state.best_perfect = 0
        call_kernel(settings.runner, (programs, k, columns, row_ids, zero, n, users, shop.desk))
        call_kernel(
            settings.scorer,
            (
                programs,
                k,
                zero,
                FROM_VALUES,
                shop.rows,
                n,
                n_stats,
                settings,
                n_levels,
                users,
                shop.tally,
                shop.bench,
                shop.desk,
                shop.buffer,
                state,
            ),
        )
        scores[k] = shop.tally.scores[0]
