"""Values of constructed columns: computed once, and the same however they are kept."""

from __future__ import annotations

import gc
from collections import Counter

import numpy as np
import pytest
from tests.auto.cases import PRODUCT, TWO_FOLDS, X, quick

from featurewright.auto.candidates import Block, Candidate, Order
from featurewright.auto.estimators import standard_estimator
from featurewright.auto.methods import METHODS
from featurewright.auto.parts import Part
from featurewright.auto.plan import EFFORTS
from featurewright.auto.scoring import choose_scorer
from featurewright.auto.tasks import Task
from featurewright.auto.workspace import Fold, MethodValues, Problem, ValueStore, Workspace
from featurewright.tables import EncodedTable, learn_schema

TABLE = EncodedTable(X, learn_schema(X))
CODES = PRODUCT.astype(np.int32)


def space_of(method, store=None):
    """Make a workspace in which one method was run."""
    problem = Problem(TABLE, CODES, CODES, None, Task("classification", 1, 5, 1), None)
    kept = ValueStore() if store is None else store
    space = Workspace(problem, 0, kept, EFFORTS["quick"])
    space.construct(METHODS[method], (1, 2))
    return space


def test_a_fold_computes_the_columns_of_a_method_once(monkeypatch):
    computed = Counter()
    compute = Part.compute

    def counted(part, table):
        computed[part.method, len(table.matrix)] += 1
        return compute(part, table)

    monkeypatch.setattr(Part, "compute", counted)
    auto = quick(methods=["batch", "fctree"], cv=TWO_FOLDS).fit(X, PRODUCT)
    assert auto.best_method_ != "original"
    # Training and held-out rows of two folds; then all rows.
    half, every = len(X) // 2, len(X)
    assert all(count <= {half: 4, every: 1}[rows] for (_, rows), count in computed.items())


def test_results_do_not_depend_on_what_is_stored(monkeypatch):
    methods = ["batch", "fctree", "landmarks", "votes", "paths"]
    outs = []
    for max_bytes in (2**28, 100_000, 0):
        monkeypatch.setattr(ValueStore.__init__, "__defaults__", (max_bytes,))
        auto = quick(methods=methods, cv=TWO_FOLDS).fit(X[:120], PRODUCT[:120])
        plain = [(r["method"], r["fold_scores"]) for r in auto.results_]
        outs.append((auto.best_method_, plain, auto.transform(X).tobytes()))
    assert outs[0] == outs[1] == outs[2]


@pytest.mark.parametrize("method", ["batch", "landmarks", "paths"])
def test_stored_columns_are_those_that_would_be_computed(method):
    """To the last bit, and in the same memory layout, on which sums depend."""
    part = space_of(method).part(method)
    places = np.array([3, 0, 2])
    computed = part.take(places).compute(TABLE)
    stored = MethodValues(part, TABLE, ValueStore()).columns(places)
    assert np.array_equal(stored, computed)
    assert stored.dtype == computed.dtype
    assert stored.strides == computed.strides


def test_the_store_forgets_what_was_used_least_recently():
    part = space_of("batch").part("batch")
    store = ValueStore(max_bytes=2_000)
    first, second, third, large = (MethodValues(part, TABLE, store) for _ in range(4))
    values = np.zeros(100)  # 800 bytes
    store.put(first, values)
    store.put(second, values)
    assert store.get(first) is values
    store.put(third, values)
    assert store.get(second) is None
    assert store.get(first) is values
    store.put(large, np.zeros(1_000))
    assert store.get(large) is None
    assert store.get(third) is values


def test_values_of_a_fold_go_with_it():
    store = ValueStore()
    space = space_of("batch", store)
    assert len(store._values) == 1
    del space
    gc.collect()
    assert len(store._values) == 0


def test_a_candidate_has_no_column_twice():
    space = space_of("batch")
    space.construct(METHODS["fctree"], (1, 2))
    blocks = (Block("batch", Order.RESIDUAL, 20), Block("fctree", Order.RESIDUAL, 20))
    chosen = space.select(Candidate(blocks))
    columns = space.columns(chosen)
    assert columns.shape[1] == 4 + sum(len(places) for _, places in chosen)
    alike = np.abs(np.corrcoef(columns, rowvar=False)) - np.eye(columns.shape[1])
    assert alike.max() <= 0.98 + 1e-9


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_a_fold_scores_a_constant_prediction(kind):
    """Of the training rows: their most common class, or their mean."""
    y = CODES if kind == "classification" else X[:, 0] + X[:, 1] ** 2
    problem = Problem(TABLE, y, y, None, Task(kind, 1, 5, 1), None)
    train, test = np.arange(70), np.arange(70, len(X))
    space = Workspace(problem.take(train), 0, ValueStore(), EFFORTS["quick"])
    estimator = standard_estimator("linear", kind)
    _, scorer = choose_scorer("accuracy" if kind == "classification" else "r2", estimator, kind, y)
    found = Fold(space, problem.take(test)).score_constant(scorer)
    if kind == "classification":
        expected = np.mean(y[test] == np.bincount(y[train]).argmax())
    else:
        left = ((y[test] - y[train].mean()) ** 2).sum()
        expected = 1.0 - left / ((y[test] - y[test].mean()) ** 2).sum()
    assert found.score == pytest.approx(expected)
