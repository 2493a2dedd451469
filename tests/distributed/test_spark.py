"""Models on a real Spark cluster: two executors, processes of their own with a core each."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.distributed import models

from featurewright import (
    AutoFeatures,
    BatchConstructor,
    ConstructiveBoostingRegressor,
    ConstructiveForestClassifier,
    ForestPathEncoder,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    # Spark's own, of its sockets and of pandas.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def session():
    import pyspark
    from pyspark.sql import SparkSession

    home = Path(pyspark.__file__).parent
    settings = {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        builder = builder.config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield session
        session.stop()
    shutil.rmtree(home / "work", ignore_errors=True)  # where its workers keep their logs


@pytest.fixture(scope="module")
def frame():
    X, classes, numbers = models.make_table()
    return X.assign(key=np.arange(len(X)), y=classes, number=numbers)


@pytest.fixture(scope="module")
def table(session, frame):
    return session.createDataFrame(frame.astype({"colour": object})).repartition(3)


def test_executors_are_other_processes(session):
    found = session.sparkContext.parallelize(range(8), 4).map(lambda _: os.getppid()).distinct()
    assert len({*found.collect(), os.getpid()}) == 3


def columns(frame):
    return frame.drop(columns=["key", "y", "number"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConstructiveForestClassifier(4, random_state=0),
        lambda: ForestPathEncoder(3, random_state=0),
        lambda: AutoFeatures(effort="quick", methods="batch", random_state=0),
        lambda: BatchConstructor(random_state=0),
    ],
)
def test_features_through_arrow(make, frame, table):
    from featurewright.distributed import spark

    X = columns(frame)
    model = make().fit(X, frame["y"])
    expected = model.transform(X)
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    found = spark.transform(model, table, keep=["key"]).toPandas().sort_values("key")
    assert list(found.columns[1:]) == [str(name) for name in model.get_feature_names_out()]
    np.testing.assert_array_equal(found.to_numpy()[:, 1:], expected)


def test_predictions_through_arrow(frame, table):
    from featurewright.distributed import spark

    X = columns(frame)
    model = ConstructiveForestClassifier(4, random_state=0).fit(X, frame["y"])
    found = spark.predict(model, table, keep=["key"]).toPandas().sort_values("key")
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    found = spark.predict_proba(model, table, keep=["key"]).toPandas().sort_values("key")
    np.testing.assert_array_equal(found.to_numpy()[:, 1:], model.predict_proba(X))
    model.fit(X, frame["colour"])
    found = spark.predict(model, table, keep=["key"]).toPandas().sort_values("key")
    np.testing.assert_array_equal(found["prediction"], model.predict(X))


def test_sql_computes_the_same(frame, table):
    from featurewright.distributed import spark

    X = columns(frame)
    model = ConstructiveBoostingRegressor(3, random_state=0).fit(X, frame["number"])
    found = spark.transform(model, table, keep=["key"], through="sql").toPandas()
    found = found.sort_values("key").to_numpy()[:, 1:]
    np.testing.assert_allclose(found, model.transform(X), rtol=1e-12)
    predicted = spark.predict(model, table, keep=["key"], through="sql").toPandas()
    predicted = predicted.sort_values("key").to_numpy()[:, 1]
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-6)


def test_fit_sees_a_sample(frame, table):
    from featurewright.distributed import spark

    model = ConstructiveForestClassifier(3, random_state=0)
    spark.fit(model, table.drop("key", "number"), "y", max_rows=100)
    assert model.drawn_.n_rows == models.N_ROWS
    assert 60 < model.drawn_.n_drawn < 140
    assert model.score(columns(frame), frame["y"]) > 0.6


def test_what_spark_cannot_read_is_refused(frame, table):
    from featurewright.distributed import spark

    model = ConstructiveForestClassifier(2, random_state=0).fit(columns(frame), frame["y"])
    with pytest.raises(ValueError, match="no column 'a', which the model was fitted with"):
        spark.transform(model, table.drop("a"))
    with pytest.raises(ValueError, match="no column 'id' to keep"):
        spark.predict(model, table, keep=["id"])
    with pytest.raises(ValueError, match="no column 'z' for the target"):
        spark.fit(model, table, "z")
    model.fit(columns(frame)[["a", "b"]].to_numpy(), frame["y"])
    with pytest.raises(ValueError, match="fitted on an array without names"):
        spark.transform(model, table)


def test_one_partition_of_one_row_equals_the_batch(session, frame):
    from featurewright.distributed import spark

    X = columns(frame)
    model = AutoFeatures(effort="quick", methods="batch", random_state=0).fit(X, frame["y"])
    alone = session.createDataFrame(X[7:8].astype({"colour": object}))
    found = spark.transform(model, alone).toPandas().to_numpy()
    np.testing.assert_array_equal(found, model.transform(X)[7:8])
