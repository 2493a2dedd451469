"""Fitted pieces of the output: formulas, and chosen columns of fitted transformers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featurewright.auto.originals import OutputColumn
from featurewright.auto.selection import pursue
from featurewright.engine.compiled_grammar import compile_operators
from featurewright.engine.features import evaluate_expressions
from featurewright.expressions import Feature
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

_TAIL = 0.01  # quantiles from which the usual range of a column is told
_SPANS = 1.0  # a column is cut so many usual ranges beyond them, or where its values end
SOME_ROWS = 20_000  # rows looked at for fills and ranges
LEAST_VOTE = 0.01  # a share of votes below counts as this much, so that it has a logarithm


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that one method constructed.

    Parameters
    ----------
    method : str
        The method.
    kind : str
        "formula", "landmark", "component", "path", "score", or "vote" for logarithms of votes.
    features : tuple of Feature
        The formulas, where it has any.
    transformer : estimator or None
        The fitted transformer, where there are no formulas.
    keep : ndarray of int
        Which of its columns are used.
    names : tuple of str
        Names of the columns.
    fill : ndarray
        What stands in for undefined values: the median.
    low, high : ndarray
        Values are cut to this range, that of the training rows without its far tails.

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
        """The columns by name."""
        return tuple(OutputColumn(name, self.kind, self.method) for name in self.names)

    def compute(self, table: EncodedTable) -> Matrix:
        """Compute the columns: undefined values filled, far ones cut."""
        values = self._raw(table)
        holes = ~np.isfinite(values)
        if holes.any():
            values[holes] = np.broadcast_to(self.fill, values.shape)[holes]
        return np.clip(values, self.low, self.high, out=values)

    def undefined(self, table: EncodedTable) -> Matrix:
        """Give the share of rows in which each column is undefined, and filled."""
        if not self.features:
            return np.zeros(len(self.names))
        return np.mean(~np.isfinite(self._raw(_some_rows(table))), axis=0)

    def take(self, chosen: Any) -> Part:
        """Give some of the columns, in the order asked for."""
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

    def _raw(self, table: EncodedTable) -> Matrix:
        """Compute the columns as they come."""
        if self.transformer is None:
            return evaluate_formulas(self.features, table)
        if self.kind == "score":
            return raw_scores(self.transformer, table)[:, self.keep]
        if self.kind == "vote":
            shares = raw_scores(self.transformer, table)[:, self.keep]
            return np.log(np.maximum(shares, LEAST_VOTE))
        values = self.transformer.transform(table)
        if sparse.issparse(values):
            return np.ascontiguousarray(values[:, self.keep].toarray(), dtype=np.float64)
        return np.array(values[:, self.keep], dtype=np.float64)


def _some_rows(table: EncodedTable) -> EncodedTable:
    """Give every so many of the rows of a large table."""
    step = max(1, len(table.matrix) // SOME_ROWS)
    return EncodedTable(table.matrix[::step], table.schema)


def rate_formulas(parts: list[Part], columns: Matrix, target: Matrix) -> list[Part]:
    """Give each formula as its gain the share of a target that it explains beyond those before.

    The original columns, the first ones given, explain first; then the formula that explains most,
    and so on. Formulas of all methods are rated together, so their gains compare.
    """
    widths = [len(part.names) for part in parts]
    starts = columns.shape[1] - sum(widths) + np.cumsum([0, *widths])
    places = [
        place
        for part, start, width in zip(parts, starts, widths, strict=False)
        for place in range(start, start + width)
        if part.features
    ]
    order, shares = pursue(columns[:, : starts[0]], columns[:, places], target, len(places))
    gains = np.zeros(len(places))
    gains[order] = shares
    rated = iter(gains.tolist())
    return [
        replace(part, features=tuple(replace(f, gain=next(rated)) for f in part.features))
        for part in parts
    ]


def raw_scores(model: Any, table: EncodedTable) -> Matrix:
    """Give what trees say together: for numbers, for the second of two classes, for each.

    Boosted trees add up to scores, others vote.
    """
    if hasattr(model, "decision_function"):
        said = model.decision_function(table)
    elif hasattr(model, "predict_proba"):
        said = model.predict_proba(table)
        said = said[:, 1:] if said.shape[1] == 2 else said
    else:
        said = model.predict(table)
    return np.array(said, dtype=np.float64).reshape(len(table.matrix), -1)


def evaluate_formulas(features: Any, table: EncodedTable) -> Matrix:
    """Compute formulas of the built-in operators; undefined is NaN."""
    matrix = np.ascontiguousarray(table.matrix, dtype=np.float64)
    expressions = [feature.expression for feature in features]
    return evaluate_expressions(
        expressions, matrix, (), compile_operators(()).functions(np.float64)
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
    """Learn fills and ranges of columns from training rows."""
    listed = tuple(features)
    if names is None:
        names = [feature.name for feature in listed]
    chosen = np.arange(len(names)) if keep is None else np.asarray(keep, dtype=np.intp)
    blank = np.zeros(len(chosen))
    named = tuple(str(names[k]) for k in chosen)
    part = Part(method, kind, listed, transformer, chosen, named, blank, blank, blank)
    if kind == "path":  # 0 or 1, and never undefined
        return replace(part, high=np.ones(len(chosen)))
    values = part._raw(_some_rows(table))
    values[~np.isfinite(values)] = np.nan
    known = ~np.isnan(values).all(axis=0)
    fill, low, high = blank.copy(), blank.copy(), blank.copy()
    if known.any():
        found = values[:, known]
        first, middle, last = np.nanquantile(found, [_TAIL, 0.5, 1.0 - _TAIL], axis=0)
        span = _SPANS * (last - first)
        # Rare indicators have no usual range: all of their values are in the tails.
        narrow = span == 0
        lowest, highest = np.nanmin(found, axis=0), np.nanmax(found, axis=0)
        fill[known] = middle
        low[known] = np.where(narrow, lowest, np.maximum(lowest, first - span))
        high[known] = np.where(narrow, highest, np.minimum(highest, last + span))
    return replace(part, fill=fill, low=low, high=high)
