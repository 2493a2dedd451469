"""
Features for gradient boosting
==============================

Boosted trees find thresholds by themselves, but need many splits to approximate a ratio. Tell the
search that the features are for boosting; it keeps them only if they make boosting better.
"""

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

from featurewright import AutoFeatures
from featurewright.datasets import load_airfoil

X, y = load_airfoil(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)
boosting = HistGradientBoostingRegressor(max_iter=60, random_state=0)
auto = AutoFeatures(boosting, methods=["forest", "batch"], effort="quick", random_state=0)
auto.fit(X_train, y_train)
print(auto.summary())

# %%
# The mean absolute error on the rows that were put aside, by the number of boosting rounds:

import matplotlib.pyplot as plt

tables = {
    "original columns": (X_train, X_test),
    "with features": (auto.transform(X_train), auto.transform(X_test)),
}
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, (train, test) in tables.items():
    model = HistGradientBoostingRegressor(max_iter=150, random_state=0).fit(train, y_train)
    errors = [mean_absolute_error(y_test, rows) for rows in model.staged_predict(test)]
    ax.plot(range(1, len(errors) + 1), errors, label=f"{name}: {errors[-1]:.2f} dB")
ax.set(xlabel="rounds", ylabel="mean absolute error (dB)", ylim=(0, 6))
ax.legend()
plt.show()
