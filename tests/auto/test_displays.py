"""The plot of the front."""

from __future__ import annotations

import numpy as np
import pytest

from featurewright import AutoFeatures, FrontDisplay
from featurewright.auto.front import front_points

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def searched(scoring="neg_mean_squared_error", chosen=2):
    """Make a search that is over, with a front of three points."""
    auto = AutoFeatures()
    scores = {1: [-0.8, -0.9], 2: [-0.4, -0.6], 5: [-0.4, -0.5]}
    auto.front_ = front_points(scores, [-1.0, -2.0], 0.25, chosen=chosen)
    auto.scoring_ = scoring
    return auto


def test_front_is_drawn_with_its_errors_and_its_choice():
    from matplotlib.colors import same_color

    display = FrontDisplay.from_estimator(searched(), color="red")
    np.testing.assert_allclose(display.scores, [0.85, 0.5, 0.45])
    assert display.n_formulas.tolist() == [1, 2, 5]
    assert display.baseline == 1.5
    assert display.chosen == 2
    (bars,) = display.ax_.containers
    points, _, (wings,) = bars
    assert same_color(points.get_color(), "red")
    np.testing.assert_allclose(points.get_xydata(), [[1, 0.85], [2, 0.5], [5, 0.45]])
    halves = [(top - bottom) / 2 for (_, bottom), (_, top) in wings.get_segments()]
    np.testing.assert_allclose(halves, display.errors)
    assert display.ax_.get_ylabel() == "held-out mean squared error"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "chosen: 2" in labels
    assert "original columns" in labels
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["1", "2", "5"]
    assert display.figure_ is display.ax_.figure
    matplotlib.pyplot.close(display.figure_)


def test_front_is_drawn_where_it_is_asked_for():
    figure, axes = matplotlib.pyplot.subplots()
    display = FrontDisplay.from_estimator(searched("accuracy", chosen=None), ax=axes)
    assert display.ax_ is axes
    assert display.chosen is None
    assert display.baseline == -1.5  # a score is shown as it is
    assert len(display.ax_.get_legend().get_texts()) == 1
    matplotlib.pyplot.close(figure)


def test_without_formulas_there_is_nothing_to_draw():
    auto = searched()
    auto.front_ = auto.front_[:1]
    with pytest.raises(ValueError, match="no front to draw"):
        FrontDisplay.from_estimator(auto)
