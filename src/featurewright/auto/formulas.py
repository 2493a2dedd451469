"""One order for the formulas of several methods: each explains most of what is left over.

Formulas that are found by chance differ from seed to seed. Each one that is taken is therefore
improved first: it is replaced by the best formula that differs in one symbol, until none is better.
Other seeds arrive at the same formula, and it is shorter where a part of it says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from featurewright.auto.inner_numbers import safe_ratios, with_numbers
from featurewright.auto.neighbours import neighbours, shorter
from featurewright.auto.parts import evaluate_formulas, finish_values
from featurewright.auto.split_forms import split_form
from featurewright.auto.sums import bent_sums, find_sums
from featurewright.auto.thresholded import with_thresholds
from featurewright.estimators.selection import (
    MAX_CORRELATION,
    PoolGains,
    Pursuit,
    distinct,
    normalized,
)
from featurewright.expressions import Boolean, Call, Column, Expression, Feature, Real
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

MAX_UNDEFINED = 0.05  # share of rows with known operands in which a formula may be undefined
_MIN_TESTED_ROWS = 5  # in which a test or a bend inside a formula has another value than usual
_WORTH_PER_SYMBOL = 0.95  # factor by which each symbol lowers the worth of a formula
_MIN_IMPROVEMENT = 1.01  # factor by which a formula must be better to replace another
_MAX_CHANGES = 6  # of one formula
_N_STARTS = 2  # formulas that are improved, of which the best is taken
_MAX_COMPARED_ROWS = 2_000
# Many changes of a formula are compared on some of the rows first, and the best of them on all.
_MIN_SCREENED = 60  # changes
_SCREENED_SHARE = 4  # one in this many rows compares all changes; as few of these stay
_MIN_SCREEN_ROWS = 200
_N_NEW = 20  # bent sums and ratios that join the formulas of methods
_MAX_COLUMNS = 15  # that may take the place of others: those that formulas use most


def order_formulas(
    features: Sequence[Feature],
    table: EncodedTable,
    base: Matrix,
    target: Matrix,
    *,
    weights: Matrix | None = None,
    wanted: int,
    max_size: int,
    operators: Sequence[str],
    n_polished: int,
    n_rows: int,
    takes_sums: bool = False,
    takes_numbers: bool = True,
    for_trees: bool = False,
) -> list[Feature]:
    """Select formulas one by one, by what each explains of a target beyond those before.

    Parameters
    ----------
    features : sequence of Feature
        The formulas to select from.
    table : EncodedTable
        Training rows.
    base : ndarray of shape (n_rows, n_columns)
        The original columns, whose explanation comes first.
    target : ndarray of shape (n_rows, n_targets)
        What is to be explained.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    wanted : int
        Largest number of formulas.
    max_size : int
        Largest number of symbols that a formula may get.
    operators : sequence of str
        Operators that formulas may get.
    n_polished : int
        Number of formulas that any change may improve; the others are made shorter only.
    n_rows : int
        Rows on which formulas are compared, about.
    takes_sums : bool
        Whether sums of columns come first; else they are nothing new.
    takes_numbers : bool
        Whether formulas may have learned numbers inside, weighted sums among them.
    for_trees : bool
        Whether trees are to split by the formulas: of each, the part that orders rows is kept.

    Returns
    -------
    list of Feature
        The most useful first; the gain is the share of the target that each explains.
    """
    places = spaced_rows(len(base), n_rows, weights)
    rows = EncodedTable(table.matrix[places], table.schema)
    columns = _used_columns(features, table)
    sums: list[Expression] = []
    new: list[Expression] = []
    if takes_numbers:
        sums = find_sums(rows, target[places], max_size)
        new = [*bent_sums(sums, rows), *(safe_ratios(columns, rows) if max_size >= 5 else ())]
    pool = _Pool(rows, base[places], target[places], features, new)
    taken = [Feature.of(found) for found in sums[:wanted]] if takes_sums else []

    @cache  # a formula that was not the best is often a start again
    def changes(formula: Expression) -> list[Expression]:
        return [
            *neighbours(formula, columns, operators, max_size),
            *(with_thresholds(formula, rows) if formula.size <= max_size else ()),
        ]

    @cache
    def numbers(formula: Expression) -> list[Expression]:
        return with_numbers(formula, rows) if takes_numbers else []

    n_sums = n_steps = len(taken)
    kept = {feature.expression for feature in taken}
    while len(taken) < wanted and (found := pool.best()) is not None:
        if n_steps - n_sums < n_polished and pool.is_worth_improving(found):
            starts = pool.best_few(_N_STARTS)
            found = max(
                (pool.improve(pool.improve(start, changes), numbers) for start in starts),
                key=lambda found: found.value,
            )
        found = pool.improve(found, shorter, at_least=1.0)
        feature, n_steps = pool.take(found), n_steps + 1
        if for_trees:
            part = split_form(feature.expression, rows)
            if part is None or part in kept:
                continue
            kept.add(part)
            feature = Feature.of(part, feature.gain, feature.count)
        taken.append(feature)
    return taken


@dataclass(frozen=True, eq=False)
class _Found:
    """A formula, its own part beside what was taken, and what it explains times its worth."""

    feature: Feature
    own: Matrix
    value: float
    place: int | None = None


class _Pool:
    """Formulas to select from, and the state of the selection."""

    def __init__(
        self,
        rows: EncodedTable,
        base: Matrix,
        target: Matrix,
        features: Sequence[Feature],
        more: Sequence[Expression] = (),
    ) -> None:
        self._rows = rows
        self._pursuit = Pursuit(base, target)
        self._some = slice(None, None, _SCREENED_SHARE)
        self._some_rows = EncodedTable(rows.matrix[self._some], rows.schema)
        few = len(base) < _SCREENED_SHARE * max(_MIN_SCREEN_ROWS, 2 * base.shape[1])
        self._screen = None if few else Pursuit(base[self._some], target[self._some])
        new = self._best_of(more, _N_NEW, beyond_chance=True)
        features = [*features, *map(Feature.of, new)]
        # The simplest first: of formulas that say the same, it is the one that stays.
        listed = sorted(
            {f.expression: f for feature in features for f in _sensible(feature)}.values(),
            key=lambda feature: (feature.expression.size, feature.name),
        )
        values, sound = formula_values([feature.expression for feature in listed], rows)
        fresh = sound[distinct(base, values[:, sound])]
        self._features = [listed[place] for place in fresh]
        self._worth = _WORTH_PER_SYMBOL ** np.array([_length(f.expression) for f in self._features])
        self._gains = PoolGains(self._pursuit, values[:, fresh])
        self._taken: set[Expression] = set()

    def best(self) -> _Found | None:
        """Return the formula that explains most of the rest; None where none explains any."""
        return next(iter(self.best_few(1)), None)

    def best_few(self, n_formulas: int) -> list[_Found]:
        """Return the formulas that explain most of the rest, each by itself."""
        gains = self._gains.gains() * self._worth
        places = np.argsort(-gains, kind="stable")[:n_formulas]
        return [
            _Found(self._features[at], self._gains.own[:, at], float(gains[at]), int(at))
            for at in places
            if gains[at] > 0.0
        ]

    def is_worth_improving(self, found: _Found) -> bool:
        """Whether a formula explains more than the best of as many columns of noise would."""
        return found.value > _by_chance(self._pursuit, len(self._features))

    def improve(
        self,
        found: _Found,
        changed: Callable[[Expression], list[Expression]],
        at_least: float = _MIN_IMPROVEMENT,
    ) -> _Found:
        """Replace a formula by the best of its changes, again and again, while that is better."""
        for _ in range(_MAX_CHANGES):
            options = [
                option for option in changed(found.feature.expression) if option not in self._taken
            ]
            if self._screen is not None and len(options) >= _MIN_SCREENED:
                options = self._best_of(options, len(options) // _SCREENED_SHARE)
            values, sound = formula_values(options, self._rows)
            if not len(sound):
                break
            scaled = normalized(values[:, sound])
            sizes = np.array([_length(options[place]) for place in sound])
            gains = self._pursuit.explained(scaled) * _WORTH_PER_SYMBOL**sizes
            best = int(np.argmax(gains))
            if gains[best] < at_least * found.value or gains[best] <= 0.0:
                break
            feature = Feature.of(options[sound[best]], count=found.feature.count)
            own = self._pursuit.own_part(scaled[:, best])
            found = _Found(feature, own, float(gains[best]), found.place)
        return found

    def _best_of(
        self, options: Sequence[Expression], n_kept: int, *, beyond_chance: bool = False
    ) -> list[Expression]:
        """Return the better ones of some formulas, by what they explain in some of the rows.

        Those that explain no more than the best of as many columns of noise may be left out.
        """
        screen, rows = self._screen or self._pursuit, self._some_rows
        values, sound = formula_values(options, rows if self._screen else self._rows)
        sizes = np.array([_length(options[place]) for place in sound])
        gains = screen.explained(normalized(values[:, sound])) * _WORTH_PER_SYMBOL**sizes
        kept = np.sort(np.argsort(-gains, kind="stable")[:n_kept])
        if beyond_chance:
            kept = kept[gains[kept] > _by_chance(screen, len(options))]
        return [options[sound[place]] for place in kept]

    def take(self, found: _Found) -> Feature:
        """Take a formula; return it with the share of the target that it explains."""
        expression = found.feature.expression
        self._gains.remove(*self._pursuit.take(found.own))
        if self._screen is not None:
            own = self._screen.own_parts(found.own[self._some, np.newaxis])[:, 0]
            if own @ own > 1e-12:  # a step that none of these rows takes is constant in them
                self._screen.take(own)
        if found.place is not None:
            self._gains.close(found.place)
        self._taken.add(expression)
        share = found.value / _WORTH_PER_SYMBOL ** _length(expression)
        return replace(found.feature, gain=share)


def _by_chance(pursuit: Pursuit, n_columns: int) -> float:
    """Return the share of a target that the best of some columns of noise explains, about."""
    rest = float((pursuit.rest**2).sum()) / pursuit.rest.shape[1]
    return 2.0 * float(np.log(n_columns + 1.0)) / len(pursuit.rest) * rest


def _sensible(feature: Feature) -> list[Feature]:
    """Return a formula, or shorter ones where a part of it has an operand twice."""
    if not _is_degenerate(feature.expression):
        return [feature]
    return [
        Feature.of(option, count=feature.count)
        for option in shorter(feature.expression)
        if not _is_degenerate(option)
    ]


def _is_degenerate(formula: Expression) -> bool:
    """Whether a part of a formula has an operand twice, and so is a constant in disguise."""
    return formula.fold(
        lambda _: False,
        lambda node, found: any(found) or len(set(node.arguments)) < len(node.arguments),
    )


def _length(formula: Expression) -> int:
    """Return the number of symbols of a formula, its numbers among them."""
    n_numbers = formula.fold(
        lambda _: 0, lambda node, found: (node.parameter is not None) + sum(found)
    )
    return formula.size + n_numbers


def formula_values(
    formulas: Sequence[Expression], rows: EncodedTable
) -> tuple[Matrix, NDArray[np.intp]]:
    """Return the values of formulas, undefined ones filled, and which formulas are sound.

    A sound formula is defined in almost all rows in which its columns are known, and varies. So do
    the tests and bends inside it, in more than a few rows: else they are a constant in disguise.
    """
    if not formulas:
        return np.empty((len(rows.matrix), 0)), np.empty(0, np.intp)
    values = evaluate_formulas(formulas, rows)
    holes = ~np.isfinite(values)
    missing = np.isnan(np.asarray(rows.matrix, np.float64))
    limits = np.full(len(formulas), MAX_UNDEFINED)
    if missing.any():
        for place, formula in enumerate(formulas):
            limits[place] += missing[:, formula.columns()].any(axis=1).mean()
    values, low, high = finish_values(values)
    sound = (holes.mean(axis=0) <= np.minimum(limits, 1.0)) & (high > low)
    tests = [inner_tests(formula) for formula in formulas]
    if idle := _idle_parts(set().union(*tests), rows):
        sound &= [idle.isdisjoint(own) for own in tests]
    return values, np.flatnonzero(sound)


def inner_tests(formula: Expression) -> set[Expression]:
    """Return the parts of a formula that test a value or bend it at a number.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> [str(part) for part in inner_tests(parse("abs(a - (b > 3))", "ab"))]
    ['b > 3']
    """
    found: set[Expression] = set()

    def note(node: Call, _: list[None]) -> None:
        if node is not formula and (node.domain == Boolean or node.parameter is not None):
            found.add(node)

    formula.fold(lambda _: None, note)
    return found


def _idle_parts(parts: Collection[Expression], rows: EncodedTable) -> set[Expression]:
    """Return the tests and bends that have one value in all but a few rows."""
    if not parts:
        return set()
    listed = list(parts)
    values, _, _ = finish_values(evaluate_formulas(listed, rows))
    n_others = np.count_nonzero(values != np.median(values, axis=0), axis=0)
    return {part for part, n in zip(listed, n_others, strict=True) if n < _MIN_TESTED_ROWS}


def spaced_rows(n_rows: int, wanted: int, weights: Matrix | None) -> NDArray[np.intp]:
    """Return evenly spaced rows; with weights, each row as often as its weight says."""
    if weights is None or not weights.sum() > 0:
        return np.arange(0, n_rows, max(1, n_rows // wanted))
    wanted = min(wanted, n_rows)
    marks = (np.arange(wanted) + 0.5) / wanted * weights.sum()
    return np.searchsorted(np.cumsum(weights), marks).clip(max=n_rows - 1)


def _used_columns(features: Sequence[Feature], table: EncodedTable) -> list[Column]:
    """Return the columns of numbers that formulas use most."""
    used: Counter[int] = Counter()
    for feature in features:
        used.update(feature.expression.columns())
    ranked = sorted(range(table.shape[1]), key=lambda at: (-used[at], at))
    schema = table.schema
    numbers = [at for at in ranked if schema.domains[at] == Real][:_MAX_COLUMNS]
    return [Column(at, schema.names[at], Real) for at in sorted(numbers)]


def sample_rows(table: EncodedTable) -> EncodedTable:
    """Return an evenly spaced subsample of rows, on which formulas are compared."""
    step = max(1, len(table.matrix) // _MAX_COMPARED_ROWS)
    return EncodedTable(table.matrix[::step], table.schema)


def is_found(
    formulas: Sequence[Expression],
    pool: Sequence[Expression],
    rows: EncodedTable,
    pool_rows: EncodedTable | None = None,
) -> NDArray[np.bool_]:
    """Return whether each formula, or one that ranks rows almost alike, is in a pool.

    Parameters
    ----------
    formulas, pool : sequence of Expression
        Formulas over the columns of the rows.
    rows : EncodedTable
        Rows.
    pool_rows : EncodedTable, optional
        The same rows with the columns of the pool's formulas, where these are others.

    Returns
    -------
    ndarray of bool, of shape (n_formulas,)
        Whether the rank correlation with a formula of the pool is above 0.98, up to its sign.
    """
    if not formulas or not pool:
        return np.zeros(len(formulas), bool)
    pool_rows = rows if pool_rows is None else pool_rows
    compared = ((formulas, rows), (pool, pool_rows))
    ours, theirs = (_ranks(formula_values(listed, known)[0]) for listed, known in compared)
    alike = np.abs(ours.T @ theirs).max(axis=1) > MAX_CORRELATION
    texts = set(map(str, pool))
    same = [str(formula) in texts for formula in formulas]
    return np.asarray(alike | same)


def _ranks(values: Matrix) -> Matrix:
    """Return the ranks of each column's values, centred and scaled to length one."""
    return normalized(rankdata(values, axis=0))
