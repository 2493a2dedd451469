"""The search that is traced, and the ensembles that are measured while they grow."""

from __future__ import annotations

import ensemble_size
import numpy as np
import pytest
import search_trace
from runner import make_model

from featurewright.expressions.opcodes import END


def test_scores_are_shares_of_information():
    y = np.array([False, False, True, True])
    assert search_trace.score(np.array([1.0, 2.0, 3.0, 4.0]), y) == pytest.approx(1.0)
    assert search_trace.score(np.ones(4), y) == 0.0
    # One row apart: I = 1 - 3/4 H(1/3) bits, H(split) = H(1/4), H(class) = 1.
    gain, entropy = 1 - 0.75 * 0.918296, 0.811278
    found = search_trace.score(np.array([1.0, 2.0, 2.0, 2.0]), y)
    assert found == pytest.approx(2 * gain / (entropy + 1), abs=1e-5)


def test_every_step_appends_a_symbol_of_the_best_formula_so_far():
    search = search_trace.LookAhead(*search_trace.rows_of_node(2), 2)
    steps = search.run()
    best = -np.inf
    for k, step in enumerate(steps):
        assert [trial.symbol for trial in step.trials] == search.following(step.prefix)
        for trial in step.trials:
            assert trial.program[:k] == step.prefix
            assert trial.symbol == (trial.program[k] if len(trial.program) > k else END)
        best = max(best, *(trial.score for trial in step.trials))
        assert step.best.score == best
        if k + 1 < len(steps):
            assert steps[k + 1].prefix == step.best.program[: k + 1]
    assert search.text(steps[-1].best.program) == "b a × b +"


@pytest.mark.parametrize("kind", ["forest", "stumps"])
def test_a_growing_ensemble_is_one_that_ends_there(kind, monkeypatch):
    monkeypatch.setattr(ensemble_size, "SIZES", (1, 3, 6))
    X, y = search_trace.rows_of_node(0)
    learner = ensemble_size.learner(kind, "construction")
    params = learner.params | {"n_estimators": 6}
    model = make_model(learner.family, params, "binary", 0, 1)
    for size, answer in ensemble_size.growing(model, X[:200], y[:200], X[200:]):
        alone = make_model(learner.family, params | {"n_estimators": size}, "binary", 0, 1)
        np.testing.assert_array_equal(answer, alone.fit(X[:200], y[:200]).predict(X[200:]))
