"""Statistics of the rows of each key from parts of a table, whatever the parts are.

Sums are exact: each number is taken apart into whole-number digits, which add up to the same in
any order. So another division of the same rows gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from featurewright.expressions import Expression
from featurewright.relations.aggregates import (
    AGGREGATES,
    Condition,
    LinkFeature,
    SeenRows,
    raw_values,
)
from featurewright.relations.keys import KeyColumn, KeyIndex, KeyTable, Numbers, Places, learn_keys
from featurewright.relations.targets import shrunk_means

MAX_KEYS = 5_000_000
"""Keys of a group whose statistics are held in one place."""

Summed = tuple[Expression | None, Condition | None]  # a value under a condition

_BITS = 30
_N_DIGITS = 3  # that the 53 bits of a number touch
_BLOCK_ROWS = 1 << 22  # whose digits of 30 bits add up exactly in 53 bits


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums of numbers by key, without rounding.

    Parameters
    ----------
    n_keys : int
        Number of sums.
    digits : dict of int to ndarray of int64
        For each power of 2**30, how often it is in the sums.

    Examples
    --------
    >>> values = np.array([1e16, 1.0, -1e16, 0.5])
    >>> ExactSums.of(values, np.array([0, 0, 0, 1]), 2).totals().tolist()
    [1.0, 0.5]
    """

    n_keys: int
    digits: dict[int, Places] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Numbers, codes: Places, n_keys: int) -> ExactSums:
        """Return the sums of the finite values by the numbers of their keys."""
        sums = cls(n_keys)
        for start in range(0, len(values), _BLOCK_ROWS):
            block = values[start : start + _BLOCK_ROWS]
            known = np.isfinite(block)
            sums._add_block(block[known], codes[start : start + _BLOCK_ROWS][known])
        return sums

    def _add_block(self, rest: Numbers, codes: Places) -> None:
        """Add values."""
        powers = np.frexp(rest)[1] // _BITS
        for _ in range(_N_DIGITS):
            digit = np.trunc(np.ldexp(rest, -_BITS * powers))
            rest = rest - np.ldexp(digit, _BITS * powers)
            for power in np.unique(powers).tolist():
                mine = powers == power
                found = np.bincount(codes[mine], digit[mine], self.n_keys).astype(np.int64)
                self.digits[power] = self.digits.get(power, 0) + found
            powers = powers - 1

    def totals(self) -> Numbers:
        """Return the sums as numbers."""
        if not self.digits:
            return np.zeros(self.n_keys)
        lowest, highest = min(self.digits), max(self.digits)
        none = np.zeros(self.n_keys, np.int64)
        plain = [self.digits.get(power, none) for power in range(lowest, highest + 1)]
        negative = _carried(plain)[-1] < 0
        digits = _carried([np.where(negative, -own, own) for own in plain])
        total = np.zeros(self.n_keys)
        for place, own in enumerate(digits):  # all of one sign, the smallest first
            total += np.ldexp(own.astype(np.float64), _BITS * (lowest + place))
        return np.where(negative, -total, total)


def _carried(digits: list[Places]) -> list[Places]:
    """Return digits of which all but the last are below 2**30."""
    carried, carry = [], np.zeros(len(digits[0]), np.int64)
    for own in digits:
        value = own + carry
        carry = value >> _BITS
        carried.append(value - (carry << _BITS))
    return [*carried, carry]


# What is summed up ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ValueSums:
    """A value of the rows of each key: its number, sums, and the two lowest and highest values.

    Parameters
    ----------
    centre : float
        What was subtracted from the values that are summed up, and squared.
    count : ndarray of int64
        How many are known.
    total, squares : ExactSums
        Their sums, and those of their squares.
    lowest, highest : ndarray of shape (2, n_keys)
        The extreme values; infinite where there are too few.
    """

    centre: float
    count: Places
    total: ExactSums
    squares: ExactSums
    lowest: Numbers
    highest: Numbers

    @classmethod
    def of(
        cls,
        values: Numbers,
        codes: Places,
        n_keys: int,
        centre: float,
        *,
        extremes: bool = True,
    ) -> ValueSums:
        """Return those of some rows; NaN is left out, and so are extremes that nobody asks for."""
        known = ~np.isnan(values)
        values, codes = values[known], codes[known]
        centred = values - centre
        with np.errstate(over="ignore"):
            squares = centred * centred
        ranked = (values, codes) if extremes else (values[:0], codes[:0])
        return cls(
            centre,
            np.bincount(codes, minlength=n_keys).astype(np.int64),
            ExactSums.of(centred, codes, n_keys),
            ExactSums.of(squares, codes, n_keys),
            _two_lowest(*ranked, n_keys),
            -_two_lowest(-ranked[0], ranked[1], n_keys),
        )

    def seen_by(self, keys: Places, own: Numbers | None) -> Moments:
        """Return what rows with some keys see, each without its own value where that is given."""
        held = np.append(self.total.totals(), 0.0), np.append(self.squares.totals(), 0.0)
        count = np.append(self.count, 0)[keys].astype(np.float64)
        total, squares = held[0][keys], held[1][keys]
        low = np.column_stack([self.lowest, np.full(2, np.inf)])[:, keys]
        high = np.column_stack([self.highest, np.full(2, -np.inf)])[:, keys]
        lowest, highest = low[0], high[0]
        if own is not None:
            mine = ~np.isnan(own) & (keys >= 0)
            centred = np.where(mine, own - self.centre, 0.0)
            count = count - mine
            total, squares = total - centred, squares - centred**2
            lowest = np.where(mine & (own == low[0]), low[1], lowest)
            highest = np.where(mine & (own == high[0]), high[1], highest)
        extremes = np.stack([lowest, highest])
        extremes[~np.isfinite(extremes)] = np.nan
        return Moments(self.centre, np.stack([count, total, squares]), extremes)


