"""Plots are written whole and small."""

from __future__ import annotations

import numpy as np
import pytest
from plots import critical_difference_plot, draw_curves, draw_pairs, drawing, log_ticks
from significance import rank_methods


def test_a_plot_is_small_and_whole(tmp_path):
    path = tmp_path / "deep" / "some.png"
    with drawing(path, 1, 2) as grid:
        draw_curves(grid[0, 0], {"a": ([1, 10], [0.1, 0.2], [0.01, np.nan]), "b": ([1], [2], None)})
        grid[0, 0].set_yscale("log")
        log_ticks(grid[0, 0].yaxis)
        scores = np.random.default_rng(0).random((2, 7))
        draw_pairs(grid[0, 1], *scores, [f"set {k}" for k in range(7)], ("ours", "theirs"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 60_000
    assert [found.name for found in path.parent.iterdir()] == ["some.png"]


def test_names_of_points_stay_inside_the_axes(tmp_path):
    ours, theirs = np.array([0.75, 0.9, 0.92, 0.6]), np.array([0.7, 0.71, 0.85, 0.95])
    names = ["blood_transfusion", "libras_movement", "ionosphere", "cylinder_bands"]
    with drawing(tmp_path / "pairs.png", size=(4.6, 4.4)) as grid:
        axes = grid[0, 0]
        draw_pairs(axes, ours, theirs, names, ("ours", "theirs"))
        frame = axes.get_window_extent()
        for text in axes.texts:
            assert frame.x0 <= text.get_window_extent().x0, text.get_text()
            assert text.get_window_extent().x1 <= frame.x1, text.get_text()


def test_a_plot_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), drawing(tmp_path / "some.png"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_ranks(tmp_path):
    scores = np.random.default_rng(0).random((20, 9)) + np.arange(9) / 5
    ranking = rank_methods(scores, [f"method {k}" for k in range(9)])
    assert ranking is not None
    critical_difference_plot(tmp_path / "ranks.png", ranking, "Title")
    assert (tmp_path / "ranks.png").stat().st_size < 60_000
