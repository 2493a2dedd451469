"""
A model that fits on a slide
============================

``to_additive`` turns a search into a short sum of columns, formulas, bends and steps that predicts
by itself. One curve for each term shows everything that the model does.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from featurewright import AdditiveDisplay, AutoFeatures
from featurewright.datasets import load_airfoil

X, y = load_airfoil(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
auto = AutoFeatures(methods="readable", effort="quick", random_state=0).fit(X_train, y_train)
additive = auto.to_additive(max_terms=8)
print(f"R² on other rows: {additive.score(X_test, y_test):.3f} with {len(additive.terms_)} terms")
for term in additive.terms_:
    print(term)

# %%
AdditiveDisplay.from_estimator(additive, X_train)
plt.show()
