"""
A report
========

One HTML page about a search, for colleagues who do not run Python: the verdict, scores with their
spread, every formula with its distribution. It needs no network.
"""

import tempfile
from pathlib import Path

from featurewright import AutoFeatures
from featurewright.datasets import load_airfoil
from featurewright.report import summarize, write_report

X, y = load_airfoil(return_X_y=True, as_frame=True)
auto = AutoFeatures(methods="batch", effort="quick", n_features_out=6, random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "report.html"
    write_report(auto, path)
    print(f"one file of {path.stat().st_size / 1000:.0f} kB")

# %%
# In a notebook ``show_report`` shows the page itself. This frame is it:

from featurewright.report import show_report

show_report(auto)

# %%
# What is in it, as a dict of plain values, for a page of your own:

content = summarize(auto)
print(content["verdict"]["sentence"])
print(sorted(content))

# %%
import matplotlib.pyplot as plt

names = [feature.name for feature in auto.features_]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.barh(names[::-1], [feature.gain for feature in auto.features_][::-1])
ax.set_xlabel("gain: share of the target explained")
plt.show()
