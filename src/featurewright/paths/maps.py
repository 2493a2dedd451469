"""A picture of the forest kernel: what the points of a plane have in common with one of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from featurewright.estimators.parameters import one_of, whole_number
from featurewright.expressions import Domain
from featurewright.paths.affinity import KINDS
from featurewright.paths.displays import COLOURS, Numbers, load_pyplot
from featurewright.paths.encoder import ForestPathEncoder
from featurewright.tables import Schema

_MARGIN = 0.02  # of the range of a column, around its values


class KernelMapDisplay:
    """A map of what every point of a plane has in common with one point.

    Where the target is simple the forest kernel is wide, where it is complicated it is narrow, and
    it stretches along directions that do not matter for the target.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Grid of the two columns drawn.
    values : ndarray of shape (n, n)
        Kernel of the point with each point of the grid; a row for each value of `y`.
    point : tuple of two floats
        Where the point lies, NaN where its value is missing.
    names : tuple of two str
        Names of the two columns.

    Attributes
    ----------
    ax_ : Axes
        Where the map is drawn.
    figure_ : Figure
        The figure it is part of.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from featurewright import ForestPathEncoder
    >>> from featurewright.datasets import make_sin_inverse
    >>> from featurewright.paths import KernelMapDisplay
    >>> X, y = make_sin_inverse(300, random_state=0)
    >>> encoder = ForestPathEncoder(20, random_state=0).fit(X, y)
    >>> display = KernelMapDisplay.from_estimator(encoder, X, [0.6, 0.0])
    >>> display.values.shape
    (200, 200)
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        values: Numbers,
        point: tuple[float, float],
        names: tuple[str, str],
    ) -> None:
        self.x = x
        self.y = y
        self.values = values
        self.point = point
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: ForestPathEncoder,
        X: Any,
        point: Any,
        *,
        columns: tuple[int | str, int | str] = (0, 1),
        kind: str = "path",
        grid_resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Work out the kernel around a point and draw it.

        Parameters
        ----------
        estimator : ForestPathEncoder
            Fitted.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that say how far the map reaches.
        point : array-like of shape (n_features,) or table of one row
            The point. Columns that are not drawn keep its values everywhere.
        columns : pair of int or str, default=(0, 1)
            Positions or names of the two columns to draw, which hold numbers.
        kind : {"path", "leaf", "torkkola"}, default="path"
            As in `ForestPathEncoder.kernel`.
        grid_resolution : int, default=200
            Points along each side.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to `pcolormesh`.

        Returns
        -------
        KernelMapDisplay
            What was drawn.
        """
        rows = estimator._read_rows(X)
        one_of("kind", kind, KINDS)
        steps = whole_number("grid_resolution", grid_resolution, 2)
        if hasattr(point, "to_frame") and hasattr(point, "index"):
            # A row of a pandas frame knows its columns, but not of what kind they were.
            point = point.to_frame().T.infer_objects()
        center = estimator._read_rows(point if np.ndim(point) == 2 else [point])
        if len(center) != 1:
            raise ValueError(f"point has {len(center)} rows, but one is expected: pass one row.")
        across, up = _two_columns(columns, estimator._schema)
        x, y = _span(rows[:, across], steps), _span(rows[:, up], steps)
        grid = np.repeat(center, steps * steps, axis=0)
        grid[:, across], grid[:, up] = np.tile(x, steps), np.repeat(y, steps)
        values = estimator._trails().share(grid, center, kind, normalize=True)
        place = float(center[0, across]), float(center[0, up])
        names = estimator._schema.names[across], estimator._schema.names[up]
        return cls(x, y, values.reshape(steps, steps), place, names).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to `pcolormesh`.

        Returns
        -------
        KernelMapDisplay
            This display, with `ax_` and `figure_`.
        """
        self.ax_ = load_pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        style = {"cmap": COLOURS, "shading": "nearest", "rasterized": True, **kwargs}
        mesh = self.ax_.pcolormesh(self.x, self.y, self.values, **style)
        self.figure_.colorbar(mesh, ax=self.ax_, label="kernel")
        if np.isfinite(self.point).all():
            self.ax_.plot(*self.point, "*", markersize=14, color="white", markeredgecolor="black")
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


def _two_columns(columns: tuple[int | str, int | str], schema: Schema) -> tuple[int, int]:
    """Find the two columns to draw, which must hold numbers."""
    if isinstance(columns, str) or len(columns) != 2:
        raise ValueError(f"columns={columns!r} must be a pair of positions or names.")
    places = []
    for column in columns:
        known = schema.names if isinstance(column, str) else range(schema.n_columns)
        if column not in known:
            raise ValueError(
                f"columns={columns!r} names {column!r}, which the encoder has not seen: it knows "
                f"{schema.n_columns} columns."
            )
        place = schema.names.index(column) if isinstance(column, str) else int(column)
        if schema.domains[place] == Domain.CATEGORY:
            raise ValueError(f"The column {column!r} is a category, but a map needs numbers.")
        places.append(place)
    if places[0] == places[1]:
        raise ValueError(f"columns={columns!r} names one column twice, but a map needs two.")
    return places[0], places[1]


def _span(values: npt.NDArray[np.float32], steps: int) -> Numbers:
    """Place points evenly over the range of a column, with a little margin."""
    known = values[np.isfinite(values)].astype(np.float64)
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    margin = _MARGIN * (high - low) or max(1.0, abs(low)) / 2
    largest = float(np.finfo(np.float32).max)
    return np.linspace(max(low - margin, -largest), min(high + margin, largest), steps)
