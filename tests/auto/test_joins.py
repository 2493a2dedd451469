"""Which methods may be joined."""

from __future__ import annotations

import pytest

from featurewright.auto.methods import may_join


@pytest.mark.parametrize(
    ("method", "others", "expected"),
    [
        ("forest", ("scores",), True),
        ("scores", ("votes",), True),
        ("votes", ("scores", "forest"), True),
        ("votes", ("votes",), False),
        ("votes", ("formula votes", "scores"), True),
        ("paths", ("formula votes",), False),
        ("paths", ("scores",), False),
        ("scores", ("paths",), False),
        ("paths", ("formula paths",), False),
        ("paths", ("landmarks",), True),
    ],
)
def test_trees_join_other_trees_only_as_columns_for_classes(method, others, expected):
    assert may_join(method, others) == expected
