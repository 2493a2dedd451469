"""User operators are compiled, called by address, and follow the rules of all operators."""

from __future__ import annotations

import math
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from tests.cases import loop_over
from tests.engine.arguments import as_programs, make_settings
from tests.naive import programs as naive

from featurewright.engine.buffers import TreeBuffers
from featurewright.engine.programs import run_row, run_rows
from featurewright.engine.user_functions import CompiledOperators
from featurewright.expressions import Boolean, Category, Operator, Real, resolve_operators
from featurewright.expressions.opcodes import FIRST_USER, operator_symbol


def twice(a):
    return a + a


def slope(a, b):
    return (a - b) / (a + b)


def largest_part(a, b, c):
    return max(a, b) - c


def cross(a, b, c, d):
    return a * d - b * c


def is_near(a, b):
    return abs(a - b) < 1.0


def how_many(a, b):
    return (a > 0) + 2 * (b > 0)


def refuse_negatives(a):
    if a < 0:
        raise ValueError("negative")
    return a


def invert_whole(a):
    return 12 // int(a)


def remainder(a):
    return 7 % int(a)


def twice_inverted(a):
    return 1 / (1 / a)


def logarithm(a):
    return math.log(a)


def is_steep(a):
    return 1 / a > 3


def as_it_is(a):
    return a


def maybe_infinite(a):
    return math.inf if a < 0 else math.nan if a > 3 else a


def as_text(a):
    return str(a) + "!"


def pair(a):
    return a, a


def ask(a):
    return a + float(input("how much more? "))


def import_first(a):
    from math import sin

    return sin(a)


def five(a, b, c, d, e):
    return a * d - b * c + e


def seven(a, b, c, d, e, f, g):  # noqa: PLR0917
    return (a - b) * (c - d) + (e - f) / g


def eight(a, b, c, d, e, f, g, h):  # noqa: PLR0917
    return (a - b) * (c - d) + (e - f) / (g - h)


USERS = (
    Operator("twice", (Real,), Real, twice),
    Operator("slope", (Real, Real), Real, slope),
    Operator("largest_part", (Real, Real, Real), Real, largest_part),
    Operator("cross", (Real, Real, Real, Real), Real, cross),
    Operator("is_near", (Real, Real), Boolean, is_near),
    Operator("five", (Real,) * 5, Real, five),
    Operator("seven", (Real,) * 7, Real, seven),
    Operator("eight", (Real,) * 8, Real, eight),
)
VALUES = np.array([0, 1, -1, 2.5, np.nan, 1e30, -1e30, 3e38, 1e-40], np.float32)


@pytest.fixture(scope="module")
def compiled():
    return CompiledOperators(USERS)


def operands(arity: int) -> np.ndarray:
    if arity > 4:
        return np.random.default_rng(0).choice(VALUES, size=(arity, 500))
    grid = np.meshgrid(*[VALUES[: 9 if arity < 4 else 6]] * arity, indexing="ij")
    return np.ascontiguousarray([values.ravel() for values in grid])


def call(functions, slot: int, columns) -> np.ndarray:
    """Apply one user operator to columns, and to each row; both must agree."""
    arity, n = columns.shape
    programs = as_programs([*range(arity), operator_symbol(FIRST_USER + slot)], width=9)
    matrix = np.ascontiguousarray(columns.T)
    stack = np.empty(arity + 2, columns.dtype)
    by_row = [run_row(programs, 0, matrix, i, functions, stack) for i in range(n)]
    by_row = np.array(by_row, columns.dtype)
    if columns.dtype == np.float32:
        evaluation = TreeBuffers.allocate(n, 1, 2, 9, make_settings(), 1).evaluation
        rows = np.arange(n, dtype=np.int32)
        run_rows(programs, 0, columns, rows, 0, n, functions, evaluation)
        np.testing.assert_array_equal(evaluation.values[0, :n], by_row)
    return by_row


@loop_over("dtype", [np.float32, np.float64])
@loop_over("slot", range(len(USERS)))
def test_user_operators_equal_their_function(compiled, slot, dtype):
    columns = operands(USERS[slot].arity).astype(dtype)
    expected = USERS[slot].reference(*columns)
    actual = call(compiled.functions(dtype), slot, columns)
    if dtype == np.float64:
        np.testing.assert_array_equal(actual, expected)
    else:  # the function runs in float32, its reference in float64: the operands decide
        finite = np.abs(columns.astype(np.float64)).max(axis=0) < 1e10
        np.testing.assert_allclose(actual[finite], expected[finite], rtol=1e-6)
        missing = np.isnan(columns).any(axis=0)
        assert np.isnan(actual[missing]).all()


def test_user_operators_inside_programs(compiled):
    columns = np.random.default_rng(0).normal(size=(3, 1500))
    symbols = [operator_symbol(FIRST_USER + slot) for slot in range(3)]
    programs = as_programs([0, 1, symbols[1], 2, 2, symbols[2], symbols[0]], width=7)
    expected = naive.run(programs[0], columns, USERS)
    evaluation = TreeBuffers.allocate(1500, 1, 2, 7, make_settings(), 1).evaluation
    narrow = columns.astype(np.float32)
    functions = compiled.functions(np.float32)
    rows = np.arange(1500, dtype=np.int32)
    run_rows(programs, 0, narrow, rows, 0, 1500, functions, evaluation)
    np.testing.assert_allclose(evaluation.values[0, :1500], expected, rtol=1e-3, atol=1e-4)
    matrix, stack = np.ascontiguousarray(narrow.T), np.empty(8, np.float32)
    by_row = [run_row(programs, 0, matrix, i, functions, stack) for i in range(1500)]
    np.testing.assert_array_equal(evaluation.values[0, :1500], np.array(by_row, np.float32))


