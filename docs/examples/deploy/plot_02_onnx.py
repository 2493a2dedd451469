"""
ONNX
====

A boosted model with its formulas as one ONNX graph, run without this package.
"""

import matplotlib.pyplot as plt
import onnxruntime
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from featurewright import ConstructiveBoostingClassifier
from featurewright.export import to_onnx

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = ConstructiveBoostingClassifier(40, random_state=0).fit(X_train, y_train)
graph = to_onnx(model, output="predict_proba")
session = onnxruntime.InferenceSession(graph.SerializeToString())
(probabilities,) = session.run(None, {"X": X_test.astype(float)})
print(f"{len(graph.SerializeToString()) / 1000:.0f} kB")
print("largest difference:", abs(probabilities - model.predict_proba(X_test)).max())

# %%
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.hist(
    [probabilities[y_test == label, 1] for label in (0, 1)],
    25,
    stacked=True,
    label=["malignant", "benign"],
)
ax.set(xlabel="probability of benign, computed by ONNX Runtime", ylabel="rows held out")
ax.legend()
plt.show()
