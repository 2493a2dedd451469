"""Search a node's candidates: expressions by a Monte Carlo strategy, and raw columns."""

from __future__ import annotations

import numpy as np

from featurewright.engine.buffers import LOOK_AHEAD
from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.criteria import MISSING_ALONE, ROUNDING, WORST
from featurewright.engine.grammar import complete, fingerprint, take_choice
from featurewright.engine.level_sets import IN_SET
from featurewright.engine.programs import IN_BUFFER, gather
from featurewright.engine.random import draw_below
from featurewright.engine.split import refine_threshold, score_at, score_values
from featurewright.expressions import opcodes as op

# Flags of how a candidate is scored.
FROM_VALUES = np.int64(0)
FROM_BUFFER = np.int64(1)
SAME_THRESHOLD = np.int64(2)
REFINE = np.int64(4)
RAW = np.int64(8)  # a raw column, compared by many thresholds: there are few of them


@kernel(inline=True)
def forget_programs(seen, state):
    """Clear the hash table of programs."""
    for place in range(np.uint64(seen.shape[0])):
        seen[place] = np.uint64(0)
    state.remembered = 0


@kernel(inline=True)
def seen_before(seen, key, state):
    """Whether a program was scored at this node before; insert it if not."""
    key = key | np.uint64(1)  # 0 marks an empty entry
    mask = np.uint64(seen.shape[0] - 1)
    place = (key >> np.uint64(20)) & mask
    while seen[place] != np.uint64(0):
        if seen[place] == key:
            return True
        place = (place + np.uint64(1)) & mask
    seen[place] = key
    state.remembered += 1
    return False


@kernel(inline=True)
def copy_program(source, i, target, k, length):
    """Copy the first symbols of one program to another."""
    for d in range(length):
        target[k, d] = source[i, d]


@kernel(inline=True)
def keep_if_best(programs, k, score, threshold, is_level, best, state):
    """Make a candidate the node's best if it scores higher by more than rounding.

    Candidates that split the rows in the same way, up to exchanged sides, tie: the first stays.
    """
    better = score > state.best_score + ROUNDING * abs(state.best_score)
    if better or (state.best_score == WORST and score > WORST):
        state.best_score = score
        state.best_threshold = threshold
        state.best_is_level = is_level
        state.best_perfect = state.perfect
        state.best_few_thresholds = state.few_thresholds
        copy_program(programs, k, best, 0, programs.shape[1])


@kernel(inline=True)
def record_score(programs, p, k, score, is_level, candidate_scores, state):
    """Record the score of program p as the node's k-th candidate, and keep it if it is the best."""
    candidate_scores.scores[k] = score
    candidate_scores.thresholds[k] = state.threshold
    state.scored += 1
    tests_level = is_level if state.threshold != MISSING_ALONE else np.int64(0)
    keep_if_best(programs, p, score, state.threshold, tests_level, candidate_scores.best, state)


@kernel(inline=True)
def levels_of(programs, k, n_levels):
    """Return the number of levels if a program is a single Category column, else 0."""
    if programs.shape[1] == 1 or programs[k, 1] == op.END:
        return n_levels[programs[k, 0]]
    return np.int64(0)


@kernel(inline=True)
def spent(budget, state):
    """Whether the search is over: budget spent, too many draws, or a perfect split."""
    return state.scored >= budget or state.tries >= 64 * budget + 64 or state.best_perfect != 0


@kernel
def write_candidate(k, d, which, settings, grammar, candidates, state):
    """Complete a candidate randomly from its first d symbols; return its length.

    With `look_ahead` the next symbol is the valid one of index `which`.
    """
    programs = candidates.programs
    if settings.strategy == LOOK_AHEAD:
        choice = grammar.start[state.grammar_state] + which
        symbol = take_choice(grammar, choice, programs, k, d, state)
        if symbol == op.END:
            for rest in range(d, programs.shape[1]):
                programs[k, rest] = op.END
            return d
        candidates.visited[k, d] = state.grammar_state
        d += 1
    return complete(grammar, programs, candidates.visited, k, d, state)