@dataclass(frozen=True, eq=False)
class Moments:
    """What aggregates of groups are computed from; stands for a `ValueColumn`."""

    centre: float
    sums: Numbers
    both: Numbers

    def moments(self, seen: SeenRows) -> tuple[float, Numbers]:
        """Return what is subtracted from values, and the count and sums of each row."""
        return self.centre, self.sums

    def extremes(self, seen: SeenRows) -> Numbers:
        """Return the minimum and the maximum for each row."""
        return self.both


def _two_lowest(values: Numbers, codes: Places, n_keys: int) -> Numbers:
    """Return the two lowest values of each key; infinite where there are fewer."""
    known = np.isfinite(values)
    values, codes = values[known], codes[known]
    order = np.lexsort((values, codes))
    counts = np.bincount(codes, minlength=n_keys)
    first = np.cumsum(counts) - counts
    found = np.full((2, n_keys), np.inf)
    for place in range(2):
        some = counts > place
        found[place, some] = values[order][first[some] + place]
    return found


@dataclass(frozen=True, eq=False)
class TargetSums:
    """Targets of the rows of each key, in one fold; each column has its centre subtracted.

    Parameters
    ----------
    n_rows : ndarray of int64 of shape (n_keys + 1,)
        Rows; the last place here and below is of rows without a key.
    totals : list of ExactSums
        The sum of each column.
    squares : list of ExactSums
        The sum of the squares of each column, over all rows with a key.
    """

    n_rows: Places
    totals: list[ExactSums]
    squares: list[ExactSums]

    @classmethod
    def of(cls, target: Numbers, codes: Places, n_keys: int) -> TargetSums:
        """Return those of some rows."""
        places = np.where(codes >= 0, codes, n_keys)
        keyed = codes >= 0
        nothing = np.zeros(int(keyed.sum()), np.int64)
        return cls(
            np.bincount(places, minlength=n_keys + 1).astype(np.int64),
            [ExactSums.of(own, places, n_keys + 1) for own in target.T],
            [ExactSums.of(own[keyed] ** 2, nothing, 1) for own in target.T],
        )


@dataclass(frozen=True, eq=False)
class KeySums:
    """What is summed up of the rows of a group, by key.

    Parameters
    ----------
    index : KeyIndex
        The keys.
    n_rows : ndarray of int64
        Rows of each key.
    values : list of ValueSums
        One for each value under a condition.
    folds : list of TargetSums
        Targets, by fold.
    """

    index: KeyIndex
    n_rows: Places
    values: list[ValueSums]
    folds: list[TargetSums]


def join_key_sums(parts: Sequence[KeySums], title: str) -> KeySums:
    """Return what is summed up of several parts."""
    index, places = _join_indexes([part.index for part in parts], title)
    n_keys = index.n_keys
    if n_keys > MAX_KEYS:
        raise ValueError(
            f"Link {title!r} has more than {MAX_KEYS:,} keys, more than statistics are held of in "
            "one place: link the table to itself as another one (Link(table, on=…)), or leave the "
            "link out."
        )
    wide = [np.append(own, n_keys) for own in places]
    return KeySums(
        index,
        _add_counts([part.n_rows for part in parts], places, n_keys),
        [
            _join_values(own, places, n_keys)
            for own in zip(*(part.values for part in parts), strict=True)
        ],
        [
            _join_targets(own, wide, n_keys + 1)
            for own in zip(*(part.folds for part in parts), strict=True)
        ],
    )


def _add_counts(parts: Sequence[Places], places: Sequence[Places], size: int) -> Places:
    """Add up counts by key."""
    out = np.zeros(size, np.int64)
    for own, at in zip(parts, places, strict=True):
        out[at] += own  # the keys of one part differ from each other
    return out


def _add_sums(parts: Sequence[ExactSums], places: Sequence[Places], size: int) -> ExactSums:
    """Add up sums by key."""
    made = ExactSums(size)
    for part, at in zip(parts, places, strict=True):
        for power, own in part.digits.items():
            total = made.digits.setdefault(power, np.zeros(size, np.int64))
            total[at] += own
    return made


