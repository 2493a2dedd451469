"""Data frames of every kind are read in one way."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from tests.cases import loop_over

from featurewright.expressions.domains import Domain
from featurewright.tables import apply_table, encode, fit_table, learn_schema

NAN = np.nan
REAL, BOOLEAN, CATEGORY = Domain.REAL, Domain.BOOLEAN, Domain.CATEGORY


def one(values, dtype=None):
    return pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


def polars_one(values, dtype=None):
    return pl.DataFrame({"c": pl.Series(values, dtype=dtype)})


ARROW_DECIMAL = pd.ArrowDtype(pa.decimal128(5, 2))

COLUMNS = {
    "int": (one([1, 2]), REAL, None, [1, 2]),
    "float with NaN": (one([1.5, NAN]), REAL, None, [1.5, NAN]),
    "float16": (one([1.5, NAN], "float16"), REAL, None, [1.5, NAN]),
    "nullable int": (one([1, None], "Int64"), REAL, None, [1, NAN]),
    "nullable float": (one([1.5, None], "Float64"), REAL, None, [1.5, NAN]),
    "arrow int": (one([1, None], "int64[pyarrow]"), REAL, None, [1, NAN]),
    "arrow decimal": (one([Decimal("1.5"), None], ARROW_DECIMAL), REAL, None, [1.5, NAN]),
    "object numbers": (one([1, None, 2.5], object), REAL, None, [1, NAN, 2.5]),
    "object numbers and bools": (one([True, 2.5], object), REAL, None, [1, 2.5]),
    "object decimals": (one([Decimal("1.5"), None], object), REAL, None, [1.5, NAN]),
    "bool": (one([True, False]), BOOLEAN, None, [1, 0]),
    "nullable bool": (one([True, None], "boolean"), BOOLEAN, None, [1, NAN]),
    "arrow bool": (one([True, None], "bool[pyarrow]"), BOOLEAN, None, [1, NAN]),
    "object bool": (one([True, None, False], object), BOOLEAN, None, [1, NAN, 0]),
    "str": (one(["b", None, "a"]), CATEGORY, ("a", "b"), [1, NAN, 0]),
    "object str": (one(["b", NAN, "a"], object), CATEGORY, ("a", "b"), [1, NAN, 0]),
    "arrow str": (one(["b", None, "a"], "string[pyarrow]"), CATEGORY, ("a", "b"), [1, NAN, 0]),
    "categorical": (
        pd.DataFrame({"c": pd.Categorical(["b", None, "a"], categories=["z", "b", "a"])}),
        CATEGORY,
        ("a", "b"),
        [1, NAN, 0],
    ),
    "categorical ints": (
        pd.DataFrame({"c": pd.Categorical([30, 4, None])}),
        CATEGORY,
        (4, 30),
        [1, 0, NAN],
    ),
    "binned": (
        pd.DataFrame({"c": pd.cut([0, 9, NAN], [-1, 5, 10])}),
        CATEGORY,
        ("(-1, 5]", "(5, 10]"),
        [0, 1, NAN],
    ),
    "mixed objects": (
        one(["1", 1, True, 1.0, None, "a", 0.5], object),
        CATEGORY,
        (True, 0.5, 1, "1", "a"),
        [3, 2, 0, 2, NAN, 4, 1],
    ),
    "all missing objects": (one([None, None], object), REAL, (), [NAN, NAN]),
    "all missing floats": (one([NAN, NAN]), REAL, None, [NAN, NAN]),
    "all missing bools": (one([None, None], "boolean"), REAL, (), [NAN, NAN]),
    "polars int": (polars_one([1, None]), REAL, None, [1, NAN]),
    "polars decimal": (polars_one([Decimal("1.5"), None]), REAL, None, [1.5, NAN]),
    "polars bool": (polars_one([True, None]), BOOLEAN, None, [1, NAN]),
    "polars str": (polars_one(["b", None, "a"]), CATEGORY, ("a", "b"), [1, NAN, 0]),
    "polars categorical": (
        polars_one(["b", None, "a"], pl.Categorical),
        CATEGORY,
        ("a", "b"),
        [1, NAN, 0],
    ),
    "polars enum": (
        polars_one(["b", None, "a"], pl.Enum(["b", "a", "z"])),
        CATEGORY,
        ("a", "b"),
        [1, NAN, 0],
    ),
    "polars huge int": (polars_one([2**70, None], pl.Int128), REAL, None, [2.0**70, NAN]),
    "polars null": (polars_one([None, None]), REAL, (), [NAN, NAN]),
    "arrow table": (pa.table({"c": ["b", None, "a"]}), CATEGORY, ("a", "b"), [1, NAN, 0]),
}


@loop_over("dtype", [np.float32, np.float64])
@loop_over("order", ["C", "F"])
@loop_over("case", COLUMNS)
def test_column(case, order, dtype):
    frame, domain, levels, expected = COLUMNS[case]
    schema = learn_schema(frame)
    assert schema.names == ("c",)
    assert schema.given_names
    assert schema.domains.tolist() == [domain]
    assert schema.levels == (levels,)
    matrix = encode(schema, frame, dtype, order=order)
    assert matrix.dtype == dtype
    assert matrix.flags.writeable
    assert_array_equal(matrix[:, 0], np.array(expected, dtype=dtype))


def test_levels_do_not_depend_on_the_order_of_rows():
    values = ["b", 2, "a", 1.0, True, 1]
    schemas = [learn_schema(one(rows, object)) for rows in (values, values[::-1])]
    assert schemas[0].levels == schemas[1].levels == ((True, 1, 2, "a", "b"),)
    assert [type(label) for label in schemas[0].levels[0]] == [bool, int, int, str, str]


@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_unseen_labels_are_missing(kind):
    schema = learn_schema(one(["a", "b"], kind))
    assert_array_equal(encode(schema, one(["b", "c", None], kind)).ravel(), [1, NAN, NAN])


def test_labels_may_change_their_container():
    schema = learn_schema(one(["a", "b"]))
    assert_array_equal(encode(schema, polars_one(["b", "a"], pl.Categorical)).ravel(), [1, 0])


def test_numeric_labels_are_found_among_plain_numbers():
    schema = learn_schema(pd.DataFrame({"c": pd.Categorical([1, 2])}))
    assert_array_equal(encode(schema, one([2.0, NAN, 7.0])).ravel(), [1, NAN, NAN])


@loop_over("absent", [one([None], object), one([NAN]), polars_one([None])])
@loop_over("learned", [["a"], [1.5], [True]])
def test_missing_values_fit_every_domain(learned, absent):
    assert_array_equal(encode(learn_schema(one(learned)), absent), [[NAN]])


def test_column_without_values_takes_anything_later():
    schema = learn_schema(one([None, None], object))
    assert_array_equal(encode(schema, one(["a", None])).ravel(), [NAN, NAN])


def test_boolean_column_takes_zero_and_one():
    schema = learn_schema(one([True, False]))
    assert_array_equal(encode(schema, one([0.0, 1.0, NAN])).ravel(), [0, 1, NAN])
    with pytest.raises(ValueError, match="Column 'c' holds 2, but it held booleans"):
        encode(schema, one([0, 2]))


def test_number_column_takes_booleans():
    assert_array_equal(encode(learn_schema(one([1.5, 2])), one([True, False])).ravel(), [1, 0])


@pytest.mark.parametrize(
    ("learned", "arriving", "message"),
    [
        (["a"], one([1]), "Column 'c' holds numbers, but it held labels such as 'a'"),
        (["a"], one([1], object), "Column 'c' holds numbers, but it held labels"),
        (["1"], one([True]), "Column 'c' holds booleans, but it held labels"),
        (
            [1],
            one(["1"]),
            "Column 'c' holds strings or categories such as '1', but it held numbers",
        ),
        ([1], one(["1", None, "?"]), "holds strings or categories such as '[?]', but"),
        ([True], one(["True"]), "such as 'True', but it held booleans"),
    ],
)
def test_changed_content_is_refused(learned, arriving, message):
    with pytest.raises(TypeError, match=message):
        encode(learn_schema(one(learned)), arriving)


@loop_over(
    ("frame", "problem"),
    [
        (one([datetime.datetime(2020, 1, 1)]), "has the dtype Datetime"),
        (one([datetime.date(2020, 1, 1)], object), "holds objects of the type date"),
        (one([datetime.timedelta(1)]), "has the dtype Duration"),
        (one([[1, 2]], object), "holds objects of the type list"),
        (one([{"a": 1}], object), "holds objects of the type dict"),
        (one([1j]), "has the dtype complex128"),
        (one([1j], object), "holds objects of the type complex"),
        (polars_one([datetime.date(2020, 1, 1)]), "has the dtype Date"),
        (polars_one([datetime.time(1)]), "has the dtype Time"),
        (polars_one([[1, 2]]), "has the dtype List"),
        (polars_one([{"a": 1}]), "has the dtype Struct"),
    ],
)
def test_other_kinds_are_refused(frame, problem):
    with pytest.raises(TypeError, match=f"Column 'c' {problem}.*leave it out"):
        learn_schema(frame)


@loop_over("value", [np.inf, -np.inf, 1e39, -1e300])
@loop_over("dtype", [np.float32, np.float64])
@loop_over("make", [pd.DataFrame, pl.DataFrame])
def test_numbers_out_of_range_are_refused(make, dtype, value):
    frame = make({"a": [1.0, 2.0], "it's big": [NAN, value]})
    text = "infinity" if np.isinf(value) else f"{value:g}".replace("+", r"\+")
    with pytest.raises(ValueError, match=f'Column "it\'s big" contains {text}'):
        encode(learn_schema(frame), frame, dtype)


def test_integers_beyond_floats_are_refused():
    with pytest.raises(ValueError, match="Column 'c' contains an integer of more than 300 digits"):
        fit_table(BaseEstimator(), one([10**400, 1], object))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
)
def test_duplicate_names_are_refused(frame):
    with pytest.raises(ValueError, match="X has 2 columns named 'a'"):
        fit_table(BaseEstimator(), frame)


def test_lazy_frames_are_refused():
    with pytest.raises(TypeError, match="X is a lazy frame"):
        learn_schema(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize("frame", [pd.DataFrame({"a": []}), pl.DataFrame({"a": []})])
def test_no_rows(frame):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        learn_schema(frame)


def test_no_columns():
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        learn_schema(pd.DataFrame(index=[0, 1]))


@pytest.mark.parametrize("name", ["a b", "it's", '"; DROP TABLE x; --', "größe", "a`b", ""])
def test_names_are_opaque(name):
    estimator = BaseEstimator()
    matrix, schema = fit_table(estimator, pl.DataFrame({name: [1.0, 2.0]}))
    assert schema.names == (name,)
    assert estimator.feature_names_in_.tolist() == [name]
    assert_array_equal(matrix, [[1], [2]])


def test_names_that_are_not_strings_are_no_names():
    estimator = BaseEstimator()
    frame = pd.DataFrame({0: [1.0, 2.0], 1: ["a", "b"]})
    matrix, schema = fit_table(estimator, frame)
    assert schema.names == ("x0", "x1")
    assert not schema.given_names
    assert not hasattr(estimator, "feature_names_in_")
    assert_array_equal(matrix, [[1, 0], [2, 1]])
    assert_array_equal(apply_table(estimator, schema, frame), matrix)


def test_mixed_names_are_refused():
    frame = pd.DataFrame({0: [1.0], "a": [2.0]})
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        fit_table(BaseEstimator(), frame)
    with pytest.raises(TypeError, match="only some are strings"):
        learn_schema(frame)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_are_checked_after_the_fit(make):
    estimator = BaseEstimator()
    _, schema = fit_table(estimator, make({"a": [1.0], "b": ["u"]}))
    with pytest.raises(ValueError, match="feature names should match"):
        apply_table(estimator, schema, make({"b": ["u"], "a": [1.0]}))
    with pytest.raises(ValueError, match="feature names should match"):
        apply_table(estimator, schema, make({"a": [1.0]}))


def test_array_where_the_fit_saw_categories():
    estimator = BaseEstimator()
    _, schema = fit_table(estimator, pd.DataFrame({"a": [1.0], "b": ["u"]}))
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(TypeError, match="column 'b' held labels"),
    ):
        apply_table(estimator, schema, [[1.0, 0.0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frame_and_array_give_the_same_matrix(make):
    values = np.random.default_rng(0).normal(size=(20, 3))
    frame = make({f"c{index}": values[:, index] for index in range(3)})
    for order in ("C", "F"):
        from_frame, _ = fit_table(BaseEstimator(), frame, order=order)
        from_array, _ = fit_table(BaseEstimator(), values, order=order)
        assert_array_equal(from_frame, from_array)
        assert from_frame.flags[f"{order}_CONTIGUOUS"]
        assert from_array.flags[f"{order}_CONTIGUOUS"]


def test_free_text_is_warned_of():
    texts = pd.DataFrame({"review": [f"the {k}th" for k in range(200)], "stars": range(200)})
    with pytest.warns(UserWarning, match=r"Column 'review' has 200 different labels in 200 rows"):
        fit_table(BaseEstimator(), texts)
    fit_table(BaseEstimator(), texts, warns_of_text=False)
    fit_table(BaseEstimator(), texts[:99])
    fit_table(BaseEstimator(), pd.concat([texts] * 3))


def test_half_a_surrogate_pair_is_a_label_like_others():
    odd = one(["x\ud800", "y"], object)
    schema = learn_schema(odd)
    assert schema.levels == (("x\ud800", "y"),)
    assert_array_equal(encode(schema, odd).ravel(), [0.0, 1.0])
    assert_array_equal(encode(learn_schema(one(["x", "y"], object)), odd).ravel(), [NAN, 1.0])
