"""Estimators of scikit-learn inside ours, and ours inside pipelines of scikit-learn."""

from __future__ import annotations

import builtins
import io
import os
import zipfile
from functools import partial

import numpy as np
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.cases import loop_over
from tests.export.cases import (
    ESTIMATORS,
    answers,
    as_bytes,
    fitted,
    make,
    pack,
    same,
    table,
    unpack,
)
from tests.export.cases import target as target_of

import featurewright
from featurewright import Operator, Real
from featurewright.export import ModelFileError, load, skops_types
from featurewright.export.stored.foreign import check_compiled

MEMBERS = {
    "linear": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra": ExtraTreesClassifier(3, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "bag": BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=3, random_state=0),
    "products": make_pipeline(PolynomialFeatures(2), RandomForestClassifier(3, random_state=0)),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "chosen": make_pipeline(SelectKBest(k=2), LogisticRegression()),
}
Y = (target_of("Classifier") > 1).astype(int)


def with_member(member):
    model = make("KernelFeatureEnsembleClassifier", estimator=member, n_runs=2)
    return model.fit(table("numbers"), Y)


@pytest.mark.parametrize("kind", MEMBERS)
def test_members_of_scikit_learn(kind):
    model = with_member(MEMBERS[kind])
    loaded = load(io.BytesIO(as_bytes(model)))
    assert same(answers(loaded, table("numbers")), answers(model, table("numbers")))
    assert repr(loaded.estimator) == repr(model.estimator)


@pytest.mark.parametrize("name", ["linear", "knn", "boosting"])
def test_models_of_auto_features(name):
    model = make("AutoFeatures", estimator=name, methods="batch", cv=TimeSeriesSplit(2))
    model.fit(table("polars"), target_of("Classifier"))
    loaded = load(io.BytesIO(as_bytes(model)))
    assert same(answers(loaded, table("polars")), answers(model, table("polars")))
    assert repr(loaded.cv) == repr(model.cv)
    assert repr(loaded.results_) == repr(model.results_)


def test_types_that_nobody_trusts():
    lightgbm = pytest.importorskip("lightgbm")
    member = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1)
    model = make("RecursiveSelectiveClassifier", estimator=member)
    data = as_bytes(model)
    with pytest.raises(ModelFileError, match=r"trusted=\['lightgbm.sklearn.LGBMClassifier'\]"):
        load(io.BytesIO(data))
    with pytest.raises(
        ModelFileError, match=r"trusted=\['a.B', 'lightgbm.sklearn.LGBMClassifier'\]"
    ):
        load(io.BytesIO(data), trusted=["a.B"])
    loaded = load(io.BytesIO(data), trusted=["lightgbm.sklearn.LGBMClassifier"])
    assert repr(loaded.estimator) == repr(member)


class Evil:
    """Does something when it is loaded."""

    def fit(self, X, y):
        return self

    def get_params(self, deep=True):
        return {}

    def __setstate__(self, state):
        raise AssertionError("executed")


def test_classes_of_strangers_are_not_executed():
    data = as_bytes(make("RecursiveSelectiveClassifier", estimator=Evil()))
    with pytest.raises(ModelFileError, match="Evil"):
        load(io.BytesIO(data))


@pytest.mark.parametrize(
    "function", [partial(os.system, "true"), partial(eval, "1"), partial(partial, os.system)]
)
def test_functions_inside_partials_are_found(function):
    """Partials are let in, since boosting with categories has one of scikit-learn's."""
    member = make_pipeline(FunctionTransformer(function), LogisticRegression())
    data = as_bytes(make("RecursiveSelectiveClassifier", estimator=member))
    with pytest.raises(ModelFileError, match=r"posix\.system|nt\.system|builtins\.eval"):
        load(io.BytesIO(data))


def swap_foreign(change):
    """Change the skops bytes of a model."""
    document, members = unpack(as_bytes(with_member(MEMBERS["linear"])))
    name = next(name for name in members if name.endswith(".skops"))
    return pack(document, {**members, name: change(members[name])})


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-30],
        lambda data: data.replace(b"standardscaler", b"standardscalex"),
        lambda data: data.replace(b"StandardScaler", b"StandardScalex"),
        lambda data: skops.io.dumps(print),
        lambda data: skops.io.dumps(np.zeros(3)),
        lambda data: skops.io.dumps([1, 2]),
    ],
)
def test_damaged_members(change):
    with pytest.raises(ModelFileError):
        load(io.BytesIO(swap_foreign(change)))


def test_bombs_inside():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"0" * 2**27)
    with pytest.raises(ModelFileError, match="claim to unpack"):
        load(io.BytesIO(swap_foreign(lambda data: file.getvalue())))


