"""Search a node's candidates: expressions by one of the Monte Carlo strategies, and raw columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featurewright.expressions import opcodes as op
from featurewright.kernels.grammar import complete, fingerprint, take_choice
from featurewright.kernels.jit import kernel
from featurewright.kernels.programs import gather, program_length, run_operators
from featurewright.kernels.random import draw_below
from featurewright.kernels.split import WORST, score_at, score_values

RANDOM_SEARCH = 1
STEP = 2
LOOK_AHEAD = 3

_ROUNDING = np.float32(2e-6)


class Library(NamedTuple):
    """Sub-expressions that earned gain before, to begin new candidates with."""

    programs: np.ndarray  # int32[entries, max_size]
    states: np.ndarray  # int32[entries]: the automaton's state after each
    draws: np.ndarray  # int32: entries, repeated by how often they should be drawn


class Candidates(NamedTuple):
    """The candidates of a node, and the best program."""

    programs: np.ndarray  # int32[budget + 2, max_size]
    visited: np.ndarray  # int32[budget + 2, max_size]: automaton states after each symbol
    scores: np.ndarray  # float32[budget + 2]
    thresholds: np.ndarray  # float32[budget + 2]
    best: np.ndarray  # int32[1, max_size]
    seen: np.ndarray  # uint64: hash table of the programs tried at this node, 0 where empty
    order: np.ndarray  # int64: survivors of halving; at least as long as there are columns


@kernel
def forget_programs(seen, state):
    """Empty the hash table."""
    for place in range(np.uint64(seen.shape[0])):
        seen[place] = np.uint64(0)
    state.remembered = 0


@kernel
def seen_before(seen, key, state):
    """Remember a program; tell whether it was tried at this node already."""
    key = key | np.uint64(1)  # 0 marks an empty place
    mask = np.uint64(seen.shape[0] - 1)
    place = (key >> np.uint64(20)) & mask
    while seen[place] != np.uint64(0):
        if seen[place] == key:
            return True
        place = (place + np.uint64(1)) & mask
    seen[place] = key
    state.remembered += 1
    return False


@kernel
def copy_program(source, i, target, k, length):
    """Copy the first symbols of one program to another."""
    for d in range(length):
        target[k, d] = source[i, d]


@kernel
def keep_if_best(programs, k, score, threshold, is_level, best, state):
    """Make a candidate the node's best if it scores higher by more than rounding.

    Candidates that part the rows alike, perhaps with the sides exchanged, tie: the first one stays.
    """
    better = score > state.best_score + _ROUNDING * abs(state.best_score)
    if better or (state.best_score == WORST and score > WORST):
        state.best_score = score
        state.best_threshold = threshold
        state.best_is_level = is_level
        state.best_perfect = state.perfect
        copy_program(programs, k, best, 0, programs.shape[1])


@kernel
def levels_of(programs, k, n_levels):
    """Give the number of levels when a program is a lone Category column, else 0."""
    if programs.shape[1] == 1 or programs[k, 1] == op.END:
        return n_levels[programs[k, 0]]
    return np.int64(0)


@kernel
def spent(budget, state):
    """Tell whether the search is over: budget used, nothing new to find, or a perfect split."""
    return state.scored >= budget or state.tries >= 8 * budget + 64 or state.best_perfect != 0


@kernel(inline=True)
def write_candidate(k, d, which, settings, grammar, library, found, state):
    """Write a candidate that goes on from its first d symbols; give its length.

    With `look_ahead` the next symbol is the which-th valid one. A fresh candidate may begin with a
    library program instead of nothing.
    """
    programs = found.programs
    if settings.strategy == LOOK_AHEAD:
        choice = grammar.start[state.grammar_state] + which
        symbol = take_choice(grammar, choice, programs, k, d, state)
        if symbol == op.END:
            for rest in range(d, programs.shape[1]):
                programs[k, rest] = op.END
            return d
        found.visited[k, d] = state.grammar_state
        d += 1
    elif d == 0 and settings.library_share > draw_below(state, 256):
        entry = np.int64(library.draws[draw_below(state, library.draws.shape[0])])
        d = program_length(library.programs, entry)
        copy_program(library.programs, entry, programs, k, d)
        state.grammar_state = library.states[entry]
    return complete(grammar, programs, found.visited, k, d, state)


@kernel(inline=True)
def try_candidate(
    k, length, rows, n, n_stats, settings, grammar, users, found, bench, desk, buffer, state
):
    """Score the k-th candidate unless it was scored at this node; tell whether it was new."""
    programs = found.programs
    state.tries += 1
    if seen_before(found.seen, fingerprint(programs, k, length), state):
        return False
    n_columns = np.int64(grammar.n_levels.shape[0])
    row = run_operators(programs, k, length, buffer, n_columns, n, users, desk.stack, desk.operands)
    levels = levels_of(programs, k, grammar.n_levels)
    score = score_values(
        buffer, row, rows, n, n_stats, settings, bench, levels, state.best_score, state
    )
    found.scores[k] = score
    found.thresholds[k] = state.threshold
    state.scored += 1
    is_level = np.int64(levels > 0)
    keep_if_best(programs, k, score, state.threshold, is_level, found.best, state)
    return True


@kernel
def search_expressions(
    rows, n, n_stats, settings, grammar, library, users, found, bench, desk, buffer, state
):
    """Score expressions by the chosen strategy; the rows' columns are in the buffer.

    `random` scores complete random programs. The other two build a program symbol by symbol, each
    symbol the next one of the best completion so far: `step` completes the prefix once before each
    symbol, `look_ahead` once for every valid successor. Simulations repeat until the budget of
    score calls is spent.
    """
    programs, budget = found.programs, settings.budget
    width = programs.shape[1]
    # The slot after the candidates holds the best program of the simulation.
    chosen = np.int64(programs.shape[0] - 1)
    while not spent(budget, state):
        best_score = WORST
        has_best = False
        d = np.int64(0)
        while d < width and not spent(budget, state):
            before = np.int64(0) if d == 0 else np.int64(found.visited[chosen, d - 1])
            rounds = 1
            if settings.strategy == LOOK_AHEAD:
                rounds = grammar.start[before + 1] - grammar.start[before]
            for which in range(rounds):
                k = state.scored
                state.grammar_state = before
                copy_program(programs, chosen, programs, k, d)
                copy_program(found.visited, chosen, found.visited, k, d)
                length = write_candidate(k, d, which, settings, grammar, library, found, state)
                is_new = try_candidate(
                    k,
                    length,
                    rows,
                    n,
                    n_stats,
                    settings,
                    grammar,
                    users,
                    found,
                    bench,
                    desk,
                    buffer,
                    state,
                )
                if settings.strategy == RANDOM_SEARCH:
                    break
                if is_new and (found.scores[k] > best_score or not has_best):
                    best_score = found.scores[k]
                    has_best = True
                    copy_program(programs, k, programs, chosen, width)
                    copy_program(found.visited, k, found.visited, chosen, width)
                if spent(budget, state):
                    break
            if not has_best or programs[chosen, d] == op.END:
                break
            d += 1


@kernel
def search_columns(
    columns, row_ids, start, rows, n, n_stats, settings, n_levels, found, bench, desk, state
):
    """Score raw columns, drawn without replacement; constant ones do not count."""
    zero = np.int64(0)
    programs, order = found.programs, found.order
    remaining = np.int64(n_levels.shape[0])
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
        gather(columns, column, row_ids, start, n, desk.values, zero)
        programs[0, 0] = column
        levels = n_levels[column]
        score = score_values(
            desk.values, zero, rows, n, n_stats, settings, bench, levels, state.best_score, state
        )
        if score > WORST:
            tried += 1
        is_level = np.int64(levels > 0)
        keep_if_best(programs, zero, score, state.threshold, is_level, found.best, state)


@kernel
def choose_survivors(scores, order, count, kept):
    """Move the `kept` highest-scoring of the first `count` entries of the order to its front."""
    for place in range(kept):
        best = place
        for other in range(place + 1, count):
            if scores[order[other]] > scores[order[best]]:
                best = other
        order[place], order[best] = order[best], order[place]


@kernel
def rescore(k, rows, n, n_stats, settings, n_levels, found, bench, desk, state):
    """Score a survivor of halving on more rows; its values are in the desk's values."""
    row, yes = np.int64(0), np.int64(1)
    levels = levels_of(found.programs, k, n_levels)
    is_level = np.int64(levels > 0)
    if settings.random_threshold:
        threshold = found.thresholds[k]
        score = score_at(
            desk.values, row, rows, n, n_stats, settings, bench, threshold, is_level, yes, state
        )
    else:
        score = score_values(
            desk.values, row, rows, n, n_stats, settings, bench, levels, state.best_score, state
        )
        threshold = state.threshold
    found.scores[k] = score
    keep_if_best(found.programs, k, score, threshold, is_level, found.best, state)