@pytest.mark.parametrize(
    "function", [refuse_negatives, invert_whole, remainder, twice_inverted, logarithm]
)
def test_an_error_in_the_function_is_a_missing_value(function, capfd):
    operator = Operator(function.__name__, (Real,), Real, function)
    functions = CompiledOperators([operator]).functions(np.float32)
    columns = np.array([[-1.0, 0.0, 4.0]], np.float32)
    expected = operator.reference(*columns)
    assert np.isnan(expected).any()
    np.testing.assert_allclose(call(functions, 0, columns), expected, rtol=1e-6)
    assert capfd.readouterr().err == ""


def test_a_boolean_operator_gives_zero_or_one():
    operator = Operator("how_many", (Real, Real), Boolean, how_many)
    functions = CompiledOperators([operator]).functions(np.float32)
    columns = np.array([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]], np.float32)
    expected = operator.reference(*columns)
    np.testing.assert_array_equal(call(functions, 0, columns), expected)


@pytest.mark.parametrize("function", [is_steep, as_it_is, maybe_infinite])
def test_an_undefined_truth_value_is_missing(function):
    operator = Operator(function.__name__, (Real,), Boolean, function)
    functions = CompiledOperators([operator]).functions(np.float32)
    columns = np.array([[-1.0, 0.0, 0.25, 4.0, np.nan]], np.float32)
    expected = operator.reference(*columns)
    np.testing.assert_array_equal(call(functions, 0, columns), expected)


@pytest.mark.parametrize(
    "function",
    [as_text, pair, ask, import_first, expit, np.modf, partial(slope, 1.0)],
    ids=["text", "tuple", "keyboard", "import", "ufunc", "ufunc of two results", "partial"],
)
def test_a_function_that_cannot_be_compiled_is_one_sentence(function):
    operator = Operator("odd_one", (Real,), Real, function)
    with pytest.raises(ValueError, match="operator 'odd_one'") as caught:
        CompiledOperators([operator])
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert "During:" not in message  # numba's last line says where, not why
    assert len(message) < 400


def test_a_function_of_the_math_module_works():
    operator = Operator("hypotenuse", (Real, Real), Real, math.hypot)  # as documented
    columns = np.array([[3.0, np.nan], [4.0, 1.0]], np.float32)
    functions = CompiledOperators([operator]).functions(np.float32)
    np.testing.assert_array_equal(call(functions, 0, columns), [5.0, np.nan])


@pytest.mark.parametrize("function", [np.sinh, np.log1p, np.arctan2, np.greater])
def test_a_ufunc_that_numba_knows_works(function):
    output = Boolean if function is np.greater else Real
    operator = Operator(f"numpy_{function.__name__}", (Real,) * function.nin, output, function)
    columns = operands(function.nin)[:, :4]
    functions = CompiledOperators([operator]).functions(np.float32)
    with np.errstate(all="ignore"):
        expected = operator.reference(*columns)
    np.testing.assert_allclose(call(functions, 0, columns), expected, rtol=1e-6)


def by_table(a, table={1: 2}):  # noqa: B006
    return a + table[1]


def by_list(a, *, values=[1, 2]):  # noqa: B006
    return a + values[0]


NOTHING = object()


def by_object(a, b, lookup=NOTHING):
    return a + b


@pytest.mark.parametrize(
    ("function", "kind"), [(by_table, "dict"), (by_list, "list"), (by_object, "object")]
)
def test_defaults_that_cannot_be_compiled_are_one_sentence(function, kind):
    arity = 2 if function is by_object else 1
    operator = Operator("odd_one", (Real,) * arity, Real, function)
    with pytest.raises(ValueError, match=f"operator 'odd_one' .* has a {kind} as its default"):
        CompiledOperators([operator])


def first_digit(x):
    return int(str(x)[0])


def test_errors_name_the_operator_that_was_given():
    digit = Operator("digit", (Real,), Category, first_digit, levels=("0", "1"))
    with pytest.raises(ValueError, match="operator 'digit' has a function that numba cannot"):
        CompiledOperators(resolve_operators([digit]))


def stretched(a, factor=2.0, shifts=(1.0, 3), name="x", nothing=None):
    return a * factor + shifts[1]


def test_constants_are_fine_as_defaults():
    functions = CompiledOperators([Operator("stretched", (Real,), Real, stretched)]).functions(
        np.float32
    )
    np.testing.assert_array_equal(call(functions, 0, np.array([[1.0, 4.0]], np.float32)), [5, 11])


def test_pickling_compiles_anew(compiled):
    again = pickle.loads(pickle.dumps(compiled))
    assert again.operators == compiled.operators
    columns = operands(2)
    np.testing.assert_array_equal(
        call(again.functions(np.float32), 1, columns),
        call(compiled.functions(np.float32), 1, columns),
    )


def test_no_operators_have_no_addresses():
    functions = CompiledOperators([]).functions(np.float64)
    assert functions.addresses.shape == functions.arities.shape == (0,)
    assert functions.addresses.dtype == functions.arities.dtype == np.int64
