"""What feature construction trees find, learn and give."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from tests.cases import loop_over
from tests.clock import Clock
from tests.fctree.tables import one_useful, products, quadrants
from tests.naive import weighted as naive

from featurewright import FCTreeClassifier, FCTreeRegressor, Operator, Real
from featurewright.engine import growth
from featurewright.engine.criteria import CLASS_CRITERIA
from featurewright.expressions import Column

SIX = ["sqrt", "square", "add", "sub", "mul", "gaussian"]


@loop_over("seed", range(20))
def test_xor_is_the_product_at_the_root_and_two_leaves(seed):
    X, y = quadrants(seed)
    tree = FCTreeClassifier(n_constructed="10n", random_state=seed).fit(X, y)
    assert tree.get_feature_names_out().tolist() == ["x0", "x1", "x0 * x1"]
    assert len(tree.forest_.left) == 3
    assert tree.score(*quadrants(seed + 100)) == 1.0
    if np.count_nonzero(tree.forest_.operator_counts[0]) > 1:
        assert max(tree.operator_weights_, key=tree.operator_weights_.get) == "mul"


@loop_over("seed", range(20))
def test_xor_up_to_its_axes_has_two_leaves_too(seed):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(2000, 2))
    y = X[:, 0] * X[:, 1] > 0
    tree = FCTreeClassifier(n_constructed="10n", random_state=seed).fit(X, y)
    assert tree.get_feature_names_out().tolist() == ["x0", "x1", "x0 * x1"]
    assert tree.forest_.n_leaves == 2
    assert tree.score(X, y) == 1.0


def test_a_plain_tree_needs_more_leaves_for_xor():
    X, y = quadrants()
    plain = FCTreeClassifier(operators=[], random_state=0).fit(X, y)
    assert plain.forest_.n_leaves >= 4
    assert plain.n_candidates_ == 0
    assert plain.operator_weights_ == {}


def test_a_plain_tree_tests_columns_again():
    X = np.random.default_rng(0).uniform(size=(300, 1))
    y = np.floor(8 * X[:, 0]) % 2
    plain = FCTreeClassifier(operators=[], random_state=0).fit(X, y)
    assert plain.score(X, y) == 1.0
    once = clone(plain).set_params(reuse_columns=False).fit(X, y)
    assert once.forest_.n_leaves == 2
    constructed = FCTreeClassifier(operators=["square"], random_state=0).fit(X, y)
    assert constructed.forest_.n_leaves <= 4  # a column and its square once each
    again = clone(constructed).set_params(reuse_columns=True).fit(X, y)
    assert again.score(X, y) == 1.0


def test_effective_leaves_count_how_evenly_rows_are_spread():
    X = np.arange(100.0)[:, None]
    even = FCTreeClassifier(operators=[], random_state=0).fit(X, X[:, 0] // 25)
    assert even.n_effective_leaves_ == pytest.approx(4)
    uneven = FCTreeClassifier(operators=[], random_state=0).fit(X, X[:, 0] >= 90)
    assert uneven.n_effective_leaves_ == pytest.approx(2 * (1 - 2 * 0.4**2))
    alone = FCTreeClassifier().fit(X, np.zeros(100))
    assert alone.n_effective_leaves_ == 1
    X, y = products()
    several = FCTreeClassifier(3, random_state=0).fit(X, y)
    forest = several.forest_
    expected = []
    for tree in (forest.trees(k, k + 1) for k in range(3)):
        shares = tree.n_rows[tree.left < 0] / len(X)
        size = len(shares)
        expected.append(size * (1 - ((shares - 1 / size) ** 2).sum()))
    assert several.n_effective_leaves_ == pytest.approx(np.mean(expected))
    assert not hasattr(FCTreeClassifier(), "n_effective_leaves_")


def test_weights_of_every_node_are_given():
    X, y = products()
    tree = FCTreeClassifier(random_state=0).fit(X, y)
    weights = tree.node_operator_weights_
    assert weights.shape == (len(tree.forest_.left), 6)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert list(tree.operator_weights_) == SIX
    np.testing.assert_allclose(list(tree.operator_weights_.values()), weights[0])
    left = tree.forest_.left
    for node in np.flatnonzero(left >= 0):
        for child in (left[node], left[node] + 1):
            if left[child] < 0 and not tree.forest_.operator_counts[child].any():
                np.testing.assert_array_equal(weights[child], weights[node])


def test_an_operator_that_gains_weighs_more_below():
    expected = naive.learn([0.5, 0.5], [0.4, 0.1], [3, 3])
    assert expected[0] > 0.5
    X, y = quadrants(1)
    tree = FCTreeClassifier(operators=["mul", "add"], n_constructed=2, random_state=0).fit(X, y)
    assert tree.operator_weights_["mul"] > tree.operator_weights_["add"]


def share_of_draws(tree: FCTreeClassifier, name: str, depth: int) -> float:
    """Return the share of the candidates at nodes of some depth that an operator made."""
    counts = tree.forest_.operator_counts[tree.forest_.depth == depth].sum(axis=0)
    return counts[list(tree.operator_weights_).index(name)] / counts.sum()


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("name", SIX)
def test_the_only_useful_operator_is_drawn_most(name, numbers):
    # The square and the root order rows alike: of the two only one is there. They have one feature
    # for each column, and only as many can be drawn.
    twin = {"sqrt": "square", "square": "sqrt"}.get(name)
    operators = [operator for operator in SIX if operator != twin]
    n_constructed = "1n" if twin else "3.5n"
    make = FCTreeRegressor if numbers else FCTreeClassifier
    tree = make(8, operators=operators, n_constructed=n_constructed, max_depth=5, random_state=0)
    tree.fit(*one_useful(name, numbers=numbers))
    shares = [share_of_draws(tree, name, depth) for depth in range(5)]
    assert shares[0] < 0.3
    assert min(shares[3:]) >= 0.4


@pytest.mark.parametrize("numbers", [False, True])
def test_two_operators_that_order_rows_alike_are_drawn_most(numbers):
    make = FCTreeRegressor if numbers else FCTreeClassifier
    tree = make(8, n_constructed="1n", max_depth=5, random_state=0)
    tree.fit(*one_useful("square", numbers=numbers))
    for depth in (3, 4):
        alike = [share_of_draws(tree, name, depth) for name in ("sqrt", "square")]
        assert sum(alike) >= 0.4
        assert min(alike) > 0.2


def test_weights_change_as_much_as_they_are_told_to():
    X, y = one_useful("mul")
    tree = FCTreeClassifier(8, n_constructed="3.5n", max_depth=5, random_state=0).fit(X, y)
    strong = share_of_draws(tree, "mul", 4)
    weak = clone(tree).set_params(weighting_strength=0.2).fit(X, y)
    assert 0.2 < share_of_draws(weak, "mul", 4) < strong
    equal = clone(tree).set_params(weighting=False).fit(X, y)
    assert share_of_draws(equal, "mul", 4) < 0.2
    none = clone(tree).set_params(weighting_strength=0.0).fit(X, y)
    np.testing.assert_array_equal(none.forest_.programs, equal.forest_.programs)


@pytest.mark.parametrize(("n_columns", "n_constructed"), [(2, 4), (20, 400), (30, 500), (600, 600)])
def test_the_usual_number_of_features_grows_with_the_columns(n_columns, n_constructed):
    X = np.random.default_rng(0).normal(size=(40, n_columns))
    tree = FCTreeClassifier(max_depth=1, random_state=0).fit(X, np.arange(40) % 2)
    assert tree.n_candidates_ == n_constructed


def test_xor_is_found_among_noise():
    found = 0
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(500, 20))
        tree = FCTreeClassifier(random_state=seed).fit(X, X[:, 0] * X[:, 1] > 0)
        found += "x0 * x1" in tree.get_feature_names_out()
    assert found == 5


def test_without_weighting_all_operators_stay_alike():
    X, y = products()
    tree = FCTreeClassifier(weighting=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(tree.node_operator_weights_, 1 / 6)


def test_features_are_those_of_the_nodes_ranked_by_gain():
    X, y = products()
    tree = FCTreeClassifier(random_state=0).fit(X, y)
    inner = int((tree.forest_.left >= 0).sum())
    assert 1 < len(tree.features_) <= inner
    assert sum(feature.count for feature in tree.features_) == inner
    gains = [feature.gain for feature in tree.features_]
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) == pytest.approx(1, abs=1e-3)
    assert any(isinstance(feature.expression, Column) for feature in tree.features_)
    names = tree.get_feature_names_out()
    assert len(set(names)) == len(names) == tree.transform(X).shape[1]


def test_transform_gives_all_or_some_features_and_originals():
    X, y = products()
    tree = FCTreeClassifier(include_original=False, random_state=0).fit(X, y)
    everything = tree.transform(X)
    some = clone(tree).set_params(n_features_out=3).fit(X, y)
    np.testing.assert_array_equal(some.transform(X), everything[:, :3])
    both = clone(tree).set_params(include_original=True).fit(X, y)
    np.testing.assert_array_equal(both.transform(X)[:, :5], X)
    names = both.get_feature_names_out().tolist()
    assert names[:5] == ["x0", "x1", "x2", "x3", "x4"]
    assert len(set(names)) == len(names)
    np.testing.assert_array_equal(tree.transform(X[:1]), everything[:1])


def test_originals_do_not_use_up_the_features_asked_for():
    X, y = products()
    tree = FCTreeClassifier(random_state=0).fit(X, y)
    columns = [isinstance(feature.expression, Column) for feature in tree.features_]
    n_out = columns.index(True) + 1  # a column is among the best
    tree = clone(tree).set_params(n_features_out=n_out, include_original=True).fit(X, y)
    constructed = [f.name for f, lone in zip(tree.features_, columns, strict=True) if not lone]
    names = tree.get_feature_names_out().tolist()
    assert names == ["x0", "x1", "x2", "x3", "x4", *constructed[:n_out]]
    assert tree.transform(X).shape == (150, 5 + n_out)


def test_several_trees_merge_what_has_the_same_values():
    X, y = products()
    X = np.column_stack([X, X[:, 0]])  # a column twice
    forest = FCTreeClassifier(6, n_constructed="3n", include_original=False, random_state=0).fit(
        X, y
    )
    values = forest.transform(X)
    assert len({column.tobytes() for column in values.T}) == values.shape[1]
    assert sum(f.count for f in forest.features_) == int((forest.forest_.left >= 0).sum())
    assert forest.n_estimators_ == 6
    assert forest.score(X, y) > 0.9


def test_the_same_for_any_number_of_threads_and_after_pickling():
    X, y = products()
    one = FCTreeClassifier(5, random_state=3, n_jobs=1).fit(X, y)
    two = FCTreeClassifier(5, random_state=3, n_jobs=2).fit(X, y)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.node_operator_weights_, two.node_operator_weights_)
    for other in (two, again):
        np.testing.assert_array_equal(one.transform(X), other.transform(X))
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_operands_may_be_features_from_above():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] * X[:, 1] * X[:, 2] + 2 * X[:, 0] * X[:, 1]
    flat = FCTreeRegressor(n_constructed="5n", random_state=0).fit(X, y)
    deep = FCTreeRegressor(n_constructed="5n", max_order=2, random_state=0).fit(X, y)
    assert max(f.expression.size for f in flat.features_) <= 3
    assert max(f.expression.size for f in deep.features_) > 3
    check = rng.normal(size=(5, 3))
    assert np.isfinite(deep.transform(check)).all()


@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
def test_criteria(criterion):
    X, y = products()
    tree = FCTreeClassifier(criterion=criterion, n_constructed="4n", random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.95
    assert sum(tree.operator_weights_.values()) == pytest.approx(1)
    assert len(set(tree.operator_weights_.values())) > 1


def test_numbers():
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = X[:, 0] * X[:, 2]
    tree = FCTreeRegressor(n_constructed="10n", min_samples=10, random_state=0).fit(X, y)
    assert tree.features_[0].name == "x0 * x2"
    assert tree.score(X, y) > 0.9
    both = FCTreeRegressor(random_state=0).fit(X, np.column_stack([y, X[:, 1]]))
    assert both.predict(X).shape == (400, 2)


def mixed(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a b": rng.normal(size=120),
            "size": rng.normal(size=120),
            "colour": rng.choice(["red", "green", "blue"], 120),
            "flag": rng.random(120) < 0.5,
        }
    )
    y = (frame["colour"] == "red") ^ (frame["a b"] * frame["size"] > 0)
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame, y.to_numpy()


def test_frames_with_categories_and_missing_values():
    frame, y = mixed()
    tree = FCTreeClassifier(n_constructed="5n", random_state=0).fit(frame, y)
    names = tree.get_feature_names_out().tolist()
    assert any("colour" in name and "red" in name for name in names), names
    values = tree.transform(frame)
    assert np.isfinite(values).all()
    other = frame.assign(colour="never seen")
    assert np.isfinite(tree.transform(other)).all()
    same = FCTreeClassifier(n_constructed="5n", random_state=0).fit(pl.from_pandas(frame), y)
    np.testing.assert_array_equal(same.predict(pl.from_pandas(frame)), tree.predict(frame))
    out = tree.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == names


def test_a_category_may_be_tested_for_several_levels_on_a_path():
    levels = np.array(list("abcd"))[np.arange(80) % 4]
    y = np.isin(levels, ["a", "c"])
    tree = FCTreeClassifier(random_state=0).fit(pd.DataFrame({"letter": levels}), y)
    assert tree.score(pd.DataFrame({"letter": levels}), y) == 1.0
    assert all("letter" in name for name in tree.get_feature_names_out())


def test_operators_of_the_user_and_of_booleans():
    frame, y = mixed()
    half = Operator("half_sum", (Real, Real), Real, half_sum, commutative=True)
    tree = FCTreeClassifier(operators=[half, "not", "is", "xor"], max_order=2, random_state=0)
    tree.fit(frame, y)
    assert set(tree.operator_weights_) == {"half_sum", "not", "is", "xor"}
    assert np.isfinite(tree.transform(frame)).all()
    flat = clone(tree).set_params(max_order=1).fit(frame, y)
    assert set(flat.operator_weights_) == {"half_sum", "not", "is"}  # one Boolean is no pair


def half_sum(x, y):
    return 0.5 * (x + y)


def middle(x, y, z):
    return max(min(x, y), min(max(x, y), z))


def test_operators_of_three_operands_have_one_order_where_they_may():
    X = np.random.default_rng(0).normal(size=(300, 6))
    y = np.median(X[:, [1, 2, 4]], axis=1) > 0
    median = Operator("middle", (Real,) * 3, Real, middle, commutative=True)
    tree = FCTreeClassifier(operators=[median], n_constructed=200, random_state=0).fit(X, y)
    assert tree.features_[0].name == "middle(x1, x2, x4)"
    assert tree.forest_.operator_counts[0].sum() <= 6 * 6 * 6
    for feature in tree.features_:
        operands = feature.name.removeprefix("middle(").removesuffix(")").split(", ")
        assert operands == sorted(operands)


def test_weights_of_rows_count():
    X, y = products()
    weights = np.where(y == "a", 0.0, 1.0)
    tree = FCTreeClassifier(random_state=0).fit(X, y, weights)
    assert "a" not in tree.predict(X)


def test_features_help_naive_bayes():
    X, y = quadrants(n_rows=300)
    pipeline = make_pipeline(FCTreeClassifier(n_constructed="10n", random_state=0), GaussianNB())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.95
    assert cross_val_score(GaussianNB(), X, y, cv=3).mean() < 0.7


def test_what_the_columns_do_not_allow_is_refused():
    X, y = quadrants()
    with pytest.raises(ValueError, match="smaller max_order"):
        FCTreeClassifier(max_order=7).fit(X, y)
    with pytest.raises(ValueError, match=r"\['is', 'not'\] find no operands .* numbers \(2\)"):
        FCTreeClassifier(operators=["is", "not"]).fit(X, y)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((20, 3)),
        np.full((20, 2), np.nan),
        np.random.default_rng(0).normal(size=(20, 1)),
        np.random.default_rng(0).normal(size=(20, 3)) * 1e30,
        np.random.default_rng(0).normal(size=(20, 3)) * 1e-30,
        np.random.default_rng(0).normal(size=(1, 3)),
    ],
)
def test_hostile_tables(X):
    y = np.arange(len(X)) % 2
    for weighting in (True, False):
        tree = FCTreeClassifier(weighting=weighting, n_constructed=9, random_state=0).fit(X, y)
        assert np.isfinite(tree.transform(X)).all()
        assert np.isfinite(tree.node_operator_weights_).all()
        assert np.isin(tree.predict(X), y).all()


def test_many_classes():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    y = np.arange(1000) % 500
    tree = FCTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    assert tree.predict_proba(X).shape == (1000, 500)


def test_time_runs_out(monkeypatch):
    X, y = quadrants()
    Clock(monkeypatch).cut_trees_after(monkeypatch, growth, 3)
    tree = FCTreeClassifier(200, max_time=10.0, random_state=0).fit(X, y)
    assert tree.n_estimators_ == 3


def test_time_that_does_not_do_for_the_root_is_told(monkeypatch):
    X, y = quadrants()
    Clock(monkeypatch).cut_trees_after(monkeypatch, growth, 0)
    tree = FCTreeClassifier(max_time=10.0, random_state=0)
    with pytest.warns(UserWarning, match="before the root was split") as told:
        tree.fit(X, y)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert tree.features_ == ()
    assert tree.transform(X[:5]).shape == (5, X.shape[1])
    tree.fit(X, np.zeros(len(X)))  # nothing to split: no warning


def test_unary_operators_reach_the_documented_order():
    X, y = quadrants()
    tree = FCTreeClassifier(operators=["square"], max_order=126, random_state=0).fit(X, y)
    assert np.isfinite(tree.transform(X)).all()
