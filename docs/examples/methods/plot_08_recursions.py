"""
Recursive selection: log loss by recursion
==========================================

Recursive selective transformation (Zhao and Guan, 2017) keeps, for each class, the columns that a
linear model weighs most, and repeats this on the result. The figure shows what every recursion
costs or gains on held-out rows and how many columns are left.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from featurewright import RecursiveSelectiveClassifier
from featurewright.recursive import RecursionDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)
model = RecursiveSelectiveClassifier(random_state=0).fit(X_train, y_train)
RecursionDisplay.from_estimator(model)
plt.show()

# %%
print("recursions kept:", model.n_recursions_)
print(f"accuracy on other rows: {model.score(X_test, y_test):.3f}")
