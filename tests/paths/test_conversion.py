"""Encoders of the trees of fitted models follow the paths that those models follow."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import ensemble, tree
from tests.paths.cases import frame_classes, make_classes, make_frame, make_table

import featurewright
from featurewright import ForestPathEncoder
from featurewright.paths.conversion import copy_trees

MODELS = [
    ensemble.RandomForestClassifier(6, random_state=0),
    ensemble.ExtraTreesRegressor(5, random_state=0, max_depth=6),
    ensemble.RandomTreesEmbedding(5, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
    ensemble.BaggingClassifier(n_estimators=4, max_features=2, random_state=0),
    ensemble.IsolationForest(n_estimators=4, max_features=3, random_state=0),
    tree.DecisionTreeClassifier(random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
]


def fit(model, X: np.ndarray):
    regressor = type(model).__name__.endswith("Regressor")
    return model.fit(X, np.nan_to_num(X[:, 0] * X[:, 1]) if regressor else make_classes(X))


def their_trees(model) -> list[tuple]:
    """Return the trees of a model of scikit-learn, with the columns that each was given."""
    trees = [model] if hasattr(model, "tree_") else list(np.ravel(model.estimators_))
    columns = getattr(model, "estimators_features_", [slice(None)] * len(trees))
    return list(zip(trees, columns, strict=True))


def breadth_first(fitted) -> list[int]:
    """List the nodes of a tree of scikit-learn, breadth first."""
    order = [0]
    for node in order:
        if fitted.tree_.children_left[node] >= 0:
            order += [fitted.tree_.children_left[node], fitted.tree_.children_right[node]]
    return order


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_paths_are_those_of_scikit_learn(model):
    X = make_table(200)
    fit(model, X)
    encoder = ForestPathEncoder.from_forest(model)
    rows = np.vstack([make_table(80, seed=1), X[:20]])
    members = their_trees(model)
    parts = []
    for fitted, _ in members:
        # Thresholds themselves, and what lies next to them, go the right way too.
        tested = fitted.tree_.threshold[fitted.tree_.feature >= 0].astype(np.float32)
        rows[: len(tested), 0] = tested[: len(rows)]
        rows[20 : 20 + len(tested), 1] = np.nextafter(tested, np.float32(9))[: len(rows) - 20]
    for fitted, columns in members:
        paths = fitted.decision_path(rows[:, columns])
        parts.append(paths[:, breadth_first(fitted)])
    expected = sparse.hstack(parts).toarray()
    np.testing.assert_array_equal(encoder.transform(rows).toarray(), expected)
    assert encoder.n_estimators_ == len(members)
    leaves = [fitted.apply(rows[:, columns]) for fitted, columns in members]
    for ours, theirs in zip(encoder.apply(rows).T, leaves, strict=True):
        pairs = set(zip(ours.tolist(), theirs.tolist(), strict=True))
        assert len(pairs) == len(set(ours)) == len(set(theirs))


@pytest.mark.parametrize("model", MODELS[:1] + MODELS[6:7], ids=["forest", "tree"])
def test_missing_values_go_where_the_model_sends_them(model):
    X = make_table(200, missing=0.2)
    fit(model, X)
    rows = make_table(90, missing=0.4, seed=2)
    encoder = ForestPathEncoder.from_forest(model)
    parts = [
        fitted.decision_path(rows)[:, breadth_first(fitted)] for fitted, _ in their_trees(model)
    ]
    np.testing.assert_array_equal(encoder.transform(rows).toarray(), sparse.hstack(parts).toarray())
    other = ForestPathEncoder.from_forest(model, missing="random", random_state=3)
    assert (other.transform(rows) != encoder.transform(rows)).nnz > 0
    spread = ForestPathEncoder.from_forest(model, missing="spread", encode="leaf")
    np.testing.assert_allclose(spread.transform(rows).sum(axis=1), encoder.n_estimators_)


@pytest.mark.parametrize(
    "name",
    [
        "ConstructiveForestClassifier",
        "ConstructiveExtraTreesClassifier",
        "ConstructiveBoostingClassifier",
        "FCTreeClassifier",
    ],
)
def test_own_learners(name):
    frame = make_frame()
    few = {} if name == "FCTreeClassifier" else {"n_estimators": 4}
    model = getattr(featurewright, name)(random_state=0, **few)
    model.fit(frame, frame_classes(frame))
    encoder = ForestPathEncoder.from_forest(model, encode="leaf")
    ranks = encoder._numbering.rank
    leaves = model.forest_.find_leaves(
        model._read_rows(frame), model._construction.compiled.functions(np.float32)
    )
    np.testing.assert_array_equal(encoder.apply(frame), ranks[leaves])
    assert encoder.transform(frame).shape == (len(frame), model.forest_.n_leaves)
    assert len(encoder.get_feature_names_out()) == model.forest_.n_leaves


def test_names_kernel_files_and_tables():
    X = pd.DataFrame(make_table(100), columns=["width", "b", "c", "d"])
    model = ensemble.RandomForestClassifier(3, max_depth=3, random_state=0)
    model.fit(X, make_classes(X.to_numpy()))
    encoder = ForestPathEncoder.from_forest(model, root=False, depth_weights=0.5)
    names = encoder.get_feature_names_out()
    encoding = encoder.transform(X)
    assert len(names) == encoding.shape[1] == encoder.n_nodes_ - 3
    assert names[0].startswith("tree 1: ")
    assert any("width" in name for name in names)
    product = (encoding @ encoding.T).toarray()
    np.testing.assert_allclose(encoder.kernel(X, normalize=False), product, rtol=1e-5)
    np.testing.assert_allclose(encoder.feature_importances_.sum(), 1.0)
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(X.rename(columns={"b": "z"}))
    file = io.BytesIO()
    featurewright.save(encoder, file)
    file.seek(0)
    loaded = featurewright.load(file)
    assert (loaded.transform(X) != encoding).nnz == 0
    assert loaded.get_feature_names_out().tolist() == names.tolist()
    wide = ForestPathEncoder.from_forest(
        ensemble.RandomForestClassifier(2, random_state=0).fit(X.to_numpy(), X["b"] > 0),
        feature_names=["a", "b", "c", "d"],
    )
    assert wide.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    dense = wide.transform(X.set_axis(["a", "b", "c", "d"], axis=1))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (wide.transform(sparse.csr_array(X.to_numpy())) != dense).nnz == 0


def test_thresholds_are_rounded_down():
    # Neighbours in float32 whose middle, in float64, is nearer to the larger one when rounded.
    larger = np.nextafter(np.float32(1001.0), np.float32(0.0))
    smaller = np.nextafter(larger, np.float32(0.0))
    model = tree.DecisionTreeClassifier().fit([[smaller], [larger]], [0, 1])
    threshold = copy_trees(model).forest.threshold[0]
    assert smaller <= model.tree_.threshold[0] < larger
    assert threshold == smaller


def test_what_cannot_be_copied_is_refused():
    X = make_table(60)
    y = X[:, 0] > 0
    hist = ensemble.HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    with pytest.raises(TypeError, match="cannot be read through its public interface"):
        ForestPathEncoder.from_forest(hist)
    with pytest.raises(TypeError, match="forest is a int, but a fitted tree"):
        ForestPathEncoder.from_forest(3)
    with pytest.raises(TypeError, match="forest is a VotingClassifier, but"):
        ForestPathEncoder.from_forest(
            ensemble.VotingClassifier([("a", featurewright.FCTreeClassifier())]).fit(X, y)
        )
    with pytest.raises(ValueError, match="not fitted"):
        ForestPathEncoder.from_forest(ensemble.RandomForestClassifier())
    forest = ensemble.RandomForestClassifier(2).fit(X, y)
    for names in (["a"], "abcd", ["a", "b", "c", 1], ["a", "a", "b", "c"], 5):
        with pytest.raises(ValueError, match="must be 4 different strings"):
            ForestPathEncoder.from_forest(forest, feature_names=names)
    own = featurewright.FCTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="leave it out"):
        ForestPathEncoder.from_forest(own, feature_names=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="encode='x' is not known"):
        ForestPathEncoder.from_forest(forest, encode="x")


class TestLightGBM:
    @pytest.mark.parametrize("missing", [0.0, 0.2])
    def test_leaves_are_those_of_the_model(self, missing):
        lightgbm = pytest.importorskip("lightgbm")
        X = make_table(300, missing)
        model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1, min_child_samples=3)
        model.fit(X, make_classes(X))
        rows = make_table(100, 0.3, seed=5)
        theirs = model.predict(rows, pred_leaf=True)
        for given in (model, model.booster_):
            encoder = ForestPathEncoder.from_forest(given)
            ours = encoder.apply(rows)
            assert ours.shape == theirs.shape
            for a, b in zip(ours.T, theirs.T, strict=True):
                pairs = set(zip(a.tolist(), b.tolist(), strict=True))
                assert len(pairs) == len(set(a)) == len(set(b))
            assert encoder.get_feature_names_out()[0] == "tree 1: all rows"
            assert not hasattr(encoder, "feature_names_in_")

    def test_tests_of_other_kinds_are_refused(self):
        lightgbm = pytest.importorskip("lightgbm")
        X = make_table(200)
        codes = np.digitize(X[:, :1], [-1, 0, 1])
        common = {"n_estimators": 2, "verbose": -1, "n_jobs": 1, "min_child_samples": 3}
        model = lightgbm.LGBMClassifier(min_data_per_group=1, cat_smooth=0.0, **common)
        model.fit(codes, codes[:, 0] % 2, categorical_feature=[0])
        with pytest.raises(ValueError, match="one-hot"):
            ForestPathEncoder.from_forest(model)
        model = lightgbm.LGBMClassifier(zero_as_missing=True, **common).fit(X, X[:, 0] > 0)
        with pytest.raises(ValueError, match="zero_as_missing=True"):
            ForestPathEncoder.from_forest(model)
