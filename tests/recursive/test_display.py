"""The plot of a history."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from featurewright import RecursiveSelectiveClassifier, RecursiveSelectiveTransformer
from featurewright.recursive import RecursionDisplay

X, Y = load_iris(return_X_y=True)


def test_plot_shows_losses_and_sizes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = RecursiveSelectiveClassifier(keep=(3, 2), random_state=0).fit(X, Y)
    display = RecursionDisplay.from_estimator(model)
    curves = [line for line in display.ax_.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(curves[1].get_ydata(), model.history_["validation_loss"])
    assert display.ax_.get_xticklabels()[0].get_text() == "0\n4"
    _, ax = plt.subplots()
    fixed = RecursiveSelectiveClassifier(n_recursions=1, random_state=0).fit(X, Y)
    assert RecursionDisplay.from_estimator(fixed, ax=ax).figure_ is ax.figure
    assert len(ax.lines) == 2
    plt.close("all")


def test_what_cannot_be_plotted():
    with pytest.raises(TypeError, match="has no recursions"):
        RecursionDisplay.from_estimator(LinearSVC())
    with pytest.raises(NotFittedError):
        RecursionDisplay.from_estimator(RecursiveSelectiveClassifier())


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    history = {"recursion": np.arange(1), "n_columns": np.ones(1)}
    with pytest.raises(ImportError, match=r"featurewright\[plot\]"):
        RecursionDisplay(history, 0).plot()


def test_legend_names_the_measures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for target, measures in ((Y, ("hinge loss", "log loss")), (X[:, 0], ("absolute", "squared"))):
        model = RecursiveSelectiveTransformer(keep=(2,), random_state=0).fit(X[:, 1:], target)
        display = RecursionDisplay.from_estimator(model)
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert all(measure in text for measure, text in zip(measures, texts, strict=False))
        # Nothing is cut off when the figure is saved.
        display.figure_.canvas.draw()
        assert display.ax_.xaxis.label.get_window_extent().y0 >= 0
    plt.close("all")
