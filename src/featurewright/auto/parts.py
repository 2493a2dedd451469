"""Fitted parts of the output: formulas, and chosen columns of fitted transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from featurewright.auto.originals import Originals, OutputColumn
from featurewright.auto.sums import is_sum
from featurewright.engine.features import evaluate_expressions
from featurewright.engine.grammar import compile_operators
from featurewright.estimators.selection import pursue
from featurewright.expressions import Feature
from featurewright.relations.search import explained
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

_TAIL = 0.01  # the usual range of a column lies between this quantile and one minus it
RANGE_LEVELS = (_TAIL, 0.5, 1.0 - _TAIL)
"""The quantiles that fills and ranges are learned from."""
_SPANS = 1.0  # values are clipped this many usual ranges beyond it, or where the values end
_MAX_RANGE_ROWS = 20_000  # rows from which fills and ranges are learned, about
_BLOCK_ROWS = 100_000  # rows whose columns are computed at a time
LEAST_VOTE = 0.01  # smaller shares of votes are raised to this, so that they have a logarithm


@dataclass(frozen=True)
class ColumnKind:
    """How constructed columns of one kind are computed, stored and exported.

    Parameters
    ----------
    compute : callable
        Takes a `Part`, a table and a number of threads, and returns its columns as they come:
        undefined is NaN.
    is_formula : bool
        Whether the columns are formulas; others come from a fitted transformer.
    from_scores : bool
        Whether the columns are predictions of an ensemble, rather than its `transform`.
    is_logarithm : bool
        Whether they are logarithms of those, raised to `LEAST_VOTE`.
    is_indicator : bool
        Whether values are 0 or 1, and never undefined.
    is_described : bool
        Whether `AutoFeatures.profile_` describes the columns.
    is_category : bool
        Whether values are labels, by their numbers from 1; 0 where they are missing. The formulas
        are columns of codes.
    """

    compute: Callable[[Part, EncodedTable, int | None], Matrix]
    is_formula: bool = False
    from_scores: bool = False
    is_logarithm: bool = False
    is_indicator: bool = False
    is_described: bool = True
    is_category: bool = False


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that one method constructed.

    Parameters
    ----------
    method : str
        The method.
    kind : str
        A name of `KINDS`: "formula", "label", "landmark", "component", "path", "score", or "vote"
        for logarithms of votes.
    features : tuple of Feature
        The formulas, where it has any.
    transformer : estimator or None
        The fitted transformer, where there are no formulas.
    keep : ndarray of int
        Which of its columns are used.
    names : tuple of str
        Names of the columns.
    fill : ndarray
        What replaces undefined values: the median.
    low, high : ndarray
        Values are clipped to this range, that of the training rows without its far tails.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> from featurewright.tables import EncodedTable, learn_schema
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 0.0]])
    >>> table = EncodedTable(X, learn_schema(X))
    >>> ratio = Feature.of(parse("x0 / x1", ["x0", "x1"]))
    >>> learn_part("forest", "formula", table, features=[ratio]).compute(table).ravel()
    array([0.5  , 0.75 , 0.625])
    """

    method: str
    kind: str
    features: tuple[Feature, ...]
    transformer: Any
    keep: NDArray[np.intp]
    names: tuple[str, ...]
    fill: Matrix
    low: Matrix
    high: Matrix

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """What the columns are."""
        return tuple(OutputColumn(name, self.kind, self.method) for name in self.names)

    def compute(self, table: EncodedTable, n_jobs: int | None = 1) -> Matrix:
        """Return the columns of some rows: undefined values filled, far ones clipped."""
        return self.finish(self._raw(table, n_jobs))

    def finish(self, values: Matrix) -> Matrix:
        """Fill undefined values and clip far ones, in place."""
        holes = ~np.isfinite(values)
        if holes.any():
            values[holes] = np.broadcast_to(self.fill, values.shape)[holes]
        return np.clip(values, self.low, self.high, out=values)

    def undefined(self, table: EncodedTable) -> Matrix:
        """Return the share of rows in which each column is undefined, and filled."""
        if not self.features:
            return np.zeros(len(self.names))
        return np.mean(~np.isfinite(self._raw(_some_rows(table))), axis=0)

    def raw(self, table: EncodedTable) -> Matrix:
        """Return the columns of some rows as they come; undefined is NaN."""
        return self._raw(table)

    def with_quantiles(self, quantiles: Matrix, lowest: Matrix, highest: Matrix) -> Part:
        """Return a part whose fills and ranges are those of a larger table.

        Columns that are nowhere defined there keep theirs, and so do indicators.
        """
        if KINDS[self.kind].is_indicator or KINDS[self.kind].is_category:
            return self
        found = range_of(quantiles, lowest, highest)
        given = (self.fill, self.low, self.high)
        known = ~np.isnan(quantiles).any(axis=0)
        fill, low, high = (np.where(known, new, old) for new, old in zip(found, given, strict=True))
        return replace(self, fill=fill, low=low, high=high)

    def take(self, chosen: Any) -> Part:
        """Return a part with some of the columns, in the order asked for."""
        which = np.asarray(chosen, dtype=np.intp)
        return replace(
            self,
            features=tuple(self.features[k] for k in which) if self.features else (),
            keep=self.keep[which],
            names=tuple(self.names[k] for k in which),
            fill=self.fill[which],
            low=self.low[which],
            high=self.high[which],
        )

    def _raw(self, table: EncodedTable, n_jobs: int | None = 1) -> Matrix:
        """Return the columns of some rows as they come."""
        return KINDS[self.kind].compute(self, table, n_jobs)


