"""Plots of encoders, in scikit-learn's manner: made from an estimator, drawn with `plot`.

Matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from featurewright.estimators.parameters import one_of, whole_number
from featurewright.expressions import Domain
from featurewright.paths.encoder import ForestPathEncoder, table_as_target
from featurewright.paths.kernel import KINDS
from featurewright.tables import ClassTarget, Schema, holds_numbers, read_classes, read_numbers

_MAX_NAMED = 10  # classes that have a name in the legend
_MARGIN = 0.02  # of the range of a column, around its values
COLOURS = "viridis"

Numbers = npt.NDArray[np.float64]


def load_pyplot() -> Any:
    """Import Matplotlib when it is first needed: it is optional and slow to load."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise ImportError(
            "Drawing needs the package matplotlib, which is not installed: run "
            "'pip install featurewright[plot]'."
        ) from None


class ProjectionDisplay:
    """Projections onto two dimensions of the table and of its encoding, side by side.

    Classes that overlap in the table may be separated in the encoding. Rows that the encoder was
    fitted on are separated better than new ones: show held-out rows.

    Parameters
    ----------
    original, induced : ndarray of shape (n_samples, 2)
        Positions of the rows.
    codes : ndarray of shape (n_samples,)
        Number of each row's class; the target itself where `classes` is None.
    classes : ndarray, optional
        Names of the classes.

    Attributes
    ----------
    ax_ : ndarray of two Axes
        Where the table and the encoding are drawn.
    figure_ : Figure
        The figure they are part of.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from featurewright import ForestPathEncoder
    >>> from featurewright.datasets import make_twonorm
    >>> from featurewright.paths import ProjectionDisplay
    >>> X, y = make_twonorm(300, random_state=0)
    >>> encoder = ForestPathEncoder(20, n_hash=100, random_state=0).fit(X[:200], y[:200])
    >>> display = ProjectionDisplay.from_estimator(encoder, X[200:], y[200:], random_state=0)
    >>> display.induced.shape
    (100, 2)
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        original: Numbers,
        induced: Numbers,
        codes: npt.NDArray[Any],
        classes: npt.NDArray[Any] | None = None,
    ) -> None:
        self.original = original
        self.induced = induced
        self.codes = codes
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: ForestPathEncoder,
        X: Any,
        y: Any = None,
        *,
        projector: Any = None,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Project rows and draw them.

        Parameters
        ----------
        estimator : ForestPathEncoder
            Fitted; with `n_hash` the buckets are projected.
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Their columns are standardised before they are projected, and categories have
            a column for each level.
        y : array-like of shape (n_samples,), optional
            Classes or numbers to colour the rows by.
        projector : transformer, optional
            What makes two columns of many, such as scikit-learn's `TruncatedSVD`; it is cloned. By
            default a Gaussian random projection, which shows little of a large table: look at
            several seeds.
        random_state : int, RandomState or None, default=None
            Seed of the random projections.
        ax : sequence of two Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to `scatter`.

        Returns
        -------
        ProjectionDisplay
            What was drawn.
        """
        # Imported here, since only this display needs it.
        from sklearn.random_projection import GaussianRandomProjection

        rows = estimator._read_rows(X)
        codes, classes = _colours(y, len(rows))
        table = table_as_target(rows, estimator._schema, np.ones(len(rows)))
        if projector is None:
            projector = GaussianRandomProjection(2, random_state=random_state)
        original, induced = (
            np.asarray(clone(projector).fit_transform(part), dtype=np.float64)
            for part in (table, estimator.transform(X))
        )
        if original.shape[1] != 2:
            raise ValueError(
                f"projector gives {original.shape[1]} columns, but two are drawn: set its "
                "n_components to 2."
            )
        return cls(original, induced, codes, classes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both projections.

        Parameters
        ----------
        ax : sequence of two Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to `scatter`.

        Returns
        -------
        ProjectionDisplay
            This display, with `ax_` and `figure_`.
        """
        if ax is None:
            _, ax = load_pyplot().subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
        self.ax_ = np.asarray(ax, dtype=object).ravel()
        if len(self.ax_) != 2:
            raise ValueError(f"ax holds {len(self.ax_)} axes, but two are expected: pass a pair.")
        self.figure_ = self.ax_[0].figure
        style = {"s": 14, "alpha": 0.7, "linewidths": 0, **kwargs}
        sides = (("original columns", self.original), ("paths", self.induced))
        for axes, (title, places) in zip(self.ax_, sides, strict=True):
            drawn = self._scatter(axes, places, style)
            axes.set(title=title, xticks=[], yticks=[])  # a random direction has no unit
        if self.classes is None and len(np.unique(self.codes)) > 1:
            self.figure_.colorbar(drawn, ax=list(self.ax_), label="target")
        elif self.classes is not None and len(self.classes) <= _MAX_NAMED:
            self.ax_[1].legend(markerscale=1.6, framealpha=0.8)
        return self

    def _scatter(self, axes: Any, places: Numbers, style: dict[str, Any]) -> Any:
        """Draw rows as dots: in the colour of their number, or class by class."""
        if self.classes is None:
            return axes.scatter(*places.T, c=self.codes, **{"cmap": COLOURS, **style})
        if len(self.classes) > _MAX_NAMED:
            return axes.scatter(*places.T, c=self.codes, **{"cmap": "turbo", **style})
        for code, label in enumerate(self.classes):
            axes.scatter(*places[self.codes == code].T, label=str(label), **style)
        return None


class ConvergenceDisplay:
    """How much the kernel of held-out rows changed as trees were added.

    Parameters
    ----------
    n_trees : ndarray of shape (n,)
        Numbers of trees.
    change : ndarray of shape (n,)
        Mean change of the kernel matrix since the number before.
    tol : float
        The change below which there are enough trees.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure it is part of.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from featurewright import ForestPathEncoder
    >>> from featurewright.datasets import make_twonorm
    >>> from featurewright.paths import ConvergenceDisplay
    >>> X, y = make_twonorm(200, random_state=0)
    >>> encoder = ForestPathEncoder("auto", step=10, random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(encoder)
    >>> int(display.n_trees[-1]) == encoder.n_estimators_
    True
    """

    ax_: Any
    figure_: Any

    def __init__(self, n_trees: Numbers, change: Numbers, tol: float) -> None:
        self.n_trees = n_trees
        self.change = change
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: ForestPathEncoder, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the history of an encoder.

        Parameters
        ----------
        estimator : ForestPathEncoder
            Fitted with `n_estimators="auto"`.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to the axes' `plot`.

        Returns
        -------
        ConvergenceDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        if not estimator.history_:
            raise ValueError(
                "The encoder has no history to draw: fit it with n_estimators='auto' and a step "
                "well below max_estimators."
            )
        history = estimator.history_
        n_trees, change = (np.array([h[key] for h in history]) for key in ("n_trees", "change"))
        return cls(n_trees, change, estimator.tol).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the history.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to the axes' `plot`.

        Returns
        -------
        ConvergenceDisplay
            This display, with `ax_` and `figure_`.
        """
        self.ax_ = load_pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.ax_.plot(self.n_trees, self.change, **{"marker": "o", **kwargs})
        self.ax_.axhline(self.tol, linestyle="--", color="grey", label=f"tol = {self.tol:g}")
        self.ax_.set(xlabel="trees", ylabel="mean change of the kernel matrix")
        # From zero on, since the history of few trees has few points.
        self.ax_.set(xlim=(0, 1.05 * self.n_trees[-1]))
        self.ax_.set(ylim=(0, 1.15 * max(self.tol, self.change.max())))
        self.ax_.legend()
        return self


def _colours(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return the values that rows are coloured by, and the names of the classes, if any."""
    if y is None:
        return np.zeros(n_rows), None
    if not holds_numbers(y):
        target = read_classes(y, n_rows)
        if isinstance(target, ClassTarget):
            return target.codes, target.classes
    elif (numbers := read_numbers(y, n_rows)).shape[1] == 1:
        return numbers[:, 0], None
    raise ValueError("y has several columns, but rows are coloured by one: pass one column.")


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
        """Compute the kernel around a point and draw it.

        Parameters
        ----------
        estimator : ForestPathEncoder
            Fitted.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows whose range the map covers.
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
        values = estimator._paths().share(grid, center, kind, normalize=True)
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
    """Return the positions of the two columns to draw, which must hold numbers."""
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
    """Return evenly spaced points over the range of a column, with a margin."""
    known = values[np.isfinite(values)].astype(np.float64)
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    margin = _MARGIN * (high - low) or max(1.0, abs(low)) / 2
    largest = float(np.finfo(np.float32).max)
    return np.linspace(max(low - margin, -largest), min(high + margin, largest), steps)