def _join_values(parts: Sequence[ValueSums], places: Sequence[Places], n_keys: int) -> ValueSums:
    """Join what is known of a value in several parts."""
    codes = np.concatenate([np.tile(at, 2) for at in places])
    lowest = np.concatenate([part.lowest.ravel() for part in parts])
    highest = np.concatenate([part.highest.ravel() for part in parts])
    return ValueSums(
        parts[0].centre,
        _add_counts([part.count for part in parts], places, n_keys),
        _add_sums([part.total for part in parts], places, n_keys),
        _add_sums([part.squares for part in parts], places, n_keys),
        _two_lowest(lowest, codes, n_keys),
        -_two_lowest(-highest, codes, n_keys),
    )


def _join_targets(parts: Sequence[TargetSums], places: Sequence[Places], size: int) -> TargetSums:
    """Join the targets of several parts."""
    columns = range(len(parts[0].totals))
    one = [np.zeros(1, np.int64)] * len(parts)
    return TargetSums(
        _add_counts([part.n_rows for part in parts], places, size),
        [_add_sums([part.totals[k] for part in parts], places, size) for k in columns],
        [_add_sums([part.squares[k] for part in parts], one, 1) for k in columns],
    )


def _join_indexes(parts: Sequence[KeyIndex], title: str) -> tuple[KeyIndex, list[Places]]:
    """Return the keys of several parts, and the numbers that those of each part have among them."""
    listed = [part.values() for part in parts]
    columns = []
    for at in range(len(parts[0].levels)):
        kinds = sorted({part.kinds[at] for part in parts if part.kinds[at]})
        if len(kinds) > 1:
            raise TypeError(
                f"A key of link {title!r} holds {' in one partition and '.join(kinds)} in another: "
                "convert it to one of them."
            )
        values: Any = [value for own in listed for value in own[at]]
        if kinds != ["text"]:
            whole = bool(values) and all(isinstance(value, int) for value in values)
            values = np.array(values, np.int64 if whole else np.float64)
        columns.append(KeyColumn("".join(kinds), values, np.ones(len(values), bool)))
    index, codes = learn_keys(columns, [title] * len(columns))
    return index, np.split(codes, np.cumsum([part.n_keys for part in parts])[:-1])


# What is made of them ---------------------------------------------------------------------------


def group_values(
    sums: KeySums,
    features: Sequence[LinkFeature],
    what: Sequence[Summed],
    keys: Places,
    matrix: Numbers | None = None,
) -> Numbers:
    """Return features of rows with some keys; -1 is none.

    Parameters
    ----------
    sums : KeySums
        The sums.
    features : sequence of LinkFeature
        The features.
    what : sequence of (value, condition)
        What the sums are of.
    keys : ndarray
        The number of each row's key.
    matrix : ndarray, optional
        The columns of the rows, where these are among those summed up and are to be left out.
    """
    none = np.zeros(len(keys), np.int64)
    own = None if matrix is None else np.where(keys >= 0, 0, -1)
    seen = SeenRows(keys, none, np.append(sums.n_rows, 0)[keys], None, own)
    columns = {
        summed: total.seen_by(keys, None if matrix is None else raw_values(matrix, None, *summed))
        for summed, total in zip(what, sums.values, strict=True)
    }
    out = np.empty((len(keys), len(features)))
    for at, feature in enumerate(features):
        column: Any = columns[feature.value, feature.condition]
        out[:, at] = AGGREGATES[feature.aggregate].compute(column, seen)
    return out


def group_means(
    names: tuple[str, ...], sums: KeySums, centres: Numbers
) -> tuple[KeyTable, list[KeyTable]]:
    """Return the mean targets of groups over all rows, and for each fold those over the others.

    The latter are shrunk towards the mean of all rows, as those of `out_of_fold` are.
    """
    n_rows = np.stack([fold.n_rows for fold in sums.folds])
    columns = range(len(centres))
    totals = np.stack(
        [np.column_stack([fold.totals[k].totals() for k in columns]) for fold in sums.folds]
    )
    squares = np.stack(
        [np.array([fold.squares[k].totals()[0] for k in columns]) for fold in sums.folds]
    )
    every = (n_rows.sum(axis=0), totals.sum(axis=0), squares.sum(axis=0))
    whole = _means(names, sums.index, every, None)
    others = [
        _means(
            names,
            sums.index,
            (every[0] - n_rows[fold], every[1] - totals[fold], every[2] - squares[fold]),
            whole.other,
        )
        for fold in range(len(sums.folds))
    ]
    return _shifted(whole, centres), [_shifted(own, centres) for own in others]


def _means(
    names: tuple[str, ...],
    index: KeyIndex,
    sums: tuple[Places, Numbers, Numbers],
    overall: Numbers | None,
) -> KeyTable:
    """Return the shrunk means of counts, sums and sums of squares."""
    n_rows, totals, squares = sums
    mean = totals.sum(axis=0) / max(1, int(n_rows.sum()))
    counts, known = n_rows[:-1, np.newaxis].astype(np.float64), totals[:-1]
    around = squares - 2.0 * mean * known.sum(axis=0) + counts.sum() * mean**2
    return shrunk_means(names, index, counts, known, mean=mean, total=around, overall=overall)


def _shifted(table: KeyTable, centres: Numbers) -> KeyTable:
    """Return means with what was subtracted from the targets added again."""
    return replace(table, values=table.values + centres, other=table.other + centres)
