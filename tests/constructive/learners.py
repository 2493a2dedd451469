"""The eight learners with small settings, small tables, and what every learner must give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

import featurewright

KINDS = ("Tree", "Forest", "ExtraTrees", "Boosting")
CLASSIFIERS = {f"{kind}Classifier": f"Constructive{kind}Classifier" for kind in KINDS}
REGRESSORS = {f"{kind}Regressor": f"Constructive{kind}Regressor" for kind in KINDS}
CLASSES = {
    name: getattr(featurewright, full) for name, full in {**CLASSIFIERS, **REGRESSORS}.items()
}
ENSEMBLES = [name for name in CLASSES if not name.startswith("Tree")]
GROWN = [name for name in CLASSES if not name.startswith("Boosting")]
FORESTS = [name for name in GROWN if not name.startswith("Tree")]
SMALL = {"n_estimators": 8, "budget": 12, "random_state": 0}

every_learner = pytest.mark.parametrize("name", list(CLASSES))
every_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))
every_regressor = pytest.mark.parametrize("name", list(REGRESSORS))
every_ensemble = pytest.mark.parametrize("name", ENSEMBLES)
every_grown = pytest.mark.parametrize("name", GROWN)
every_forest = pytest.mark.parametrize("name", FORESTS)


def make(name: str, **changes: Any) -> Any:
    """Make a learner with small settings; changes must be parameters it has."""
    learner = CLASSES[name]()
    known = learner.get_params()
    small = {key: value for key, value in SMALL.items() if key in known}
    return learner.set_params(**{**small, **changes})


def make_loose(name: str, **changes: Any) -> Any:
    """Make a learner with small settings, leaving out the changes it has no parameter for."""
    known = CLASSES[name]().get_params()
    return make(name, **{key: value for key, value in changes.items() if key in known})


def table(n_rows: int = 160, n_columns: int = 4, seed: int = 0) -> np.ndarray:
    """Make a table of numbers that float32 holds exactly."""
    values = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return values.astype(np.float32).astype(np.float64)


def product_target(name: str, X: np.ndarray) -> np.ndarray:
    """Make a target that depends on the product of the first two columns."""
    product = X[:, 0] * X[:, 1]
    return np.where(product > 0, "yes", "no") if name in CLASSIFIERS else product


def bits_target(name: str, bits: Any) -> np.ndarray:
    """Make classes, or numbers, of something true or false."""
    bits = np.asarray(bits, bool)
    return np.where(bits, "yes", "no") if name in CLASSIFIERS else bits.astype(np.float64)


def problem(name: str, n_rows: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make a small problem of the right kind."""
    X = table(n_rows, seed=seed)
    return X, product_target(name, X)


def soft(model: Any, X: Any) -> np.ndarray:
    """Return probabilities of a classifier, else predictions."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def check_outputs(model: Any, X: Any) -> None:
    """Check that whatever a fitted learner gives is complete and finite."""
    n_rows = len(X)
    predicted = model.predict(X)
    assert len(predicted) == n_rows
    if is_classifier(model):
        assert np.isin(predicted, model.classes_).all()
        shares = model.predict_proba(X)
        assert shares.shape == (n_rows, len(model.classes_))
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    else:
        assert np.isfinite(predicted).all()
    made = np.asarray(model.transform(X))
    assert made.shape == (n_rows, len(model.get_feature_names_out()))
    assert np.isfinite(made).all()
    assert np.isfinite(model.feature_importances_).all()


def check_same(one: Any, other: Any, X: Any, Z: Any = None) -> None:
    """Check that two fitted learners are the same to the last bit."""
    Z = X if Z is None else Z
    np.testing.assert_array_equal(soft(one, X), soft(other, Z))
    np.testing.assert_array_equal(np.asarray(one.transform(X)), np.asarray(other.transform(Z)))
    assert [f.gain for f in one.features_] == [f.gain for f in other.features_]
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


def check_sentence(error: BaseException, *words: str) -> None:
    """Check that an error says one clear sentence with the given words."""
    text = str(error)
    assert "\n" not in text
    assert 10 < len(text) < 300
    assert text.endswith((".", "?"))
    for word in words:
        assert word in text
