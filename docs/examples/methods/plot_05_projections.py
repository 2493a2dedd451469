"""
Forest paths: projections
=========================

The same rows in two dimensions, by their columns and by the paths they take through a forest. Only
rows that the forest has not seen are shown: its training rows look better separated than they are.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import train_test_split

from featurewright import ForestPathEncoder
from featurewright.metrics import target_alignment
from featurewright.paths import ProjectionDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
encoder = ForestPathEncoder(100, n_hash=300, random_state=0).fit(X_train, y_train)
ProjectionDisplay.from_estimator(encoder, X_test, y_test, projector=TruncatedSVD(2, random_state=0))
plt.show()

# %%
# How well the kernel agrees with the classes, 1 being perfect:

print("path kernel:  ", round(target_alignment(encoder.kernel(X_test), y_test), 3))
print("linear kernel:", round(target_alignment(X_test @ X_test.T, y_test), 3))
