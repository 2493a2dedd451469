"""Speed and memory of features over links, on generated orders of customers.

A fit reads the tables, sorts the linked rows by key and time, compares the candidates and computes
the columns of all rows; it has one thread, and its seconds are those of the processor. Beside it,
single candidates are computed for all rows, each with what it needs anew: nanoseconds of the
processor for a row or linked row. Memory is what NumPy and Python
allocate at most during the fit, over the columns of both tables.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from typing import Any

import numpy as np
import polars as pl
from pages import settle_page
from runner import say
from speed import Line, add_speed_options, finish_lines, seconds, timed

from featurewright import Link, RelationalFeatures
from featurewright.expressions import Column, Real
from featurewright.relations.aggregates import AGGREGATES, LinkFeature, LinkValues, Window
from featurewright.relations.sources import as_frame, learn_source

N_CANDIDATES = 200
SECONDS = 30.0
NANOSECONDS = 3.0
TIMES_TABLES = 3.0


def tables(n_rows: int, n_linked: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return customers at a day, their orders, and a target that the orders decide."""
    rng = np.random.default_rng(0)
    start = np.datetime64("2024-01-01", "us")
    customer = rng.integers(0, n_rows, n_linked)
    placed = rng.uniform(0.0, 365.0, n_linked)
    amount = rng.exponential(10.0, n_linked)
    orders = pl.DataFrame(
        {
            "customer": customer,
            "date": start + (placed * 86_400e6).astype("timedelta64[us]"),
            "amount": amount,
            "weight": rng.normal(size=n_linked),
            "channel": rng.choice(np.array(["web", "shop", "phone"]), n_linked),
        }
    )
    rows = pl.DataFrame(
        {
            "customer": np.arange(n_rows),
            "day": np.full(n_rows, start + np.timedelta64(300 * 86_400, "s")),
            "age": rng.normal(size=n_rows),
        }
    )
    seen = (placed < 300.0) & (placed > 210.0)
    spent = np.bincount(customer[seen], amount[seen], minlength=n_rows)
    return rows, orders, spent + rng.normal(scale=10.0, size=n_rows)


def fit_lines(rows: pl.DataFrame, orders: pl.DataFrame, y: Any) -> list[Line]:
    """Measure the fit: seconds of the processor, and memory in a second one."""
    size = f"{len(rows):,} rows, {len(orders):,} linked rows"

    def fit() -> RelationalFeatures:
        links = [Link(orders, on="customer", time="date", name="orders")]
        settings = {"budget": N_CANDIDATES, "n_features_out": 20, "random_state": 0}
        return RelationalFeatures(links, as_of="day", **settings).fit(rows, y)

    say(f"fit, {size}")
    fit_small = [Link(orders[:1000], on="customer", time="date", name="orders")]
    RelationalFeatures(fit_small, as_of="day", budget=50).fit(rows[:500], y[:500])  # compiles
    taken, model = timed(fit, time.process_time)
    work = f"fit, {size}, {model.n_candidates_} candidates, {len(model.features_)} kept"
    lines = [Line(work, seconds(taken), "", taken, SECONDS, " s")]
    say(f"memory of fit, {size}")
    tracemalloc.start()
    fit()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    given = orders.estimated_size() + rows.estimated_size()
    both = (f"{peak / 1e6:.0f} MB", f"{given / 1e6:.0f} MB")
    return [
        *lines,
        Line(f"peak memory of the fit over the tables, {size}", *both, peak / given, TIMES_TABLES),
    ]


def candidate_lines(rows: pl.DataFrame, orders: pl.DataFrame, repeats: int) -> list[Line]:
    """Measure each aggregate on all rows."""
    link = Link(orders, on="customer", time="date", name="orders")
    source = learn_source(link, as_frame(orders, "orders"), 1)
    seen = source.see(as_frame(rows, "X"), "day", training=False)
    names = source.layout.schema.names
    lines = []

    def once(feature: LinkFeature) -> float:
        """Return the seconds of a feature with nothing kept from another."""
        return timed(lambda: LinkValues(source.rows, seen).compute(feature), time.process_time)[0]

    for name, aggregate in AGGREGATES.items():
        if aggregate.needs_condition:
            continue
        at = {"rows": None, "number": names.index("amount"), "category": names.index("channel")}
        place = at[aggregate.of]
        value = None if place is None else Column(place, names[place], Real)
        feature = LinkFeature("orders", name, value, None, Window(90.0, None, True))
        say(str(feature))
        taken = min(once(feature) for _ in range(repeats))
        cost = 1e9 * taken / (len(rows) + len(orders))
        lines.append(Line(f"`{feature}`, all of it anew", seconds(taken), "", cost, None, " ns"))
    values = LinkValues(source.rows, seen)
    amount = Column(names.index("amount"), "amount", Real)
    together = [
        LinkFeature("orders", name, amount, None, window)
        for window in (None, Window(30.0, None, True), Window(90.0, None, True))
        for name, one in AGGREGATES.items()
        if one.of == "number"
    ]
    taken, _ = timed(lambda: values.each(together, lambda _, one: one), time.process_time)
    cost = 1e9 * taken / (len(rows) + len(orders)) / len(together)
    work = f"a candidate for each row or linked row, {len(together)} of one value together"
    return [*lines, Line(work, seconds(taken), "", cost, NANOSECONDS, " ns")]


def main() -> None:
    """Measure, print, write and check if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "few rows", "as many as the bars are set for")
    options = parser.parse_args()
    settle_page(options, "speed_relations")
    n_rows, n_linked = (100_000, 10_000_000) if options.full else (5_000, 200_000)
    rows, orders, y = tables(n_rows, n_linked)
    lines = [*fit_lines(rows, orders, y), *candidate_lines(rows, orders, options.repeats)]
    intro = (__doc__ or "").split("\n\n", 1)[1].strip()
    finish_lines("Speed of features over links", intro, lines, options)


if __name__ == "__main__":
    main()
