"""Dask collections in transform and predict: lazy, with the same values, index and divisions."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from tests.distributed import models

from featurewright import (
    AutoFeatures,
    ConstructiveBoostingClassifier,
    ConstructiveForestClassifier,
    ConstructiveTreeRegressor,
    ForestPathEncoder,
    LandmarkKernelFeatures,
)

ALONE = {
    "boosting": (True, lambda: ConstructiveBoostingClassifier(5, **models.SEED)),
    "tree of numbers": (False, lambda: ConstructiveTreeRegressor(**models.SEED)),
    "landmarks": (True, lambda: LandmarkKernelFeatures(8, **models.SEED)),
    "auto": (True, lambda: AutoFeatures(effort="quick", methods="batch", **models.SEED)),
}


pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture(scope="module")
def table():
    return models.make_table()[0]


def as_numpy(values):
    return values.toarray() if issparse(values) else np.asarray(values)


@pytest.mark.parametrize("name", [*models.MODELS, *ALONE])
def test_partitions_give_what_the_whole_table_gives(name, table):
    _, classes, numbers = models.make_table()
    is_class, make = (models.MODELS | ALONE)[name]
    model = make().set_params(random_state=0).fit(table, classes if is_class else numbers)
    lazy = dd.from_pandas(table, npartitions=3)
    for method in ("transform", "predict", "predict_proba", "decision_function", "apply"):
        if not hasattr(model, method):
            continue
        expected = getattr(model, method)(table)
        found = getattr(model, method)(lazy)
        actual = found.compute()
        np.testing.assert_array_equal(as_numpy(actual), as_numpy(expected), err_msg=method)
        if isinstance(found, dd.DataFrame | dd.Series):
            assert found.divisions == lazy.divisions
            assert (actual.index == table.index).all()
            dtypes = [found.dtypes, actual.dtypes]
            assert (dtypes[0] == dtypes[1]).all() if found.ndim == 2 else dtypes[0] == dtypes[1]
        if method == "transform" and isinstance(found, dd.DataFrame):
            assert list(found.columns) == list(model.get_feature_names_out())


def test_arrays_of_any_chunks(table):
    X, y = table[["a", "b", "c"]].to_numpy(), models.make_table()[1]
    model = ConstructiveForestClassifier(4, random_state=0).fit(X, y)
    for lazy in (
        da.from_array(X, chunks=(50, 2)),
        dd.from_pandas(table[["a", "b", "c"]], npartitions=3).to_dask_array(),  # of unknown sizes
    ):
        found = model.predict_proba(lazy)
        assert found.dtype == np.float64
        assert found.ndim == 2
        np.testing.assert_array_equal(found.compute(), model.predict_proba(X))
        assert model.predict(lazy).ndim == 1
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))


def test_nothing_is_computed_before_it_is_asked_for(table):
    model = models.fit("forest")
    seen = []

    def read(part):
        seen.append(len(part))
        return part

    lazy = dd.from_pandas(table, npartitions=3).map_partitions(read, meta=table.iloc[:0])
    seen.clear()
    found = model.predict(lazy)
    assert not seen
    assert len(found.compute()) == len(table)
    assert len(seen) == 3


def test_the_model_is_one_key_of_the_graph(table):
    model = models.fit("forest")
    graph = model.transform(dd.from_pandas(table, npartitions=3)).dask
    held = [key for key in graph if "ConstructiveForestClassifier" in str(key)]
    assert len(held) == 1


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's, in newer versions of pandas
def test_empty_partitions_dates_and_categories(tmp_path, table):
    X, y, _ = models.make_table()
    X["day"] = pd.date_range("2024-01-01", periods=len(X))
    X["colour"] = X["colour"].astype("category")
    X.loc[3, "day"] = pd.NaT
    model = AutoFeatures(effort="quick", methods="batch", random_state=0).fit(X, y)
    lazy = dd.from_pandas(X, npartitions=3)
    lazy = dd.concat([lazy, lazy[lazy["a"] > 1e9]])
    expected = model.transform(X)
    model.transform(lazy).to_parquet(tmp_path / "out")
    actual = pd.read_parquet(tmp_path / "out")
    np.testing.assert_array_equal(actual.to_numpy(), expected)


def test_sparse_results_are_arrays_of_sparse_blocks(table):
    model = models.fit("paths")
    found = model.transform(dd.from_pandas(table, npartitions=2))
    assert isinstance(found, da.Array)
    assert issparse(found.blocks[0].compute())


def test_what_no_partition_can_do_is_refused(table):
    lazy = dd.from_pandas(table, npartitions=2)
    y = np.column_stack([models.make_table()[1] > 0, models.make_table()[1] > 1]).astype(int)
    model = ConstructiveForestClassifier(2, random_state=0).fit(table, y)
    with pytest.raises(TypeError, match="predict_proba of several targets is a list"):
        model.predict_proba(lazy)
    with pytest.raises(TypeError, match="a dask Series, but a Dask DataFrame"):
        model.predict(lazy["a"])
    with pytest.raises(ValueError, match="1 dimensions, but rows and columns"):
        model.predict(da.ones(3))
    with pytest.raises(TypeError, match="lazy frame"):
        ForestPathEncoder(2).fit(table, y).kernel(lazy)
