"""A small messy table: numbers with gaps, labels, booleans, dates, codes, a constant, a key."""

from __future__ import annotations

import numpy as np
import polars as pl


def mixed(n_rows: int = 240) -> pl.DataFrame:
    """Make a table in which the class is whether the product of two columns is positive."""
    random = np.random.RandomState(0)
    a, b = random.normal(size=(2, n_rows)).round(3)
    days = np.datetime64("2024-01-01") + random.randint(0, 300, size=n_rows)
    gaps = [
        None if k % 17 == 0 else float(value) for k, value in enumerate(random.normal(size=n_rows))
    ]
    return pl.DataFrame(
        {
            "key": [f"row {k}" for k in range(n_rows)],
            "a": a,
            "b": b,
            "with gaps": gaps,
            "colour": random.choice(["red", "green", "blue, dark", 'say "hi"'], size=n_rows),
            "is open": random.rand(n_rows) < 0.5,
            "code": [f"{k % 5:03d}" for k in range(n_rows)],
            "day": days.astype(str),
            "constant": np.ones(n_rows),
            "sign": np.where(a * b > 0, "plus", "minus"),
            "size": a * b,
        }
    )
