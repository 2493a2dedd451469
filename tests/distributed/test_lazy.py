"""polars LazyFrames and DuckDB relations in transform and predict, without collecting."""

from __future__ import annotations

import sys

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.distributed import models

import featurewright.distributed
from featurewright import AutoFeatures, ConstructiveForestClassifier, ForestPathEncoder


@pytest.fixture(scope="module")
def table():
    X, y, _ = models.make_table()
    return pl.from_pandas(X), y


def test_lazy_frames_stay_lazy(table, tmp_path):
    X, y = table
    X.write_parquet(tmp_path / "x.parquet")
    lazy = pl.scan_parquet(tmp_path / "x.parquet")
    for model in (
        ConstructiveForestClassifier(4, random_state=0).fit(X, y),
        AutoFeatures(effort="quick", methods="batch", random_state=0).fit(X, y),
    ):
        for method in ("transform", "predict", "predict_proba"):
            found = getattr(model, method)(lazy)
            assert isinstance(found, pl.LazyFrame)
            actual = found.collect()
            assert found.collect_schema() == actual.schema
            expected = np.asarray(getattr(model, method)(X))
            np.testing.assert_array_equal(actual.to_numpy().reshape(expected.shape), expected)
    model.transform(lazy).sink_parquet(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").height == X.height
    assert model.transform(lazy.filter(pl.col("a") > 1e9)).collect().height == 0


def test_sparse_results_of_lazy_frames(table):
    X, y = table
    model = ForestPathEncoder(2, random_state=0).fit(X, y)
    found = model.transform(X.lazy()).collect()
    np.testing.assert_array_equal(found.to_numpy(), model.transform(X).toarray())


def test_relations_are_computed_by_the_database(table):
    X, y = table
    model = ConstructiveForestClassifier(4, random_state=0).fit(X, y)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(X.to_arrow())
        found = model.transform(relation)
        assert isinstance(found, duckdb.DuckDBPyRelation)
        np.testing.assert_allclose(found.pl().to_numpy(), model.transform(X), rtol=1e-12)
        predicted = model.predict(relation).pl().to_numpy().ravel()
        np.testing.assert_array_equal(predicted, model.predict(X))
        with pytest.raises(TypeError, match="apply of a relation is not written as SQL"):
            model.apply(relation)


def test_fits_need_values(table):
    X, y = table
    with pytest.raises(TypeError, match="X is a lazy frame, but its values are needed"):
        ConstructiveForestClassifier(2).fit(X.lazy(), y)
    with duckdb.connect() as connection, pytest.raises(TypeError, match="X is a relation"):
        ConstructiveForestClassifier(2).fit(connection.from_arrow(X.to_arrow()), y)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("warm_up", "distributed", "dask"), ("fit", "dask", "dask"), ("spark", "pyspark", "spark")],
)
def test_an_extra_that_is_not_installed_is_named(name, package, extra, monkeypatch):
    for module in [key for key in sys.modules if key.startswith("featurewright.distributed.")]:
        monkeypatch.delitem(sys.modules, module)
        # A module that was imported is an attribute of its package too.
        monkeypatch.delattr(featurewright.distributed, module.split(".")[2], raising=False)
    for module in [package, *(key for key in sys.modules if key.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{package}, .*featurewright.{extra}"):
        getattr(featurewright.distributed, name)
