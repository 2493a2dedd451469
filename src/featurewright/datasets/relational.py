"""A small generated database: customers, their orders, and who will order much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Columns = dict[str, NDArray[Any]]

_START = np.datetime64("2024-01-01T00:00:00")
_DAYS = 240.0  # that orders are spread over
_DAY_SECONDS = 86_400
_ORDERS = 12  # of a customer, on average
_WINDOW = 90.0  # days before a prediction, whose orders decide


def make_shop(
    n_customers: int = 500, *, random_state: int | RandomState | None = None
) -> tuple[Columns, Columns, NDArray[np.bool_]]:
    """Generate a shop: customers at a day, their orders before and after it, and a target.

    The target is whether a customer's orders over the web in the 90 days before the day, with some
    noise, amount to more than those of half of the customers. No column of the customers says
    anything about it, and orders after the day are there to be ignored.

    Parameters
    ----------
    n_customers : int, default=500
        Number of customers.
    random_state : int, RandomState or None
        Seed; the same seed gives the same tables.

    Returns
    -------
    customers : dict of str to ndarray
        The columns customer, day and age, for a data frame.
    orders : dict of str to ndarray
        The columns customer, date, amount and channel ("web", "shop" or "phone").
    y : ndarray of bool of shape (n_customers,)
        Whether a customer spent much.

    Examples
    --------
    >>> import polars as pl
    >>> from featurewright import Link, RelationalFeatures
    >>> from featurewright.datasets import make_shop
    >>> customers, orders, y = make_shop(random_state=0)
    >>> links = [Link(pl.DataFrame(orders), on="customer", time="date", name="orders")]
    >>> features = RelationalFeatures(links, as_of="day", n_features_out=1, random_state=0)
    >>> print(features.fit(pl.DataFrame(customers), y).features_[0])
    sum(orders.amount, last 90 days, where channel = 'web')
    """
    if n_customers < 1:
        raise ValueError(f"n_customers={n_customers!r} must be at least 1.")
    random = check_random_state(random_state)
    n_orders = _ORDERS * n_customers
    customer = random.randint(0, n_customers, size=n_orders)
    placed = random.uniform(0.0, _DAYS, size=n_orders)
    amount = np.round(random.exponential(30.0, size=n_orders), 2)
    channel = random.choice(["web", "shop", "phone"], size=n_orders, p=[0.4, 0.4, 0.2])
    day = np.floor(random.uniform(0.6 * _DAYS, 0.9 * _DAYS, size=n_customers))
    age = random.randint(18, 80, size=n_customers)
    own = day[customer]
    counts = (channel == "web") & (placed < own) & (placed >= own - _WINDOW)
    spent = np.bincount(customer[counts], amount[counts], minlength=n_customers)
    noisy = spent + random.normal(scale=10.0, size=n_customers)
    customers = {"customer": np.arange(n_customers), "day": _moments(day), "age": age}
    orders = {
        "customer": customer,
        "date": _moments(placed),
        "amount": amount,
        "channel": channel,
    }
    return customers, orders, noisy > np.median(noisy)


def _moments(days: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Return days since the start as dates, to the second."""
    seconds = np.round(days * _DAY_SECONDS).astype("timedelta64[s]")
    return np.asarray((_START + seconds).astype("datetime64[us]"))
