"""The time guard: what is expected to take how long, and what is kept for the last fit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.auto.cases import FakeClock, X, quick

from featurewright.auto.candidates import ORIGINAL, Block, Candidate, Order
from featurewright.auto.timing import Clock, Costs

SLOW = Candidate((Block("batch", Order.RESIDUAL, 10),))
FAST = Candidate((Block("fctree", Order.RESIDUAL, 10),))


def fold(n_rows: int, seconds: float) -> SimpleNamespace:
    """Stand in for a fold whose fits took some seconds."""
    return SimpleNamespace(n_rows=n_rows, fit_seconds=seconds, score_seconds=seconds)


def test_growth_is_learned_from_two_sizes():
    costs = Costs(9_000, Clock(100.0, FakeClock()))
    costs.record_construction("batch", fold(1_000, 0.0), 2.0)
    costs.record_fit(SLOW, fold(1_000, 0.0))
    costs.expect([SLOW], ())
    unknown = costs.reserve
    costs.record_construction("batch", fold(4_000, 0.0), 4.0)  # twice for four times the rows
    assert costs.reserve == pytest.approx(1.2 * 6.0)
    assert unknown > costs.reserve
    costs.record_construction("batch", fold(4_000, 0.0), 1.0)  # faster on more rows: no slower
    assert costs.reserve == pytest.approx(1.2 * 1.0)


def test_what_cannot_be_fitted_in_the_end_is_not_waited_for():
    """The best that needs most of the budget at the end does not stop the search."""
    clock = FakeClock()
    costs = Costs(10_000, Clock(100.0, clock))
    for candidate, seconds in ((SLOW, 90.0), (FAST, 10.0)):
        costs.record_construction(candidate.methods[0], fold(10_000, 0.0), seconds)
        costs.record_fit(candidate, fold(10_000, 1.0))
    costs.expect([SLOW, FAST], ())
    assert costs.reserve == pytest.approx(1.2 * 11.0)
    assert costs.has_time(20.0)
    clock.advance(50.0)
    assert not costs.affords(SLOW)
    assert costs.affords(FAST)
    assert costs.limit("fctree") == pytest.approx(50.0 - 1.2 * 11.0)
    assert costs.limit("forest") == pytest.approx(0.5 * (50.0 - 1.2 * 11.0))
    # The columns of all rows may take what the last fit leaves, and a tenth more.
    assert costs.last_limit(FAST) == pytest.approx(50.0 + 10.0 - 1.2)
    costs.expect([SLOW], ())
    assert costs.reserve == 0.0  # the original columns, whose fit took no time


def test_without_a_limit_nothing_is_cut():
    costs = Costs(10_000, Clock(None, FakeClock()))
    assert costs.limit("batch") is None
    assert costs.last_limit(SLOW) is None
    assert costs.affords(SLOW, 1e9)
    assert costs.has_time(1e9)


def test_nothing_is_chosen_that_cannot_be_computed_in_time(monkeypatch):
    """What proved best, but takes too long on all rows, is left out, and the search says so."""
    monkeypatch.setattr(Costs, "affords", lambda costs, candidate, seconds=0.0: False)
    with pytest.warns(UserWarning, match="cut short"):
        auto = quick(time_budget=1000.0).fit(X, X[:, 0] * X[:, 1])
    assert auto.best_method_ == ORIGINAL.label
    assert auto.results_[1]["reason_code"] == "no_time"
    assert auto.path_ is None
    assert "cut short by its time limit of 1000 seconds: another run" in auto.summary(width=1000)
    auto.set_params(time_budget=None)
    assert "cut short by its time limit: another run" in auto.summary(width=1000)
