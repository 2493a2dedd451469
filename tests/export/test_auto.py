"""AutoFeatures as SQL and ONNX: dates, original columns, parts of all kinds, linear models."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import onnxruntime
import polars as pl
import pytest
import sqlglot
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from tests.export.engines import ENGINES, KEY, mixed_frame, numbers, run

from featurewright import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesClassifier,
    ConstructiveExtraTreesRegressor,
    ForestPathEncoder,
    LandmarkKernelFeatures,
    RecursiveSelectiveTransformer,
)
from featurewright.auto import AutoFeatures
from featurewright.auto.originals import unique_names
from featurewright.auto.parts import learn_part, raw_scores
from featurewright.export import load, save, to_onnx, to_sql
from featurewright.expressions.dialects import DIALECTS


def dated_frame(n_rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """Numbers, labels and dates before and after 1970, leap days and last seconds among them."""
    random = np.random.default_rng(seed)
    edges = [
        dt.datetime(2000, 2, 29, 23, 59, 59),
        dt.datetime(1900, 3, 1),
        dt.datetime(1969, 12, 31),
    ]
    moments = [
        dt.datetime(1890, 1, 1) + dt.timedelta(milliseconds=int(ms))
        for ms in random.integers(0, 6_000_000_000_000, n_rows)
    ]
    moments[:3] = edges
    days = [
        dt.date(1999, 12, 1) + dt.timedelta(days=int(k)) for k in random.integers(0, 9e3, n_rows)
    ]
    return mixed_frame(n_rows, seed, hostile=False).with_columns(
        pl.Series("when'", moments),
        pl.Series("day", [None if k % 9 == 4 else day for k, day in enumerate(days)]),
        pl.Series("text", [str(day) for day in days[::-1]]),
    )


def quick(estimator=None) -> AutoFeatures:
    """A search that is over soon: folds that are given are not followed by further ones."""
    folds = KFold(2, shuffle=True, random_state=0)
    return AutoFeatures(estimator, methods="batch", effort="quick", cv=folds, random_state=0)


def target_of(frame: pl.DataFrame) -> np.ndarray:
    product = frame['a"b'].fill_nan(None).fill_null(0) * frame["größe"].fill_null(0)
    return np.digitize(product.to_numpy(), [-0.1, 0.3])


def check(model, frame: pl.DataFrame) -> None:
    expected = model.transform(frame)
    for engine in ENGINES:
        names, rows = run(to_sql(model, "t", engine, key=KEY), engine, frame)
        assert names == list(model.get_feature_names_out())
        np.testing.assert_allclose(numbers(rows), expected, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def fitted() -> AutoFeatures:
    model = quick()
    frame = dated_frame()
    return model.fit(frame, target_of(frame))


def with_parts(model: AutoFeatures, frame: pl.DataFrame) -> None:
    """Add to a fitted model parts of every kind, whatever its search has found."""
    table = model.reader_.read(model, frame)
    y = target_of(frame)
    parts = []
    for kind, transformer in (
        ("landmark", LandmarkKernelFeatures(3, append=False, scale=True, random_state=0)),
        ("component", RecursiveSelectiveTransformer(1, random_state=0)),
        ("path", ForestPathEncoder(2, max_leaf_nodes=8, random_state=0)),
    ):
        transformer.fit(table, y)
        names = transformer.get_feature_names_out()
        parts.append(
            learn_part(kind, kind, table, transformer=transformer, names=names, keep=[1, 0])
        )
    model.parts_ = [*model.parts_, *parts]
    columns = [*model.originals_.columns, *(c for part in model.parts_ for c in part.columns)]
    model.columns_ = unique_names(columns)


def test_dates_and_original_columns(fitted):
    assert {column.part for column in fitted.reader_.columns} >= {
        *("year", "month", "day", "weekday", "hour", "minute", "days", "difference")
    }
    check(fitted, dated_frame())
    check(fitted, dated_frame(50, seed=1))


def test_parts_of_every_kind():
    frame = dated_frame().drop_nulls()
    model = quick()
    model.fit(frame, target_of(frame))
    with pytest.raises(ValueError, match=r"Column .* holds dates or times, but an ONNX model"):
        to_onnx(model)
    with_parts(model, frame)
    check(model, frame)
    with pytest.raises(ValueError, match="Paths of trees have no ONNX form"):
        to_onnx(model)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_scores(n_classes, tmp_path):
    """Scores of boosting and votes of trees, with formulas and without, in one model."""
    random = np.random.default_rng(0)
    X = random.normal(size=(240, 3)).round(2)
    X[::17, 1] = np.nan
    values = np.sin(3 * X[:, 0]) * X[:, 2]
    cuts = np.quantile(values, np.arange(1, n_classes) / max(1, n_classes))
    y = np.array(list("abc"))[np.searchsorted(cuts, values)] if n_classes else values
    frame = pl.DataFrame(X, schema=["a", "b'", "c"]).fill_nan(None)
    model = quick().fit(frame, y)
    table = model.reader_.read(model, frame)
    small = {"random_state": 0, "max_leaf_nodes": 8}
    boosting, trees = (
        (ConstructiveBoostingClassifier, ConstructiveExtraTreesClassifier)
        if n_classes
        else (ConstructiveBoostingRegressor, ConstructiveExtraTreesRegressor)
    )
    vote = "vote" if n_classes else "score"
    for method, kind, learner in (
        ("scores", "score", boosting(8, random_state=0)),
        ("votes", vote, trees(8, search=None, **small)),
        ("formula votes", vote, trees(8, **small)),
    ):
        learner.fit(table, y)
        names = [f"{method} {k}" for k in range(raw_scores(learner, table).shape[1])]
        part = learn_part(method, kind, table, transformer=learner, names=names)
        model.parts_.append(part)
        model.columns_ += part.columns
    model.model_.fit(model.transform(frame), y)
    with pytest.raises(ValueError, match="Scores and votes of trees"):
        to_onnx(model)
    check(model, frame)
    save(model, tmp_path / "model.fw")
    again = load(tmp_path / "model.fw")
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_every_midnight_and_hour_is_on_the_right_day(fitted):
    """Days and hours at which a quotient is a whole number, over four hundred years."""
    days = [dt.date(1799, 12, 31) + dt.timedelta(days=37 * k) for k in range(4_000)]
    hours = [dt.datetime(1960, 1, 1) + dt.timedelta(hours=171 * k) for k in range(4_000)]
    frame = dated_frame(4_000).with_columns(pl.Series("day", days), pl.Series("when'", hours))
    check(fitted, frame)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_its_own_text(fitted, dialect):
    database = DIALECTS[dialect]
    frame = dated_frame()
    if set("".join(frame.columns)) & set(database.forbidden_in_names):
        with pytest.raises(ValueError, match=f"which names in {dialect} cannot have"):
            to_sql(fitted, "t", dialect)
        frame = frame.rename(dict(zip(frame.columns, "abcdefgh", strict=True)))
        fitted = quick().fit(frame, np.arange(120) % 2)
    if "date" not in database.seconds:
        with pytest.raises(ValueError, match=f"but not in {dialect}"):
            to_sql(fitted, "t", dialect)
        return
    text = to_sql(fitted, "t", dialect)
    (parsed,) = sqlglot.parse(text, dialect=dialect)
    names = list(fitted.get_feature_names_out())
    longest = max(len(name.encode()) for name in names)
    if not database.plain_outputs and longest <= (database.max_name_bytes or longest):
        assert [column.alias for column in parsed.expressions] == names


def test_times_of_day_and_durations():
    frame = pl.DataFrame(
        {
            "clock": [dt.time(k % 24, k % 60, 7) for k in range(60)],
            "x": np.random.default_rng(0).normal(size=60),
        }
    )
    model = quick()
    model.fit(frame, np.arange(60) % 2)
    rows = frame.with_columns(pl.col("clock").cast(pl.String))
    expected = model.transform(frame)
    assert expected.shape[1] >= 2
    for engine in ENGINES:
        _, found = run(to_sql(model, "t", engine, key=KEY), engine, rows)
        np.testing.assert_allclose(numbers(found), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="'clock' holds a time, which can be read in duckdb"):
        to_sql(model, "t", "bigquery")
    long = frame.with_columns(clock=pl.Series([dt.timedelta(seconds=k * 1.5) for k in range(60)]))
    model.fit(long, np.arange(60) % 2)
    _, found = run(to_sql(model, "t", "duckdb", key=KEY), "duckdb", long)
    np.testing.assert_allclose(numbers(found), model.transform(long), rtol=1e-9)
    with pytest.raises(
        ValueError, match="'clock' holds a duration, which can be read in duckdb and"
    ):
        to_sql(model, "t", "sqlite")


@pytest.mark.parametrize("task", ["two", "three", "numbers", "labels"])
def test_predictions_of_linear_models(task):
    frame = mixed_frame(150, hostile=False)
    classes = target_of(frame)
    y = {
        "two": classes > 0,
        "three": np.array(["a", "it's", "c"])[classes],
        "numbers": classes + np.linspace(0, 1, 150),
        "labels": np.column_stack([classes > 0, classes > 1]).astype(int),
    }[task]
    model = quick().fit(frame, y)
    outputs = ["predict"] if task == "numbers" else ["predict", "predict_proba"]
    for output in outputs:
        expected = np.asarray(getattr(model, output)(frame))
        for engine in ENGINES:
            query = to_sql(model, "t", engine, key=KEY, output=output)
            _, rows = run(query, engine, frame)
            if expected.dtype.kind in "UO":
                assert [row[0] for row in rows] == expected.tolist()
                continue
            found = numbers(rows)
            if task == "labels" and output == "predict_proba":
                found = found[:, 1::2]  # scikit-learn gives the chance of each label alone
            wanted = expected.reshape(found.shape).astype(float)
            np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_numbers_as_onnx():
    X = np.random.default_rng(0).normal(size=(120, 3))
    X[::6, 1] = np.nan
    y = np.where(X[:, 0] * X[:, 2] > 0, "yes", "no")
    model = quick().fit(X, y)
    for output in ("transform", "predict", "predict_proba"):
        session = onnxruntime.InferenceSession(to_onnx(model, output=output).SerializeToString())
        (found,) = session.run(None, {"X": X})
        expected = getattr(model, output)(X)
        if output == "predict":
            assert found.tolist() == expected.tolist()
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_other_estimators_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2
    for estimator in (DecisionTreeClassifier(), LogisticRegression(solver="liblinear")):
        model = quick(estimator).fit(X, y)
        assert to_sql(model, "t")
        with pytest.raises(TypeError, match="on constructed columns cannot be exported"):
            to_sql(model, "t", output="predict")


def test_left_out_columns_are_not_read(fitted):
    reader = replace(fitted.reader_)
    assert reader.schema.n_columns == len(reader.columns)
    frame = dated_frame().with_columns(same=pl.lit(3.0), number=pl.int_range(120))
    model = quick()
    model.fit(frame, target_of(frame))
    assert set(model.left_out_) == {"same", "number"}
    check(model, frame)
    assert '"same"' not in to_sql(model, "t")
