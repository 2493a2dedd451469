"""Plots of path encodings: learning curve, nearest neighbours, the kernel around some points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from plots import Curve, draw_curves, draw_pairs, drawing, log_ticks

from featurewright import ForestPathEncoder
from featurewright.datasets import make_sin_inverse

N_ROWS = 2000  # as published
GRID = 110
# Points in the complex part and in the simple one, above and below.
POINTS = ((0.06, 0.5), (0.6, 0.5), (0.06, -0.5), (0.6, -0.5))


def learning_plot(path: Path, curves: Mapping[str, Curve]) -> None:
    """Draw accuracies on sin(1/x) by training rows."""
    with drawing(path) as grid:
        axes = grid[0, 0]
        draw_curves(axes, curves)
        axes.set(xscale="log", xlabel="training rows", ylabel="accuracy")
        ticks = next(iter(curves.values()))[0]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()


def accuracy_plot(
    path: Path, paths: np.ndarray, original: np.ndarray, names: Sequence[str], what: str
) -> None:
    """Draw accuracies of a learner; above the diagonal paths are better."""
    with drawing(path, size=(4.6, 4.4)) as grid:
        titles = (f"{what} on paths", f"{what} on original columns")
        draw_pairs(grid[0, 0], paths, original, names, titles)


def kernel_plot(path: Path, n_trees: int | str) -> None:
    """Draw the path kernel around points of the plane, over the boundary y = sin(1/x)."""
    X, y = make_sin_inverse(N_ROWS, random_state=0)
    encoder = ForestPathEncoder(n_trees, random_state=0).fit(X, y)
    low, high = X[:, 1].min(), X[:, 1].max()
    first, last = X[:, 0].min(), X[:, 0].max()
    # The boundary is complex near zero: as much room for every doubling of x.
    across, up = np.geomspace(first, last, GRID), np.linspace(low, high, GRID)
    cells = np.stack([part.ravel() for part in np.meshgrid(across, up)], axis=1)
    kernel = encoder.kernel(cells, np.array(POINTS))
    curve = np.geomspace(first, last, 2000)
    with drawing(path, 2, 2, size=(3.6, 2.6)) as grid:
        for axes, point, values in zip(grid.ravel(), POINTS, kernel.T, strict=True):
            picture = axes.pcolormesh(
                across,
                up,
                values.reshape(GRID, GRID),
                cmap="Blues",
                vmin=0,
                vmax=1,
                rasterized=True,
            )
            axes.plot(curve, np.sin(1 / curve), color="0.3", linewidth=0.6)
            axes.plot(*point, marker="o", markersize=6, color="tab:red", markeredgecolor="white")
            axes.set(xscale="log", xlim=(first, last), ylim=(low, high))
            axes.set_title(f"kernel with ({point[0]:g}, {point[1]:g})", fontsize=8)
            log_ticks(axes.xaxis)
            axes.tick_params(labelsize=7)
            axes.set_xlabel("x", fontsize=7)
            axes.set_ylabel("y", fontsize=7)
        bar = grid[0, 0].figure.colorbar(picture, ax=list(grid.ravel()), shrink=0.8)
        bar.set_label("share of nodes shared", fontsize=7)
        bar.ax.tick_params(labelsize=7)
