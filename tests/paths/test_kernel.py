"""The kernel: products of encodings, usable where scikit-learn wants a kernel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from tests.cases import loop_over
from tests.paths.cases import make_classes, make_table

from featurewright import ForestPathEncoder


def fitted(share: float = 0.2, /, **params) -> tuple[ForestPathEncoder, np.ndarray, np.ndarray]:
    X = make_table(missing=share)
    y = make_classes(X)
    return ForestPathEncoder(**{"n_estimators": 8, "random_state": 0} | params).fit(X, y), X, y


@loop_over("search", [None, "random"])
@loop_over("missing", ["random", "spread"])
@loop_over("kind", ["path", "leaf"])
def test_kernel_is_the_product_of_encodings(kind, missing, search):
    encoder, X, _ = fitted(0.3, missing=missing, encode=kind, search=search, budget=10)
    encoding = encoder.transform(X).astype(np.float64)
    product = (encoding @ encoding[:30].T).toarray()
    np.testing.assert_allclose(encoder.kernel(X, X[:30], normalize=False, kind=kind), product)
    norms = np.sqrt((encoding.toarray() ** 2).sum(axis=1))
    expected = product / norms[:, None] / norms[None, :30]
    actual = encoder.kernel(X, X[:30], kind=kind)
    np.testing.assert_allclose(actual, expected)
    np.testing.assert_allclose(encoder.kernel(X[:30], X, kind=kind), actual.T)
    np.testing.assert_allclose(encoder.kernel(X, kind=kind)[:, :30], actual)
    np.testing.assert_allclose(np.diagonal(encoder.kernel(X, kind=kind)), 1.0)


def test_leaf_kernel_is_the_share_of_trees_with_the_same_leaf():
    encoder, X, _ = fitted()
    leaves = encoder.apply(X)
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    np.testing.assert_allclose(encoder.kernel(X, kind="leaf"), expected)


@pytest.mark.parametrize("missing", ["random", "spread"])
def test_torkkola_kernel(missing):
    encoder, X, _ = fitted(0.3, missing=missing)
    encoding = encoder.transform(X).toarray().astype(np.float64)
    expected = np.zeros((120, 120))
    edges = np.append(encoder.forest_.roots, encoder.n_nodes_)
    for low, high in pairwise(edges):
        part = encoding[:, low:high]
        length = (part**2).sum(axis=1)
        expected += part @ part.T / np.maximum(length[:, None], length[None, :])
    actual = encoder.kernel(X, kind="torkkola", normalize=False)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    np.testing.assert_allclose(encoder.kernel(X, kind="torkkola"), expected / 8, rtol=1e-5)


def test_kernel_is_exact_whatever_the_columns():
    encoder, X, _ = fitted()
    usual = encoder.kernel(X)
    encoder.set_params(encode="leaf", n_hash=3)
    np.testing.assert_array_equal(encoder.kernel(X), usual)


def test_support_vector_machine_and_neighbours():
    encoder, X, y = fitted(0.0, n_estimators=50)
    called = SVC(kernel=encoder.kernel).fit(X[:80], y[:80])
    machine = SVC(kernel="precomputed").fit(encoder.kernel(X[:80]), y[:80])
    given = encoder.kernel(X[80:], X[:80])
    np.testing.assert_array_equal(called.predict(X[80:]), machine.predict(given))
    assert machine.score(given, y[80:]) > 0.8
    distances = 1 - encoder.kernel(X[:80])
    neighbour = KNeighborsClassifier(1, metric="precomputed").fit(np.maximum(distances, 0), y[:80])
    assert neighbour.score(1 - given, y[80:]) > 0.8


def test_kernel_refuses_other_kinds_and_tables():
    encoder, X, _ = fitted()
    with pytest.raises(ValueError, match="kind='cosine' is not known"):
        encoder.kernel(X, kind="cosine")
    with pytest.raises(ValueError, match="features"):
        encoder.kernel(X, X[:, :2])
