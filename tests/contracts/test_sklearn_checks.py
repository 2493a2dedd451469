"""Every public estimator passes scikit-learn's own checks, and the checks are counted."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import featurewright

# Small settings keep several hundred fits fast; only those a class has are used.
CHEAP = {
    "n_estimators": 5,
    "budget": 8,
    "n_recursions": 2,
    "n_constructed": 8,
    "methods": "batch",
    "effort": "quick",
    "cv": KFold(2, shuffle=True, random_state=0),  # a splitter is not followed by further folds
    "random_state": 0,
}
BOOSTING_ROUNDS = 40  # a learning rate of 0.1 needs some
# Class name to the checks it cannot pass, each with the reason why no estimator of its kind could.
_BOOTSTRAP = (
    "a weight of two is not two chances to be drawn: as with scikit-learn's own forests, the same "
    "seed draws other rows from a table in which rows are repeated"
)
_LANDMARKS = (
    "landmarks are rows drawn at random: the same seed draws other ones from a table in which rows "
    "are repeated, or from which rows are left out"
)
_FOLDS = (
    "probabilities are calibrated in folds: as with scikit-learn's CalibratedClassifierCV, "
    "repeated rows make other folds than weights do"
)
_ROWS = (
    "leaves need rows, and F statistics count them: repeated rows are more evidence than "
    "one row of more weight"
)
_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
_SPARSE_WEIGHTS = "check_sample_weight_equivalence_on_sparse_data"
_SEARCH = "rows are held out in folds: repeated rows make other folds than weights do"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "AutoFeatures": {_WEIGHTS: _SEARCH},
    "ConstructiveBoostingRegressor": {_WEIGHTS: _ROWS},
    "ConstructiveForestClassifier": {_WEIGHTS: _BOOTSTRAP},
    "ConstructiveForestRegressor": {_WEIGHTS: _BOOTSTRAP},
    "ForestPathEncoder": {_WEIGHTS: _BOOTSTRAP, _SPARSE_WEIGHTS: _BOOTSTRAP},
    "KernelFeatureEnsembleClassifier": {_WEIGHTS: _LANDMARKS, _SPARSE_WEIGHTS: _LANDMARKS},
    "KernelFeatureEnsembleRegressor": {_WEIGHTS: _LANDMARKS, _SPARSE_WEIGHTS: _LANDMARKS},
    "LandmarkKernelFeatures": {_WEIGHTS: _LANDMARKS, _SPARSE_WEIGHTS: _LANDMARKS},
    "RecursiveSelectiveClassifier": {
        _WEIGHTS: _FOLDS,
        _SPARSE_WEIGHTS: _FOLDS,
    },
}
# Fewer checks than this mean that tags switched checks off.
LEAST_CHECKS = 50
_CHECKS_OF_WEIGHTS = 5  # which an estimator without sample weights does not have

ESTIMATORS = {
    name: public
    for name in sorted(featurewright.__all__)
    if inspect.isclass(public := getattr(featurewright, name)) and issubclass(public, BaseEstimator)
}


def cheap(public: type[BaseEstimator]) -> BaseEstimator:
    """Make an estimator with the small settings its class knows."""
    estimator = public()
    known = estimator.get_params()
    small = {name: value for name, value in CHEAP.items() if name in known}
    if "learning_rate" in known:
        small["n_estimators"] = BOOSTING_ROUNDS
    return estimator.set_params(**small)


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Look up the failures written down above."""
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(
    [cheap(public) for public in ESTIMATORS.values()], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else the check with array_api_dispatch is skipped
    check(estimator)


def test_there_are_estimators():
    assert len(ESTIMATORS) >= 8


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_check_is_collected(name, request):
    expected = len(list(estimator_checks_generator(cheap(ESTIMATORS[name]))))
    weighted = has_fit_parameter(ESTIMATORS[name], "sample_weight")
    assert expected >= LEAST_CHECKS - (0 if weighted else _CHECKS_OF_WEIGHTS)
    options = request.config.option
    chosen = any("::" in path for path in request.config.args)
    if chosen or options.keyword or getattr(options, "lf", False):
        pytest.skip("some tests were selected by name, so that not all checks are here")
    collected = sum(
        item.name.startswith(f"{test_scikit_learn_checks.__name__}[{name}(")
        for item in request.session.items
    )
    assert collected == expected
