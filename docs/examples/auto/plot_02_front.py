"""
Accuracy against the number of formulas
=======================================

Ten formulas can be explained; a hundred cannot. The front shows the score of each number of
formulas on held-out rows, and ``limit`` takes any point of the front without a new search.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from featurewright import AutoFeatures, FrontDisplay
from featurewright.datasets import load_airfoil

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, (name, load) in zip(
    axes, {"airfoil": load_airfoil, "diabetes": load_diabetes}.items(), strict=True
):
    X, y = load(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    auto = AutoFeatures(methods="readable", effort="quick", random_state=0).fit(X_train, y_train)
    FrontDisplay.from_estimator(auto, ax=ax)
    ax.set_title(f"{name}: {len(auto.features_)} formulas kept")
plt.show()

# %%
# On the airfoil table every further formula helps. On the diabetes table formulas add nothing to
# the original columns, and the search keeps none:

print("\n".join(auto.summary().splitlines()[:2]))
print("method kept:", auto.best_method_)
