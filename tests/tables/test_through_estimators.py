"""The way tables are read satisfies scikit-learn's own checks when small estimators use it."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from featurewright.tables import (
    ClassTarget,
    apply_class_weight,
    apply_table,
    check_weights,
    fit_table,
    read_classes,
    read_numbers,
)


class AllowsMissing(BaseEstimator):
    """Shared tags: missing values are welcome."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def read(self, X):
        check_is_fitted(self)
        return apply_table(self, self.schema_, X)


class TableClassifier(ClassifierMixin, AllowsMissing):
    """A tree of scikit-learn that reads tables as ours do."""

    def __init__(self, class_weight=None, min_weight_fraction_leaf=0.0):
        self.class_weight = class_weight
        self.min_weight_fraction_leaf = min_weight_fraction_leaf

    def fit(self, X, y, sample_weight=None):
        matrix, self.schema_ = fit_table(self, X)
        target = read_classes(y, len(matrix))
        if not isinstance(target, ClassTarget):
            raise ValueError("Unknown label type: several columns")
        self.classes_ = target.classes
        weights = check_weights(sample_weight, len(matrix))
        weights = apply_class_weight(self.class_weight, target, weights)
        self.tree_ = DecisionTreeClassifier(
            min_weight_fraction_leaf=self.min_weight_fraction_leaf, random_state=0
        ).fit(matrix, target.codes, weights)
        return self

    def predict(self, X):
        matrix = self.read(X)
        return self.classes_[self.tree_.predict(matrix)]


class TableRegressor(RegressorMixin, AllowsMissing):
    """A tree of scikit-learn that reads tables as ours do."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        matrix, self.schema_ = fit_table(self, X)
        target = read_numbers(y, len(matrix))
        weights = check_weights(sample_weight, len(matrix))
        self.tree_ = DecisionTreeRegressor(random_state=0).fit(matrix, target, weights)
        return self

    def predict(self, X):
        matrix = self.read(X)
        return np.asarray(self.tree_.predict(matrix), dtype=np.float64)


@parametrize_with_checks([TableClassifier(), TableRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
