"""Settings of the tests of the search."""

from __future__ import annotations

import pytest
from tests.auto.cases import FakeClock

from featurewright import AutoFeatures
from featurewright.auto.timing import Clock


@pytest.fixture
def fake_clock(monkeypatch):
    """Have searches measure time by a clock that stands still until it is told to go on."""
    clock = FakeClock()
    monkeypatch.setattr(
        AutoFeatures, "_make_clock", staticmethod(lambda budget: Clock(budget, clock))
    )
    return clock
