"""
SQL in DuckDB
=============

The features, and the prediction of a linear model, as one query. The database computes the same
numbers as Python.
"""

import duckdb
import matplotlib.pyplot as plt
import numpy as np

from featurewright import AutoFeatures
from featurewright.datasets import load_airfoil
from featurewright.export import to_sql

X, y = load_airfoil(return_X_y=True, as_frame=True)
auto = AutoFeatures(methods="batch", effort="quick", n_features_out=5, random_state=0).fit(X, y)
for feature in auto.features_:
    print(feature.name)

# %%
# The query also returns the column that ``key`` names, since rows of a query have no order.

wind_tunnel = X.assign(id=np.arange(len(X)))
query = to_sql(auto, "wind_tunnel", "duckdb", key="id", output="predict")
answer = duckdb.sql(f"SELECT * FROM ({query}) ORDER BY id").df()
answer.head()

# %%
here, there = auto.predict(X), answer.iloc[:, -1].to_numpy()
print("largest difference:", np.abs(here - there).max())
figure, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
ax.scatter(here, there, s=4)
ax.set(xlabel="predicted in Python", ylabel="predicted in DuckDB")
plt.show()

# %%
# Other dialects: Postgres, SQLite, Spark, BigQuery and Snowflake. One formula by itself:

print(auto.features_[0].sql("postgres")[:200], "...")
