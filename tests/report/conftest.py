"""Settings of the tests of the report."""

from __future__ import annotations

import pytest

from featurewright.auto import cross_check, failures


@pytest.fixture(autouse=True)
def _fit_soon_and_raise_our_own_mistakes(monkeypatch):
    """Leave out the cross-check with other estimators, which takes long; raise our own mistakes."""
    monkeypatch.setattr(cross_check, "STANDARD", ())
    monkeypatch.setattr(failures, "_not_caught", failures.PROGRAMMING_ERRORS)
