"""Wrong parameters are refused in one sentence, before any work; right ones all work."""

from __future__ import annotations

import numpy as np
import pytest
from tests.constructive.learners import CLASSES, check_outputs, check_sentence, make, problem

WRONG = {
    "search": ["foo", 3, True, ""],
    "budget": ["0n", "n", "ten", 0, -5, 2.5, None, "10", "-1n", True],
    "max_size": [0, -1, 2.5, "5", None, True, 1000],
    "operators": [["foo"], "foo", [5], 5, ["add", "add"]],
    "sampling": ["x", None],
    "max_features": [2.0, 0.0, -1, "foo", -0.5],
    "criterion": ["x", 1, "mse"],
    "max_depth": [0, -1, 1.5, "3"],
    "min_samples_split": [1, 0, 1.5, 0.0, "2"],
    "min_samples_leaf": [0, -1, 1.5, 0.0, "2"],
    "min_weight_fraction_leaf": [-0.1, 0.6, "x", None, np.nan],
    "max_leaf_nodes": [0, 1, -1, 2.5],
    "min_gain": [-1.0, np.nan, "x", None],
    "halving": ["x", 5, -1, 1.5],
    "n_features_out": [0, -1, 2.5, None],
    "max_time": [0, -1, np.nan, "x", np.inf],
    "n_estimators": [0, -1, 2.5, "10", None, True],
    "max_samples": [0, -1, 1.5, 0.0, "x"],
    "n_jobs": [0, "x", 1.5],
    "bootstrap": ["no", 1],
    "oob_score": ["yes", None],
    "warm_start": ["no"],
    "include_original": ["no"],
    "keep_missing": ["no", 0],
    "loss": ["x", "mse", 3],
    "learning_rate": [0, -1, np.nan, "x", np.inf],
    "l2": [-1, np.nan, "x", None],
    "subsample": [0, -1, 1.5, np.nan, "x"],
    "early_stopping": ["x", None, 5],
    "validation_fraction": [0, 1.0, -1, "x", np.nan],
    "n_iter_no_change": [0, -1, 2.5],
    "random_state": ["x", -1],
}
CASES = [
    (name, parameter, value)
    for name, learner in CLASSES.items()
    for parameter, values in WRONG.items()
    for value in values
    if parameter in learner().get_params()
]


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_wrong_values_are_refused(name, parameter, value):
    X, y = problem(name, 20)
    model = make(name).set_params(**{parameter: value})
    with pytest.raises((ValueError, TypeError), match=r".{10}") as caught:
        model.fit(X, y)
    assert not hasattr(model, "forest_")
    if parameter == "random_state":
        return  # refused in the words of scikit-learn
    check_sentence(caught.value)
    if parameter != "operators":
        assert parameter in str(caught.value)


RIGHT = {
    "budget": [1, "0.5n", "3.5n", " 2 n ", np.int64(7)],
    "max_size": [1, 2, np.int32(4), 9],
    "operators": [(), [], "mul", ("and",), {"mul": 1}.keys()],
    "sampling": ["symbol", "kind"],
    "max_features": [0, 1, 99, 0.5, 1.0, "sqrt", "log2", "all", None],
    "max_depth": [1, None, np.int64(3), 10**6, 2**40],
    "min_samples_split": [2, 0.5, 1.0, 10**9],
    "min_samples_leaf": [1, 0.3, 10**9],
    "max_leaf_nodes": [2, None, 10**9],
    "min_gain": [0, 0.5, 1e30],
    "halving": [None, "auto", 32, 10**9],
    "n_features_out": [1, 10**6],
    "max_samples": [1, 0.5, 1.0, 10**6],
    "n_jobs": [None, 1, -1, 3],
    "learning_rate": [1e-6, 1.0, None],
    "subsample": [0.01, 1, 0.999],
    "l2": [0, 1e6],
    "validation_fraction": [0.3, 0.9],
    "early_stopping": [True, False, "auto"],
    "random_state": [0, 2**32 - 1, None, np.random.RandomState(0)],
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("parameter", RIGHT)
def test_right_values_work(name, parameter):
    if parameter not in CLASSES[name]().get_params():
        return
    X, y = problem(name, 50)
    for value in RIGHT[parameter]:
        model = make(name, budget=6).set_params(**{parameter: value}).fit(X, y)
        check_outputs(model, X)


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_to_split_on_is_refused(name):
    X, y = problem(name, 20)
    with pytest.raises(ValueError, match="max_features=0 with search=None") as caught:
        make(name, search=None, max_features=0).fit(X, y)
    check_sentence(caught.value)


@pytest.mark.parametrize("name", [name for name in CLASSES if name.endswith("Regressor")])
def test_class_weight_is_for_classifiers(name):
    X, y = problem(name, 20)
    with pytest.raises(ValueError, match="class_weight") as caught:
        make(name, class_weight="balanced").fit(X, y)
    check_sentence(caught.value)
