"""
Rows that come in groups
========================

If a patient has several rows and the model is for new patients, scores of shuffled folds are too
high: rows of the same patient are in training and in test rows. Pass ``groups``, and a group is
never split across folds.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from featurewright import AutoFeatures

rng = np.random.default_rng(1)
patient = np.repeat(np.arange(120), 8)
traits = pd.DataFrame(
    {
        "height": rng.normal(172, 9, 120),
        "weight": rng.normal(75, 12, 120),
        "bias": rng.normal(0, 8, 120),
    }
)
visits = traits.iloc[patient].reset_index(drop=True)
bias = visits.pop("bias")  # differs from patient to patient, and was not measured
visits["dose"] = rng.uniform(0, 10, len(visits))
response = visits["dose"] / visits["weight"] * 100 + bias + rng.normal(0, 1, len(visits))

known, new = patient < 80, patient >= 80
results = {}
for name, groups in {"shuffled folds": None, "whole patients held out": patient[known]}.items():
    auto = AutoFeatures("knn", methods=["batch"], effort="quick", random_state=0)
    auto.fit(visits[known], response[known], groups=groups)
    results[name] = (auto.score_, auto.score(visits[new], response[new]))
    print(f"{name}: promised R² {results[name][0]:.2f}, for new patients {results[name][1]:.2f}")

# %%
# The first search shows a gain that new patients do not confirm; the second one shows what to
# expect.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
positions = np.arange(2)
for shift, label in ((0, "promised"), (1, "for new patients")):
    ax.bar(positions + 0.38 * shift, [pair[shift] for pair in results.values()], 0.36, label=label)
ax.set_xticks(positions + 0.19, list(results))
ax.axhline(0, color="gray", lw=0.8)
ax.set_ylabel("R²")
ax.legend()
plt.show()

# %%
# Rows in time order are the same problem: ``AutoFeatures(cv=TimeSeriesSplit())`` with sorted rows
# makes every fold test on later rows than it learns from.
