"""The operator table: domain rules, validation, registry, pickling."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
from tests.cases import loop_over

from featurewright.expressions import (
    ARITHMETIC,
    OPERATORS,
    Boolean,
    Category,
    Operator,
    Real,
    get_operator,
    register_operator,
    resolve_operators,
)
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.expressions.operators import BuiltInOperator

NAN = float("nan")


def ratio3(x: float, y: float) -> float:
    """Divide by three times the second."""
    return x / (3 * y)


RULES = [
    ("add", [1.0, FLOAT_MAX, NAN], [2.0, FLOAT_MAX, 1.0], [3.0, NAN, NAN]),
    ("sub", [1.0, -FLOAT_MAX], [2.0, FLOAT_MAX], [-1.0, NAN]),
    ("mul", [3.0, 1e30, 0.0], [2.0, 1e30, NAN], [6.0, NAN, NAN]),
    ("div", [1.0, 0.0, 1.0, 1e30, 1.0], [4.0, 0.0, -0.0, 1e-30, NAN], [0.25, NAN, NAN, NAN, NAN]),
    ("min", [1.0, NAN, 2.0], [2.0, 0.0, NAN], [1.0, NAN, NAN]),
    ("max", [1.0, NAN, 2.0], [2.0, 0.0, NAN], [2.0, NAN, NAN]),
    ("gaussian", [1.0, 1e30, NAN], [1.0, -1e30, 0.0], [1.0, 0.0, NAN]),
    ("and", [1.0, 1.0, 0.0], [1.0, 0.0, NAN], [1.0, 0.0, NAN]),
    ("or", [0.0, 1.0, 1.0], [0.0, 0.0, NAN], [0.0, 1.0, NAN]),
    ("xor", [1.0, 1.0, NAN], [1.0, 0.0, 1.0], [0.0, 1.0, NAN]),
    ("less", [1.0, 1.0, NAN], [2.0, 1.0, 0.0], [1.0, 0.0, NAN]),
    ("less_equal", [1.0, 2.0, 0.0], [1.0, 1.0, NAN], [1.0, 0.0, NAN]),
    ("greater", [2.0, 1.0, NAN], [1.0, 1.0, 0.0], [1.0, 0.0, NAN]),
    ("greater_equal", [1.0, 0.0, 0.0], [1.0, 1.0, NAN], [1.0, 0.0, NAN]),
    ("equal", [2.0, 1.0, NAN], [2.0, 2.0, NAN], [1.0, 0.0, NAN]),
    ("neg", [1.0, NAN], None, [-1.0, NAN]),
    ("abs", [-1.0, NAN], None, [1.0, NAN]),
    ("square", [-3.0, 1e30], None, [9.0, NAN]),
    ("sqrt", [-4.0, 9.0, NAN], None, [2.0, 3.0, NAN]),
    ("log", [-1.0, 0.0, -0.0, NAN], None, [0.0, NAN, NAN, NAN]),
    ("exp", [0.0, 80.0, 1e30, -1e30], None, [1.0, math.exp(80), math.exp(80), 0.0]),
    ("reciprocal", [4.0, 0.0, -0.0, 1e-39], None, [0.25, NAN, NAN, NAN]),
    ("not", [0.0, 1.0, NAN], None, [1.0, 0.0, NAN]),
    ("is", [0.0, 1.0, NAN], None, [1.0, 0.0, NAN]),
    ("at_least", [-1.0, 0.0, 2.0, NAN], None, [0.0, 0.0, 2.0, NAN]),
    ("at_most", [-1.0, 0.0, 2.0, NAN], None, [-1.0, 0.0, 0.0, NAN]),
    ("over", [-1.0, 0.0, 2.0, NAN], None, [0.0, 0.0, 1.0, NAN]),
    ("scaled", [-1.0, 0.0, FLOAT_MAX, NAN], None, [0.0, 0.0, 0.0, NAN]),
    ("shifted", [-1.0, 0.0, FLOAT_MAX, NAN], None, [-1.0, 0.0, FLOAT_MAX, NAN]),
]


@loop_over(("name", "x", "y", "expected"), RULES)
@loop_over("dtype", [np.float64, np.float32])
def test_domain_rule(name, x, y, expected, dtype) -> None:
    with np.errstate(over="ignore", under="ignore"):
        arrays = [np.array(values, dtype=dtype) for values in (x, y) if values is not None]
        expected = np.array(expected, dtype=dtype)
    actual = OPERATORS[name].reference(*arrays)
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6 if dtype == np.float32 else 1e-15)


def test_every_builtin_has_a_tested_rule_and_a_written_one() -> None:
    assert {name for name, *_ in RULES} == set(OPERATORS)
    assert all(operator.rule and operator.latex for operator in OPERATORS.values())
    assert set(ARITHMETIC) <= set(OPERATORS)


@loop_over("name", OPERATORS)
@loop_over("dtype", [np.float64, np.float32])
def test_results_are_in_range_or_missing_and_commute_as_declared(name, dtype) -> None:
    operator = OPERATORS[name]
    pool = [0.0, -0.0, NAN, 1.0, -2.5, 1e30, -1e30, 1e-30, 1e-40, FLOAT_MAX, -FLOAT_MAX]
    with np.errstate(under="ignore"):
        values = np.array(pool, dtype=dtype)
    arrays = np.meshgrid(*[values] * operator.arity)
    actual = operator.reference(*arrays)
    missing_in = np.any([np.isnan(array) for array in arrays], axis=0)
    assert np.isnan(actual[missing_in]).all()
    present = actual[~np.isnan(actual)]
    assert (np.abs(present) <= FLOAT_MAX).all()
    if operator.output == Boolean:
        assert set(present) <= {0.0, 1.0}
    if operator.arity == 2:
        swapped = operator.reference(*arrays[::-1])
        assert np.array_equal(actual, swapped, equal_nan=True) == operator.commutative


def test_integers_are_computed_as_float64() -> None:
    assert OPERATORS["div"].reference([1, 2], [2, 0]).tolist()[0] == 0.5


def test_is_compares_with_its_parameter() -> None:
    actual = OPERATORS["is"].reference([0.0, 2.0, NAN], parameter=2)
    np.testing.assert_array_equal(actual, [0.0, 1.0, NAN])


def test_user_operator_follows_the_common_rule() -> None:
    operator = Operator("ratio3", inputs=(Real, Real), output=Real, function=ratio3)
    x = np.array([3.0, 1.0, NAN, 1e30])
    y = np.array([1.0, 0.0, 1.0, 1e-30])
    np.testing.assert_array_equal(operator.reference(x, y), [1.0, NAN, NAN, NAN])
    assert operator.reference(x.astype(np.float32), y.astype(np.float32)).dtype == np.float32
    assert operator.opcode is None
    assert operator.arity == 2


def test_user_function_domain_errors_and_complex_results_are_missing() -> None:
    log = Operator("natural", (Real,), Real, math.log)
    np.testing.assert_array_equal(log.reference([1.0, -1.0, 0.0]), [0.0, NAN, NAN])
    root = Operator("root", (Real,), Real, lambda x: x**0.5)
    np.testing.assert_array_equal(root.reference([4.0, -4.0]), [2.0, NAN])


def test_user_boolean_output_is_zero_or_one() -> None:
    odd = Operator("odd", (Real,), Boolean, lambda x: x % 2 * 7)
    np.testing.assert_array_equal(odd.reference([1.0, 2.0, NAN]), [1.0, 0.0, NAN])


def test_a_mistake_in_a_user_function_is_not_hidden() -> None:
    broken = Operator("broken", (Real,), Real, lambda x: x.no_such_thing)
    with pytest.raises(AttributeError, match="no_such_thing"):
        broken.reference([1.0])


@loop_over(
    ("arguments", "error", "message"),
    [
        (("", (Real,), Real, abs), ValueError, "non-empty string"),
        ((3, (Real,), Real, abs), ValueError, "non-empty string"),
        (("add", (Real,), Real, abs), ValueError, "built-in"),
        (("f", Real, Real, abs), TypeError, "tuple of domains"),
        (("f", (), Real, abs), ValueError, "0 inputs"),
        (("f", (Real,) * 9, Real, max), ValueError, "9 inputs"),
        (("f", (0,), Real, abs), TypeError, "where a domain was expected"),
        (("f", (Real,), float, abs), TypeError, "where a domain was expected"),
        (("f", (Category,), Category, abs), ValueError, "two or more different strings"),
        (("f", (Real,), Real, "abs"), TypeError, "callable"),
        (("f", (Real, Real), Real, lambda x: x), TypeError, "2 positional"),
    ],
)
def test_bad_operator_is_refused(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        Operator(*arguments)


@loop_over(
    ("output", "levels", "message"),
    [
        (Category, ("one",), "two or more different strings"),
        (Category, ("a", "a"), "two or more different strings"),
        (Category, ("a", 1), "two or more different strings"),
        (Category, "ab", "two or more different strings"),
        (Real, ("a", "b"), "does not output a Category"),
    ],
)
def test_bad_levels_are_refused(output, levels, message) -> None:
    with pytest.raises(ValueError, match=message):
        Operator("f", (Real,), output, abs, levels=levels)


def test_an_operator_may_return_a_category() -> None:
    half = Operator("half", (Real,), Category, abs, levels=["none", "some", "all"])
    values = np.array([0.0, -1.0, 2.0, 3.0, 0.5, np.nan])
    np.testing.assert_array_equal(half.reference(values), [0, 1, 2, np.nan, np.nan, np.nan])
    tests = resolve_operators([half, "add"])
    assert [test.name for test in tests] == ["half_is_none", "half_is_some", "half_is_all", "add"]
    np.testing.assert_array_equal(tests[2].reference(values), [0, 0, 1, np.nan, np.nan, np.nan])
    assert pickle.loads(pickle.dumps(tests[1])) == tests[1] != tests[2]
    assert pickle.loads(pickle.dumps(half)) == half


def test_bad_latex_template_is_refused() -> None:
    with pytest.raises(ValueError, match="#1 to #1"):
        Operator("f", (Real,), Real, abs, latex="#1 + #2")


def test_reference_wants_all_operands() -> None:
    with pytest.raises(TypeError, match="expected 2"):
        OPERATORS["add"].reference([1.0])


def test_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(ValueError, match="did you mean 'square'"):
        get_operator("sqare")
    with pytest.raises(ValueError, match="use one of add, sub"):
        get_operator("zzzzzz")
    with pytest.raises(TypeError, match="got 3"):
        get_operator(3)


def test_register_then_use_by_name() -> None:
    operator = Operator("registered_ratio", (Real, Real), Real, ratio3)
    assert register_operator(operator) is operator
    assert register_operator(operator) is operator
    assert get_operator("registered_ratio") is operator
    assert register_operator(OPERATORS["add"]) is OPERATORS["add"]
    other = Operator("registered_ratio", (Real, Real), Real, math.hypot)
    with pytest.raises(ValueError, match="already registered"):
        register_operator(other)
    assert get_operator("registered_ratio") is operator
    with pytest.raises(TypeError, match="Expected an Operator"):
        register_operator("add")


def test_resolve_keeps_order_and_refuses_repetition() -> None:
    own = Operator("own", (Real,), Real, math.cos)
    assert resolve_operators(["mul", own, "add"]) == (OPERATORS["mul"], own, OPERATORS["add"])
    with pytest.raises(ValueError, match="'mul' more than once"):
        resolve_operators(["mul", "add", OPERATORS["mul"]])
    with pytest.raises(TypeError, match="put it in a list"):
        resolve_operators("add")


def test_pickle_and_hash() -> None:
    assert pickle.loads(pickle.dumps(OPERATORS["div"])) is OPERATORS["div"]
    own = Operator("own", (Real, Real), Real, ratio3, commutative=False, latex=r"#1 \star #2")
    again = pickle.loads(pickle.dumps(own))
    assert again == own
    assert hash(again) == hash(own)
    assert len({own, again, OPERATORS["add"]}) == 2
    bound = Operator("bound", (Real,), Real, partial(ratio3, 1.0))
    assert pickle.loads(pickle.dumps(bound)).reference([1.0])[0] == 1 / 3


def test_a_built_in_operator_is_stored_by_name() -> None:
    row = OPERATORS["log"]
    assert row.__getstate__() == {"name": "log"}
    again = BuiltInOperator.__new__(BuiltInOperator)
    again.__setstate__({"name": "log"})
    assert again == row
    assert hash(again) == hash(row)
    assert again.sql is row.sql


def test_lambda_works_and_copies_but_pickling_says_what_to_do() -> None:
    own = Operator("halved", (Real,), Real, lambda x: x / 2)
    assert own.reference([4.0])[0] == 2.0
    assert copy.deepcopy([own])[0] is own
    assert copy.copy(own) is own
    with pytest.raises(pickle.PicklingError, match=r"'halved'.*module level"):
        pickle.dumps(own)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        OPERATORS["add"] = OPERATORS["sub"]