def _formula_values(part: Part, table: EncodedTable, n_jobs: int | None) -> Matrix:
    """Return the values of formulas."""
    return evaluate_formulas(part.features, table, n_jobs)


def _label_numbers(part: Part, table: EncodedTable, n_jobs: int | None) -> Matrix:
    """Return labels by their numbers from 1, and 0 where they are missing."""
    codes = _formula_values(part, table, n_jobs)
    return np.where(np.isnan(codes), 0.0, codes + 1.0)


def _transformed(part: Part, table: EncodedTable, n_jobs: int | None) -> Matrix:
    """Return the chosen columns of a transformer."""
    values = part.transformer.transform(table)
    if sparse.issparse(values):
        return np.ascontiguousarray(values[:, part.keep].toarray(), dtype=np.float64)
    return np.array(values[:, part.keep], dtype=np.float64)


def _scored(part: Part, table: EncodedTable, n_jobs: int | None) -> Matrix:
    """Return the chosen scores of an ensemble."""
    return raw_scores(part.transformer, table)[:, part.keep]


def _log_votes(part: Part, table: EncodedTable, n_jobs: int | None) -> Matrix:
    """Return the logarithms of the chosen shares of votes."""
    return np.log(np.maximum(_scored(part, table, n_jobs), LEAST_VOTE))


KINDS = {
    "formula": ColumnKind(_formula_values, is_formula=True),
    "label": ColumnKind(_label_numbers, is_formula=True, is_described=False, is_category=True),
    "landmark": ColumnKind(_transformed),
    "component": ColumnKind(_transformed),
    "path": ColumnKind(_transformed, is_indicator=True, is_described=False),
    "score": ColumnKind(_scored, from_scores=True),
    "vote": ColumnKind(_log_votes, from_scores=True, is_logarithm=True),
}
"""What constructed columns may be; the names are stored in model files."""


def category_places(originals: Originals, parts: Iterable[tuple[str, int]]) -> list[int]:
    """Return which output columns are categories, by the kinds and widths of the parts."""
    places = list(originals.categories)
    first = len(originals.columns)
    for kind, width in parts:
        if KINDS[kind].is_category:
            places += range(first, first + width)
        first += width
    return places


