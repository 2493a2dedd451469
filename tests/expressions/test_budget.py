"""Budgets, absolute and relative."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import loop_over

from featurewright.expressions import parse_budget


@pytest.mark.parametrize(
    ("budget", "n_columns", "expected"),
    [
        (200, 3, 200),
        (np.int64(5), 3, 5),
        ("10n", 7, 70),
        ("3.5n", 3, 10),
        (" 2 n ", 4, 8),
        (".1n", 3, 1),
        ("0.29n", 100, 29),
    ],
)
def test_budget(budget, n_columns, expected) -> None:
    assert parse_budget(budget, n_columns) == expected


@loop_over("budget", [0, -3, "0n", "-2n", "10", "ten", "n", "", "1e3n"])
def test_bad_value(budget) -> None:
    with pytest.raises(ValueError, match="budget must be"):
        parse_budget(budget, 3)


@pytest.mark.parametrize("budget", [None, 2.5, True])
def test_bad_type(budget) -> None:
    with pytest.raises(TypeError, match="budget must be"):
        parse_budget(budget, 3)
