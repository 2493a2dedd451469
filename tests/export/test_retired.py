"""Files of earlier versions still load where an estimator has lost a parameter, or gained one."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.export.cases import as_bytes, pack, unpack

from featurewright import ConstructiveTreeRegressor, FCTreeClassifier, load


def stored(class_weight):
    """Return the file of a regressor that still had weights of classes."""
    X = np.arange(20.0).reshape(-1, 1)
    model = ConstructiveTreeRegressor(search=None, random_state=0).fit(X, X[:, 0])
    document, members = unpack(as_bytes(model))
    for node in document["nodes"]:
        if node["kind"] == "estimator":
            node["parameters"]["class_weight"] = class_weight
    return model, io.BytesIO(pack(document, members))


def test_a_parameter_that_was_never_set_is_forgotten():
    model, file = stored(None)
    X = np.linspace(0, 20, 50).reshape(-1, 1)
    np.testing.assert_array_equal(load(file).predict(X), model.predict(X))


def test_a_parameter_that_was_set_is_refused():
    with pytest.raises(ValueError, match="other parameters or attributes than it should"):
        load(stored("balanced")[1])


def test_a_file_keeps_its_settings_where_defaults_have_changed():
    X = np.random.default_rng(0).normal(size=(60, 3))
    tree = FCTreeClassifier(n_constructed="1n", include_original=False, random_state=0)
    tree.fit(X, X[:, 0] * X[:, 1] > 0)
    document, members = unpack(as_bytes(tree))
    (node,) = (node for node in document["nodes"] if node["kind"] == "estimator")
    for gained in ("weighting_strength", "reuse_columns"):
        del node["parameters"][gained]
    again = load(io.BytesIO(pack(document, members)))
    assert (again.include_original, again.n_constructed) == (False, "1n")
    assert (again.weighting_strength, again.reuse_columns) == (1.0, "auto")
    assert again.n_effective_leaves_ == tree.n_effective_leaves_
    np.testing.assert_array_equal(again.transform(X), tree.transform(X))
