"""
Kernel features: slanted and round boundaries
=============================================

Similarities to a few training rows can be columns too. With such columns (Ahmad, 2014), the
boundaries of trees need not be parallel to the axes: the publication shows this on the unit square.
"""

import matplotlib.pyplot as plt
from sklearn.inspection import DecisionBoundaryDisplay

from featurewright import KernelFeatureEnsembleClassifier
from featurewright.datasets import make_unit_square

figure, axes = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
for row, concept in zip(axes, ("diagonal", "circle"), strict=True):
    X, y = make_unit_square(300, concept=concept, random_state=0)
    X_test, y_test = make_unit_square(3000, concept=concept, random_state=1)
    for ax, count in zip(row, (0, 10), strict=True):
        model = KernelFeatureEnsembleClassifier(
            n_landmarks=count, n_estimators=100, random_state=0
        ).fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            model, X, ax=ax, response_method="predict", alpha=0.4, grid_resolution=80
        )
        ax.scatter(*X.T, c=y, s=8, edgecolors="k", linewidths=0.2)
        ax.set_title(f"{count} landmarks: error {1 - model.score(X_test, y_test):.3f}")
        ax.set(xticks=[], yticks=[])
plt.show()
