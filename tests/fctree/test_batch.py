"""The batch constructor scores every candidate once and keeps the best."""

from __future__ import annotations

import itertools
import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.clock import Clock
from tests.fctree.tables import products, quadrants
from tests.naive.weighted import best_gain

from featurewright import BatchConstructor, Boolean, Operator, Real
from featurewright.expressions import OPERATORS, from_program, resolve_operators
from featurewright.fctree import batch as batch_module
from featurewright.fctree.batch import Candidates

SIX = ("sqrt", "square", "add", "sub", "mul", "gaussian")


def everything(n_columns: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """List every candidate of the six operators by its formula."""
    found = {}
    for name in SIX:
        operator = OPERATORS[name]
        for operands in itertools.combinations(range(n_columns), operator.arity):
            text = {
                "sqrt": "sqrt({})", "square": "square({})", "add": "{} + {}", "sub": "{} - {}",
                "mul": "{} * {}", "gaussian": "gaussian({}, {})",
            }[name].format(*(f"x{k}" for k in operands))  # fmt: skip
            found[text] = (name, operands)
    return found


def test_all_candidates_are_scored_as_the_formula_says():
    rng = np.random.default_rng(0)
    # Few exact values: the kernel compares them all.
    X = (np.round(2 * rng.normal(size=(30, 4))) / 2).astype(np.float32)
    y = rng.integers(0, 3, 30)
    listed = everything(4)
    batch = BatchConstructor(n_features_out=100).fit(X, y)
    assert batch.n_candidates_ == len(listed)
    for feature in batch.features_:
        name, operands = listed[feature.name]
        values = OPERATORS[name].reference(*(X[:, k] for k in operands))
        assert feature.gain == pytest.approx(best_gain(values, y), abs=1e-5)
    gains = [feature.gain for feature in batch.features_]
    assert gains == sorted(gains, reverse=True)
    kept = {feature.name for feature in batch.features_}
    for name in set(listed) - kept:  # what is missing is constant
        operator, operands = listed[name]
        assert len(np.unique(OPERATORS[operator].reference(*(X[:, k] for k in operands)))) == 1


def test_the_best_few_are_the_first_of_all():
    X, y = products()
    every = BatchConstructor(n_features_out=1000).fit(X, y)
    few = BatchConstructor().fit(X, y)
    assert len(few.features_) == 5
    assert few.features_ == every.features_[:5]
    assert few.features_[0].name == "x0 * x1"


def test_blocks_do_not_change_the_result(monkeypatch):
    X, y = products()
    whole = BatchConstructor(n_features_out=7).fit(X, y)
    monkeypatch.setattr(batch_module, "BLOCK", 3)
    for n_jobs in (1, 2):
        parts = BatchConstructor(n_features_out=7, n_jobs=n_jobs).fit(X, y)
        assert parts.features_ == whole.features_
        assert parts.n_candidates_ == whole.n_candidates_


@pytest.mark.parametrize("block", [1, 4, 1000])
def test_candidates_come_once_each(block, monkeypatch):
    monkeypatch.setattr(batch_module, "BLOCK", block)
    operators = resolve_operators(["sqrt", "div", "add", "is", "and", "equal"])
    domains = np.array([0, 1, 2, 0, 2, 1], np.int8)
    levels = np.array([0, 0, 3, 0, 2, 0])
    listed = Candidates(operators, domains, levels)
    blocks = listed.blocks()
    programs = np.concatenate([listed.programs(part) for part in blocks])
    total = sum(map(listed.count, range(len(operators))))
    assert len(np.unique(programs, axis=0)) == len(programs) == total
    # sqrt of 4, div of 4 x 3, add of pairs of 4, 3 + 2 levels, one pair of Booleans, of categories
    assert len(programs) == 4 + 12 + 6 + 5 + 1 + 1
    names = [f"c{k}" for k in range(6)]
    labels = [None, None, ("r", "g", "b"), None, ("u", "v"), None]
    for program in programs:
        from_program(program, names, domains, labels, ())


def test_redundant_features_are_skipped():
    X, y = products()
    X = np.column_stack([X, X[:, 0] * 1.0001])
    plain = BatchConstructor(n_features_out=6).fit(X, y)
    apart = BatchConstructor(n_features_out=6, max_correlation=0.9).fit(X, y)
    assert np.abs(np.corrcoef(plain.transform(X).T) - np.eye(6)).max() > 0.99
    assert np.abs(np.corrcoef(apart.transform(X).T) - np.eye(6)).max() <= 0.9 + 1e-6
    assert apart.features_[0] == plain.features_[0]


def test_transform_names_and_pickling():
    X, y = quadrants()
    frame = pd.DataFrame(X, columns=["left side", "b"])
    batch = BatchConstructor(n_features_out=2, include_original=True).fit(frame, y)
    names = batch.get_feature_names_out().tolist()
    assert names[:2] == ["left side", "b"]
    assert names[2] == "`left side` * b"
    values = batch.transform(frame)
    np.testing.assert_allclose(values[:, 2], X[:, 0] * X[:, 1])
    np.testing.assert_array_equal(batch.transform(frame[3:4]), values[3:4])
    again = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(again.transform(frame), values)
    out = clone(batch).set_output(transform="pandas").fit_transform(frame, y)
    assert list(out.columns) == names


def test_numbers_weights_missing_values_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["x", "y"], 200)
    y = frame["a"] * frame["c"] + 0.01
    frame.loc[::9, "b"] = np.nan
    batch = BatchConstructor(operators=["mul", "is"], n_features_out=3).fit(frame, y)
    assert batch.features_[0].name == "a * c"
    assert batch.n_candidates_ == 3 + 2
    assert 0.3 < batch.features_[0].gain <= 1
    assert np.isfinite(batch.transform(frame)).all()
    usual = BatchConstructor(n_features_out=100).fit(frame, y)
    assert usual.n_candidates_ == 2 * 3 + 4 * 3 + 2
    weights = rng.integers(0, 3, 200)
    weighted = BatchConstructor(n_features_out=3).fit(frame, y, weights)
    repeated = BatchConstructor(n_features_out=3).fit(
        frame.loc[frame.index.repeat(weights)], np.repeat(y.to_numpy(), weights)
    )
    first, second = weighted.features_[0], repeated.features_[0]
    assert first.name == second.name
    assert first.gain == pytest.approx(second.gain, abs=0.01)


