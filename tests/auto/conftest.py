"""Settings of the tests of the search."""

from __future__ import annotations

import pytest
from tests.auto.cases import FakeClock

from featurewright import AutoFeatures
from featurewright.auto import cross_check
from featurewright.auto.timing import Clock


@pytest.fixture(autouse=True)
def _without_other_estimators(request, monkeypatch):
    """Leave the cross-check with other estimators to the tests that ask for it: it takes long."""
    if "other_estimators" not in request.fixturenames:
        monkeypatch.setattr(cross_check, "STANDARD", ())


@pytest.fixture
def other_estimators():
    """Have searches cross-check with the other standard estimators."""


@pytest.fixture
def fake_clock(monkeypatch):
    """Have searches measure time by a clock that stands still until it is told to go on."""
    clock = FakeClock()
    monkeypatch.setattr(
        AutoFeatures, "_make_clock", staticmethod(lambda budget: Clock(budget, clock))
    )
    return clock
