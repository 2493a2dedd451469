"""Settings of the tests of the report."""

from __future__ import annotations

import pytest

from featurewright.auto import cross_check


@pytest.fixture(autouse=True)
def _fit_soon(monkeypatch):
    """Leave out the cross-check with other estimators, which takes long."""
    monkeypatch.setattr(cross_check, "STANDARD", ())
