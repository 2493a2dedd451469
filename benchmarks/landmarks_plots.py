"""Decision boundaries of ensembles in the unit square."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from plots import drawing

GRID = 120
N_POINTS = 120  # of the training rows: all of them would hide the boundary


def boundary_plot(
    path: Path, cases: Mapping[str, tuple[np.ndarray, np.ndarray, Mapping[str, Any]]]
) -> None:
    """Draw what models answer all over the unit square.

    Parameters
    ----------
    path : Path
        The file.
    cases : mapping
        Name of a boundary: training rows, their classes, and models by label, not fitted.
    """
    places = (np.arange(GRID) + 0.5) / GRID
    points = np.stack([part.ravel() for part in np.meshgrid(places, places)], axis=1)
    labels = list(next(iter(cases.values()))[2])
    with drawing(path, len(labels), len(cases), size=(2.4, 2.5)) as grid:
        for column, (name, (X, y, models)) in enumerate(cases.items()):
            for axes, label in zip(grid[:, column], labels, strict=True):
                answer = models[label].fit(X, y).predict(points).reshape(GRID, GRID)
                axes.imshow(
                    answer, origin="lower", extent=(0, 1, 0, 1), cmap="Pastel1", aspect="equal"
                )
                axes.scatter(*X[:N_POINTS].T, c=y[:N_POINTS], s=3, cmap="Set1", linewidths=0)
                axes.set_title(f"{name}: {label}", fontsize=9)
                axes.set(xticks=(0, 1), yticks=(0, 1), xlim=(0, 1), ylim=(0, 1))
