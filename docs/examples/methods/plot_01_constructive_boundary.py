"""
Trees that construct: the boundary of a single tree
===================================================

A plain tree needs a staircase of thresholds for a slanted or round boundary. A tree that searches
formulas at its nodes (Maes, Geurts and Wehenkel, 2012) crosses it in a few splits.
"""

import matplotlib.pyplot as plt
from sklearn.inspection import DecisionBoundaryDisplay

from featurewright import ConstructiveTreeClassifier
from featurewright.datasets import make_unit_square

figure, axes = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
for row, concept in zip(axes, ("diagonal", "circle"), strict=True):
    X, y = make_unit_square(300, concept=concept, random_state=0)
    X_test, y_test = make_unit_square(3000, concept=concept, random_state=1)
    for ax, search in zip(row, (None, "random"), strict=True):
        tree = ConstructiveTreeClassifier(search=search, budget=300, random_state=0).fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            tree, X, ax=ax, response_method="predict", alpha=0.4, grid_resolution=150
        )
        ax.scatter(*X.T, c=y, s=8, edgecolors="k", linewidths=0.2)
        kind = "plain tree" if search is None else "with formulas"
        ax.set_title(f"{kind}: error {1 - tree.score(X_test, y_test):.3f}")
        ax.set(xticks=[], yticks=[])
plt.show()

# %%
# What the last tree tests first:

print([feature.name for feature in tree.features_[:3]])
