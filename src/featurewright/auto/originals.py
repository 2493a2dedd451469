"""The original columns as finite numbers, for any estimator."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions import Domain
from featurewright.tables import MAX_CODES, Schema

Matrix = NDArray[np.float64]

MAX_LEVELS = 30  # levels of a category that become columns of their own
_MIN_LEVEL_ROWS = 2  # rows that a level needs for that
ORIGINAL_KINDS = ("number", "missing", "level", "frequency", "code")
"""Kinds of output columns that come from one original column."""

_REFUSED = re.compile(r'[\[\]{}<>",:]')  # in names of columns, by LightGBM or XGBoost


@dataclass(frozen=True)
class OutputColumn:
    """One column of the output.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        "number", "missing" (1 where the value is missing), "level" (1 where the row has it),
        "frequency" (of the row's label) or "code" (the number of the label from 1, 0 where it is
        missing or new) of an original column; "formula", "landmark",
        "component", "path", "score" or "vote" of a constructed one.
    source : str
        The original column, or the method that constructed it.

    Examples
    --------
    >>> OutputColumn("colour = red", "level", "colour").kind
    'level'
    """

    name: str
    kind: str
    source: str


@dataclass(frozen=True, eq=False)
class Originals:
    """The original columns as finite numbers: what `fit` learned to compute them.

    Parameters
    ----------
    columns : tuple of OutputColumn
        The result.
    steps : tuple of (str, int, float)
        For each of them its kind, the position in the encoded table, and the number it needs: the
        fill of a "number", the code of a "level", the number of levels of a "code".
    frequencies : dict of int to ndarray
        Share of the training rows of each level, by position of the category.
    ranges : dict of int to (float, float)
        The least and the greatest value of the training rows, by position of the number.

    Examples
    --------
    >>> import polars as pl
    >>> from featurewright.tables import encode, learn_schema
    >>> frame = pl.DataFrame({"size": [1.0, None, 5.0], "colour": ["red", "blue", "blue"]})
    >>> schema = learn_schema(frame)
    >>> originals = learn_originals(encode(schema, frame), schema)
    >>> [column.name for column in originals.columns]
    ['size', 'size is missing', 'colour = blue']
    >>> originals.compute(encode(schema, frame))
    array([[1., 0., 0.],
           [3., 1., 1.],
           [5., 0., 1.]])
    """

    columns: tuple[OutputColumn, ...]
    steps: tuple[tuple[str, int, float], ...]
    frequencies: dict[int, Matrix]
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def categories(self) -> list[int]:
        """Positions of the columns of codes, which are no numbers."""
        return [place for place, (kind, _, _) in enumerate(self.steps) if kind == "code"]

    @property
    def numbers(self) -> list[int]:
        """Positions in the encoded table of the columns of numbers and booleans."""
        return [at for kind, at, _ in self.steps if kind == "number"]

    def with_fills(
        self, schema: Schema, medians: Matrix, lowest: Matrix, highest: Matrix
    ) -> Originals:
        """Return them with other fills and ranges of `numbers`; NaN leaves both as they are."""
        own = dict(zip(self.numbers, medians.tolist(), strict=True))
        steps = []
        ranges = {
            at: (float(low), float(high))
            for at, low, high in zip(self.numbers, lowest, highest, strict=True)
            if at in self.ranges and not np.isnan(own[at])
        }
        for kind, at, value in self.steps:
            fill = value
            if kind == "number" and not np.isnan(own[at]):
                boolean = schema.domains[at] == Domain.BOOLEAN
                fill = float(own[at] > 0.5) if boolean else own[at]
            steps.append((kind, at, fill))
        return replace(self, steps=tuple(steps), ranges={**self.ranges, **ranges})

    def with_shares(self, shares: dict[int, Matrix]) -> Originals:
        """Return them with other shares of levels, by position of the category."""
        return replace(self, frequencies={**self.frequencies, **shares})

    def compute(self, matrix: Matrix) -> Matrix:
        """Return the columns of encoded rows."""
        out = np.empty((len(matrix), len(self.steps)))
        for place, (kind, at, value) in enumerate(self.steps):
            column = matrix[:, at]
            if kind == "number":
                out[:, place] = np.where(np.isnan(column), value, column)
            elif kind == "missing":
                out[:, place] = np.isnan(column)
            elif kind == "level":
                out[:, place] = column == value
            elif kind == "code":
                out[:, place] = np.where(np.isnan(column), 0.0, column + 1.0)
            else:
                shares = self.frequencies[at]
                codes = np.where(np.isnan(column), 0.0, column).astype(np.intp)
                out[:, place] = np.where(np.isnan(column), 0.0, shares[codes])
        return out

    def clip(self, columns: Matrix) -> Matrix:
        """Return the columns with numbers clipped to the range of the training rows.

        Constructed columns end there too. A linear model that weighs a number against formulas of
        it would be far off where the number went on alone.
        """
        out = columns.copy()
        for place, (kind, at, _) in enumerate(self.steps):
            if kind == "number" and at in self.ranges:
                np.clip(columns[:, place], *self.ranges[at], out=out[:, place])
        return out


def learn_originals(
    matrix: NDArray[np.floating[Any]],
    schema: Schema,
    *,
    codes: bool = False,
    endless: Collection[str] = (),
) -> Originals:
    """Return the original columns as learned from training rows: fills, ranges and levels.

    Categories become columns of codes, where these are asked for: for estimators that take them.
    Numbers that are endless, such as dates, have no range.
    """
    columns: list[OutputColumn] = []
    steps: list[tuple[str, int, float]] = []
    frequencies: dict[int, Matrix] = {}
    ranges: dict[int, tuple[float, float]] = {}
    told: set[bytes] = set()
    taken = set(schema.names)

    def add(name: str, kind: str, at: int, value: float) -> None:
        while kind != "number" and name in taken:
            name += "'"
        taken.add(name)
        columns.append(OutputColumn(name, kind, schema.names[at]))
        steps.append((kind, at, value))

    for at, name in enumerate(schema.names):
        values = np.asarray(matrix[:, at], dtype=np.float64)
        known = values[~np.isnan(values)]
        if schema.domains[at] == Domain.CATEGORY:
            levels = schema.levels[at] or ()
            if codes and len(levels) <= MAX_CODES:
                add(f"code of {name}", "code", at, float(len(levels)))
                continue
            counts = np.bincount(known.astype(np.intp), minlength=len(levels))
            chosen = _common_levels(counts)
            if len(chosen) == 2 and len(known) == len(values):
                chosen = chosen[:1]  # the second is its complement
            for code in chosen:
                add(f"{name} = {levels[code]}", "level", at, float(code))
            if len(chosen) < np.count_nonzero(counts) - 1:
                frequencies[at] = counts / max(1, len(values))
                add(f"frequency of {name}", "frequency", at, 0.0)
            continue
        fill = float(np.median(known)) if len(known) else 0.0
        if schema.domains[at] == Domain.BOOLEAN:
            fill = float(fill > 0.5)
        elif len(known) and name not in endless:
            ranges[at] = (float(known.min()), float(known.max()))
        add(name, "number", at, fill)
        gaps = np.packbits(np.isnan(values)).tobytes()
        if 0 < len(known) < len(values) and gaps not in told:
            told.add(
                gaps
            )  # columns that are missing together, such as parts of a date, say it once
            add(f"{name} is missing", "missing", at, 0.0)
    return Originals(tuple(columns), tuple(steps), frequencies, ranges)


def _common_levels(counts: NDArray[np.intp]) -> list[int]:
    """Return the codes of the levels that become columns, the common ones, in increasing order."""
    enough = np.flatnonzero(counts >= _MIN_LEVEL_ROWS)
    if not len(enough):
        enough = np.flatnonzero(counts)
    most = enough[np.argsort(-counts[enough], kind="stable")[:MAX_LEVELS]]
    return sorted(int(code) for code in most)


def unique_names(columns: list[OutputColumn]) -> tuple[OutputColumn, ...]:
    """Return columns with distinct names: of equal ones, all but the first get a prime."""
    taken: set[str] = set()
    found = []
    for column in columns:
        name = column.name
        while name in taken:
            name += "'"
        taken.add(name)
        found.append(OutputColumn(name, column.kind, column.source))
    return tuple(found)


def short_names(columns: tuple[OutputColumn, ...]) -> dict[str, str]:
    """Return short names of constructed columns, and of others that LightGBM or XGBoost refuse.

    Parameters
    ----------
    columns : tuple of OutputColumn
        All columns of the output, with distinct names.

    Returns
    -------
    dict of str to str
        The names that have a short one, by short name, in the order of the columns.

    Examples
    --------
    >>> size, ratio = OutputColumn("a", "number", "a"), OutputColumn("a / b", "formula", "batch")
    >>> short_names((size, ratio))
    {'fw_01': 'a / b'}
    """
    long = [
        column.name
        for column in columns
        if column.kind not in ORIGINAL_KINDS or _REFUSED.search(column.name)
    ]
    kept = {column.name for column in columns}.difference(long)
    width = max(2, len(str(len(long))))
    prefix = "fw_"
    while any(name.startswith(prefix) for name in kept):
        prefix = f"fw_{prefix}"
    return {f"{prefix}{number:0{width}d}": name for number, name in enumerate(long, start=1)}
