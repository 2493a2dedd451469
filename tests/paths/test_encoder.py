"""The encoding: what it holds, in any container, for any table, row by row or all at once."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from tests.cases import loop_over
from tests.naive import paths as naive
from tests.paths.cases import frame_classes, make_classes, make_frame, make_table

from featurewright import ForestPathEncoder
from featurewright.datasets import make_sin_inverse

WAYS = [
    {},
    {"encode": "leaf"},
    {"missing": "spread"},
    {"missing": "spread", "encode": "leaf"},
    {"n_hash": 16},
    {"n_hash": 300, "hashing": "mix", "missing": "spread"},
    {"search": "random", "budget": 10},
    {"search": "random", "budget": 10, "missing": "spread"},
    {"missing": "learned", "root": False},
    {"root": False, "depth_weights": [2.0, 1.5, 0.5], "missing": "spread"},
    {"depth_weights": 0.5, "n_hash": 20},
]


def fitted(share: float = 0.2, /, **params) -> tuple[ForestPathEncoder, np.ndarray, np.ndarray]:
    X = make_table(missing=share)
    y = make_classes(X)
    return ForestPathEncoder(**{"n_estimators": 8, "random_state": 0} | params).fit(X, y), X, y


def test_encoding_is_the_paths():
    encoder, X, _ = fitted()
    encoding = encoder.transform(X).toarray()
    assert encoding.shape == (120, encoder.n_nodes_)
    assert set(np.unique(encoding)) == {0.0, 1.0}
    numbers = {node: k for k, node in enumerate(naive.breadth_first(encoder.forest_))}
    for i, row in enumerate(X):
        expected = [
            numbers[node]
            for root, salt in zip(encoder.forest_.roots, encoder._salts, strict=True)
            for node in naive.random_path(encoder.forest_, root, row, int(salt))
        ]
        assert np.flatnonzero(encoding[i]).tolist() == expected


def test_leaves_alone():
    encoder, X, _ = fitted()
    whole = encoder.transform(X).toarray()
    encoder.set_params(encode="leaf")
    leaves = encoder.transform(X)
    assert leaves.shape == (120, encoder.forest_.n_leaves)
    np.testing.assert_array_equal(leaves.indices.reshape(120, 8), encoder.apply(X))
    np.testing.assert_array_equal(leaves.toarray(), whole[:, np.sort(encoder._numbering.end)])


def test_spread_rows_have_the_usual_length_in_leaves():
    encoder, X, _ = fitted(0.3, missing="spread")
    encoder.set_params(encode="leaf")
    np.testing.assert_allclose(encoder.transform(X).sum(axis=1), 8)
    complete = ~np.isnan(X).any(axis=1)
    encoder.set_params(encode="path")
    spread = encoder.transform(X)
    encoder.set_params(missing="random")
    np.testing.assert_array_equal(
        spread[complete].toarray(), encoder.transform(X[complete]).toarray()
    )


def test_random_averages_to_spread_over_many_trees():
    X = make_table(missing=0.3)
    encoder = ForestPathEncoder(400, max_depth=3, random_state=0).fit(X, make_classes(X))
    by_chance = encoder.transform(X)
    spread = encoder.set_params(missing="spread").transform(X)
    # Levels below the root and their mass, over all trees: depth 1 to 3 at most.
    depth = encoder.forest_.depth[encoder._numbering.nodes]
    for level in (1, 2, 3):
        mine = by_chance[:, depth == level].sum(axis=1)
        other = spread[:, depth == level].sum(axis=1)
        np.testing.assert_allclose(mine, other, atol=5 * np.sqrt(400 / 4))


@pytest.mark.parametrize("missing", ["random", "spread"])
@pytest.mark.parametrize("root", [True, False])
def test_roots_and_weights_of_levels(missing, root):
    encoder, X, _ = fitted(missing=missing)
    plain = encoder.transform(X).toarray()
    depth = encoder.forest_.depth[encoder._numbering.nodes]
    encoder.set_params(root=root, depth_weights=[0.75, 0.5, 0.25])
    weights = np.array([0.75, 0.5, 0.25])[np.minimum(depth, 2)]
    kept = depth >= (0 if root else 1)
    expected = (plain * weights)[:, kept]
    encoding = encoder.transform(X)
    np.testing.assert_array_equal(encoding.toarray(), expected)
    assert len(encoder.get_feature_names_out()) == encoding.shape[1]
    np.testing.assert_allclose(encoder.kernel(X, normalize=False), expected @ expected.T)
    assert encoder.kernel(X).diagonal() == pytest.approx(1.0)
    encoder.set_params(root=True, depth_weights=1.0)
    again = encoder.kernel(X, normalize=False, root=root, depth_weights=(0.75, 0.5, 0.25))
    np.testing.assert_allclose(again, expected @ expected.T)
    without = encoder.kernel(X, normalize=False) - encoder.n_estimators_
    np.testing.assert_allclose(encoder.kernel(X, normalize=False, root=False), without, atol=1e-6)


def test_learned_sides_are_those_of_a_forest():
    encoder, X, y = fitted(0.3, missing="learned", bootstrap=False, n_estimators=3)
    forest = encoder.forest_
    expected = forest.find_leaves(X, encoder._construction.compiled.functions(np.float32))
    np.testing.assert_array_equal(encoder.apply(X), encoder._numbering.rank[expected])
    assert len(set(forest.missing_left[forest.left >= 0])) == 2
    assert encoder.n_nodes_ < ForestPathEncoder(3, bootstrap=False).fit(X, y).n_nodes_


@pytest.mark.parametrize("params", [{}, {"missing": "spread", "search": "random", "budget": 10}])
def test_sparse_tables_are_as_dense_ones(params, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((90, 6)) < 0.3, rng.normal(size=(90, 6)), 0.0).astype(np.float32)
    y = np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0]).astype(int)
    dense = ForestPathEncoder(6, random_state=0, **params)
    expected = dense.fit_transform(X, y)
    monkeypatch.setattr("featurewright.tables.sparse._BLOCK_CELLS", 60)  # ten rows at a time
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        encoder = ForestPathEncoder(6, random_state=0, **params)
        assert (encoder.fit_transform(form(X), y) != expected).nnz == 0
        assert (encoder.transform(form(X)) != expected).nnz == 0
        np.testing.assert_array_equal(encoder.apply(form(X)), dense.apply(X))
        np.testing.assert_array_equal(encoder.kernel(form(X), X[:20]), dense.kernel(X, X[:20]))
    with pytest.raises(ValueError, match="sparse table contains NaN"):
        dense.transform(sparse.csr_array([[np.nan, 0, 0, 0, 0, 1]]))
    with pytest.raises(ValueError, match="6 features"):
        dense.transform(sparse.csr_array((2, 5)))


@pytest.mark.parametrize("params", WAYS)
def test_one_row_and_parts_equal_the_whole(params):
    encoder, X, _ = fitted(**params)
    whole = encoder.transform(X)
    assert whole.dtype == np.float32
    assert whole.has_canonical_format
    for i in (0, 7, 119):
        np.testing.assert_array_equal(
            encoder.transform(X[i : i + 1]).toarray()[0], whole[[i]].toarray()[0]
        )
    parts = [encoder.transform(X[first : first + 50]) for first in range(0, 120, 50)]
    assert (sparse.vstack(parts) != whole).nnz == 0


@pytest.mark.parametrize("params", WAYS)
@loop_over("n_jobs", [2, 3])
def test_threads_change_nothing(params, n_jobs):
    X = make_table(5000, 0.1)
    y = make_classes(X)
    settings = {"n_estimators": 4, "max_depth": 6, "random_state": 3} | params
    one = ForestPathEncoder(**settings).fit(X, y)
    many = ForestPathEncoder(**settings, n_jobs=n_jobs).fit(X, y)
    assert (one.transform(X) != many.transform(X)).nnz == 0
    np.testing.assert_array_equal(one.kernel(X[:50], X), many.kernel(X[:50], X))


@pytest.mark.parametrize("params", WAYS)
def test_fit_transform_is_transform_without_oob(params):
    X = make_table(missing=0.2)
    encoder = ForestPathEncoder(5, random_state=1, **params)
    assert (encoder.fit_transform(X, make_classes(X)) != encoder.transform(X)).nnz == 0


def test_hashing_adds_up():
    encoder, X, _ = fitted()
    whole = encoder.transform(X)
    folded = encoder.set_params(n_hash=10).transform(X).toarray()
    mixed = encoder.set_params(hashing="mix").transform(X).toarray()
    for i in range(len(X)):
        for found, mixes in ((folded, False), (mixed, True)):
            expected = naive.in_buckets(whole[[i]].indices.tolist(), 10, mixes=mixes)
            assert {k: v for k, v in enumerate(found[i]) if v} == dict(expected)
    assert encoder.get_feature_names_out().tolist() == [f"bucket {k}" for k in range(10)]


def test_out_of_bag_rows_go_through_trees_that_did_not_see_them():
    X = make_table(missing=0.1)
    y = make_classes(X)
    weights = np.ones(120)
    weights[:5] = 0  # never drawn
    encoder = ForestPathEncoder(40, oob=True, random_state=0)
    encoding = encoder.fit_transform(X, y, sample_weight=weights).toarray()
    ordinary = encoder.transform(X).toarray()
    np.testing.assert_array_equal(encoding[:5], ordinary[:5])
    edges = np.append(encoder.forest_.roots, encoder.n_nodes_)
    roots = encoding[:, edges[:-1]]
    np.testing.assert_allclose(roots.sum(axis=1), 40, rtol=1e-6)
    used = roots > 0
    assert 0.25 < used[5:].mean() < 0.5
    for tree in range(40):
        block = slice(edges[tree], edges[tree + 1])
        assert not encoding[~used[:, tree], block].any()
        rows = used[:, tree]
        scale = 40 / used[rows].sum(axis=1)
        expected = ordinary[rows, block] * scale[:, None]
        np.testing.assert_allclose(encoding[rows, block], expected, rtol=1e-6)
    # The rows a tree's root counted are those that did not go through it.
    np.testing.assert_array_equal(encoder.forest_.n_rows[edges[:-1]], (~used).sum(axis=0))


def test_a_row_that_all_trees_saw_is_encoded_as_usual():
    X = make_table(40)
    encoder = ForestPathEncoder(1, oob=True, random_state=0)
    encoding = encoder.fit_transform(X, make_classes(X))
    assert (encoding != encoder.transform(X)).nnz == 0


def test_container_follows_scikit_learn():
    encoder, X, _ = fitted()
    assert isinstance(encoder.transform(X), sparse.csr_matrix)
    if "sparse_interface" in sklearn.get_config():
        with sklearn.config_context(sparse_interface="sparray"):
            assert isinstance(encoder.transform(X), sparse.csr_array)


def test_data_frame_output_is_refused():
    encoder, X, _ = fitted()
    encoder.set_output(transform="pandas")
    with pytest.raises(ValueError, match="sparse"):
        encoder.transform(X)


def test_frames_categories_and_unseen_labels():
    frame = make_frame()
    y = frame_classes(frame)
    encoder = ForestPathEncoder(10, random_state=0).fit(frame, y)
    whole = encoder.transform(frame)
    assert (encoder.transform(frame.to_arrow()) != whole).nnz == 0
    assert (encoder.transform(frame.to_pandas()) != whole).nnz == 0
    other = frame.to_pandas()[:3].assign(colour="violet")
    missing = frame.to_pandas()[:3].assign(colour=pd.Series([None] * 3, dtype="str"))
    assert (encoder.transform(other) != encoder.transform(missing)).nnz == 0
    parts = [encoder.transform(frame[i : i + 1]) for i in range(len(frame))]
    assert (sparse.vstack(parts) != whole).nnz == 0


def test_clone_pickle_and_seeds():
    encoder, X, y = fitted(0.2, missing="spread", n_hash=50)
    again = pickle.loads(pickle.dumps(encoder))
    assert (again.transform(X) != encoder.transform(X)).nnz == 0
    anew = clone(encoder).fit(X, y)
    assert (anew.transform(X) != encoder.transform(X)).nnz == 0
    other = clone(encoder).set_params(random_state=1).fit(X, y)
    assert (other.transform(X) != encoder.transform(X)).nnz > 0


def test_root_of_columns_is_rounded_up():
    X = np.random.default_rng(0).normal(size=(30, 17))
    y = np.arange(30) % 2
    encoder = ForestPathEncoder(1, random_state=0).fit(X, y)
    assert encoder._construction.n_raw == 5
    assert ForestPathEncoder(1, max_features=3).fit(X, y)._construction.n_raw == 3


def test_a_linear_model_learns_what_it_could_not():
    X, y = make_sin_inverse(600, random_state=0)
    raw = cross_val_score(LogisticRegression(), X, y, cv=3).mean()
    model = make_pipeline(ForestPathEncoder(50, random_state=0), LogisticRegression())
    assert cross_val_score(model, X, y, cv=3).mean() > raw + 0.1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"bootstrap": "no"}, "bootstrap='no' must be True or False"),
        ({"oob": "yes"}, "oob='yes' must be True or False"),
        ({"n_hash": 2**40}, "n_hash=1099511627776 must be a whole number from 1 to 2147483647"),
        ({"n_estimators": "Auto"}, "must be a whole number of at least 1, or 'auto'"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number other than 0, or None"),
        ({"criterion": "squared_error"}, "criterion='squared_error' expects numbers"),
    ],
)
def test_wrong_parameters_get_one_sentence(params, words):
    X = make_table(30)
    with pytest.raises(ValueError, match=words):
        ForestPathEncoder(**params).fit(X, np.array(["a", "b"])[np.arange(30) % 2])


def test_normalised_encodings_have_the_kernel_of_the_encoder():
    X = make_table(60)
    encoder = ForestPathEncoder(10, random_state=0)
    rows = make_pipeline(encoder, Normalizer()).fit_transform(X, make_classes(X))
    np.testing.assert_allclose((rows @ rows.T).toarray(), encoder.kernel(X), atol=1e-5)
