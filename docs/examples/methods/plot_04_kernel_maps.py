"""
Forest paths: what the kernel calls similar
===========================================

Two rows are similar if they pass the same nodes of a forest (Vens and Costa, 2011). On the sign of
sin(1/x) the kernel is narrow where the classes alternate quickly and wide where they do not.
"""

import matplotlib.pyplot as plt

from featurewright import ForestPathEncoder
from featurewright.datasets import make_sin_inverse
from featurewright.paths import KernelMapDisplay

X, y = make_sin_inverse(1000, random_state=0)
encoder = ForestPathEncoder(60, random_state=0).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, x in zip(axes, (0.05, 0.6), strict=True):
    KernelMapDisplay.from_estimator(encoder, X, [x, 0.0], ax=ax)
    ax.set_title(f"similarity to the point x = {x}")
plt.show()

# %%
# A linear model of the paths solves what a linear model of the columns cannot:

from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

X_test, y_test = make_sin_inverse(1000, random_state=1)
print("columns:", LinearSVC().fit(X, y).score(X_test, y_test))
print("paths:  ", make_pipeline(encoder, LinearSVC(C=0.01)).fit(X, y).score(X_test, y_test))
