"""
Trees that construct: error by search budget
============================================

At every node ``budget`` formulas are drawn and scored. The publication's curves show how the error
falls with the budget: here for Extra-Trees and a single tree on ringnorm, two classes with the same
centre and different spread.
"""

import matplotlib.pyplot as plt
import numpy as np

from featurewright import ConstructiveExtraTreesClassifier, ConstructiveTreeClassifier
from featurewright.datasets import make_ringnorm

X_test, y_test = make_ringnorm(3000, random_state=99)
budgets = [1, 5, 20, 80, 300]
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, learner, size in (
    ("single tree", ConstructiveTreeClassifier, {}),
    ("50 Extra-Trees", ConstructiveExtraTreesClassifier, {"n_estimators": 50}),
):
    errors = np.empty((3, len(budgets)))
    for seed in range(3):
        X, y = make_ringnorm(300, random_state=seed)
        for column, budget in enumerate(budgets):
            model = learner(budget=budget, random_state=seed, **size).fit(X, y)
            errors[seed, column] = 1 - model.score(X_test, y_test)
    ax.errorbar(
        budgets, errors.mean(axis=0), errors.std(axis=0) / np.sqrt(3), marker="o", label=name
    )
ax.set(xscale="log", xlabel="formulas scored at a node", ylabel="error on new rows", ylim=(0, None))
ax.legend()
plt.show()
