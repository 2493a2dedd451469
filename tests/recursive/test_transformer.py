"""The transformer: blocks, names, tables, weights, regression, stopping."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_classification, make_regression

from featurewright import RecursiveSelectiveTransformer
from featurewright.recursive.steps import Plane, Problem, is_stochastic, plan_parts, recurse
from featurewright.recursive.transformer import component_names, unique_names

IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


def fitted(**changes):
    return RecursiveSelectiveTransformer(
        **{"n_recursions": 1, "keep": (3,), "random_state": 0, **changes}
    ).fit(IRIS, NAMES)


def test_blocks_lie_side_by_side():
    everything = fitted().transform(IRIS)
    assert everything.shape == (150, 9)
    alone = [fitted(block=name).transform(IRIS) for name in np.unique(NAMES)]
    assert_allclose(everything, np.hstack(alone))
    assert not np.allclose(alone[0], alone[1])


def test_a_block_may_be_changed_after_fit():
    model = fitted()
    everything = model.transform(IRIS)
    model.set_params(block="virginica")
    assert_allclose(model.transform(IRIS), everything[:, 6:])
    assert len(model.get_feature_names_out()) == 3


def test_two_classes_have_one_matrix():
    X, y = make_classification(100, 6, random_state=0)
    model = RecursiveSelectiveTransformer(1, keep=(4,)).fit(X, y)
    assert model.matrices_.shape == (1, 6, 4)
    both = [model.set_params(block=k).transform(X) for k in (0, 1)]
    assert_array_equal(*both)


def test_matrices_and_offsets_are_the_transform():
    model = fitted()
    blocks = [
        IRIS.to_numpy() @ matrix + offset
        for matrix, offset in zip(model.matrices_, model.offsets_, strict=True)
    ]
    assert_allclose(model.transform(IRIS), np.hstack(blocks))


def test_names_say_what_is_in_a_component():
    names = fitted(keep=(4,)).get_feature_names_out()
    assert len(set(names)) == 12
    assert names[0].startswith("setosa: ")
    assert any("petal width (cm)" in name for name in names)
    assert "..." in " ".join(names)
    assert list(fitted(keep=(4,), block="setosa").get_feature_names_out()) == [
        name.removeprefix("setosa: ") for name in names[:4]
    ]


def test_names_list_the_largest_terms():
    matrix = np.array([[0.001], [-2.0], [0.0], [1.0], [3.0]])
    # The first column is measured in thousandths, so that its term is as large as the last.
    factor = np.array([1e-3, 1.0, 1.0, 1.0, 0.0])
    names = component_names(matrix, factor, list("abcde"), "p: ")
    assert names == ["p: -2*b + 0.001*a + 1*d"]
    assert component_names(np.zeros((2, 1)), np.ones(2), list("ab")) == ["0"]


def test_equal_names_are_numbered():
    assert unique_names(["a", "b", "a", "a (1)"]) == ["a (2)", "b", "a (3)", "a (1)"]


def test_set_output_and_pickle():
    model = fitted().set_output(transform="pandas")
    frame = model.transform(IRIS)
    assert list(frame.columns) == list(model.get_feature_names_out())
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.transform(IRIS), frame)


def test_one_row_equals_the_batch():
    model = fitted()
    batch = model.transform(IRIS)
    rows = np.vstack([model.transform(IRIS.iloc[[k]]) for k in range(5)])
    assert_allclose(rows, batch[:5], rtol=1e-12, atol=1e-12)


def test_missing_values_are_filled_with_the_median():
    model = fitted()
    holes = IRIS.copy()
    holes.iloc[3, 1] = np.nan
    filled = holes.fillna({IRIS.columns[1]: IRIS.iloc[:, 1].median()})
    assert_allclose(model.transform(holes), model.transform(filled), atol=1e-12)
    learned = RecursiveSelectiveTransformer(1).fit(holes, NAMES)
    assert np.isfinite(learned.transform(holes)).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_categories_become_indicators(make):
    random = np.random.RandomState(0)
    colour = random.choice(["red", "green", "blue"], 90).astype(object)
    size = random.normal(size=90)
    y = (colour == "red") ^ (size > 1.5)
    colour[5] = None
    table = make({"size": size, "colour": list(colour), "open": list(size > 0)})
    model = RecursiveSelectiveTransformer(1, keep=(4,)).fit(table, y)
    assert model.matrices_.shape == (1, 5, 4)
    assert any("colour = red" in name for name in model.get_feature_names_out())
    later = make({"size": [0.1, 0.1], "colour": ["violet", None], "open": [True, True]})
    unseen, missing = model.transform(later)
    assert_array_equal(unseen, missing)


def test_sparse_equals_dense():
    random = np.random.RandomState(0)
    X = random.poisson(0.4, size=(120, 12)).astype(float)
    y = (X[:, 0] + X[:, 1] > 1).astype(int) + (X[:, 2] > 0)
    settings = {"n_recursions": 3, "scale": "maxabs", "random_state": 0}
    dense = RecursiveSelectiveTransformer(**settings).fit(X, y)
    for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        model = RecursiveSelectiveTransformer(**settings).fit(make(X), y)
        assert_allclose(model.transform(make(X)), dense.transform(X), atol=1e-6)
        assert_allclose(model.transform(X), dense.transform(make(X)), atol=1e-6)


def test_sparse_tables_are_checked():
    X = sparse.random(20, 4, 0.5, "csr", random_state=0)
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="would fill a sparse table"):
        RecursiveSelectiveTransformer(1, scale="minmax").fit(X, y)
    for value, word in ((np.nan, "contains NaN"), (np.inf, "infinity"), (1e39, "1e\\+39")):
        bad = X.copy()
        bad.data[0] = value
        with pytest.raises(ValueError, match=word):
            RecursiveSelectiveTransformer(1).fit(bad, y)
    labels = RecursiveSelectiveTransformer(1).fit(pd.DataFrame({"a": list("xyxy")}), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="labels"):
        labels.transform(X[:, :1])


def test_weights_count_as_repeated_rows():
    weights = np.random.RandomState(0).randint(0, 4, 150)
    X, y = IRIS.to_numpy(), SPECIES.to_numpy()
    weighed = RecursiveSelectiveTransformer(2, keep=(3, 2)).fit(X, y, sample_weight=weights)
    repeated = RecursiveSelectiveTransformer(2, keep=(3, 2)).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert_allclose(weighed.transform(X), repeated.transform(X), atol=1e-6)
    plain = RecursiveSelectiveTransformer(2, keep=(3, 2)).fit(X, y)
    assert not np.allclose(weighed.transform(X), plain.transform(X), atol=1e-3)


def test_regression_finds_the_direction_of_the_target():
    X, y = make_regression(200, 12, n_informative=3, noise=1.0, random_state=0)
    model = RecursiveSelectiveTransformer(4, random_state=0).fit(X, y)
    assert model.classes_ is None
    components = model.transform(X)
    best = max(abs(np.corrcoef(component, y)[0, 1]) for component in components.T)
    raw = max(abs(np.corrcoef(column, y)[0, 1]) for column in X.T)
    assert best > max(raw, 0.9)
    assert model.get_feature_names_out()[0].count("*") >= 1


def test_the_task_may_be_said():
    X, y = make_regression(60, 4, random_state=0)
    counts = np.round(y / 50).astype(int)
    assert RecursiveSelectiveTransformer(1).fit(X, counts).matrices_.shape[0] > 1
    numbers = RecursiveSelectiveTransformer(1, task="regression").fit(X, counts)
    assert numbers.matrices_.shape[0] == 1
    with pytest.raises(ValueError, match="names a class"):
        RecursiveSelectiveTransformer(1, block=1).fit(X, y)


@pytest.mark.parametrize("validation", ["auto", 3, 0.3])
def test_auto_keeps_the_recursion_with_the_lowest_loss(validation):
    model = fitted(n_recursions="auto", keep=(4, 3, 3, 2), validation=validation)
    losses = model.history_["validation_loss"]
    assert np.isfinite(losses).all()
    assert model.n_recursions_ == int(np.argmin(losses))
    tried = len(losses) - 1
    assert tried == 4 or tried - model.n_recursions_ == 2
    assert model.history_["n_columns"].tolist() == [4, 4, 3, 3, 2][: tried + 1]


def test_auto_in_regression_and_with_no_recursion():
    X, y = make_regression(80, 5, random_state=0)
    model = RecursiveSelectiveTransformer("auto", keep=(1,), random_state=0).fit(X, y)
    # One column cannot hold what five do.
    assert model.n_recursions_ in (0, 1)
    assert model.transform(X).shape == (80, 5 if model.n_recursions_ == 0 else 1)
    none = fitted(n_recursions=0)
    assert none.transform(IRIS).shape == (150, 4)
    assert_allclose([none.transform(IRIS).min(), none.transform(IRIS).max()], [0, 1], atol=1e-12)


def test_history_of_a_fixed_number():
    history = fitted(n_recursions=2, keep=(3, 2)).history_
    assert history["recursion"].tolist() == [0, 1, 2]
    assert history["n_columns"].tolist() == [4, 3, 2]
    assert (history["train_loss"] > 0).all()
    assert np.isnan(history["validation_loss"]).all()


@pytest.mark.parametrize("solver", ["liblinear", "sgd"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_same_seed_same_result_for_any_n_jobs(solver, loss):
    one, two = (
        fitted(n_recursions="auto", solver=solver, loss=loss, validation=0.3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.transform(IRIS), two.transform(IRIS))
    assert_array_equal(one.history_["validation_loss"], two.history_["validation_loss"])


@pytest.mark.parametrize(("loss", "expected"), [("squared_hinge", "liblinear"), ("hinge", "sgd")])
def test_many_rows_take_the_stochastic_solver_where_liblinear_is_slow(loss, expected):
    X, y = make_classification(10_200, 5, random_state=0)
    made = {
        solver: RecursiveSelectiveTransformer(1, solver=solver, loss=loss, random_state=0)
        .fit(X, y)
        .transform(X)
        for solver in ("auto", "sgd", "liblinear")
    }
    other = "sgd" if expected == "liblinear" else "liblinear"
    assert_array_equal(made["auto"], made[expected])
    assert not np.allclose(made["auto"], made[other])


@pytest.mark.parametrize(
    ("loss", "shape", "expected"),
    [
        ("squared_hinge", (10_000_000, 10), False),
        ("squared_hinge", (10_000_001, 10), True),
        ("squared_hinge", (10_001, 10_002), True),
        ("hinge", (10_000, 10), False),
        ("hinge", (10_001, 10), True),
    ],
)
def test_when_gradients_are_stochastic(loss, shape, expected):
    assert is_stochastic("auto", loss, shape) is expected
    assert is_stochastic("sgd", loss, shape)
    assert not is_stochastic("liblinear", loss, shape)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("regression", [False, True])
def test_stochastic_steps_do_not_run_away_on_projected_columns(regression, is_sparse):
    rng = np.random.RandomState(0)
    X = rng.rand(3000, 12)
    y = X[:, 0] + 2 * X[:, 1] - X[:, 2] + 0.1 * rng.randn(3000)
    y = (y - y.mean()) / y.std() if regression else np.where(y > np.median(y), 1.0, -1.0)
    columns = sparse.csr_matrix(X) if is_sparse else X
    plan = plan_parts(12, (10, 8, 7), 3)
    losses = {}
    for stochastic in (False, True):
        plane = Plane(
            regression, stochastic, 1.0, "squared_hinge", "stretch", None, "first", "class"
        )
        walk = recurse(columns, [Problem(y, 0)], None, plane, plan)
        losses[stochastic] = [stage.weighed.loss for (stage,) in walk]
    assert max(losses[True]) < 2 * losses[False][0]  # steps of the usual size: 100 times


def test_one_scale_for_the_whole_table():
    X = np.random.RandomState(0).normal(size=(60, 3)) * [1.0, 10.0, 100.0]
    y = (X[:, 0] > 0).astype(int)
    for table in (X, sparse.csr_matrix(X)):
        model = RecursiveSelectiveTransformer(0, scale="table").fit(table, y)
        assert_allclose(model.transform(table), X / np.abs(X).max())


def test_rows_with_outliers_are_left_out():
    X, y = IRIS.to_numpy(), SPECIES.to_numpy()
    far = np.vstack([X, X[:3] + np.array([0, 0, 0, 50.0])])
    labels = np.append(y, y[:3])
    low, high = np.percentile(far, (25, 75), axis=0)
    inside = ((far >= 2.5 * low - 1.5 * high) & (far <= 2.5 * high - 1.5 * low)).all(axis=1)
    assert 100 < inside.sum() < 150
    assert not inside[-3:].any()
    weights = np.linspace(1.0, 2.0, len(far))
    without = RecursiveSelectiveTransformer(1, remove_outliers=True, random_state=0)
    without.fit(far, labels, sample_weight=weights)
    chosen = RecursiveSelectiveTransformer(1, random_state=0)
    chosen.fit(far[inside], labels[inside], sample_weight=weights[inside])
    assert_array_equal(without.matrices_, chosen.matrices_)


def test_outliers_that_cannot_be_left_out():
    X, y = IRIS.to_numpy(), SPECIES.to_numpy().copy()
    X = np.vstack([X, X[:2] + 100.0])
    labels = np.append(y, [3, 3])
    with pytest.raises(ValueError, match="leaves no row of class 3"):
        RecursiveSelectiveTransformer(remove_outliers=True).fit(X, labels)
    with pytest.raises(ValueError, match="needs a dense table"):
        RecursiveSelectiveTransformer(remove_outliers=True).fit(sparse.csr_matrix(X), labels)
    # Zeros with a few ones, labels and gaps have no outliers.
    table = pd.DataFrame({"rare": [0.0] * 9 + [1.0], "label": list("aaaaabbbbc"), "gap": np.nan})
    model = RecursiveSelectiveTransformer(0, remove_outliers=True, scale="maxabs")
    assert model.fit(table, [0, 1] * 5).transform(table)[-1, 0] == 1.0
