"""
AutoFeatures end to end
=======================

The input is a raw table with numbers, a category, dates and missing values. The results are a
verdict, formulas and predictions.
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 1200
flats = pd.DataFrame(
    {
        "width": rng.uniform(4, 12, n),
        "depth": rng.uniform(4, 15, n),
        "floor": rng.integers(0, 9, n),
        "district": rng.choice(["centre", "harbour", "hills"], n),
        "built": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 25_000, n), unit="D"),
    }
)
price = (
    flats["width"]
    * flats["depth"]
    * flats["district"].map({"centre": 9.0, "harbour": 6.0, "hills": 5.0})
    + 4.0 * flats["floor"]
)
price = price * rng.normal(1, 0.05, n)
flats.loc[rng.random(n) < 0.05, "floor"] = np.nan
flats.head()

# %%
# Nothing has to be encoded or filled. What is left out, and why, is in ``left_out_``.

from featurewright import AutoFeatures

train, test = flats[:800], flats[800:]
auto = AutoFeatures(methods="readable", effort="quick", random_state=0)
auto.fit(train, price[:800])
print(auto.summary())

# %%
# Predictions for rows that were put aside, without and with features:

import matplotlib.pyplot as plt

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

plain = make_pipeline(
    make_column_transformer(
        (SimpleImputer(), ["width", "depth", "floor"]), (OneHotEncoder(), ["district"])
    ),
    LinearRegression(),
).fit(train, price[:800])
few = auto.limit(3)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, model, title in zip(axes, (plain, few), ("original columns", "3 formulas"), strict=True):
    ax.scatter(price[800:], model.predict(test), s=8, alpha=0.6)
    ax.axline((400, 400), slope=1, color="gray", lw=1)
    ax.set(title=f"{title}: R² {model.score(test, price[800:]):.3f}", xlabel="price")
axes[0].set_ylabel("predicted")
plt.show()
