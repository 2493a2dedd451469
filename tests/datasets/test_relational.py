"""The generated shop: reproducible, and its target is in its orders."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from featurewright import Link, RelationalFeatures
from featurewright.datasets import make_shop


def test_the_same_seed_gives_the_same_tables() -> None:
    first, second = make_shop(50, random_state=3), make_shop(50, random_state=3)
    for one, other in zip(first[:2], second[:2], strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(first[2], second[2])
    assert not np.array_equal(make_shop(50, random_state=4)[2], first[2])
    with pytest.raises(ValueError, match="n_customers=0 must be at least 1"):
        make_shop(0)


def test_what_decides_is_found() -> None:
    customers, orders, y = make_shop(random_state=1)
    assert 0.4 < y.mean() < 0.6
    links = [Link(pl.DataFrame(orders), on="customer", time="date", name="orders")]
    model = RelationalFeatures(links, as_of="day", n_features_out=1, random_state=0)
    values = model.fit_transform(pl.DataFrame(customers), y)
    assert str(model.features_[0]) == "sum(orders.amount, last 90 days, where channel = 'web')"
    assert np.corrcoef(values[:, -1], y)[0, 1] > 0.6