def _some_rows(table: EncodedTable) -> EncodedTable:
    """Return an evenly spaced subsample of the rows of a large table."""
    step = max(1, len(table.matrix) // _MAX_RANGE_ROWS)
    return EncodedTable(table.matrix[::step], table.schema)


def compute_columns(
    originals: Originals,
    parts: Sequence[Part],
    table: EncodedTable,
    n_jobs: int | None = 1,
    dtype: DTypeLike = np.float64,
) -> NDArray[np.floating[Any]]:
    """Return original and constructed columns side by side, computed some rows at a time.

    Beside constructed columns, the original ones are clipped too.
    """
    widths = [len(originals.columns), *(len(part.names) for part in parts)]
    ends = np.cumsum(widths)
    out = np.empty((len(table.matrix), int(ends[-1])), dtype=dtype)
    for start in range(0, len(out), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block = EncodedTable(table.matrix[rows], table.schema)
        base = originals.compute(np.asarray(block.matrix, np.float64))
        out[rows, : widths[0]] = originals.clip(base) if parts else base
        for part, end, width in zip(parts, ends[1:], widths[1:], strict=True):
            out[rows, end - width : end] = part.compute(block, n_jobs)
    return out


def rate_formulas(parts: list[Part], columns: Matrix, target: Matrix) -> list[Part]:
    """Set the gain of each formula to the share of a target that it explains beyond the others.

    The original columns, the first ones of `columns`, come first; then the formula that explains
    most, and so on. Formulas of all methods are rated together, so their gains compare. Sums of
    columns explain nothing beyond these: they are rated by themselves.
    """
    widths = [len(part.names) for part in parts]
    starts = columns.shape[1] - sum(widths) + np.cumsum([0, *widths])
    columns = columns.copy()
    for part, start, width in zip(parts, starts, widths, strict=False):
        if KINDS[part.kind].is_category:
            for place in range(start, start + width):
                n_levels = int(part.high[place - start]) + 1
                columns[:, place] = explained(columns[:, place], target, n_levels)
    places = [
        place
        for part, start, width in zip(parts, starts, widths, strict=False)
        for place in range(start, start + width)
        if part.features
    ]
    order, shares = pursue(columns[:, : starts[0]], columns[:, places], target, len(places))
    gains = np.zeros(len(places))
    gains[order] = shares
    formulas = [feature.expression for part in parts for feature in part.features]
    sums = np.array([k for k, formula in enumerate(formulas) if is_sum(formula)], np.intp)
    order, shares = pursue(
        np.empty((len(columns), 0)), columns[:, np.array(places, np.intp)[sums]], target, len(sums)
    )
    gains[sums[order]] = shares
    rated = iter(gains.tolist())
    return [
        replace(part, features=tuple(replace(f, gain=next(rated)) for f in part.features))
        for part in parts
    ]


def join_formulas(parts: Sequence[Part]) -> Part:
    """Join parts of one method that have formulas."""
    keep = np.arange(sum(len(part.names) for part in parts))
    return replace(
        parts[0],
        features=tuple(feature for part in parts for feature in part.features),
        keep=keep,
        names=tuple(name for part in parts for name in part.names),
        fill=np.concatenate([part.fill for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
    )


def raw_scores(model: Any, table: EncodedTable) -> Matrix:
    """Return the scores or votes of trees: one column for numbers or two classes, else one each.

    Boosted trees have scores, others shares of votes.
    """
    if hasattr(model, "decision_function"):
        scores = model.decision_function(table)
    elif hasattr(model, "predict_proba"):
        scores = model.predict_proba(table)
        scores = scores[:, 1:] if scores.shape[1] == 2 else scores
    else:
        scores = model.predict(table)
    return np.array(scores, dtype=np.float64).reshape(len(table.matrix), -1)


def evaluate_formulas(formulas: Any, table: EncodedTable, n_jobs: int | None = 1) -> Matrix:
    """Return the values of formulas of built-in operators, named or not; undefined is NaN."""
    matrix = np.ascontiguousarray(table.matrix, dtype=np.float64)
    expressions = [f.expression if isinstance(f, Feature) else f for f in formulas]
    return evaluate_expressions(
        expressions, matrix, (), compile_operators(()).functions(np.float64), n_jobs
    )


def learn_part(
    method: str,
    kind: str,
    table: EncodedTable,
    *,
    features: Any = (),
    transformer: Any = None,
    names: Any = None,
    keep: Any = None,
) -> Part:
    """Return a part whose fills and ranges are learned from training rows."""
    return learn_values(
        method, kind, table, features=features, transformer=transformer, names=names, keep=keep
    ).part


class Constructed(NamedTuple):
    """A part, and its columns of the training rows; None where these are too many."""

    part: Part
    values: Matrix | None


def learn_values(
    method: str,
    kind: str,
    table: EncodedTable,
    *,
    features: Any = (),
    transformer: Any = None,
    names: Any = None,
    keep: Any = None,
    raw: Matrix | None = None,
) -> Constructed:
    """Return a part whose fills and ranges are learned from training rows, and its values there.

    Where the columns have been computed already, `raw` has them as they come.
    """
    listed = tuple(features)
    if names is None:
        names = [feature.name for feature in listed]
    chosen = np.arange(len(names)) if keep is None else np.asarray(keep, dtype=np.intp)
    blank = np.zeros(len(chosen))
    named = tuple(str(names[k]) for k in chosen)
    part = Part(method, kind, listed, transformer, chosen, named, blank, blank, blank)
    if KINDS[kind].is_indicator:
        return Constructed(replace(part, high=np.ones(len(chosen))), raw)
    if KINDS[kind].is_category:
        levels = [table.schema.levels[f.expression.columns()[0]] or () for f in listed]
        return Constructed(replace(part, high=np.array([float(len(own)) for own in levels])), raw)
    sample = _some_rows(table)
    values = part._raw(sample) if raw is None else raw
    fill, low, high = _learn_ranges(values)
    part = replace(part, fill=fill, low=low, high=high)
    return Constructed(part, part.finish(values) if len(values) == len(table.matrix) else None)


def finish_values(values: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Fill undefined values and clip far ones by what the values say; return the ranges too."""
    fill, low, high = _learn_ranges(values)
    return np.clip(np.where(np.isfinite(values), values, fill), low, high), low, high


def _learn_ranges(values: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return what replaces undefined values of each column, and the range it is clipped to.

    What is not finite becomes NaN in place.
    """
    values[~np.isfinite(values)] = np.nan
    known = ~np.isnan(values).all(axis=0)
    ranges = np.zeros((3, values.shape[1]))
    if known.any():
        found = values[:, known]
        quantiles = _quantiles(found, RANGE_LEVELS)
        lowest, highest = np.nanmin(found, axis=0), np.nanmax(found, axis=0)
        ranges[:, known] = range_of(quantiles, lowest, highest)
    fill, low, high = ranges
    return fill, low, high


def range_of(quantiles: Matrix, lowest: Matrix, highest: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return what replaces undefined values, and the range that values are clipped to.

    Parameters
    ----------
    quantiles : ndarray of shape (3, n_columns)
        Those of `RANGE_LEVELS`.
    lowest, highest : ndarray of shape (n_columns,)
        The extremes.
    """
    first, middle, last = quantiles
    span = _SPANS * (last - first)
    # Rare indicators have no usual range: all of their values are in the tails.
    narrow = span == 0
    low = np.where(narrow, lowest, np.maximum(lowest, first - span))
    high = np.where(narrow, highest, np.minimum(highest, last + span))
    return middle, low, high


def _quantiles(columns: Matrix, levels: Sequence[float]) -> Matrix:
    """Return quantiles of columns without their missing values, each of which is somewhere known.

    NumPy takes columns with missing values one by one, which is slow.
    """
    complete = ~np.isnan(columns).any(axis=0)
    found = np.empty((len(levels), columns.shape[1]))
    found[:, complete] = np.quantile(columns[:, complete], levels, axis=0)
    if not complete.all():
        found[:, ~complete] = np.nanquantile(columns[:, ~complete], levels, axis=0)
    return found