def test_the_work_ahead_is_told(caplog):
    X, y = products()
    with caplog.at_level(logging.WARNING, logger="featurewright"):
        BatchConstructor(verbose=1).fit(X, y)
    assert "50 candidates on 150 rows" in caplog.text
    caplog.clear()
    BatchConstructor().fit(X, y)
    assert "candidates" not in caplog.text


def three(x, y, z):
    return x + y + z


def chosen(flag, x, y):
    return x if flag else y


def test_operators_of_three_operands():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    frame["flag"] = rng.random(300) < 0.5
    total = Operator("total", (Real,) * 3, Real, three, commutative=True)
    choice = Operator("chosen", (Boolean, Real, Real), Real, chosen)
    y = np.where(frame["flag"], frame["b"], frame["d"]) > 0
    batch = BatchConstructor(operators=[total, choice, "add"], n_features_out=1).fit(frame, y)
    assert batch.features_[0].name == "chosen(flag, b, d)"
    assert batch.n_candidates_ == 20 + 5 * 4 + 15
    sums = BatchConstructor(operators=[total], n_features_out=1)
    sums.fit(frame, frame["a"] + frame["c"] + frame["e"] > 0)
    assert sums.features_[0].name == "total(a, c, e)"


@pytest.mark.parametrize("commutative", [True, False])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_choices_of_many_operands_come_once_each(commutative, block, monkeypatch):
    monkeypatch.setattr(batch_module, "BLOCK", block)
    domains = np.array([0, 1, 0, 1, 0, 2], np.int8)
    inputs = (Real,) * 4 if commutative else (Real, Boolean, Real, Boolean)
    operator = Operator("four", inputs, Real, four, commutative=commutative)
    listed = Candidates([operator], domains, np.array([0, 0, 0, 0, 0, 3]))
    programs = np.concatenate([listed.programs(part) for part in listed.blocks()])
    accepted = [[0, 1, 2, 3, 4] if domain == Real else [1, 3] for domain in inputs]
    expected = [
        choice
        for choice in itertools.product(*accepted)
        if len(set(choice)) == 4 and (not commutative or list(choice) == sorted(choice))
    ]
    assert [tuple(row) for row in programs[:, :4].tolist()] == expected
    assert listed.count(0) == len(expected) == (5 if commutative else 12)


