"""What leaves have in common, and the kernel matrix, as the slow versions say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.engine.arguments import NO_USERS
from tests.engine.forests import make_forest
from tests.naive import paths as naive

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


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_matrix(kind, normalize):
    forest, X = make_forest()
    rows, others = X[:25], X[20:60]
    leaves, other_leaves = (forest.find_leaves(part, NO_USERS) for part in (rows, others))
    own, other = paths_of(forest, rows), paths_of(forest, others)
    expected = np.array([[naive.shared(a, b, kind) for b in other] for a in own])
    if normalize:
        norms, other_norms = (
            np.array([naive.shared(a, a, kind) for a in part]) for part in (own, other)
        )
        expected /= np.sqrt(norms[:, None] * other_norms[None, :])
    numbering = number_forest(forest)
    actual = share_paths(leaves, other_leaves, numbering, kind, normalize=normalize)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    turned = share_paths(other_leaves, leaves, numbering, kind, normalize=normalize)
    np.testing.assert_array_equal(turned, actual.T)
    n_nodes = len(forest.left)
    encoded = []
    for part in (leaves, other_leaves):
        layout = lay_out(forest, numbering, only_leaves=kind == "leaf")
        source = LeafSource(part, layout, all_trees(len(part)))
        starts, indices, data = write_rows(source, len(part), n_nodes, 1)
        encoded.append(sparse.csr_array((data, indices, starts), shape=(len(part), n_nodes)))
    product = multiply_encodings(*encoded, forest.roots, kind, normalize=normalize)
    np.testing.assert_allclose(product, expected, rtol=1e-6)


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
