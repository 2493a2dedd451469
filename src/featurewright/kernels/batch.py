"""Score many given programs on the same rows, as a root that has one candidate would."""

from __future__ import annotations

import numpy as np

from featurewright.kernels.criteria import APART, WORST
from featurewright.kernels.jit import call_kernel, kernel, share
from featurewright.kernels.search import FROM_VALUES, REFINE


@kernel
def score_programs(content, programs, n, n_stats, refines, stop, scores):
    """Score each program by itself; a non-zero `stop[0]` leaves the rest without a score.

    Only the columns that a program names are looked at, a part of the rows at a time: the rows
    must be prepared in the workshop, and no array is as wide as the table. Where it `refines`,
    thresholds are looked for ever closer, since bins are coarse.
    """
    work, zero = share(content), np.int64(0)
    settings, state, tally = content.settings, content.state, content.shop.tally
    for k in range(programs.shape[0]):
        scores[k] = WORST
        if stop[0] != 0:
            continue
        state.best_score = WORST  # the score must not depend on other candidates
        state.best_perfect = 0
        call_kernel(settings.runner, (work, programs, k, zero, n))
        call_kernel(settings.scorer, (work, programs, k, zero, FROM_VALUES, n, n_stats))
        known = state.best_score > WORST and state.best_threshold != APART
        if refines and known and not state.best_is_level:
            call_kernel(settings.scorer, (work, programs, k, zero, REFINE, n, n_stats))
        scores[k] = max(tally.scores[0], state.best_score)