def four(a, b, c, d):
    return a + b + c + d


def test_what_the_table_does_not_allow_is_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"operators=\['is'\] find no operands .* numbers \(4\)"):
        BatchConstructor(operators="is").fit(X, y)
    many = Operator("four", (Real,) * 4, Real, four)
    with pytest.raises(ValueError, match=r"operators=\['four'\] find no operands .* numbers \(3\)"):
        BatchConstructor(operators=[many]).fit(X[:, :3], y)  # all four must differ
    both = BatchConstructor(operators=[many, "mul"]).fit(X[:, :3], y)
    assert both.n_candidates_ == 3
    with pytest.raises(ValueError, match=r"'four' of 4 operands makes .* fewer columns"):
        BatchConstructor(operators=[many]).fit(np.ones((2, 400)), [0, 1])
    with pytest.raises(ValueError, match="class_weight"):
        BatchConstructor(criterion="squared_error", class_weight="balanced").fit(X, y)


def test_a_missing_target_is_refused():
    with pytest.raises(ValueError, match="BatchConstructor requires y to be passed"):
        BatchConstructor().fit(np.ones((3, 2)), None)


@pytest.mark.parametrize("y", [np.zeros(300, int), np.full(300, 0.3), np.ones((300, 2), int)])
@pytest.mark.parametrize("max_correlation", [None, 0.9])
def test_a_constant_target_leaves_the_originals(y, max_correlation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    for weights in (None, rng.random(300)):
        for criterion in (
            (None,) if y.dtype == float or y.ndim == 2 else (None, "gini", "normalized_gain")
        ):
            batch = BatchConstructor(criterion=criterion, max_correlation=max_correlation)
            batch.fit(X, y, weights)
            assert batch.features_ == ()
            assert batch.n_candidates_ == 32
            np.testing.assert_array_equal(batch.transform(X), X)


@pytest.mark.parametrize("scale", [0.0, 1e30, 1e-30, np.nan])
def test_hostile_tables(scale):
    X = np.random.default_rng(0).normal(size=(20, 3)) * scale
    for max_correlation in (None, 0.95):
        batch = BatchConstructor(max_correlation=max_correlation).fit(X, np.arange(20) % 2)
        assert np.isfinite(batch.transform(X)).all()


def test_time_runs_out(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 6))
    monkeypatch.setattr(batch_module, "BLOCK", 3)
    n_blocks = 4
    whole = BatchConstructor(n_features_out=3).fit(X, X[:, 0] > 0)
    Clock(monkeypatch).run_out_after(
        monkeypatch, batch_module, "score_programs", n_blocks, lambda given: given[0].stop
    )
    batch = BatchConstructor(n_features_out=3, max_time=10.0).fit(X, X[:, 0] > 0)
    assert n_blocks <= batch.n_candidates_ <= 6 * n_blocks
    assert batch.n_candidates_ < whole.n_candidates_
    assert batch.features_
