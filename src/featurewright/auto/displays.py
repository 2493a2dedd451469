"""Plots of searches, in scikit-learn's manner: made from an estimator, drawn with `plot`."""

from __future__ import annotations

import textwrap
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from featurewright.auto.additive import output_shapes, read_weights
from featurewright.auto.features import AutoFeatures
from featurewright.auto.score_text import Score
from featurewright.paths.displays import load_pyplot

Numbers = NDArray[np.float64]


class FrontDisplay:
    """Held-out score against the number of formulas.

    Parameters
    ----------
    n_formulas : ndarray of shape (n_points,)
        Numbers of formulas, 1 or more.
    scores : ndarray of shape (n_points,)
        Mean held-out score for each number of formulas.
    errors : ndarray of shape (n_points,)
        Standard errors of the scores.
    baseline : float
        Mean held-out score of the original columns alone.
    chosen : int or None, default=None
        The number of formulas that was chosen; None if the choice was something else.
    score_name : str, default="score"
        What is measured.

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
    >>> import numpy as np
    >>> from featurewright import AutoFeatures, FrontDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
    >>> display = FrontDisplay.from_estimator(auto)
    >>> int(display.n_formulas[0]), bool(display.scores[0] > display.baseline)
    (1, True)
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        n_formulas: NDArray[np.int64],
        scores: Numbers,
        errors: Numbers,
        baseline: float,
        *,
        chosen: int | None = None,
        score_name: str = "score",
    ) -> None:
        self.n_formulas = n_formulas
        self.scores = scores
        self.errors = errors
        self.baseline = baseline
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: AutoFeatures, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the front of a search.

        Parameters
        ----------
        estimator : AutoFeatures
            Fitted, with a method that gives formulas.
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to the axes' `errorbar`.

        Returns
        -------
        FrontDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        points = getattr(estimator, "front_", [])
        if len(points) < 2:
            raise ValueError(
                "The search compared no numbers of formulas, so there is no front to draw: fit "
                "it with a method that gives formulas, as methods='readable' does."
            )
        # Errors are negated in scorers, and shown as they are.
        name = str(estimator.scoring_)
        sign = -1.0 if name.startswith("neg_") else 1.0
        with_formulas = points[1:]
        return cls(
            np.array([point["n_formulas"] for point in with_formulas]),
            np.array([sign * point["score"] for point in with_formulas]),
            np.array([point["score_std"] for point in with_formulas]),
            sign * points[0]["score"],
            chosen=next((p["n_formulas"] for p in with_formulas if p["chosen"]), None),
            score_name=Score(name).name,
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the front.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to the axes' `errorbar`.

        Returns
        -------
        FrontDisplay
            This display, with `ax_` and `figure_`.
        """
        self.ax_ = load_pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        style = {"marker": "o", "capsize": 3, **kwargs}
        self.ax_.errorbar(self.n_formulas, self.scores, self.errors, **style)
        self.ax_.axhline(self.baseline, linestyle="--", color="grey", label="original columns")
        if self.chosen is not None:
            at = int(np.flatnonzero(self.n_formulas == self.chosen)[0])
            mark = {"marker": "o", "s": 160, "facecolors": "none", "edgecolors": "black"}
            label = f"chosen: {self.chosen}"
            self.ax_.scatter([self.chosen], [self.scores[at]], zorder=3, label=label, **mark)
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(self.n_formulas, [str(number) for number in self.n_formulas])
        self.ax_.minorticks_off()
        self.ax_.set(xlabel="formulas", ylabel=f"held-out {self.score_name}")
        self.ax_.legend()
        return self


_N_POINTS = 200  # of a curve
_N_BESIDE = 4  # curves beside each other
_LABEL_WIDTH = 34  # characters of a line below a curve


class AdditiveDisplay:
    """What each formula adds to a prediction that is a sum: one curve for all of its terms.

    Parameters
    ----------
    names : list of str
        Formulas and columns.
    points : list of ndarray
        Values of each.
    curves : list of ndarray
        What they add to the score there.

    Attributes
    ----------
    axes_ : ndarray of Axes
        Where the curves are drawn.
    figure_ : Figure
        The figure they are part of.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from featurewright import AdditiveDisplay, AutoFeatures
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
    >>> AdditiveDisplay.from_estimator(auto.to_additive(max_terms=1), X).names
    ['x0 * x1']
    """

    axes_: Any
    figure_: Any

    def __init__(self, names: list[str], points: list[Numbers], curves: list[Numbers]) -> None:
        self.names = names
        self.points = points
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, estimator: AutoFeatures, X: Any, *, score: int = 0, **kwargs: Any
    ) -> Self:
        """Draw the terms of a sum.

        Parameters
        ----------
        estimator : AutoFeatures
            What `to_additive` returned.
        X : array-like or data frame
            Rows, whose values give each curve its range.
        score : int, default=0
            Which score, where there is one for each of several classes.
        **kwargs
            Passed to the axes' `plot`.

        Returns
        -------
        AdditiveDisplay
            What was drawn, the largest effects first.
        """
        check_is_fitted(estimator)
        weights, _ = read_weights(estimator.model_)
        if not 0 <= score < len(weights):
            raise ValueError(f"score={score} must be one of the {len(weights)} scores, from 0 on.")
        columns = estimator._columns(X)
        matrix = estimator.reader_.read(estimator, X).matrix
        found: dict[str, tuple[Numbers, Numbers]] = {}
        for place, shape in enumerate(output_shapes(estimator)):
            if shape.formula not in found:
                own = columns[:, place] if shape.expression is None else None
                values = shape.expression.evaluate(matrix) if shape.expression else own
                low, high = np.nanquantile(np.asarray(values, np.float64), [0.01, 0.99])
                grid = np.linspace(low, high, _N_POINTS)
                found[shape.formula] = grid, np.zeros(_N_POINTS)
            grid, curve = found[shape.formula]
            curve += weights[score, place] * shape.follow(grid)
        ranked = sorted(found, key=lambda name: -float(np.ptp(found[name][1])))
        grids, curves = ([found[name][part] for name in ranked] for part in (0, 1))
        return cls(ranked, grids, curves).plot(**kwargs)

    def plot(self, **kwargs: Any) -> Self:
        """Draw one curve for each formula in a new figure.

        Parameters
        ----------
        **kwargs
            Passed to the axes' `plot`.

        Returns
        -------
        AdditiveDisplay
            This display, with `axes_` and `figure_`.
        """
        beside = min(_N_BESIDE, len(self.names))
        n_rows = -(-len(self.names) // beside)
        size = (3.2 * beside, 2.6 * n_rows)
        self.figure_, axes = load_pyplot().subplots(
            n_rows, beside, squeeze=False, figsize=size, layout="constrained"
        )
        self.axes_ = axes.ravel()[: len(self.names)]
        for ax in axes.ravel()[len(self.names) :]:
            ax.set_visible(False)
        for ax, name, grid, curve in zip(
            self.axes_, self.names, self.points, self.curves, strict=True
        ):
            ax.plot(grid, curve, **kwargs)
            lines = textwrap.wrap(name, _LABEL_WIDTH) or [name]
            # Below the power of ten that large numbers have at the end of the axis.
            ax.set_xlabel("\n".join(lines).replace("$", r"\$"), labelpad=10)
            ax.set_ylabel("adds")
        return self
