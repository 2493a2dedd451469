"""The base of the learners that construct features: tables, targets, features, transforming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine import criteria
from featurewright.engine.buffers import Target
from featurewright.engine.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from featurewright.engine.features import (
    MAX_FEATURES,
    column_importances,
    column_interactions,
    evaluate_expressions,
    list_features,
    rank_programs,
)
from featurewright.engine.forest import Forest
from featurewright.engine.grammar import user_operators
from featurewright.estimators.construction import named_operators
from featurewright.estimators.parameters import DeclaredParameters
from featurewright.expressions import Column, Expression, Feature, Operator
from featurewright.tables import (
    MultiTarget,
    Schema,
    apply_class_weight,
    apply_table,
    check_input_names,
    check_weights,
    fit_table,
    holds_numbers,
    read_classes,
    read_numbers,
)

_FILL_ROWS = 2_000  # rows that the constants for undefined values are learned from
_NO_CODES = np.empty(0, np.int32)


class ConstructiveLearner(DeclaredParameters, TransformerMixin, BaseEstimator):
    """A learner over constructed expressions that is also the transformer of its best ones."""

    forest_: Forest
    _class_criterion = "normalized_gain"  # the default where there are classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Reading ------------------------------------------------------------------------------------

    def _read_table(self, X: Any) -> tuple[npt.NDArray[np.float32], Any]:
        """Read the training table and keep its schema; return it and the operators."""
        operators = self._wanted_operators()
        joint = any(operator.name == "equal" for operator in operators or ())
        matrix, schema = fit_table(self, X, dtype=np.float32, order="C", joint_levels=joint)
        self._schema: Schema = schema
        return matrix, operators

    def _wanted_operators(self) -> tuple[Operator, ...] | None:
        """Return the operators that were asked for; None stands for the default set."""
        return named_operators(self.operators)

    def _read_rows(self, X: Any) -> npt.NDArray[np.float32]:
        """Read the table of a prediction."""
        check_is_fitted(self)
        return apply_table(self, self._schema, X, dtype=np.float32, order="C")

    def _draw_seed(self) -> int:
        """Draw the random number that all trees' seeds are derived from."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    # Features -----------------------------------------------------------------------------------

    def _note_features(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> None:
        """List the features of the trees, and learn the constants for undefined values."""
        self.features_: tuple[Feature, ...] = self._find_features(matrix, weights)
        self.feature_importances_ = column_importances(self.forest_, self._schema.n_columns)
        self._learn_fill(matrix, weights)

    @property
    def interactions_(self) -> tuple[tuple[str, str, float], ...]:
        """Pairs of columns that formulas of the trees join, by their share of the gain."""
        check_is_fitted(self)
        if not hasattr(self, "forest_"):
            raise AttributeError(f"{type(self).__name__} grows no trees and has no interactions_.")
        names = self._schema.names
        pairs, shares = column_interactions(self.forest_)
        return tuple(
            (str(names[a]), str(names[b]), float(share))
            for (a, b), share in zip(pairs, shares, strict=True)
        )

    def _find_features(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> tuple[Feature, ...]:
        """Return the constructed expressions of the trees, best first."""
        ranking = rank_programs(self.forest_, self._construction.compiled.functions(np.float32))
        operators = user_operators(self._construction.operators)
        limit = max(MAX_FEATURES, 2 * self.n_features_out)
        return list_features(ranking, self._schema, operators, limit)

    def _learn_fill(
        self, matrix: npt.NDArray[np.float32], weights: npt.NDArray[np.floating[Any]]
    ) -> None:
        """Learn the constants for undefined values."""
        rows = some_rows(weights)
        everything = [*self._originals(), *self.features_]
        values = self._evaluate(everything, np.array(matrix[rows], dtype=np.float64))
        known = ~np.isnan(values).all(axis=0)
        fill = np.zeros(values.shape[1])
        fill[known] = np.nanmedian(values[:, known], axis=0)
        # By position: originals first, then features.
        self._fill = fill

    def _quantile_levels(self) -> tuple[float, ...]:
        """Return the quantiles of a larger table that constants are learned from."""
        return (0.5,)

    def _unfilled(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the original columns and all features of some rows; undefined values are NaN."""
        matrix = apply_table(self, self._schema, X, dtype=np.float64, order="C")
        return self._evaluate([*self._originals(), *self.features_], matrix)

    def _take_quantiles(
        self,
        quantiles: npt.NDArray[np.float64],
        lowest: npt.NDArray[np.float64],
        highest: npt.NDArray[np.float64],
    ) -> None:
        """Set the constants for undefined values to medians of a larger table."""
        self._fill = np.where(np.isnan(quantiles[0]), 0.0, quantiles[0])

    def _originals(self) -> list[Feature]:
        """Return the original columns as features."""
        schema = self._schema
        return [
            Feature.of(Column(k, schema.names[k], schema.domains[k]))
            for k in range(schema.n_columns)
        ]

    def _output(self) -> tuple[list[Feature], npt.NDArray[np.float64]]:
        """Return the features that `transform` computes and the constants that fill them."""
        n_columns = self._schema.n_columns
        everything = [*self._originals(), *self.features_]
        lone = [isinstance(feature.expression, Column) for feature in everything]
        places = list(range(n_columns, len(everything)))
        if self.include_original:
            # Chosen columns are among the originals: they must not use up the number asked for.
            places = [place for place in places if not lone[place]]
        places = places[: self.n_features_out]
        if self.include_original or not places:
            places = [*range(n_columns), *places]
        formulas = {everything[place].name for place in places if not lone[place]}
        chosen = []
        for place in places:
            feature = everything[place]
            # A column with the name of a formula gets the quotes of the expression language.
            if lone[place] and feature.name in formulas:
                feature = replace(feature, name=str(feature.expression))
            chosen.append(feature)
        return chosen, self._fill[places]

    def _evaluate(
        self, features: Sequence[Feature], matrix: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Compute features; undefined values are NaN."""
        expressions: list[Expression] = [feature.expression for feature in features]
        construction = self._construction
        return evaluate_expressions(
            expressions,
            matrix,
            user_operators(construction.operators),
            construction.compiled.functions(np.float64),
            getattr(self, "n_jobs", 1),
        )

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the best constructed features of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The `n_features_out` features with the largest gain, in that order; after the original
            columns where `include_original` is set or nothing was constructed. Undefined values
            are the feature's median in `fit`, or NaN with `keep_missing`.
        """
        check_is_fitted(self)
        matrix = apply_table(self, self._schema, X, dtype=np.float64, order="C")
        features, fills = self._output()
        values = self._evaluate(features, matrix)
        if not self.keep_missing:
            holes = np.isnan(values)
            values[holes] = np.broadcast_to(fills, values.shape)[holes]
        return values

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the formulas of the columns that `transform` computes.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names seen in `fit`; the formulas use those.

        Returns
        -------
        ndarray of str
            One formula for each column.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self._schema, input_features)
        return np.array([feature.name for feature in self._output()[0]], dtype=object)

    # Targets ------------------------------------------------------------------------------------

    def _any_target(self, y: Any, sample_weight: Any, n_rows: int) -> tuple[Target, dict[str, Any]]:
        """Read classes or numbers: what the criterion scores, else what the target holds."""
        numbers = self.criterion in NUMBER_CRITERIA
        if not numbers and not (self.criterion is None and holds_numbers(y)):
            return self._class_target(y, sample_weight, n_rows)
        if self.class_weight is not None:
            raise ValueError("class_weight needs classes; weigh rows with sample_weight.")
        reading = {"reader": f"criterion={self.criterion!r}", "instead": "leave the criterion out"}
        target, scoring, _ = self._number_target(y, sample_weight, n_rows, **reading)
        return target, scoring

    def _class_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[Target, dict[str, Any]]:
        """Read classes, or several columns of them, and the settings to score them with."""
        target = read_classes(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        if isinstance(target, MultiTarget):
            return self._multi_target(target, weights)
        self.classes_: Any = target.classes
        self.n_classes_: Any = len(target.classes)
        self._outputs: Any = None  # the MultiTarget, where there are several columns
        weights = apply_class_weight(self.class_weight, target, weights)
        row_weights = as_row_weights(weights, n_rows)
        scoring = {
            "by_class": 1,
            "whole_weights": int(bool(np.all(row_weights == np.round(row_weights)))),
            "criterion": CLASS_CRITERIA[self.criterion or self._class_criterion],
        }
        return Target(target.codes, np.empty((0, n_rows), np.float32), row_weights), scoring

    def _multi_target(
        self, target: MultiTarget, weights: npt.NDArray[np.float64] | None
    ) -> tuple[Target, dict[str, Any]]:
        """Return indicator columns for several class columns; their variances are added."""
        if self.class_weight is not None:
            raise ValueError(
                "class_weight is not supported for several targets; weigh rows with sample_weight."
            )
        n_rows = len(target.codes)
        self.classes_ = list(target.classes)
        self.n_classes_ = [len(classes) for classes in target.classes]
        self._outputs = target
        indicators = [
            (target.codes[:, k] == code)
            for k, classes in enumerate(target.classes)
            for code in range(len(classes))
        ]
        return sum_target(np.array(indicators, np.float64), weights, n_rows)

    def _number_target(
        self, y: Any, sample_weight: Any, n_rows: int, **reading: str
    ) -> tuple[Target, dict[str, Any], dict[str, Any]]:
        """Read columns of numbers: scaled for splits (float32 is enough then), exact for leaves."""
        values = read_numbers(y, n_rows, **reading)
        weights = check_weights(sample_weight, n_rows)
        values, self._unit = in_units(values)
        exact = plain_weights(weights, n_rows)
        center, scale = center_and_scale(values, exact)
        target, scoring = sum_target(((values - center) / scale).T, weights, n_rows)
        leaves = {
            "n_values": values.shape[1],
            "leaf_sums": np.ascontiguousarray(values.T * exact),
            "leaf_weights": exact,
        }
        return target, scoring, leaves


def some_rows(weights: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.intp]:
    """Return an evenly spaced subsample of the rows of positive weight."""
    rows = np.flatnonzero(weights > 0)
    return rows[:: max(1, len(rows) // _FILL_ROWS)]


def plain_weights(weights: npt.NDArray[np.float64] | None, n_rows: int) -> npt.NDArray[np.float64]:
    """Return the weights, divided by the largest where that is very large or very small."""
    if weights is None:
        return np.ones(n_rows)
    largest = float(weights.max())
    return weights if 1e-6 < largest < 1e6 else weights / largest


def as_row_weights(weights: npt.NDArray[np.float64] | None, n_rows: int) -> npt.NDArray[np.float32]:
    """Return row weights as float32, scaled to a mean of one where they are not whole numbers."""
    plain = plain_weights(weights, n_rows)
    if np.all(plain == np.round(plain)):
        return plain.astype(np.float32)
    return (plain / plain[plain > 0].mean()).astype(np.float32)


def in_units(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """Divide numbers by a unit so that their squares neither overflow nor vanish."""
    largest = float(np.abs(values).max())
    unit = 1.0 if largest == 0.0 or 1e-100 < largest < 1e100 else largest
    return values / unit, unit


def from_units(values: npt.NDArray[np.float64], unit: float) -> npt.NDArray[np.float64]:
    """Multiply numbers by their unit; rounding must not carry them beyond the largest."""
    return values if unit == 1.0 else np.clip(values, -1.0, 1.0) * unit


def center_and_scale(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the weighted mean and standard deviation of target columns; 1 for a constant one."""
    center = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - center) ** 2, axis=0, weights=weights))
    return center, np.where(scale > 0, scale, 1.0)


def sum_target(
    sums: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None, n_rows: int
) -> tuple[Target, dict[str, Any]]:
    """Return a target of weighted columns, scored by their variance."""
    row_weights = as_row_weights(weights, n_rows)
    weighted = np.ascontiguousarray(sums * row_weights, np.float32)
    scoring = {"by_class": 0, "criterion": criteria.SQUARES, "centered": 1}
    return Target(_NO_CODES, weighted, row_weights), scoring
