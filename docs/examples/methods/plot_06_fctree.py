"""
Feature construction trees: operators that pay are drawn more often
===================================================================

A feature construction tree (Fan and others, 2010) builds features at its nodes and weighs its
operators by what they gained. Here the class is, nearly, whether two columns have the same sign.
``gaussian``, which measures how close two columns are, gains most at the root, so the nodes below
draw it most often; ``mul`` is found as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from featurewright import FCTreeClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
y = X[:, 0] * X[:, 1] > 0.2 * X[:, 2]
tree = FCTreeClassifier(random_state=0).fit(X, y)
print([feature.name for feature in tree.features_[:3]])

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
weights = tree.operator_weights_
ax.bar(list(weights), list(weights.values()))
ax.axhline(1 / len(weights), color="gray", ls="--", label="before the root")
ax.set_ylabel("weight after the root")
ax.legend()
plt.show()

# %%
# Its features for another model:

for name, model in {
    "original columns": GaussianNB(),
    "with features": make_pipeline(
        FCTreeClassifier(n_features_out=3, random_state=0), GaussianNB()
    ),
}.items():
    print(f"{name}: accuracy {cross_val_score(model, X, y, cv=5).mean():.3f}")
