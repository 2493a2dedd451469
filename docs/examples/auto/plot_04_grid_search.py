"""
A pipeline tuned with GridSearchCV
==================================

Every estimator of this library follows scikit-learn's API, so the number of features is a parameter
like any other.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from featurewright import ConstructiveForestClassifier
from featurewright.datasets import make_ringnorm

X, y = make_ringnorm(600, random_state=0)
model = Pipeline(
    [
        ("features", ConstructiveForestClassifier(30, include_original=True, random_state=0)),
        ("scale", StandardScaler()),
        ("classify", LogisticRegression(max_iter=2000)),
    ]
)
grid = {
    "features__n_features_out": [5, 20, 80],
    "features__operators": [["add", "sub"], ["add", "mul"], ["add", "sub", "mul", "square"]],
}
search = GridSearchCV(model, grid, cv=3).fit(X[:400], y[:400])
print(search.best_params_)
print("held out:", search.score(X[400:], y[400:]))

# %%
# Everything is fitted inside the folds: no held-out row influences the formulas.

scores = search.cv_results_["mean_test_score"].reshape(3, 3)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for row, count in zip(scores, grid["features__n_features_out"], strict=True):
    ax.plot(row, marker="o", label=f"{count} formulas")
ax.set_xticks(range(3), [", ".join(names) for names in grid["features__operators"]])
ax.set(ylabel="accuracy on held-out rows", xlabel="operators")
ax.legend()
plt.show()
