"""
Features from a second table
============================

Customers have orders. A :class:`~featurewright.Link` says which orders belong to which customer and
when they became known; :class:`~featurewright.RelationalFeatures` finds the aggregates that say
something about the target.
"""

import numpy as np
import polars as pl

rng = np.random.default_rng(0)
days = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 6, 30), "1h", eager=True)
orders = pl.DataFrame(
    {
        "customer": rng.integers(0, 400, len(days)),
        "date": days,
        "amount": rng.exponential(10, len(days)),
        "channel": rng.choice(["web", "shop"], len(days)),
    }
)
customers = pl.DataFrame({"customer": np.arange(400), "age": rng.integers(18, 80, 400)})
customers = customers.with_columns(as_of=pl.datetime(2024, 5, 1))
orders.head(3)

# %%
# The target: who spends more than 30 on the web in the two months *after* the first of May. It
# depends on a habit that can be seen in the earlier orders.

habit = rng.choice([0.2, 3.0], 400)
orders = orders.with_columns(
    amount=pl.col("amount") * np.where(orders["channel"] == "web", habit[orders["customer"]], 1.0)
)
later = orders.filter((pl.col("channel") == "web") & (pl.col("date") >= pl.datetime(2024, 5, 1)))
spent = customers.join(later.group_by("customer").agg(pl.col("amount").sum()), "customer", "left")
y = (spent["amount"].fill_null(0) > 30).to_numpy()

# %%
# Orders after ``as_of`` cannot be seen, whatever the table holds.

from featurewright import Link, RelationalFeatures

links = [Link(orders, on="customer", time="date", name="orders")]
features = RelationalFeatures(links, as_of="as_of", n_features_out=4, random_state=0)
columns = features.fit_transform(customers[:300], y[:300])
for feature in features.features_:
    print(feature)

# %%
# The best feature separates customers that the fit has not seen:

import matplotlib.pyplot as plt

values = np.asarray(features.transform(customers[300:]))[:, -4]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
bins = np.linspace(0, np.quantile(values, 0.98), 25)
ax.hist(
    [values[~y[300:]], values[y[300:]]], bins, stacked=True, label=["spends less", "spends more"]
)
ax.set(xlabel=str(features.features_[0]), ylabel="customers")
ax.legend()
plt.show()
