"""Plot the columns and the losses of each recursion."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted


class RecursionDisplay:
    """Loss after each recursion, in the manner of scikit-learn's displays.

    Parameters
    ----------
    history : dict of ndarray
        The `history_` of a fitted transformer or classifier of this method.
    chosen : int
        The number of recursions that the estimator kept.
    regression : bool, default=False
        Whether the losses are those of numbers, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where `plot` has drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from featurewright import RecursiveSelectiveTransformer
    >>> rst = RecursiveSelectiveTransformer(1, random_state=0).fit(*load_iris(return_X_y=True))
    >>> RecursionDisplay(rst.history_, rst.n_recursions_).history["n_columns"]
    array([4, 2])
    """

    def __init__(
        self, history: dict[str, npt.NDArray[Any]], chosen: int, *, regression: bool = False
    ) -> None:
        self.history = history
        self.chosen = chosen
        self.regression = regression

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : RecursiveSelectiveTransformer or RecursiveSelectiveClassifier
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RecursionDisplay
            With `ax_` and `figure_`.
        """
        if not hasattr(type(estimator), "matrices_"):
            raise TypeError(
                f"estimator={estimator!r} has no recursions; pass a fitted "
                "RecursiveSelectiveTransformer or RecursiveSelectiveClassifier."
            )
        check_is_fitted(estimator)
        regression = estimator.classes_ is None
        display = cls(estimator.history_, estimator.n_recursions_, regression=regression)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the losses over the recursions, with the number of columns below each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RecursionDisplay
            Itself.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "Plotting needs matplotlib, which is not installed: install featurewright[plot]."
            ) from error
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        steps = self.history["recursion"]
        # Two measures share the axis; each goes down where things get better.
        measures = ("hinge loss", "log loss")
        if self.regression:
            measures = ("absolute error", "squared error")
        labels = {
            "train_loss": f"training rows, linear models: {measures[0]}",
            "validation_loss": f"held-out rows: {measures[1]}",
        }
        for name, label in labels.items():
            losses = self.history[name]
            if not np.isnan(losses).all():
                ax.plot(steps, losses, marker="o", label=label)
        ax.axvline(self.chosen, color="grey", linestyle=":", label="recursions kept")
        sizes = self.history["n_columns"]
        ax.set_xticks(steps, [f"{step}\n{size}" for step, size in zip(steps, sizes, strict=True)])
        ax.set(xlabel="recursion, and columns left", ylabel="loss (lower is better)")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
