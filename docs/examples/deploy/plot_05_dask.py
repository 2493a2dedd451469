"""
A fit on a cluster, a table in parts
====================================

The active joblib backend decides where a fit runs, and Dask tables are accepted wherever pandas
tables are. Here the cluster is a single worker in this process;
``Client("tcp://scheduler:8786")`` connects to a real one.
"""

import dask.dataframe as dd
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client

from featurewright import AutoFeatures

rng = np.random.default_rng(0)
rows = pd.DataFrame(rng.normal(size=(2000, 4)), columns=["a", "b", "c", "d"])
rows["price"] = rows["a"] * rows["b"] + rows["c"] + 0.3 * rng.normal(size=len(rows))
X, y = rows.drop(columns="price"), rows["price"]

client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)

# %%
# A search sends its methods on each fold to the workers; the result is that of a local search.
search = AutoFeatures(effort="quick", methods="readable", random_state=0)
with joblib.parallel_config("dask"):
    there = search.fit(X, y).predict(X)
here = search.fit(X, y).predict(X)
print("the same predictions:", np.array_equal(there, here))

# %%
# A table in parts, such as ``dd.read_parquet("s3://bucket/table/")``: the search sees a sample, and
# is scored on parts that it has not seen. Its results are lazy; ``to_parquet`` writes them.
parts = dd.from_pandas(rows, npartitions=8)
search.fit(parts.drop(columns="price"), parts["price"])
print(search.drawn_)
features = search.transform(parts.drop(columns="price"))
print(features.head(3))

# %%
# The scores of the search and of the original columns alone, on rows that it has not seen.
proof = search.drawn_.held_out
figure, ax = plt.subplots(figsize=(4.5, 3), layout="constrained")
ax.bar(["original columns", "with features"], [proof["baseline"], proof["score"]])
ax.set(ylabel="R² of rows not seen", ylim=(0, 1))
plt.show()

client.close()
