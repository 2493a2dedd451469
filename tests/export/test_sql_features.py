"""Features as SQL, executed and compared with `transform`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from tests.export.engines import ENGINES, KEY, mixed_frame, numbers, run

from featurewright import (
    BatchConstructor,
    Category,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    FCTreeClassifier,
    Feature,
    LandmarkKernelFeatures,
    Operator,
    Real,
    RecursiveSelectiveClassifier,
    RecursiveSelectiveTransformer,
)
from featurewright.export import to_onnx, to_sql
from featurewright.export.graph import Graph
from featurewright.export.layers import Layers
from featurewright.export.sql import write_table
from featurewright.expressions import OPERATORS, parse
from featurewright.expressions.dialects import DIALECTS
from featurewright.expressions.sql_form import narrow_end
from featurewright.tables import encode, learn_schema

ALL = [name for name, row in OPERATORS.items() if name != "equal" and row.number_of is None]
HOSTILE = [0.0, -0.0, 1.0, -2.5, 1e30, -1e30, 1e-30, 3.4e38, 1e-300, 81.0, -800.0, None]


def labels_of(frame: pl.DataFrame) -> np.ndarray:
    score = (frame["größe"].fill_null(0) * frame['a"b'].fill_nan(0)).clip(-9, 9).to_numpy()
    return np.array(["it's", "b", "--"])[np.digitize(score, [-0.5, 0.5])]


def check(model, frame: pl.DataFrame, rtol: float = 1e-12, atol: float = 1e-300) -> None:
    expected = np.asarray(model.transform(frame), dtype=float)
    for engine in ENGINES:
        names, rows = run(to_sql(model, "t", engine, key=KEY), engine, frame)
        assert names == list(model.get_feature_names_out())
        np.testing.assert_allclose(numbers(rows), expected, rtol=rtol, atol=atol)


# Every operator on hostile values ---------------------------------------------------------------


def evaluate(texts: list[str], frame: pl.DataFrame, engine: str) -> tuple[np.ndarray, np.ndarray]:
    schema = learn_schema(frame)
    graph = Graph(schema)
    expressions = [
        parse(text, schema.names, schema.domains, levels=schema.levels) for text in texts
    ]
    graph.outputs = [(f"o{k}", graph.expression(e)) for k, e in enumerate(expressions)]
    query = Layers(graph, DIALECTS[engine]).query(
        write_table("t", DIALECTS[engine])[0], [KEY], [name for name, _ in graph.outputs], "fw"
    )
    _, rows = run(query.sql(dialect=engine), engine, frame)
    matrix = encode(schema, frame)
    return numbers(rows), np.column_stack([e.evaluate(matrix) for e in expressions])


@pytest.mark.parametrize("engine", ENGINES)
def test_every_operator_on_all_pairs_of_hostile_values(engine):
    pairs = [(x, y) for x in HOSTILE for y in HOSTILE]
    frame = pl.DataFrame(
        {
            "a": [x for x, _ in pairs],
            "b": [y for _, y in pairs],
            "p": [None if x is None else x > 0 for x, _ in pairs],
            "q": [None if y is None else y > 0 for _, y in pairs],
            "c": ["red" if x else None if x is None else "it's" for x, _ in pairs],
            "d": ["red" if y else None if y is None else "it's" for _, y in pairs],
        },
        schema_overrides={"a": pl.Float64, "b": pl.Float64},
    )
    texts = ["a + b", "a - b", "a * b", "a / b", "-a", "abs(a)", "square(a)", "sqrt(a)"]
    texts += ["log(a)", "exp(a)", "reciprocal(a)", "min(a, b)", "max(a, b)", "gaussian(a, b)"]
    texts += ["p and q", "p or q", "p xor q", "not p", "a < b", "a <= b", "a > b", "a >= b"]
    texts += ["c == d", "c is 'it''s'", "p + q", "a / (a - b)", "exp(-(a * b))", "log(exp(a))"]
    texts += ["reciprocal(a * b)", "min(a * b, a)", "sqrt(sqrt(square(a)))"]
    texts += ["max(a, 0.1)", "min(a - b, -2.5)", "a > -2.5", "not a * b > 1e+30", "max(b, 0)"]
    found, expected = evaluate(texts, frame, engine)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.recursive(
            st.sampled_from(["a", "b"]),
            lambda inner: st.one_of(
                st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({' '.join(t)})"),
                st.tuples(st.sampled_from(["log", "sqrt", "exp", "abs"]), inner).map(
                    lambda t: f"{t[0]}({t[1]})"
                ),
                st.tuples(st.sampled_from(["min", "max", "gaussian"]), inner, inner).map(
                    lambda t: f"{t[0]}({t[1]}, {t[2]})"
                ),
                st.tuples(st.sampled_from(["min", "max"]), inner).map(
                    lambda t: f"{t[0]}({t[1]}, -0.7)"
                ),
            ),
            max_leaves=6,
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(
        st.tuples(*[st.none() | st.floats(-1e3, 1e3, width=32) | st.sampled_from(HOSTILE)] * 2),
        min_size=1,
        max_size=8,
    ),
)
def test_deep_expressions(texts, rows):
    frame = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.Float64}, orient="row")
    if frame["a"].null_count() == len(frame) or frame["b"].null_count() == len(frame):
        return
    for engine in ENGINES:
        found, expected = evaluate(texts, frame, engine)
        # Differences of nearly equal numbers blow up the last digit of exp and log.
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


# Models -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_missing", [False, True])
def test_forest_features_on_a_hostile_table(keep_missing):
    frame = mixed_frame(150)
    model = ConstructiveForestClassifier(
        5, operators=ALL, keep_missing=keep_missing, include_original=True, random_state=0
    )
    check(model.fit(frame, labels_of(frame)), mixed_frame(150, seed=1))


def test_other_constructors():
    frame = mixed_frame(120)
    for model in (FCTreeClassifier(n_constructed="5n", random_state=0), BatchConstructor()):
        check(model.fit(frame, labels_of(frame)), frame)


def test_nothing_constructed_gives_the_columns():
    frame = mixed_frame(60)
    model = ConstructiveForestClassifier(2, search=None, random_state=0)
    check(model.fit(frame, labels_of(frame)), frame)


def test_unseen_labels_are_missing():
    frame = mixed_frame(120)
    model = ConstructiveTreeClassifier(operators=["is", "and"], include_original=True)
    model.fit(frame, labels_of(frame))
    check(model, frame.with_columns(pl.lit("never seen").alias("c`ol")))


def test_recursive_components():
    frame = mixed_frame(120, hostile=False)
    model = RecursiveSelectiveTransformer(n_recursions=1, random_state=0)
    check(model.fit(frame, labels_of(frame)), mixed_frame(80, seed=2, hostile=False), 1e-9, 1e-9)


@pytest.mark.parametrize(
    "kernel", ["gaussian", "rbf", "laplacian", "linear", "polynomial", "sigmoid", "cosine"]
)
def test_landmarks(kernel):
    frame = mixed_frame(100, hostile=False)
    model = LandmarkKernelFeatures(3, kernel=kernel, scale=kernel != "rbf", random_state=0)
    check(model.fit(frame), mixed_frame(50, seed=3, hostile=False), 1e-9, 1e-9)


def test_whole_numbers_and_text_are_read_as_numbers():
    frame = pl.DataFrame({"a": [7.0, 2.0, 5.0, 9.0], "b": [2.0, 4.0, 3.0, 2.0]})
    model = BatchConstructor(operators=["div"], n_features_out=2)
    model.fit(frame, [0, 1, 0, 1])
    expected = model.transform(frame)
    for engine in ENGINES:
        for kind in (pl.Int64, pl.String):
            query = to_sql(model, "t", engine, key=KEY)
            _, rows = run(query, engine, frame.cast(pl.Int64).cast(kind))
            np.testing.assert_allclose(numbers(rows), expected, rtol=1e-15)
        text = frame.cast(pl.String).with_columns(a=pl.lit(""), b=pl.lit("12abc"))
        _, rows = run(query, engine, text)
        np.testing.assert_array_equal(numbers(rows), np.broadcast_to(model._output()[1], (4, 2)))


# Text -------------------------------------------------------------------------------------------

LOG = {
    "duckdb": 'LN(NULLIF(ABS(CAST("a`b" AS DOUBLE)), 0.0e0))',
    "postgres": 'LN(NULLIF(ABS(CAST("a`b" AS DOUBLE PRECISION)), 0.0e0))',
    "sqlite": 'LN(NULLIF(ABS(CAST("a`b" AS REAL)), 0.0e0))',
    "spark": "LN(NULLIF(ABS(CAST(`a``b` AS DOUBLE)), 0.0e0))",
    "bigquery": 'LN(NULLIF(ABS(CAST(`a"b` AS FLOAT64)), 0.0e0))',
    "snowflake": 'LN(NULLIF(ABS(CAST("a`b" AS DOUBLE)), 0.0e0))',
}


def possible(names, dialect):
    """Return names without the characters that names of a dialect cannot have."""
    gone = str.maketrans("", "", DIALECTS[dialect].forbidden_in_names)
    return [name.translate(gone) for name in names]


def test_every_dialect_is_told_of():
    page = (Path(__file__).parents[2] / "docs/howto/sql.md").read_text(encoding="utf-8").lower()
    assert [name for name in DIALECTS if f'"{name}"' not in to_sql.__doc__] == []
    assert [name for name in DIALECTS if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_feature_as_text(dialect):
    assert dialect in LOG, f"add to LOG the text of a logarithm in {dialect}"
    texts = {"a`b": "log(`a``b`)", 'a"b': 'log(`a"b`)', "a b": "log(`a b`)"}
    for name, text in texts.items():
        feature = Feature.of(parse(text, [name]))
        if not set(name) & set(DIALECTS[dialect].forbidden_in_names):
            break
        with pytest.raises(ValueError, match=rf"holds '{name[1]}'"):
            feature.sql(dialect)
    assert feature.sql(dialect) == LOG[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_its_own_text(dialect):
    frame = mixed_frame(60).rename({'a"b': 'a"b\\'})
    frame = frame.rename(dict(zip(frame.columns, possible(frame.columns, dialect), strict=True)))
    model = ConstructiveForestRegressor(2, operators=ALL, max_depth=3, random_state=0)
    model.fit(frame, np.arange(60.0))
    for output in ("transform", "predict"):
        text = to_sql(model, "shop.sales", dialect, output=output, key="id")
        parsed = sqlglot.parse(text, dialect=dialect)
        assert len(parsed) == 1
        assert parsed[0].sql(dialect=dialect) == text


def test_a_model_as_text():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 1.0]})
    model = BatchConstructor(operators=["sub"], n_features_out=1).fit(frame, [0, 0, 1, 1])
    assert to_sql(model, "t", key="id") == (
        'WITH fw0 AS (SELECT "id" AS k0, '
        'CASE WHEN ABS(TRY_CAST("a" AS DOUBLE)) <= 3.4028234663852886e+38 '
        'THEN TRY_CAST("a" AS DOUBLE) END AS v0, '
        'CASE WHEN ABS(TRY_CAST("b" AS DOUBLE)) <= 3.4028234663852886e+38 '
        'THEN TRY_CAST("b" AS DOUBLE) END AS v1 FROM "t") '
        'SELECT k0 AS "id", COALESCE(CASE WHEN ABS(v0 - v1) <= 3.4028234663852886e+38 '
        'THEN v0 - v1 END, 2.0e0) AS "a - b" FROM fw0'
    )


def test_literals_are_floats_where_they_would_be_decimals():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 5.0, 1.0]})
    model = BatchConstructor(operators=["less"], n_features_out=1).fit(frame, [0, 1, 0, 1])
    condition = "CASE WHEN v0 < v1 THEN 1.0e0 WHEN NOT v0 IS NULL AND NOT v1 IS NULL THEN 0.0e0 END"
    assert f"COALESCE({condition}, 0.5e0)" in to_sql(model, "t", "duckdb")
    assert f"COALESCE(CAST({condition} AS DOUBLE PRECISION), 0.5e0)" in to_sql(
        model, "t", "postgres"
    )


def test_names_that_a_dialect_cannot_hold():
    frame = pl.DataFrame({f"{k}" * 40: [1.0, 2.0, 3.0, 5.0] for k in range(3)})
    model = BatchConstructor(operators=["add"], n_features_out=3).fit(frame, [0, 1, 0, 1])
    for dialect, longest in (("postgres", 63), ("bigquery", 300)):
        query = sqlglot.parse_one(to_sql(model, "t", dialect), dialect=dialect)
        names = [column.alias for column in query.expressions]
        assert len(set(names)) == len(names) == len(model.get_feature_names_out())
        assert max(map(len, names)) <= longest
    assert all(name.isidentifier() for name in names)


def test_own_names_do_not_hide_the_table():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "v0": [0.0, 1.0, 0.0, 1.0]})
    model = BatchConstructor(operators=["sub"], n_features_out=1).fit(frame, [0, 0, 1, 1])
    for engine in ENGINES:
        _, rows = run(to_sql(model, "fw0", engine, key=KEY), engine, frame, table="fw0")
        np.testing.assert_array_equal(numbers(rows), model.transform(frame))


def test_narrow_end_is_exact():
    random = np.random.default_rng(0)
    ends = np.append(random.normal(size=500), [0.0, 3.4028234663852886e38, -1e-45])
    for threshold in ends.astype(np.float32):
        end = narrow_end(float(threshold))
        with np.errstate(over="ignore"):
            assert np.float32(end) <= threshold < np.float32(np.nextafter(end, np.inf))


# Refusals ---------------------------------------------------------------------------------------


def twice(x):
    return 2 * x


def which_half(x):
    return 0 if x < 0 else 1


def test_what_has_no_sql_is_refused():
    frame = mixed_frame(60, hostile=False)
    own = Operator("twice", (Real,), Real, twice)
    model = BatchConstructor(operators=[own]).fit(frame, labels_of(frame))
    with pytest.raises(ValueError, match="'twice' is a function of your own"):
        to_sql(model, "t")
    with pytest.raises(ValueError, match="'twice' is a function of your own"):
        model.features_[0].sql()
    half = Operator("half", (Real,), Category, which_half, levels=("low", "high"))
    model = BatchConstructor(operators=[half]).fit(frame, labels_of(frame))
    with pytest.raises(ValueError, match="'half' is a function of your own"):
        to_sql(model, "t")
    with pytest.raises(ValueError, match="kernel chi2 has no SQL"):
        to_sql(LandmarkKernelFeatures(2, kernel="chi2").fit(np.ones((4, 2))), "t")
    with pytest.raises(TypeError, match="RecursiveSelectiveClassifier has no columns"):
        to_sql(RecursiveSelectiveClassifier().fit(np.eye(8)[:, :3], [0, 1] * 4), "t")


def test_bad_arguments_are_refused():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "A": [0.0, 1.0, 0.0, 1.0]})
    model = BatchConstructor(operators=["sub"], n_features_out=1).fit(frame, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="'a' and 'A' differ in case alone"):
        to_sql(model, "t")
    assert '"A"' in to_sql(model, "t", "postgres")
    with pytest.raises(NotFittedError):
        to_sql(BatchConstructor(), "t")
    with pytest.raises(ValueError, match="hold no NUL character"):
        to_sql(model, "t", "postgres", key="\0")
    with pytest.raises(ValueError, match="dialect='no database' is not known"):
        to_sql(model, "t", "no database")
    with pytest.raises(ValueError, match="table=''"):
        to_sql(model, "")
    with pytest.raises(ValueError, match="output="):
        to_sql(model, "t", output="fit")
    with pytest.raises(ValueError, match="key column 'a - A'"):
        to_sql(model, "t", "postgres", key="a - A")
    with pytest.raises(ValueError, match="too many to be written"):
        Feature.of(parse("+".join(["a"] * 60), ["a"])).sql()


def test_text_that_is_no_unicode_is_refused():
    labels = pd.Series(["x\ud800", "y"] * 20, dtype=object)
    frame = pd.DataFrame({"label": labels, "number": np.arange(40.0)})
    model = ConstructiveTreeClassifier(random_state=0).fit(frame, np.tile([0, 1], 20))
    with pytest.raises(ValueError, match=r"^The text 'x\\ud800' has half of a surrogate pair"):
        to_sql(model, "t", "postgres")
    model.fit(frame[["number"]], labels)
    for export in (partial(to_sql, table="t"), to_onnx):
        with pytest.raises(ValueError, match=r"^The text 'x\\ud800' has half of a surrogate pair"):
            export(model, output="predict")
