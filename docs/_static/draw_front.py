"""Draw the picture of the front page and the README: python docs/_static/draw_front.py."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from featurewright import AutoFeatures, FrontDisplay
from featurewright.datasets import load_airfoil

SHOWN = (1, 3, 8)

X, y = load_airfoil(as_frame=True, return_X_y=True)
auto = AutoFeatures(methods="readable", effort="quick", random_state=0).fit(X, y)
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
FrontDisplay.from_estimator(auto, ax=ax)
ax.set_title("A linear model of wind-tunnel noise: held-out R² by the number of formulas")
for number, name in enumerate(auto.path_.names[: len(SHOWN)]):
    ax.text(
        0.98,
        0.3 - 0.08 * number,
        f"formula {number + 1}: {name}",
        transform=ax.transAxes,
        ha="right",
    )
figure.savefig(Path(__file__).with_name("front.png"), dpi=110)
