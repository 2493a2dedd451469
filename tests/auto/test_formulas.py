"""One order for formulas: neighbours, the pursuit that improves them, what is sound."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from featurewright.auto.formulas import formula_values, is_found, order_formulas
from featurewright.auto.neighbours import neighbours, shorter
from featurewright.auto.thresholded import with_thresholds
from featurewright.estimators.selection import PoolGains, Pursuit, normalized
from featurewright.expressions import Column, Feature, Real, parse
from featurewright.tables import EncodedTable, learn_schema

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
X = RNG.normal(size=(600, 3))
TABLE = EncodedTable(X, learn_schema(pl.DataFrame(dict(zip(NAMES, X.T, strict=True)))))
COLUMNS = [Column(k, name, Real) for k, name in enumerate(NAMES)]
OPERATORS = ("add", "sub", "mul", "div", "abs", "square", "log")


def read(*texts):
    return [parse(text, NAMES) for text in texts]


def order(texts, target, **changes):
    """Put formulas in one order; return their texts."""
    settings = {"wanted": 5, "max_size": 5, "operators": OPERATORS, "n_polished": 5, "n_rows": 600}
    features = [Feature.of(formula) for formula in read(*texts)]
    found = order_formulas(features, TABLE, X, target[:, None], **(settings | changes))
    return [str(feature.expression) for feature in found]


def test_neighbours_differ_in_one_symbol():
    (formula,) = read("a * b")
    found = {str(other) for other in neighbours(formula, COLUMNS, OPERATORS, 5)}
    assert {"a * c", "b * c", "a + b", "a / b", "b / a", "abs(a * b)", "c * (a * b)"} <= found
    assert "a * b" not in found
    assert not {"a", "b"} & found  # lone columns are no formulas
    assert all(parse(text, NAMES).size <= 5 for text in found)
    assert "c * (a * b)" not in {str(o) for o in neighbours(formula, COLUMNS, OPERATORS, 4)}


def test_no_operator_has_an_operand_twice():
    """A difference, ratio or bump of a column and itself says nothing."""
    (formula,) = read("a / b")
    found = neighbours(formula, COLUMNS, (*OPERATORS, "gaussian", "min"), 3)
    texts = {str(other) for other in found}
    assert "square(a)" not in texts  # a change of two symbols
    assert not [text for text in texts if text in ("a / a", "b / b", "a - a", "gaussian(a, a)")]


def test_shorter_leaves_out_one_operator():
    assert [str(found) for found in shorter(read("abs(a) - b * c")[0])] == [
        "abs(a)", "b * c", "a - b * c", "abs(a) - b", "abs(a) - c",
    ]  # fmt: skip


def test_a_formula_is_improved_until_no_change_helps():
    target = X[:, 0] * X[:, 1] + 0.05 * RNG.normal(size=600)
    assert order(["a * c", "b + c * c"], target)[0] == "a * b"
    assert order(["a * c", "b + c * c"], target, n_polished=0)[0] != "a * b"


def test_parts_that_say_nothing_are_left_out():
    """A bound that no row reaches, a step that none takes, a bump that is 1 in every row."""
    target = np.abs(X[:, 0])
    for text in ("max(abs(a), -1000)", "abs(a) - (c < c)", "abs(abs(a) + gaussian(a, a))"):
        assert order([text], target, n_polished=0, wanted=1) == ["abs(a)"]


def test_no_formula_has_a_constant_in_disguise():
    """``c / c`` is 1 in every row: a formula with it is replaced by shorter ones."""
    target = np.exp(-((X[:, 0] - 1.0) ** 2))
    found = order(["gaussian(a, c / c)", "abs(b)"], target, n_polished=0)
    assert not [text for text in found if "c / c" in text]
    assert "gaussian(a, c)" in found


def test_many_changes_are_compared_on_some_rows_first():
    """The best change is found all the same, and not all are evaluated on all rows."""
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(1_600, 12))
    names = [f"x{k}" for k in range(12)]
    table = EncodedTable(wide, learn_schema(wide))
    start = Feature.of(parse("x3 * x4", names))
    others = [Feature.of(parse(f"abs({name})", names)) for name in names]
    target = wide[:, 3] * wide[:, 7] + 0.1 * rng.normal(size=1_600)
    settings = {"wanted": 1, "max_size": 5, "operators": OPERATORS, "n_polished": 1}
    sizes = []
    for n_rows in (1_600, 533):  # on few rows nothing is left out
        evaluated = []

        def noted(formulas, rows, evaluated=evaluated):
            evaluated.append((len(formulas), len(rows.matrix)))
            return formula_values(formulas, rows)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("featurewright.auto.formulas.formula_values", noted)
            found = order_formulas(
                [start, *others], table, wide, target[:, None], n_rows=n_rows, **settings
            )
        assert str(found[0].expression) == "x3 * x7"
        sizes.append({n for _, n in evaluated})
    assert sizes == [{1_600, 400}, {534}]


def test_weights_say_how_often_a_row_counts():
    first = X[:, 2] > 0
    target = np.where(first, X[:, 0] * X[:, 1], np.abs(X[:, 0]))
    weights = np.where(first, 1.0, 0.0)
    pool = ["a * b", "abs(a)"]
    assert order(pool, target, weights=weights, n_polished=0)[0] == "a * b"
    assert order(pool, target, weights=1.0 - weights, n_polished=0)[0] == "abs(a)"


def test_formulas_that_are_often_undefined_are_not_sound():
    matrix = np.column_stack([np.where(np.arange(100) % 2, 0.0, 5.0), np.arange(100.0) + 1.0])
    matrix[:30, 1] = np.nan
    rows = EncodedTable(matrix, learn_schema(matrix))
    formulas = [parse(text, ["a", "b"]) for text in ("log(a)", "log(b)", "a * b", "a - a")]
    values, sound = formula_values(formulas, rows)
    # A column that is missing is no fault of the formula.
    assert sound.tolist() == [1, 2]
    assert np.isfinite(values).all()


def test_formulas_with_a_part_that_is_constant_are_not_sound():
    """As after a column has taken the place of another one under a step at a number."""
    matrix = np.column_stack([np.arange(100.0), np.arange(100.0) % 7])
    rows = EncodedTable(matrix, learn_schema(matrix))
    texts = ("gaussian(b, a > 130)", "gaussian(b, a > 96)", "gaussian(b, a > 90)", "b * max(a, 99)")
    _, sound = formula_values([parse(text, ["a", "b"]) for text in (*texts, "a > 90")], rows)
    assert sound.tolist() == [2, 4]


def test_formulas_that_rank_rows_alike_are_the_same():
    formulas = read("a * b", "abs(a)", "b / a", "a - b")
    pool = read("-(a * b)", "square(a)", "c * c")
    assert is_found(formulas, pool, TABLE).tolist() == [True, True, False, False]
    assert is_found(formulas, [], TABLE).tolist() == [False] * 4


def test_bends_and_steps_near_quantiles_and_at_zero():
    found = [str(bent) for bent in with_thresholds(read("a * b")[0], TABLE)]
    assert {"max(a * b, 0)", "min(a * b, 0)", "a * b > 0"} <= set(found)
    assert len(found) == 3 * 9
    assert with_thresholds(read("a * b > 0")[0], TABLE) == []


@pytest.mark.parametrize("n_targets", [1, 3])
def test_a_pool_is_kept_up_to_date(n_targets):
    """As if every column were projected anew each time."""
    base, pool = RNG.normal(size=(80, 2)), RNG.normal(size=(80, 6))
    target = RNG.normal(size=(80, n_targets))
    pursuit = Pursuit(base, target)
    kept = PoolGains(pursuit, pool)
    for place in (3, 0):
        kept.remove(*pursuit.take(kept.own[:, place]))
        kept.close(place)
    open_ = [1, 2, 4, 5]
    assert_allclose(kept.gains()[open_], pursuit.explained(normalized(pool[:, open_])))
    assert kept.gains()[[0, 3]].tolist() == [-1.0, -1.0]
    design = np.column_stack([np.ones(80), base, pool[:, [3, 0]]])
    centred = target - target.mean(axis=0)
    scaled = centred / np.sqrt((centred**2).sum(axis=0))
    naive = scaled - design @ np.linalg.lstsq(design, scaled, rcond=None)[0]
    assert_allclose(pursuit.rest, naive, atol=1e-12)


def test_no_formula_is_another_one_times_a_number():
    found = {str(other) for other in shorter(read("2 * (a * b) - 3 > c")[0])}
    assert "a * b" in found
    assert not [text for text in found if text.startswith("2 * (a * b)") and ">" not in text]


def test_a_number_inside_is_found():
    target = np.abs(X[:, 0] - 2 * X[:, 1]) + 0.05 * RNG.normal(size=600)
    # A linear model makes the same of this bend as of ``abs(a - 2 * b)``.
    found = order(["abs(a - b)", "b * c"], target, wanted=1)[0]
    assert found.startswith(("max(b - 0.5 * a, ", "min(b - 0.5 * a, "))
    target = X[:, 2] / (X[:, 1] ** 2 + 1.0) + 0.02 * RNG.normal(size=600)
    assert order(["abs(a)", "b * c"], target, wanted=1)[0].startswith("c / (square(b) + ")


def test_without_numbers_formulas_have_columns_alone():
    target = X[:, 2] / (X[:, 1] ** 2 + 1.0) + 0.02 * RNG.normal(size=600)
    found = order(["abs(a)", "b * c"], target, wanted=3, takes_numbers=False)
    assert found == ["c * abs(b)", "b * c"]


def test_a_linear_boundary_takes_one_formula():
    target = (2 * X[:, 0] - X[:, 1] > X[:, 2]).astype(float)
    (found,) = order(["abs(a)", "b * c"], target, wanted=1)
    assert (parse(found, NAMES).evaluate(X) == target).mean() > 0.98


def test_trees_get_what_orders_rows():
    target = (X[:, 0] * X[:, 1] > 0.5) + 0.2 * (X[:, 2] > 0) + 0.05 * RNG.normal(size=600)
    found = order(["a * b", "abs(c)", "log(abs(a))"], target, wanted=3, for_trees=True)
    assert found[0] == "a * b"
    # No threshold, no curve around the whole, and no formula of one column.
    assert all(len(formula.columns()) > 1 for formula in read(*found))
    assert not [text for text in found if " > " in text or text.startswith(("max", "sqrt"))]
