"""Folds of a search, and what is computed on several of them before it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from featurewright.auto.candidates import ORIGINAL, Candidate
from featurewright.auto.links import LinkSearch
from featurewright.auto.methods import METHODS, order_name
from featurewright.auto.plan import Effort
from featurewright.auto.scoring import HeldOutScorer
from featurewright.auto.timing import Clock
from featurewright.auto.units import (
    FoldRows,
    FoldTables,
    Result,
    Unit,
    compute_unit,
    needed_methods,
    sample_fold,
)
from featurewright.auto.workspace import Fold, Found, Problem, ValueStore, Workspace
from featurewright.engine.threads import Halt, local_threads, run_in_threads
from featurewright.estimators.units import Compute, SharedValue, chosen_backend, run_units

Report = Callable[[str, str], None]


class LookAhead:
    """Makes folds, and runs units on them side by side: in threads, or where joblib says.

    Parameters
    ----------
    problem : Problem
        All training rows.
    rows : callable
        Returns the training and held-out rows of all folds, by their numbers.
    seed : int
        Seed of the samples of rows.
    effort : Effort
        How much work methods do.
    estimator, scorer
        What candidates are scored with.
    clock : Clock
        The time. With a limit, units run side by side only elsewhere.
    links : LinkSearch or None
        Finds columns over links in the training rows of each fold.
    store : ValueStore
        Values of constructed columns.
    reserve : callable
        Returns the seconds to be kept for the last fit, where there is a limit.
    report : callable
        Called with what is computed, and how much of it is done.

    Attributes
    ----------
    pays : bool
        Whether units would run side by side.
    """

    def __init__(
        self,
        problem: Problem,
        rows: Callable[[], Sequence[FoldRows]],
        *,
        seed: int,
        effort: Effort,
        estimator: Any,
        scorer: HeldOutScorer,
        clock: Clock,
        links: LinkSearch | None,
        store: ValueStore,
        reserve: Callable[[], float],
        report: Report,
    ) -> None:
        self._problem, self._rows, self._seed, self._effort = problem, rows, seed, effort
        self._estimator, self._scorer = estimator, scorer
        self._clock, self._links, self._store = clock, links, store
        self._reserve, self._report = reserve, report
        self._made: dict[tuple[int, int], Fold] = {}  # by number and rows
        self._sent: SharedValue | None = None
        self._backend = chosen_backend()
        self._n_threads = local_threads(problem.task.n_jobs)
        self._has_limit = bool(np.isfinite(clock.budget))
        self.pays = self._backend is not None or (self._n_threads > 1 and not self._has_limit)

    # Folds --------------------------------------------------------------------------------------

    def has_fold(self, number: int, max_rows: int) -> bool:
        """Whether a fold was made before it was asked for."""
        return (number, max_rows) in self._made

    def take_fold(self, number: int, max_rows: int) -> Fold:
        """Return a fold with training rows up to a number."""
        return self._made.pop((number, max_rows), None) or self._make_fold(number, max_rows)

    def _make_fold(self, number: int, max_rows: int) -> Fold:
        """Take the rows of a fold, and find columns over links in them."""
        rows = self._rows()[number]
        train, test = sample_fold(rows, max_rows, self._seed + number)
        if self._links is None:
            learning, held_out = self._problem.take(train), self._problem.take(test)
        else:
            learning, held_out = self._links.split(self._problem, rows[0], train, test, number)
        # Methods are seeded by the fold: formulas should not depend on the seed of a user.
        space = Workspace(learning, number, self._store, self._effort)
        fold = Fold(space, held_out, self._clock.now)
        fold.train = train
        return fold

    def forget(self) -> None:
        """Forget what was computed ahead, because folds have other numbers now."""
        self._made.clear()
        self._sent = None

    # Units --------------------------------------------------------------------------------------

    def run_methods(
        self,
        first: Fold,
        numbers: Sequence[int],
        max_rows: int,
        sizes: Mapping[tuple[int, str], Sequence[int]],
    ) -> dict[tuple[int, str], Found]:
        """Run methods on folds, and score their columns and the original ones.

        Parameters
        ----------
        first : Fold
            The first of the folds, which is open.
        numbers : sequence of int
            Numbers of the folds.
        max_rows : int
            Training rows of a fold at most.
        sizes : dict
            Numbers of columns to try, by fold and method; the most promising method first.

        Returns
        -------
        dict
            What methods found, by the number of the fold and the method.
        """
        units = [
            Unit(number, max_rows, ((method, tuple(own)),))
            for (number, method), own in sizes.items()
        ]
        if not self._has_limit:  # the slow ones first, so that none is left over at the end
            units.sort(key=lambda unit: -METHODS[unit.methods[0][0]].cost)
        units += [Unit(number, max_rows, candidates=(ORIGINAL,)) for number in numbers[1:]]
        results = self._run(units, {numbers[0]: first}, "methods side by side")
        return {
            (unit.number, found.pool): found
            for unit, result in zip(units, results, strict=True)
            for found in (() if result is None else result.found)
        }

    def run_orders(
        self,
        first: Fold,
        numbers: Sequence[int],
        max_rows: int,
        *,
        methods: Sequence[str],
        sizes: tuple[int, ...],
        found: Mapping[tuple[int, str], Found],
    ) -> None:
        """Put the formulas that methods found into one order on each fold, and score them.

        Parameters
        ----------
        first, numbers, max_rows
            As for `run_methods`.
        methods : sequence of str
            The methods; one that finds nothing on a fold is left out from there on.
        sizes : tuple of int
            Numbers of formulas to try.
        found : dict
            What `run_methods` returned.
        """
        units = []
        for number in numbers:
            methods = [
                method
                for method in methods
                if (own := found.get((number, method))) and (own.blocks or not own.sizes)
            ]
            if methods:
                parts = tuple(found[number, method].part for method in methods)
                name = order_name(methods)
                units.append(Unit(number, max_rows, order_sizes=sizes, name=name, parts=parts))
        self._run(units, {numbers[0]: first}, "formulas in one order")

    def run_candidates(
        self,
        numbers: Sequence[int],
        max_rows: int,
        candidates: Sequence[Candidate],
        joined: tuple[str, ...],
    ) -> None:
        """Score some candidates and the original columns on folds.

        Parameters
        ----------
        numbers, max_rows
            As for `run_methods`; no fold is open.
        candidates : sequence of Candidate
            The candidates.
        joined : tuple of str
            The methods whose formulas are in one order.
        """
        methods, order_sizes = needed_methods(candidates, joined)
        units = [
            Unit(
                number,
                max_rows,
                tuple(methods.items()),
                joined,
                order_sizes,
                order_name(joined) if order_sizes else "",
                candidates=(ORIGINAL, *candidates),
            )
            for number in numbers
        ]
        results = self._run(units, {}, "further folds")
        for unit, result in zip(units, results, strict=True):
            if result is None:
                del self._made[unit.number, max_rows]

    def _run(
        self,
        units: Sequence[Unit],
        folds: dict[int, Fold],
        what: str,
    ) -> list[Result | None]:
        """Run units, and leave what they find in the folds; None where one failed or was late."""
        if not units:
            return []
        for unit in units:
            if unit.number not in folds:
                key = unit.number, unit.max_rows
                if key not in self._made:
                    self._made[key] = self._make_fold(*key)
                folds[unit.number] = self._made[key]
        halt = Halt(max(0.0, self._clock.left - self._reserve()) if self._has_limit else None)

        def on_done(done: int) -> None:
            self._report(what, f"{done} of {len(units)}")

        results: list[Result | None]
        if self._backend is None:
            results = self._run_here(units, folds, halt, on_done)
        else:
            compute: Compute[Unit, Any] = FoldTables.compute
            results = run_units(
                self._backend,
                compute,
                self._share(folds),
                units,
                what="method on a fold",
                n_jobs=self._problem.task.n_jobs,
                halt=halt,
                on_done=on_done,
            )
        for unit, result in zip(units, results, strict=True):
            if result is not None:
                for found in result.found:
                    folds[unit.number].space.take_over(found)
                folds[unit.number].take_over(result.scores)
        return results

    def _run_here(
        self,
        units: Sequence[Unit],
        folds: Mapping[int, Fold],
        halt: Halt,
        on_done: Callable[[int], None],
    ) -> list[Result | None]:
        """Run units in threads of this process."""
        n_inside = max(1, self._n_threads // len(units))

        def task(unit: Unit) -> Callable[[], Result | None]:
            fold = folds[unit.number]
            return lambda: compute_unit(unit, fold, self._estimator, self._scorer, n_jobs=n_inside)

        with warnings.catch_warnings():
            # Filters belong to the process: threads would restore those of each other.
            warnings.simplefilter("ignore")
            return run_in_threads(
                [task(unit) for unit in units], self._n_threads, halt=halt, on_done=on_done
            )

    def _share(self, folds: Mapping[int, Fold]) -> SharedValue:
        """Return what all units need; without links, the same for the whole search."""
        if self._sent is None or self._links is not None:
            with_links = {} if self._links is None else folds
            self._sent = SharedValue(
                FoldTables(
                    self._problem,
                    tuple(self._rows()),
                    self._seed,
                    self._effort,
                    self._estimator,
                    self._scorer,
                    {n: (own.space.problem, own.held_out) for n, own in with_links.items()},
                )
            )
        return self._sent
