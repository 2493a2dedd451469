"""Score many given programs on the same rows, as a root that has one candidate would."""

from __future__ import annotations

import numpy as np

from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.criteria import MISSING_ALONE, WORST
from featurewright.engine.search import FROM_VALUES, REFINE


@kernel
def score_programs(context, programs, n, n_stats, refines, scores):
    """Score each program by itself; a non-zero `stop[0]` leaves the rest without a score.

    Only the columns that a program names are looked at, a part of the rows at a time: the rows
    must be prepared in `context.rows`, and no array is as wide as the table. Where it `refines`,
    thresholds are looked for ever closer, since bins are coarse.
    """
    zero = np.int64(0)
    settings, state, candidate_scores = (
        context.settings,
        context.state,
        context.buffers.candidate_scores,
    )
    for k in range(programs.shape[0]):
        scores[k] = WORST
        if context.stop[0] != 0:
            continue
        state.best_score = WORST  # the score must not depend on other candidates
        state.best_perfect = 0
        call_kernel(settings.runner, (context, programs, k, zero, n))
        call_kernel(settings.scorer, (context, programs, k, zero, FROM_VALUES, n, n_stats))
        known = state.best_score > WORST and state.best_threshold != MISSING_ALONE
        if refines and known and not state.best_is_level:
            call_kernel(settings.scorer, (context, programs, k, zero, REFINE, n, n_stats))
        scores[k] = max(candidate_scores.scores[0], state.best_score)
