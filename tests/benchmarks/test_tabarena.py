"""The adapter of TabArena on its stand-in: it fits, predicts classes and numbers, and says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "tabarena"))

import adapter


def test_runs_on_small_tables():
    scores = adapter.run_stand_in("boosting", rows=300)
    assert scores["airfoil"] > 0.5
    assert scores["breast cancer"] > 0.9


def test_rows_for_validation_are_learned_from_too():
    X, y = adapter.load_airfoil(return_X_y=True, as_frame=True)
    system = adapter.system_class(adapter.StandIn)(problem_type="regression", system="boosting")
    fits = []

    class Spy:
        def fit(self, X, y):
            fits.append((len(X), len(y)))

    system._make = Spy
    system._fit(X[:10], y[:10], X[10:15], y[10:15])
    assert fits == [(15, 15)]


def test_refuses_an_unknown_system():
    with pytest.raises(ValueError, match="one of features, boosting"):
        adapter.system_class(adapter.StandIn)(problem_type="binary", system="magic")
