"""The methods for people, read from the one table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featurewright.auto.methods import Method


def methods() -> list[Method]:
    """Return the methods, those with formulas first.

    The table is imported here, since the engine behind it takes a while to load.
    """
    from featurewright.auto.methods import METHODS

    return sorted(METHODS.values(), key=lambda method: not method.readable)


def as_dicts() -> list[dict[str, Any]]:
    """Return the methods as plain values."""
    told = ("name", "gives", "idea", "when", "python")
    return [{field: getattr(method, field) for field in told} for method in methods()]
