"""
Ten-minute tutorial
===================

You have a table and a column to predict. In ten minutes you will find formulas that make a model
better, see how reliable the gain is, keep only a few formulas, use them in a pipeline, and export
them to a database.

The table comes with the package: 1,503 measurements of the noise of an airfoil in a wind tunnel.
The target is the sound pressure in decibels.
"""

from sklearn.model_selection import train_test_split

from featurewright.datasets import load_airfoil

X, y = load_airfoil(as_frame=True, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
X_train.head()

# %%
# Search
# ------
# :class:`~featurewright.AutoFeatures` tries several methods inside the folds of a
# cross-validation and keeps the columns that make a model better on rows it has not seen.
# ``methods="readable"`` allows formulas only, and ``effort="quick"`` takes seconds. The model is a
# linear one by default; ``estimator=`` takes any other model.

from featurewright import AutoFeatures

auto = AutoFeatures(methods="readable", effort="quick", random_state=0)
auto.fit(X_train, y_train)
print(auto.summary())

# %%
# In a notebook, ``auto`` at the end of a cell shows the essentials:

auto

# %%
# The first sentence is the verdict. If nothing had helped, it would say: keep the original columns.
#
# Check it on rows that were put aside
# ------------------------------------
# ``auto`` predicts with the model that the features were found for. For a fair comparison, fit the
# same model on the original columns:

from sklearn.base import clone

plain = clone(auto.model_).fit(X_train, y_train)
print(f"original columns: R² {plain.score(X_test, y_test):.3f}")
print(f"with features:    R² {auto.score(X_test, y_test):.3f}")

# %%
# Keep a few formulas
# -------------------
# Fifty formulas are many. The front shows what each number of formulas is worth:

import matplotlib.pyplot as plt

from featurewright import FrontDisplay

FrontDisplay.from_estimator(auto)
plt.show()

# %%
# Take five, without a new search:

few = auto.limit(5)
for feature in few.features_:
    print(f"{feature.gain:.3f}  {feature.name}")
print(f"R² with five formulas: {few.score(X_test, y_test):.3f}")

# %%
# Use them in a pipeline
# ----------------------
# ``auto`` is a scikit-learn transformer. ``transform`` returns the original columns and the new
# ones, all finite numbers, so any model may follow:

from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

neighbours = make_pipeline(StandardScaler(), KNeighborsRegressor())
before = neighbours.fit(X_train, y_train).score(X_test, y_test)
after = neighbours.fit(few.transform(X_train), y_train).score(few.transform(X_test), y_test)
print(f"nearest neighbours, original columns: R² {before:.3f}")
print(f"nearest neighbours, with formulas:    R² {after:.3f}")

# %%
# In a cross-validation, put the search itself into the pipeline:
# ``make_pipeline(AutoFeatures(...), StandardScaler(), KNeighborsRegressor())``. Then no held-out
# row influences the formulas of its fold.
#
# Use them elsewhere
# ------------------
# The whole model as one SQL query, features and prediction:

from featurewright.export import to_sql

print(to_sql(auto.limit(1), "wind_tunnel", "duckdb", output="predict", pretty=True)[:600], "...")

# %%
# The fitted model as a file without pickle, for another process:

import tempfile
from pathlib import Path

import featurewright

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "airfoil.fw"
    featurewright.save(few, path)
    again = featurewright.load(path)
    print(
        f"{path.stat().st_size / 1000:.0f} kB,",
        (again.predict(X_test) == few.predict(X_test)).all(),
    )

# %%
# The search as a page that anyone can open, with the verdict, the formulas and their distributions:

from featurewright.report import write_report

with tempfile.TemporaryDirectory() as folder:
    write_report(auto, Path(folder) / "report.html")

# %%
# Where to go next
# ----------------
# * :doc:`/howto/index`: boosting, categories, several tables, time order, SQL and more
# * :doc:`/understand/auto`: how it chooses, and what the gain means
# * :doc:`/auto_examples/index`: more examples with pictures
