"""Every estimator refuses wrong parameters in one sentence, before it looks at its table."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import featurewright
from featurewright import (
    AutoFeatures,
    ConstructiveBoostingClassifier,
    ConstructiveForestClassifier,
    ConstructiveTreeRegressor,
    ForestPathEncoder,
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
    LandmarkKernelFeatures,
    RecursiveSelectiveClassifier,
)
from featurewright.auto.methods import chosen_methods
from featurewright.estimators.construction import named_operators
from featurewright.estimators.parameters import declared_parameters

ESTIMATORS = {
    name: public
    for name in sorted(featurewright.__all__)
    if inspect.isclass(public := getattr(featurewright, name))
    and issubclass(public, BaseEstimator)
    and public is not AutoFeatures
}
# Values that no estimator with a parameter of this name allows.
WRONG = {
    "C": [0, -1.0, np.nan, "x"],
    "aggregates": ["x", ["x"], 3, None, [5]],
    "append": ["no", 1],
    "as_of": [3, True, ["x"]],
    "batched": ["no", 1],
    "bootstrap": ["no", 1],
    "budget": [2**31, "0n", "n", "ten", 0, -5, 2.5, None, "10", "-1n", True],
    "calibration": ["x", None, 3],
    "categories": ["no", 1, None],
    "class_weight": ["x", 3, {0: -1}, {0: "x"}, {0: np.nan}, pd.Series([1, 2])],
    "coef0": ["x", np.inf, None],
    "conditions": ["no", 1, None],
    "criterion": ["x", 1, "mse"],
    "cut_cost": ["no", 1, None],
    "cv": [1, True, 1.5, "x", [1], [], [(1, 2, 3)], (("a", "b", "c"),)],
    "degree": [0, 1.5, "3"],
    "depth_weights": [0, -1, 1.5, np.nan, "x", None, [], [1, 0], [[1.0]], True, [np.inf]],
    "early_stopping": ["x", None, 5],
    "encode": ["x", None],
    "effort": ["x", None, 3],
    "estimator": ["x", LogisticRegression, 5],
    "feature_names": ["x", None],
    "free_text": ["x", None],
    "f_to_enter": [-1.0, np.nan, np.inf, "x"],
    "gamma": [0, -1, "x"],
    "halving": ["x", 5, -1, 1.5],
    "hashing": ["x", None],
    "include_original": ["no", 0],
    "keep": ["x", 0.0, 1.5, (), (5, 6), (0,), None],
    "keep_missing": ["no", 0],
    "kernel": ["x", 3, None],
    "kernel_params": ["x", 3],
    "l2": [-1, np.nan, "x", None],
    "landmarks": ["x", None],
    "learning_rate": [0, -1, np.nan, "x", np.inf],
    "links": ["x", None, 3, ["x"], [3]],
    "loss": ["x", "mse", 3],
    "max_correlation": [0, 1.5, "x", np.nan],
    "max_depth": [0, -1, 1.5, "3"],
    "max_estimators": [0, 2.5, "x", None],
    "max_features": [2.0, 0.0, -1, "foo", -0.5],
    "max_leaf_nodes": [0, 1, -1, 2.5],
    "max_order": [0, 127, 1.5, "x"],
    "max_samples": [0, -1, 1.5, 0.0, "x"],
    "max_size": [0, -1, 2.5, "5", None, True, 32],
    "max_time": [0, -1, np.nan, "x", np.inf],
    "method": ["x", 3],
    "methods": ["x", [], 3, [None], ["batch", "x"]],
    "min_gain": [-1.0, np.nan, "x", None],
    "min_samples": [1, 0, 1.5, 0.0, "2"],
    "min_samples_leaf": [0, -1, 1.5, 0.0, "2"],
    "min_samples_split": [1, 0, 1.5, 0.0, "2"],
    "min_side_share": [-0.1, 0.6, "x", None, np.nan],
    "min_weight_fraction_leaf": [-0.1, 0.6, "x", None, np.nan],
    "missing": ["x", None],
    "n_constructed": ["0n", "x", 0, 2.5, None],
    "n_estimators": [0, -1, 2.5, "10", None, True],
    "n_features_out": [0, -1, 2.5, "x"],
    "n_hash": [0, 2**31, 1.5, "x"],
    "n_iter_no_change": [0, -1, 2.5],
    "n_jobs": [0, "x", 1.5],
    "n_landmarks": [-1, 1.5, "x", None],
    "n_recursions": [-1, 1.5, "x", None],
    "n_runs": [0, 1.5, "x"],
    "normalize": ["x", True],
    "oob": ["yes", None],
    "oob_score": ["yes", None],
    "operators": [["foo"], "foo", [5], 5, ["add", "add"], ["at_most"]],
    "project": ["x", None],
    "projection": ["x", None],
    "random_state": ["x", -1, 2**32, 1.5],
    "ranking": ["x", None],
    "remove_outliers": ["no", 1, None],
    "reuse_columns": ["x", None, 1],
    "root": ["no", 1, None],
    "sampling": ["x", None],
    "scale": ["x", 3],
    "search": ["foo", 3, True, ""],
    "solver": ["x", None],
    "step": [0, 1.5, "x"],
    "store_links": ["no", 1, None],
    "subsample": [0, -1, 1.5, np.nan, "x"],
    "task": ["x", None],
    "time_budget": [0, -1, "x", np.inf],
    "tol": [0, -1, "x", np.nan],
    "validation": ["x", 1, 0.0, 1.0, True],
    "validation_fraction": [0, 1.0, -1, "x", np.nan],
    "verbose": [-1, "x", None],
    "warm_start": ["no", None],
    "weighting": ["no", 1],
    "weighting_strength": [-1, np.nan, "x", None, np.inf],
    "width": [0, -1, "x"],
    "windows": ["x", 3, [0], [-1], ["10"], ["x rows"], [None]],
}
FREE = {"block"}  # what it may be is known from the target alone


class Untouched:
    """Stands for a table that nobody may look at."""


def refusal(estimator) -> str:
    """Return the sentence with which an estimator refuses its parameters, else what happened."""
    try:
        estimator.fit(Untouched(), Untouched())
    except (ValueError, TypeError) as error:
        return str(error)
    except Exception as error:
        return f"raised {error!r}"
    return "was accepted"


def is_sentence(text: str) -> bool:
    return "\n" not in text and 10 < len(text) < 320 and text.endswith((".", "?"))


def test_wrong_values_are_refused_before_the_table_is_read():
    failures = []
    for name, estimator in {**ESTIMATORS, "AutoFeatures": AutoFeatures}.items():
        for parameter in set(estimator().get_params(deep=False)) & set(WRONG):
            for value in WRONG[parameter]:
                text = refusal(estimator().set_params(**{parameter: value}))
                named = parameter in text or (parameter == "operators" and "perator" in text)
                if not named or not is_sentence(text) or "Untouched" in text:
                    failures.append(f"{name}({parameter}={value!r}): {text}")
    assert not failures, "\n".join(failures)


def test_sets_of_names_have_one_order():
    """That of a set of text differs from process to process."""
    assert [o.name for o in named_operators({"sub", "add", "mul"})] == ["add", "mul", "sub"]
    assert chosen_methods({"paths", "batch"}) == chosen_methods({"batch", "paths"})
    assert chosen_methods(["paths", "batch"]) == ["paths", "batch"]


def test_every_parameter_is_declared_and_has_wrong_values():
    for name, estimator in ESTIMATORS.items():
        parameters = set(estimator().get_params(deep=False))
        assert parameters <= set(declared_parameters(estimator)), name
        assert parameters - set(WRONG) <= FREE, name


COMBINATIONS = [
    (
        ConstructiveForestClassifier(oob_score=True, bootstrap=False),
        "oob_score=True needs bootstrap=True",
    ),
    (ConstructiveForestClassifier(cut_cost=True), "cut_cost=True needs criterion='entropy'"),
    (ConstructiveTreeRegressor(search=None, max_features=0), "max_features=0 with search=None"),
    (ConstructiveBoostingClassifier(search=None, max_features=0), "max_features=0 with search"),
    (ConstructiveForestClassifier(search="adaptive"), "is gone: .*; use 'random'"),
    (ForestPathEncoder(oob=True, bootstrap=False), "oob=True needs bootstrap=True"),
    (LandmarkKernelFeatures(kernel="rbf", width=2.0), "width=2.0 belongs to kernel='gaussian'"),
    (LandmarkKernelFeatures(gamma=2.0), "gamma=2.0 has no part in kernel='gaussian'"),
    (LandmarkKernelFeatures(kernel_params={"a": 1}), "for a kernel that is a function"),
    (LandmarkKernelFeatures(0), "n_landmarks=0 must be"),
    (KernelFeatureEnsembleClassifier(n_estimators=5, n_runs=6), "n_runs=6 is more than"),
    (KernelFeatureEnsembleClassifier(method="kernel_only", n_landmarks=0), "without any column"),
    (KernelFeatureEnsembleClassifier(LinearRegression()), "is not a classifier"),
    (KernelFeatureEnsembleRegressor(LogisticRegression()), "is not a regressor"),
    (KernelFeatureEnsembleRegressor(method="adaboost"), "is for classes"),
    (
        KernelFeatureEnsembleClassifier(LogisticRegression(), method="random_forest"),
        "has its own trees and takes no estimator",
    ),
    (
        KernelFeatureEnsembleClassifier(KNeighborsClassifier(), method="adaboost"),
        "takes no sample_weight, but boosting gives rows weights",
    ),
    (
        KernelFeatureEnsembleClassifier(KNeighborsClassifier(), class_weight="balanced"),
        "takes no sample_weight, but rows have weights",
    ),
    (RecursiveSelectiveClassifier(LinearRegression()), "is not a classifier"),
]


def test_parameters_that_do_not_go_together_are_refused_before_the_table_is_read():
    for estimator, words in COMBINATIONS:
        with pytest.raises(ValueError, match=words) as caught:
            estimator.fit(Untouched(), Untouched())
        assert is_sentence(str(caught.value))


def test_fewer_trees_than_a_warm_start_has_are_refused_before_the_table_is_read():
    X = np.arange(20.0).reshape(-1, 1)
    forest = ConstructiveForestClassifier(3, search=None, warm_start=True, random_state=0)
    forest.fit(X, np.arange(20) % 2).set_params(n_estimators=2)
    with pytest.raises(ValueError, match="n_estimators=2 must be larger or equal to the 3 trees"):
        forest.fit(Untouched(), Untouched())


def test_regressors_have_no_weights_of_classes():
    for name, estimator in ESTIMATORS.items():
        if name.endswith("Regressor"):
            assert "class_weight" not in estimator().get_params()


def test_docstrings_list_the_parameters_in_the_order_of_the_constructor():
    for name, estimator in ESTIMATORS.items():
        text = inspect.getdoc(estimator)
        section = text[text.index("Parameters\n") : text.index("Attributes\n")]
        listed = [line.split(" : ")[0] for line in section.splitlines() if line[:1].isalpha()][1:]
        assert listed == list(inspect.signature(estimator).parameters), name
        assert "{parameters}" not in text, name
        assert "{attributes}" not in text, name


@pytest.mark.parametrize("name", ESTIMATORS)
def test_arguments_that_there_are_not(name):
    public = ESTIMATORS[name]
    with pytest.raises(TypeError, match=rf"^{name} has no parameter 'colour': use one of "):
        public(colour=1)
    first, *_ = inspect.signature(public).parameters
    with pytest.raises(TypeError, match=rf"^{name} has .* did you mean '{first}'\?$"):
        public(**{f"{first}s": 1})
    with pytest.raises(TypeError, match=rf"^{name} takes \d+ arguments? by place, got 40: "):
        public(*range(40))