@kernel
def score_candidate(context, programs, p, k, how, n, n_stats):
    """Score program p as the node's k-th candidate, and keep it if it is the best.

    `how` has the flag FROM_BUFFER if the rows' columns are in the buffer; else the program's values
    are in `evaluation.values`. SAME_THRESHOLD scores the threshold that the candidate had before.
    REFINE improves the threshold of the best candidate instead. Other kernels call this one by
    address.
    """
    rows, settings, state = context.rows, context.settings, context.state
    candidate_scores, scratch, evaluation, buffer = (
        context.buffers.candidate_scores,
        context.buffers.scratch,
        context.buffers.evaluation,
        context.buffers.buffer,
    )
    n_levels = context.grammar.n_levels
    row = np.int64(0)
    levels = levels_of(programs, p, n_levels)
    is_level = np.int64(levels > 0)
    state.many_thresholds = settings.many_thresholds | np.int64((how & RAW) != 0)
    state.is_set = 0
    if how & REFINE:
        refine_threshold(evaluation.values, rows, n, n_stats, settings, scratch, state)
        return
    if how & FROM_BUFFER:
        call_kernel(settings.runner, (context, programs, p, IN_BUFFER, n))
        row = state.values_row
    values = buffer if how & FROM_BUFFER else evaluation.values
    if how & SAME_THRESHOLD:
        state.threshold = candidate_scores.thresholds[k]
        score = score_at(
            values,
            row,
            rows,
            n,
            n_stats,
            settings,
            scratch,
            state.threshold,
            is_level,
            np.int64(1),
            state,
        )
    else:
        score = score_values(
            values, row, rows, n, n_stats, settings, scratch, levels, state.best_score, state
        )
    if state.is_set:
        is_level = IN_SET
    best_before = state.best_score
    record_score(programs, p, k, score, is_level, candidate_scores, state)
    improves = state.best_score != best_before
    if improves or not how & FROM_BUFFER:
        state.is_evaluated = np.int64(improves and not how & FROM_BUFFER)
    if state.is_set and improves:
        for word in range(scratch.level_set.shape[1]):
            scratch.best_level_set[0, word] = scratch.level_set[0, word]


@kernel
def search_stepwise(context, n, n_stats):
    """Build programs symbol by symbol, each symbol taken from the best completion so far.

    `step` completes the prefix once before each symbol, `look_ahead` once for every valid
    successor. This repeats until the budget is spent. Other kernels call this
    one by address; the rows' columns are in the buffer.
    """
    settings, state, grammar, candidates = (
        context.settings,
        context.state,
        context.grammar,
        context.buffers.candidates,
    )
    candidate_scores = context.buffers.candidate_scores
    programs, budget = candidates.programs, settings.budget
    width = programs.shape[1]
    # The entry after the candidates holds the best program of the current repetition.
    chosen = np.int64(programs.shape[0] - 1)
    forget_programs(candidates.seen, state)
    while not spent(budget, state):
        best_score = WORST
        has_best = False
        d = np.int64(0)
        while d < width and not spent(budget, state):
            before = np.int64(0) if d == 0 else np.int64(candidates.visited[chosen, d - 1])
            rounds = 1
            if settings.strategy == LOOK_AHEAD:
                rounds = grammar.n_distinct[before]
            for which in range(rounds):
                k = state.scored
                state.grammar_state = before
                copy_program(programs, chosen, programs, k, d)
                copy_program(candidates.visited, chosen, candidates.visited, k, d)
                length = write_candidate(k, d, which, settings, grammar, candidates, state)
                state.tries += 1
                if not seen_before(candidates.seen, fingerprint(programs, k, length), state):
                    call_kernel(settings.scorer, (context, programs, k, k, FROM_BUFFER, n, n_stats))
                    if candidate_scores.scores[k] > best_score or not has_best:
                        best_score = candidate_scores.scores[k]
                        has_best = True
                        copy_program(programs, k, programs, chosen, width)
                        copy_program(candidates.visited, k, candidates.visited, chosen, width)
                if spent(budget, state):
                    break
            if not has_best or programs[chosen, d] == op.END:
                break
            d += 1


@kernel(inline=True)
def search_columns(context, start, n, n_stats):
    """Score `n_raw` raw columns, drawn without replacement; those without a split do not count."""
    settings, state, candidate_scores, evaluation = (
        context.settings,
        context.state,
        context.buffers.candidate_scores,
        context.buffers.evaluation,
    )
    zero = np.int64(0)
    programs, order = context.buffers.candidates.programs, context.buffers.candidates.order
    remaining = np.int64(context.columns.shape[0])
    for column in range(remaining):
        order[column] = column
    for d in range(programs.shape[1]):
        programs[0, d] = op.END
    tried = 0
    while remaining > 0 and tried < settings.n_raw and not state.best_perfect:
        pick = draw_below(state, remaining)
        remaining -= 1
        column = order[pick]
        order[pick] = order[remaining]
        gather(context.columns, column, context.row_ids, start, n, evaluation.values, zero)
        programs[0, 0] = column
        how = FROM_VALUES | RAW
        call_kernel(settings.scorer, (context, programs, zero, zero, how, n, n_stats))
        if candidate_scores.scores[0] > WORST:
            tried += 1


@kernel
def choose_survivors(scores, order, count, kept):
    """Move the `kept` highest-scoring of the first `count` entries of the order to its front.

    Quickselect: only the side that contains the last survivor is partitioned again.
    """
    low, high = np.int64(0), count - 1
    while low < high:
        pivot = scores[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while scores[order[i]] > pivot:
                i += 1
            while scores[order[j]] < pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if kept - 1 <= j:
            high = j
        elif kept - 1 >= i:
            low = i
        else:
            return


@kernel
def score_programs(context, programs, n, n_stats, refines, scores):
    """Score each program independently; after a non-zero `stop[0]` the rest score WORST.

    Only the columns of a program are read, a chunk of rows at a time, so no array is as wide as the
    table. The rows must be prepared in `context.rows`. If it `refines`, thresholds are refined,
    since bins are coarse.
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
