"""All values that parameters may have work; tests/estimators has those that are refused."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from tests.constructive.learners import CLASSES, check_outputs, make, problem

from featurewright.estimators.construction import Limits, make_settings
from featurewright.estimators.shared_parameters import GROWTH, OUTPUT, SEARCH

RIGHT = {
    "budget": [1, "0.5n", "3.5n", " 2 n ", np.int64(7)],
    "max_size": [1, 2, np.int32(4), 9],
    "operators": [(), [], "mul", ("and",), {"mul": 1}.keys()],
    "sampling": ["symbol", "kind"],
    "max_features": [0, 1, 99, 0.5, 1.0, "sqrt", "log2", "all", None],
    "min_side_share": [0.0, 0.1, 0.5],
    "max_depth": [1, None, np.int64(3), 10**6, 2**40, 10**30],
    "min_samples_split": [2, 0.5, 1.0, 10**9],
    "min_samples_leaf": [1, 0.3, 10**9, 10**30],
    "max_leaf_nodes": [2, None, 10**9],
    "min_gain": [0, 0.5, 1e30],
    "f_to_enter": [0, 4.0, 1e6, None],
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


SHARED = {**SEARCH, **GROWTH, **OUTPUT}


@pytest.mark.parametrize("name", CLASSES)
def test_every_ensemble_has_the_shared_parameters(name):
    assert set(SHARED) - set(CLASSES[name]().get_params()) == set()


def test_every_limit_of_growing_reaches_the_engine():
    construction = SimpleNamespace(strategy=0, budget=0, n_raw=1)
    usual = make_settings(Limits(), construction, 100)
    for limit in fields(Limits):
        others = [
            make_settings(Limits(**{limit.name: value}), construction, 100)
            for value in RIGHT[limit.name]
        ]
        assert any(other != usual for other in others), f"{limit.name} changes no setting"


@pytest.mark.parametrize("name", CLASSES)
def test_right_values_work(name):
    X, y = problem(name, 50)
    known = CLASSES[name]().get_params()
    small = {"n_estimators": 2} if "n_estimators" in known else {}
    for parameter, values in RIGHT.items():
        for value in values if parameter in known else ():
            settings = {"budget": 6, **small, parameter: value}
            check_outputs(make(name, **settings).fit(X, y), X)