def _tree(**changes):
    model = DecisionTreeClassifier(random_state=0).fit(table("numbers"), Y)
    state = model.tree_.__getstate__()
    for field, value in changes.items():
        state["nodes"][field][0] = value
    model.tree_.__setstate__(state)
    return model


def _histogram(**changes):
    model = HistGradientBoostingClassifier(max_iter=2).fit(table("numbers"), Y)
    (predictor,) = model._predictors[0]
    for field, value in changes.items():
        predictor.nodes[field][0] = value
    return model


def _neighbours(change):
    model = KNeighborsClassifier(3).fit(table("numbers"), Y)
    state = [np.array(part) if k < 4 else part for k, part in enumerate(model._tree.__getstate__())]
    change(state)
    model._tree.__setstate__(tuple(state))
    return model


@loop_over(
    "model",
    [
        _tree(left_child=10**6),
        _tree(left_child=0),
        _tree(right_child=-7),
        _tree(feature=4),
        _tree(feature=-3),
        _histogram(left=10**6),
        _histogram(right=0),
        _histogram(feature_idx=10**6),
        _histogram(is_categorical=1),
        _neighbours(lambda state: state[1].fill(10**6)),
        _neighbours(lambda state: state[2]["idx_end"].fill(10**6)),
        _neighbours(lambda state: state.__setitem__(6, 10**6)),
        BaggingClassifier(_tree(), n_estimators=2)
        .fit(table("numbers"), Y)
        .set_params(estimator=_tree(feature=99)),
    ],
)
def test_compiled_trees_that_lead_nowhere(model):
    with pytest.raises(ModelFileError):
        check_compiled([{"member": (model,)}])


@pytest.mark.parametrize("model", [_tree(), _histogram(), _neighbours(lambda state: None)])
def test_compiled_trees_that_are_sound(model):
    check_compiled(np.array([model, None], dtype=object))


def test_a_forest_that_lets_in_fewer_columns_than_its_trees_test():
    forest = RandomForestClassifier(3, random_state=0).fit(table("numbers"), Y)
    check_compiled(forest)
    forest.n_features_in_ = 1
    with pytest.raises(ModelFileError, match="column that there is not"):
        check_compiled(forest)


def test_without_skops(monkeypatch):
    data = as_bytes(with_member(MEMBERS["bayes"]))
    plain = builtins.__import__

    def without(name, *rest):
        if name.startswith("skops"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelFileError, match=r"featurewright\[files\]"):
        load(io.BytesIO(data))
    with pytest.raises(ImportError, match=r"GaussianNB.*featurewright\[files\]"):
        as_bytes(make("RecursiveSelectiveClassifier", estimator=GaussianNB()))
    assert load(io.BytesIO(as_bytes(fitted("ConstructiveTreeClassifier"))))


# Pipelines of scikit-learn that contain ours ----------------------------------------------------


def _half_sum(a, b):
    return (a + b) / 2


def through_skops(pipeline):
    data = skops.io.dumps(pipeline)
    return skops.io.loads(data, trusted=skops_types(data))


@pytest.mark.parametrize("kind", ["numbers", "pandas"])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if hasattr(make(name), "transform")])
def test_pipelines_with_ours(name, kind):
    y = target_of(name)
    last = DecisionTreeClassifier(random_state=0) if y.dtype.kind == "i" else None
    pipeline = make_pipeline(make(name), last) if last else make_pipeline(make(name))
    pipeline.fit(table(kind), y)
    loaded = through_skops(pipeline)
    method = "predict_proba" if last else "transform"
    assert np.array_equal(
        getattr(loaded, method)(table(kind)), getattr(pipeline, method)(table(kind))
    )


def test_pipelines_with_operators_of_the_user():
    own = Operator("half_sum", (Real, Real), Real, _half_sum)
    forest = make("ConstructiveForestClassifier", operators=[own, "mul"])
    pipeline = make_pipeline(make_column_transformer((forest, [0, 1])), GaussianNB())
    pipeline.fit(table("numbers"), Y)
    data = skops.io.dumps(pipeline)
    (unknown,) = set(skops.io.get_untrusted_types(data=data)) - set(skops_types(data))
    assert unknown.endswith("_half_sum")
    loaded = skops.io.loads(data, trusted=[*skops_types(data), unknown])
    rows = table("numbers")
    assert np.array_equal(loaded.predict_proba(rows), pipeline.predict_proba(rows))


def test_types_of_others_are_not_listed():
    data = skops.io.dumps(make_pipeline(make("BatchConstructor"), Evil()))
    assert all(name.startswith("featurewright.") for name in skops_types(data))
    assert featurewright.BatchConstructor.__module__ + ".BatchConstructor" in skops_types(data)
