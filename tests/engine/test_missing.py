"""Whether a value is missing is a test by itself, where it tells something."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.test_grow import check_tree
from tests.engine.workbench import class_target, grow, make_grammar, make_settings, sums_target

from featurewright.engine.criteria import INFORMATION, KEARNS_MANSOUR, RATIO, SQUARES
from featurewright.expressions import Category


@pytest.mark.parametrize("n", [12, 60, 400, 3000])
@pytest.mark.parametrize("kind", ["number", "category", "constant"])
@pytest.mark.parametrize("criterion", [INFORMATION, RATIO, KEARNS_MANSOUR, SQUARES])
def test_missing_values_that_tell_something_are_parted(criterion, kind, n):
    for drawn in (0, 1):
        for search in ({"n_raw": 1}, {"budget": 3, "strategy": 1, "sample": 64}):
            check_parted(n, kind, criterion, random_threshold=drawn, **search)


def check_parted(n: int, kind: str, criterion: int, **values) -> None:
    """Grow a tree on a target that is whether the only column is missing."""
    rng = np.random.default_rng(n)
    columns = np.zeros((1, n), np.float32) if kind == "constant" else rng.integers(0, 4, (1, n))
    columns = columns.astype(np.float32)
    columns[0, ::3] = np.nan
    wanted = np.isnan(columns[0])
    by_class = criterion != SQUARES
    target = class_target(wanted) if by_class else sums_target(wanted * 1.0)
    settings = make_settings(criterion=criterion, by_class=int(by_class), centered=1, **values)
    grammar = make_grammar([Category if kind == "category" else 0], (), n_levels=4)
    tree = grow(columns, target, settings, grammar=grammar)
    check_tree(tree, columns, target, settings, grammar)
    assert sorted(tree.size.tolist()) == sorted([n, wanted.sum(), n - wanted.sum()])
