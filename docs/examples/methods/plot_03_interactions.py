"""
Trees that construct: which columns belong together
===================================================

``interactions_`` lists the pairs of columns that formulas join, with their share of the gain of all
splits. Here the target depends on a product, a difference and a single column.
"""

import matplotlib.pyplot as plt
import numpy as np

from featurewright import ConstructiveForestRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 6))
y = 2 * X[:, 0] * X[:, 1] + np.abs(X[:, 2] - X[:, 3]) + 0.5 * X[:, 4] + 0.1 * rng.normal(size=800)
forest = ConstructiveForestRegressor(40, random_state=0).fit(X, y)

shares = np.zeros((6, 6))
for first, second, share in forest.interactions_:
    pair = int(first.removeprefix("x")), int(second.removeprefix("x"))
    shares[pair] = shares[pair[::-1]] = share
figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
image = ax.imshow(shares, cmap="viridis")
names = [f"x{k}" for k in range(6)]
ax.set_xticks(range(6), names)
ax.set_yticks(range(6), names)
figure.colorbar(image, label="share of the gain of all splits")
plt.show()
