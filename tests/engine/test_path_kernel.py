"""What leaves have in common, and the kernel matrix, as the slow versions say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.engine.arguments import NO_USERS
from tests.engine.forests import make_forest
from tests.naive import paths as naive

from featurewright.engine.forest import Forest, join
from featurewright.paths import kernel
from featurewright.paths.encoding import LeafSource, all_trees, lay_out, number_forest, write_rows
from featurewright.paths.kernel import KINDS, multiply_encodings, share_paths


def test_places_and_what_neighbours_share():
    forest, _ = make_forest()
    numbering = number_forest(forest)
    pairs = zip(numbering.nodes.tolist(), numbering.parent.tolist(), strict=True)
    parents = {node: int(numbering.nodes[parent]) for node, parent in pairs if parent >= 0}

    def path(node: int) -> list[int]:
        return [*path(parents[node]), node] if node in parents else [node]

    place = 0
    for tree, root in enumerate(forest.roots):
        assert numbering.edges[tree] == place
        before: list[int] = []
        for node in naive.leaves_left_to_right(forest, int(root)):
            assert numbering.place[-1 - forest.left[node]] == place
            assert numbering.own[place] == len(path(node))
            assert numbering.meet[place] == len(set(before) & set(path(node)))
            before = path(node)
            place += 1
    assert numbering.edges[-1] == place == forest.n_leaves


def paths_of(forest, X: np.ndarray) -> list[list[list[int]]]:
    return [[naive.random_path(forest, root, row, 0) for root in forest.roots] for row in X]


# Weights of levels for the kernel, and all of them for the slow version.
WEIGHTS = {
    "plain": ({}, (1.0,)),
    "no roots": ({"root": False}, (0.0, 1.0)),
    "half as much": ({"depth_weights": 0.5}, [0.5**k for k in range(40)]),
    "listed": ({"root": False, "depth_weights": [3, 1, 0.3]}, (0.0, 1.0, 0.3)),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_matrix(kind, normalize, weights):
    params, all_weights = WEIGHTS[weights]
    grown, X = make_forest()
    stump = as_root(
        grown.trees(0, 1)
    )  # a tree without a split has no path where roots do not count
    forest = join([grown, stump])
    rows, others = X[:25], X[20:60]
    leaves, other_leaves = (forest.find_leaves(part, NO_USERS) for part in (rows, others))
    own, other = paths_of(forest, rows), paths_of(forest, others)
    expected = np.array([[naive.shared(a, b, kind, all_weights) for b in other] for a in own])
    if normalize:
        norms, other_norms = (
            naive.normalised(naive.shared(a, a, kind, all_weights) for a in part)
            for part in (own, other)
        )
        expected /= norms[:, None] * other_norms[None, :]
    numbering = number_forest(forest)
    actual = share_paths(leaves, other_leaves, numbering, kind, normalize=normalize, **params)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    turned = share_paths(other_leaves, leaves, numbering, kind, normalize=normalize, **params)
    np.testing.assert_array_equal(turned, actual.T)
    layout = lay_out(forest, numbering, only_leaves=kind == "leaf", **params)
    encoded = []
    for part in (leaves, other_leaves):
        source = LeafSource(part, layout, all_trees(len(part)))
        starts, indices, data = write_rows(source, len(part), layout.n_columns, 1)
        shape = (len(part), layout.n_columns)
        encoded.append(sparse.csr_array((data, indices, starts), shape=shape))
    roots = forest.roots - (0 if layout.root else np.arange(forest.n_trees))
    product = multiply_encodings(*encoded, roots, kind, normalize=normalize)
    np.testing.assert_allclose(product, expected, rtol=1e-6)


def as_root(tree: Forest) -> Forest:
    """Return a tree of its root alone."""
    fields = ("programs", "threshold", "is_level", "missing_left", "gain", "n_rows", "depth")
    first = {name: getattr(tree, name)[:1] for name in fields}
    return replace(tree, left=np.array([-1], np.int32), values=tree.values[:1], **first)


def test_rows_without_any_node_are_similar_to_none():
    forest, X = make_forest(1)
    lone = as_root(forest)
    leaves, numbering = lone.find_leaves(X[:5], NO_USERS), number_forest(lone)
    for kind in ("path", "torkkola"):
        found = share_paths(leaves, leaves, numbering, kind, normalize=True, root=False)
        np.testing.assert_array_equal(found, np.zeros((5, 5)))
        counted = share_paths(leaves, leaves, numbering, kind, normalize=True)
        np.testing.assert_array_equal(counted, np.ones((5, 5)))


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_threads_change_nothing(kind, n_jobs, monkeypatch):
    forest, X = make_forest()
    leaves, numbering = forest.find_leaves(X, NO_USERS), number_forest(forest)
    whole = share_paths(leaves, leaves, numbering, kind, normalize=True)
    monkeypatch.setattr(kernel, "_ROWS", 33)
    blocks = share_paths(leaves, leaves, numbering, kind, normalize=True, n_jobs=n_jobs)
    np.testing.assert_array_equal(blocks, whole)
    np.testing.assert_array_equal(whole, whole.T)
    assert (np.diagonal(whole) == 1.0).all()


def test_deep_and_many_trees_do_not_overflow(monkeypatch):
    forest, X = make_forest()
    leaves, numbering = forest.find_leaves(X, NO_USERS), number_forest(forest)
    usual = share_paths(leaves, leaves, numbering, "path", normalize=False)
    monkeypatch.setattr(kernel, "_LARGEST", (0, 0))
    np.testing.assert_array_equal(
        share_paths(leaves, leaves, numbering, "path", normalize=False), usual
    )
