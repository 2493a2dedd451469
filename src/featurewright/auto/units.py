"""Constructions and scorings of a search as units that run side by side, here or elsewhere.

A unit is some methods on a fold, or the order of all formulas there, with the scores of its
candidates. It depends on the fold alone and decides nothing: the search takes results over where
it would have computed them, in its own order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.candidates import Candidate, Order
from featurewright.auto.estimators import few_threads
from featurewright.auto.methods import METHODS
from featurewright.auto.parts import Part
from featurewright.auto.plan import Effort
from featurewright.auto.scoring import HeldOutScorer
from featurewright.auto.workspace import Fold, Found, Problem, TimedScore, ValueStore, Workspace

_logger = logging.getLogger("featurewright")

Rows = NDArray[np.intp]
FoldRows = tuple[Rows, Rows]

MAX_TEST_ROWS = 5_000
_CONSTRUCTION_SHARE = 0.5  # of the seconds that are left, after which methods stop growing trees
_MIN_SECONDS = 0.05


def sample_fold(rows: FoldRows, max_rows: int, seed: int) -> FoldRows:
    """Return the training and held-out rows of a fold; of very many, some."""
    random = np.random.default_rng(seed)
    train, test = (
        own if len(own) <= limit else np.sort(random.permutation(own)[:limit])
        for own, limit in zip(rows, (max_rows, MAX_TEST_ROWS), strict=True)
    )
    return train, test


@dataclass(frozen=True, eq=False)
class Unit:
    """Something to construct and to score on a fold.

    Parameters
    ----------
    number : int
        Number of the fold.
    max_rows : int
        Training rows at most.
    methods : tuple of (str, tuple of int)
        Methods to run, and the numbers of columns to try.
    joined : tuple of str
        Methods whose formulas are then put in one order.
    order_sizes : tuple of int
        Numbers of formulas to try.
    name : str
        How that order is called.
    parts : tuple of Part
        Formulas of methods that were run before, to be put in one order.
    candidates : tuple of Candidate or None
        What is scored; all choices of the columns if None.
    """

    number: int
    max_rows: int
    methods: tuple[tuple[str, tuple[int, ...]], ...] = ()
    joined: tuple[str, ...] = ()
    order_sizes: tuple[int, ...] = ()
    name: str = ""
    parts: tuple[Part, ...] = ()
    candidates: tuple[Candidate, ...] | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """What a unit found: columns, and the scores of candidates."""

    found: tuple[Found, ...]
    scores: Mapping[Candidate, TimedScore]


@dataclass(frozen=True, eq=False)
class FoldTables:
    """What all units of a search need, wherever they run.

    Parameters
    ----------
    problem : Problem
        All rows.
    rows : tuple of (train, test)
        Row numbers of the folds.
    seed : int
        Seed of the samples of rows.
    effort : Effort
        How much work methods do.
    estimator, scorer
        What candidates are scored with.
    splits : dict
        By their numbers, folds whose tables have columns over links of their own.
    """

    problem: Problem
    rows: tuple[FoldRows, ...]
    seed: int
    effort: Effort
    estimator: Any
    scorer: HeldOutScorer
    splits: Mapping[int, tuple[Problem, Problem]]

    def compute(self, unit: Unit, seconds: float | None) -> Result | None:
        """Compute a unit in one thread of this process; None where it fails.

        Whoever asked computes it then once more and sees the error. For lack of memory, nobody
        should.
        """
        split = self.splits.get(unit.number)
        if split is None:
            rows = sample_fold(self.rows[unit.number], unit.max_rows, self.seed + unit.number)
            split = self.problem.take(rows[0]), self.problem.take(rows[1])
        else:  # arrays that were sent cannot be written to
            split = split[0].take(slice(None)), split[1].take(slice(None))
        fold = Fold(Workspace(split[0], unit.number, ValueStore(), self.effort), split[1])
        result = compute_unit(unit, fold, self.estimator, self.scorer, seconds=seconds)
        if result is None:
            return None
        found = tuple(replace(own, values=None) for own in result.found)
        return Result(found, result.scores)


def compute_unit(
    unit: Unit,
    fold: Fold,
    estimator: Any,
    scorer: HeldOutScorer,
    *,
    seconds: float | None = None,
    n_jobs: int = 1,
) -> Result | None:
    """Construct and score on a fold; None where something fails, but for lack of memory."""
    limit = None if seconds is None else max(_MIN_SECONDS, _CONSTRUCTION_SHARE * seconds)
    space = fold.space
    found: list[Found] = []
    scores: dict[Candidate, TimedScore] = {}
    with few_threads(n_jobs, space.problem.table.matrix.size):
        try:
            for name, sizes in unit.methods:
                found.append(space.find(METHODS[name], sizes, limit, n_jobs))
            if unit.order_sizes:
                own = {one.part.method: one.part for one in found}
                parts = unit.parts or [own[name] for name in unit.joined]
                found.append(space.find_order(unit.name, parts, unit.order_sizes))
            for one in found:
                space.keep(one)
            candidates = unit.candidates
            if candidates is None:
                candidates = _distinct_widths(found)
            for candidate in candidates:
                score = fold.score(candidate, estimator, scorer)
                scores[candidate] = TimedScore(score, fold.fit_seconds, fold.score_seconds)
        except MemoryError:
            raise
        except Exception as error:
            # Any error: the search runs the method again in its own order, inside an `Attempt`,
            # which raises, logs or leaves out as it does without units.
            _logger.debug("A unit failed and is computed once more.", exc_info=error)
            return None
    return Result(tuple(found), scores)


def _distinct_widths(found: Iterable[Found]) -> tuple[Candidate, ...]:
    """Return the choices of columns, each number of columns once."""
    chosen: dict[tuple[str, int], Candidate] = {}
    for one in found:
        for block in one.blocks:
            chosen.setdefault((one.pool, min(block.size, len(one.order))), Candidate((block,)))
    return tuple(chosen.values())


def needed_methods(
    candidates: Iterable[Candidate], joined: Iterable[str]
) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Return the methods that candidates need, with numbers of columns to try.

    Parameters
    ----------
    candidates : iterable of Candidate
        The candidates.
    joined : iterable of str
        The methods whose formulas are in one order.

    Returns
    -------
    dict, tuple of int
        The methods, and the numbers of formulas in one order.
    """
    blocks = list(dict.fromkeys(block for c in candidates for block in c.blocks))
    joint = tuple(block.size for block in blocks if block.order is Order.JOINT)
    alone = [block for block in blocks if block.order is not Order.JOINT]
    methods = [block.method for block in alone]
    needed: dict[str, tuple[int, ...]] = {}
    for method in dict.fromkeys([*methods, *(joined if joint else ())]):
        sizes = tuple(block.size for block in alone if block.method == method)
        needed[method] = sizes if METHODS[method].readable else ()
    return needed, joint
