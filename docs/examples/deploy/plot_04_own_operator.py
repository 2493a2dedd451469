"""
Your own operator
=================

An operator is a plain Python function of numbers, compiled when it is first used. Here trees learn
to measure a distance.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from featurewright import ConstructiveForestClassifier, Operator, Real


def distance(x, y):
    """Length of the vector from the origin."""
    return math.sqrt(x * x + y * y)


rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(700, 5))
y = np.hypot(X[:, 1], X[:, 3]) > 1.4
hypot = Operator("distance", inputs=(Real, Real), output=Real, function=distance)

accuracies = {}
for name, settings in {
    "plain": {"search": None},
    "add, sub": {"operators": ["add", "sub"]},
    "add, sub, distance": {"operators": ["add", "sub", hypot]},
}.items():
    forest = ConstructiveForestClassifier(30, random_state=0, **settings).fit(X[:350], y[:350])
    accuracies[name] = forest.score(X[350:], y[350:])
print("best feature:", forest.features_[0].name)

figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.bar(list(accuracies), list(accuracies.values()))
ax.set(ylabel="accuracy on held-out rows", ylim=(0.7, 1))
plt.show()
